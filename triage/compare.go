package triage

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/llmstrata/strata/internal/table"
)

// Verdicts of a comparison.
const (
	ComparePass         = "pass"         // nothing got slower by more than the tolerance
	CompareRegressed    = "regressed"    // a stage did
	CompareInconclusive = "inconclusive" // nothing could be compared
)

// States of a compared kernel.
const (
	DeltaSame   = "same"
	DeltaFaster = "faster"
	DeltaSlower = "slower"
	DeltaNew    = "new"
	DeltaGone   = "gone"
)

// Comparison sets two runs side by side, stage by stage.
type Comparison struct {
	Verdict      string            `json:"verdict"`
	TolerancePct float64           `json:"tolerance_pct"`
	Old          []string          `json:"old"` // traces
	New          []string          `json:"new"`
	Stages       []StageComparison `json:"stages"`
	Notes        []string          `json:"notes"`
}

// StageComparison compares one stage. Times are per step where both runs have
// annotated steps, else of the whole trace.
type StageComparison struct {
	Stage      string      `json:"stage"`
	Verdict    string      `json:"verdict"`
	Batch      int         `json:"batch,omitempty"`
	OldSteps   int         `json:"old_steps"`
	NewSteps   int         `json:"new_steps"`
	PerStep    bool        `json:"per_step"`
	Total      Delta       `json:"total"` // GPU time
	Busy       Delta       `json:"busy"`  // union
	Categories []NameDelta `json:"categories"`
	Kernels    []NameDelta `json:"kernels"` // largest change first
}

// Delta is the change of a time.
type Delta struct {
	OldUS   float64 `json:"old_us"`
	NewUS   float64 `json:"new_us"`
	DeltaUS float64 `json:"delta_us"`
	// DeltaPct is of OldUS; 0 where OldUS is 0.
	DeltaPct float64 `json:"delta_pct"`
}

// NameDelta is the change of a kernel or category.
type NameDelta struct {
	Name     string `json:"name"`
	Category string `json:"category,omitempty"`
	Status   string `json:"status"`
	Delta
}

func delta(old, now float64) Delta {
	round := func(v float64) float64 { return math.Round(v*1e3) / 1e3 }
	d := Delta{OldUS: round(old), NewUS: round(now), DeltaUS: round(now - old)}
	if old > 0 {
		d.DeltaPct = math.Round((now-old)/old*1e4) / 1e2
	}
	return d
}

// DefaultTolerancePct is how much slower a stage may get, in percent, before
// [Compare] calls it regressed. Decode steps of one server repeat within 2 to 3
// percent on an idle machine; below 5 a gate would fire on noise.
const DefaultTolerancePct = 5.0

// Compare sets two reports side by side. They should be made with
// [WithMinShare] 0, so that all kernels are compared. A stage counts only where
// both runs have it with the same batch size.
func Compare(old, now *Report, tolerancePct float64) *Comparison {
	c := &Comparison{Verdict: CompareInconclusive, TolerancePct: tolerancePct, Old: old.Traces, New: now.Traces, Stages: []StageComparison{}, Notes: []string{}}
	if old.MinSharePct > 0 || now.MinSharePct > 0 {
		c.Notes = append(c.Notes, "Rows below the reporting bar are missing; kernels near it may appear as new or gone.")
	}
	for i := range now.Stages {
		s := &now.Stages[i]
		k := slices.IndexFunc(old.Stages, func(o StageReport) bool { return o.Stage == s.Stage })
		if k < 0 {
			c.Notes = append(c.Notes, fmt.Sprintf("Stage %s is only in the new run.", stageTitle(s.Stage)))
			continue
		}
		o := &old.Stages[k]
		if o.Batch != s.Batch && o.Batch > 0 && s.Batch > 0 {
			c.Notes = append(c.Notes, fmt.Sprintf("Stage %s has batches of %d and %d requests and is not compared.", stageTitle(s.Stage), o.Batch, s.Batch))
			continue
		}
		sc := compareStage(o, s, tolerancePct)
		if !sc.PerStep {
			c.Notes = append(c.Notes, fmt.Sprintf("Stage %s has no annotated steps in both runs: whole traces are compared.", stageTitle(s.Stage)))
		}
		c.Stages = append(c.Stages, sc)
		if sc.Verdict == CompareRegressed || c.Verdict == CompareInconclusive {
			c.Verdict = sc.Verdict
		}
	}
	for _, o := range old.Stages {
		if !slices.ContainsFunc(now.Stages, func(s StageReport) bool { return o.Stage == s.Stage }) {
			c.Notes = append(c.Notes, fmt.Sprintf("Stage %s is only in the old run.", stageTitle(o.Stage)))
		}
	}
	return c
}

