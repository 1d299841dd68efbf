package layer

import (
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/intern"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/internal/vocabulary"
	"github.com/llmstrata/strata/layer/internal/ladder"
	"github.com/llmstrata/strata/layer/internal/operator"
	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// Part says how a kernel serves its operator. More may be added.
type Part uint8

// The parts.
const (
	PartMain    = Part(operator.Main)    // computes it
	PartQuant   = Part(operator.Quant)   // makes its low-precision input
	PartReduce  = Part(operator.Reduce)  // finishes a split product or a split attention
	PartCopy    = Part(operator.Copy)    // moves, casts or clears what it reads or writes
	PartScores  = Part(operator.Scores)  // of an attention written op by op: queries by keys, their scale and mask
	PartSoftmax = Part(operator.Softmax) // the softmax of such an attention
	PartValues  = Part(operator.Values)  // the product of its scores with the values
)

// partWords has the word of each part.
var partWords = vocabulary.New[Part]("part of an operator", "main", "quant", "reduce", "copy", "scores", "softmax", "values")

// Parts lists all parts.
func Parts() []Part { return partWords.All(PartMain) }

// String returns the word of p.
func (p Part) String() string { return partWords.Word(p) }

// MarshalText returns the word of p.
func (p Part) MarshalText() ([]byte, error) { return partWords.Text(p) }

// UnmarshalText reads a word that [Part.String] returns; others are an error.
func (p *Part) UnmarshalText(text []byte) error { return partWords.Read(p, text) }

var operatorEvidence = [...]string{operator.None: "", operator.Order: "order", operator.Plan: "plan",
	operator.ByDims: "shape", operator.Module: "module"}

// opRow is one distinct answer; a device has a few dozen.
type opRow struct {
	name       profile.Operator
	part       Part
	evidence   operator.Evidence
	confidence float32
}

// Operator returns the part of the model that the kernel computes, see docs/operators.md: "qkv_proj", several joined
// by + for a kernel that fuses neighbours, by | if it is unclear which, "other" with confidence 0 if it is
// unknown. The second result says how the kernel serves it.
func (k Kernel) Operator() (profile.Operator, Part, float32) {
	r := k.opRow()
	return r.name, r.part, r.confidence
}

// OperatorEvidence says what the operator rests on: "module" (frames), "shape" (of the op that launched it),
// "plan" (the config), "order" (the kernels alone), "" where it is "other".
func (k Kernel) OperatorEvidence() string { return operatorEvidence[k.opRow().evidence] }

func (k Kernel) opRow() *opRow {
	d, i := k.row()
	if d.columns.operator == nil {
		return &noOperator
	}
	return &d.operators[d.columns.operator[i]]
}

var noOperator = opRow{name: opname.Other}

// layoutOf is what a plan says, in the form that kernels are aligned with.
func layoutOf(p *profile.Plan) *operator.Layout {
	l := &operator.Layout{Given: true, Before: stepsOf(p.Before), After: stepsOf(p.After), LayerKinds: p.LayerKinds}
	for i := range p.Kinds {
		l.Kinds = append(l.Kinds, stepsOf(p.Kinds[i].Operators))
	}
	return l
}

func stepsOf(ops []profile.PlanOp) []operator.Step {
	var out []operator.Step
	for i := range ops {
		o := &ops[i]
		s := operator.Step{Op: string(o.Operator), Optional: o.Optional, K: o.K, N: o.N, Or: stepsOf(o.Or)}
		s.Product = o.K > 0 && s.Op != opname.Embed // rows of a table are looked up
		if s.Op == opname.Activation || s.Op == opname.SharedActivation {
			s.Optional = false // fused into products of experts only
		}
		out = append(out, s)
	}
	return out
}

// findOperators finds the operator of each kernel of the passes. Where repair is set the operator also decides the
// layer of kernels at the edges of layers, unless module frames gave the layers. A pass that is read by another one, as
// records of it are missing, has the operators and the layers of that one's kernels.
func (w *work) findOperators(a *Device, results []ladder.Result, repair bool) {
	w.op = make([]uint16, len(w.Acts))
	rows := map[opRow]uint16{noOperator: 0}
	a.operators = []opRow{noOperator}
	var layout *operator.Layout
	if c := a.of.Config; c != nil && len(c.Layers) > 0 {
		layout = layoutOf(c.Plan())
	}
	// by planned
	finders := map[bool]*operator.Finder{true: operator.NewFinder(layout, operator.Defaults()),
		false: operator.NewFinder(nil, operator.Defaults())}
	paths := w.ModulePaths()
	known := map[string]*aligned{}
	type read struct { // a pass that others are read by
		*ladder.Result
		*aligned
	}
	leads := map[any]read{} // by variant
	find := func(r *ladder.Result) {
		limit := float32(1)
		if r.Scrambled { // the order that they rest on is not the one that ran
			limit = segment.Scrambled
		}
		variant, column := r.Like()
		lead, led := leads[variant]
		if column != nil && led && w.onlyLacks(r, lead.Result, column) {
			for k, i := range r.Kernels {
				j := column[k]
				if w.op[i] = a.rowOf(&lead.of[j], limit, rows); r.LayerEvidence != ladder.RungModule {
					r.Layer[k] = lead.Layer[j]
				}
			}
			return
		}
		// A complete pass of fewer layers is of another model than the config's: a draft, an encoder.
		planned := layout != nil && r.First+r.Count <= len(layout.LayerKinds) &&
			(r.Cut != ladder.Uncut || r.Count == len(layout.LayerKinds))
		found := w.operatorsOf(finders[planned], r, paths, known)
		if !w.decodes(r.Kernels) {
			found = found.withoutOrder()
		}
		if found.rows == nil || found.limit != limit {
			found.rows, found.limit = make([]uint16, len(found.of)), limit
			for k := range found.of {
				found.rows[k] = a.rowOf(&found.of[k], limit, rows)
			}
		}
		for k, i := range r.Kernels {
			w.op[i] = found.rows[k]
		}
		if variant != nil && !led {
			leads[variant] = read{r, found}
		}
		if !repair || r.LayerEvidence == ladder.RungModule {
			return
		}
		if w.launchesMissing(r.Kernels) {
			return
		}
		for k := range found.of {
			if movable(&found.of[k], planned) && !w.joinsNorm(r.Kernels[k]) && (planned || atEdge(r.Layer, found.of, k)) {
				r.Layer[k] = found.of[k].Layer
			}
		}
	}
	for _, read := range []bool{false, true} { // first those that others are read by
		for p := range results {
			if w.Ended() != nil {
				return
			}
			if _, column := results[p].Like(); results[p].Count > 0 && (column != nil) == read {
				find(&results[p])
			}
		}
	}
	w.shareOperators(a, results)
}

// shareOperators gives kernels of a layer the operators that they have in the same layer of another pass of the model
// which runs the same kernels, where those rest on better evidence: the launches of one pass may be cut off, or
// replayed, and so have no frames and no sizes.
func (w *work) shareOperators(a *Device, results []ladder.Result) {
	type block struct {
		model   ladder.ModelKey
		layer   int32
		kernels uint64
	}
	shown := func(row opRow) bool { return row.evidence >= operator.ByDims }
	if len(results) < 2 || !slices.ContainsFunc(a.operators, shown) {
		return
	}
	best := map[block][]int32{} // the kernel with the best evidence at each place
	better := func(x, y int32) bool { return a.operators[w.op[x]].evidence > a.operators[w.op[y]].evidence }
	for _, share := range []bool{false, true} {
		for p := range results {
			r := &results[p]
			if w.Ended() != nil {
				return
			}
			for from, to := 0, 0; from < len(r.Kernels); from = to {
				w.passKey = w.passKey[:0]
				for to = from; to < len(r.Kernels) && r.Layer[to] == r.Layer[from]; to++ {
					w.passKey = binary.LittleEndian.AppendUint32(w.passKey, uint32(w.ID[r.Kernels[to]]))
				}
				if r.Layer[from] == trace.None {
					continue
				}
				b, kernels := block{r.Key(), r.Layer[from], hashOf(w.passKey)}, r.Kernels[from:to]
				known := best[b]
				if known == nil {
					best[b] = slices.Clone(kernels)
				}
				if !slices.EqualFunc(known, kernels, func(x, y int32) bool { return w.ID[x] == w.ID[y] }) {
					continue
				}
				for k, j := range known {
					if i := kernels[k]; share && better(j, i) {
						w.op[i] = w.op[j]
					} else if better(i, j) {
						known[k] = i
					}
				}
			}
		}
	}
}

// hashOf is a number for bytes, the same in every run.
func hashOf(b []byte) uint64 {
	sum := fnv.New64a()
	sum.Write(b)
	return sum.Sum64()
}

// onlyLacks says that a pass runs what another one does, in its order, but for records that are missing.
func (w *work) onlyLacks(r, lead *ladder.Result, column []int32) bool {
	for k, j := range column {
		if j < 0 || int(j) >= len(lead.Kernels) || w.ID[r.Kernels[k]] != w.ID[lead.Kernels[j]] {
			return false
		}
	}
	return lead.Count > 0
}

// aligned are the operators of the kernels of a pass, and the rows of the device's table that they are with a
// confidence of at most limit.
type aligned struct {
	of    []operator.Found
	rows  []uint16
	limit float32
}

// decodes says that one of the kernels mixes tokens or is a norm beside no convolution: layers of others are none of a
// decoder, and the order of their kernels names no projection.
func (w *work) decodes(kernels []int32) bool {
	norm, conv := false, false
	for _, i := range kernels {
		for _, role := range w.Facts[w.ID[i]].Ops {
			switch {
			case role.Mixer(), role == classify.RoleSoftmax, role == classify.RoleScanInput:
				return true
			case role == classify.RoleNorm, role == classify.RoleRsqrt:
				norm = true
			case role == classify.RoleConv:
				conv = true
			}
		}
	}
	return norm && !conv
}

// withoutOrder leaves out what only the order of the kernels shows.
func (a *aligned) withoutOrder() *aligned {
	out := slices.Clone(a.of)
	for k := range out {
		if out[k].Evidence == operator.Order {
			out[k] = operator.Found{Operator: opname.Other, Layer: out[k].Layer}
		}
	}
	return &aligned{of: out}
}

// rowOf returns the row of an answer, with a confidence of at most limit.
func (d *Device) rowOf(f *operator.Found, limit float32, rows map[opRow]uint16) uint16 {
	return d.row(opRow{profile.Operator(f.Operator), Part(f.Part), f.Evidence, min(f.Confidence, limit)}, rows)
}

// row returns the number of a row, and adds it to the table where it is new. Beyond 65 536 rows it is that of no
// operator.
func (d *Device) row(row opRow, rows map[opRow]uint16) uint16 {
	id, ok := rows[row]
	if !ok && len(d.operators) < 1<<16 {
		id = uint16(len(d.operators))
		rows[row] = id
		d.operators = append(d.operators, row)
	}
	return id
}

// joinsNorm says that a kernel is an all-reduce fused with the norm after it: it stays in the layer of that norm.
func (w *work) joinsNorm(i int32) bool {
	f := &w.Facts[w.ID[i]]
	return f.Collective != classify.NotCollective && f.Role == classify.RoleNorm
}

// launchesMissing says that the order of the kernels may not be the program's: some have no launch.
func (w *work) launchesMissing(kernels []int32) bool {
	return slices.ContainsFunc(kernels, func(i int32) bool { return !w.Known(i) && !w.Replayed(i) })
}

// movable says that an operator's layer is better known than the label of the kernel. Without a plan that is so for the
// collectives only: the kernels do not show whether a norm begins a layer or ends one.
func movable(f *operator.Found, planned bool) bool {
	if f.Operator == opname.Other || f.Part != operator.Main {
		return false
	}
	return planned && (f.Layer >= 0 || f.Operator == opname.Embed) ||
		strings.HasPrefix(f.Operator, opname.AttnAllReduce) || strings.HasPrefix(f.Operator, opname.MLPAllReduce)
}

// atEdge says that kernel k of a pass is beside kernels of the layer of its operator, or after or before others
// that move there: an operator that was counted in another layer takes no kernel from the middle of
// one.
func atEdge(layers []int32, found []operator.Found, k int) bool {
	to, next := found[k].Layer, k+1
	for next < len(layers) && layers[next] == layers[k] && found[next].Layer == to {
		next++
	}
	return (k == 0 || layers[k-1] == to) || next == len(layers) || layers[next] == to
}

// operatorsOf aligns one pass. Passes of the same kernels, labels and frames have the same operators: the weights
// of equal kernels in equal places are equal, too, so their shapes are looked at once.
func (w *work) operatorsOf(f *operator.Finder, r *ladder.Result, paths *ladder.ModulePaths,
	known map[string]*aligned) *aligned {
	beside := w.besideMain(r)
	cutStart, cutEnd := r.Cut == ladder.CutAtStart || r.Cut == ladder.CutAtBoth, r.Cut == ladder.CutAtEnd ||
		r.Cut == ladder.CutAtBoth
	const each = 16 // bytes
	key := slices.Grow(w.passKey[:0], 2+each*len(r.Kernels))[:2+each*len(r.Kernels)]
	framed := r.LayerEvidence == ladder.RungModule
	key[0], key[1] = byte(stat.Int(cutStart)|stat.Int(framed)<<1), byte(stat.Int(cutEnd))
	for k, i := range r.Kernels {
		leaf, stream := int32(replayedLeaf), int32(0)
		if !w.Replayed(i) && w.Known(i) {
			leaf = paths.LeafOf(i)
		}
		if beside != nil && beside[k] {
			stream = int32(w.Act(i).Stream()) + 1
		}
		at := key[2+each*k:][:each]
		binary.LittleEndian.PutUint32(at, uint32(w.ID[i]))
		binary.LittleEndian.PutUint32(at[4:], uint32(r.Layer[k]))
		binary.LittleEndian.PutUint32(at[8:], uint32(leaf))
		binary.LittleEndian.PutUint32(at[12:], uint32(stream))
	}
	w.passKey = key
	if found, ok := known[string(key)]; ok {
		return found
	}
	kernels := make([]operator.Kernel, len(r.Kernels))
	for k, i := range r.Kernels {
		op, id := &kernels[k], w.ID[i]
		op.Name, op.Facts, op.Layer = w.Names[id], &w.Facts[id], r.Layer[k]
		if beside != nil && beside[k] {
			op.Stream = int32(w.Act(i).Stream()) + 1
		}
		if w.Known(i) && !w.Replayed(i) {
			op.Modules, op.Framed = paths.Of(i), framed
			if w.Facts[id].Role == classify.RoleProduct {
				op.K, op.N = w.weightOf(i)
			}
		}
	}
	found := &aligned{of: f.Find(operator.Pass{Kernels: kernels, First: r.First, Layers: r.Count, CutStart: cutStart,
		CutEnd: cutEnd})}
	known[string(key)] = found
	return found
}

// replayedLeaf is, in a pass's key, the module of a kernel that has no launch of its own.
const replayedLeaf = -2

// besideMain says of each kernel of a pass whether its place in the line of launches says nothing: it runs beside the
// main line, in a second half of the batch, or, in graph replays, on another stream than most, as there the start
// decides the order. nil: all are of one stream.
func (w *work) besideMain(r *ladder.Result) []bool {
	if w.OneStream(r.Kernels) {
		return nil
	}
	aside := map[int32]bool{}
	for _, i := range r.Second {
		aside[i] = true
	}
	main, several := w.mainReplayStream(r.Kernels)
	beside := make([]bool, len(r.Kernels))
	for k, i := range r.Kernels {
		beside[k] = aside[i] || several && w.Replayed(i) && w.Act(i).Stream() != main
	}
	return beside
}

// mainReplayStream is the stream that most replayed kernels run on, the one that comes first of equal ones, and
// whether there are several.
func (w *work) mainReplayStream(kernels []int32) (main trace.StreamID, several bool) {
	var streams intern.Keys[trace.StreamID]
	var count []int
	most := 0
	for _, i := range kernels {
		if !w.Replayed(i) {
			continue
		}
		s := streams.ID(w.Act(i).Stream())
		if s == len(count) {
			count = append(count, 0)
		}
		if count[s]++; count[s] > most {
			main, most = streams.Key(s), count[s]
		}
	}
	return main, len(count) > 1
}

// weightOf returns the sizes of the weight of the product op of a launch, 0 where its shapes are not recorded. Other
// ops have the sides of a weight in an order of their own.
func (w *work) weightOf(i int32) (k, n int) {
	op := w.Act(i).Op()
	at, ok := productOps[op.Name()]
	if dims := w.dimsOf(op); ok && len(dims) > at+1 && len(dims[at+1]) == 2 {
		k, n = int(max(0, dims[at+1][0])), int(max(0, dims[at+1][1]))
	}
	return k, n
}

// productOps are ops that multiply rows by a weight, and which of their inputs the rows are.
var productOps = map[string]int{"aten::mm": 0, "aten::addmm": 1}

// dimsOf returns the recorded sizes of an op's inputs, nil where there are none.
func (w *work) dimsOf(op trace.Event) (dims [][]int64) {
	text := op.Shape()
	dims, ok := w.dims[text]
	if !ok {
		if w.dims == nil {
			w.dims = map[string][][]int64{}
		}
		if json.Unmarshal([]byte(text), &dims) != nil {
			dims = nil
		}
		w.dims[text] = dims
	}
	return dims
}
