package triage

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
)

// Verdicts of a comparison.
const (
	comparePass         = "pass"         // nothing got slower by more than the tolerance
	compareRegressed    = "regressed"    // a stage did
	compareInconclusive = "inconclusive" // nothing could be compared, or it cannot be told
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
	TolerancePct float64           `json:"tolerance_pct"` // smallest change that is told, percent
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
	// Report is the whole comparison, by operator.
	Report *compare.Report `json:"comparison"`
}

// Delta is the change of a time: of a kernel, of a category, or of what the field that holds it says, without a name then.
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

// compared are the stages of reports in the words of passes.
var compared = []struct {
	stage  layer.Stage
	passes []layer.Stage
}{
	{layer.StagePrefill, []layer.Stage{layer.StagePrefill}},
	{layer.StageDecode, []layer.Stage{layer.StageDecode, layer.StageVerify, layer.StageDraft}},
	{layer.StageMixed, []layer.Stage{layer.StageMixed}},
	{layer.StageCapture, []layer.Stage{layer.StageCapture}},
	{layer.StageUnknown, []layer.Stage{layer.StageUnknown}},
}

// The families of the series that are compared.
const (
	kindKernel   = "kernel"
	kindCategory = "category"
)

// Compare sets two runs side by side, stage by stage: passes of equal sizes, as [compare.Compare] does. A stage has regressed where its GPU
// work or its passes became slower by tolerancePct or more, 0: 5, beyond what equal runs differ by. The error is ctx's.
func Compare(ctx context.Context, old, now Input, tolerancePct float64) (*Comparison, error) {
	if tolerancePct == 0 {
		tolerancePct = defaultTolerancePct
	}
	c := &Comparison{Schema: compareSchema, Verdict: compareInconclusive, TolerancePct: tolerancePct, Old: slices.Clone(old.FormalPaths), New: slices.Clone(now.FormalPaths),
		Stages: []StageComparison{}, Notes: []string{}}
	a, err := runsOf(ctx, old)
	if err != nil {
		return nil, err
	}
	b, err := runsOf(ctx, now)
	if err != nil {
		return nil, err
	}
	for _, s := range compared {
		x, y := sideOf(a, s.passes), sideOf(b, s.passes)
		if err := c.stage(ctx, s.stage, s.passes, x, y); err != nil {
			return nil, err
		}
	}
	if len(c.Stages) == 0 && len(c.Notes) == 0 {
		c.Notes = append(c.Notes, "Neither run has passes: nothing is compared.")
	}
	return c, nil
}

// runsOf reduces the analyses of a run to what is compared.
func runsOf(ctx context.Context, in Input) ([]compare.Run, error) {
	var out []compare.Run
	for i, a := range in.Formal {
		r, err := compare.Measure(ctx, a)
		if err != nil {
			return nil, err
		}
		r.Trace = cmp.Or(pathOf(in.FormalPaths, i), r.Trace)
		if len(a.Devices) > 0 {
			r.Host = seriesOf(&a.Devices[0], r)
		}
		out = append(out, *r)
	}
	return out, nil
}

// sideOf is the run with most passes of some stages, nil where none has any. Files of several ranks are one run, not several.
func sideOf(runs []compare.Run, stages []layer.Stage) *compare.Side {
	best, most := -1, 0
	for i := range runs {
		n := 0
		for p := range runs[i].Passes {
			if slices.Contains(stages, runs[i].Passes[p].Stage) {
				n++
			}
		}
		if n > most {
			best, most = i, n
		}
	}
	if best < 0 {
		return nil
	}
	return &compare.Side{Runs: runs[best : best+1]}
}

// seriesOf are the times of each kernel name and category in each pass.
func seriesOf(d *layer.Device, r *compare.Run) *compare.Host {
	h := &compare.Host{}
	for i := range r.Passes {
		h.Passes, h.Walls = append(h.Passes, r.Passes[i].Index), append(h.Walls, r.Passes[i].Wall)
	}
	type key struct{ kind, name string }
	at := map[key]int{}
	add := func(kind, name, place string, pass int, d time.Duration) {
		i, ok := at[key{kind, name}]
		if !ok {
			i = len(h.Operations)
			at[key{kind, name}] = i
			h.Operations = append(h.Operations, compare.Operation{Kind: kind, Name: name, Class: "memory", Place: place, Steps: make([]time.Duration, len(r.Passes))})
		}
		op := &h.Operations[i]
		op.Steps[pass] += d
		op.Count += 1 / float64(len(r.Passes))
	}
	for k := range d.Kernels() {
		p := k.Place().Pass
		if p < 0 || p >= len(r.Passes) {
			continue
		}
		operator, _, _ := k.Operator()
		category := string(k.Category())
		add(kindKernel, k.Event().Name(), category+" "+string(operator), p, k.Event().Duration())
		add(kindCategory, category, "", p, k.Event().Duration())
	}
	return h
}

