package view

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// Timeline is the document that layer-timeline prints: the header, all passes, and the layers and clusters of one
// pass. Its field names are those of the published scripts as far as these have them; seconds are since the trace's
// first event.
type Timeline struct {
	Schema         string           `json:"schema"`           // "strata.timeline/1"
	Trace          string           `json:"trace"`            // file that was read
	Config         string           `json:"config"`           // path of the config.json, "" for none
	Profile        string           `json:"profile"`          // name of the model profile, "" for none
	Anchor         string           `json:"anchor"`           // substring of the kernel that marks blocks, "" for none
	Boundaries     string           `json:"boundaries"`       // how layers were found
	BlocksPerLayer int              `json:"blocks_per_layer"` // anchor kernels of a layer, 0 without an anchor
	NumLayers      int              `json:"num_layers"`       // layers of the model, 0 unknown
	LayerSource    layer.Source     `json:"layer_source"`     // what the number of layers was found by
	NumKernels     int              `json:"num_kernels"`      // rows of category kernel, copies and sets not counted
	NumAnchors     int              `json:"num_anchors"`      // anchor kernels in the trace
	Device         int              `json:"device"`           // number of the GPU
	GPU            string           `json:"gpu,omitempty"`    // the device's name, "" unknown
	Evidence       []layer.Evidence `json:"evidence"`         // what passes and layers rest on
	// GPUTimeNS adds up the durations of all GPU activities, InPassesNS and InLayersNS those of the activities in
	// passes and in layers.
	GPUTimeNS  int64         `json:"gpu_time_ns"`
	InPassesNS int64         `json:"in_passes_ns"`
	InLayersNS int64         `json:"in_layers_ns"`
	Models     []layer.Model `json:"models"`
	// KernelCategories adds up every GPU activity of the device by category, the most expensive first.
	KernelCategories []CategoryTotal `json:"kernel_categories"`
	Health           trace.Health    `json:"health"`
	Passes           []PassRow       `json:"passes"`
	SteadyPass       int             `json:"steady_pass"`
	SteadyReason     string          `json:"steady_reason"`
	// FwdPass is the pass that Layers and Clusters are of; None when there is none.
	FwdPass  int          `json:"fwd_pass"`
	Layers   []LayerRow   `json:"layers"`
	Clusters []ClusterRow `json:"clusters"`
	// Operators adds up the GPU time of FwdPass by operator: of the full pass first, then of each type of layer.
	Operators []OperatorTable `json:"operators"`
	Summary   string          `json:"summary"`
	Notes     []string        `json:"notes,omitempty"`

	columns []column
	labels  func(string) string
}

// CategoryTotal is one row of the summary by kernel category.
type CategoryTotal struct {
	Key string `json:"category"` // the category
	// TimeMS adds up durations, SharePct is percent of all of them.
	TimeMS   float64 `json:"time_ms"`
	SharePct float64 `json:"share_pct"`
	Kernels  int     `json:"kernels"`
	Names    int     `json:"names"`   // distinct kernel names
	Longest  string  `json:"longest"` // the kernel that ran longest once, as tables show it
}

// PassRow is one row of the table of all passes.
type PassRow struct {
	Index        int         `json:"index"`                     // place in the trace, from 0
	StartS       float64     `json:"start_s"`                   // start since the trace's first event
	EndS         float64     `json:"end_s"`                     // end since the trace's first event
	DurationMS   float64     `json:"duration_ms"`               // length
	AvgLayerMS   float64     `json:"avg_layer_ms"`              // mean time of a layer
	FirstLayerMS float64     `json:"first_layer_ms"`            // time of the first layer
	Stage        layer.Stage `json:"stage"`                     // what the pass does
	Batch        int         `json:"batch"`                     // −1 when unknown
	Tokens       int64       `json:"tokens"`                    // −1 when unknown
	Rows         int64       `json:"rows"`                      // with padding; −1 when unknown
	Partial      bool        `json:"partial"`                   // the window cuts it
	Cut          string      `json:"cut,omitempty"`             // which end, when partial
	Layers       int         `json:"layers"`                    // number of layers
	FromEnd      bool        `json:"layers_from_end,omitempty"` // layers are −1, −2 … from the end
	Kernels      int         `json:"kernels"`                   // its activities: kernels, copies and sets
	Confidence   float64     `json:"confidence"`                // in the pass and its layers, 0…1
	// IdlePct is the part of the pass, in percent, during which nothing runs on the device.
	IdlePct float64 `json:"idle_pct"`
	Note    string  `json:"note"`
}

