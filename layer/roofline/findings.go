package roofline

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/profile/hardware"
)

// The numbers that decide what is said of an operator above its floor.
const (
	// mostOf is the share of a heading's time above the floor from which one operator speaks for it: more than half
	// is more than all others.
	mostOf = 0.5
	// wellRun is the share of the floor from which an operator has no defect: memory and matrix units reach 85 to 95%
	// of their peaks.
	wellRun = 0.85
	// fewExperts is the share of an even choice below which fewer experts are a finding: shares above may be rounding.
	fewExperts = 0.95
	// aligned is how many bytes wide the loads of matrix units are; rows that are no multiple of it are read element
	// by element.
	aligned = 16
	// shortRows is how many blocks of 128 keys a row of attention reads at most that is called short: fewer leave
	// nothing to overlap.
	shortRows = 4
	keyBlock  = 128
	// muchTime is the share of a pass from which operators without a floor are named: twice as fast they would win 5%,
	// more than runs differ by.
	// It is the share of the time booked to kernels, too, from which the time beside other kernels is said.
	muchTime = 0.1
	// leastLoss is the share of what a group loses from which an operator is named: runs differ by as much.
	leastLoss = 0.01
)

// CodeCopies is that of kernels that copy, cast or clear. They take time; how much of it has to be is not known.
const CodeCopies = "copies"

// A defect is why an operator is above its floor, and the fix.
type defect struct{ text, do string }

// findings are what a pass loses above its floor, a heading of the waterfall each, and what makes floors doubtful.
// They are of all passes of the pass's stage and model. One that is cut counts as far as it goes.
func (r *measured) findings() []finding.Finding {
	out := []finding.Finding{}
	d := r.walk.device
	fp := &d.Passes[r.pass.Index]
	model, alike := d.ModelOf(r.pass.Index), 0.0
	var stage time.Duration
	for i := range d.Passes {
		if o := &d.Passes[i]; o.Stage == fp.Stage {
			stage += d.StepTime(i)
			if o.Model == fp.Model {
				alike += d.StepShare(i)
			}
		}
	}
	add := func(f finding.Finding, m finding.Measure, took time.Duration) {
		f.Size = finding.SizeOf(m, fp.Basis(), took, 1, r.pass.Wall)
		f.Total = time.Duration(float64(took) * alike)
		if f.Model = model; model != "" {
			f.Share = float64(f.Total) / float64(stage)
		}
		f.Where = fmt.Sprintf("pass %d", r.pass.Index)
		if f.Place.Operator != "" {
			f.Where += ", " + f.Place.Operator
		}
		if f.Place.Kernel != "" {
			f.Where += ", longest " + f.Place.Kernel
		}
		f.Stage, f.Place.Pass, f.Do = fp.Stage, finding.At(r.pass.Index), cmp.Or(f.Do, f.Kind.Info().Advice.Do)
		if r.pass.Stage == layer.StageUnknown {
			f.Stage = ""
		}
		out = append(out, f)
	}
	for g := range heads {
		r.above(group(g), add)
	}
	// A kernel fused into its neighbour saves its start and drain, which the shortest kernels show; its work stays.
	if gain := min(r.booked[small], time.Duration(r.fusible())*r.walk.shortest); gain > 0 {
		beside := ""
		if hidden := r.hidden[small]; besideOthers(hidden, r.booked[small]) != "" {
			beside = fmt.Sprintf(", %s beside other kernels", table.Duration(hidden))
		}
		f := finding.Finding{Kind: finding.SmallKernels, Text: "Many small kernels", Confidence: finding.High,
			Evidence: fmt.Sprintf("They take %s in %s%s. %s.", table.Duration(r.booked[small]+r.hidden[small]),
				r.launches(small), beside, table.UpperFirst(r.walk.lasting()))}
		if k := r.longest[small]; k.Valid() {
			f.Place.Kernel = shortName(k)
		}
		add(f, finding.Recoverable, gain)
	}
	if c := &r.copied; c.booked > 0 {
		most := r.mostCopied()
		evidence := r.number(c.count)
		if all := r.counts[copies]; all > c.count {
			evidence = fmt.Sprintf("%s of %s under copies and fills", table.Count(int64(c.count)),
				table.Counted(all, "launch", "launches"))
		}
		add(finding.Finding{Kind: finding.NoFloor, Code: CodeCopies, Text: "Kernels that copy, cast or clear",
			Evidence: fmt.Sprintf("%s. Most for %s: %s.", evidence, most, table.Duration(c.by[most])),
			Place:    finding.Place{Kernel: shortName(c.longest)}, Confidence: finding.High,
			Advice: finding.Advice{Do: "Write results where they are read, and clear buffers once."}},
			finding.Taken, c.booked)
	}
	for g := range heads {
		r.noFloor(group(g), add)
	}
	finding.Rank(out)
	return append(append(r.contradictions(), out...), r.uneven()...)
}

