package strata

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/hostoverhead/replay"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// reportSchema names the document that a [Report] is in JSON.
const reportSchema = "strata.report/2"

// ReportOptions change what [Analyze] says. The zero value takes everything
// from the recording.
type ReportOptions struct {
	// Layers say what is known about the model. A config that contradicts a
	// trace is left out, with a note.
	Layers layer.Options
	// Light says what is known about GPU and load.
	Light roofline.Options
	// Ranks are digests of other ranks of the run, which say how long collectives wait. Clocks need not agree.
	Ranks []fleet.Rank
	// Device is the GPU of each trace to report on. Nil: the one with most GPU
	// time.
	Device *trace.DeviceID
	// Server is what the server said about itself, if anything.
	Server triage.Server
	// Against is another recording to compare with, an older run for example.
	// Nil: none.
	Against *Recording
	// Gates are what the comparison with Against is asked; their answers are in
	// [Report.Against].
	Gates []compare.Gate
	// Flags returns the flags with which a command of strata, "light" for example, reads a trace as these options do;
	// gpu is the number of one GPU of several, nil for none, and without model those that say what the model is are left
	// out. Findings name them in their next command. Nil: none.
	Flags func(command string, gpu *int, model bool) []Flag
	// ranks are what is compared with Against where the ranks were read one by one.
	ranks []compare.Run
}

// Flag is a flag of a command line.
type Flag struct {
	Name  string // without dashes
	Value string // "" for a switch
	File  bool   // the value names a file
}

// Report is everything that the analyses say about one recording, with what
// matters most first. It is a document: its JSON form is stable.
type Report struct {
	Schema string `json:"schema"` // name and version of the document
	// Name is what was opened, Traces are the files that were read.
	Name   string   `json:"name"`
	Traces []string `json:"traces"`
	// Framework made the traces, on GPUs of this name, with this model; "" where
	// unknown.
	Framework string `json:"framework,omitempty"`
	GPU       string `json:"gpu,omitempty"`
	Model     string `json:"model,omitempty"`
	// AssumedModel is the model that floors rest on where nobody named one: see [roofline.Report.Assumed].
	AssumedModel string `json:"assumed_model,omitempty"`
	// Health says how far the figures can be trusted: that of the worst trace. HealthNotes are of the traces with
	// findings.
	Health      trace.HealthStatus  `json:"health"`
	HealthNotes []triage.HealthNote `json:"health_notes"`
	// GPUTime is that of all activities; how much of it the report explains are its parts in passes, in layers, and
	// with a known operator.
	GPUTime      time.Duration `json:"gpu_time_ns"`
	InPasses     time.Duration `json:"in_passes_ns"`
	InLayers     time.Duration `json:"in_layers_ns"`
	WithOperator time.Duration `json:"with_operator_ns"`
	// Verdict says in one sentence what bounds the run.
	Verdict string `json:"verdict"`
	// Host is whether the CPU is the bottleneck: YES, NO or INCONCLUSIVE; "" where there are no kernels. HostText
	// says why, HostShare is the part of the steps that the host costs on the GPU with the largest part, which HostGPU
	// names where the recording has several.
	Host      hostoverhead.Answer `json:"host"`
	HostText  string              `json:"host_text,omitempty"`
	HostShare float64             `json:"host_share"`
	HostGPU   *int                `json:"host_gpu,omitempty"`
	// Wall is the time of all steps, that of steps beside each other once; IdleTime is the part in which the GPU did
	// nothing.
	Wall     time.Duration `json:"wall_ns"`
	IdleTime time.Duration `json:"idle_ns"`
	// LostTime is the part of Wall without records: see [layer.Device.Damage].
	LostTime time.Duration `json:"not_recorded_ns,omitempty"`
	// Headroom is how many times faster the steps could be at most if the GPU never waited; 0 where no steps are known.
	// That of the host alone is smaller.
	Headroom float64 `json:"headroom_at_most"`
	// Findings are those of all analyses that cost at least a percent of their steps, ranked: those that put the
	// figures themselves in doubt come first, then what can be won, the largest first. [Report.Found] has the small
	// ones, too.
	Findings []finding.Finding `json:"findings"`
	Passes   []ReportPass      `json:"passes"`
	// Operators are those of one pass of each stage and model, in the model's order.
	Operators []ReportOperator `json:"operators"`
	// Idle is the time in the steps in which the GPU did nothing, by cause.
	Idle     []ReportIdle     `json:"idle"`
	Exposure []ReportExposure `json:"exposure"`
	Fusions  []ReportFusion   `json:"fusions"`
	// Ranks is the result of several ranks together, nil for one. All other fields are about one rank.
	Ranks *fleet.Report `json:"ranks,omitempty"`
	// Notes are remarks for people: what was assumed, left out or doubtful.
	Notes []string `json:"notes"`
	// Against is the comparison with the recording of [ReportOptions.Against]:
	// that one is its side A. Nil where there is none, or one of the two has no GPU work.
	Against *compare.Report `json:"against,omitempty"`

	parts []*reportPart
	// inputs are paths of what was read.
	inputs []string
	opens  []string // what the command of all ranks is to open
	named  []string // files that commands name in flags
	flags  func(command string, gpu *int, model bool) []Flag
	light  *roofline.Report
	host   *hostoverhead.Verdict
	triage *triage.Report
	found  []finding.Finding
}

