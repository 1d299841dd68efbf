package layer

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer/internal/ladder"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// What the tokens and the stage of a pass were read from.
const (
	tokensAnnotated = "annotation"
	tokensOfGrids   = "grids"
	tokensOfShapes  = "shapes"
)

// minFamilies is how many families of kernels must agree on a number of tokens where none of them is in every layer.
// The families of the table have one block a token, whatever its width: one that is equal in all layers suffices.
const minFamilies = 2

// countTokens completes what annotations say of tokens and stages by what the kernels show: those that run a block
// for each token, and attention that exists for one token a request only. What is not certain stays unknown.
func (w *work) countTokens(a *Device, results []ladder.Result) {
	cached := map[int]bool{} // models that attend to more than a pass computes
	for p := range results {
		if w.Ended() != nil {
			return
		}
		fp, r := &a.Passes[p], &results[p]
		if fp.Tokens >= 0 {
			fp.TokenEvidence = tokensAnnotated
		}
		rows, tokens := w.rowsOf(r)
		fp.Rows = rows
		if fp.Tokens < 0 && tokens > 0 && len(r.Second) == 0 {
			fp.Tokens, fp.TokenEvidence = tokens, tokensOfGrids
		}
		if fp.Tokens < 0 && len(r.Second) == 0 {
			if n := w.tokensOfProducts(r); n > 0 {
				fp.Tokens, fp.TokenEvidence = n, tokensOfShapes
			}
		}
		at := w.attention[p]
		cached[fp.Model] = cached[fp.Model] || at.keys > at.queries
		if fp.Tokens < 0 && at.queries > 0 && len(r.Second) == 0 {
			fp.Tokens, fp.TokenEvidence = at.requests*at.queries, tokensOfShapes
		}
		if st := r.Step; fp.Stage != StageUnknown && st != nil && Stage(st.Stage) == fp.Stage {
			fp.StageEvidence = StageByAnnotation
		} else if fp.Stage != StageUnknown { // a draft model, a rank without requests
			fp.StageEvidence = StageByKernels
		} else if w.oneQuery(r) || at.decodes() || fp.Tokens == 1 {
			fp.Stage, fp.StageEvidence = StageDecode, StageByKernels
		}
		if fp.Stage == StageDecode && fp.Batch < 0 {
			switch {
			case fp.TokenEvidence == tokensOfGrids:
				fp.Batch = int(fp.Tokens)
			case at.decodes():
				fp.Batch = int(at.requests)
			}
		}
	}
	_, training := w.Training()
	a.stagesOfTokens(w.attention, training)
	w.stagesOfLaunches(a, results, cached)
}

// stagesOfLikes completes passes whose stage or tokens nothing shows, as those that a window cuts, by passes of the
// model that launch the same kernels over the same grids in a layer: these compute as many tokens, for the same stage.
func (w *work) stagesOfLikes(a *Device, results []ladder.Result) {
	type block struct {
		model, layer int
		launches     uint64
	}
	unknown := func(fp ForwardPass) bool { return fp.Stage == StageUnknown && fp.NumLayers > 0 }
	if !slices.ContainsFunc(a.Passes, unknown) {
		return
	}
	likes := map[block]*ForwardPass{} // nil where passes differ in stage
	for p := range results {
		fp := &a.Passes[p]
		if fp.Stage == StageUnknown {
			continue
		}
		for _, n := range edgeLayers(&results[p]) {
			b := block{fp.Model, n, w.launchesOf(&results[p], n)}
			if other, seen := likes[b]; b.launches == 0 || seen && (other == nil || other.Stage != fp.Stage) {
				likes[b] = nil
			} else if !seen || other.Tokens < 0 {
				likes[b] = fp
			}
		}
	}
	for p := range results {
		fp := &a.Passes[p]
		if !unknown(*fp) {
			continue
		}
		for _, n := range edgeLayers(&results[p]) {
			like := likes[block{fp.Model, n, w.launchesOf(&results[p], n)}]
			if like == nil {
				continue
			}
			fp.Stage, fp.StageEvidence = like.Stage, StageByKernels
			if fp.Batch < 0 {
				fp.Batch = like.Batch
			}
			if fp.Tokens < 0 {
				fp.Tokens, fp.TokenEvidence = like.Tokens, like.TokenEvidence
			}
			break
		}
	}
}

