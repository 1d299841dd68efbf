package compare

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
)

// The value below which half of the weight lies; between two values where exactly half does.
func TestWeightedMedian(t *testing.T) {
	for _, c := range []struct {
		values, weights []float64
		want            float64
	}{
		{nil, nil, 0}, {[]float64{3}, []float64{2}, 3}, {[]float64{2, 1}, []float64{1, 1}, 1.5},
		{[]float64{1, 2, 4}, []float64{1, 1, 2}, 3}, {[]float64{4, 2, 1}, []float64{1, 1, 1}, 2},
		{[]float64{1, 2, 3}, []float64{1, 1, 3}, 3}, {[]float64{1, 2, 3}, []float64{3, 1, 1}, 1},
		{[]float64{1, 2, 8, 9}, []float64{1, 2, 1, 2}, 5},
	} {
		if got := weightedMedian(c.values, c.weights); got != c.want {
			t.Errorf("of %v by %v: %v, want %v", c.values, c.weights, got, c.want)
		}
	}
}

// Two kinds are apart by more than either is wide, and by more than a twentieth of the median.
func TestTwoKinds(t *testing.T) {
	for name, c := range map[string]struct {
		x    []float64
		want bool
	}{
		"as far as wide":        {[]float64{10, 10, 10, 10, 11, 12, 12, 12}, false},
		"farther than wide":     {[]float64{10, 10, 10, 10, 11.2, 12, 12, 12}, true},
		"a twentieth":           {[]float64{97.5, 97.5, 102.5, 102.5}, false},
		"more than a twentieth": {[]float64{97.4, 97.4, 102.6, 102.6}, true}, "equal": {[]float64{1, 1, 1, 1}, false},
	} {
		low, high, ok := bimodal(c.x)
		if ok != c.want || ok && (low >= high || low != median(c.x[:len(c.x)/2])) {
			t.Errorf("%s: %v and %v, %v", name, low, high, ok)
		}
	}
}

// The thresholds of Holm's method by hand: 0.01/3, 0.01/2, 0.01.
func TestHolm(t *testing.T) {
	for _, c := range []struct {
		ps   []float64
		want []bool
	}{
		{nil, []bool{}}, {[]float64{0.01}, []bool{true}}, {[]float64{0.0101}, []bool{false}},
		{[]float64{0.009, 0.003, 0.0049}, []bool{true, true, true}},
		{[]float64{0.009, 0.0034, 0.0049}, []bool{false, false, false}},
		{[]float64{0.009, 0.003, 0.0051}, []bool{false, true, false}}, {[]float64{0.01, 0.005}, []bool{true, true}},
	} {
		if got := holm(c.ps, 0.01); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.ps, got, c.want)
		}
	}
}

// What single passes show, by hand: the standard error of 1, 2, 3, 4 is √(5/3/4), a value of a row moves at most
// three scaled deviations.
func TestSpreadByHand(t *testing.T) {
	if got, want := standardError([]float64{1, 2, 3, 4}), math.Sqrt(5.0/12); math.Abs(got-want) > 1e-12 {
		t.Errorf("standard error %v, want %v", got, want)
	}
	if got, want := deviation([]float64{1, 2, 3, 4}), math.Sqrt(5.0/3); math.Abs(got-want) > 1e-12 {
		t.Errorf("deviation %v, want %v", got, want)
	}
	far := 3 * 1.4826
	if got := winsorised([]float64{0, 1, 2, 3, 100}); math.Abs(got[4]-(2+far)) > 1e-9 || got[0] != 0 {
		t.Errorf("winsorised %v, want the last at %v", got, 2+far)
	}
	if got := winsorised([]float64{5, 5, 5, 9}); got[3] != 9 {
		t.Errorf("%v: without a deviation nothing is far", got)
	}
	s := series{class: Memory, a: []float64{9, 11}, b: []float64{18, 22, 20}}
	// each side relative to its median
	if got, want := spread(s, 1000), (2*0.1*0.1+2*0.1*0.1)/3; math.Abs(got-want) > 1e-12 {
		t.Errorf("spread %v, want %v", got, want)
	}
	s.class = Waiting
	if got, want := spread(s, 100), (2*0.01*0.01+2*0.02*0.02)/3; math.Abs(got-want) > 1e-12 {
		t.Errorf("spread of waiting %v, want %v", got, want)
	}
	if got := spread(series{a: []float64{1}, b: []float64{2}}, 1); got != 0 {
		t.Errorf("of single passes %v", got)
	}
}

