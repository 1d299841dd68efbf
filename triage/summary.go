package triage

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/llmstrata/strata/internal/table"
)

// notableIdlePct is from when on the summary mentions idle time: below it,
// kernels are the larger part of the possible gain.
const notableIdlePct = 15

// summarise says in one sentence what dominates the run, and how the overlap
// table is to be read.
func summarise(r *Report) string {
	if len(r.Stages) == 0 {
		return "The trace holds no GPU activity, so nothing can be said about GPU time."
	}
	top := &r.Stages[0]
	var total float64
	for i := range r.Stages {
		total += r.Stages[i].GPUTimeUS
		if r.Stages[i].GPUTimeUS > top.GPUTimeUS {
			top = &r.Stages[i]
		}
	}
	var b strings.Builder
	head := "GPU time is mostly"
	if len(r.Stages) > 1 {
		head = fmt.Sprintf("%s takes %s of GPU time, mostly", table.UpperFirst(stageTitle(top.PassStage)),
			pct(100*top.GPUTimeUS/total))
	}
	var parts []string
	for _, c := range top.Categories {
		if len(parts) == 3 || len(parts) > 0 && c.SharePct < 10 {
			break
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", c.Category, pct(c.SharePct)))
	}
	fmt.Fprintf(&b, "%s %s", head, table.Join(parts, "and"))
	if len(top.Kernels) > 0 {
		k := top.Kernels[0]
		fmt.Fprintf(&b, "; the largest kernel is %s (%s", table.Name(cmp.Or(k.Label, k.Kernel), nameWidth),
			pct(k.SharePct))
		if n := len(k.Operators); n > 1 {
			fmt.Fprintf(&b, " in %d operators", n)
		}
		b.WriteString(")")
	}
	if top.IdlePct >= notableIdlePct {
		fmt.Fprintf(&b, "; the GPU is idle %s of the time", pct(top.IdlePct))
	}
	b.WriteString(".")
	return b.String()
}
