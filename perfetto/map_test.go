package perfetto_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

func TestMapOfTheDemo(t *testing.T) {
	_, tr, _ := demoFile(t)
	a := analyze(t, tr)
	m, err := perfetto.NewMap(a, 0, []int{0, 7}, "")
	if err != nil {
		t.Fatal(err)
	}
	if m.TraceStartNS != tr.Raw(0) || len(m.Passes) != 5 || len(m.Layers) != 8 || m.Pass != 0 {
		t.Errorf("map of pass %d begins at %d with %d passes and %d layers", m.Pass, m.TraceStartNS, len(m.Passes),
			len(m.Layers))
	}
	for _, l := range m.Layers {
		if want := l.Index == 0 || l.Index == 7; l.Highlighted != want {
			t.Errorf("layer %d: highlighted = %v, want %v", l.Index, l.Highlighted, want)
		}
		if l.StartNS-m.TraceStartNS != int64(l.Start) || l.EndNS <= l.StartNS {
			t.Errorf("layer %d: raw and relative times disagree: %+v", l.Index, l.Range)
		}
		q := query(t, l.URL)
		if q.Get("visStart") == "" || q.Get("visEnd") == "" {
			t.Errorf("layer %d: its link has no range: %s", l.Index, l.URL)
		}
	}
	if m.Layers[0].Note != "FIRST" || m.Layers[7].Note != "FINAL" || m.Layers[3].Note != "" {
		t.Errorf("notes are %q, %q, %q", m.Layers[0].Note, m.Layers[3].Note, m.Layers[7].Note)
	}
	var b strings.Builder
	if err := m.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"FIRST ◀", "FINAL ◀", "\nLayer 7: https://ui.perfetto.dev/#!/?", "Forward pass #0"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, b.String())
		}
	}
	if _, err := json.Marshal(m); err != nil {
		t.Error(err)
	}
	steady, err := perfetto.NewMap(a, -1, nil, "")
	if err != nil || steady.Pass != a.Steady.Pass {
		t.Errorf("the map of pass −1 is of pass %d, %v; want the steady pass %d", steady.Pass, err, a.Steady.Pass)
	}
}

func TestMapRefusesWhatIsNotThere(t *testing.T) {
	_, tr, _ := demoFile(t)
	a := analyze(t, tr)
	for _, tc := range []struct {
		pass   int
		layers []int
		want   string
	}{
		{5, nil, "forward pass 5 is out of range: the trace has passes 0 to 4"},
		{1, []int{8}, "layer 8 out of range: pass 1 has layers 0 to 7"},
	} {
		if _, err := perfetto.NewMap(a, tc.pass, tc.layers, ""); err == nil ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("NewMap(%d, %v) = %v, want %q", tc.pass, tc.layers, err, tc.want)
		}
	}
}

// TestMapOfWhatTheUICannotOpen has times and no links.
func TestMapOfWhatTheUICannotOpen(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	b.Meta = trace.Meta{Source: "nsys", Rank: -1}
	b.Add(trace.EventData{Kind: event.Kernel, Name: "k", Start: 1000, Duration: 500, Device: 0, Stream: 7})
	tr := built.Trace(b)
	m, err := perfetto.NewMap(analyze(t, tr), -1, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if perfetto.CanOpen(tr) || len(m.Passes) != 1 || m.Passes[0].URL != "" {
		t.Errorf("passes = %+v, want one without a link", m.Passes)
	}
	var text strings.Builder
	if err := m.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if s := text.String(); strings.Contains(s, "http") || !strings.Contains(s, "there are no links") {
		t.Errorf("text = %s", s)
	}
}