// edgeLayers are the numbers of the first and the last layer of a pass.
func edgeLayers(r *ladder.Result) []int {
	if r.Count == 0 {
		return nil
	}
	return []int{r.First, r.First + r.Count - 1}
}

// launchesOf returns what a layer launches, kernels and their grids, as a number; 0 where it has no kernel, one is
// replayed, as a graph runs for fewer tokens too, or its grid is unknown.
func (w *work) launchesOf(r *ladder.Result, n int) uint64 {
	w.passKey = w.passKey[:0]
	for k, i := range r.Kernels {
		if int(r.Layer[k]) != n || w.Act(i).Kind() != event.Kernel {
			continue
		}
		grid := w.Act(i).Shape()
		if grid == "" || w.Replayed(i) {
			return 0
		}
		w.passKey = append(binary.LittleEndian.AppendUint32(w.passKey, uint32(w.ID[i])), grid...)
	}
	if len(w.passKey) == 0 {
		return 0
	}
	return hashOf(w.passKey)
}

// stagesOfTokens gives the stage of prompts to passes of many tokens of a model whose other passes decode one token
// each: one request runs then. Where inputs of attention were recorded it is one token of each request. Passes of
// a language model whose queries, several a request, attend to earlier tokens of the same pass alone have it, too,
// unless this is training, whose forward half does so.
func (a *Device) stagesOfTokens(queries []attention, training bool) {
	single, other := map[int]bool{}, map[int]bool{} // models that decode one token a pass, and those that decode more
	each := map[int]bool{}                          // models that decode one token of each request
	for p := range a.Passes {
		if fp := &a.Passes[p]; fp.Stage == StageDecode && fp.Tokens > 0 {
			single[fp.Model] = single[fp.Model] || fp.Tokens == 1
			other[fp.Model] = other[fp.Model] || fp.Tokens > 1
			each[fp.Model] = each[fp.Model] || queries[p].decodes()
		}
	}
	for p := range a.Passes {
		fp, q := &a.Passes[p], queries[p]
		switch {
		case fp.Stage != StageUnknown:
		case each[fp.Model] && q.queries > 1 && (q.queries == q.keys || q.queries > mostVerified),
			q.prompts() && !training && a.Models[fp.Model].Role == RoleLanguage:
			fp.Stage, fp.StageEvidence = StagePrefill, StageByKernels
			if fp.Batch < 0 {
				fp.Batch = int(q.requests)
			}
		case fp.Tokens > 1 && fp.TokenEvidence == tokensOfGrids && single[fp.Model] && !other[fp.Model]:
			fp.Stage, fp.StageEvidence = StagePrefill, StageByKernels
		}
	}
}

// mostVerified is up to how many tokens of a request may be what a draft model guessed, to be verified.
const mostVerified = 16

// attention is what its recorded inputs show: how many requests, and the queries and keys of each. It is zero if they
// are unknown.
type attention struct {
	requests, queries, keys int64

	mask mask
}

// mask is which tokens a query attends to.
type mask uint8

const (
	maskUnknown mask = iota
	maskCausal       // itself and those before it
	maskNone         // all
)

// decodes says that each request computes one token, and attends to others before it.
func (a attention) decodes() bool { return a.queries == 1 && a.keys > 1 }

// prompts says that each request computes several tokens, and that each attends to those before it alone.
func (a attention) prompts() bool {
	return a.mask == maskCausal && a.queries > 1 && a.queries == a.keys
}

// both says that tokens attend to later ones too.
func (a attention) both() bool { return a.mask == maskNone && a.queries > 1 }

// readAttention notes what the attention of each pass ran over.
func (w *work) readAttention(results []ladder.Result) {
	w.attention = make([]attention, len(results))
	for p := range results {
		w.attention[p] = w.attentionOf(&results[p])
	}
}

// attentionOf returns what attention in the layers of a pass ran over, where its queries are as many in all of them;
// keys are those of the layer with most.
func (w *work) attentionOf(r *ladder.Result) (out attention) {
	for k, i := range r.Kernels {
		if r.Layer[k] == trace.None || w.RoleOf(i) != ladder.RoleMixer || w.Replayed(i) {
			continue
		}
		op := attentionOp(w.Act(i).Op())
		a := attentionIn(w.dimsOf(op))
		switch {
		case a.queries <= 0:
		case out.queries == 0:
			out = a
			out.mask = w.maskOf(op)
		case a.queries != out.queries || a.requests != out.requests:
			return attention{}
		default:
			out.keys = max(out.keys, a.keys)
		}
	}
	return out
}

