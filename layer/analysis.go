package layer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/internal/ladder"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// Analysis is the result of [Analyze]: all GPUs of a trace, each with its passes, their layers, and the place of
// every activity. It is complete when Analyze returns, is not changed afterwards and is safe for concurrent readers;
// only twins are found later, when they are asked for.
type Analysis struct {
	// Devices are the GPUs with activities, the one with most GPU time first; none where the trace has no GPU work.
	Devices []Device `json:"devices"`
	// Boundaries is the mode that was asked for; "given" after [Assemble].
	Boundaries string `json:"boundaries"`
	// BlocksPerLayer and HalfLabels are the profile's.
	BlocksPerLayer int      `json:"blocks_per_layer"`
	HalfLabels     []string `json:"half_labels"`
	// Health is the trace's.
	Health trace.Health `json:"-"`
	// Profile and Config are those the analysis used; Config may be nil.
	Profile *profile.ModelProfile `json:"-"`
	Config  *profile.Config       `json:"-"`
	// Refused is why [AnalyzeAnyway] left something out: [ErrContradiction] for the model, [ErrNoEvidence] for the
	// boundaries; nil where it did not.
	Refused error `json:"-"`

	trace *trace.Trace
	opts  Options
	// framework is asked by several reports, and looks at all names of the trace.
	framework func() string
	facts     []*classify.Facts   // of the names of all kernels, by their numbers
	works     []classify.Category // of the same, see [Kernel.Does]; nil where tables show them
	found     *found              // nil when all is found
	lines     *modelLines
}

// Device is what ran on one GPU.
type Device struct {
	ID trace.DeviceID `json:"device"`
	// GPU is the name that the profiler recorded, "" when unknown.
	GPU string `json:"gpu"`
	// Time adds up the durations of the activities; those of two streams count twice where they overlap.
	Time time.Duration `json:"time_ns"`
	// Passes are the forward passes in order of time. The first and the last may be partial.
	Passes []ForwardPass `json:"passes"`

	// Models are those that run, the one with most GPU time first, drafts last.
	Models []Model `json:"models"`
	// InPasses and InLayers are the parts of Time in passes and in layers.
	InPasses time.Duration `json:"in_passes_ns"`
	InLayers time.Duration `json:"in_layers_ns"`

	// NumLayers is N, the number of layers of a complete pass of Models[0]; 0 when no layers were found. If the
	// window holds no complete pass and N is unknown, it is how many are present: a lower bound.
	NumLayers int `json:"num_layers"`
	// LayerSource says where N comes from.
	LayerSource Source `json:"layer_source"`
	// Anchor is the substring that anchors were found by, "" when none was used. NumAnchors counts the kernels that
	// contain it.
	Anchor     string `json:"anchor"`
	NumAnchors int    `json:"num_anchors"`

	// Evidence says what passes and layers were found by, best first.
	Evidence []Evidence `json:"evidence"`
	// Damage are the places where records are missing, by pass.
	Damage []Damage `json:"damage,omitempty"`
	// Notes are remarks for people: what was repaired, ignored or doubtful.
	Notes []string `json:"notes"`
	// Steady is the pass that represents the steady state.
	Steady Steady `json:"steady"`

	of         *Analysis
	columns    columns
	stepOf     []int                        // of the passes: see StepOf
	stepShares []float64                    // of the passes: how much of a step each is
	stepEnds   []trace.Time                 // of the passes: where the next one starts, if that is after their end
	waits      []HostWait                   // between steps
	lost       []interval.Span              // when records are missing
	layerEnds  map[int][]trace.Time         // by pass: those that were given, 0 where a layer ends with its last kernel
	labels     map[classify.Category]string // of a category
	keys       []classify.Category          // in order of first appearance; columns.category indexes them
	categoryOf []uint16                     // key by fine name id, while analysing
	byPlace    []bool                       // by fine name id: the kernel's place may correct the category
	operators  []opRow                      // distinct answers; columns.operator indexes them
	twins      *twinTable
}

// Facts returns what a kernel name alone shows; each name is asked once. Users' rules are not asked: they
// label, they do not cut.
func (a *Analysis) Facts(n trace.NameID) *classify.Facts {
	if int(n) < len(a.facts) && a.facts[n] != nil {
		return a.facts[n]
	}
	f := ladder.FactsOf(a.Trace().Name(n)) // the name of no kernel
	return &f
}

// Trace returns the trace that was analysed, an empty one of the zero Analysis.
func (a *Analysis) Trace() *trace.Trace { return cmp.Or(a.trace, noTrace) }

