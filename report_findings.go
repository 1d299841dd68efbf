package strata

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage"
)

// The numbers that decide what is a finding.
const (
	// leastShare of a step is told: less is lost among the differences between
	// two runs of one server, which are about a percent.
	leastShare = 0.01
	// fullCoverage of the GPU time in passes is enough for figures per pass to
	// speak for all of it.
	fullCoverage = 0.9
	// largeOperator is the share of a step from which an operator is told where
	// nothing says how long it should take.
	largeOperator = 0.1
	// longestName is how much of a name stands in a sentence.
	longestName = 80
	// hostBound is the share of idle time in the steps from which the verdict's
	// sentence names idle time first.
	hostBound = 0.1
	// mostHeadroom is up to how many times a bound is told as a number: beyond it
	// the GPU hardly did anything, and the number says no more.
	mostHeadroom = 100
)

// addHost asks whether the CPU is the bottleneck and makes findings of the idle
// time in steps, by cause.
func (r *Report) addHost(ctx context.Context) error {
	var ranks []*layer.Analysis
	for _, p := range r.parts {
		ranks = append(ranks, p.a)
	}
	v, err := hostoverhead.Analyze(ctx, ranks, hostoverhead.Options{Labels: r.Traces})
	switch {
	case errors.Is(err, layer.ErrNoKernels):
		return nil
	case err != nil:
		return err
	}
	if why := r.doubtedIdle(); why != "" {
		r.Host, r.HostText = hostoverhead.Inconclusive, "cannot be told: "+why
		return nil
	}
	r.Host, r.HostText, r.HostShare = v.Verdict, v.Summary, float64(v.Headroom.HostNS)/max(float64(v.Headroom.WallNS), 1)
	if d := &v.Ranks[v.Deciding]; len(v.Ranks) > 1 {
		where := fmt.Sprintf("GPU %d", d.Device)
		if len(ranks) > 1 {
			where += " of " + d.Rank
		}
		r.HostText = where + " loses most to it: " + v.Summary
	}
	if i := slices.IndexFunc(v.Doubts, func(d hostoverhead.Doubt) bool { return d.Weight == finding.Low }); i >= 0 {
		r.HostText += " (low confidence: " + v.Doubts[i].Message + ")"
	}
	for _, s := range v.Serving {
		r.Findings = append(r.Findings, Finding{Kind: "serving-path", Text: s.Message, Next: command("host", r.main()), first: 1})
	}
	for i := range v.Ranks {
		rank := &v.Ranks[i]
		if rank.File < 0 || rank.File >= len(r.parts) {
			continue
		}
		if p := r.parts[rank.File]; p.d != nil && p.d.ID == rank.Device {
			r.addIdle(p, rank, v.Next)
		}
	}
	return nil
}

// doubtedIdle is the finding that makes how long the GPU waits unknown, "" where there is none. Where launches are in doubt, too, only causes are, and
// graphs whose kernels are missing make it shorter, which the host's verdict doubts.
func (r *Report) doubtedIdle() string {
	for _, t := range r.HealthNotes {
		for _, f := range t.Findings {
			if f.Severity != trace.HealthOK && slices.Contains(f.Affects, "idle") && !slices.Contains(f.Affects, "attribution") && f.Code != "empty-graphs" {
				return f.Message
			}
		}
	}
	return ""
}