// Analyses are the results that a [Report] is made of, for programs that show more of them.
type Analyses struct {
	// Main is the GPU of most GPU time, nil where nothing ran on one.
	Main *layer.Device
	// All are passes and layers of each trace, in the order of [Report.Traces].
	All []*layer.Analysis
	// Host, Light and Triage are nil where they had nothing to work on.
	Host   *hostoverhead.Verdict
	Light  *roofline.Report
	Triage *triage.Report
}

// Analyses returns the results that the report is made of. They are not copies.
func (r *Report) Analyses() Analyses {
	out := Analyses{All: r.analyses(), Host: r.host, Light: r.light, Triage: r.triage}
	if m := r.main(); m != nil {
		out.Main = m.d
	}
	return out
}

// ReportPass is one forward pass.
type ReportPass struct {
	Trace  int            `json:"trace"`    // index in [Report.Traces]
	Device trace.DeviceID `json:"device"`   // number of the GPU
	Index  int            `json:"index"`    // place in the trace, from 0
	Stage  layer.Stage    `json:"stage"`    // what the pass does
	Batch  int            `json:"batch"`    // requests; −1 unknown
	Tokens int64          `json:"tokens"`   // −1 unknown
	Start  trace.Time     `json:"start_ns"` // since the trace's first event
	// Wall is until the next pass where that follows; Idle of it the GPU did nothing, and of Lost records are missing.
	Wall time.Duration `json:"wall_ns"`
	Idle time.Duration `json:"idle_ns"`
	Lost time.Duration `json:"not_recorded_ns,omitempty"`
	// Floor is the least time that the pass can take; 0, and absent in JSON, where it is not known.
	Floor time.Duration `json:"floor_ns,omitempty"`
	// Covered is the share of the pass's GPU time that operators with a floor take: Floor is of these alone.
	Covered float64 `json:"with_floor_share_of_gpu_time,omitempty"`
	Layers  int     `json:"layers"`
	// Kernels counts kernels, Activities copies and sets, too.
	Kernels    int     `json:"kernels"`
	Activities int     `json:"gpu_activities"`
	Partial    string  `json:"partial"`
	StepShare  float64 `json:"step_share"` // of a step: below 1 where the window cuts it, 0 for a draft's pass
	// Confidence in the pass and its layers, 0…1.
	Confidence float64 `json:"confidence"`
	// Chosen says that Operators are of this pass.
	Chosen bool `json:"chosen,omitempty"`
	// Model ran, where the trace shows several; "" where there is one.
	Model string `json:"model,omitempty"`
	Note  string `json:"note,omitempty"`
	// Cold says that the pass is among the first of its model and takes longer than those of the same work that follow.
	Cold bool `json:"cold,omitempty"`
}