var noTrace = new(trace.Trace)

// Device returns the GPU with the given id, the one with most GPU time for nil. The error wraps [ErrNoKernels] where
// the trace has no GPU work, [ErrRange] where it has none on that GPU.
func (a *Analysis) Device(id *trace.DeviceID) (*Device, error) {
	if len(a.Devices) == 0 {
		return nil, a.NoKernels()
	}
	if id == nil {
		return &a.Devices[0], nil
	}
	have := make([]trace.DeviceID, len(a.Devices))
	for i := range a.Devices {
		if have[i] = a.Devices[i].ID; have[i] == *id {
			return &a.Devices[i], nil
		}
	}
	slices.Sort(have)
	return nil, rangeError(fmt.Sprintf("layer: GPU %d has no activities: the trace has %s %s", *id,
		table.Plural(len(have), "GPU", "GPUs"), strings.ReplaceAll(strings.Trim(fmt.Sprint(have), "[]"), " ", ", ")))
}

// Only is the analysis of one of its GPUs alone.
func (a *Analysis) Only(gpu trace.DeviceID) *Analysis {
	one := *a
	one.Devices = nil
	for i := range a.Devices { // no copy: kernels point into it
		if a.Devices[i].ID == gpu {
			one.Devices = a.Devices[i : i+1]
		}
	}
	return &one
}

// Of returns the kernel of a GPU activity of the trace; it is not valid for other events.
func (a *Analysis) Of(e trace.EventID) Kernel {
	ev := a.Trace().At(e)
	if ev.Kind().Lane() != event.LaneGPU {
		return Kernel{}
	}
	for i := range a.Devices {
		if d := &a.Devices[i]; d.ID == ev.Device() {
			if k, ok := d.columns.kernelOf(e); ok {
				return Kernel{d, k}
			}
		}
	}
	return Kernel{}
}

// Analysis returns the analysis that the device is a part of, an empty one of the zero Device.
func (d *Device) Analysis() *Analysis { return cmp.Or(d.of, nowhere.of) }

// Pass returns pass p. The error wraps [ErrRange] and says the valid range.
func (d *Device) Pass(p int) (*ForwardPass, error) {
	if p >= 0 && p < len(d.Passes) {
		return &d.Passes[p], nil
	}
	has := fmt.Sprintf("the trace has passes 0 to %d", len(d.Passes)-1)
	switch len(d.Passes) {
	case 0:
		has = "no forward passes were found"
	case 1:
		has = "the only pass is 0"
	}
	return nil, rangeError(fmt.Sprintf("layer: forward pass %d is out of range: %s", p, has))
}

// Layer returns layer l of pass p. In a pass whose layers count from the end (FromEnd) numbers are negative, −1 is
// the last. The error wraps [ErrRange] and says the valid range.
func (d *Device) Layer(p, l int) (*ForwardPass, *Layer, error) {
	fp, err := d.Pass(p)
	if err != nil {
		return nil, nil, err
	}
	if index, ok := fp.indexOf(l); ok {
		if lay := fp.layer(index); lay != nil {
			return fp, lay, nil
		}
	}
	if fp.NumLayers == 0 {
		return nil, nil, rangeError(fmt.Sprintf("layer: no layers were found in pass %d (take another pass, or give the "+
			"number of layers or a model config)", p))
	}
	return nil, nil, rangeError(fmt.Sprintf("layer: layer %d is out of range: pass %d has layers %s", l, p, fp.numbers()))
}

// CategoryLabel returns what tables show for a category.
func (d *Device) CategoryLabel(key classify.Category) string {
	if l, ok := d.labels[key]; ok {
		return l
	}
	return string(key)
}

// Categories returns the categories of the device's kernels, in order of first appearance.
func (d *Device) Categories() []classify.Category { return slices.Clone(d.keys) }

// Rung is what passes or layers rest on: for passes "annotation", "module", "graph", "anchor", "structure" or
// "whole"; for layers "module", "anchor", "repeat" or "none". Whoever gives passes to [Assemble] has words of their
// own.
type Rung = ladder.Rung

// Source says where a number of layers comes from: "flag", "config", "modules", "anchors" or "repeats"; "given" after
// [Assemble], "" where there is none.
type Source = ladder.Source

// The rungs and sources that callers ask for.
const (
	RungModule    = ladder.RungModule // module frames
	RungAnchor    = ladder.RungAnchor // the profile's anchor kernel
	RungWhole     = ladder.RungWhole  // nothing: everything is one pass
	SourceFlag    = ladder.FromFlag
	SourceConfig  = ladder.FromConfig
	SourceModules = ladder.FromModules
	SourceRepeats = ladder.FromRepeats
)

