package perfetto_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

func readTrace(t *testing.T, text string) *trace.Trace {
	t.Helper()
	tr, err := trace.Read(context.Background(), strings.NewReader(text), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

const oneKernel = `{"traceEvents":[
{"ph":"M","name":"process_name","pid":0,"ts":1.000,"args":{"name":"python"}},
{"ph":"i","name":"Record Window Start","pid":"","tid":"","ts":4909914216200.000,"s":"g"},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":4909914216204.635,"dur":2.500,"args":{"device":0,"stream":7}}]}`

// query returns the parameters in a UI link's fragment.
func query(t *testing.T, link string) url.Values {
	t.Helper()
	origin, rest, ok := strings.Cut(link, "/#!/?")
	if !ok || origin != "https://ui.perfetto.dev" {
		t.Fatalf("link %q does not open the UI's viewer route", link)
	}
	q, err := url.ParseQuery(rest)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestLinkUsesRawNanosecondsAndTimeAxisStartsAtFirstNonMetadataEvent(t *testing.T) {
	tr := readTrace(t, oneKernel)
	k := tr.LaneAt(event.LaneGPU, 0)
	r := perfetto.NewRange(tr, k.Start(), k.End())
	if r.StartSeconds != 4.635e-6 {
		t.Errorf("start_s = %v, want 4.635e-06: the axis starts at the instant event, not at metadata", r.StartSeconds)
	}
	q := query(t, perfetto.Link("", r))
	for key, want := range map[string]string{"visStart": "4909914216204635", "visEnd": "4909914216207135"} {
		if got := q.Get(key); got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
	if len(q) != 2 {
		t.Errorf("link has parameters nobody asked for: %v", q)
	}
}

func TestLinkCarriesTraceURL(t *testing.T) {
	q := query(t, perfetto.Link("http://127.0.0.1:9001/a b&c.json.gz", perfetto.Range{}))
	if got := q.Get("url"); got != "http://127.0.0.1:9001/a b&c.json.gz" || len(q) != 1 {
		t.Errorf("parameters = %v", q)
	}
}

func TestMarginStaysInsideTheTrace(t *testing.T) {
	tr := readTrace(t, oneKernel)
	m := perfetto.Margin(tr, perfetto.NewRange(tr, 10, 1010))
	if m.Start != 0 || m.End != 1060 {
		t.Errorf("margin = [%d, %d], want [0, 1060]", m.Start, m.End)
	}
}