// ReportOperator is one operator in all layers of one type of one pass.
type ReportOperator struct {
	Trace     int         `json:"trace"`      // index in Report.Traces
	Pass      int         `json:"pass"`       // index of the pass
	Stage     layer.Stage `json:"stage"`      // stage of the pass
	LayerType string      `json:"layer_type"` // "outside layers" for what is beside them
	Operator  string      `json:"operator"`   // part of the model that the kernels compute
	// Category is that of most of its time, Kernel the short name of its longest kernel.
	Category string        `json:"category"`
	Kernel   string        `json:"kernel"`
	Layers   int           `json:"layers"`
	Kernels  int           `json:"kernels"`
	Time     time.Duration `json:"time_ns"`
	Share    float64       `json:"share"` // of the pass's wall time
	// Floor is the least time that it can take; PeakShare is Floor / Time. 0, and absent in JSON, where not known.
	Floor     time.Duration `json:"floor_ns,omitempty"`
	Bound     string        `json:"bound,omitempty"`
	PeakShare float64       `json:"peak_share,omitempty"`
}

// ReportIdle is idle time of one cause in the steps.
type ReportIdle struct {
	Trace   int           `json:"trace"`       // index in Report.Traces
	GPU     int           `json:"gpu"`         // its number
	Group   finding.Group `json:"group"`       // row of the headroom that the cause counts for
	Cause   finding.Cause `json:"cause"`       // why the GPU is idle
	PerStep time.Duration `json:"per_step_ns"` // mean over all steps, or over those of Model
	Share   float64       `json:"share"`       // of the time of all steps
	// Model is the model whose steps alone PerStep is the mean over, where several run.
	Model string `json:"step_model,omitempty"`
	// Name is the range, frame or call that most of it is in.
	Name string `json:"name,omitempty"`

	total time.Duration // in all steps
}

// ReportExposure is how much of a category's time nothing hides, in one stage. Its figures are the mean of all steps of
// all GPUs of the recording.
type ReportExposure struct {
	Stage    layer.Stage       `json:"stage"`               // stage of the steps
	Category classify.Category `json:"category"`            // category of the kernels, see docs/categories.md
	PerStep  time.Duration     `json:"exposed_per_step_ns"` // part of a step in which it runs alone
	Share    float64           `json:"share"`               // of the step
	Hidden   time.Duration     `json:"hidden_per_step_ns"`  // part of a step in which other work runs beside it
	GPUs     int               `json:"gpus,omitempty"`      // as in [finding.Size]

	exposed, hidden time.Duration // in all steps
}

// ReportFusion is a known fused path that is used, or could be. Its figures are the mean of all steps of all GPUs of
// the recording.
type ReportFusion struct {
	Stage   layer.Stage      `json:"stage"`            // stage of the steps
	Pattern string           `json:"pattern"`          // name of the fusion
	State   triage.FuseState `json:"state"`            // whether the path is used, could be, or is unknown
	Do      string           `json:"do,omitempty"`     // what enables the fused path
	PerStep time.Duration    `json:"per_step_ns"`      // of its kernels
	Gain    time.Duration    `json:"gain_per_step_ns"` // at most a step becomes shorter by this
	Times   int              `json:"occurrences"`      // chains found in the stage
	GPUs    int              `json:"gpus,omitempty"`   // as in [finding.Size]

	took, gain time.Duration // in all steps
}

// reportPart is one trace of the report.
type reportPart struct {
	name   string
	opens  string // what commands are to open, "" for what is no file
	a      *layer.Analysis
	d      *layer.Device   // nil where nothing ran on a GPU
	wall   []time.Duration // by pass
	lost   []time.Duration
	idle   []time.Duration
	copies []int                             // by pass: activities that are no kernels
	chosen []int                             // passes whose operators are listed, one of a kind
	types  map[layer.Place]profile.LayerType // of the layers of chosen passes
	config *profile.Config                   // of the model, or of the one that is assumed; nil for none
}

