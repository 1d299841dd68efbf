package view

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/goccy/go-json"

	"github.com/llmstrata/strata/internal/decimal"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// Detail is one layer of one pass, kernel by kernel.
type Detail struct {
	Schema   string         `json:"schema"`   // "strata.breakdown/1"
	Metadata DetailMetadata `json:"metadata"` // the layer, and where it is
	// Categories adds up the layer's kernels per category, in order of first appearance.
	Categories CategorySums `json:"category_summary"`
	// Kernels are ordered by duration, longest first, then by start, then by index.
	Kernels []KernelRow `json:"kernels"`
	// Diff compares with another layer; nil unless asked for.
	Diff *Diff `json:"diff,omitempty"`

	labels func(string) string
}

// label is what tables show for a category, its key for a document that was read back.
func (d *Detail) label(key string) string {
	if d.labels == nil {
		return key
	}
	return d.labels(key)
}

// DetailMetadata says which layer a Detail is of. Field names up to num_kernels are fixed by the published scripts.
type DetailMetadata struct {
	LayerID int `json:"layer_id"` // negative where layers count from the end: −1 is the last
	FwdPass int `json:"fwd_pass"` // index of the forward pass
	// CompressRatio is −1 when unknown.
	CompressRatio int `json:"compress_ratio"`
	NumLayers     int `json:"num_layers"`
	// WallUS and TotalDurUS are in microseconds.
	WallUS     float64 `json:"wall_us"`
	TotalDurUS float64 `json:"total_dur_us"`
	NumKernels int     `json:"num_kernels"`

	// StartNS is the layer's start since the trace's first event, in nanoseconds.
	StartNS    int64             `json:"start_ns"`
	Type       profile.LayerType `json:"type,omitempty"`
	Hash       bool              `json:"hash,omitempty"`
	Partial    bool              `json:"partial,omitempty"`
	Stage      layer.Stage       `json:"stage,omitempty"`
	Boundaries string            `json:"boundaries"`
	Profile    string            `json:"profile"`
	// Evidence is the basis of the layer's boundaries, Confidence their confidence, 0…1.
	Evidence   string  `json:"evidence,omitempty"`
	Confidence float64 `json:"confidence"`
}

// CategorySum adds up kernels of one category.
type CategorySum struct {
	Key   string  `json:"-"`
	DurUS float64 `json:"dur_us"` // sum of durations
	Count int     `json:"count"`  // kernels
}

// CategorySums is ordered and marshals as an object keyed by category.
type CategorySums []CategorySum

// MarshalJSON writes {"key": {"dur_us": …, "count": …}, …} in order.
func (s CategorySums) MarshalJSON() ([]byte, error) {
	return marshalOrdered(s, func(c CategorySum) (string, any) { return c.Key, c })
}

// marshalOrdered writes a list as an object with keys in the list's
// order, which a map would lose.
func marshalOrdered[T any](list []T, member func(T) (key string, value any)) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, e := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		key, value := member(e)
		k, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		v, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		b.Write(k)
		b.WriteByte(':')
		b.Write(v)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// KernelRow is one kernel of a Detail. Field names up to output_dims are fixed by the published scripts.
type KernelRow struct {
	Name           string `json:"name"`            // name as recorded
	SimplifiedName string `json:"simplified_name"` // by the published replacements
	// DurUS is the duration in microseconds.
	DurUS    float64 `json:"dur_us"`
	Category string  `json:"category"`
	Half     string  `json:"half"`
	// TSUS is the raw timestamp of the file in microseconds.
	TSUS float64 `json:"ts"`
	// InputDims is the JSON text of the shapes that the kernel's CPU op was called with; null when unknown.
	InputDims json.RawMessage `json:"input_dims"`
	// OutputDims is always null: profilers do not record shapes of results.
	OutputDims json.RawMessage `json:"output_dims"`

	Label  string         `json:"label"`            // what tables call it: short, and different for different names
	Index  int            `json:"index"`            // on its GPU, by start
	Stream trace.StreamID `json:"stream"`           // number of the stream
	CPUOp  string         `json:"cpu_op,omitempty"` // op that launched it, "" unknown
	Module string         `json:"module,omitempty"` // module that launched it, "" unknown
	Replay bool           `json:"replay,omitempty"` // a graph replay launched it
	// SourceConfidence is that of CPUOp, Module and InputDims: 1 for the kernel's own launch, less when they
	// were carried over from an eager twin, 0 when there are none.
	SourceConfidence float64 `json:"source_confidence,omitempty"`
	// ModelLine is the line of the model that the kernel comes from, see [layer.ModelLine].
	ModelLine string `json:"model_line,omitempty"`
	// Operator is the part of the model that the kernel computes, Part how it serves it, OperatorConfidence the
	// confidence.
	Operator           profile.Operator `json:"operator"`
	Part               string           `json:"part"`
	OperatorConfidence float64          `json:"operator_confidence"`

	// StartNS is the start since the trace's first event, OffsetNS that since the layer's start, in nanoseconds.
	StartNS  int64 `json:"start_ns"`
	OffsetNS int64 `json:"offset_ns"`
}

