package triage

import (
	"cmp"
	"context"
	"slices"

	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/internal/published"
	"github.com/llmstrata/strata/triage"
)

// withKeywords returns the report with the fuse tables of the published rule.
// That looks at all kernels, also those that the report hides.
func withKeywords(ctx context.Context, in triage.Input, r *triage.Report, o triage.Options) (*triage.Report, error) {
	o.MinSharePct, o.KernelLimit = -1, 0
	// The published rule knows the parallel size from flags and server arguments only.
	all, err := triage.Analyze(ctx, in, o)
	if err != nil {
		return nil, err
	}
	out := *r
	out.Stages = slices.Clone(r.Stages)
	for i := range out.Stages {
		s := &all.Stages[i]
		o := published.FuseOptions{Framework: r.Framework, Model: r.Model, TPSize: cmp.Or(o.TPSize, in.Server.TPSize),
			MinSharePct: r.MinSharePct}
		out.Stages[i].Fuse = []triage.FuseRow{}
		for _, m := range published.Fuse(keywordRows(s.Kernels), s.GPUTimeUS, o) {
			out.Stages[i].Fuse = append(out.Stages[i].Fuse, keywordRow(m, s.Kernels))
		}
	}
	return &out, nil
}

// keywordRows are kernels with all fields that the published tables use.
func keywordRows(kernels []triage.KernelRow) []published.FuseRow {
	rows := make([]published.FuseRow, len(kernels))
	for i := range kernels {
		k := &kernels[i]
		rows[i] = published.FuseRow{Kernel: k.Kernel, Texts: slices.Clone(k.CPUOps), TimeUS: k.GPUTimeUS,
			Launches: k.Launches}
		for _, l := range k.Locations {
			rows[i].Texts = append(rows[i].Texts, l.Location)
		}
		if k.ReplayedAt != "" {
			rows[i].Texts = append(rows[i].Texts, k.ReplayedAt)
		}
	}
	return rows
}

// keywordRow is a match as a row of the fuse table.
func keywordRow(m published.FuseMatch, kernels []triage.KernelRow) triage.FuseRow {
	out := triage.FuseRow{Pattern: m.Pattern, Kind: triage.Split, Confidence: triage.Possible, RelatedUS: m.TimeUS,
		SharePct:    m.SharePct,
		Occurrences: m.Occurrences, Evidence: []triage.Share{}, ExampleKernels: []int{}, CurrentLocations: []string{},
		CandidatePaths: slices.Clone(m.CandidatePaths),
		Rationale:      "Substring match of the published rule; not evidence. " + m.Rationale,
		Origin:         fusion.Origin(m.Origin)}
	if m.Active {
		out.Kind = triage.InUse
	}
	if m.Confirmed {
		out.Confidence = triage.Confirmed
	}
	for _, i := range m.Evidence {
		k := &kernels[i]
		out.Evidence = append(out.Evidence, triage.Share{Kernel: k.Kernel, GPUTimeUS: k.GPUTimeUS, SharePct: k.SharePct,
			Launches: k.Launches})
		if loc := k.Locations[0].Location; !slices.Contains(out.CurrentLocations, loc) {
			out.CurrentLocations = append(out.CurrentLocations, loc)
		}
	}
	return out
}