// addIdle lists the idle time inside the steps of a part by cause.
func (r *Report) addIdle(p *reportPart, rank *hostoverhead.RankVerdict, advice []hostoverhead.Advice) {
	n, wall := p.steps("")
	for _, c := range rank.Idle {
		total := time.Duration(c.StepsNS)
		if total == 0 || n == 0 {
			continue
		}
		row := ReportIdle{Trace: r.index(p), Group: c.Group, Cause: c.Cause, PerStep: total / time.Duration(n), Share: ratio(total, wall)}
		where := ""
		if len(c.Names) > 0 {
			row.Name, where = c.Names[0].Name, c.Names[0].Where
		}
		if where == "" {
			where = placeOfIdle(rank, &c)
		}
		r.Idle = append(r.Idle, row)
		text := c.Cause.Info().Title
		if row.Name != "" {
			share := "most"
			if most := c.Names[0].StepsNS; 2*most < c.StepsNS {
				share = table.Percent(float64(most), float64(c.StepsNS), 0) + " %"
			}
			text += ", " + share + " of it in " + table.Cut(table.Clean(row.Name), longestName)
		}
		f := Finding{Kind: "host-idle", Text: text, PerStep: row.PerStep, Where: table.Cut(table.Clean(where), longestName), Next: command("host", p)}
		for _, a := range advice {
			if a.NS > 0 && a.NS == c.StepsNS {
				f.Do = a.Do
			}
		}
		r.add(p, "", f)
	}
}

// placeOfIdle is where the idle time of a cause shows best: of the host's causes the pass that waits most for the host, of
// others the longest gap that is mostly theirs and may be in a step, or the gaps of the length that they make.
func placeOfIdle(rank *hostoverhead.RankVerdict, c *hostoverhead.IdleCause) string {
	if c.Host {
		if len(rank.Worst) == 0 {
			return ""
		}
		return fmt.Sprintf("pass %d waits most for the host", rank.Worst[0].Pass)
	}
	for _, g := range rank.Top {
		// What is longer than all that the steps lose is no gap of a step.
		if len(g.Causes) > 0 && g.Causes[0].Cause == c.Cause && g.Causes[0].NS <= c.StepsNS {
			return fmt.Sprintf("the longest %s at %s s", duration(time.Duration(g.NS)), table.Seconds(time.Duration(g.StartNS), 6))
		}
	}
	best := -1
	for i := range rank.Gaps {
		if b := &rank.Gaps[i]; b.Largest == c.Cause && (best < 0 || b.TotalNS > rank.Gaps[best].TotalNS) {
			best = i
		}
	}
	if best < 0 {
		return ""
	}
	return fmt.Sprintf("above all in gaps of %s, %d of them", rank.Gaps[best].Title, rank.Gaps[best].Count)
}

// addTriage takes exposed communication and fusions from the triage.
func (r *Report) addTriage(ctx context.Context, o ReportOptions) error {
	in := triage.Input{Server: o.Server}
	for _, p := range r.parts {
		in.Formal = append(in.Formal, p.a)
		in.FormalPaths = append(in.FormalPaths, p.name)
	}
	t, err := triage.Analyze(ctx, in, triage.Options{})
	if err != nil {
		return err
	}
	r.Framework = t.Framework
	if r.Model == "" {
		r.Model = t.Model
	}
	for i := range t.Stages {
		r.addStage(&t.Stages[i])
	}
	return nil
}

// partOf returns the part with most steps of a stage.
func (r *Report) partOf(stage layer.Stage) (best *reportPart, steps int) {
	for _, p := range r.parts {
		if n, _ := p.steps(stage); n > steps {
			best, steps = p, n
		}
	}
	return best, steps
}