// StageSource says what the stage of a pass was read from.
type StageSource string

// The sources of stages.
const (
	StageByAnnotation StageSource = "annotation"
	StageByKernels    StageSource = "kernels"  // which only decode, or draft, or leave attention out
	StageByLaunches   StageSource = "launches" // a prefill of this kind may hold decodes of other requests
)

// Evidence is one finding that passes or layers rest on.
type Evidence = ladder.Evidence

// Subject is what evidence is for.
type Subject = ladder.Subject

// The subjects.
const (
	OfPasses = ladder.OfPasses
	OfLayers = ladder.OfLayers
)

// Stage is what a pass does. Its type is that of findings, which name it, too.
type Stage = finding.Stage

// The stages. More may be added.
const (
	StageUnknown = finding.StageUnknown
	StagePrefill = finding.StagePrefill // context requests only
	StageDecode  = finding.StageDecode  // generation requests only
	StageMixed   = finding.StageMixed   // both
	StageVerify  = finding.StageVerify  // the target model checks drafted tokens
	StageDraft   = finding.StageDraft   // a draft model runs
	StageIdle    = finding.StageIdle    // a step without requests
	StageCapture = finding.StageCapture // a graph is being captured
)

// ForwardPass is one run of the model.
type ForwardPass struct {
	Index int `json:"index"`
	// Start and End span the pass's kernels, prologue and epilogue included, in nanoseconds since the trace's first
	// event.
	Start trace.Time `json:"start_ns"`
	End   trace.Time `json:"end_ns"`
	// NumLayers counts the layers found; [ForwardPass.Layers] returns them. A complete pass has as many as its model.
	NumLayers int `json:"num_layers"`
	// Kernels, Prologue and Epilogue count activities: all of the pass, those before its first layer, those after its
	// last.
	Kernels  int `json:"kernels"`
	Prologue int `json:"prologue"`
	Epilogue int `json:"epilogue"`

	// Stage is what the pass does: the step annotation says so, or kernels that only decode, or how its model's
	// passes are launched; StageUnknown where nothing does.
	Stage Stage `json:"stage"`
	// StageEvidence says where Stage comes from, "" where it is unknown.
	StageEvidence StageSource `json:"stage_evidence,omitempty"`
	// Batch counts requests, Tokens the tokens processed in the pass; −1 when unknown.
	Batch  int   `json:"batch"`
	Tokens int64 `json:"tokens"`
	// TokenEvidence says where Tokens come from: "annotation", "grids" of kernels that run one block a token,
	// "shapes" of products, "" where unknown.
	TokenEvidence string `json:"token_evidence,omitempty"`
	// Rows are those that kernels ran for, by their grids: the tokens and what servers pad them with. −1 when unknown.
	Rows int64 `json:"rows"`
	// Annotation is what the step annotations of the pass say; nil when there is none.
	Annotation *Step `json:"annotation,omitempty"`
	// Model indexes [Device.Models].
	Model int `json:"model"`
	// Step numbers the steps of the server: passes of several GPUs that one step launched have the same one.
	Step int `json:"step"`
	// Host is when the CPU prepared and launched the pass. A step that launched nothing on the GPU is a pass that has
	// only this.
	Host HostSpan `json:"host"`

	// Partial says which end of the pass the window cuts off: "start", "end", "both", "" for a complete pass.
	// FirstLayer is the index of the first layer that is present; its number is counted from the end of the pass when
	// the start is missing.
	Partial    string `json:"partial"`
	FirstLayer int    `json:"first_layer"`
	// FromEnd says that the window does not hold the first layers and that their number is unknown: Index of
	// [Layer] and Layer of [Place] then say only which of the layers present it is, and [ForwardPass.LayerNumber]
	// counts from the end.
	FromEnd bool `json:"layers_from_end,omitempty"`
	// Replay counts kernels launched by graph replays.
	Replay int `json:"replay_kernels"`
	// Evidence that the pass and its layers rest on.
	PassEvidence  Rung    `json:"pass_evidence"`
	LayerEvidence Rung    `json:"layer_evidence"`
	Confidence    float64 `json:"confidence"`
	// Note is a remark for the table: cold start, growth, what is odd.
	Note string `json:"note,omitempty"`
	// Lost is how many records of kernels are missing for certain: see [Device.Damage].
	Lost int `json:"lost_kernels,omitempty"`
	// Cold says that the pass is among the first of its model and takes longer than those of the same work that follow.
	Cold bool `json:"cold,omitempty"`

	of                *Device
	from, to          int32 // in the order of its device's columns
	cutFirst, cutLast bool  // layers
}

