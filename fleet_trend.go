package strata

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/llmstrata/strata/internal/page"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/trace"
)

// Trend finds what changed over the runs whose digests were named: those of one recording, date and commit are a run.
// Traces are not read. The error wraps [fleet.ErrDigest] for a digest without a date, and what [compare.NewTrend]
// returns.
func (r *Ranks) Trend(ctx context.Context) (*compare.Trend, error) {
	type key struct{ date, commit, run string }
	sets := map[key]*fleet.Set{}
	for _, path := range r.Digests {
		if err := readDigests(path, func(one fleet.Rank) error {
			if one.Date == "" && one.Clock != 0 {
				one.Date = time.Unix(0, one.Clock).UTC().Format(time.DateOnly)
			}
			if one.Bad != "" {
				return ctx.Err()
			}
			if one.Date == "" {
				return fmt.Errorf("%w: %s has no date (strata digest --date DATE)", fleet.ErrDigest, one.File)
			}
			k := key{one.Date, one.Commit, one.Run}
			if sets[k] == nil {
				sets[k] = &fleet.Set{}
			}
			sets[k].Add(one)
			return ctx.Err()
		}); err != nil {
			return nil, err
		}
	}
	var runs []compare.TrendRun
	for k, set := range sets {
		run := compare.TrendRun{Date: k.date, Commit: k.commit, Kernels: map[string]string{}}
		var ranks []compare.Run
		for _, one := range set.Ranks() {
			ranks = append(ranks, runOfDigest(&one))
			for _, kernel := range one.Kernels { // most time first
				run.Kernels[kernel.Operator] = cmp.Or(run.Kernels[kernel.Operator], kernel.Name)
			}
		}
		run.Run = compare.NewRun(ranks)
		runs = append(runs, run)
	}
	slices.SortFunc(runs, func(a, b compare.TrendRun) int {
		return cmp.Or(cmp.Compare(a.Date, b.Date), cmp.Compare(a.Commit, b.Commit),
			cmp.Compare(a.Run.Trace, b.Run.Trace))
	})
	return compare.NewTrend(ctx, runs)
}

// What steps of a digest spend time on besides operators.
const (
	exchanges = "collectives"
	idleTime  = "idle"
)

// runOfDigest is a rank as a comparison takes it: its operators, what it exchanges, and idle time.
func runOfDigest(r *fleet.Rank) compare.Run {
	run := compare.Run{Trace: r.File, Rank: max(r.Rank, r.NameRank, 0), Framework: r.Framework, GPU: r.GPU,
		Health: r.Health, Passes: []compare.Pass{}}
	at := map[string]int{}
	for i := range r.Steps {
		for _, o := range r.Steps[i].Operators {
			at[o.Name] = 0
		}
	}
	part := func(name string, c compare.Class) {
		p := compare.Part{Name: name, Base: name, Operator: name, Category: name, Class: c}
		if c == compare.Waiting {
			p.Base, p.Category = "", ""
		}
		at[name] = len(run.Parts)
		run.Parts = append(run.Parts, p)
	}
	for _, name := range slices.Sorted(maps.Keys(at)) {
		part(name, compare.Memory)
	}
	part(exchanges, compare.Transfer)
	part(idleTime, compare.Waiting)
	for i := range r.Steps {
		s := &r.Steps[i]
		times := make([]time.Duration, len(run.Parts)-1)
		for _, o := range s.Operators {
			times[at[o.Name]] += time.Duration(o.NS)
		}
		for _, ns := range s.Took {
			times[at[exchanges]] += time.Duration(ns)
		}
		p := compare.Pass{Index: i, Model: trace.None, Stage: s.Stage, Batch: s.Requests, Tokens: s.Tokens,
			Start: s.Start, Wall: time.Duration(s.Wall), Followed: i+1 < len(r.Steps),
			First: i > 0 && s.Stage != r.Steps[i-1].Stage}
		if s.Partial {
			p.Partial = "window"
		}
		run.Passes = append(run.Passes, compare.NewPass(p, times, time.Duration(s.Busy)))
	}
	return run
}

// WriteTrendHTML writes the page of a trend: a chart of each change over the runs. name is what was read.
func WriteTrendHTML(w io.Writer, t *compare.Trend, name string) error {
	p := &page.Page{Title: filepath.Base(name), Program: "fleet trend", Inputs: []string{name},
		Verdict: "No operator takes another time since one of the runs.",
		Context: []string{table.Counted(t.Runs, "run", "runs"), t.From + " to " + t.To}}
	s := page.Section{ID: "changes", Title: "Changes, largest first",
		Text: "A column is the mean pass of a run, by date; those since the change are set apart."}
	tab := page.Table{Caption: "Changes", Search: true, FoldAfter: searchedRows,
		Columns: []page.Column{page.Text("Stage"), page.Text("Operator"), page.Text("Since"), page.Text("Commit"),
			page.Number("Before"), page.Number("Since then"), page.Number("Change"), page.Prose("In words")}}
	for i := range t.Changes {
		c := &t.Changes[i]
		name := cmp.Or(c.Operator, "all kernels")
		if len(s.Plots) < mostPlots {
			plot := page.Plot{Title: name + ", " + c.Stage.Info().Title, Text: c.Text, Mark: c.Before, Marked: c.After}
			for _, point := range c.Points {
				plot.Values = append(plot.Values, float64(point.Time))
			}
			s.Plots = append(s.Plots, plot)
		}
		tab.Add(string(c.Stage), name, c.Since, c.Commit, took(c.A), took(c.B), took(c.Delta), c.Text)
	}
	if len(t.Changes) > 0 {
		p.Verdict, s.Tables = t.Changes[0].Text, []page.Table{tab}
		p.Sections = append(p.Sections, s)
	}
	return p.Write(w)
}