// LayerRow is one row of the per-layer table.
type LayerRow struct {
	Index         int               `json:"index"`          // negative where layers count from the end
	CompressRatio int               `json:"compress_ratio"` // −1 when unknown
	Type          profile.LayerType `json:"type"`           // type of the layer
	Hash          bool              `json:"hash"`           // its experts are chosen by a hash of the token
	WallMS        float64           `json:"wall_ms"`        // time from start to end
	SumMS         float64           `json:"sum_ms"`         // sum of kernel times
	// Categories is milliseconds per category key.
	Categories Shares `json:"categories"`
	ARCount    int    `json:"ar_count"`
	Kernels    int    `json:"kernels"` // copies and sets not counted
	Kind       int    `json:"kind"`
	// Variant separates kinds of layers of this type: in the config's words ("sliding", "full", "moe",
	// "linear+moe"), else A, B … where layers run different kernels.
	Variant string `json:"variant,omitempty"`
	Partial bool   `json:"partial,omitempty"`
}

// ClusterRow is the mean of the layers of one type.
type ClusterRow struct {
	Type      profile.LayerType `json:"type"`              // type of the layers
	Variant   string            `json:"variant,omitempty"` // separates kinds of layers of one type
	Count     int               `json:"count"`             // layers of the type
	AvgWallMS float64           `json:"avg_wall_ms"`       // mean time from a layer's start to its end
	AvgSumMS  float64           `json:"avg_sum_ms"`        // mean sum of kernel times of a layer
	// Share is percent of the layers' kernel time per category key.
	Share Shares `json:"share"`
}

// Typical are the complete layers of median time of the timeline's clusters, those of most time first. Clusters whose
// layers the window cuts are left out.
func (t *Timeline) Typical() iter.Seq2[*ClusterRow, *LayerRow] {
	clusters := slices.Clone(t.Clusters)
	slices.SortStableFunc(clusters, func(a, b ClusterRow) int {
		return cmp.Compare(b.AvgWallMS*float64(b.Count), a.AvgWallMS*float64(a.Count))
	})
	return func(yield func(*ClusterRow, *LayerRow) bool) {
		for i := range clusters {
			c := &clusters[i]
			rows := slices.DeleteFunc(slices.Clone(t.Layers), func(l LayerRow) bool {
				return l.Type != c.Type || l.Variant != c.Variant || l.Partial
			})
			if len(rows) == 0 {
				continue
			}
			slices.SortStableFunc(rows, func(a, b LayerRow) int { return cmp.Compare(a.WallMS, b.WallMS) })
			if !yield(c, &rows[(len(rows)-1)/2]) {
				return
			}
		}
	}
}

// Share is a number under a category key.
type Share struct {
	Key   string  // of the category
	Value float64 // the number under it
}

// Shares is ordered and marshals as an object.
type Shares []Share

// MarshalJSON writes {"key": value, …} in order.
func (s Shares) MarshalJSON() ([]byte, error) {
	return marshalOrdered(s, func(c Share) (string, any) { return c.Key, c.Value })
}

// of adds up the values of the keys that match.
func (s Shares) of(match func(string) bool) (sum float64) {
	for _, c := range s {
		if match(c.Key) {
			sum += c.Value
		}
	}
	return sum
}

// labels is CategoryLabel for the keys of documents.
func labels(a *layer.Device) func(string) string {
	return func(key string) string { return a.CategoryLabel(classify.Category(key)) }
}

// timelineSchema and detailSchema are the names and versions of the documents.
const (
	timelineSchema = "strata.timeline/1"
	detailSchema   = "strata.breakdown/1"
)

// NewTimeline makes the document for pass p; p None takes the steady pass. The error wraps [layer.ErrRange].
func NewTimeline(a *layer.Device, p int) (*Timeline, error) {
	t := &Timeline{Schema: timelineSchema, Trace: a.Analysis().Trace().Meta().Shown(), Profile: a.Analysis().Profile.Name,
		Anchor: a.Anchor, Boundaries: a.Analysis().Boundaries,
		BlocksPerLayer: a.Analysis().BlocksPerLayer, NumLayers: a.NumLayers, LayerSource: a.LayerSource,
		NumAnchors: a.NumAnchors, Device: int(a.ID),
		GPU: a.GPU, Evidence: a.Evidence, Health: a.Analysis().Health, Passes: []PassRow{}, SteadyPass: a.Steady.Pass,
		SteadyReason: a.Steady.Reason,
		FwdPass:      p, Layers: []LayerRow{}, Clusters: []ClusterRow{}, Operators: []OperatorTable{}, Notes: a.Notes,
		labels:    labels(a),
		GPUTimeNS: int64(a.Time), InPassesNS: int64(a.InPasses), InLayersNS: int64(a.InLayers), Models: a.Models}
	if t.Models == nil {
		t.Models = []layer.Model{}
	}
	if a.Analysis().Config != nil {
		t.Config = a.Analysis().Config.Path
	}
	for i := range a.NumKernels() {
		if a.Kernel(i).Event().Kind() == event.Kernel {
			t.NumKernels++
		}
	}
	t.KernelCategories = kernelCategories(a)
	idle := idle(a)
	for i := range a.Passes {
		t.Passes = append(t.Passes, passRow(a, &a.Passes[i], idle[i]))
	}
	if p == trace.None {
		t.FwdPass = a.Steady.Pass
	}
	if t.FwdPass == trace.None {
		t.Summary = "no passes were found"
		return t, nil
	}
	fp, err := a.Pass(t.FwdPass)
	if err != nil {
		return nil, err
	}
	layers := fp.Layers()
	variants := fp.Variants(layers)
	for i := range layers {
		t.Layers = append(t.Layers, layerRow(a, fp, &layers[i]))
		t.Layers[i].Variant = variants[i]
	}
	t.columns = columnsFor(a, t.Layers)
	rows, of := clusters(t.Layers)
	if t.Clusters = rows; fp.NumLayers > 0 {
		t.Operators = operatorTables(a, fp, rows, of)
	}
	t.Summary = summarise(a, t)
	return t, nil
}