// Wall is the time from the start of the first kernel to the end of the last.
func (p *ForwardPass) Wall() time.Duration { return time.Duration(p.End - p.Start) }

// Complete reports whether the recording has all of the pass: the window does not cut it, and no records are missing.
func (p *ForwardPass) Complete() bool { return p.Partial == whole && p.Lost == 0 }

// Basis is what the pass is: a step, or the window where nothing separates the passes in it.
func (p *ForwardPass) Basis() finding.Basis {
	if p.PassEvidence == RungWhole {
		return finding.OfWindow
	}
	return finding.OfStep
}

// layer returns the layer with the given index, nil when the pass does not have it.
func (p *ForwardPass) layer(index int) *Layer {
	if i := index - p.FirstLayer; i >= 0 && i < p.NumLayers {
		if layers := p.Layers(); i < len(layers) {
			return &layers[i]
		}
	}
	return nil
}

// LayerNumber is what reports call the layer with the given index: the index, or where layers count from the end −1
// for the last layer present, −2 for the one before. It is the model's last one unless the window cuts the end, too.
func (p *ForwardPass) LayerNumber(index int) int {
	if p.FromEnd {
		return index - p.FirstLayer - p.NumLayers
	}
	return index
}

// indexOf is the index of the layer that reports call by a number: the reverse of LayerNumber.
func (p *ForwardPass) indexOf(number int) (index int, ok bool) {
	if p.FromEnd {
		return number + p.FirstLayer + p.NumLayers, number < 0
	}
	return number, true
}

// numbers says which layers a pass has.
func (p *ForwardPass) numbers() string {
	s := fmt.Sprintf("%d…%d", p.LayerNumber(p.FirstLayer), p.LayerNumber(p.FirstLayer+p.NumLayers-1))
	if p.FromEnd {
		s += ", counted from the end, as the window does not hold the first ones"
	}
	return s
}

// Which end of a pass is outside the window: "start", "end", "both", or "" for a
// complete pass.
const (
	whole      = string(ladder.Uncut)
	CutAtStart = string(ladder.CutAtStart)
	CutAtEnd   = string(ladder.CutAtEnd)
	CutAtBoth  = string(ladder.CutAtBoth)
)

// CutWords says where the window cuts a pass by its Partial: "cut at both ends". It is "" for a complete pass.
func CutWords(partial string) string {
	switch partial {
	case "":
		return ""
	case CutAtBoth:
		return "cut at both ends"
	}
	return "cut at " + partial
}

// Layer is one decoder layer of one pass.
type Layer struct {
	Index int `json:"index"`
	// Start and End span the layer's kernels, in nanoseconds since the trace's first event.
	Start trace.Time `json:"start_ns"`
	End   trace.Time `json:"end_ns"`
	// Wall is End − Start.
	Wall time.Duration `json:"wall_ns"`
	// Sum adds the durations of the layer's kernels; larger than Wall where streams overlap.
	Sum time.Duration `json:"sum_ns"`
	// Kernels are indices for [Device.Kernel], ascending.
	Kernels []int32 `json:"kernels"`
	// Kind numbers the distinct kernel sequences among the layers of the pass, in order of appearance.
	Kind int `json:"kind"`
	// Type, CompressRatio and Hash come from the config: see profile. CompressRatio is −1 when unknown.
	Type          profile.LayerType `json:"type"`
	CompressRatio int               `json:"compress_ratio"`
	Hash          bool              `json:"hash"`
	// Partial says that the window cuts the layer.
	Partial bool `json:"partial,omitempty"`
}

// dividedReduces is how many all-reduces the layers of a pass must run, three for every two layers: a layer that is
// divided over GPUs has one after its attention and one after its feed-forward part, one whose experts alone are
// spread has one at most.
const dividedReduces = 1.5

// Divided says that layers are divided over GPUs, tensor-parallel: the sums after attention and feed-forward part
// run in them.
func (a *Analysis) Divided() bool {
	for i := range a.Devices {
		d := &a.Devices[i]
		reduces := make([]int, len(d.Passes))
		for k := range d.Kernels() {
			if at := k.Place(); at.Layer != trace.None && k.Facts().Collective == classify.AllReduce {
				reduces[at.Pass]++
			}
		}
		for p, n := range reduces {
			if layers := d.Passes[p].NumLayers; layers > 1 && float64(n) >= dividedReduces*float64(layers) {
				return true
			}
		}
	}
	return false
}
