package layer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/layer/internal/ladder"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// onCPU is an event of thread 1.
func onCPU(kind event.Kind, name string, start, end int64) trace.EventData {
	return trace.EventData{Kind: kind, Name: name, Start: start, Duration: end - start, Thread: 1, Device: trace.None,
		Stream: trace.None}
}

// kernelsAt collects kernels that run for 10 ns each, one after the other, beside events of the CPU; each is
// launched at its start, 0 where it is not.
func kernelsAt(others []trace.EventData, names string, launches ...int64) *trace.Trace {
	b := trace.NewBuilder(trace.Options{})
	for _, e := range others {
		b.Add(e)
	}
	for i, name := range names {
		e := trace.EventData{Kind: event.Kernel, Name: "kernel_" + string(name), Start: 100_000 + 20*int64(i),
			Duration: 10, Stream: 7}
		if i < len(launches) && launches[i] > 0 {
			e.Correlation = uint64(i + 1)
			call := onCPU(event.Runtime, "cudaLaunchKernel", launches[i], launches[i]+1)
			call.Correlation = e.Correlation
			b.Add(call)
		}
		b.Add(e)
	}
	return built.Trace(b)
}

// TestMostLayers: as many layers may be asked for as a config may have.
func TestMostLayers(t *testing.T) {
	for n, ok := range map[int]bool{-1: false, 0: true, 4096: true, 4097: false} {
		if err := (&Options{NumLayers: n}).checkLayers(); (err == nil) != ok {
			t.Errorf("%d layers: %v", n, err)
		}
	}
	tr := kernelsAt(nil, "a")
	passes := func(index int) []GivenPass {
		return []GivenPass{{Layers: []GivenLayer{{Index: index,
			Kernels: []trace.EventID{tr.LaneAt(event.LaneGPU, 0).ID()}}}}}
	}
	if _, err := Assemble(t.Context(), tr, passes(4095), Options{}); err != nil {
		t.Error(err)
	}
	if _, err := Assemble(t.Context(), tr, passes(4096), Options{}); err == nil ||
		!strings.Contains(err.Error(), "0…4095") {
		t.Errorf("layer 4096: %v", err)
	}
}