// NewDetail breaks layer l of pass p down into kernels.
func NewDetail(a *layer.Device, p, l int) (*Detail, error) {
	fp, lay, err := a.Layer(p, l)
	if err != nil {
		return nil, err
	}
	d := &Detail{Schema: detailSchema, Metadata: DetailMetadata{LayerID: fp.LayerNumber(lay.Index), FwdPass: fp.Index,
		CompressRatio: lay.CompressRatio, NumLayers: a.NumLayers,
		StartNS: int64(lay.Start), WallUS: micros(lay.Wall), NumKernels: len(lay.Kernels), Type: lay.Type,
		Hash: lay.Hash, Partial: lay.Partial, Stage: fp.Stage,
		Boundaries: a.Analysis().Boundaries, Profile: a.Analysis().Profile.Name, Evidence: string(fp.LayerEvidence),
		Confidence: fp.Confidence}, labels: labels(a)}
	index := map[string]int{}
	for _, i := range lay.Kernels {
		row := row(a, int(i))
		start := a.Kernel(int(i)).Event().Start()
		row.StartNS, row.OffsetNS = int64(start), int64(start-lay.Start)
		d.Metadata.TotalDurUS += row.DurUS
		k := slot(index, (*[]CategorySum)(&d.Categories), row.Category, CategorySum{Key: row.Category})
		d.Categories[k].DurUS += row.DurUS
		d.Categories[k].Count++
		d.Kernels = append(d.Kernels, row)
	}
	slices.SortFunc(d.Kernels, func(x, y KernelRow) int { // Kernels are numbered by start
		return cmp.Or(cmp.Compare(y.DurUS, x.DurUS), x.Index-y.Index)
	})
	nameRows(a, d.Kernels)
	return d, nil
}

// row makes the row of kernel i.
func row(a *layer.Device, i int) KernelRow {
	k := a.Kernel(i)
	e := k.Event()
	row := KernelRow{Name: e.Name(), SimplifiedName: a.Analysis().Profile.DisplayName(e.Name()),
		DurUS: micros(e.Duration()), Category: string(k.Category()), TSUS: rawUS(a, e),
		Index: i, Stream: e.Stream(), Replay: k.Event().IsReplay(), Half: k.Half()}
	operator, part, confidence := k.Operator()
	row.Operator, row.Part, row.OperatorConfidence = operator, part.String(), math.Round(100*float64(confidence))/100
	tw := k.Twin()
	if !tw.Launch.Valid() {
		return row
	}
	row.ModelLine = k.ModelLine().String()
	op := tw.Launch.Op()
	if dims := op.Shape(); dims != "" && json.Valid([]byte(dims)) {
		row.InputDims = json.RawMessage(dims)
	}
	row.CPUOp, row.Module, row.SourceConfidence = op.Name(), layer.ModulePath(tw.Launch), tw.Confidence
	return row
}

// rawUS is an event's timestamp in microseconds as readers of JSON see it: the double nearest to the decimal.
func rawUS(a *layer.Device, e trace.Event) float64 {
	ns := a.Analysis().Trace().Raw(e.Start())
	if ns > -1<<53 && ns < 1<<53 {
		return float64(ns) / 1000 // both exact, so the quotient is the nearest double
	}
	v, _ := strconv.ParseFloat(string(decimal.AppendMicros(nil, ns)), 64)
	return v
}

// micros is d in microseconds.
func micros(d time.Duration) float64 { return float64(d) / 1000 }

// millis is d in milliseconds.
func millis(d time.Duration) float64 { return float64(d) / 1e6 }