// fusible is how many small kernels of the pass may be part of a neighbour: not the one that the others would be part
// of, and none where the trace does not show what short kernels take.
func (r *measured) fusible() int {
	work := 0
	for g, n := range r.counts {
		if g := group(g); g != communication && g != copies {
			work += n
		}
	}
	if r.counts[small] < 2 || !r.walk.showsShort() {
		return 0
	}
	return min(r.counts[small], work-1)
}

// mostCopied is the operator that kernels copy, cast or clear for longest.
func (r *measured) mostCopied() string {
	names := slices.Sorted(maps.Keys(r.copied.by))
	return slices.MaxFunc(names, func(a, b string) int { return cmp.Compare(r.copied.by[a], r.copied.by[b]) })
}

// noFloor names the operators of a heading that take much of the pass without a floor.
func (r *measured) noFloor(g group, add func(finding.Finding, finding.Measure, time.Duration)) {
	var took time.Duration
	for _, c := range r.order {
		if c.group == g && r.bare(c) {
			took += c.booked
		}
	}
	if float64(took) < muchTime*float64(r.pass.Wall) || took == 0 {
		return
	}
	why, do := r.missing(g)
	f := finding.Finding{Kind: finding.NoFloor, Code: headCodes[g], Text: "No floor is known for " + heads[g].name,
		Evidence: fmt.Sprintf("Operators: %s. %s", r.bareOf(g), why), Confidence: finding.High,
		Advice: finding.Advice{Do: do}}
	if _, longest := r.launched(g, true); longest.Valid() {
		f.Place.Kernel = shortName(longest)
	}
	add(f, finding.Taken, took)
}

// uneven says that the time proves that fewer experts were read than an even choice reads. A time in which not even
// those of one token can be read proves nothing.
func (r *measured) uneven() []finding.Finding {
	var few *cell
	for _, c := range r.order {
		if share := c.chosen / c.work.ActiveExperts; share > 0 && share < fewExperts && c.chosen >= c.work.LeastExperts &&
			(few == nil || share < few.chosen/few.work.ActiveExperts) {
			few = c
		}
	}
	if few == nil || r.withheld {
		return nil
	}
	return []finding.Finding{{Kind: finding.Doubt, Code: "experts-uneven",
		Text: "Tokens choose fewer experts than an even choice",
		Evidence: fmt.Sprintf("The time of %s proves at most %.0f of %.0f expected experts in the mean of %s.",
			few.operator, few.chosen, few.work.ActiveExperts, table.Counted(few.instances, "layer", "layers")),
		Place: finding.Place{Pass: finding.At(r.pass.Index), Operator: few.operator}, Confidence: finding.High,
		Advice: finding.Advice{Do: "Hold experts against the floor of one token, not against an even choice."}}}
}

