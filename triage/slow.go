package triage

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/triage/internal/chain"
)

// SlowRow is a kernel that takes a slow path, as its name or its shapes show.
type SlowRow struct {
	Kernel    string `json:"kernel"`      // its name
	Label     string `json:"label"`       // its short name
	Reason    string `json:"reason"`      // what makes it slow
	Do        string `json:"do"`          // what to do about it
	GPUTimeNS int64  `json:"gpu_time_ns"` // of all its launches
	// the least time that the GPU needs for the same work; 0 if shapes do not show it
	FloorNS  int64   `json:"floor_ns"`
	SharePct float64 `json:"share_pct"` // percent of the stage's GPU time
	Launches int     `json:"launches"`  // how often it runs
}

// oldestTensorCores is the compute capability below which products cannot use what Ampere and later GPUs have:
// asynchronous copies and bf16.
const oldestTensorCores = 80

// tuners choose a kernel for a shape, by platform.
var tuners = map[string]string{"rocm": "hipBLASLt, TunableOp", "cuda": "cuBLASLt heuristics",
	"": "cuBLASLt heuristics, hipBLASLt or TunableOp"}

// knownWork is the part of a product's launches whose shapes are recorded.
type knownWork struct {
	ns, floor int64
	unaligned string // sizes of the first that padding would align
	multiple  int64  // what padding would round them up to
}

// products are the products of the stage by kernel, as far as their shapes are recorded.
func (s *stageWork) products(ops chain.Ops) map[int32]knownWork {
	out := map[int32]knownWork{}
	for _, w := range s.parts {
		for i := range w.Acts {
			act := &w.Acts[i]
			if int(act.Stage) != s.index {
				continue
			}
			o, ok := ops.Of(w, int32(i))
			if !ok || o.Kind != roofline.OpProduct || o.Longest.Event() != w.Event(act) {
				continue
			}
			k := out[act.Kernel]
			if multiple, sizes := o.Unaligned(); multiple > 0 && k.multiple == 0 {
				k.unaligned, k.multiple = strings.Join(sizes, " and "), multiple
			}
			if o.Floor > 0 {
				k.ns += act.End - act.Start
				k.floor += int64(o.Floor)
			}
			out[act.Kernel] = k
		}
	}
	return out
}

// slow lists the products that take a slow path: alignments below what one load takes, sizes that padding would
// align, kernels of GPUs two generations old, the reductions of split products, single precision among products of
// half.
func (a *analysis) slow(s *stageWork) []SlowRow {
	out := []SlowRow{}
	capability := 0
	if arch, ok := strings.CutPrefix(s.place().Arch, "sm"); ok {
		capability, _ = strconv.Atoi(strings.TrimRight(arch, "a"))
	}
	var half, single int64
	for i := range s.rows {
		switch f := a.pool.Facts[s.rows[i].kernel].Facts; {
		case f.Category != classify.CategoryGEMM:
		case isHalf(f):
			half += s.rows[i].ns
		case isSingle(f):
			single += s.rows[i].ns
		}
	}
	work := s.products(a.ops)
	for i := range s.rows {
		r := &s.rows[i]
		k := &a.pool.Facts[r.kernel]
		if k.Facts.Category != classify.CategoryGEMM || s.share(r.ns) < a.MinSharePct {
			continue
		}
		row := SlowRow{Kernel: k.Canonical, Label: a.pool.Labels[r.kernel], GPUTimeNS: r.ns, SharePct: s.share(r.ns),
			Launches: r.launches}
		known := work[r.kernel]
		if known.ns > 0 {
			row.FloorNS = int64(float64(known.floor) * float64(r.ns) / float64(known.ns))
		}
		align, built := classify.Align(k.Canonical), classify.BuiltFor(k.Canonical)
		loads := roofline.Alignment(string(k.Facts.DType))
		switch {
		case align > 0 && int64(align) < loads && k.Facts.DType != classify.DTypeFP32: // plain fp32 uses no matrix units
			row.Reason = fmt.Sprintf("alignment %d: %s is no multiple of %d", align,
				cmp.Or(known.unaligned, "a size"), loads)
			row.Do = fmt.Sprintf("pad the hidden, head or vocabulary size to a multiple of %d", loads)
		case known.multiple > 0:
			row.Reason = fmt.Sprintf("%s: no multiple of %d", known.unaligned, known.multiple)
			row.Do = fmt.Sprintf("pad the hidden, head or vocabulary size to a multiple of %d", known.multiple)
		case built > 0 && built < oldestTensorCores && capability >= oldestTensorCores:
			row.Reason = fmt.Sprintf("a kernel for sm%d on %s", built, s.place().Arch)
			row.Do = "check alignment and type of the operands: the library found no newer kernel for them"
		case slices.Contains(k.Facts.Ops, classify.RoleProductReduce):
			row.Reason = "split-K reduction runs as a separate kernel"
			row.Do = "tune the GEMM for this shape (" + tuners[s.platform()] + "); a larger batch needs no split"
			row.FloorNS = 0 // its op's work is the product's
		case half > single && isSingle(k.Facts):
			row.Reason = "single precision; most other GEMMs use 16 bits"
			row.Do = "cast its weight and input to bf16 where the model allows it (routers and heads may need fp32)"
		default:
			continue
		}
		out = append(out, row)
	}
	slices.SortStableFunc(out, func(x, y SlowRow) int { return cmp.Compare(y.GPUTimeNS, x.GPUTimeNS) })
	return out
}

// isHalf and isSingle say in which precision a product computes.
func isHalf(f *classify.Facts) bool {
	return f.DType == classify.DTypeBF16 || f.DType == classify.DTypeFP16
}

func isSingle(f *classify.Facts) bool {
	return f.DType == classify.DTypeFP32 || f.DType == classify.DTypeTF32
}

// slow writes the kernels that take a slow path.
func (m *page) slow(_ *Report, s *StageReport) {
	if len(s.Slow) == 0 {
		m.para("No product takes a slow path, as far as names and shapes show.")
		return
	}
	t := table.New(table.Code("Kernel"), table.Number("GPU time"), table.Number("Share"), table.Number("Launches"),
		table.Number("Above floor"), table.Text("Reason"))
	for _, r := range s.Slow {
		above := "?"
		if r.FloorNS > 0 {
			above = nanos(max(0, r.GPUTimeNS-r.FloorNS))
		}
		t.Row(cmp.Or(r.Label, r.Kernel), nanos(r.GPUTimeNS), pct(r.SharePct), table.Count(int64(r.Launches)), above, r.Reason)
	}
	m.table(t)
	for _, do := range chain.Once(s.Slow,
		func(r SlowRow) []string { return []string{table.UpperFirst(r.Reason) + ". Fix: " + r.Do} }) {
		m.para("%s.", do)
	}
}
