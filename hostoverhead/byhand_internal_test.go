package hostoverhead

import (
	"math"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/published"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestRelativeChange: to a small one, to a large one, from nothing.
func TestRelativeChange(t *testing.T) {
	for _, c := range [][3]float64{{1, 2, 1}, {2, 1, 0.5}, {-1, 1, 2}, {0, 0, 0}, {3, 3, 0}, {0, 2, math.Inf(1)}} {
		if got := relative(c[0], c[1]); got != c[2] {
			t.Errorf("from %v to %v: %v, want %v", c[0], c[1], got, c[2])
		}
	}
}

// TestRangesAround: a range ends with what it is in; each thread has its own, and one that ended is around none.
func TestRangesAround(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	for _, r := range []struct {
		name       string
		start, end int64
		thread     int64
	}{{"outer", 0, 100, 1}, {"inner", 10, 50, 1}, {"deep", 20, 50, 1}, {"elsewhere", 30, 40, 2}, {"next", 60, 100, 1},
		{"later", 200, 210, 1},
		{"last", 220, 230, 1}} {
		b.Add(trace.EventData{Kind: event.Range, Name: r.name, Start: r.start, Duration: r.end - r.start, Thread: r.thread})
	}
	open, got := map[trace.ThreadIndex][]openRange{}, []string{}
	for e := range built.Trace(b).Events(event.LaneAnnotation) {
		got = append(got, e.Name()+" in "+enter(open, e, e.Name()))
	}
	want := "outer in , inner in outer, deep in inner, next in outer, later in , last in , elsewhere in "
	if strings.Join(got, ", ") != want {
		t.Errorf("%q, want %q", strings.Join(got, ", "), want)
	}
}

// markdownOf is what asks for Markdown.
type markdownOf struct{ strings.Builder }

func (*markdownOf) Markdown() bool { return true }

// TestHeadingsOfAVerdict: the answer is the title, each list has a heading of the second level.
func TestHeadingsOfAVerdict(t *testing.T) {
	v := Verdict{Ranks: make([]RankVerdict, 1), Next: []Action{{Advice: finding.Advice{Do: "do"}}},
		Doubts:    Doubts{{Code: "c", Evidence: "e"}},
		published: &published.HostReport{}}
	var b markdownOf
	if err := v.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "#") {
			mark, title, _ := strings.Cut(strings.TrimSpace(line), " ")
			word, _, _ := strings.Cut(title, " ")
			got = append(got, mark+" "+word)
		}
	}
	if text := strings.Join(got, ", "); text != "# Host, ## Time, ## Published, ## Doubts, ## Next" {
		t.Errorf("headings %q in\n%s", text, b.String())
	}
}

// TestServingPathOfAServer: what a server's settings say of graphs and compiled code against one decode step of three
// kernels.
func TestServingPathOfAServer(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		name                     string
		args                     profile.ServerArgs
		graph, unknown, compiled int
		want                     string
	}{
		{"graphs that are replayed", profile.ServerArgs{Graphs: &yes}, 1, 0, 0, ""},
		{"graphs that are not", profile.ServerArgs{Graphs: &yes}, 0, 0, 0, string(DoubtNoGraphs)},
		{"of a path that half of the kernels do not show", profile.ServerArgs{Graphs: &yes}, 0, 2, 0, ""},
		{"of a path that a third does not show", profile.ServerArgs{Graphs: &yes}, 0, 1, 0, string(DoubtNoGraphs)},
		{"no graphs, one kernel of one", profile.ServerArgs{Graphs: &no}, 1, 0, 0, string(DoubtUnexpectedGraphs)},
		{"no graphs, and none", profile.ServerArgs{Graphs: &no}, 0, 0, 0, ""},
		{"compiled code", profile.ServerArgs{Compile: &yes}, 0, 0, 1, ""},
		{"compiled code that is not there", profile.ServerArgs{Compile: &yes}, 0, 0, 0, string(DoubtNoCompiledCode)},
		{"no compiled code, one kernel of it", profile.ServerArgs{Compile: &no}, 0, 0, 1,
			string(DoubtUnexpectedCompiledCode)},
		{"no compiled code, and none", profile.ServerArgs{Compile: &no}, 0, 0, 0, ""},
		{"nothing said", profile.ServerArgs{}, 0, 0, 1, ""},
	} {
		for _, kernels := range []int{3, 0} {
			a, _ := named("k")
			layers, err := layer.Analyze(t.Context(), a.l.w.t, layer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			a.l.w.layers, a.d = layers, &deviceWork{compiled: c.compiled}
			s := stepAccount{step: &hostStep{Stage: layer.StageDecode}}
			if kernels > 0 {
				s.paths[pathGraph].kernels, s.paths[pathUnknown].kernels = c.graph, c.unknown
				s.paths[pathEager].kernels = kernels - c.graph - c.unknown
			}
			a.steps = []stepAccount{s}
			got := ""
			for _, d := range new(Verdict).servingIssues(a, &c.args) {
				got += string(d.Code)
			}
			want := c.want
			if kernels == 0 { // a step of no kernels shows nothing
				want = ""
			}
			if got != want {
				t.Errorf("%s, %d kernels: %q, want %q", c.name, kernels, got, want)
			}
		}
	}
}
