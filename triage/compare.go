package triage

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
)

// Verdicts of a comparison.
const (
	comparePass         = "pass"         // nothing got slower by more than the tolerance
	compareRegressed    = "regressed"    // a stage did
	compareInconclusive = "inconclusive" // nothing could be compared, or the result is unclear
)

// States of a compared kernel. Faster and slower are beyond what two equal runs differ by.
const (
	deltaSame    = "same"
	deltaFaster  = "faster"
	deltaSlower  = "slower"
	deltaNew     = "new"
	deltaGone    = "gone"
	deltaRenamed = "renamed"
)

// Comparison sets two runs side by side, stage by stage.
type Comparison struct {
	Schema       string            `json:"schema"`        // name and version of the document
	Verdict      string            `json:"verdict"`       // "pass", "regressed" or "inconclusive"
	TolerancePct float64           `json:"tolerance_pct"` // smallest change that is reported, percent
	Old          []string          `json:"old"`           // traces
	New          []string          `json:"new"`           // the newer files
	Stages       []StageComparison `json:"stages"`        // stages that both runs have
	Notes        []string          `json:"notes"`         // remarks for people: what was assumed, left out or doubtful
}

// compareSchema is the form of the JSON document.
const compareSchema = "strata.triage-compare/1"

// StageComparison compares the passes of one stage that both runs have with equal sizes. Times are per pass.
type StageComparison struct {
	passStage layer.Stage

	Stage      string  `json:"stage"`           // stage, in the published words
	Verdict    string  `json:"verdict"`         // slower, faster, same or not comparable
	Batch      int     `json:"batch,omitempty"` // requests of the compared passes
	OldSteps   int     `json:"old_steps"`       // steps of the older run
	NewSteps   int     `json:"new_steps"`       // steps of the newer run
	PerStep    bool    `json:"per_step"`        // times are means over steps
	Wall       Delta   `json:"wall"`            // up to the next pass
	Total      Delta   `json:"total"`           // GPU time
	Busy       Delta   `json:"busy"`            // union
	Categories []Delta `json:"categories"`      // by category
	Kernels    []Delta `json:"kernels"`         // largest change first
	// Report is the full comparison, by operator.
	Report *compare.Report `json:"comparison"`
}

// Delta is the change of a time: of a kernel, of a category, or of what the field that holds it says, without a name
// then.
type Delta struct {
	Name     string `json:"name,omitempty"`     // kernel or category
	Category string `json:"category,omitempty"` // of a kernel
	// Status is "same", "faster", "slower", "new", "gone" or "renamed"; Was is the old name of a renamed kernel.
	Status  string  `json:"status,omitempty"`
	Was     string  `json:"was,omitempty"`
	OldUS   float64 `json:"old_us"`
	NewUS   float64 `json:"new_us"`
	DeltaUS float64 `json:"delta_us"`
	// DeltaPct is of OldUS; 0 where OldUS is 0.
	DeltaPct float64 `json:"delta_pct"`
}

func delta(old, now time.Duration) Delta {
	d := Delta{OldUS: float64(old) / 1e3, NewUS: float64(now) / 1e3, DeltaUS: float64(now-old) / 1e3}
	if old > 0 {
		d.DeltaPct = math.Round(float64(now-old)/float64(old)*1e4) / 1e2
	}
	return d
}

// defaultTolerancePct is how much slower a stage may get, in percent, before
// [Compare] calls it regressed. Decode steps of one server repeat within 2 to 3
// percent on an idle machine; below 5 a gate would fire on noise.
const defaultTolerancePct = 5.0

