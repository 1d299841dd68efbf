package compare_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/layer/finding"
)

// Each doubt leaves verdict and gates inconclusive, on either side of its limit, until it is allowed.
func TestDoubts(t *testing.T) {
	clock := func(mhz float64, changed bool) func(*compare.Side) {
		return func(s *compare.Side) {
			s.Runs[0].Clock = &compare.Clock{Min: mhz - 300, Median: mhz, Max: mhz, Changed: changed}
		}
	}
	runs := func(factors ...float64) func(*compare.Side) {
		return func(s *compare.Side) {
			s.Runs = nil
			for i, f := range factors {
				s.Runs = append(s.Runs, side(uint64(10+i), 5, times("", f)).Runs[0])
			}
		}
	}
	layers := func(n int) func(*compare.Side) {
		return func(s *compare.Side) {
			for i := range s.Runs[0].Passes {
				s.Runs[0].Passes[i].NumLayers = n
			}
		}
	}
	none := func(*compare.Side) {}
	for _, c := range []struct {
		name string
		a, b func(*compare.Side)
		want string // code
	}{
		{"nothing", none, none, ""},
		{"decode without the graphs of the server", none,
			func(s *compare.Side) { s.Runs[0].Serving = []string{"none of the decode steps replays graphs"} },
			"serving"},
		{"a row of 9 s", none, func(s *compare.Side) { s.Runs[0].OneRow = "96% of GPU time depends on one row" }, "one-row"},
		{"a clock that changed", none, clock(1980, true), "clock"},
		{"a clock that did not", none, clock(1980, false), ""},
		{"1980 and 1935 MHz", clock(1980, false), clock(1935, false), "clock"},
		{"1980 and 1950 MHz", clock(1980, false), clock(1950, false), ""},
		{"48 and 47 layers", layers(48), layers(47), "model"},
		{"48 layers twice", layers(48), layers(48), ""},
		{"layers known on one side", layers(48), none, ""},
		{"runs of two kinds", runs(1, 1.001, 0.999, 1.002), runs(1, 1.3, 1.001, 1.301), "bimodal"},
		{"one run out of four that is slower", runs(1, 1.001, 0.999, 1.002), runs(1, 1, 1.001, 1.3), "bimodal"},
		{"one run out of five that is slower", runs(1, 1.001, 0.999, 1.002), runs(1, 1, 1, 1.001, 1.3), ""},
		{"runs that are spread evenly", runs(1, 1.001, 0.999, 1.002), runs(1, 1.1, 1.2, 1.3), ""},
		{"runs apart by 4%", runs(1, 1.001, 0.999, 1.002), runs(1, 1.04, 1, 1.04), ""},
		{"three runs", runs(1, 1, 1), runs(1, 1.3, 1.3), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := side(1, 8, nil), side(2, 8, times("attention", 1.6))
			c.a(a)
			c.b(b)
			gates := []compare.Gate{{Limit: 0.03}}
			r := report(t, a, b, compare.Options{Gates: gates})
			var got []string
			for _, d := range r.Doubts {
				got = append(got, d.Code)
			}
			if strings.Join(slices.Compact(got), " ") != c.want {
				t.Fatalf("doubts %+v, want %q", r.Doubts, c.want)
			}
			if c.want == "" {
				return
			}
			if r.Verdict != compare.Inconclusive || r.Gate() != compare.GateUndecided ||
				!strings.Contains(r.Text, "--allow "+c.want) {
				t.Errorf("%s, gate %s; want both inconclusive", r.Text, r.Gate())
			}
			if r := report(t, a, b, compare.Options{Gates: gates,
				Allow: []compare.DoubtCode{compare.DoubtCode(c.want)}}); strings.Contains(r.Text, "--allow") ||
				len(r.Allowed) != 1 {
				t.Errorf("allowed: %s, %+v", r.Text, r.Doubts)
			}
		})
	}
}

// Sides that take different paths are separated: eager against graphs, compiled against not, on either side of the
// limits.
func TestPaths(t *testing.T) {
	for _, c := range []struct {
		graphA, graphB, compiledA, compiledB float64
		want                                 int
	}{{1, 1, 0, 0, 0}, {1, 0.49, 0, 0, 1}, {1, 0.51, 0, 0, 0}, {1, 1, 0.3, 0.19, 1}, {1, 1, 0.3, 0.21, 0},
		{1, 0, 0.3, 0, 2}} {
		a, b := side(1, 5, nil), side(2, 5, nil)
		for i := range a.Runs[0].Passes {
			a.Runs[0].Passes[i].Graph, a.Runs[0].Passes[i].Compiled = c.graphA, c.compiledA
			b.Runs[0].Passes[i].Graph, b.Runs[0].Passes[i].Compiled = c.graphB, c.compiledB
		}
		r := report(t, a, b, compare.Options{})
		n := 0
		for _, f := range r.Findings {
			if f.Kind == finding.PathChanged {
				n++
			}
		}
		if n != c.want || r.First.Kind != finding.NoKind {
			t.Errorf("%+v: %d findings about paths (%+v), want %d", c, n, r.Findings, c.want)
		}
	}
}

// A factor that all rows share is recognised if most of the time is spent in kernels of the same names: of two
// implementations there is no common one.
func TestSharedFactorNeedsTheSameKernels(t *testing.T) {
	for _, c := range []struct {
		other []string
		want  bool
	}{{nil, true}, {[]string{"norm"}, true}, {[]string{"qkv_proj", "attention", "experts", "o_proj", "gate_up_proj",
		"down_proj"}, false}} {
		a, b := side(1, 8, nil), side(2, 8, times("", 0.85))
		for i, row := range b.Runs[0].Parts {
			if slices.Contains(c.other, row.Operator) {
				b.Runs[0].Parts[i].Name = "another_kernel"
			}
		}
		r := report(t, a, b, compare.Options{})
		got := slices.ContainsFunc(r.Findings, func(f finding.Finding) bool { return f.Kind == finding.UniformChange })
		if got != c.want {
			t.Errorf("other kernels in %v: uniform %v (%+v), want %v", c.other, got, r.Findings, c.want)
		}
	}
}

// If kernels carry the times of others, the pass is judged and rows are not.
func TestScrambledRecords(t *testing.T) {
	a, b := side(1, 8, nil), side(2, 8, times("attention", 2))
	b.Runs[0].Scrambled = true
	r := report(t, a, b, compare.Options{})
	if r.Verdict != compare.Slower || len(r.Findings) != 0 || r.First.Kind != finding.StepChanged ||
		!strings.Contains(strings.Join(r.Notes, " "), "--repair-order") {
		t.Errorf("%s, findings %+v, first target %+v", r.Text, r.Findings, r.First)
	}
	for _, row := range r.Rows {
		if row.Judged && row.Operator != "idle" && row.Operator != "waiting for ranks" {
			t.Errorf("%s is judged", row.Operator)
		}
	}
}