func (r *Report) addStage(s *triage.StageReport) {
	stage := layer.Stage(s.Stage)
	p, steps := r.partOf(stage)
	if p == nil {
		return
	}
	perStep := func(ns float64) time.Duration { return time.Duration(ns / float64(steps*max(s.Devices, 1))) }
	if e := s.Exposure; e != nil {
		for _, row := range e.Rows {
			out := ReportExposure{Stage: s.Stage, Category: row.Category, PerStep: perStep(float64(row.ExposedNS)), Hidden: perStep(float64(row.HiddenNS)),
				Share: ratio(time.Duration(row.ExposedNS), time.Duration(e.WallNS))}
			r.Exposure = append(r.Exposure, out)
			if row.Category == string(classify.CategoryCommunication) {
				r.add(p, stage, Finding{Kind: "exposed-communication", PerStep: out.PerStep, Text: "communication runs alone: nothing else hides it",
					Where: worstOf(row), Do: hideable(row, perStep), Next: command("triage", p)})
			}
		}
	}
	const nsPerUS = 1e3
	for _, f := range s.Fuse {
		out := ReportFusion{Stage: s.Stage, Pattern: f.Pattern, State: f.State, Do: f.Action, PerStep: perStep(f.RelatedUS * nsPerUS),
			Gain: perStep(f.EstimatedGainUS * nsPerUS), Times: f.Occurrences}
		r.Fusions = append(r.Fusions, out)
		if f.Kind != "split" || out.Gain <= 0 {
			continue
		}
		where := ""
		if f.First != nil {
			where = fmt.Sprintf("first in pass %d", f.First.Pass)
			if f.First.Layer >= 0 {
				where += fmt.Sprintf(", layer %d", f.First.Layer)
			}
		}
		r.add(p, stage, Finding{Kind: "fusion", Text: "not used: " + f.Pattern, PerStep: out.Gain, Where: where, Do: f.Action, Next: command("triage", p)})
	}
}

func worstOf(row triage.ExposureRow) string {
	if len(row.Worst) == 0 {
		return ""
	}
	w := row.Worst[0]
	return fmt.Sprintf("the longest %s at %s s: %s", duration(time.Duration(w.EndNS-w.StartNS)), table.Seconds(time.Duration(w.StartNS), 6), table.Cut(table.Clean(w.Kernel), longestName))
}

func hideable(row triage.ExposureRow, perStep func(float64) time.Duration) string {
	if row.BoundNS <= 0 {
		return ""
	}
	return fmt.Sprintf("compute of the same layers could hide at most %s of it", duration(perStep(float64(row.BoundNS))))
}

// addLargest names what takes most where nothing says how long it should.
func (r *Report) addLargest() {
	if r.light != nil && r.light.Steady >= 0 && len(r.light.Recoverable) > 0 {
		return
	}
	for i, row := range r.Operators {
		if row.Operator == opname.Other || row.Share < largeOperator || row.Share > 1 { // more than all: its kernels run at the same time
			continue
		}
		p := r.parts[row.Trace]
		f := Finding{Kind: "largest-operator", PerStep: row.Time, Takes: true, Text: row.Operator,
			Where: fmt.Sprintf("pass %d, %d kernels of %d layers, the longest %s", row.Pass, row.Kernels, row.Layers, table.Cut(table.Clean(row.Kernel), longestName)),
			Next:  command("light", p, "--config", "config.json")}
		if row.LayerType != onlyLayers && row.LayerType != outsideLayers {
			f.Text += " of " + row.LayerType + " layers"
		}
		if m := p.d.ModelOf(row.Pass); m != "" {
			f.Text += " of " + m
		}
		if r.isLargest(i) {
			f.Text, f.Do = f.Text+" is the largest operator", "name the model's config.json to hear how far it is from what the GPU can do"
		}
		r.addOf(p, row.Pass, f)
	}
}

// isLargest says that no operator that is told apart takes more of its pass than row i.
func (r *Report) isLargest(i int) bool {
	row := &r.Operators[i]
	return !slices.ContainsFunc(r.Operators, func(o ReportOperator) bool {
		return o.Trace == row.Trace && o.Pass == row.Pass && o.Operator != opname.Other && o.Time > row.Time
	})
}

// addDoubts puts what makes the figures doubtful before all of them.
func (r *Report) addDoubts() {
	for _, t := range r.HealthNotes {
		if t.Status != trace.HealthDegraded && t.Status != trace.HealthUnusable {
			continue
		}
		var what []string
		for _, f := range t.Findings {
			if f.Severity != trace.HealthOK {
				what = append(what, f.Message)
			}
		}
		r.Findings = append(r.Findings, Finding{Kind: "health", Text: fmt.Sprintf("the trace is %s: %s", t.Status, strings.Join(what, "; ")), Where: t.Trace,
			Next: "strata layers " + shellQuote(t.Trace), first: 2})
	}
	p := r.main()
	if share := ratio(r.InPasses, r.GPUTime); p != nil && share < fullCoverage {
		r.Findings = append(r.Findings, Finding{Kind: "coverage", Text: fmt.Sprintf("only %s %% of the GPU time is in passes: figures per pass leave the rest out", table.Fixed(100*share, 1)),
			Where: p.name, Next: command("layers", p), first: 1})
	}
}