// TestGivenPassesAreMeasured: what is not given follows from the kernels, and what nobody says is unknown.
func TestGivenPassesAreMeasured(t *testing.T) {
	tr := kernelsAt(nil, "xabcy")
	id := func(i int) trace.EventID { return tr.LaneAt(event.LaneGPU, i).ID() }
	given := GivenPass{Kernels: []trace.EventID{id(0), id(4)}, Partial: CutAtStart,
		Layers: []GivenLayer{{Index: 0, Kernels: []trace.EventID{id(1)}},
			{Index: 1, Kernels: []trace.EventID{id(2), id(3)}}}}
	for _, c := range []struct {
		name      string
		pass, end trace.Time // that are given, of the pass and its first layer
		want      string
	}{
		{"nothing", 0, 0, "0-90, layers 20-30 40-70"}, {"the end of the pass", 200, 0, "0-200, layers 20-30 40-70"},
		{"the end of a layer", 0, 35, "0-90, layers 20-35 40-70"},
	} {
		g := given
		g.End, g.Layers = c.pass, append([]GivenLayer(nil), given.Layers...)
		g.Layers[0].End = c.end
		a, err := Assemble(t.Context(), tr, []GivenPass{g}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		p := &a.Devices[0].Passes[0]
		got := fmt.Sprintf("%d-%d, layers", p.Start, p.End)
		for _, l := range p.Layers() {
			got += fmt.Sprintf(" %d-%d", l.Start, l.End)
			if l.CompressRatio != -1 {
				t.Errorf("%s: layer %d has ratio %d", c.name, l.Index, l.CompressRatio)
			}
		}
		if got != c.want || p.Batch != -1 || p.Tokens != -1 || p.Rows != -1 || p.Prologue != 1 || p.Epilogue != 1 {
			t.Errorf("%s: %s, want %s; %+v", c.name, got, c.want, p)
		}
	}
}

// TestCutLayers: of a pass that the window cuts the first layer is cut, the last one, or neither.
func TestCutLayers(t *testing.T) {
	tr := kernelsAt(nil, "abc")
	var layers []GivenLayer
	for i := range 3 {
		layers = append(layers, GivenLayer{Index: i, Kernels: []trace.EventID{tr.LaneAt(event.LaneGPU, i).ID()}})
	}
	for _, c := range []struct {
		first, last bool
		want        string
	}{{false, false, "---"}, {true, false, "x--"}, {false, true, "--x"}, {true, true, "x-x"}} {
		a, err := Assemble(t.Context(), tr, []GivenPass{{Layers: layers}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		p := &a.Devices[0].Passes[0]
		p.cutFirst, p.cutLast = c.first, c.last
		got := ""
		for i, l := range p.Layers() {
			got += map[bool]string{true: "x", false: "-"}[l.Partial]
			if l.Kind != i {
				t.Errorf("layer %d of other kernels is of kind %d", i, l.Kind)
			}
		}
		if got != c.want {
			t.Errorf("first %v, last %v: %s, want %s", c.first, c.last, got, c.want)
		}
	}
}

// TestPassesWithoutKernels: a step that launched nothing follows the pass before it.
func TestPassesWithoutKernels(t *testing.T) {
	a, err := Analyze(t.Context(), kernelsAt(nil, "a"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := &a.Devices[0]
	w := &work{Work: &ladder.Work{}}
	for n, want := range map[int]trace.Time{0: 0, 1: 500, 2: 700} {
		d.Passes = []ForwardPass{{End: 500}, {End: 700}}[:n]
		d.columns.starts = make([]int32, n+2)
		if p := w.buildPass(d, n, &ladder.Result{}); p.Start != want || p.End != want {
			t.Errorf("behind %d passes: from %d to %d, want %d", n, p.Start, p.End, want)
		}
	}
}

// TestStepsOfPlans: what has an input width is a product.
func TestStepsOfPlans(t *testing.T) {
	for k, want := range map[int]bool{0: false, 1: true, 8: true} {
		if s := stepsOf([]profile.PlanOp{{K: k, N: 16}})[0]; s.Product != want || s.K != k || s.N != 16 {
			t.Errorf("%d by 16: %+v", k, s)
		}
	}
}

// TestSidesOfWeights: the shapes of a product's op show the sides of its weight, where it is known which of its
// inputs that is.
func TestSidesOfWeights(t *testing.T) {
	for _, c := range []struct{ op, dims, want string }{
		{"aten::mm", "[[4,8],[8,16]]", "8 16"}, {"aten::addmm", "[[16],[4,8],[8,16]]", "8 16"},
		{"aten::linear", "[[4,8],[16,8]]", "0 0"}, {"aten::mm", "[[4,8]]", "0 0"}, {"aten::mm", "[[4,8],[8]]", "0 0"},
		{"aten::mm", "[[4,8],[8,16,2]]", "0 0"}, {"aten::mm", "[[4,8],[-8,-16]]", "0 0"}, {"aten::mm", "", "0 0"},
		{"", "", "0 0"},
	} {
		var ops []trace.EventData
		if c.op != "" {
			op := onCPU(event.Op, c.op, 1000, 1010)
			op.Shape = c.dims
			ops = append(ops, op)
		}
		tr := kernelsAt(ops, "ab", 1003, 1005)
		w := &work{Work: ladder.Collect(never, tr, tr.Devices()[0], []int32{0, 1})}
		for i := range int32(2) { // the second is known by then
			k, n := w.weightOf(i)
			if got := fmt.Sprint(k, n); got != c.want {
				t.Errorf("%s of %s: %s, want %s", c.op, c.dims, got, c.want)
			}
		}
	}
}

// TestFramesTellOfLaunches: the innermost frame in a file that defines models gives the line, else one in a file of
// building blocks; functions show the stage.
func TestFramesTellOfLaunches(t *testing.T) {
	const model, block, stage = "sglang/srt/models/qwen3.py(%d): forward", "sglang/srt/layers/linear.py(%d): forward",
		"sglang/srt/models/qwen3.py(%d): forward_extend"
	at := func(name string, line int) string {
		if strings.Contains(name, "%d") {
			return fmt.Sprintf(name, line)
		}
		return name
	}
	for _, c := range []struct {
		name   string
		frames []string // the outermost first
		want   string
	}{
		{"none", nil, " unknown "},
		{"a model", []string{model}, "sglang/srt/models/qwen3.py:1 forward unknown "},
		{"a building block in a model", []string{model, block}, "sglang/srt/models/qwen3.py:1 forward unknown "},
		{"a model in a model", []string{model, block, model}, "sglang/srt/models/qwen3.py:3 forward unknown "},
		{"building blocks alone", []string{block, block}, "sglang/srt/layers/linear.py:2 forward unknown "},
		{"a stage", []string{stage}, "sglang/srt/models/qwen3.py:1 forward_extend prefill "},
		{"modules", []string{"nn.Module: Model_0"}, " unknown Model_0"},
		{"modules in modules", []string{"nn.Module: Model_0", "nn.Module: Layer_3"}, " unknown Model_0/Layer_3"},
		{"three of them", []string{"nn.Module: Model_0", "nn.Module: Layer_3", "nn.Module: Linear_9"},
			" unknown Model_0/Layer_3/Linear_9"},
	} {
		var frames []trace.EventData
		for i, f := range c.frames {
			kind := event.Frame
			if strings.HasPrefix(f, "nn.") {
				kind = event.Module
			}
			frames = append(frames, onCPU(kind, at(f, i+1), 1000+int64(i), 2000-int64(i)))
		}
		tr := kernelsAt(frames, "a", 1500)
		l := &modelLines{frameworks: framework.All(), names: tr.NumNames()}
		says := l.of(tr.LaneAt(event.LaneGPU, 0).Frame())
		if got := says.line + " " + string(says.stage) + " " + says.module; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	tr := kernelsAt([]trace.EventData{onCPU(event.Frame, "sglang/srt/managers/scheduler.py(1): run", 1000, 2000)}, "a")
	if got := frameworkOf(tr, framework.All()); got != "SGLang" {
		t.Errorf("one frame of SGLang: %q", got)
	}
}

// TestModelsByTime: the model with most GPU time comes first, drafts last.
func TestModelsByTime(t *testing.T) {
	tr := kernelsAt(nil, "abcdef")
	w := &work{Work: ladder.Collect(never, tr, tr.Devices()[0], []int32{0, 1, 2, 3, 4, 5})}
	result := func(name string, draft bool, kernels ...int32) ladder.Result {
		return ladder.Result{Span: ladder.Span{Model: name, Kernels: kernels, Draft: draft}, Count: 1}
	}
	for _, c := range []struct {
		results []ladder.Result
		want    string
	}{
		{[]ladder.Result{result("A", false, 0)}, "A"},
		{[]ladder.Result{result("A", false, 0), result("B", false, 1, 2)},
			"B A, several models run; of the GPU time: B 33.3% (passes: 1, layers: 0), A 16.7% (passes: 1, layers: 0)"},
		{[]ladder.Result{result("A", true, 0, 1, 2), result("A", false, 3)}, "A draft"},
		{[]ladder.Result{result("A", true, 0, 1, 2), result("A", false, 3), result("B", false, 4)},
			"A B draft, several models run; of the GPU time: A 16.7% (passes: 1, layers: 0), B 16.7% (passes: 1, layers: 0)"},
	} {
		d := &Device{Time: 60}
		w.times, w.attention = nil, make([]attention, len(c.results))
		for p := range c.results {
			w.times = append(w.times, passTime{all: 10 * time.Duration(len(c.results[p].Kernels))})
			stage := StageUnknown
			if c.results[p].Draft {
				stage = StageDraft
			}
			d.Passes = append(d.Passes, ForwardPass{Index: p, Stage: stage})
		}
		d.listModels(w, c.results)
		var titles []string
		for _, m := range d.Models {
			titles = append(titles, m.Title())
		}
		if got := strings.Join(append([]string{strings.Join(titles, " ")}, d.Notes...), ", "); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}

// TestProductsOfExperts: what is between the choice of the experts and their other work, on the stream of the
// choice, is theirs.
func TestProductsOfExperts(t *testing.T) {
	names := map[rune]string{
		'r': "void vllm::moe::topkGatingSoftmax<4, 128, 4, 16, int>(P)", 'p': "nvjet_tst_64x8_64x16_4x1_v_bz_TNT",
		'f': "void vllm::moe::moe_sum_kernel<c10::BFloat16, 8>(P)",
		'n': "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(P)",
	}
	for _, c := range []struct{ kernels, want string }{
		{"nprpf", "[3]"}, {"nprppf", "[3 4]"}, {"nprpnpf", "[]"}, {"nppf", "[]"}, {"nprfp", "[]"}, {"nprpfp", "[3]"},
	} {
		b := trace.NewBuilder(trace.Options{})
		for i, k := range c.kernels {
			b.Add(trace.EventData{Kind: event.Kernel, Name: names[k], Start: 1000 + 20*int64(i), Duration: 10,
				Stream: 7})
		}
		a, err := Analyze(t.Context(), built.Trace(b), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var rows []int32
		for i := range c.kernels {
			rows = append(rows, int32(i))
		}
		w := &work{Work: ladder.Collect(never, a.Trace(), a.Devices[0].ID, rows)}
		if got := fmt.Sprint(w.expertProducts(&a.Devices[0], rows)); got != c.want {
			t.Errorf("%s: %s, want %s", c.kernels, got, c.want)
		}
	}
}

// lettered analyses one pass of kernels by letters, see lineNames.
func lettered(t *testing.T, text string, o Options) *Device {
	t.Helper()
	b := trace.NewBuilder(trace.Options{})
	for i, k := range text {
		name, ok := lineNames[k]
		if !ok {
			name = "kernel_" + string(k)
		}
		b.Add(trace.EventData{Kind: event.Kernel, Name: name, Start: 1000 + 20*int64(i), Duration: 10, Stream: 7})
	}
	a, err := Analyze(t.Context(), built.Trace(b), o)
	if err != nil {
		t.Fatal(err)
	}
	return &a.Devices[0]
}

// TestOtherStaysOther: a kernel that nothing shows has no operator, and no confidence.
func TestOtherStaysOther(t *testing.T) {
	d := lettered(t, strings.Repeat("ngaxgng", 6), Options{NumLayers: 6})
	told := 0
	for k := range d.Kernels() {
		op, _, conf := k.Operator()
		if unknown := strings.HasPrefix(k.Event().Name(), "kernel_"); unknown && (op != noOperator.name || conf != 0) {
			t.Errorf("kernel %d is %s by %v", k.Index(), op, conf)
		} else if !unknown && op != noOperator.name {
			told++
		}
	}
	if told < 12 {
		t.Errorf("%d kernels have an operator", told)
	}
	if notes := strings.Join(d.Notes, "\n"); strings.Contains(notes, "halves") {
		t.Errorf("one stream runs %q", notes)
	}
}

// TestNumberOfLayersIsTaken: from the options, or from the config; of one layer, too.
func TestNumberOfLayersIsTaken(t *testing.T) {
	for _, c := range []struct {
		flag, config int
		want         string
	}{{1, 0, "1 flag"}, {2, 1, "2 flag"}, {0, 1, "1 config"}, {0, 0, "0 "}} {
		o := Options{NumLayers: c.flag}
		if c.config > 0 {
			o.Config = &profile.Config{NumLayers: c.config}
		}
		d := lettered(t, "nga", Options{})
		w := &work{Work: ladder.Collect(never, d.of.trace, d.ID, []int32{0, 1, 2}), opts: o}
		if m := w.model(d); fmt.Sprint(m.Layers, " ", m.Source) != c.want {
			t.Errorf("%d asked for, %d in the config: %d from %q, want %s", c.flag, c.config, m.Layers, m.Source,
				c.want)
		}
	}
}

// TestKernelsOfGivenPasses: the first of the layers, else of the rest; and evidence of layers is that of passes which
// have some.
func TestKernelsOfGivenPasses(t *testing.T) {
	layers := func(kernels ...trace.EventID) []GivenLayer { return []GivenLayer{{}, {Kernels: kernels}} }
	for _, c := range []struct {
		g    GivenPass
		want trace.EventID
	}{
		{GivenPass{}, trace.None}, {GivenPass{Kernels: []trace.EventID{7}}, 7},
		{GivenPass{Layers: layers(5), Kernels: []trace.EventID{7}}, 5},
		{GivenPass{Layers: layers(), Kernels: []trace.EventID{7, 8}}, 7},
	} {
		if got := c.g.first(); got != c.want {
			t.Errorf("%+v: %d, want %d", c.g, got, c.want)
		}
	}
	d := &Device{}
	d.addGivenEvidence([]GivenPass{{Evidence: Evidence{Kind: "x", Confidence: 0.8}},
		{Evidence: Evidence{Kind: "x", Confidence: 0.6}, Layers: layers()[:1]}})
	want := []Evidence{{For: "passes", Kind: "x", Passes: 2, Confidence: 0.6},
		{For: "layers", Kind: "x", Passes: 1, Confidence: 0.6}}
	if fmt.Sprint(d.Evidence) != fmt.Sprint(want) {
		t.Errorf("%+v, want %+v", d.Evidence, want)
	}
}

// TestMappingsOfOtherModels: a mapping of another GPU or number of layers is refused, and one where fewer than six in
// ten replayed kernels find one of their name.
func TestMappingsOfOtherModels(t *testing.T) {
	for _, c := range []struct {
		name        string
		own, other  int // layers
		gpus        string
		passes      []ForwardPass
		want        string
		forced, mix bool
	}{
		{"as many layers", 1, 1, "", []ForwardPass{{}}, "", false, false},
		{"more", 1, 2, "", []ForwardPass{{}}, "its model has 2 layers, this one 1", false, false},
		{"fewer", 2, 1, "", []ForwardPass{{}}, "its model has 1 layers, this one 2", false, false},
		{"more, of a pass that is cut", 1, 2, "", []ForwardPass{{Partial: CutAtEnd}}, "", false, false},
		{"more, and no pass", 1, 2, "", nil, "", false, false},
		{"not known here", 0, 2, "", []ForwardPass{{}}, "", false, false},
		{"not known there", 2, 0, "", []ForwardPass{{}}, "", false, false},
		{"another GPU", 2, 2, "A B", []ForwardPass{{}}, "it ran on B, this trace on A: kernels differ", false, false},
		{"another GPU, forced", 2, 2, "A B", []ForwardPass{{}}, "", true, false},
	} {
		d := &Device{NumLayers: c.own, of: &Analysis{opts: Options{ForceMapping: c.forced,
			Mapping: &Analysis{Devices: []Device{{NumLayers: c.other, Passes: c.passes}}}}}}
		d.GPU, d.of.opts.Mapping.Devices[0].GPU, _ = strings.Cut(c.gpus, " ")
		if got := d.foreignMapping(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	d := lettered(t, strings.Repeat("ngaxg", 4), Options{NumLayers: 4})
	d.of.opts.Mapping = &Analysis{}
	if all := d.Passes[0].Kernels - d.Passes[0].Prologue - d.Passes[0].Epilogue; all != 20 {
		t.Fatalf("%d kernels in layers, want 20", all)
	}
	kernel := d.Kernel(0).Event()
	twins := []Twin{{}, {Kernel: kernel, How: HowName}, {Kernel: kernel, How: HowVariant},
		{Kernel: kernel, How: HowRole}, {How: HowPosition}}
	for _, c := range []struct {
		how  int
		n    int // kernels of twenty
		want bool
	}{{1, 20, true}, {1, 12, true}, {1, 11, false}, {2, 12, true}, {3, 20, false}, {4, 12, true}, {0, 20, false}} {
		of := make([]int32, d.NumKernels())
		for i := range c.n {
			of[i] = int32(c.how)
		}
		if why := d.unlikeMapping(of, twins); (why == "") != c.want || why != "" && c.how == 1 &&
			!strings.HasPrefix(why, "only 11 of 20") {
			t.Errorf("%d of 20 kernels by %q: %q", c.n, twins[c.how].How, why)
		}
	}
}

// TestPassesThatExplainOthers: a pass more than half of whose kernels were launched one by one, in layers, explains others; a
// launch of a kernel's own explains it for certain.
func TestPassesThatExplainOthers(t *testing.T) {
	for inLayers, want := range map[int]int{1: 0, 2: 0, 3: 1, 4: 1} {
		tr := kernelsAt(nil, "abcd", 1000, 1010, 1020, 1030)
		var g GivenPass
		for i := range 4 {
			id := tr.LaneAt(event.LaneGPU, i).ID()
			if i >= inLayers {
				g.Kernels = append(g.Kernels, id)
				continue
			}
			g.Layers = append(g.Layers, GivenLayer{Index: i, Kernels: []trace.EventID{id}})
		}
		a, err := Assemble(t.Context(), tr, []GivenPass{g}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		d := &a.Devices[0]
		if got := len(d.eagerLines(&symbols{}, d.eagerKernels(), false)); got != want {
			t.Errorf("%d of 4 kernels in layers: %d references, want %d", inLayers, got, want)
		}
		if tw := d.Kernel(0).Twin(); tw.Confidence != 1 || tw.How != HowLaunch || tw.Kernel != d.Kernel(0).Event() {
			t.Errorf("a kernel that was launched: %+v", tw)
		}
	}
}

// TestNothingFoundIsSaid: where no layers are found a note says so, and where one is it does not.
func TestNothingFoundIsSaid(t *testing.T) {
	for n, want := range map[int]bool{0: true, 1: false} {
		if got := strings.Contains(strings.Join(lettered(t, "xyz", Options{NumLayers: n}).Notes, "\n"),
			"no layers found"); got != want {
			t.Errorf("%d layers: said %v, want %v", n, got, want)
		}
	}
}

// TestAnnotatedNumbersStay: a step that says that it has no tokens and no requests has none, and one that does not
// say it has an unknown number.
func TestAnnotatedNumbersStay(t *testing.T) {
	for name, want := range map[string]string{"execute_context_0(0)_generation_0(0)": "0 0 annotation",
		"execute_context_0(0)_generation_4(4)": "4 4 annotation", "step[TARGET_VERIFY bs=4]": "4 -1 "} {
		a, err := Analyze(t.Context(), kernelsAt([]trace.EventData{onCPU(event.Annotation, name, 1000, 2000)}, "abc",
			1100, 1200, 1300), Options{})
		if err != nil {
			t.Fatal(err)
		}
		p := &a.Devices[0].Passes[0]
		if got := fmt.Sprint(p.Batch, " ", p.Tokens, " ", p.TokenEvidence); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestMainReplayStream: the one that most replayed kernels run on, of as many the first; kernels that were launched one
// by one do not count.
func TestMainReplayStream(t *testing.T) {
	for streams, want := range map[string]string{"": "0 false", "7": "7 false", "77": "7 false", "78": "7 true",
		"788": "8 true", "7788": "7 true", "8e9e7": "7 false", "78e8e": "7 false"} {
		b := trace.NewBuilder(trace.Options{})
		call := onCPU(event.Runtime, "cudaGraphLaunch", 1000, 1010)
		call.Correlation = 500
		b.Add(call)
		var kernels []int32
		add := func(e trace.EventData) {
			e.Kind, e.Name, e.Start, e.Duration = event.Kernel, "k", 2000+20*int64(len(kernels)), 10
			kernels = append(kernels, int32(len(kernels)))
			b.Add(e)
		}
		for i, c := range streams {
			switch {
			case c == 'e':
			case strings.HasPrefix(streams[i+1:], "e"):
				add(trace.EventData{Stream: trace.StreamID(c - '0')})
			default:
				add(trace.EventData{Stream: trace.StreamID(c - '0'), Correlation: 500, GraphNode: uint64(i + 1)})
			}
		}
		w := &work{Work: ladder.Collect(never, built.Trace(b), 0, kernels)}
		main, several := w.mainReplayStream(kernels)
		if got := fmt.Sprint(main, several); got != want {
			t.Errorf("%s: %s, want %s", streams, got, want)
		}
	}
}
