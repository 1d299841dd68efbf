package roofline_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/profile/hardware"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// countedBefore are the results of counted by path: several tests look at all traces.
var countedBefore = map[string]countedTrace{}

type countedTrace struct {
	report      *roofline.Report
	analysis    *layer.Analysis
	flop, bytes float64
}

// counted analyses a trace without a config and returns the work of all its kernels.
func counted(t *testing.T, path string) (r *roofline.Report, a *layer.Analysis, flop, bytes float64) {
	t.Helper()
	if c, ok := countedBefore[path]; ok {
		return c.report, c.analysis, c.flop, c.bytes
	}
	defer func() { countedBefore[path] = countedTrace{r, a, flop, bytes} }()
	tr, err := open(path)
	if err != nil {
		t.Fatal(err)
	}
	if a, err = layer.Analyze(context.Background(), tr, layer.Options{}); err != nil {
		t.Fatal(err)
	}
	if r, err = roofline.Analyze(context.Background(), a, roofline.Options{Kernels: true}); err != nil {
		t.Fatal(err)
	}
	if len(a.Devices) == 0 {
		return r, a, 0, 0
	}
	d, err := a.Device(nil)
	if err != nil {
		t.Fatal(err)
	}
	for k := range d.Kernels() {
		c, _ := r.Cost(k)
		flop += 1e9 * c.GFLOP
		bytes += float64(c.Bytes)
	}
	return r, a, flop, bytes
}

// TestUnitsOfWork: FLOP and bytes of single ops against a table made by hand, and what is said of them first.
func TestUnitsOfWork(t *testing.T) {
	text, err := os.ReadFile(testdata.Shared(t, "truth/units.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	first := map[string]string{"bandwidth far below peak": "Bandwidth far below the peak",
		"too few tiles for this GPU": "Too few tiles for this GPU", "misaligned sizes": "Misaligned sizes",
		"attention far below peak":             "Attention far below the peak",
		"short sequences: far above the floor": "Short sequences: attention far above its floor"}
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		f := strings.Split(line, "\t")
		if i == 0 || len(f) < 10 {
			continue
		}
		number := func(at int) float64 {
			n, _ := strconv.ParseFloat(f[at], 64)
			return n
		}
		r, _, flop, bytes := counted(t, testdata.Shared(t, "traces/units/standalone/"+f[0]+".json.gz"))
		calls, least, most := number(3), number(6), number(7)
		if most == 0 {
			most = least
		}
		if math.Abs(flop/calls-number(5)) > 0.01*number(5) || bytes/calls < 0.99*least || bytes/calls > 1.01*most {
			t.Errorf("%s: %.4g FLOP and %.4g bytes a call, want %s and %s to %s", f[0], flop/calls, bytes/calls, f[5],
				f[6], f[7])
		}
		said := ""
		for _, found := range r.Findings {
			if found.Kind != finding.NoFloor { // which is no defect
				said = found.Text
				break
			}
		}
		if want := f[len(f)-1]; want != "" && said != first[want] {
			t.Errorf("%s: %q is said first, want %q", f[0], said, first[want])
		} else if want == "" && said != "" {
			t.Errorf("%s: %q is said, want nothing", f[0], said)
		}
	}
}