func compareStage(o, s *StageReport, tolerance float64) StageComparison {
	out := StageComparison{Stage: s.Stage, Verdict: ComparePass, Batch: s.Batch, OldSteps: o.Steps, NewSteps: s.Steps,
		PerStep: o.Steps > 0 && s.Steps > 0}
	a, b := 1.0, 1.0
	if out.PerStep {
		a, b = float64(o.Steps), float64(s.Steps)
	}
	out.Total = delta(o.GPUTimeUS/a, s.GPUTimeUS/b)
	out.Busy = delta(o.BusyUS/a, s.BusyUS/b)
	if out.Busy.DeltaPct > tolerance {
		out.Verdict = CompareRegressed
	}
	type entry struct {
		category string
		old, now float64
		had, has bool
	}
	collect := func(rows func(*StageReport, func(name, category string, us float64))) []NameDelta {
		at := map[string]*entry{}
		rows(o, func(name, category string, us float64) { at[name] = &entry{category: category, old: us / a, had: true} })
		rows(s, func(name, category string, us float64) {
			e := at[name]
			if e == nil {
				e = &entry{category: category}
				at[name] = e
			}
			e.now, e.has = us/b, true
		})
		list := make([]NameDelta, 0, len(at))
		for name, e := range at {
			d := NameDelta{Name: name, Category: e.category, Status: DeltaSame, Delta: delta(e.old, e.now)}
			switch {
			case !e.had:
				d.Status = DeltaNew
			case !e.has:
				d.Status = DeltaGone
			case d.DeltaPct > tolerance:
				d.Status = DeltaSlower
			case d.DeltaPct < -tolerance:
				d.Status = DeltaFaster
			}
			list = append(list, d)
		}
		slices.SortFunc(list, func(x, y NameDelta) int {
			return cmp.Or(cmp.Compare(math.Abs(y.DeltaUS), math.Abs(x.DeltaUS)), cmp.Compare(x.Name, y.Name))
		})
		return list
	}
	out.Kernels = collect(func(r *StageReport, add func(string, string, float64)) {
		for _, k := range r.Kernels {
			add(k.Kernel, k.Category, k.GPUTimeUS)
		}
	})
	out.Categories = collect(func(r *StageReport, add func(string, string, float64)) {
		for _, k := range r.Categories {
			add(k.Category, "", k.GPUTimeUS)
		}
	})
	return out
}

// WriteJSON writes the comparison as one indented JSON document.
func (c *Comparison) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	return e.Encode(c)
}

// compareRows is how many kernels the Markdown form lists per stage.
const compareRows = 25

// WriteMarkdown writes the comparison as Markdown: the largest changes first.
func (c *Comparison) WriteMarkdown(w io.Writer) error {
	m := &page{w: w}
	m.printf("# Triage Comparison\n\nVerdict: %s (tolerance %s)\n", c.Verdict, pct(c.TolerancePct))
	for i := range c.Stages {
		s := &c.Stages[i]
		unit := "whole trace"
		if s.PerStep {
			unit = "per step"
		}
		m.printf("\n## %s: %s\n\nTimes are %s.\n\n", stageTitle(s.Stage), s.Verdict, unit)
		t := table.New(table.Text(""), table.Number("Old"), table.Number("New"), table.Number("Δ"), table.Number("Δ %"))
		deltaRow(t, "GPU time", s.Total)
		deltaRow(t, "GPU busy", s.Busy)
		for _, d := range s.Categories {
			deltaRow(t, d.Name, d.Delta)
		}
		m.table(t)
		m.printf("\n")
		t = table.New(table.Text("Kernel"), table.Text("Category"), table.Text("Status"), table.Number("Old"), table.Number("New"), table.Number("Δ"), table.Number("Δ %"))
		n := 0
		for _, d := range s.Kernels {
			if n == compareRows {
				break
			}
			if d.DeltaUS == 0 {
				continue
			}
			t.Row(d.Name, d.Category, d.Status, us(d.OldUS), us(d.NewUS), us(d.DeltaUS), deltaPct(d.Delta))
			n++
		}
		m.table(t)
	}
	for _, n := range c.Notes {
		m.printf("\n%s\n", n)
	}
	return m.err
}

func us(v float64) string { return table.Fixed(v, 1) + " us" }

func deltaPct(d Delta) string {
	if d.OldUS == 0 {
		return "-"
	}
	return pct(d.DeltaPct)
}

func deltaRow(t *table.Table, name string, d Delta) {
	t.Row(name, us(d.OldUS), us(d.NewUS), us(d.DeltaUS), deltaPct(d))
}