// Analyze runs every analysis on a recording, each once, and ranks what they
// found. A recording without GPU work is no error: the report says so.
func Analyze(ctx context.Context, rec *Recording, o ReportOptions) (*Report, error) {
	r := &Report{Schema: reportSchema, Name: rec.Name, inputs: []string{rec.Name}, flags: o.Flags}
	for _, u := range rec.NotRead {
		r.note("not read: %s (%s)", u.Shown(), u.Why)
	}
	for i := range rec.Parts {
		p, err := r.analyzePart(ctx, &rec.Parts[i], o)
		if err != nil {
			return nil, err
		}
		r.parts = append(r.parts, p)
		r.inputs = append(r.inputs, rec.Parts[i].Shown())
		r.Traces = append(r.Traces, cmp.Or(p.name, rec.Name))
	}
	r.sumUp()
	if err := r.ask(ctx, o); err != nil {
		return nil, err
	}
	if err := r.addLight(); err != nil {
		return nil, err
	}
	if err := r.addOperators(); err != nil {
		return nil, err
	}
	r.crossCheck()
	r.addHost()
	r.addTriage()
	if err := r.addAgainst(ctx, o); err != nil {
		return nil, err
	}
	r.addDoubts()
	r.rank()
	r.fillNil()
	return r, nil
}

// ask runs the analyses of passes and layers side by side.
func (r *Report) ask(ctx context.Context, o ReportOptions) error {
	in := triage.Input{Server: o.Server, Formal: r.analyses(), Counter: &roofline.Counter{Options: o.Light}}
	in.Waits = fleet.Waits(in.Formal, o.Ranks)
	if o.Light.Counter = in.Counter; o.Light.Waits == nil && r.main() != nil {
		o.Light.Waits = in.Waits[r.index(r.main())]
	}
	var models replay.Models
	var errs [3]error // of the first analysis that fails, whichever ends first
	var running sync.WaitGroup
	running.Go(func() { r.light, errs[0] = r.askLight(ctx, o) })
	running.Go(func() { r.host, errs[1] = r.askHost(ctx, &models) })
	running.Go(func() { r.triage, errs[2] = r.askTriage(ctx, in, &models) })
	running.Wait()
	return cmp.Or(errs[:]...)
}

func (r *Report) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(r.Notes, n) {
		r.Notes = append(r.Notes, n)
	}
}

// analyzePart finds passes and layers of one trace.
func (r *Report) analyzePart(ctx context.Context, part *Part, o ReportOptions) (*reportPart, error) {
	a, err := layer.AnalyzeAnyway(ctx, part.Trace, o.Layers)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", part.Shown(), err)
	}
	if a.Refused != nil {
		r.note("%s: %s; passes and layers are those that the trace shows by itself", part.Shown(),
			strings.TrimPrefix(a.Refused.Error(), "layer: "))
	}
	if len(a.Devices) == 0 {
		return &reportPart{name: part.Shown(), opens: part.Shown(), a: a}, nil
	}
	d, err := a.Device(o.Device)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", part.Shown(), err)
	}
	if n := len(a.Devices); o.Device != nil {
		a = a.Only(d.ID)
	} else if n > 1 {
		r.note("%s: analysed GPU %d of %d, the busiest", part.Shown(), d.ID, n)
	}
	for _, n := range d.Notes {
		r.note("%s", n)
	}
	p := newPart(part.Shown(), a, d)
	p.opens = part.Shown()
	return p, nil
}