// TestMuchTimeWithoutAFloorIsNamed: on every shared trace each heading of the waterfall that takes a tenth of the pass
// without a floor is a finding with the same time, and no other one is.
func TestMuchTimeWithoutAFloorIsNamed(t *testing.T) {
	files, _ := filepath.Glob(testdata.Shared(t, "traces/torch") + "/*.json.gz")
	if len(files) == 0 {
		t.Skip("NOT TESTED: no shared traces")
	}
	most, named := 0.0, 2.0 // the largest share that is not named, and the smallest that is
	for _, f := range files {
		r, _, _, _ := counted(t, f)
		said := map[time.Duration]float64{}
		for _, found := range r.Findings {
			if found.Kind == finding.NoFloor && found.Code != roofline.CodeCopies {
				said[found.PerStep], named = found.Share, min(named, found.Share)
			}
		}
		for _, p := range r.Passes {
			if p.Index != r.Steady {
				continue
			}
			for _, w := range p.Waterfall {
				if !strings.HasSuffix(w.Name, "without a floor") || p.Wall == 0 {
					continue
				}
				share := float64(w.Time) / float64(p.Wall)
				if _, ok := said[w.Time]; ok != (share >= 0.1) {
					t.Errorf("%s: %q takes %.3f of the pass, named: %v", filepath.Base(f), w.Name, share, ok)
				} else if !ok {
					most = max(most, share)
				}
				delete(said, w.Time)
			}
		}
		if len(said) > 0 {
			t.Errorf("%s: findings of no row: %v", filepath.Base(f), said)
		}
	}
	if most < 0.05 || named > 0.2 {
		t.Errorf("nothing near the limit: %.3f is not named, %.3f is", most, named)
	}
}

// TestNoRowAboveThePeak: on every shared trace no row has a floor above its time, with or without a config, and what
// is faster than possible is said.
func TestNoRowAboveThePeak(t *testing.T) {
	testdata.ManyInputs(t)
	files, _ := filepath.Glob(testdata.Shared(t, "traces/torch") + "/*.json.gz")
	if len(files) == 0 {
		t.Skip("NOT TESTED: no shared traces")
	}
	for _, f := range files {
		r, a, _, _ := counted(t, f)
		if len(a.Devices) == 0 {
			continue
		}
		d, err := a.Device(nil)
		if err != nil {
			t.Fatal(err)
		}
		contradicting, copied := map[int]bool{}, map[int]time.Duration{}
		for k := range d.Kernels() {
			if _, part, _ := k.Operator(); part == layer.PartCopy || k.Event().Kind() != event.Kernel {
				copied[k.Place().Pass] += k.Event().Duration()
			}
			c, ok := r.Cost(k)
			if !ok {
				continue
			}
			if c.PeakShare > 1.02 || c.Floor > 0 && c.Basis >= roofline.BasisCache || c.Floor == 0 && c.PeakShare > 0 {
				t.Errorf("%s: %s: %+v", filepath.Base(f), k.Event().Name(), c)
			}
			if c.Basis == roofline.BasisContradiction && k.Place().Pass != trace.None {
				contradicting[k.Place().Pass] = true
			}
		}
		for _, p := range r.Passes { // an operator's floor is not lost because a copy for it ran first
			floors := time.Duration(0)
			for _, s := range p.Waterfall {
				if s.Kind == roofline.Floor {
					floors += s.Time
				}
			}
			if floors > p.Floor*101/100+time.Microsecond || floors < p.Floor*98/100 {
				t.Errorf("%s: pass %d: the floors of the waterfall are %v, that of the pass %v", filepath.Base(f),
					p.Index, floors, p.Floor)
			}
			i := slices.IndexFunc(p.Waterfall, func(s roofline.Share) bool { return s.Name == "copies and fills" })
			if i >= 0 && p.Waterfall[i].Time > copied[p.Index] {
				t.Errorf("%s: pass %d: copies and fills are %v, its copies take %v", filepath.Base(f), p.Index,
					p.Waterfall[i].Time, copied[p.Index])
			}
		}
		said := false
		for _, x := range r.Findings {
			said = said || x.Kind == finding.Doubt
		}
		if contradicting[r.Steady] && !said {
			t.Errorf("%s: pass %d has rows that cannot be, and nothing says so", filepath.Base(f), r.Steady)
		}
	}
}

