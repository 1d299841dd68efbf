package layer

import (
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// None is the pass or layer of a kernel that is outside any.
const None = -1

// Analysis is the result of [Analyze]: every GPU activity of one device with its pass, layer and category, and the passes
// with their layers. It is not changed after Analyze returns and safe for concurrent readers.
type Analysis struct {
	// Device is the GPU that was analysed.
	Device trace.DeviceID `json:"device"`
	// Kernels are the GPU activities of the device (kernels, copies, sets), ordered by start, then input order.
	Kernels []Kernel `json:"kernels"`
	// Passes are the forward passes in order of time. The first and the last may be partial.
	Passes []ForwardPass `json:"passes"`

	// NumLayers is N, the number of layers of a whole pass; 0 when no layers were found.
	NumLayers int `json:"num_layers"`
	// LayerSource says where N comes from: "flag", "config", "modules", "anchors" or "repeats"; "given" after [Assemble].
	LayerSource string `json:"layer_source"`
	// Boundaries is the mode that was asked for; "given" after [Assemble].
	Boundaries Boundaries `json:"boundaries"`
	// Anchor is the substring that anchors were found by, "" when none was used. NumAnchors counts the kernels that contain it.
	Anchor     string `json:"anchor,omitempty"`
	NumAnchors int    `json:"num_anchors"`
	// BlocksPerLayer and HalfLabels are the profile's.
	BlocksPerLayer int      `json:"blocks_per_layer"`
	HalfLabels     []string `json:"half_labels"`

	// Evidence says what passes and layers were found by, best first.
	Evidence []Evidence `json:"evidence"`
	// Notes are remarks for people: what was repaired, ignored or doubtful.
	Notes []string `json:"notes,omitempty"`

	// Steady is the pass that stands for the steady state.
	Steady Steady `json:"steady"`
	// Health is the trace's.
	Health trace.Health `json:"-"`
	// Profile and Config are those the analysis used; Config may be nil.
	Profile *profile.ModelProfile `json:"-"`
	Config  *profile.Config       `json:"-"`

	trace      *trace.Trace
	opts       Options
	labels     map[string]string // category key → label
	keys       []string          // category keys in order of first appearance
	categoryOf []string          // category by fine name id, while analysing
	order      []int32           // kernel indices in launch order
	facts      map[trace.NameID]*classify.Facts
	mapping    mappingOnce
}

// Facts says what a kernel name alone tells. Users' rules are not asked: they label, they do not cut.
func (a *Analysis) Facts(n trace.NameID) *classify.Facts {
	if f, ok := a.facts[n]; ok {
		return f
	}
	f := factsOf(a.trace.Name(n)) // a name of another GPU
	return &f
}

// Trace returns the trace that was analysed.
func (a *Analysis) Trace() *trace.Trace { return a.trace }

// Event returns the GPU activity behind kernel i of Kernels.
func (a *Analysis) Event(i int) trace.Event { return a.trace.At(a.Kernels[i].Event) }

// Half returns the label of the half that kernel i belongs to, "" outside layers. With one block per layer it is "full".
func (a *Analysis) Half(i int) string {
	h := a.Kernels[i].Half
	if h < 0 || int(h) >= len(a.HalfLabels) {
		return ""
	}
	return a.HalfLabels[h]
}

// CategoryLabel returns what tables show for a category key.
func (a *Analysis) CategoryLabel(key string) string {
	if l, ok := a.labels[key]; ok {
		return l
	}
	return key
}

// Kernel is one GPU activity with its place in the model.
type Kernel struct {
	// Event is the activity in the trace.
	Event trace.EventID `json:"event"`
	// Pass indexes Passes, Layer is the decoder layer; None outside any.
	Pass  int `json:"pass"`
	Layer int `json:"layer"`
	// Half indexes HalfLabels; None outside layers.
	Half int8 `json:"half"`
	// Category is the key of the profile's rule that matched, "other" when none did.
	Category string `json:"category"`
	// Replay says that a graph replay launched the kernel.
	Replay bool `json:"replay,omitempty"`
	// Confidence in Pass and Layer, 0…1. It is 1 where a module frame tells, less where structure had to.
	Confidence float32 `json:"confidence"`
}

// Evidence is one finding that passes or layers rest on.
type Evidence struct {
	// For is "passes" or "layers".
	For string `json:"for"`
	// Kind is the rung of the ladder: for passes "annotation", "module", "graph", "anchor", "structure" or "whole"; for
	// layers "module", "anchor", "repeat" or "none".
	Kind string `json:"kind"`
	// Detail says what was found, in words and numbers.
	Detail string `json:"detail"`
	// Passes counts the passes that rest on it.
	Passes int `json:"passes"`
	// Confidence of the finding, 0…1.
	Confidence float64 `json:"confidence"`
}

// Stage is what a pass does.
type Stage string

// The stages. More may be added.
const (
	StageUnknown Stage = framework.Unknown
	StagePrefill Stage = framework.Prefill // context requests only
	StageDecode  Stage = framework.Decode  // generation requests only
	StageMixed   Stage = framework.Mixed   // both
	StageVerify  Stage = framework.Verify  // the target model checks drafted tokens
	StageDraft   Stage = framework.Draft   // a draft model runs
	StageIdle    Stage = framework.Idle    // a step without requests
	StageCapture Stage = framework.Capture // a graph is being captured
)

// ForwardPass is one run of the model.
type ForwardPass struct {
	Index int `json:"index"`
	// Start and End span the pass's kernels, prologue and epilogue included, in nanoseconds since the trace's first event.
	Start trace.Time `json:"start_ns"`
	End   trace.Time `json:"end_ns"`
	// Layers are the layers found, in order. A whole pass has NumLayers of them.
	Layers []Layer `json:"layers"`
	// Kernels, Prologue and Epilogue count activities: all of the pass, those before its first layer, those after its last.
	Kernels  int `json:"kernels"`
	Prologue int `json:"prologue"`
	Epilogue int `json:"epilogue"`

	// Stage is what the pass does; the step annotation says so, StageUnknown where there is none.
	Stage Stage `json:"stage"`
	// Batch counts requests, Tokens the tokens processed in the pass; −1 when unknown.
	Batch  int   `json:"batch"`
	Tokens int64 `json:"tokens"`
	// Step is what the annotations of the pass say; nil when there is none.
	Step *Step `json:"step,omitempty"`

	// Partial says that the window cuts the pass: at its start, its end or both. FirstLayer is the index of the first
	// layer that is present; its number is counted from the end of the pass when the start is missing.
	Partial    Partial `json:"partial"`
	FirstLayer int     `json:"first_layer"`
	// Replay counts kernels launched by graph replays.
	Replay int `json:"replay_kernels"`
	// Evidence that the pass and its layers rest on.
	PassEvidence  string  `json:"pass_evidence"`
	LayerEvidence string  `json:"layer_evidence"`
	Confidence    float64 `json:"confidence"`
	// Note is a remark for the table: cold start, growth, what is odd.
	Note string `json:"note,omitempty"`
}

// Wall is the time from the start of the first kernel to the end of the last.
func (p *ForwardPass) Wall() time.Duration { return p.End.Sub(p.Start) }

// AvgLayerWall is the mean wall time of the whole layers of the pass; 0 when it has none.
func (p *ForwardPass) AvgLayerWall() time.Duration {
	var sum time.Duration
	n := 0
	for i := range p.Layers {
		sum += p.Layers[i].Wall
		n++
	}
	if n == 0 {
		return 0
	}
	return sum / time.Duration(n)
}

// Layer returns the layer with the given index, nil when the pass does not have it.
func (p *ForwardPass) Layer(index int) *Layer {
	i := index - p.FirstLayer
	if i < 0 || i >= len(p.Layers) {
		return nil
	}
	return &p.Layers[i]
}

// Partial says which end of a pass is outside the window.
type Partial string

// The ways a pass can be cut.
const (
	Whole      Partial = ""
	CutAtStart Partial = "start"
	CutAtEnd   Partial = "end"
	CutAtBoth  Partial = "both"
)

// ends says which ends of a pass the window cuts off.
func (p Partial) ends() segment.Cuts {
	return segment.Cuts{Start: p == CutAtStart || p == CutAtBoth, End: p == CutAtEnd || p == CutAtBoth}
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
	// Kernels indexes Analysis.Kernels, ascending.
	Kernels []int32 `json:"kernels"`
	// Kind numbers the distinct kernel sequences among the layers of the pass, in order of appearance.
	Kind int `json:"kind"`
	// Type, CompressRatio and Hash come from the config: see profile. CompressRatio is −1 when unknown.
	Type          string `json:"type"`
	CompressRatio int    `json:"compress_ratio"`
	Hash          bool   `json:"hash"`
	// Partial says that the window cuts the layer.
	Partial bool `json:"partial,omitempty"`
}