// contradictions are rows that are faster than the GPU can be.
func (r *measured) contradictions() []finding.Finding {
	var names []string
	for _, c := range r.order {
		if c.over > 0 && !slices.Contains(names, c.operator) {
			names = append(names, c.operator)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []finding.Finding{{Kind: finding.Doubt, Code: "faster-than-possible",
		Text: "Operators are faster than the GPU can be",
		Evidence: fmt.Sprintf("Check tokens, data types, GPU and records of: %s.",
			table.Cut(strings.Join(names, ", "), 120)),
		Place:      finding.Place{Pass: finding.At(r.pass.Index)},
		Confidence: finding.High, Advice: finding.Advice{Do: "Check `--tokens`, `--config` and the GPU."}}}
}

// above makes a finding of what the operators of a heading take above their floor. Where no floor is known, only a
// defect that sizes show is one.
func (r *measured) above(g group, add func(finding.Finding, finding.Measure, time.Duration)) {
	if r.pass.Floor == 0 {
		r.defects(g, add)
		return
	}
	all := r.byOperator(g)
	list := all
	if g == products {
		list = r.misaligned(all, add)
	}
	reached := r.reached(g)
	var sum time.Duration
	for i := range list {
		if m := &list[i]; !m.unreachable {
			m.above = max(0, m.above-r.unreached(m, g, reached))
			sum += m.above
		}
	}
	if sum <= 0 {
		if len(list) == len(all) {
			r.defects(g, add)
		}
		return
	}
	f := finding.Finding{Kind: finding.AboveFloor, Code: headCodes[g], Text: table.UpperFirst(heads[g].above),
		Confidence: finding.High,
		Evidence:   "Share of the GPU's peak: " + sharesOf(list) + "."}
	worst := slices.MaxFunc(list, func(a, b merged) int { return cmp.Compare(a.above, b.above) })
	if worst.longest.Valid() {
		f.Place.Kernel = shortName(worst.longest)
	}
	f.Place.Operator = worst.operator
	if reached != nil && r.unreached(&worst, g, reached) > 0 {
		f.Evidence += reached.text
	}
	if share := float64(worst.floor+worst.open) / float64(worst.raw); float64(worst.above) > mostOf*float64(sum) &&
		share < wellRun && (g != others || worst.floor >= r.walk.starts(&worst)) {
		if d := r.defectOf(g, worst.operator, worst.longest); d.text != "" {
			f.Text, f.Advice.Do = d.text, d.do
		}
	}
	if g == experts {
		for _, c := range r.order {
			if c.group == g && len(c.notes) > 0 {
				f.Evidence += " " + table.UpperFirst(c.notes[0]) + "."
				break
			}
		}
	}
	add(f, finding.Recoverable, sum)
}

// misaligned makes one finding of the products whose rows loads of 16 bytes do not fit, and returns the others. A
// product of padded sizes reaches no more of the peak than the best one that arithmetic bounds in the pass.
func (r *measured) misaligned(list []merged, add func(finding.Finding, finding.Measure, time.Duration)) []merged {
	var odd, rest []merged
	best := 0.0
	for _, m := range list {
		w, bound := r.sizes(products, m.operator)
		share := float64(m.floor) / float64(m.raw)
		switch k, _ := w.Unaligned(); {
		case k > 0 && share < wellRun && !m.unreachable:
			odd = append(odd, m)
			continue
		case k == 0 && bound == boundCompute && !m.unreachable:
			best = max(best, min(share, 1))
		}
		rest = append(rest, m)
	}
	if len(odd) == 0 {
		return rest
	}
	evidence := "Share of the GPU's peak: " + sharesOf(odd) + "."
	var gain time.Duration
	for _, m := range odd {
		padded := m.floor
		if _, bound := r.sizes(products, m.operator); best > 0 && bound == boundCompute {
			padded = time.Duration(float64(m.floor) / best)
		}
		gain += max(0, min(m.above, m.raw-padded))
	}
	if gain == 0 {
		return list
	}
	if best > 0 {
		evidence += fmt.Sprintf(" Aligned products of the pass reach %.0f%%.", 100*best)
	}
	worst := slices.MaxFunc(odd, func(a, b merged) int { return cmp.Compare(a.above, b.above) })
	w, _ := r.sizes(products, worst.operator)
	f := finding.Finding{Kind: finding.AboveFloor, Code: "misaligned", Text: misalignedText, Confidence: finding.High,
		Evidence: evidence, Place: finding.Place{Operator: worst.operator}, Advice: finding.Advice{Do: padding(&w)}}
	if worst.longest.Valid() {
		f.Place.Kernel = shortName(worst.longest)
	}
	add(f, finding.Recoverable, gain)
	return rest
}

// reach is the share of the peak of a data sheet that products of a type reach at most, which the GPU's maker measured
// or a product of the pass shows.
type reach struct {
	dtype string
	share float64
	text  string
}

// reached is what products reach, nil where the maker of the GPU measured nothing and for what is no product.
func (r *measured) reached(g group) *reach {
	if g != products && g != experts {
		return nil
	}
	var out *reach
	for _, c := range r.order {
		if c.group != g || c.bound != boundCompute {
			continue
		}
		dtype := c.matrix()
		best, peak := r.walk.gpu.Measured[dtype], r.walk.gpu.FLOP[dtype]
		if out == nil && best.Known() && peak.Known() {
			out = &reach{dtype, best.Value / peak.Value, fmt.Sprintf(
				" The gain is up to what the vendor's tuned GEMMs reach: %.0f%% of that peak (%s, %.0f TFLOP/s).",
				100*best.Value/peak.Value, dtype, best.Value/1e12)}
		}
		if out != nil && out.dtype == dtype && c.over == 0 && c.raw > 0 {
			out.share = max(out.share, float64(c.floor)/float64(c.raw))
		}
	}
	return out
}

// starts is what the launches of an operator take whatever they move, as the GPU's shortest kernels do; 0 where the
// trace does not show it.
func (w *walk) starts(m *merged) time.Duration {
	if !w.showsShort() {
		return 0
	}
	return time.Duration(m.launches) * w.shortest
}

// unreached is the part of the time above the floor of an operator that no kernel makes up for.
func (r *measured) unreached(m *merged, g group, best *reach) time.Duration {
	if g == others {
		return max(0, r.walk.starts(m)-m.floor)
	}
	c := r.cellOf(g, m.operator)
	if best == nil || c == nil || c.bound != boundCompute || c.matrix() != best.dtype {
		return 0
	}
	return time.Duration(float64(m.floor)/best.share) - m.floor
}

// matrix is the data type of an operator's products.
func (c *cell) matrix() string {
	if c.ops != nil {
		return cmp.Or(c.ops.work.Matrix, c.work.DType)
	}
	return c.work.DType
}

// cellOf is the first of an operator under a heading; nil where there is none.
func (r *measured) cellOf(g group, operator string) *cell {
	i := slices.IndexFunc(r.order, func(c *cell) bool { return c.operator == operator && c.group == g })
	if i < 0 {
		return nil
	}
	return r.order[i]
}

// defects are those of operators without a floor.
func (r *measured) defects(g group, add func(finding.Finding, finding.Measure, time.Duration)) {
	for _, c := range r.order {
		if c.group != g {
			continue
		}
		if d := r.defectOf(g, c.operator, c.longest); d.text != "" &&
			(d.text != bandwidthLow && d.text != attentionLow) {
			add(finding.Finding{Kind: finding.AboveFloor, Code: c.operator, Text: d.text,
				Evidence: "Judged by sizes alone; no floor is known.", Confidence: finding.Medium,
				Place:  finding.Place{Operator: c.operator, Kernel: shortName(c.longest)},
				Advice: finding.Advice{Do: d.do}}, finding.Taken, c.booked)
		}
	}
}

var headCodes = [len(heads)]string{products: "products", experts: "experts", attentionCore: "attention",
	others: finding.CodeOthers}

const (
	bandwidthLow = "Bandwidth far below the peak"
	attentionLow = "Attention far below the peak"
	// misalignedText is said of products whose rows loads of 16 bytes do not fit.
	misalignedText = "Misaligned sizes"
)

// sizes are those of an operator, and what bounds it.
func (r *measured) sizes(g group, operator string) (Work, string) {
	c := r.cellOf(g, operator)
	switch {
	case c == nil:
		return Work{}, boundNone
	case c.ops != nil:
		return c.ops.work, c.bound
	}
	return Work{M: c.work.M, N: c.work.N, K: c.work.K, Matrix: c.work.DType, Bytes: c.work.bytes(), FLOP: c.work.FLOP},
		c.bound
}

// defectOf says what the sizes of an operator show.
func (r *measured) defectOf(g group, operator string, k layer.Kernel) defect {
	w, _ := r.sizes(g, operator)
	switch g {
	case products:
		return r.productDefect(&w, k)
	case attentionCore:
		if w.Keys > shortRows*keyBlock {
			return defect{attentionLow, "Try another attention backend."}
		}
		if w.Keys > 0 {
			return defect{"Short sequences: attention far above its floor",
				"Batch the sequences, or use an attention kernel for short rows."}
		}
	case others:
		return defect{bandwidthLow, "Fuse the operator with its producer, and keep its tensors contiguous."}
	}
	return defect{}
}

// productDefect looks at the sizes of a product: rows that loads of 16 bytes do not fit, and too few tiles for the
// GPU's units.
func (r *measured) productDefect(w *Work, k layer.Kernel) defect {
	if multiple, _ := w.Unaligned(); multiple > 0 {
		return defect{misalignedText, padding(w)}
	}
	tm, tn := tileOf(k)
	tiles := ceil(int(w.M), tm) * ceil(int(w.N), tn)
	if units := unitsOf(r.walk.gpu); tiles < units && w.K > w.N && w.K > w.M && w.M >= int64(tm) {
		return defect{"Too few tiles for this GPU", fmt.Sprintf("Use a kernel that splits K (%d tiles of %d×%d, %d units).",
			tiles, tm, tn, units)}
	}
	return defect{}
}

// Alignment is the number of elements of a type that matrix units load at once, 16 bytes; for "" that of 16 bits.
func Alignment(dtype string) int64 { return int64(aligned / sizeOf(dtype, "bf16")) }

// Unaligned are those of a product's K and N, in words, that are no multiple of as many elements as one load takes,
// which is returned, too; 0 where they all are. A size below one tile, as a router's, costs no less when it is padded,
// and a product whose K is below one load is an outer product, which no matrix unit is fed with.
func (w *Work) Unaligned() (multiple int64, sizes []string) {
	if w.K < Alignment(w.Matrix) || w.N <= 0 || w.M <= 0 {
		return 0, nil
	}
	size := sizeOf(w.Matrix, "bf16")
	for i, n := range []int64{w.K, w.N} {
		if n >= keyBlock && math.Mod(float64(n)*size, aligned) != 0 {
			multiple, sizes = Alignment(w.Matrix), append(sizes, fmt.Sprintf("%c (%d)", "KN"[i], n))
		}
	}
	return multiple, sizes
}

// padding is the fix for misaligned sizes.
func padding(w *Work) string {
	multiple, sizes := w.Unaligned()
	return fmt.Sprintf("Pad %s to a multiple of %d elements.", strings.Join(sizes, " and "), multiple)
}

// tileOf is the tile of a product's kernel by its name, or what most have.
func tileOf(k layer.Kernel) (m, n int) {
	if k.Valid() {
		if a, b, ok := tileIn(k.Facts().Tile); ok {
			return a, b
		}
	}
	return keyBlock, keyBlock
}

// tileIn reads "256x128x64".
func tileIn(text string) (m, n int, ok bool) {
	c, err := fmt.Sscanf(text, "%dx%d", &m, &n)
	return m, n, c == 2 && err == nil && m > 0 && n > 0
}

// unitsOf is how many multiprocessors a GPU has; of one that is not known, as many as the smallest data-centre GPU of
// the table.
func unitsOf(g *hardware.GPU) int {
	if g != nil && g.Units > 0 {
		return g.Units
	}
	least := 0
	for _, o := range hardware.Table() {
		if o.Units > 0 && o.Link.Value > 0 && (least == 0 || o.Units < least) {
			least = o.Units
		}
	}
	return least
}
