package strata

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/hostoverhead/replay"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage"
)

// The numbers that decide what is a finding.
const (
	// leastShare is the least share of a step that is reported: smaller losses are
	// lost in the differences between two runs of one server, which are about 1%.
	leastShare = 0.01
	// nameWidth is the most characters of a place in a line.
	nameWidth = 100
	// hostBound is the share of idle time in the steps from which the verdict's
	// sentence names idle time first.
	hostBound = 0.1
	// mostHeadroom is the largest bound that is shown as a number: above it the GPU
	// is nearly idle, and the number says no more.
	mostHeadroom = 100
)

// askHost asks whether the CPU is the bottleneck. The verdict is nil where there are no kernels.
func (r *Report) askHost(ctx context.Context, models *replay.Models) (*hostoverhead.Verdict, error) {
	most := PageGaps
	v, err := hostoverhead.Analyze(ctx, r.analyses(), hostoverhead.Options{Labels: r.Traces, TopGaps: &most})
	switch {
	case errors.Is(err, layer.ErrNoKernels):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if r.doubtedIdle() == "" {
		err = v.Replay(ctx, r.analyses(), models)
	}
	return v, err
}

// analyses are those of all parts.
func (r *Report) analyses() (all []*layer.Analysis) {
	for _, p := range r.parts {
		all = append(all, p.a)
	}
	return all
}

// addHost takes what the host costs: the idle time in steps, by cause.
func (r *Report) addHost() {
	v := r.host
	if v == nil {
		return
	}
	for _, f := range v.Findings { // before those of the deciding GPU
		if f.Kind == finding.ServingPath || f.Kind == finding.Doubt && !ofRecording(f.Code) {
			r.take(r.main(), f)
		}
	}
	if why := r.doubtedIdle(); why != "" {
		r.Host, r.HostText = hostoverhead.Inconclusive, "cannot be decided: "+why
		return
	}
	r.Host, r.HostText, r.HostShare = v.Verdict, v.Summary,
		ratio(time.Duration(v.Headroom.HostNS), time.Duration(v.Headroom.WallNS))
	if d := &v.Ranks[v.Deciding]; len(v.Ranks) > 1 {
		where := fmt.Sprintf("GPU %d", d.Device)
		if len(r.parts) > 1 {
			where += " of " + d.Rank
		}
		r.HostText, r.HostGPU = where+" is affected most: "+v.Summary, finding.At(int(d.Device))
		if p := r.main(); p != nil && p.d.ID != d.Device {
			r.HostText += fmt.Sprintf("; findings that name no other GPU are of GPU %d, the busiest", p.d.ID)
		}
	}
	for _, d := range v.Doubts { // the gravest first
		if d.Confidence != finding.Low && d.Confidence != finding.Medium {
			continue
		}
		if !strings.Contains(r.HostText, d.Evidence) {
			r.HostText += fmt.Sprintf(" (%s confidence: %s)", d.Confidence, d.Evidence)
		}
		break
	}
	for i := range v.Ranks {
		rank := &v.Ranks[i]
		if p := r.partOf(rank); p != nil {
			r.addIdle(p, rank)
		}
	}
}

// ofRecording says that a doubt about the host is of what [layer.Analysis.Findings] has as a finding of the recording.
func ofRecording(doubt string) bool {
	switch hostoverhead.DoubtCode(doubt) {
	case hostoverhead.DoubtTraceIncomplete, hostoverhead.DoubtLaunchesMissing, hostoverhead.DoubtNoLaunchCalls:
		return true
	}
	return false
}

// partOf is the part whose GPU a verdict judges, nil where the report is of another GPU.
func (r *Report) partOf(rank *hostoverhead.RankVerdict) *reportPart {
	if rank.File < 0 || rank.File >= len(r.parts) {
		return nil
	}
	if p := r.parts[rank.File]; p.d != nil && p.d.ID == rank.Device {
		return p
	}
	return nil
}

// doubtedIdle is the first [trace.IdleUnknown] of all traces, "" where idle time is known.
func (r *Report) doubtedIdle() string {
	for _, t := range r.HealthNotes {
		if why := trace.IdleUnknown(t.Findings); why != "" {
			return why
		}
	}
	return ""
}

// take keeps the findings of an analysis of a part, with the command that shows more. One rule for a recording of
// several GPUs: figures are of a step of one GPU, which Place.Device names, the part's unless the analysis names
// another; or they are the mean of all of them, as Size.GPUs says.
func (r *Report) take(p *reportPart, list ...finding.Finding) {
	for _, f := range list {
		next := cmp.Or(f.Next, f.Kind.Info().Program)
		var gpu *int
		f.Place.Trace = p.name
		f.Where = cmp.Or(f.Where, table.Cut(table.Clean(f.Place.String()), nameWidth))
		if len(p.a.Devices) > 1 && f.Measure != finding.NoMeasure && f.GPUs == 0 {
			if f.Place.Device == nil {
				f.Place.Device = finding.At(int(p.d.ID))
			}
			f.Where = strings.TrimSuffix(fmt.Sprintf("GPU %d, %s", *f.Place.Device, f.Where), ", ")
			gpu = f.Place.Device
		}
		f.Next = r.command(next, gpu, p.opens)
		r.found = append(r.found, f)
	}
}

// addIdle lists the idle time inside the steps of a part by cause.
func (r *Report) addIdle(p *reportPart, rank *hostoverhead.RankVerdict) {
	for _, f := range rank.Findings {
		if f.Kind == finding.IdleTime {
			r.Idle = append(r.Idle, ReportIdle{Trace: r.index(p), GPU: int(rank.Device), Group: f.Cause.Group(),
				Cause: f.Cause, PerStep: f.PerStep, Model: f.Model, Share: f.Share, Name: f.Place.Name, total: f.Total})
		}
	}
	r.take(p, rank.Findings...)
}

// askTriage asks for exposure, fusions and the largest operators.
func (r *Report) askTriage(ctx context.Context, in triage.Input, models *replay.Models) (*triage.Report, error) {
	for _, p := range r.parts {
		in.FormalPaths = append(in.FormalPaths, p.name)
	}
	t, err := triage.Analyze(ctx, in, triage.Options{})
	if err != nil {
		return nil, err
	}
	return t, t.Replay(ctx, in.Formal, models)
}

// addTriage takes exposure, fusions and the largest operators from the triage.
func (r *Report) addTriage() {
	t := r.triage
	r.Framework = t.Framework
	r.Model = cmp.Or(r.Model, t.Model)
	for i := range t.Stages {
		r.addStage(&t.Stages[i])
	}
	if p := r.main(); p != nil {
		r.take(p, t.Findings...)
	}
}

// addStage lists exposure and fused paths of a stage.
func (r *Report) addStage(s *triage.StageReport) {
	e := s.Exposure
	gpus := finding.Size{}.OfGPUs(s.Devices).GPUs
	devices := float64(max(s.Devices, 1))
	steps := cmp.Or(e.CompleteSteps, devices)
	mean := func(ns, n float64) time.Duration { return time.Duration(ns / n) }
	for _, row := range e.Rows {
		exposed, hidden := float64(row.ExposedNS), float64(row.HiddenNS)
		r.Exposure = append(r.Exposure, ReportExposure{Stage: s.PassStage, Category: row.Category,
			PerStep: mean(exposed, steps), Hidden: mean(hidden, steps),
			Share: ratio(time.Duration(row.ExposedNS), time.Duration(e.WallNS)), GPUs: gpus,
			exposed: mean(exposed, devices), hidden: mean(hidden, devices)})
	}
	const nsPerUS = 1e3
	for _, f := range s.Fuse {
		took, gain := f.RelatedUS*nsPerUS, f.Gain.StepHighNS
		r.Fusions = append(r.Fusions, ReportFusion{Stage: s.PassStage, Pattern: f.Pattern, State: f.State, Do: f.Action,
			PerStep: mean(took, steps), Gain: time.Duration(gain), Times: f.Occurrences, GPUs: gpus,
			took: mean(took, devices), gain: mean(float64(gain)*steps, devices)})
	}
}

// addDoubts takes what makes the figures of a recording doubtful.
func (r *Report) addDoubts() {
	for _, p := range r.parts {
		r.take(p, p.a.Findings()...)
	}
}

// Found returns the findings of all analyses, ranked, those below a percent of their steps included.
func (r *Report) Found() []finding.Finding { return slices.Clone(r.found) }

// rank orders the findings and leaves those out of the list that are lost in noise.
func (r *Report) rank() {
	for i := range r.found {
		f := &r.found[i] // a fusion's gain leaves out what the host bounds
		if f.Measure == finding.Recoverable && f.Kind.ByKernel() && f.Kind != finding.Fusion && r.hostBound(f.Stage) {
			f.Evidence = strings.TrimSpace(f.Evidence + " The host bounds the steps: the gain may be none.")
		}
	}
	finding.Rank(r.found)
	for _, f := range r.found {
		switch {
		case f.Kind == finding.LargestOperator: // the table of operators has it, and NoFloor what has none
		case f.Kind.Info().Doubt > 0, f.Kind == finding.Doubt, f.Share >= leastShare && f.Measure != finding.NoMeasure:
			r.Findings = append(r.Findings, f)
		}
	}
	r.Verdict = r.sentence()
}

// hostBound reports whether the host bounds the steps of a stage; of all for "".
func (r *Report) hostBound(stage layer.Stage) bool {
	if r.Host != hostoverhead.Yes {
		return false
	}
	for _, s := range r.host.Ranks[r.host.Deciding].Stages {
		if s.Stage == stage {
			return s.Verdict == hostoverhead.Yes
		}
	}
	return true
}

// sentence says what bounds the run.
func (r *Report) sentence() string {
	switch {
	case r.main() == nil && r.remark(trace.CodeNoTimes) != nil:
		return "No GPU activity has a time."
	case r.main() == nil:
		return "No GPU activity was recorded."
	case r.Wall == 0:
		return "No forward pass was found; figures per step are unknown."
	case r.GPUTime == 0:
		return "No end times were recorded; GPU time is unknown."
	}
	if len(r.Passes) > 0 && !slices.ContainsFunc(r.Passes,
		func(p ReportPass) bool { return p.Stage != layer.StageCapture }) {
		return "This window captures graphs. Record after the server has started."
	}
	if why := r.doubtedIdle(); why != "" {
		return "GPU utilization is unknown: " + why + "."
	}
	if on := r.dependsOn(); on != "" {
		return "GPU utilization is unknown: " + on + "."
	}
	idle, of := ratio(r.IdleTime, r.Wall), r.basis()
	gpu := "The GPU"
	if p := r.main(); p != nil && r.HostGPU != nil { // there are several
		gpu = fmt.Sprintf("GPU %d", p.d.ID)
	}
	lost := ratio(r.LostTime, r.Wall)
	text := fmt.Sprintf("%s is busy %s%% %s.", gpu, table.Fixed(100*(1-idle-lost), 1), of.Title())
	if idle >= hostBound {
		most := "at most " + table.WithArticle(table.Times(r.Headroom, 2)) + " speedup"
		if r.Headroom > mostHeadroom {
			most = "more than a " + table.Times(mostHeadroom, 0) + " speedup"
		}
		text = fmt.Sprintf("%s is idle %s%% %s; removing that gives %s.", gpu, table.Fixed(100*idle, 1), of.Title(),
			most)
	}
	if lost > 0 {
		text += fmt.Sprintf(" Records are missing for %s%% of it.", table.Fixed(100*lost, 1))
	}
	for _, f := range r.Findings {
		if f.Measure == finding.Recoverable && f.Kind.Info().Doubt == 0 {
			took, each := f.Each()
			what := f.Text
			if f.Kind == finding.AboveFloor && r.AssumedModel != "" {
				what += ", if the model is " + r.AssumedModel
			}
			text += fmt.Sprintf(" Biggest opportunity: %s %s (%s).", table.Duration(took), each, what)
			break
		}
	}
	for _, f := range r.Findings { // sorted by size
		if unexplained(&f) {
			return text + fmt.Sprintf(" %s: %s %s.", f.Text, table.Pct(100*f.Share, 1), f.Of.Title())
		}
	}
	return text
}

// unexplained says that a finding is about operators that take much of the steps without a floor: it is always named.
func unexplained(f *finding.Finding) bool {
	return f.Kind == finding.NoFloor && f.Code != roofline.CodeCopies
}

// dependsOn names the activity that decides the figures by itself, "" for none.
func (r *Report) dependsOn() string {
	if r.host != nil {
		for i := range r.host.Ranks {
			rank := &r.host.Ranks[i]
			if on := rank.DependsOn; on != "" && r.partOf(rank) != nil {
				return "it depends on one row: " + on
			}
		}
	}
	if f := r.remark(trace.CodeOneRow); f != nil {
		return f.Message
	}
	return ""
}

// remark is the first of a code on the recordings, nil where there is none.
func (r *Report) remark(code trace.Code) *trace.Remark {
	for i := range r.HealthNotes {
		list := r.HealthNotes[i].Findings
		if at := slices.IndexFunc(list, func(f trace.Remark) bool { return f.Code == code }); at >= 0 {
			return &list[at]
		}
	}
	return nil
}

// basis is what shares of the steps are of.
func (r *Report) basis() finding.Basis { return basisOf(r.parts) }

// figures says what the times of tables over all steps are: means of a step, or, where the steps are of several models
// and their mean is that of none, sums.
func (r *Report) figures() figures {
	m := r.main()
	return figures{r.basis(), m != nil && (m.d.SeveralModels() ||
		slices.ContainsFunc(r.parts, func(p *reportPart) bool { return p.d != nil && !m.d.SameModel(p.d) }))}
}

type figures struct {
	finding.Basis
	sums bool
}

// Each heads a column of them.
func (f figures) Each() string {
	if f.sums {
		return "In all steps"
	}
	return f.Basis.Each()
}

// Per is their unit.
func (f figures) Per(unit string) string {
	if f.sums {
		return "total " + unit
	}
	return f.Basis.Per(unit)
}

// of chooses between a mean and a sum.
func (f figures) of(mean, sum time.Duration) time.Duration {
	if f.sums {
		return sum
	}
	return mean
}

// basisOf is what shares of the steps of some parts are of: the window where none has separate passes.
func basisOf(parts []*reportPart) finding.Basis {
	for _, p := range parts {
		if p.d != nil && p.d.Basis() == finding.OfStep {
			return finding.OfStep
		}
	}
	return finding.OfWindow
}

func stageName(s layer.Stage) string {
	if s == "" || s == layer.StageUnknown {
		return "unknown stage"
	}
	return string(s)
}

// shellQuote makes a path one word of a command line.
func shellQuote(path string) string {
	if path != "" && !strings.ContainsFunc(path, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.ContainsRune("/._-+=:,@%", c))
	}) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
