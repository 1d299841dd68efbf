package chain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/profile/hardware"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// launchedOp is a kernel with the op that launches it, its inputs as a trace has them, and how long it runs.
type launchedOp struct {
	op, dims string
	ns       int64
}

// launchedOps are kernels one after the other, all tensors of fp32, with their ops counted.
func launchedOps(t *testing.T, list ...launchedOp) (*activity.Trace, Ops) {
	t.Helper()
	var events []string
	for i, k := range list {
		at := 100 * (i + 1) // µs
		types := strings.Repeat(`"float",`, strings.Count(k.dims, "],[")+1)
		events = append(events, fmt.Sprintf(`{"ph":"X","cat":"cpu_op","name":%q,"pid":1,"tid":1,"ts":%d,"dur":20,"args":{`+
			`"External id":%d,"Input Dims":%s,"Input type":[%s]}}`, k.op, at, i+1, k.dims, strings.TrimSuffix(types, ",")),
			fmt.Sprintf(`{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":%d,"dur":2,"args":{`+
				`"External id":%d,"correlation":%d}}`, at+5, i+1, i+1),
			fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":%d,"dur":%.3f,"args":{"External id":%d,`+
				`"correlation":%d,"device":0,"stream":7}}`, at+30, float64(k.ns)/1000, i+1, i+1))
	}
	text := strings.NewReader(`{"traceEvents":[` + strings.Join(events, ",") + `]}`)
	tr, err := trace.Read(t.Context(), text, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	an, err := layer.Analyze(t.Context(), tr, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := activity.NewPool().Collect(t.Context(), an, "", "")
	ops, err := OpsOf(t.Context(), []*activity.Trace{w}, &roofline.Counter{})
	if err != nil {
		t.Fatal(err)
	}
	return w, ops
}

// TestPriceByShapes: tensors of ten fp32 numbers are 40 bytes. Of two products of elements and an activation 320 bytes
// are moved; 80 must go in and 40 out at least, and 40 more in where the second product reads what nobody read.
func TestPriceByShapes(t *testing.T) {
	const two, one = "[[10],[10]]", "[[10]]"
	mul, relu := launchedOp{"aten::mul", two, 100}, launchedOp{"aten::relu", one, 110}
	for _, c := range []struct {
		what    string
		sorts   []runSort
		kernels []launchedOp
		want    Price
	}{
		// Kernels take what their bytes take: 320·(1−120/320) = 200 ns. With a launch of 20 ns: 320−20−260·120/320 = 203.
		// All that may go in and out is half of what is moved: 160 ns.
		{"a chain", make([]runSort, 3), []launchedOp{mul, mul, {"aten::relu", one, 120}},
			Price{Low: 160, GPU: 203, High: 203, Moved: 320, Needed: 120, Sized: 1, Launches: 2, Gaps: 10_000}},
		// The sum is written: 160 of 320 bytes, and 200 at most. 320−20−260/2 = 170.
		{"a residual sum", []runSort{{}, {add: true}, {}}, []launchedOp{mul, mul, {"aten::relu", one, 120}},
			Price{Low: 120, GPU: 170, High: 170, Moved: 320, Needed: 160, Sized: 1, Launches: 2, Gaps: 10_000}},
		{"other sizes", make([]runSort, 2), []launchedOp{mul, {"aten::relu", "[[20]]", 100}},
			Price{Low: 0, GPU: 20, High: 20, Moved: 280, Needed: 280, Sized: 1, Launches: 1, Gaps: 5000}},
		{"copies of different tensors", []runSort{{word: wordCopy}, {word: wordCopy}},
			[]launchedOp{{"aten::relu", one, 100}, relu}, Price{Low: 0, GPU: 63, High: 63, Moved: 160, Needed: 120, Sized: 1,
				Launches: 1, Gaps: 5000}},
		{"no shapes of one", make([]runSort, 2), []launchedOp{mul, {"aten::relu", "[[]]", 100}},
			Price{Low: 100, GPU: 100, High: 100, Launches: 1, Gaps: 5000}},
		// The first writes a third of what it moves: 2·24/3 = 16 ns are saved, with a launch of 20 ns 20+2·4/3 = 23.
		{"a smaller result", []runSort{{moves: moves{1, 0.5}}, {}}, []launchedOp{{"aten::relu", "[[]]", 24},
			{"aten::relu", "[[]]", 40}}, Price{Low: 16, GPU: 23, High: 23, Launches: 1, Gaps: 5000}},
	} {
		w, ops := launchedOps(t, c.kernels...)
		p := &Pricer{ops: ops, sorts: c.sorts, sortOf: map[*activity.Trace][]int32{w: {0, 1, 2}}, launch: 20}
		var acts []int32
		for i := range c.kernels {
			acts = append(acts, int32(i))
			p.sorts[i].moves = cmp.Or(p.sorts[i].moves, moves{1, 1})
		}
		if got := p.price(w, acts); got != c.want {
			t.Errorf("%s: %+v\nwant %+v", c.what, got, c.want)
		}
	}
}

// TestPriceOfAttentionByShapes: two products of 20 µs around a softmax of 5 µs. Scores are 64·64 numbers of 4 bytes,
// the other tensors 64·8. One kernel saves the softmax at least. A GPU of 10 GFLOP/s takes 13.1 µs for the 131072
// operations of the products, and at half of its peak, as fused attention has it, 26.2 µs.
func TestPriceOfAttentionByShapes(t *testing.T) {
	w, ops := launchedOps(t, launchedOp{"aten::bmm", "[[1,64,8],[1,8,64]]", 20_000},
		launchedOp{"aten::softmax", "[[1,64,64]]", 5000}, launchedOp{"aten::bmm", "[[1,64,64],[1,64,8]]", 20_000})
	gpu := &hardware.GPU{FLOP: map[string]hardware.Figure{"tf32": {Value: 1e10}, "fp32": {Value: 1e10}},
		Bandwidth: hardware.Figure{Value: 1e9}, Part: 1}
	p := &Pricer{ops: ops, sorts: []runSort{{product: true}, {}}, sortOf: map[*activity.Trace][]int32{w: {0, 1, 0}},
		launch: 1000}
	for _, c := range []struct {
		gpu  *hardware.GPU
		ops  Ops
		want Price
	}{
		{nil, ops, Price{Low: 5000, GPU: 25_000, High: 44_000, Moved: 2*20480 + 2*16384, Launches: 2, Gaps: 10_000}},
		{gpu, ops, Price{Low: 5000, GPU: 18_786, High: 31_893, Moved: 2*20480 + 2*16384, Needed: 4 * 2048, Sized: 1,
			Launches: 2, Gaps: 10_000}},
		{gpu, nil, Price{Low: 5000, GPU: 25_000, High: 44_000, Launches: 2, Gaps: 10_000}},
	} {
		p.gpu, p.ops = c.gpu, c.ops
		if got := p.attention(w, []int32{0, 1, 2}); got != c.want {
			t.Errorf("%+v\nwant %+v", got, c.want)
		}
	}
}

// TestTensorsOfOps: the inputs as far as their bytes are the op's, and what is left is the output.
func TestTensorsOfOps(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	names := []string{"aten::add", "aten::copy_", "aten::cat"}
	for i, n := range names {
		b.Add(trace.EventData{Kind: event.Op, Name: n, Start: int64(10 * i), Duration: 5, Thread: 1})
	}
	tr, err := b.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		op          int
		bytes       float64
		dims, types string
		in          []float64
		out         float64
	}{
		{0, 120, "[[10],[10]]", `["float","float"]`, []float64{40, 40}, 40},
		{0, 3, "[[1],[1]]", `["bool","bool"]`, []float64{1, 1}, 1},
		{0, 40, "[[10],[10]]", `["float","float"]`, []float64{40}, 0},
		{0, 80, "[[],[10]]", `["Scalar","float"]`, []float64{40}, 40},
		{1, 100, "[[10],[15]]", `["float","float"]`, []float64{60}, 40},
		{2, 100, "[[],[]]", `["TensorList","Scalar"]`, []float64{50}, 50},
	} {
		op := roofline.Op{Event: tr.LaneAt(event.LaneOp, c.op), Inputs: roofline.ReadInputs(c.dims, c.types, "", "")}
		op.Bytes = c.bytes
		if in, out := tensorsOf(&op); !slices.Equal(in, c.in) || out != c.out {
			t.Errorf("%s %s: %v and %v, want %v and %v", names[c.op], c.dims, in, out, c.in, c.out)
		}
	}
}

