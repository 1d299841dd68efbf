package layer_test

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
)

const dsv4Trace = "synthetic-deepseek-v4-flash-TP-0.trace.json.gz"

// dsv4Truth reads pass, layer and half of every kernel of the DeepSeek-V4 trace, keyed by start and name.
func dsv4Truth(t testing.TB) map[string][3]string {
	t.Helper()
	text, err := os.ReadFile(testdata.Shared(t, "golden/synthetic-deepseek-v4-flash.truth.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][3]string{}
	for _, line := range strings.Split(string(text), "\n") {
		if f := strings.Split(line, "\t"); len(f) >= 6 && f[0] != "ts_us" {
			out[startKey(f[0])+f[5]] = [3]string{f[2], f[3], f[4]}
		}
	}
	return out
}

// startKey is a start in µs with its decimals trimmed, so that 1.50 and 1.5 agree.
func startKey(us string) string {
	f, err := strconv.ParseFloat(us, 64)
	if err != nil {
		return us
	}
	return strconv.FormatFloat(f, 'f', 3, 64) + " "
}

// TestDeepSeekV4CutWindows: layers of a cut pass are numbered from the end that is present, by anchors too.
func TestDeepSeekV4CutWindows(t *testing.T) {
	cfg := config(t, "deepseek-v4-flash.json")
	all := actsOfDevice(analyze(t, open(t, dsv4Trace), layer.Options{Config: cfg}))
	per := 0
	for _, x := range all {
		if x.pass == 0 {
			per++
		}
	}
	for _, c := range []struct {
		name string
		acts []act
	}{
		{"40% cut in front", all[per*4/10:]}, {"75% cut in front", all[per*3/4:]},
		{"30% cut behind", all[:len(all)-per*3/10]},
	} {
		a := analyze(t, traceOf(c.acts), layer.Options{Config: cfg})
		if share, wrong, _ := rate(a, c.acts); share < 1 {
			t.Errorf("%s: %.2f%% right\n%s", c.name, 100*share, strings.Join(wrong, "\n"))
		}
	}
}

// TestDeepSeekV4HasTheRightHalves: pass, layer and half of at least 99% of the kernels, with the default and with
// anchor-closes.
func TestDeepSeekV4HasTheRightHalves(t *testing.T) {
	truth := dsv4Truth(t)
	for _, mode := range []string{"auto", "anchor-closes"} {
		t.Run(string(mode), func(t *testing.T) {
			a := analyze(t, open(t, dsv4Trace), layer.Options{Config: config(t, "deepseek-v4-flash.json"),
				Boundaries: mode})
			if a.NumLayers != 43 || len(a.Passes) != 5 {
				t.Errorf("%d layers, %d passes, want 43 and 5", a.NumLayers, len(a.Passes))
			}
			right, known := 0, 0
			var wrong []string
			for kernel := range a.Kernels() {
				i, k := kernel.Index(), kernel.Place()
				e := a.Kernel(i).Event()
				want, ok := truth[startKey(strconv.FormatFloat(float64(a.Analysis().Trace().Raw(e.Start()))/1000, 'f',
					3, 64))+e.Name()]
				if !ok {
					t.Fatalf("kernel %d %s has no truth", i, e.Name())
				}
				known++
				half := a.Kernel(i).Half()
				if half == "" {
					half = "-"
				}
				wantHalf := want[2]
				if wantHalf == "" {
					wantHalf = "-"
				}
				got := [3]string{strconv.Itoa(k.Pass), strconv.Itoa(k.Layer), half}
				if got == [3]string{want[0], want[1], wantHalf} {
					right++
				} else if len(wrong) < 5 {
					wrong = append(wrong, e.Name()+": "+strings.Join(got[:], " ")+", want "+strings.Join(want[:], " "))
				}
			}
			t.Logf("%.2f%% of %d kernels right", 100*float64(right)/float64(known), known)
			if 100*right < 99*known {
				t.Errorf("%.2f%% of %d kernels right\n%s", 100*float64(right)/float64(known), known,
					strings.Join(wrong, "\n"))
			}
		})
	}
}

// TestErrorsSayWhatWasFound: every refusal names what was asked for and what there is.
func TestErrorsSayWhatWasFound(t *testing.T) {
	qwen := "sglang-qwen3-8b-extend-eager-mi300.json.gz"
	for _, c := range []struct {
		name, trace string
		opts        layer.Options
		is          error
		says        []string
	}{
		{"config of another model", qwen, layer.Options{Config: config(t, "llama-3.1-70b.json")},
			layer.ErrContradiction, []string{"80", "36"}},
		{"config of another model, no frames", qwen,
			layer.Options{Config: config(t, "llama-3.1-70b.json"), Boundaries: "repeats"}, layer.ErrContradiction,
			[]string{"80", "36"}},
		{"another N", qwen, layer.Options{NumLayers: 24}, layer.ErrContradiction, []string{"24", "36"}},
		{"anchors without an anchor", qwen, layer.Options{Boundaries: "anchor-closes"}, layer.ErrNoEvidence,
			[]string{"anchor"}},
		{"an anchor that does not occur", qwen, layer.Options{Boundaries: "anchor-closes", Anchor: "no_such_kernel"},
			layer.ErrNoEvidence, []string{"no_such_kernel"}},
		{"an anchor that does not occur, in any mode", qwen, layer.Options{Anchor: "no_such_kernel"},
			layer.ErrNoEvidence, []string{"no_such_kernel"}},
		{"modules without frames", "sglang-qwen3-8b-decode-graph-mi300.json.gz", layer.Options{Boundaries: "modules"},
			layer.ErrNoEvidence, []string{"module"}},
		{"negative N", qwen, layer.Options{NumLayers: -1}, layer.ErrRange, []string{"-1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := layer.Analyze(t.Context(), open(t, c.trace), c.opts)
			if !errors.Is(err, c.is) {
				t.Fatalf("error %v, want %v", err, c.is)
			}
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("error %q does not say %q", err, s)
				}
			}
		})
	}
}