// TestMostTimeHasAFloor: operators with a floor take nearly all GPU time of eager traces with recorded shapes, and of
// models whose config is known.
func TestMostTimeHasAFloor(t *testing.T) {
	covered := func(name string, r *roofline.Report, least float64) {
		p := r.Passes[r.Steady]
		t.Logf("%s: %.1f%%", name, 100*p.Covered)
		if p.Covered < least {
			t.Errorf("%s: operators with a floor take %.1f%% of GPU time, want %.0f%%", name, 100*p.Covered, 100*least)
		}
	}
	for _, f := range []string{"hf-bert-small-eager-h100", "hf-bert-small-eager-mi300", "hf-qwen1.5-0.5b-eager-h100",
		"hf-vit-nsfw-eager-h100", "hf-vit-nsfw-eager-mi300", "sglang-qwen3-8b-extend-eager-mi300"} {
		r, _, _, _ := counted(t, testdata.Shared(t, "traces/torch/"+f+".json.gz"))
		covered(f, r, 0.9)
	}
	for _, c := range known {
		covered(c.file, analyse(t, c.file, c.config, roofline.Options{}), 0.95)
	}
}

// TestPeaksOfAGPUThatIsNotKnown: with the peaks of a GPU passes have the floors that they have with its name, less those
// of operators whose bytes its cache may have held.
func TestPeaksOfAGPUThatIsNotKnown(t *testing.T) {
	g, ok := hardware.Named(hardware.Table(), "a100-sxm4-80")
	if !ok {
		t.Fatal("no A100 in the table")
	}
	peaks := map[string]float64{"memory": g.Bandwidth.Value}
	for dtype, f := range g.FLOP {
		peaks[dtype] = f.Value
	}
	n, floors := 0, 0
	for _, path := range testdata.SharedGlob(t, "traces/torch/*") {
		tr, err := trace.Open(t.Context(), path, trace.Options{})
		if err != nil {
			continue
		}
		a, err := layer.Analyze(t.Context(), tr, layer.Options{})
		if err != nil || len(a.Devices) == 0 || roofline.GPUOf(&a.Devices[0]) != nil {
			continue
		}
		n++
		light := func(o roofline.Options) *roofline.Report {
			r, err := roofline.Analyze(t.Context(), a, o)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		named, given := light(roofline.Options{Device: g.ID}), light(roofline.Options{Peaks: peaks})
		if given.GPU == nil || !strings.Contains(given.GPUWhy, "peaks asked for") {
			t.Errorf("%s: GPU %v (%s)", path, given.GPU, given.GPUWhy)
		}
		for i := range named.Passes {
			want, got := named.Passes[i].Floor, given.Passes[i].Floor
			if want > 0 {
				floors++
			}
			if got > want+want/50 || got < want-want/5 {
				t.Errorf("%s, pass %d: floor %v with the peaks, %v with the name", path, i, got, want)
			}
		}
	}
	if n == 0 || floors == 0 {
		t.Errorf("%d traces of an unknown GPU, %d passes with a floor", n, floors)
	}
}

// TestMeasuredPeaks: where arithmetic bounds products, they gain what they take above what the GPU's vendor reaches.
func TestMeasuredPeaks(t *testing.T) {
	for file, want := range map[string]string{
		"sglang-qwen3-8b-extend-eager-mi300": "what the vendor's tuned GEMMs reach: 54% of that peak (bf16, 708 TFLOP/s).",
		"hf-qwen1.5-0.5b-eager-h100":         "", // not measured
	} {
		r, _, _, _ := counted(t, testdata.Shared(t, "traces/torch/"+file+".json.gz"))
		i := slices.IndexFunc(r.Findings, func(f finding.Finding) bool { return f.Code == "products" })
		if i < 0 || strings.Contains(r.Findings[i].Evidence, "vendor") != (want != "") ||
			!strings.Contains(r.Findings[i].Evidence, want) {
			t.Errorf("%s: %+v, want %q", file, r.Findings, want)
			continue
		}
		var gain time.Duration
		for _, row := range r.Operators {
			if row.Category != "gemm" || row.Floor == 0 {
				continue
			}
			least := row.Floor
			if best := r.GPU.Measured["bf16"]; best.Known() && row.Bound == "compute" {
				least = time.Duration(float64(row.Floor) * r.GPU.FLOP["bf16"].Value / best.Value)
			}
			gain += max(0, row.Time-least)
		}
		if got := r.Findings[i].PerStep; max(got-gain, gain-got) > gain/100 {
			t.Errorf("%s: gain of %v, want %v", file, got, gain)
		}
	}
}