// attentionCall is what a program calls for attention; the ops that [attentionOp] finds are parts of it or it.
const attentionCall = "aten::scaled_dot_product_attention"

// maskOf returns which tokens the queries of an attention attend to, as the inputs of its call say: a tensor that is
// added to the scores may hide any. The signature is attention(query, key, value, attn_mask, dropout_p, is_causal, …).
func (w *work) maskOf(op trace.Event) mask {
	const added, causal, most = 3, 5, 2
	flags := map[string]mask{"True": maskCausal, "False": maskNone}
	n := 0
	for e := range op.Enclosing() {
		if e.Name() != attentionCall {
			if n++; n == most {
				break
			}
			continue
		}
		_, _, text := e.Inputs()
		var values []string
		dims := w.dimsOf(e)
		if len(dims) <= added || len(dims[added]) > 0 || json.Unmarshal([]byte(text), &values) != nil ||
			len(values) <= causal {
			return maskUnknown
		}
		return flags[values[causal]]
	}
	return maskUnknown
}

// attentionOp returns the op of the attention that an op is a part of, not valid where there is none.
func attentionOp(op trace.Event) trace.Event {
	const prefix, most = "aten::_scaled_dot_product_", 4
	n := 0
	for e := range op.Enclosing() {
		if name := e.Name(); name == attentionCall ||
			strings.HasPrefix(name, prefix) && !strings.HasSuffix(name, "_backward") {
			return e
		}
		if n++; n == most {
			break
		}
	}
	return trace.Event{}
}

// attentionIn reads the sizes of queries and keys, each [requests, heads, tokens, width].
func attentionIn(sizes [][]int64) attention {
	const axes = 4
	if len(sizes) < 2 || len(sizes[0]) != axes || len(sizes[1]) != axes || sizes[0][0] != sizes[1][0] {
		return attention{}
	}
	return attention{requests: sizes[0][0], queries: sizes[0][2], keys: sizes[1][2]}
}

// tokensOfProducts returns the rows of the products in the layers of a pass as their inputs were recorded, where two
// weights of different sizes at least have them and none has others; −1 else.
func (w *work) tokensOfProducts(r *ladder.Result) int64 {
	rows, several := int64(-1), false
	var first []int64 // the sides of a weight
	for k, i := range r.Kernels {
		if r.Layer[k] == trace.None || w.Facts[w.ID[i]].Role != classify.RoleProduct || w.Replayed(i) {
			continue
		}
		op := w.Act(i).Op()
		at, ok := productOps[op.Name()]
		sizes := w.dimsOf(op)
		if !ok || len(sizes) < at+2 || len(sizes[at]) != 2 || len(sizes[at+1]) != 2 || sizes[at][1] != sizes[at+1][0] {
			continue
		}
		switch m := sizes[at][0]; {
		case m <= 0:
		case rows < 0:
			rows, first = m, sizes[at+1]
		case m != rows:
			return -1
		default:
			several = several || !slices.Equal(sizes[at+1], first)
		}
	}
	if !several {
		return -1
	}
	return rows
}

// stagesOfLaunches gives stages to the complete passes whose kernels show none, by how they are launched.
// cached are models that were seen to attend to tokens of earlier passes.
func (w *work) stagesOfLaunches(a *Device, results []ladder.Result, cached map[int]bool) {
	passes := make([]launchedPass, len(results))
	for p := range results {
		fp, r := &a.Passes[p], &results[p]
		usable := fp.Partial == whole && fp.NumLayers > 0 && len(r.Second) == 0
		passes[p] = launchedPass{runsOf: runsOf{r.Model, fp.NumLayers}, kernels: fp.Kernels, replayed: fp.Replay,
			known:   !usable || fp.Stage != StageUnknown,
			decodes: usable && fp.Stage == StageDecode, work: w.times[p].layers, generates: cached[fp.Model]}
		for k, i := range r.Kernels {
			if r.Layer[k] != trace.None && w.Facts[w.ID[i]].Role == classify.RoleCacheWrite {
				passes[p].generates = true
				break
			}
		}
	}
	for p, stage := range stagesByLaunches(passes) {
		if stage != StageUnknown {
			a.Passes[p].Stage, a.Passes[p].StageEvidence = stage, StageByLaunches
		}
	}
}

