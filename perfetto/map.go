package perfetto

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// Map says where the passes of a trace, and the layers of one of them, are in
// the Perfetto UI.
type Map struct {
	Schema       string       `json:"schema"`         // "strata.perfetto/1"
	TraceStartNS int64        `json:"trace_start_ns"` // raw time of the time axis' zero
	TraceEndS    float64      `json:"trace_end_s"`    // end of the last event on the time axis
	Pass         int          `json:"pass"`           // whose layers are listed; −1 when the trace has none
	Passes       []PassRange  `json:"passes"`         // forward passes
	Layers       []LayerRange `json:"layers"`         // layers of the chosen pass

	openable bool // by the UI
}

// mapSchema is the name and version of the document.
const mapSchema = "strata.perfetto/1"

// secondsDecimals is for seconds in the text: layers take some hundred µs, so
// milliseconds are too coarse.
const secondsDecimals = 6

// PassRange is one forward pass.
type PassRange struct {
	Index int `json:"index"` // in order of time
	Range
	DurationMS float64     `json:"duration_ms"` // length
	Stage      layer.Stage `json:"stage"`       // what the pass does
	URL        string      `json:"url"`         // opens the UI at the pass; empty where the UI cannot open the trace
}

// LayerRange is one layer of Map.Pass.
type LayerRange struct {
	Index         int `json:"index"`          // in the model
	CompressRatio int `json:"compress_ratio"` // −1 when unknown
	Range
	WallMS      float64 `json:"wall_ms"`     // first start to last end
	SumMS       float64 `json:"sum_ms"`      // of the kernels' durations
	Note        string  `json:"note"`        // FIRST, HASH or FINAL
	Highlighted bool    `json:"highlighted"` // asked for
	URL         string  `json:"url"`         // opens the UI at the layer; empty where the UI cannot open the trace
}

// CanOpen reports whether the Perfetto UI reads the file that t was loaded from: Chrome's JSON and Perfetto's own
// format. Of other files [Annotate] and [Slice] write copies from the events (see [FromEvents]).
func CanOpen(t *trace.Trace) bool { return t.Meta().Encoding != trace.EncodingOther }

// NewMap returns the map of a GPU with the layers of the given pass,
// the steady one if negative. Layers in highlight are marked; one that the
// pass does not have is an error. Links open the trace at traceURL, see [Link].
func NewMap(a *layer.Device, pass int, highlight []int, traceURL string) (*Map, error) {
	t := a.Analysis().Trace()
	_, end := t.Window()
	m := &Map{Schema: mapSchema, TraceStartNS: t.Raw(0), TraceEndS: float64(end) / 1e9, Pass: pass,
		Passes: []PassRange{}, Layers: []LayerRange{}, openable: CanOpen(t)}
	url := func(r Range) string {
		if !m.openable {
			return ""
		}
		return Link(traceURL, Margin(t, r))
	}
	for i := range a.Passes {
		p := &a.Passes[i]
		r := NewRange(t, p.Start, p.End)
		m.Passes = append(m.Passes, PassRange{Index: p.Index, Range: r, DurationMS: float64(p.Wall()) / 1e6,
			Stage: p.Stage, URL: url(r)})
	}
	if pass < 0 {
		m.Pass = a.Steady.Pass
	}
	if len(a.Passes) == 0 {
		m.Pass = -1
		return m, nil
	}
	p, err := a.Pass(m.Pass)
	if err != nil {
		return nil, err
	}
	layers := p.Layers()
	for _, h := range highlight {
		if !slices.ContainsFunc(layers, func(l layer.Layer) bool { return p.LayerNumber(l.Index) == h }) {
			return nil, fmt.Errorf("perfetto: layer %d out of range: pass %d has %s", h, m.Pass, layerSpan(p))
		}
	}
	for _, l := range layers {
		r := NewRange(t, l.Start, l.Start+trace.Time(l.Wall))
		lr := LayerRange{Index: p.LayerNumber(l.Index), CompressRatio: l.CompressRatio, Range: r,
			WallMS: float64(l.Wall) / 1e6, SumMS: float64(l.Sum) / 1e6,
			Highlighted: slices.Contains(highlight, p.LayerNumber(l.Index)), URL: url(r)}
		switch l.Type {
		case profile.FirstLayer, profile.HashLayer, profile.FinalLayer:
			lr.Note = string(l.Type)
		}
		m.Layers = append(m.Layers, lr)
	}
	return m, nil
}