// rank orders the findings by the time that all steps lose, doubts first, those
// without a known gain last, and drops what is lost in noise.
func (r *Report) rank() {
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return f.first == 0 && f.Share < leastShare })
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(-cmp.Compare(a.first, b.first), boolOrder(a.Takes, b.Takes), -cmp.Compare(a.total, b.total))
	})
	for i, whole := 0, r.whole(); i < len(r.Findings); i++ {
		r.Findings[i].window = whole
	}
	r.Verdict = r.sentence()
}

func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// sentence says what bounds the run.
func (r *Report) sentence() string {
	switch {
	case r.main() == nil:
		return "No GPU activity was recorded."
	case r.Wall == 0:
		return "No forward pass was found, so nothing can be said per step."
	case r.GPUTime == 0:
		return "The ends of GPU activities were not recorded: none lasts, so nothing can be said about the GPU's time."
	}
	if len(r.Passes) > 0 && !slices.ContainsFunc(r.Passes, func(p ReportPass) bool { return p.Stage != layer.StageCapture }) {
		return "The steps of this window capture graphs: what serving costs is told by a recording behind a server's start."
	}
	if why := r.doubtedIdle(); why != "" {
		return "How much the GPU works cannot be told: " + why + "."
	}
	idle := ratio(r.IdleTime, r.Wall)
	of, they := "the steps' time", "they"
	if r.whole() {
		of, they = "the window, in which no steps were found", "it"
	}
	text := fmt.Sprintf("The GPU works in %s %% of %s.", table.Fixed(100*(1-idle), 1), of)
	if idle >= hostBound {
		most := "at most " + table.Times(r.Headroom, 2)
		if r.Headroom > mostHeadroom {
			most = "over " + table.Times(mostHeadroom, 0)
		}
		text = fmt.Sprintf("The GPU waits in %s %% of %s: without that %s would be %s as fast.", table.Fixed(100*idle, 1), of, they, most)
	}
	for _, f := range r.Findings {
		if f.first == 0 && !f.Takes {
			return text + fmt.Sprintf(" Largest that may be won: %s (%s %s).", f.Text, duration(f.PerStep), f.each())
		}
	}
	return text
}

// whole says that nothing tells the passes of any part apart: what is called a step is all of the window.
func (r *Report) whole() bool {
	for _, p := range r.parts {
		if p.d != nil && slices.ContainsFunc(p.d.Passes, func(fp layer.ForwardPass) bool { return fp.PassEvidence != "whole" }) {
			return false
		}
	}
	return true
}

func stageName(s layer.Stage) string {
	if s == "" || s == layer.StageUnknown {
		return "forward"
	}
	return string(s)
}

// each says what PerStep is a part of.
func (f *Finding) each() string {
	if f.window {
		return "of the window"
	}
	return "of each " + stepOf(f.Stage)
}

// stepOf names a step of a stage, "" for any.
func stepOf(s layer.Stage) string {
	if s == "" {
		return "step"
	}
	return stageName(s) + " step"
}

// duration prints a time with the unit that suits it, always three decimals of
// milliseconds from one millisecond on.
func duration(d time.Duration) string {
	if d < time.Millisecond {
		return table.Fixed(float64(d)/float64(time.Microsecond), 1) + " µs"
	}
	return table.Fixed(float64(d)/float64(time.Millisecond), 3) + " ms"
}

// shellQuote makes a path one word of a command line.
func shellQuote(path string) string {
	if path != "" && !strings.ContainsFunc(path, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("/._-+=:,@%", c))
	}) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