// familySize is the number of tokens that the kernels of a family show.
type familySize struct {
	n      int64
	grid   classify.TokenGrid
	replay bool  // one of them was replayed
	bad    bool  // they do not agree
	last   int32 // the layer that it was seen in last
	layers int   // that it was seen in
}

// rowsOf returns the rows that the kernels of a pass ran, and how many of them are tokens, each −1 where that is not
// certain: a graph runs the rows it was captured with, and kernels that were launched may be given padding, but for
// those that write the cache.
func (w *work) rowsOf(r *ladder.Result) (rows, tokens int64) {
	var families []familySize
	experts, sizes := false, map[string][3]int64{} // by launch configuration
	for k, i := range r.Kernels {
		if r.Layer[k] == trace.None {
			continue
		}
		f := &w.Facts[w.ID[i]]
		experts = experts || f.Role == classify.RoleRouter || f.Role == classify.RoleExperts
		if f.Tokens.Family == "" {
			continue
		}
		config := w.Act(i).Shape()
		if config == "" {
			continue // a replay on AMD
		}
		size, ok := sizes[config]
		if !ok {
			size = gridOf(config)
			sizes[config] = size
		}
		families = addFamily(families, f.Tokens, size[f.Tokens.Axis], w.Replayed(i), int32(r.Layer[k]))
	}
	return agreed(families, experts, r.Count)
}

// agreed returns the rows on which families agree, and the tokens that the cache write shows. A cache write of fewer
// rows contradicts no other: it leaves padding out. Two families are enough, or one that is in all layers.
func agreed(families []familySize, experts bool, layers int) (rows, tokens int64) {
	rows, tokens = -1, -1
	count, whole, written := 0, false, false
	for _, cacheWrites := range []bool{false, true} {
		for _, f := range families {
			if f.grid.Real != cacheWrites || f.grid.Dense && experts {
				continue
			}
			everywhere := layers > 1 && f.layers >= layers
			switch {
			case f.bad || f.n <= 0:
				return -1, -1
			case rows < 0 || f.n == rows:
				rows = f.n
				count++
				whole = whole || everywhere
				written = written || cacheWrites && !f.replay
			case !f.grid.Real || f.n > rows:
				return -1, -1
			case everywhere && !f.replay:
				tokens = f.n
			}
		}
	}
	if count < minFamilies && !whole {
		return -1, -1
	}
	if written {
		tokens = rows
	}
	return rows, tokens
}

// addFamily notes what one kernel shows in a layer.
func addFamily(families []familySize, g classify.TokenGrid, n int64, replay bool, layer int32) []familySize {
	for i := range families {
		if f := &families[i]; f.grid.Family == g.Family {
			f.bad = f.bad || f.n != n
			f.replay = f.replay || replay
			if layer != f.last {
				f.last = layer
				f.layers++
			}
			return families
		}
	}
	return append(families, familySize{n: n, grid: g, replay: replay, last: layer, layers: 1})
}

// gridOf reads the grid of a launch configuration, "gx,gy,gz|bx,by,bz"; what is missing is 0.
func gridOf(config string) (size [3]int64) {
	grid, _, _ := strings.Cut(config, "|")
	for i, s := range strings.SplitN(grid, ",", len(size)) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return [3]int64{}
		}
		size[i] = n
	}
	return size
}

// oneQuery says that the pass decodes: attention of one token a request runs, and nothing else mixes tokens in those
// layers. Attention for prompts beside it, in a batch of both, would be such a kernel.
func (w *work) oneQuery(r *ladder.Result) bool {
	one, other := make([]bool, r.Count), make([]bool, r.Count) // by layer
	for k, i := range r.Kernels {
		l := int(r.Layer[k])
		if l == trace.None {
			continue
		}
		switch f := &w.Facts[w.ID[i]]; {
		case f.OneQuery:
			one[l-r.First] = true
		case w.RoleOf(i) == ladder.RoleMixer:
			other[l-r.First] = true
		}
	}
	for l := range one {
		if one[l] && other[l] {
			return false
		}
	}
	return slices.Contains(one, true)
}
