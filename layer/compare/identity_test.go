package compare

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
)

// A use1 is what a pass of a made run spends on a kernel.
type use1 struct {
	name  string // also its operator
	count int
	us    float64
}

// runOf is a run of decode passes, one for each list of kernels.
func runOf(passes ...[]use1) Run {
	r := Run{GPU: "a", Health: "ok"}
	at := map[string]int{}
	for _, uses := range passes {
		for _, u := range uses {
			if _, ok := at[u.name]; !ok {
				at[u.name] = len(r.Parts)
				r.Parts = append(r.Parts, MadePart(u.name, u.name, Memory))
			}
		}
	}
	for i, uses := range passes {
		p := Pass{Index: i, Stage: layer.StageDecode, Batch: -1, Tokens: -1, Followed: true}
		for _, u := range uses {
			d := time.Duration(1e3 * u.us)
			p.Parts = append(p.Parts, PartTime{Part: at[u.name], Count: u.count, Exclusive: d, Time: d})
			p.Wall += d
		}
		slices.SortFunc(p.Parts, func(x, y PartTime) int { return x.Part - y.Part })
		r.Passes = append(r.Passes, p)
	}
	return r
}

func sideOf(runs ...Run) *Side { return &Side{Runs: runs} }

// numbersOfIdentity are those that say which passes are the same work.
func numbersOfIdentity() map[string]number {
	sigs := func(r *Run) []signature {
		var out []signature
		for i := range r.Passes {
			out = append(out, signatureOf(r, &r.Passes[i]))
		}
		return out
	}
	return map[string]number{
		"Pooled": {0.899, 0.901, func(x float64) bool {
			groups, _ := groupPasses([2]*Side{sideOf(runOf([]use1{{"k", 1000, 10}})),
				sideOf(runOf([]use1{{"k", int(1000 * x), 10}}))})
			return len(groups) == 1
		}},
		"Contained": {0.949, 0.951, func(x float64) bool { // of the last pass's kernels that the other pass runs, too
			r := runOf([]use1{{"k", 2000, 10}}, []use1{{"k", int(1000 * x), 10}, {"l", 1000 - int(1000*x), 10}})
			return isCut(&r, sigs(&r), 1)
		}},
		"Whole": {-0.996, -0.994, func(x float64) bool {
			r := runOf([]use1{{"k", 1000, 10}}, []use1{{"k", int(-1000 * x), 10}})
			return isCut(&r, sigs(&r), 1)
		}},
		"SizeGap": {0.099, 0.101, func(x float64) bool {
			groups, _ := groupPasses([2]*Side{sideOf(runOf([]use1{{"k", 10, 100}}, []use1{{"k", 10, 100 * (1 + x)}})),
				sideOf()})
			return len(groups) == 2
		}},
		"Lost": {-75, -74, func(x float64) bool { return fill(int(-x), 100) == 1 }},
		"Strays": {-0.101, -0.099, func(x float64) bool {
			r := &Report{Work: Interval{A: 1e6, B: 1e6},
				Rows: []Row{{Operator: rowOthers, Interval: Interval{B: time.Duration(-1e6 * x)}}}}
			return (&comparison{}).strays(r) == ""
		}},
		"Alike": {0.699, 0.701, func(x float64) bool { // of side B's time in an operator that A has
			a, b := runOf([]use1{{"attention", 10, 100}}),
				runOf([]use1{{"attention", 10, 100 * x}, {"lm_head", 1, 100 * (1 - x)}})
			a.Parts[0].Base = "another"
			return match([2]*Side{sideOf(a), sideOf(b)}, &Options{}).why == ""
		}},
		"Matched": {0.499, 0.501, func(x float64) bool {
			a := runOf([]use1{{"k", 10, 100 * x}}, []use1{{"l", 10, 100 * (1 - x)}})
			return match([2]*Side{sideOf(a), sideOf(runOf([]use1{{"k", 10, 100}}))}, &Options{}).why == ""
		}},
	}
}