// newPart measures and chooses the passes of a GPU.
func newPart(name string, a *layer.Analysis, d *layer.Device) *reportPart {
	p := &reportPart{name: name, a: a, d: d, config: a.Config, types: map[layer.Place]profile.LayerType{},
		wall: make([]time.Duration, len(d.Passes)), idle: make([]time.Duration, len(d.Passes)),
		lost:   make([]time.Duration, len(d.Passes)),
		copies: make([]int, len(d.Passes))}
	for k := range d.Kernels() {
		if pass := k.Place().Pass; pass != trace.None && k.Event().Kind() != event.Kernel {
			p.copies[pass]++
		}
	}
	for i, s := range d.Steps() {
		p.wall[i] += time.Duration(s.End - s.Start)
		if s.Lost {
			p.lost[i] += time.Duration(s.End - s.Start)
		} else if s.Idle() {
			p.idle[i] += time.Duration(s.End - s.Start)
		}
	}
	p.choose()
	for _, n := range p.chosen {
		for _, l := range d.Passes[n].Layers() {
			p.types[layer.Place{Pass: n, Layer: l.Index}] = l.Type
		}
	}
	return p
}

// rows are the passes of a part, whose trace has number i.
func (p *reportPart) rows(i int) []ReportPass {
	var out []ReportPass
	for n := range p.d.Passes {
		f := &p.d.Passes[n]
		out = append(out, ReportPass{Trace: i, Device: p.d.ID, Index: n, Stage: f.Stage, Batch: f.Batch,
			Tokens: f.Tokens, Start: f.Start, Wall: p.wall[n], Idle: p.idle[n], Lost: p.lost[n], Layers: f.NumLayers,
			Kernels: f.Kernels - p.copies[n], Activities: f.Kernels,
			Partial: f.Partial, StepShare: p.d.StepShare(n), Confidence: f.Confidence,
			Chosen: slices.Contains(p.chosen, n), Model: p.d.ModelOf(n), Note: f.Note, Cold: f.Cold})
	}
	return out
}

// passKind separates passes whose times are not comparable: by what they do, and by the model that runs.
type passKind struct {
	stage layer.Stage
	model int
}

func (p *reportPart) kind(pass int) passKind {
	f := &p.d.Passes[pass]
	return passKind{f.Stage, f.Model}
}

// kinds are the passes by kind, and the kinds in the order in which they first ran.
func (p *reportPart) kinds() (kinds []passKind, byKind map[passKind][]int) {
	byKind = map[passKind][]int{}
	for i := range p.d.Passes {
		k := p.kind(i)
		if byKind[k] == nil {
			kinds = append(kinds, k)
		}
		byKind[k] = append(byKind[k], i)
	}
	return kinds, byKind
}

// choose takes one pass of each kind: the steady one, else the complete pass
// of median length, or the longest if all are cut.
func (p *reportPart) choose() {
	kinds, byKind := p.kinds()
	for _, k := range kinds {
		all := byKind[k]
		if slices.Contains(all, p.d.Steady.Pass) {
			p.chosen = append(p.chosen, p.d.Steady.Pass)
			continue
		}
		whole := slices.DeleteFunc(slices.Clone(all), func(i int) bool { return !p.d.Passes[i].Complete() })
		longest := len(whole) == 0
		if longest {
			whole = all
		}
		slices.SortStableFunc(whole, func(a, b int) int { return int(p.wall[a] - p.wall[b]) })
		at := len(whole) / 2
		if longest {
			at = len(whole) - 1
		}
		if p.d.Passes[whole[at]].Kernels > 0 {
			p.chosen = append(p.chosen, whole[at])
		}
	}
}

// sumUp fills in the fields about the recording and its passes.
func (r *Report) sumUp() {
	for i, p := range r.parts {
		h := &p.a.Health
		r.Health = slices.MaxFunc([]trace.HealthStatus{r.Health, h.Status}, trace.HealthStatus.Compare)
		if len(h.Findings) > 0 {
			r.HealthNotes = append(r.HealthNotes, triage.HealthNote{Trace: p.name, Status: h.Status,
				Findings: h.Findings})
		}
		if p.d == nil {
			r.note("%s holds no GPU activity", p.name)
			continue
		}
		r.addTrace(i, p)
	}
	if r.Wall > r.IdleTime {
		r.Headroom = float64(r.Wall) / float64(r.Wall-r.IdleTime)
	}
}