// Compare sets two runs side by side, stage by stage: passes of equal sizes, as [compare.ByStage] does. A stage has
// regressed where its GPU work or its passes became slower by tolerancePct or more, 0: 5, beyond what equal runs
// differ by. The error is ctx's.
func Compare(ctx context.Context, old, now Input, tolerancePct float64) (*Comparison, error) {
	if tolerancePct == 0 {
		tolerancePct = defaultTolerancePct
	}
	c := &Comparison{Schema: compareSchema, Verdict: compareInconclusive, TolerancePct: tolerancePct,
		Old: slices.Clone(old.FormalPaths), New: slices.Clone(now.FormalPaths),
		Stages: []StageComparison{}, Notes: []string{}}
	a, err := sideOf(ctx, old)
	if err != nil {
		return nil, err
	}
	b, err := sideOf(ctx, now)
	if err != nil {
		return nil, err
	}
	stages, err := compare.ByStage(ctx, a, b, compare.Options{Gates: compare.Tolerate(tolerancePct / 100)})
	if err != nil {
		return nil, err
	}
	for i := range stages {
		s := &stages[i]
		if s.Report == nil {
			c.Notes = append(c.Notes, fmt.Sprintf("Stage %s is %s.", stageTitle(s.Stage), s.Why))
			continue
		}
		c.add(s)
	}
	if len(stages) == 0 {
		c.Notes = append(c.Notes, "Neither run has passes: nothing is compared.")
	}
	return c, nil
}

// sideOf reduces the analyses of a run to what is compared: files of several ranks or stages are one run.
func sideOf(ctx context.Context, in Input) (*compare.Side, error) {
	var files []compare.Run
	for i, a := range in.Formal {
		r, err := compare.Measure(ctx, a)
		if err != nil {
			return nil, err
		}
		r.Trace = cmp.Or(pathOf(in.FormalPaths, i), r.Trace)
		files = append(files, *r)
	}
	return &compare.Side{Runs: []compare.Run{compare.NewRun(files)}}, nil
}

// tolerated are the verdicts by what [compare.Report.Tolerance] says; of all stages, the worst holds.
var tolerated = map[string]string{"fail": compareRegressed, "pass": comparePass, "inconclusive": compareInconclusive}

// add writes the published tables of a compared stage: categories and kernels, the largest change first.
func (c *Comparison) add(s *compare.StageReport) {
	r := s.Report
	out := StageComparison{Stage: stageWord(s.Stage), passStage: s.Stage, Verdict: tolerated[r.Tolerance()],
		Batch: int(max(r.A.Batch, 0)), OldSteps: r.A.Passes, NewSteps: r.B.Passes,
		PerStep: true, Wall: delta(r.A.Wall, r.B.Wall), Busy: delta(r.Work.A, r.Work.B), Categories: []Delta{},
		Kernels: []Delta{}, Report: r}
	type times struct{ old, now time.Duration }
	var all times
	categories := map[string]times{}
	for _, k := range kernelsOf(r) {
		own := times{k.A + k.WaitA, k.B + k.WaitB}
		d := delta(own.old, own.now)
		d.Name, d.Was, d.Category, d.Status = k.Name, k.Was, k.Category, statusOf(k)
		out.Kernels = append(out.Kernels, d)
		sum := categories[k.Category]
		categories[k.Category] = times{sum.old + own.old, sum.now + own.now}
		all.old, all.now = all.old+own.old, all.now+own.now
	}
	for name, sum := range categories {
		d := delta(sum.old, sum.now)
		d.Name = name
		out.Categories = append(out.Categories, d)
	}
	for _, list := range [][]Delta{out.Categories, out.Kernels} {
		slices.SortFunc(list, func(x, y Delta) int {
			return cmp.Or(cmp.Compare(math.Abs(y.DeltaUS), math.Abs(x.DeltaUS)), cmp.Compare(y.OldUS, x.OldUS),
				cmp.Compare(x.Name, y.Name))
		})
	}
	out.Total = delta(all.old, all.now)
	c.count(out)
}