// stage compares one stage; a or b is nil where that run does not have it.
func (c *Comparison) stage(ctx context.Context, stage layer.Stage, passes []layer.Stage, a, b *compare.Side) error {
	switch {
	case a == nil && b == nil:
		return nil
	case a == nil:
		c.Notes = append(c.Notes, fmt.Sprintf("Stage %s is only in the new run.", stageTitle(stage)))
		return nil
	case b == nil:
		c.Notes = append(c.Notes, fmt.Sprintf("Stage %s is only in the old run.", stageTitle(stage)))
		return nil
	}
	gates := []compare.Gate{{What: "work", Limit: c.TolerancePct / 100}, {Limit: c.TolerancePct / 100}}
	r, err := compare.Compare(ctx, a, b, compare.Options{Gates: gates, Stages: passes, HostApart: true})
	if err != nil {
		return err
	}
	if r.Verdict == compare.NotComparable || r.Doubtful(compare.DoubtWork) {
		c.Notes = append(c.Notes, fmt.Sprintf("Stage %s is not compared: %s.", stageTitle(stage), strings.TrimPrefix(r.Text, "not comparable: ")))
		return nil
	}
	out := StageComparison{Stage: stageWord(stage), passStage: stage, Verdict: verdictOf(r), Batch: int(max(r.A.Batch, 0)), OldSteps: r.A.Passes, NewSteps: r.B.Passes, PerStep: true,
		Wall: delta(r.A.Wall, r.B.Wall), Busy: delta(r.Work.A, r.Work.B), Report: r}
	out.fill(r, a, b)
	c.add(out)
	return nil
}

// add counts a compared stage: the runs have the worst verdict of all.
func (c *Comparison) add(s StageComparison) {
	worst := []string{compareRegressed, compareInconclusive, comparePass}
	if len(c.Stages) == 0 || slices.Index(worst, s.Verdict) < slices.Index(worst, c.Verdict) {
		c.Verdict = s.Verdict
	}
	c.Stages = append(c.Stages, s)
}

// verdictOf is what the gates on GPU work and on whole passes say. Idle time of few passes tells nothing: it leaves a stage undecided only where
// it makes the passes as much slower as the tolerance.
func verdictOf(r *compare.Report) string {
	work, wall := &r.Gates[0], &r.Gates[1]
	switch {
	case work.Outcome == "fail" || wall.Outcome == "fail":
		return compareRegressed
	case work.Outcome == "inconclusive" || wall.Outcome == "inconclusive" && wall.Estimate >= wall.Limit:
		return compareInconclusive
	}
	return comparePass
}

// fill writes the published tables: categories and kernels, the largest change first. They leave the report, which has its own rows.
func (s *StageComparison) fill(r *compare.Report, a, b *compare.Side) {
	s.Categories, s.Kernels = []Delta{}, []Delta{}
	if r.Host == nil {
		return
	}
	category := map[string]string{} // by kernel
	for _, side := range []*compare.Side{a, b} {
		for i := range side.Runs[0].Host.Operations {
			op := &side.Runs[0].Host.Operations[i]
			category[op.Name], _, _ = strings.Cut(op.Place, " ")
		}
	}
	var old, now time.Duration
	for i := range r.Host.Rows {
		row := &r.Host.Rows[i]
		d := delta(row.A, row.B)
		d.Name, d.Status, d.Was = row.Name, statusOf(row), row.Was
		if row.Kind == kindCategory {
			old, now = old+row.A, now+row.B
			s.Categories = append(s.Categories, d)
			continue
		}
		d.Category = category[row.Name]
		s.Kernels = append(s.Kernels, d)
	}
	s.Total = delta(old, now)
	r.Host = nil
}

func statusOf(row *compare.HostRow) string {
	switch {
	case row.Status == compare.Renamed:
		return deltaRenamed
	case row.A == 0 && row.B > 0:
		return deltaNew
	case row.B == 0 && row.A > 0:
		return deltaGone
	case !row.Significant:
		return deltaSame
	case row.Delta > 0:
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
		m.printf("\n## %s: %s\n\n%s\n\nTimes are per pass, of %d passes before and %d now.\n\n", stageTitle(s.passStage), s.Verdict, s.Report.Text, s.OldSteps, s.NewSteps)
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
	t := table.New(table.Text("Kernel"), table.Text("Category"), table.Text("Status"), table.Number("Old"), table.Number("New"), table.Number("Δ"), table.Number("Δ %"))
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