// One value of a side that the other has as well is no change, however far its other values draw it in; one beyond
// them is.
func TestOneValueThatTheOtherSideHas(t *testing.T) {
	many := []float64{2690, 3130, 2700, 2680}
	k := rulerOf(10_000, false)
	for _, c := range []struct {
		one   float64
		there bool
	}{{3130, true}, {3000, true}, {2680, true}, {3131, false}, {2679, false}} {
		for _, s := range []series{{class: Memory, a: many, b: []float64{c.one}},
			{class: Memory, a: []float64{c.one}, b: many}} {
			if s.alsoThere() != c.there {
				t.Errorf("%v beside %v: %v", c.one, many, !c.there)
			}
			if r := k.judge(s, 0, 0.0075); c.there && r.p < 0.3 || c.one == 3131 && r.p > 0.01 {
				t.Errorf("%v beside %v: p %v", c.one, many, r.p)
			}
		}
	}
	if s := (&series{a: []float64{1}, b: []float64{1}}); s.alsoThere() {
		t.Error("two values are no range")
	}
}

// How much a step resembles the one before it, of many short series together as of one long one.
func TestCorrelation(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	steps := func(n int, rho float64) process {
		x, out := r.NormFloat64(), make([]float64, n)
		for i := range out {
			x = rho*x + math.Sqrt(1-rho*rho)*r.NormFloat64()
			out[i] = 100 + x
		}
		return processOf(out)
	}
	for _, rho := range []float64{0, 0.4, 0.8, 0.95} {
		var short []process
		for range 400 {
			short = append(short, steps(12, rho))
		}
		if one, many := correlation(steps(5000, rho)), correlation(short...); math.Abs(one-rho) > 0.04 ||
			math.Abs(many-rho) > 0.04 {
			t.Errorf("%v of one series, %v of short ones, want %v", one, many, rho)
		}
	}
	alternating := processOf([]float64{9, 11, 9, 11, 9, 11, 9, 11})
	for name, p := range map[string]process{"none": {}, "equal steps": processOf([]float64{1, 1, 1, 1, 1, 1}),
		"two steps": processOf([]float64{1, 2}), "steps that alternate": alternating} {
		if got := correlation(p); got != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Steps that jump count as those beside them, and an operation that most steps lack has no typical one.
func TestCalm(t *testing.T) {
	for _, c := range [][2][]float64{
		{{90, 9, 10, 11, 90, 13, 12, 80, 90}, {9, 9, 10, 11, 12, 13, 12, 12, 12}},
		{{9, 90, 11, 10, 12, 8}, {9, 10, 11, 10, 12, 8}}, // beside the first
	} {
		if got := calm(c[0]); !slices.Equal(got, c[1]) {
			t.Errorf("%v: %v, want %v", c[0], got, c[1])
		}
	}
	if got := typicalStep([]float64{0, 0, 5, 0}); got != 0 {
		t.Errorf("rare: %v", got)
	}
}

// Single passes that changed: they are on one side alone, and as many as are nearer to the others than to the usual.
func TestSome(t *testing.T) {
	flat, two := []float64{10, 10, 10, 10, 10, 10}, []float64{10, 10, 10, 20, 10, 20}
	if n, of, ok := some(flat, two); n != 2 || of != 6 || !ok {
		t.Errorf("%d of %d, %v", n, of, ok)
	}
	if n, of, ok := some(two, flat); n != 2 || of != 6 || !ok {
		t.Errorf("%d of %d, %v", n, of, ok)
	}
	if _, _, ok := some(two, two); ok {
		t.Error("on both sides")
	}
	if n, _, ok := some([]float64{20, 20, 20, 20, 20, 20}, two); n != 4 || !ok {
		t.Errorf("%d that are faster, %v", n, ok)
	}
}

// One token a pass is a size like any other.
func TestPerToken(t *testing.T) {
	a, b := plain(1), plain(1)
	for i := range a.Runs[0].Passes {
		a.Runs[0].Passes[i].Tokens, b.Runs[0].Passes[i].Tokens = 1, 2
	}
	r, err := Compare(t.Context(), a, b, Options{PerToken: true})
	if err != nil || r.Wall.B != 4*time.Millisecond ||
		!strings.Contains(strings.Join(r.Notes, "\n"), "B is scaled by 0.5 to the tokens of A") {
		t.Errorf("%v, %v, %s", err, r.Wall, r.Notes)
	}
	back, err := Compare(t.Context(), b, a, Options{PerToken: true})
	if err != nil || back.Wall.B != 16*time.Millisecond {
		t.Errorf("%v, %v", err, back.Wall)
	}
}

// What the text of a comparison of equal runs says. By hand: 4 × 0.005² / 12 times 1.4 / (0.43 × 5) a side, and 2 ×
// 0.0075², are a deviation of 1.11% of 8 ms with 14.3 degrees of freedom: 88.9 µs, 2.14 times that is the interval,
// 2.97 + 1.76 times what would be found.
func TestTextOfEqualRuns(t *testing.T) {
	r := compareSides(t, plain(1), plain(1))
	if r.Likeness != 1 || r.MatchedA != 1 || r.MatchedB != 1 || r.First.Kind != finding.NoKind {
		t.Errorf("likeness %v, matched %v and %v, first %+v", r.Likeness, r.MatchedA, r.MatchedB, r.First)
	}
	if want := "same within 3%: a step takes 8.00 ms instead of 8.00 ms (+0.0%), GPU work 8.00 ms instead of 8.00 ms " +
		"(+0.0%); one run a side, noise of 0.75% assumed"; r.Text != want {
		t.Errorf("%q, want %q", r.Text, want)
	}
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"5 decode passes (batch 8, 8 tokens), 8.00 ms each, 100% of its kernels in graph " +
		"replays, a", "row0      1000.0  1000.0    0.0  +0.0  -23.8 … 23.8 ", " 1 → 1  k0\n",
		"= pass    8000.0  8000.0    0.0  +0.0", "between-run floor 0.75% (assumed for two runs on GPUs of one kind)",
		"kernels  8000.0  8000.0    0.0  -190.2 … 190.2",
		"a change of all GPU work below about 420 µs (5.2% of the mean pass) cannot be distinguished"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "others differ") || strings.Contains(b.String(), "alike in") {
		t.Error(b.String())
	}
	two := compareSides(t, ranked(1), ranked(1))
	if notes := strings.Join(two.Notes, "\n"); strings.Contains(notes, "others differ") ||
		!strings.Contains(notes, "2 ranks are on both sides") {
		t.Error(notes)
	}
	if got := percentOf(-time.Millisecond, 8*time.Millisecond); got != "-12.5%" {
		t.Error(got)
	}
}

// A saved side with a part or pass that cannot be is refused, one at the limits is not.
func TestBoundsOfASide(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(r *Run)
		ok   bool
	}{
		"as it is":            {func(*Run) {}, true},
		"no such part":        {func(r *Run) { r.Passes[0].Parts[7].Part = 8 }, false},
		"a part below none":   {func(r *Run) { r.Passes[0].Parts[0].Part = -1 }, false},
		"a part twice":        {func(r *Run) { r.Passes[0].Parts[1].Part = 0 }, false},
		"no launch":           {func(r *Run) { r.Passes[0].Parts[1].Count = 0 }, true},
		"launches below none": {func(r *Run) { r.Passes[0].Parts[1].Count = -1 }, false},
		"all behind it":       {func(r *Run) { r.Passes[0].Parts[1].Tail = time.Millisecond }, true},
		"more behind it":      {func(r *Run) { r.Passes[0].Parts[1].Tail = time.Millisecond + 1 }, false},
		"no bytes":            {func(r *Run) { r.Passes[0].Parts[1].Bytes = -1 }, false},
		"work without end":    {func(r *Run) { r.Passes[0].Parts[1].GFLOP = -1 }, false},
		"the longest":         {func(r *Run) { r.Passes[0].Parts[1].Wait = maxTime }, true},
		"longer":              {func(r *Run) { r.Passes[0].Parts[1].Wait = maxTime + 1 }, false},
		"a wall of its own":   {func(r *Run) { r.Passes[0].Wall++ }, false},
		"all in graphs":       {func(r *Run) { r.Passes[0].Graph, r.Passes[0].Compiled = 1, 0 }, true},
		"more than all":       {func(r *Run) { r.Passes[0].Compiled = 1.01 }, false},
		"less than none":      {func(r *Run) { r.Passes[0].Graph = -0.01 }, false},
		"a pass twice":        {func(r *Run) { r.Passes[1].Index = 0 }, false},
		"a pass before any":   {func(r *Run) { r.Passes[0].Index = -1 }, false},
		"outside":             {func(r *Run) { r.Outside = -1 }, false},
	} {
		s := plain(1)
		c.edit(&s.Runs[0])
		var b bytes.Buffer
		if err := s.Write(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSide(&b); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Half of the kernels in graph replays is not most of them.
func TestReplayedIsMoreThanHalf(t *testing.T) {
	for share, want := range map[float64]bool{0: false, 0.4: false, 0.5: false, 0.6: true, 1: true} {
		s := plain(1)
		for i := range s.Runs[0].Passes {
			s.Runs[0].Passes[i].Graph = share
		}
		eager := *s
		eager.Runs = []Run{s.Runs[0]}
		eager.Runs[0].Passes = slices.Clone(s.Runs[0].Passes)
		for i := range eager.Runs[0].Passes {
			eager.Runs[0].Passes[i].Graph = 0
		}
		c := comparison{ch: [2]*chosen{{side: s, passes: [][]int{{0, 1, 2, 3, 4}}},
			{side: &eager, passes: [][]int{{0}}}}}
		row := &Row{Operator: rowIdle, Class: Waiting, KernelB: time.Second}
		if got := c.because(row, 0); got != map[bool]string{true: "graph → eager"}[want] {
			t.Errorf("%v of the kernels: %q", share, got)
		}
		c.ch[0], c.ch[1] = c.ch[1], c.ch[0]
		if got := c.because(row, 0); got != map[bool]string{true: "eager → graph"}[want] {
			t.Errorf("%v of the kernels: %q", share, got)
		}
		if id := identityOf(&s.Runs[0], &s.Runs[0].Passes[0]); id.replayed != want {
			t.Errorf("%v of the kernels: identity %+v", share, id)
		}
	}
}

// Shares of signatures by hand: 3 of a and 1 of b against 2 of a and 2 of c have 2 in common of 6.
func TestLikenessByHand(t *testing.T) {
	x, y := signature{{"a", 3}, {"b", 1}}, signature{{"a", 2}, {"c", 2}}
	if both, own, other := x.common(y); both != 2 || own != 4 || other != 4 {
		t.Errorf("%d, %d, %d", both, own, other)
	}
	if got := x.likeness(y); math.Abs(got-1.0/3) > 1e-12 || signature(nil).likeness(nil) != 1 || x.likeness(nil) != 0 {
		t.Errorf("likeness %v", got)
	}
	if x.compare(y) <= 0 || y.compare(x) >= 0 || x.compare(x) != 0 {
		t.Error("order")
	}
	if got := commonLabels(map[string]float64{"attention": 0.6, "rope": 0.4},
		map[string]float64{"attention": 0.7, "lm_head": 0.3}); math.Abs(got-0.6) > 1e-12 {
		t.Errorf("labels in common %v", got)
	}
}

// What a side is called.
func TestTitles(t *testing.T) {
	for want, c := range map[string]struct {
		a  account
		id identity
	}{
		"a program of 7 kernels a pass": {account{counts: 7}, identity{stage: layer.StageUnknown}},
		"a program of 1 kernel a pass":  {account{counts: 1.2}, identity{stage: layer.StageUnknown}},
		"a 1-layer transformer":         {account{layers: 1}, identity{}},
		"an 80-layer language model":    {account{layers: 80}, identity{stage: layer.StageDecode}},
		"a language model": {account{label: map[string]float64{"rope+kv_write": 1}},
			identity{}},
		"a 2-layer mixture-of-experts language model": {account{layers: 2,
			label: map[string]float64{"experts_gate_up": 1, "lm_head": 1}}, identity{}},
		"a convolutional network": {account{op: map[string]bool{"aten::Conv2d": true}}, identity{}},
		"a training step of a 12-layer transformer": {account{layers: 12,
			op: map[string]bool{"AddmmBackward0": true}}, identity{}},
		"an 18-layer transformer": {account{layers: 18}, identity{}},
		"a 4-layer transformer": {account{layers: 4, label: map[string]float64{"rope": 1}},
			identity{}}, // denoisers and towers rotate, too
		// What the model is to the run says more than what an operator is called.
		"a 57-layer denoiser": {account{layers: 57, role: layer.RoleDenoiser,
			label: map[string]float64{"rope": 1}}, identity{stage: layer.StageUnknown}},
		"a 12-layer tower": {account{layers: 12, role: layer.RoleTower,
			op: map[string]bool{"aten::conv2d": true}}, identity{stage: layer.StageUnknown}},
		"an encoder":               {account{role: layer.RoleEncoder, label: map[string]float64{"lm_head": 1}}, identity{}},
		"a 7-layer language model": {account{layers: 7}, identity{stage: layer.StageMixed}},
	} {
		if got := c.a.title(c.id); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A single pass shows how its rows vary by its layers, and less where a row is one launch: 2 × √(V) wide, by hand.
func TestSinglePass(t *testing.T) {
	half := func(count int, layers []time.Duration, passes int) float64 {
		a, b := runOf(repeated(passes, use1{"k", count, 1000}, use1{"l", 40, 9000})...),
			runOf([]use1{{"k", count, 1000}, {"l", 40, 9000}})
		a.Passes[0].Parts[0].Layers, b.Passes[0].Parts[0].Layers = []time.Duration{1000, 1000, 1000}[:len(layers)],
			layers
		for _, row := range compareSides(t, sideOf(a), sideOf(b)).Rows {
			if row.Operator == "k" {
				return float64(row.High-row.Low) / 2
			}
		}
		return 0
	}
	within := func(prior float64) float64 { // of a row of 1 ms, one pass a side
		v := 2*prior*prior + 2*floorSameGPU*floorSameGPU
		w, b := 2*prior*prior, 2*floorSameGPU*floorSameGPU
		return quantile(v*v/(w*w/4+b*b/12), 0.975) * math.Sqrt(v) * 1e6
	}
	layers := []time.Duration{1000, 1100, 900}
	spread := layerSE * standardError([]float64{0, math.Log(1.1), math.Log(0.9)})
	for name, c := range map[string]struct{ got, want float64 }{
		"one launch": {half(1, nil, 1), within(singleSD)}, "two launches": {half(2, nil, 1), within(priorSD)},
		"layers": {half(3, layers, 1), within(spread)},
		"a layer without time": {half(3, []time.Duration{1000, 1100, 0}, 1),
			within(layerSE * standardError([]float64{0, math.Log(1.1)}))},
		"one layer": {half(2, layers[:1], 1), within(priorSD)},
	} {
		if math.Abs(c.got-c.want) > 2 {
			t.Errorf("%s: ± %v ns, want %v", name, c.got, c.want)
		}
	}
	if got := half(3, layers, 5); got < within(priorSD) { // a side of one pass is enough for layers to count
		t.Errorf("five passes against one: ± %v", got)
	}
}

// What passes of a side launch, in the mean; shapes by their size.
func TestPathsAndSizes(t *testing.T) {
	s := plain(1)
	for i := range s.Runs[0].Passes {
		s.Runs[0].Passes[i].Graph, s.Runs[0].Passes[i].Compiled = float64(i)/4, 0.3
	}
	if graph, compiled := (&chosen{side: s, passes: [][]int{{4}}}).paths(); graph != 1 || compiled != 0.3 {
		t.Errorf("of one pass %v, %v", graph, compiled)
	}
	if graph, _ := (&chosen{side: s, passes: [][]int{{0, 1, 2, 3, 4}}}).paths(); math.Abs(graph-0.5) > 1e-12 {
		t.Errorf("of five %v", graph)
	}
	var w Work
	for _, k := range []PartTime{{GFLOP: 9}, {Shape: "a", GFLOP: 1}, {Shape: "b", GFLOP: 3}, {Shape: "c", GFLOP: 3},
		{Shape: "d", GFLOP: 2}} {
		w.add(&k, 1, 1)
	}
	if w.join(&Work{Shape: "e", largest: 3}); w.Shape != "b" {
		t.Errorf("the largest product is %s", w.Shape)
	}
	empty := runOf([]use1{{"k", 3, 0}}, []use1{{"k", 3, 10}})
	if groups, cut := groupPasses([2]*Side{sideOf(empty), sideOf()}); len(groups) != 1 || len(groups[0].passes) != 1 ||
		len(cut) != 0 {
		t.Errorf("a pass without time: %d groups", len(groups))
	}
}

// Waiting that cannot be judged is named first where it is more than half of what the step takes more, and larger
// than any finding.
func TestWorstOfUnjudgedWaiting(t *testing.T) {
	row := func(delta time.Duration, edit func(r *Row)) Row {
		r := Row{Operator: "idle", Class: Waiting, Interval: Interval{Delta: delta}, KernelB: delta}
		if edit != nil {
			edit(&r)
		}
		return r
	}
	c := &comparison{ruler: rulerOf(1e6, false)} // findings are 5 µs at least
	for name, x := range map[string]struct {
		row   Row
		delta time.Duration
		other time.Duration // of another finding
		want  bool
	}{
		"most of it":      {row(60_000, nil), 100_000, 0, true},
		"half of it":      {row(50_000, nil), 100_000, 0, false},
		"a tenth of it":   {row(10_000, nil), 100_000, 0, false},
		"too small":       {row(4_999, nil), 5_000, 0, false},
		"as a finding":    {row(5_000, nil), 5_000, 0, true},
		"less than other": {row(60_000, nil), 100_000, 60_000, false},
		"more than other": {row(60_001, nil), 100_000, 60_000, true},
		"judged":          {row(60_000, func(r *Row) { r.Judged = true }), 100_000, 0, false},
		"work":            {row(60_000, func(r *Row) { r.Class = Memory }), 100_000, 0, false},
	} {
		r := &Report{Delta: x.delta, Rows: []Row{x.row}}
		if x.other > 0 {
			r.Findings = []finding.Finding{r.newFinding(finding.OperatorChanged, "rope", "", "", x.other)}
		}
		if got := c.worst(r); (got.Kind == finding.WaitChanged) != x.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Steps of two files of one rank are one host's: passes are numbered on, −1 is no pass, and what one file lacks took
// no time in it. How long it waits is known where both files say it that have it.
func TestJoinHosts(t *testing.T) {
	ms := time.Millisecond
	a := &Host{Passes: []int{0, -1}, Walls: []time.Duration{ms, ms},
		Operations: []Operation{{Kind: "range", Name: "x", Count: 2, Steps: []time.Duration{1, 2}}}}
	b := &Host{Passes: []int{0, -1}, Walls: []time.Duration{ms, ms},
		Operations: []Operation{{Kind: "range", Name: "x", Count: 4, Steps: []time.Duration{3, 4}},
			{Kind: "range", Name: "y", Count: 1, Steps: []time.Duration{5, 6}}}}
	h := joinHosts(a, b, 7)
	if !slices.Equal(h.Passes, []int{0, -1, 7, -1}) || len(h.Walls) != 4 || len(h.Operations) != 2 ||
		!slices.Equal(h.Operations[0].Steps, []time.Duration{1, 2, 3, 4}) || h.Operations[0].Count != 3 ||
		!slices.Equal(h.Operations[1].Steps, []time.Duration{0, 0, 5, 6}) || h.Operations[1].Count != 0.5 {
		t.Errorf("%+v", h)
	}
	if err := h.check(); err != nil || h.Operations[0].Waits != nil || h.Operations[1].Waits != nil {
		t.Errorf("%v, %+v", err, h.Operations)
	}
	a.Operations[0].Waits, b.Operations[1].Waits = []time.Duration{1, 1}, []time.Duration{2, 3}
	h = joinHosts(a, b, 7)
	if err := h.check(); err != nil || h.Operations[0].Waits != nil ||
		!slices.Equal(h.Operations[1].Waits, []time.Duration{0, 0, 2, 3}) {
		t.Errorf("waits of one file of x, and of y: %v, %+v", err, h.Operations)
	}
	b.Operations[0].Waits = []time.Duration{2, 1}
	if h = joinHosts(a, b, 7); !slices.Equal(h.Operations[0].Waits, []time.Duration{1, 1, 2, 1}) {
		t.Errorf("waits of both files: %+v", h.Operations)
	}
	if joinHosts(a, nil, 7) != nil || joinHosts(nil, b, 7) != nil {
		t.Error("one file's operations stand for both")
	}
}