// kernelsOf are the kernels of all rows by name: one that computes several operators is one, and changed where a part
// of it did that way.
func kernelsOf(r *compare.Report) []*compare.KernelDelta {
	type key struct{ name, category string }
	at := map[key]*compare.KernelDelta{}
	var out []*compare.KernelDelta
	found := map[*compare.KernelDelta][2]bool{} // slower, faster
	for i := range r.Rows {
		for _, k := range r.Rows[i].Kernels {
			all := at[key{k.Name, k.Category}]
			if all == nil {
				all = &compare.KernelDelta{Name: k.Name, Was: k.Was, Category: k.Category, Status: k.Status}
				at[key{k.Name, k.Category}] = all
				out = append(out, all)
			}
			all.LaunchesA, all.LaunchesB = all.LaunchesA+k.LaunchesA, all.LaunchesB+k.LaunchesB
			all.A, all.B, all.WaitA, all.WaitB = all.A+k.A, all.B+k.B, all.WaitA+k.WaitA, all.WaitB+k.WaitB
			f := found[all]
			found[all] = [2]bool{f[0] || k.Significant && k.B > k.A, f[1] || k.Significant && k.B < k.A}
		}
	}
	for _, k := range out {
		k.Significant = k.B > k.A && found[k][0] || k.B < k.A && found[k][1]
	}
	return out
}

// count adds a stage: the runs have the worst verdict of all.
func (c *Comparison) count(s StageComparison) {
	worst := []string{compareRegressed, compareInconclusive, comparePass}
	if len(c.Stages) == 0 || slices.Index(worst, s.Verdict) < slices.Index(worst, c.Verdict) {
		c.Verdict = s.Verdict
	}
	c.Stages = append(c.Stages, s)
}

func statusOf(k *compare.KernelDelta) string {
	switch {
	case k.Status == compare.Renamed:
		return deltaRenamed
	case k.LaunchesA == 0:
		return deltaNew
	case k.LaunchesB == 0:
		return deltaGone
	case !k.Significant:
		return deltaSame
	case k.B > k.A:
		return deltaSlower
	}
	return deltaFaster
}

// compareRows is how many kernels the Markdown form lists per stage.
const compareRows = 25

// WriteMarkdown writes the comparison as Markdown: the largest changes first.
func (c *Comparison) WriteMarkdown(w io.Writer) error {
	m := &page{w: table.NewCleaner(w)}
	m.printf("# Triage Comparison\n\nVerdict: %s (tolerance %s)\n", c.Verdict, pct(c.TolerancePct))
	for i := range c.Stages {
		s := &c.Stages[i]
		m.printf("\n## %s: %s\n\n%s\n\nTimes are per pass, of %d passes before and %d now.\n\n",
			stageTitle(s.passStage), s.Verdict, s.Report.Text, s.OldSteps, s.NewSteps)
		t := table.New(table.Text(""), table.Number("Old"), table.Number("New"), table.Number("Δ"), table.Number("Δ %"))
		deltaRow(t, "Pass", s.Wall)
		deltaRow(t, "GPU time", s.Total)
		deltaRow(t, "GPU busy", s.Busy)
		for _, d := range s.Categories {
			deltaRow(t, d.Name, d)
		}
		m.table(t)
		m.printf("\n")
		m.table(s.kernelTable())
		for _, g := range s.Report.Gates {
			m.printf("\nGate %s: %s\n", g.Outcome, g.Text)
		}
		m.printf("\nLook first at: %s\n", s.Report.First.Sentence())
		for _, n := range s.Report.Notes {
			m.printf("\n%s\n", n)
		}
	}
	for _, n := range c.Notes {
		m.printf("\n%s\n", n)
	}
	return m.err
}

// kernelTable lists the kernels whose time changed most.
func (s *StageComparison) kernelTable() *table.Table {
	t := table.New(table.Text("Kernel"), table.Text("Category"), table.Text("Status"), table.Number("Old"),
		table.Number("New"), table.Number("Δ"), table.Number("Δ %"))
	n := 0
	for _, d := range s.Kernels {
		if n == compareRows {
			break
		}
		if d.DeltaUS == 0 && d.Status != deltaRenamed {
			continue
		}
		name := d.Name
		if d.Was != "" {
			name += " (was " + d.Was + ")"
		}
		t.Row(name, d.Category, d.Status, us(d.OldUS), us(d.NewUS), us(d.DeltaUS), deltaPct(d))
		n++
	}
	return t
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