// idle returns, for each pass, the part of its wall time in percent during which nothing runs on the device.
func idle(a *layer.Device) []float64 {
	var spans []interval.Span
	for s := range a.Timeline() {
		if s.Idle() {
			spans = append(spans, interval.Span{Start: int64(s.Start), End: int64(s.End)})
		}
	}
	out := make([]float64, len(a.Passes))
	for p := range a.Passes {
		fp := &a.Passes[p]
		if wall := fp.Wall(); wall > 0 {
			span := interval.Span{Start: int64(fp.Start), End: int64(fp.End)}
			out[p] = 100 * float64(interval.Covered(spans, span)) / float64(wall)
		}
	}
	return out
}

// idleNote is from how many percent on a pass's idle time gets a remark: a quarter of the step is worth looking at.
const idleNote = 25

func passRow(a *layer.Device, fp *layer.ForwardPass, idle float64) PassRow {
	layers := fp.Layers()
	r := PassRow{Index: fp.Index, StartS: float64(fp.Start) / 1e9, EndS: float64(fp.End) / 1e9,
		DurationMS: millis(fp.Wall()),
		AvgLayerMS: millis(avgLayerWall(layers)), Stage: fp.Stage, Batch: fp.Batch, Tokens: fp.Tokens, Rows: fp.Rows,
		Partial: fp.Partial != "", Cut: fp.Partial,
		Layers: fp.NumLayers, FromEnd: fp.FromEnd, Kernels: fp.Kernels, Confidence: fp.Confidence, IdlePct: idle}
	if len(layers) > 0 {
		r.FirstLayerMS = millis(layers[0].Wall)
	}
	var notes []string
	note := func(show bool, text string) {
		if show && text != "" {
			notes = append(notes, text)
		}
	}
	note(2*fp.Replay > fp.Kernels, "graph replay")
	note(fp.StageEvidence == layer.StageByLaunches, "stage by launches")
	note(fp.FromEnd, "layers count from the end, N unknown")
	note(fp.Rows > fp.Tokens, fmt.Sprintf("%d rows run", fp.Rows)) // of graphs the tokens may be unknown
	note(idle >= idleNote, fmt.Sprintf("GPU idle %.0f%%", idle))
	note(fp.Lost > 0, table.Counted(fp.Lost, "record", "records")+" missing")
	note(a.Steady.Holds(fp.Index), "steady")
	note(true, a.ModelOf(fp.Index))
	note(true, fp.Note)
	r.Note = strings.Join(notes, "; ")
	return r
}

func layerRow(a *layer.Device, fp *layer.ForwardPass, lay *layer.Layer) LayerRow {
	r := LayerRow{Index: fp.LayerNumber(lay.Index), CompressRatio: lay.CompressRatio, Type: lay.Type, Hash: lay.Hash,
		WallMS: millis(lay.Wall),
		SumMS:  millis(lay.Sum), Kind: lay.Kind, Partial: lay.Partial, Categories: Shares{}}
	sums := map[string]time.Duration{}
	for _, i := range lay.Kernels {
		k := a.Kernel(int(i))
		sums[string(k.Category())] += k.Event().Duration()
		if k.Event().Kind() == event.Kernel {
			r.Kernels++
		}
		if k.Facts().Collective == classify.AllReduce {
			r.ARCount++
		}
	}
	for _, k := range a.Categories() {
		if d, ok := sums[string(k)]; ok {
			r.Categories = append(r.Categories, Share{string(k), millis(d)})
		}
	}
	return r
}

// avgLayerWall is the mean wall time of layers, 0 for none.
func avgLayerWall(layers []layer.Layer) time.Duration {
	var sum time.Duration
	for i := range layers {
		sum += layers[i].Wall
	}
	return sum / time.Duration(max(1, len(layers)))
}