func layerSpan(p *layer.ForwardPass) string {
	if p.NumLayers == 0 {
		return "no layers"
	}
	return fmt.Sprintf("layers %d to %d", p.LayerNumber(p.FirstLayer), p.LayerNumber(p.FirstLayer+p.NumLayers-1))
}

// WriteText writes the map as tables.
func (m *Map) WriteText(w io.Writer) error {
	b := table.NewWriter(w)
	b.Fact("Perfetto time range", "%s ~ %s (time 0 is %d ns in the UI's tables)", seconds(0), seconds(m.TraceEndS),
		m.TraceStartNS)
	b.Heading(2, "Forward passes: %d", len(m.Passes))
	passes := table.New(table.Number("Fwd#"), table.Number("Perfetto Start"), table.Number("Perfetto End"),
		table.Number("Duration"), table.Text("Stage"))
	for _, p := range m.Passes {
		passes.Row(strconv.Itoa(p.Index), seconds(p.StartSeconds), seconds(p.EndSeconds),
			table.Fixed(p.DurationMS, 1)+"ms", string(p.Stage))
	}
	b.Table(passes)
	if m.Pass >= 0 {
		m.writeLayers(b)
		m.writeLinks(b)
	}
	return b.Flush()
}

// writeLayers writes where the layers of the pass are.
func (m *Map) writeLayers(b *table.Writer) {
	if len(m.Layers) == 0 {
		b.Say("No layers were found in pass %d.", m.Pass)
		return
	}
	b.Heading(2, "Forward pass #%d, times in Perfetto", m.Pass)
	cols := []table.Column{table.Number("L"), table.Number("c_r"), table.Number("Perfetto Start"),
		table.Number("Perfetto End"), table.Number("Wall(ms)"), table.Number("SumDur(ms)"), table.Text("Note")}
	drop := 2 // the compress ratio, where no layer has one
	if slices.ContainsFunc(m.Layers, func(l LayerRange) bool { return l.CompressRatio >= 0 }) {
		drop = 1
	}
	layers := table.New(slices.Delete(cols, 1, drop)...)
	for _, l := range m.Layers {
		layers.Row(slices.Delete([]string{strconv.Itoa(l.Index), strconv.Itoa(l.CompressRatio), seconds(l.StartSeconds),
			seconds(l.EndSeconds), table.Fixed(l.WallMS, 2), table.Fixed(l.SumMS, 2), l.note()}, 1, drop)...)
	}
	b.Table(layers)
}

func (m *Map) writeLinks(b *table.Writer) {
	if !m.openable {
		b.Say("The Perfetto UI does not read this kind of file: there are no links.")
		return
	}
	b.Heading(2, "Links")
	b.Fact(fmt.Sprint("Pass ", m.Pass), "%s", m.Passes[m.Pass].URL)
	for _, l := range m.Layers {
		if l.Highlighted {
			b.Fact(fmt.Sprint("Layer ", l.Index), "%s", l.URL)
		}
	}
	b.Say("A link shows its range in a UI that has the trace open; `--open` serves the trace to it.")
}

func seconds(s float64) string { return table.Fixed(s, secondsDecimals) + "s" }

// note is the layer's type, and a mark where the user named it.
func (l *LayerRange) note() string {
	if l.Highlighted {
		return strings.TrimSpace(l.Note + " ◀")
	}
	return l.Note
}