func (r *Report) addTrace(i int, p *reportPart) {
	if gpu := p.d.GPU; r.GPU == "" {
		r.GPU = gpu
	} else if gpu != "" && !strings.Contains(", "+r.GPU+", ", ", "+gpu+", ") {
		r.GPU += ", " + gpu
		r.note("%s is of another GPU: these seem to be two runs. Compare them with `strata compare --a A --b B`.",
			p.name)
	}
	if c := p.a.Config; c != nil && r.Model == "" {
		r.Model = c.Summary().Model
	}
	r.GPUTime += p.d.Time
	r.InPasses += p.d.InPasses
	r.InLayers += p.d.InLayers
	for k := range p.d.Kernels() {
		if op, _, _ := k.Operator(); op != "" && op != opname.Other {
			r.WithOperator += k.Event().Duration()
		}
	}
	for _, s := range p.d.StepsOnce(func(int) bool { return true }) {
		took := time.Duration(s.End - s.Start)
		switch r.Wall += took; {
		case s.Lost:
			r.LostTime += took
		case s.Idle():
			r.IdleTime += took
		}
	}
	r.Passes = append(r.Passes, p.rows(i)...)
}

// fillNil makes lists that are empty lists, for readers of the JSON form.
func (r *Report) fillNil() {
	r.Traces, r.Notes, r.HealthNotes = list(r.Traces), list(r.Notes), list(r.HealthNotes)
	r.Findings, r.Passes, r.Operators = list(r.Findings), list(r.Passes), list(r.Operators)
	r.Idle, r.Exposure, r.Fusions = list(r.Idle), list(r.Exposure), list(r.Fusions)
}

func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

func ratio(a, b time.Duration) float64 {
	if b <= 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// addAgainst compares with another recording, rank by rank and by the slowest.
func (r *Report) addAgainst(ctx context.Context, o ReportOptions) error {
	now := r.main()
	if o.Against == nil || now == nil {
		return nil
	}
	old := &Report{}
	for i := range o.Against.Parts {
		p, err := old.analyzePart(ctx, &o.Against.Parts[i], o)
		if err != nil {
			return err
		}
		old.parts = append(old.parts, p)
		r.inputs = append(r.inputs, o.Against.Parts[i].Shown())
	}
	before := old.main()
	if before == nil {
		r.note("%s holds no GPU activity to compare with", o.Against.Name)
		return nil
	}
	a, err := old.runOf(ctx)
	if err != nil {
		return err
	}
	ranks := o.ranks
	if len(ranks) == 0 {
		if ranks, err = r.runOf(ctx); err != nil {
			return err
		}
	}
	c, err := compare.Compare(ctx, &compare.Side{Label: before.name, Runs: []compare.Run{compare.NewRun(a)}},
		&compare.Side{Label: now.name, Runs: []compare.Run{compare.NewRun(ranks)}},
		compare.Options{Gates: o.Gates})
	if err != nil {
		return err
	}
	if c.Verdict == compare.NotComparable {
		r.note("not compared with %s: %s", o.Against.Name, c.Why())
		return nil
	}
	r.note("against %s: %s", o.Against.Name, c.Text)
	for _, x := range c.Ranks {
		r.note("against %s, rank %d: %s", o.Against.Name, x.A.Rank, x.Text)
	}
	r.Against = c
	return nil
}

// runOf measures the GPUs of all parts for a comparison.
func (r *Report) runOf(ctx context.Context) (all []compare.Run, err error) {
	for _, p := range r.parts {
		runs, err := compare.MeasureGPUs(ctx, p.a)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		all = append(all, runs...)
	}
	return all, nil
}