// TestRangeErrorsSayTheRange: a pass or layer that is not there.
func TestRangeErrorsSayTheRange(t *testing.T) {
	a := analyze(t, open(t, dsv4Trace), layer.Options{Config: config(t, "deepseek-v4-flash.json")})
	for _, c := range []struct {
		pass, layer int
		says        string
	}{{5, 0, "0 to 4"}, {-1, 0, "0 to 4"}, {2, 43, "0…42"}, {2, -1, "0…42"}} {
		if _, _, err := a.Layer(c.pass, c.layer); !errors.Is(err, layer.ErrRange) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("pass %d, layer %d: %v, want a range error that says %s", c.pass, c.layer, err, c.says)
		}
	}
	if _, err := a.Pass(7); !errors.Is(err, layer.ErrRange) {
		t.Errorf("pass 7: %v", err)
	}
}

// TestReadAgainKeepsWhatIsWhole: traces whose first reading is complete are not made worse by reading again: no layer
// is lost, none begins at another kernel than its neighbours.
func TestReadAgainKeepsWhatIsWhole(t *testing.T) {
	for _, c := range []struct {
		trace   string
		lengths []int // of layers, those allowed; nil for any
		layers  int
		least   float64 // confidence
	}{
		{dsv4Trace, []int{33, 38}, 43, 0.89},
		{"sglang-r1-distill-llama-8b-mi300-TP-0-DECODE.trace.json.gz", nil, 32, 0.5},
	} {
		a := analyze(t, open(t, c.trace), layer.Options{})
		if a.NumLayers != c.layers {
			t.Errorf("%s: %d layers, want %d", c.trace, a.NumLayers, c.layers)
		}
		for p, fp := range a.Passes {
			if fp.Confidence < c.least {
				t.Errorf("%s: pass %d is printed with %.2f, want %.2f", c.trace, p, fp.Confidence, c.least)
			}
			for _, l := range fp.Layers() {
				if n := len(l.Kernels); c.lengths != nil && !slices.Contains(c.lengths, n) {
					t.Errorf("%s: pass %d, layer %d has %d kernels, want one of %v", c.trace, p, l.Index, n, c.lengths)
				}
			}
		}
	}
}

// TestWorkBesideAProfile: a profile with categories of its own changes what tables show, and what kernels do is what it
// is without one; a user's rule comes before both.
func TestWorkBesideAProfile(t *testing.T) {
	plain := analyze(t, open(t, dsv4Trace), layer.Options{})
	mine := classify.Rule{ID: "mine", Category: "mine", When: classify.Pattern{Substring: []string{"RMSNorm"}}}
	exchanges := 0
	for rules, own := range map[string]layer.Options{"": {}, "mine": {Rules: []classify.Rule{mine}}} {
		own.Config = config(t, "deepseek-v4-flash.json")
		a := analyze(t, open(t, dsv4Trace), own)
		for k := range a.Kernels() {
			want := plain.Kernel(k.Index()).Facts().Category
			if rules != "" && strings.Contains(k.Event().Name(), "RMSNorm") {
				want = "mine"
			}
			if k.Does() != want {
				t.Fatalf("%s does %s, want %s", k.Event().Name(), k.Does(), want)
			}
			if k.Does() == classify.CategoryCommunication && k.Category() != k.Does() {
				exchanges++
			}
		}
	}
	if exchanges == 0 {
		t.Error("no exchange has a category of the profile")
	}
}
