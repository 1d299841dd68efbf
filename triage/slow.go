package triage

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/table"
)

// SlowRow is a kernel that takes a slow path, as its name tells.
type SlowRow struct {
	Kernel    string  `json:"kernel"`      // its name
	Label     string  `json:"label"`       // its short name
	Reason    string  `json:"reason"`      // what makes it slow
	Do        string  `json:"do"`          // what to do about it
	GPUTimeNS int64   `json:"gpu_time_ns"` // of all its launches
	SharePct  float64 `json:"share_pct"`   // percent of the stage's GPU time
	Launches  int     `json:"launches"`    // how often it runs
}

// vectorAlign is the alignment in elements of 16 bits from which a product loads 16 bytes at once.
const vectorAlign = 8

// oldestTensorCores is the compute capability below which products cannot use what Ampere and later GPUs have: asynchronous copies
// and bf16.
const oldestTensorCores = 80

// slow lists the products that take a slow path: alignments below what one load takes, kernels of GPUs two generations old, the
// reductions of split products, single precision among products of half.
func (a *analysis) slow(s *stageWork) []SlowRow {
	out := []SlowRow{}
	capability := 0
	if arch, ok := strings.CutPrefix(s.place().arch, "sm"); ok {
		capability, _ = strconv.Atoi(strings.TrimRight(arch, "a"))
	}
	var half, single int64
	for i := range s.rows {
		switch f := &a.pool.Facts[s.rows[i].kernel].Facts; {
		case f.Category != classify.CategoryGEMM:
		case f.DType == "bf16" || f.DType == "fp16":
			half += s.rows[i].ns
		case f.DType == "fp32" || f.DType == "tf32":
			single += s.rows[i].ns
		}
	}
	for i := range s.rows {
		r := &s.rows[i]
		k := &a.pool.Facts[r.kernel]
		if k.Facts.Category != classify.CategoryGEMM || s.share(r.ns) < a.MinSharePct {
			continue
		}
		row := SlowRow{Kernel: k.Canonical, Label: a.pool.Labels[r.kernel], GPUTimeNS: r.ns, SharePct: s.share(r.ns), Launches: r.launches}
		align, built := classify.Align(k.Canonical), classify.BuiltFor(k.Canonical)
		switch {
		case align > 0 && align < vectorAlign && (k.Facts.DType == "bf16" || k.Facts.DType == "fp16"):
			row.Reason = fmt.Sprintf("products at alignment %d of %d: a size is no multiple of %d", align, vectorAlign, vectorAlign)
			row.Do = fmt.Sprintf("pad the hidden, head or vocabulary size to a multiple of %d (64 is best for tensor cores)", vectorAlign)
		case built > 0 && built < oldestTensorCores && capability >= oldestTensorCores:
			row.Reason = fmt.Sprintf("a kernel for sm%d on %s", built, s.place().arch)
			row.Do = "check alignment and type of the operands: the library found no newer kernel for them"
		case slices.Contains(k.Facts.Ops, classify.RoleProductReduce):
			row.Reason = "the reduction of a product that is split along K is launched apart"
			row.Do = "tune the product for this shape (hipBLASLt or TunableOp on ROCm, cuBLASLt heuristics): a larger batch needs no split"
		case half > single && (k.Facts.DType == "fp32" || k.Facts.DType == "tf32"):
			row.Reason = "a product in single precision; most others compute in 16 bits"
			row.Do = "cast its weight and input to bf16 where the model allows it (routers and heads may want fp32)"
		default:
			continue
		}
		out = append(out, row)
	}
	slices.SortStableFunc(out, func(x, y SlowRow) int { return cmp.Compare(y.GPUTimeNS, x.GPUTimeNS) })
	return out
}

// slow writes the kernels that take a slow path.
func (m *page) slow(_ *Report, s *StageReport) {
	if len(s.Slow) == 0 {
		m.para("No product takes a path that its name shows to be slow.")
		return
	}
	t := table.New(table.Code("Kernel"), table.Number("GPU time"), table.Number("Share"), table.Number("Launches"), table.Text("Reason"), table.Text("Fix"))
	for _, r := range s.Slow {
		t.Row(cmp.Or(r.Label, r.Kernel), nanos(r.GPUTimeNS), pct(r.SharePct), fmt.Sprint(r.Launches), r.Reason, r.Do)
	}
	m.table(t)
}