func compareSides(t *testing.T, a, b *Side) *Report {
	t.Helper()
	r, err := Compare(context.Background(), a, b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// repeated is n passes of the same kernels.
func repeated(n int, uses ...use1) [][]use1 {
	out := make([][]use1, n)
	for i := range out {
		out[i] = uses
	}
	return out
}

// Passes that do other work are not pooled, whatever their stage is: of an encoder and a decoder of images only what
// both sides have is compared, and the rest is named with its share of the GPU time.
func TestPassesAreNotPooled(t *testing.T) {
	encoder, denoiser, decoder := use1{"conv", 40, 500}, use1{"attention", 57, 4000}, use1{"upsample", 30, 900}
	whole := append(append(repeated(1, encoder), repeated(6, denoiser)...), repeated(1, decoder)...)
	for n := 4; n < len(whole); n++ {
		a, b := sideOf(runOf(whole...)), sideOf(runOf(whole[:n]...))
		for _, r := range []*Report{compareSides(t, a, b), compareSides(t, b, a)} {
			if r.Verdict != Same || len(r.Findings) != 0 || r.Delta != 0 {
				t.Errorf("the first %d of 8 passes: %s, %d findings", n, r.Text, len(r.Findings))
			}
		}
	}
	r := compareSides(t, sideOf(runOf(whole...)), sideOf(runOf(whole[:4]...)))
	if left := strings.Join(r.Left, "\n"); !strings.Contains(left, "A: 1 decode pass, 3.5% of its GPU time") {
		t.Errorf("left out: %s", left)
	}
}

// Two models are not compared, and the reason says what they are.
func TestStrangers(t *testing.T) {
	llama := runOf(repeated(5, use1{"attention", 80, 800}, use1{"qkv_proj", 80, 900}, use1{"down_proj", 80, 900},
		use1{"rope", 80, 100})...)
	conv := runOf(repeated(5, use1{"conv", 50, 900}, use1{"pool", 3, 20})...)
	for i := range llama.Passes {
		llama.Passes[i].NumLayers = 80
		conv.Passes[i].Stage = layer.StageUnknown
	}
	conv.Parts[0].Op, conv.Parts[1].Op = "aten::cudnn_convolution", "aten::max_pool2d"
	r := compareSides(t, sideOf(llama), sideOf(conv))
	if want := "not comparable: A is an 80-layer language model, B a convolutional network"; r.Verdict != NotComparable ||
		r.Text != want {
		t.Errorf("%s: %q, want %q", r.Verdict, r.Text, want)
	}
	if a := r.A; a.Batch != -1 || a.Tokens != -1 || a.Stage != layer.StageUnknown || a.Passes != 0 || a.Runs != 1 {
		t.Errorf("the side is %+v, want nothing known of its passes", a)
	}
	// The roles of the models are those of the analysis where it knows them.
	llama.Models, conv.Models = []ModelName{{Role: layer.RoleEncoder}}, []ModelName{{Role: layer.RoleTower}}
	if r := compareSides(t, sideOf(llama), sideOf(conv)); r.Text != "not comparable: A is an 80-layer encoder, B a tower" {
		t.Errorf("%q does not name the roles", r.Text)
	}
	gates := Options{Gates: []Gate{{Limit: 0.03}}}
	if r, _ := Compare(context.Background(), sideOf(llama), sideOf(conv), gates); len(r.Gates) != 1 ||
		r.Gates[0].Outcome != GateUndecided {
		t.Errorf("gates %+v, want one that is undecided", r.Gates)
	}
	// The same architecture with another number of layers is another model.
	other := runOf(repeated(5, use1{"attention", 32, 320}, use1{"qkv_proj", 32, 360}, use1{"down_proj", 32, 360},
		use1{"rope", 32, 40})...)
	for i := range other.Passes {
		other.Passes[i].NumLayers = 32
	}
	if r := compareSides(t, sideOf(llama), sideOf(other)); r.Verdict != NotComparable ||
		!strings.Contains(r.Text, "80-layer") || !strings.Contains(r.Text, "32-layer") {
		t.Errorf("80 and 32 layers: %s", r.Text)
	}
}

// Tokens, requests and stage that one side alone knows are no mismatch.
func TestUnknownMatchesKnown(t *testing.T) {
	a, b := plain(1), plain(1)
	for i := range b.Runs[0].Passes {
		p := &b.Runs[0].Passes[i]
		p.Stage, p.Batch, p.Tokens = layer.StageUnknown, -1, -1
	}
	for _, r := range []*Report{compareSides(t, a, b), compareSides(t, b, a)} {
		if r.Verdict != Same || r.A.Passes != 5 || r.A.Tokens != 8 {
			t.Errorf("%s, %d passes of %d tokens; want 5 of 8", r.Text, r.A.Passes, r.A.Tokens)
		}
	}
}

// Passes of one size are compared with those of the same size, where only their times show it.
func TestSizesThatOnlyTimesShow(t *testing.T) {
	small, large := []use1{{"attention", 43, 500}, {"down_proj", 43, 700}},
		[]use1{{"attention", 43, 800}, {"down_proj", 43, 1100}}
	a := sideOf(runOf(small, large, large, large, large))
	b := sideOf(runOf(small, small, large, large))
	if r := compareSides(t, a, b); r.Verdict != Same || r.A.Passes != 4 || r.B.Passes != 2 || len(r.Others) != 1 ||
		r.Others[0].Verdict != Same {
		t.Errorf("%s: %d and %d passes, others %+v", r.Text, r.A.Passes, r.B.Passes, r.Others)
	}
	// One kernel that is slower in some passes is a change of the same work.
	step := func(us float64) []use1 {
		return []use1{{"attention", 43, 800}, {"o_proj", 43, 500}, {"rope", 43, 90}, {"down_proj", 43, us}}
	}
	if r := compareSides(t, sideOf(runOf(repeated(6, step(1100)...)...)),
		sideOf(runOf(step(1100), step(1700), step(1100), step(1100), step(1700), step(1100)))); r.B.Passes != 6 {
		t.Errorf("%d of 6 passes are compared", r.B.Passes)
	}
}

// The same kernels are in the same row on both sides, whatever one side's analysis calls them, and a kernel of
// another name that runs as often between the same kernels keeps its operator.
func TestRowsFollowKernels(t *testing.T) {
	with := func(edit func(k *Part)) *Side {
		r := runOf(repeated(6, use1{"attention", 80, 800}, use1{"o_proj", 80, 900}, use1{"down_proj", 80, 900})...)
		r.Parts[1].Before, r.Parts[1].After = "attention", "down_proj"
		if edit != nil {
			edit(&r.Parts[1])
		}
		return sideOf(r)
	}
	for name, edit := range map[string]func(k *Part){
		"another operator": func(k *Part) { k.Operator = "gate_up_proj" },
		"no operator":      func(k *Part) { k.Operator, k.Category = "", "gemm" },
		"another name that nobody knows": func(k *Part) {
			k.Name, k.Base, k.Operator, k.Category = "zzz", "zzz",
				"", "other"
		},
		"another name with another operator": func(k *Part) {
			k.Name, k.Base, k.Operator = "zzz", "zzz",
				"gate_up_proj"
		},
		"another name with its own, known by": func(k *Part) { k.Name, k.Base = "zzz", "zzz" },
	} {
		a, b := with(nil), with(edit)
		for _, r := range []*Report{compareSides(t, a, b), compareSides(t, b, a)} {
			if r.Verdict != Same || len(r.Rows) != 3 {
				t.Errorf("%s: %s, %d rows", name, r.Text, len(r.Rows))
			}
			for _, row := range r.Rows {
				if row.Status != Unchanged || row.Delta != 0 {
					t.Errorf("%s: %s", name, row.Text)
				}
			}
			for _, f := range r.Findings {
				if f.Kind != finding.KernelRenamed || f.Code != "o_proj" && f.Code != "gate_up_proj" {
					t.Errorf("%s: finding %+v", name, f)
				}
			}
		}
	}
	// Elsewhere, or another number of times, it is another kernel.
	b := with(func(k *Part) { k.Name, k.Base, k.Operator, k.Before, k.After = "zzz", "zzz", "lm_head", "x", "y" })
	if r := compareSides(t, with(nil), b); r.Verdict != NotComparable {
		t.Errorf("a kernel of a third of the time in another place: %s", r.Text)
	}
}

// Where the sides call a kernel by two operators, one holds, whichever side is called A.
func TestLabelsAreThoseOfNoSide(t *testing.T) {
	uses := []use1{{"attention", 80, 800}, {"o_proj", 80, 900}, {"down_proj", 80, 900}, {"rope", 80, 50}}
	named := func(operators ...string) *Side {
		r := runOf(repeated(6, uses...)...)
		for i, op := range operators {
			r.Parts[i].Operator = op
		}
		return sideOf(r)
	}
	for _, c := range []struct {
		a, b *Side
		rows string
	}{
		{named("attention", "down_proj"), named("attention", "o_proj"), "down_proj o_proj attention rope"},
		{named("", "o_proj"), named("attention", "down_proj"), "down_proj attention rope"},
		{named("", "o_proj", "", ""), named("", "down_proj", "down_proj", ""), "down_proj gemm"},
	} {
		r, back := compareSides(t, c.a, c.b), compareSides(t, c.b, c.a)
		rows := ""
		for _, row := range r.Rows {
			rows += " " + row.Operator
		}
		if why := Mirrors(r, back); why != "" || rows != " "+c.rows {
			t.Errorf("rows%s, want %s; %s", rows, c.rows, why)
		}
	}
}

// A kernel that one side has for one operator is that on the other side, too, where some of its launches were read as
// another's; where neither side has it for one, each is left what it says.
func TestKernelOfOneOperator(t *testing.T) {
	with := func(qkv, gate int) *Side {
		r := runOf(repeated(6, use1{"attention", 20, 800}, use1{"shared", gate, 10 * float64(gate)},
			use1{"qkv", qkv, 10 * float64(qkv)}, use1{"rope", 20, 50})...)
		for i, op := range []string{"attention", "gate_up_proj", "qkv_proj"} {
			r.Parts[i].Operator = op
		}
		r.Parts[2].Name, r.Parts[2].Base = "shared", "shared"
		if qkv == 0 {
			r.Parts = slices.Delete(r.Parts, 2, 3)
			for i := range r.Passes {
				r.Passes[i].Parts = slices.Delete(r.Passes[i].Parts, 2, 3)
				r.Passes[i].Parts[2].Part = 2
			}
		}
		return sideOf(r)
	}
	for _, c := range []struct {
		a, b *Side
		rows string
	}{{with(0, 60), with(5, 55), "attention gate_up_proj rope"},
		{with(20, 40), with(10, 50), "attention qkv_proj gate_up_proj rope"}} {
		r, back := compareSides(t, c.a, c.b), compareSides(t, c.b, c.a)
		var rows []string
		for _, row := range r.Rows {
			rows = append(rows, row.Operator)
		}
		slices.SortFunc(rows, func(x, y string) int { return strings.Index(c.rows, x) - strings.Index(c.rows, y) })
		if why := Mirrors(r, back); why != "" || strings.Join(rows, " ") != c.rows {
			t.Errorf("rows %v, want %s; %s", rows, c.rows, why)
		}
	}
}

// A single pass without layers that runs a part of the other side's kernels is not compared: nothing says that it is
// complete.
func TestOnlyPart(t *testing.T) {
	whole := []use1{{"conv", 100, 500}, {"elementwise", 200, 400}}
	part := []use1{{"conv", 95, 470}, {"elementwise", 190, 380}}
	one, other, many := sideOf(runOf(whole)), sideOf(runOf(part)), sideOf(runOf(repeated(4, part...)...))
	for _, r := range []*Report{compareSides(t, one, other), compareSides(t, other, one)} {
		if r.Verdict != NotComparable || !strings.Contains(r.Text, "the window may cut it") {
			t.Error(r.Text)
		}
	}
	if r := compareSides(t, sideOf(runOf(repeated(4, whole...)...)), many); r.Verdict == NotComparable {
		t.Errorf("four passes a side: %s", r.Text)
	}
	// without a kernel of each layer
	one, other = sideOf(runOf(append([]use1{{"norm", 25, 30}}, whole...))), sideOf(runOf(whole))
	for i := range one.Runs[0].Passes {
		one.Runs[0].Passes[i].NumLayers, other.Runs[0].Passes[i].NumLayers = 12, 12
	}
	if r := compareSides(t, one, other); r.Verdict == NotComparable {
		t.Errorf("layers are known, and all kernels of one name are gone: %s", r.Text)
	}
}

// Neither the order of runs nor that of passes with the same index matters.
func TestOrderOfRuns(t *testing.T) {
	x, y, z := plain(1).Runs[0], plain(1.01).Runs[0], plain(1.4).Runs[0]
	b := sideOf(plain(1.2).Runs[0], plain(1.3).Runs[0])
	r, s := compareSides(t, sideOf(x, y, z), b), compareSides(t, sideOf(z, x, y), b)
	if r.Verdict != s.Verdict || r.Delta != s.Delta || r.Wall != s.Wall || r.Work != s.Work {
		t.Errorf("%s\nand in another order %s", r.Text, s.Text)
	}
}

// What is not known of one of two passes is no difference, whichever of them it is.
func TestUnknownAgrees(t *testing.T) {
	const d, p, u = layer.StageDecode, layer.StagePrefill, layer.StageUnknown
	for _, c := range []struct {
		a, b layer.Stage
		want bool
	}{{d, d, true}, {u, u, true}, {d, u, true}, {u, d, true}, {d, p, false}, {p, d, false}} {
		if got := stagesAgree(c.a, c.b); got != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
	for _, c := range []struct {
		a, b int64
		want bool
	}{{3, 3, true}, {0, 0, true}, {-1, 3, true}, {3, -1, true}, {-1, 0, true}, {0, -1, true}, {3, 4, false},
		{0, 1, false}, {1, 0, false}} {
		if got := agrees(c.a, c.b); got != c.want {
			t.Errorf("%d and %d: %v", c.a, c.b, got)
		}
	}
	base := identity{stage: d, batch: 8, tokens: 16}
	for name, c := range map[string]struct {
		edit  func(*identity)
		same  bool
		known int
	}{
		"nothing":        {func(*identity) {}, true, 3},
		"another draft":  {func(x *identity) { x.draft = true }, false, 3},
		"another path":   {func(x *identity) { x.replayed = true }, false, 3},
		"another batch":  {func(x *identity) { x.batch = 9 }, false, 3},
		"other tokens":   {func(x *identity) { x.tokens = 0 }, false, 3},
		"another stage":  {func(x *identity) { x.stage = p }, false, 3},
		"unknown tokens": {func(x *identity) { x.tokens = -1 }, true, 2},
		"unknown batch":  {func(x *identity) { x.batch = -1 }, true, 2},
		"unknown stage":  {func(x *identity) { x.stage = u }, true, 2},
	} {
		x := base
		c.edit(&x)
		if base.agrees(x) != c.same || x.agrees(base) != c.same || x.known() != c.known {
			t.Errorf("%s: agree %v and %v, %d known; want %v, %d", name, base.agrees(x), x.agrees(base), x.known(),
				c.same, c.known)
		}
		if x != base && (x.compare(base) == 0 || x.compare(base) != -base.compare(x)) {
			t.Errorf("%s: ordered %d and %d", name, x.compare(base), base.compare(x))
		}
	}
	if base.compare(base) != 0 {
		t.Error("it is not its own equal")
	}
}

func TestMostOften(t *testing.T) {
	for want, n := range map[string]map[string]int{"": {}, "a": {"b": 2, "a": 2, "c": 1}, "b": {"b": 3, "a": 2}} {
		if got := mostOften(n); got != want {
			t.Errorf("%v: %q, want %q", n, got, want)
		}
	}
}

// Signatures share what both run, as often as both run it.
func TestCommonKernels(t *testing.T) {
	s, u := signature{{"a", 3}, {"b", 2}, {"d", 1}}, signature{{"b", 5}, {"c", 4}, {"d", 1}}
	if both, own, other := s.common(u); both != 3 || own != 6 || other != 10 {
		t.Errorf("%d of %d and %d, want 3 of 6 and 10", both, own, other)
	}
	if both, own, other := u.common(s); both != 3 || own != 10 || other != 6 {
		t.Errorf("%d of %d and %d, want 3 of 10 and 6", both, own, other)
	}
	if l := s.likeness(u); l != 3./13 {
		t.Errorf("likeness %v, want 3/13", l)
	}
	if (signature{}).likeness(signature{}) != 1 || s.likeness(nil) != 0 || s.likeness(s) != 1 {
		t.Error("nothing is not like nothing, or like something")
	}
}

// Passes are of another size where their kernels typically differ by half of what the passes do.
func TestMostScale(t *testing.T) {
	// 110 + 110 + 143 µs are 1.21 times as many as 300
	for rest, want := range map[float64]bool{142: true, 145: false, 110: true} {
		r := runOf([]use1{{"a", 1, 100}, {"b", 1, 100}, {"c", 1, 100}},
			[]use1{{"a", 1, 110}, {"b", 1, 110}, {"c", 1, rest}})
		x, y := &group{}, &group{}
		x.add(place{0, 0, 0}, r.Passes[0].gpuTime())
		y.add(place{0, 0, 1}, r.Passes[1].gpuTime())
		if got := mostScale([2]*Side{sideOf(r), sideOf()}, x, y); got != want {
			t.Errorf("%v µs: %v, want %v", rest, got, want)
		}
	}
}

// A step without time is a step, one of less or of more than a saved side may have is none.
func TestHostBounds(t *testing.T) {
	for _, c := range []struct {
		wall, step time.Duration
		ok         bool
	}{{0, 0, true}, {maxTime, maxTime, true}, {-1, 0, false}, {0, -1, false}, {maxTime + 1, 0, false},
		{0, maxTime + 1, false}} {
		h := &Host{Passes: []int{0}, Walls: []time.Duration{c.wall},
			Operations: []Operation{{Class: "host", Steps: []time.Duration{c.step}}}}
		if err := h.check(); (err == nil) != c.ok {
			t.Errorf("%v and %v: %v", c.wall, c.step, err)
		}
	}
}

// TestWorkOfOneSide: where the sides run other kernels, and one alone shows what its passes do, or neither does and
// they have other numbers of products, nothing says that they do the same.
func TestWorkOfOneSide(t *testing.T) {
	stage := func(s layer.Stage, tokens int64) func(*Pass) { return func(p *Pass) { p.Stage, p.Tokens = s, tokens } }
	for name, c := range map[string]struct {
		other string // name of B's product
		count int    // of its launches, of 4 in A
		a, b  func(*Pass)
		want  bool
	}{
		"both show it":                  {"c", 4, stage(layer.StageDecode, 1), stage(layer.StageDecode, 1), false},
		"neither shows it":              {"c", 4, stage(layer.StageUnknown, -1), stage(layer.StageUnknown, -1), false},
		"A alone shows tokens":          {"c", 4, stage(layer.StageUnknown, 64), stage(layer.StageUnknown, -1), true},
		"B alone shows a stage":         {"c", 4, stage(layer.StageUnknown, -1), stage(layer.StagePrefill, -1), true},
		"other products":                {"c", 3, stage(layer.StageUnknown, -1), stage(layer.StageUnknown, -1), true},
		"other products of a stage":     {"c", 3, stage(layer.StageDecode, -1), stage(layer.StageDecode, -1), false},
		"A alone, but the same kernels": {"b", 4, stage(layer.StageDecode, 1), stage(layer.StageUnknown, -1), false},
	} {
		a := sideOf(runOf(repeated(6, use1{"a", 4, 800}, use1{"b", 4, 100})...))
		b := sideOf(runOf(repeated(6, use1{"a", 4, 800}, use1{c.other, c.count, 300})...))
		for i := range 6 {
			c.a(&a.Runs[0].Passes[i])
			c.b(&b.Runs[0].Passes[i])
		}
		for _, r := range []*Report{compareSides(t, a, b), compareSides(t, b, a)} {
			if r.Doubtful(DoubtWork) != c.want || (r.Verdict == Inconclusive) != c.want {
				t.Errorf("%s: %s, %s", name, r.Verdict, r.Text)
			}
		}
	}
}