// TestTrafficByHand: after a product of 100 ns what follows reads its result; what adds a residual reads another tensor
// besides. Kernels no longer than a launch move nothing.
func TestTrafficByHand(t *testing.T) {
	product, sum, norm := runSort{border: true, product: true}, runSort{moves: moves{2, 2}}, runSort{moves: moves{1, 1}}
	times := runSort{moves: moves{2, 1}, times: true}
	for _, c := range []struct {
		what   string
		sorts  []runSort
		ns     []int64
		launch int64
		want   float64
	}{
		{"product, sum and norm", []runSort{product, sum, norm}, []int64{100, 40, 20}, 0, 10 + 2*10},
		{"product and norm", []runSort{product, norm}, []int64{100, 20}, 0, 10},
		{"norm and product", []runSort{norm, product}, []int64{20, 100}, 0, 10},
		{"shorter than a launch", []runSort{norm, norm}, []int64{5, 20}, 10, 0},
		{"longer than a launch", []runSort{norm, norm}, []int64{12, 20}, 10, 2 * 1},
		// of 30 ns for one large operand and the result: nearer to the 14 that its neighbour made than a third
		{"one operand", []runSort{norm, times}, []int64{28, 30}, 0, 2 * 14},
		{"two operands", []runSort{norm, times}, []int64{18, 30}, 0, 2 * 9},
	} {
		var spans [][2]int64
		var acts []int32
		for i, ns := range c.ns {
			spans, acts = append(spans, [2]int64{int64(1000 * i), int64(1000*i) + ns}), append(acts, int32(i))
		}
		w := ran(t, spans...)
		p := &Pricer{sorts: c.sorts, sortOf: map[*activity.Trace][]int32{w: {0, 1, 2}}}
		if got := p.passed(w, acts, c.launch); got != c.want || math.IsNaN(got) {
			t.Errorf("%s: %v ns, want %v", c.what, got, c.want)
		}
	}
	w := ran(t, [2]int64{0, 10}, [2]int64{20, 20})
	p := &Pricer{sorts: []runSort{norm}, sortOf: map[*activity.Trace][]int32{w: {0, 0}}}
	if got := p.kept(w, []int32{0, 1}, 10); got != 1 {
		t.Errorf("of no traffic %v is kept, want all", got)
	}
}
