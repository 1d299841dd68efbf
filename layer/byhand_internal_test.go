package layer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer/internal/ladder"
	"github.com/llmstrata/strata/trace"
)

// passesOf makes whole decode passes of one layer that last so long, one after the other.
func passesOf(walls ...int64) []ForwardPass {
	var out []ForwardPass
	at := int64(0)
	for i, w := range walls {
		out = append(out, ForwardPass{Index: i, Start: trace.Time(at), End: trace.Time(at + w), NumLayers: 1,
			Stage: StageDecode, Batch: -1, Tokens: -1})
		at += w
	}
	return out
}

func never() error { return nil }

// TestSteadyRun: the longest run of neighbours whose durations stay within a tenth of their median.
func TestSteadyRun(t *testing.T) {
	for _, c := range []struct {
		walls   []int64
		from, n int
	}{
		{nil, 0, 0}, {[]int64{100}, 0, 1}, {[]int64{100, 110}, 0, 2}, {[]int64{90, 100}, 0, 2},
		{[]int64{89, 100}, 0, 1}, {[]int64{100, 111, 100}, 0, 2}, {[]int64{100, 112, 100}, 0, 1},
		{[]int64{100, 100, 110}, 0, 3}, {[]int64{100, 100, 111}, 0, 2},
		{[]int64{200, 100, 100}, 1, 2}, {[]int64{100, 100, 200, 200}, 0, 2}, {[]int64{100, 100, 200, 200, 200}, 2, 3},
		{[]int64{90, 100, 110}, 0, 3}, {[]int64{89, 100, 110}, 1, 2},
	} {
		if from, n := longestRun(never, passesOf(c.walls...)); n != c.n || n > 0 && from != c.from {
			t.Errorf("%v: %d from %d, want %d from %d", c.walls, n, from, c.n, c.from)
		}
	}
	chosen := func(change func(p []ForwardPass), walls ...int64) string {
		d := &Device{Passes: passesOf(walls...)}
		change(d.Passes)
		d.chooseSteady(never)
		return fmt.Sprint(d.Steady.Pass, " ", d.Steady.Run, " ", d.Steady.TolerancePct, " ", d.Steady.Reason)
	}
	d := &Device{Passes: passesOf(200, 100, 109, 104, 105, 101, 200)} // 3 is the median
	d.chooseSteady(never)
	for p := range d.Passes {
		if got, want := d.Steady.Holds(p), p >= 1 && p <= 5; got != want {
			t.Errorf("pass %d is in the run from 1 to 5: %v", p, got)
		}
	}
	same := func([]ForwardPass) {}
	for _, c := range []struct {
		name string
		got  string
		want string
	}{
		{"none", chosen(same), "-1 0 10 no passes"},
		{"one", chosen(same, 100), "0 1 10 the only pass"},
		{"two", chosen(same, 100, 100), "0 2 10 the median of 2 neighbouring decode passes whose durations stay within " +
			"10% of it"},
		{"the second is the median", chosen(same, 100, 103, 106),
			"1 3 10 the median of 3 neighbouring decode passes whose durations stay within 10% of it"},
		{"nothing follows the median", chosen(same, 100, 106, 103),
			"0 3 10 the median of 3 neighbouring decode passes whose durations stay within 10% of it"},
		{"the third is the median", chosen(same, 200, 100, 109, 104, 105, 101),
			"3 5 10 the median of 5 neighbouring decode passes whose durations stay within 10% of it"},
		{"of a batch", chosen(func(p []ForwardPass) { p[0].Batch, p[1].Batch = 0, 0 }, 100, 100),
			"0 2 10 the median of 2 neighbouring decode passes of batch 0 whose durations stay within 10% of it"},
		{"of no stage", chosen(func(p []ForwardPass) { p[0].Stage, p[1].Stage = StageUnknown, StageUnknown }, 100, 100),
			"0 2 10 the median of 2 neighbouring passes whose durations stay within 10% of it"},
		{"apart", chosen(same, 100, 200), "0 1 10 no two neighbouring passes have the same stage and batch and durations " +
			"within 10%; the first complete pass"},
		{"another batch", chosen(func(p []ForwardPass) { p[0].Batch = 3 }, 100, 100, 100),
			"1 2 10 the median of 2 neighbouring decode passes whose durations stay within 10% of it"},
		{"another model", chosen(func(p []ForwardPass) { p[0].Model, p[1].Model = 1, 1 }, 100, 100, 100),
			"2 1 10 no two neighbouring passes have the same stage and batch and durations within 10%; the first complete pass"},
		{"drafts do no work", chosen(func(p []ForwardPass) { p[0].Stage, p[1].Stage = StageDraft, StageDraft }, 100,
			100, 100), "2 1 10 no two neighbouring passes have the same stage and batch and durations within 10%; the first " +
			"complete pass"},
		{"nothing but drafts", chosen(func(p []ForwardPass) { p[0].Stage, p[1].Stage = StageDraft, StageDraft }, 100,
			100), "0 2 10 the median of 2 neighbouring draft passes whose durations stay within 10% of it"},
		{"all cut", chosen(func(p []ForwardPass) {
			p[0].Partial, p[1].Partial = CutAtStart, CutAtStart
			p[1].NumLayers = 2
		}, 100, 100), "1 1 10 every pass is cut by the window; this is the longest"},
		{"all cut, the first of the longest", chosen(func(p []ForwardPass) {
			p[0].Partial, p[1].Partial, p[2].Partial = CutAtStart, CutAtStart, CutAtEnd
			p[0].NumLayers, p[1].NumLayers, p[2].NumLayers = 2, 2, 1
		}, 100, 100, 100), "0 1 10 every pass is cut by the window; this is the longest"},
		{"other layers", chosen(func(p []ForwardPass) { p[0].NumLayers = 2 }, 100, 100, 100),
			"1 2 10 the median of 2 neighbouring decode passes whose durations stay within 10% of it"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, c.got, c.want)
		}
	}
}

// TestNotesOfDurations: the first pass of a model that takes 1.3 times as long as usual is a cold start, one that
// takes 1.5 times as long as the one before it grows.
func TestNotesOfDurations(t *testing.T) {
	for _, c := range []struct {
		walls []int64
		want  string
	}{
		{[]int64{130, 100, 100}, "cold start 1.3×||"}, {[]int64{129, 100, 100}, "||"},
		{[]int64{200, 130, 100, 100, 100}, "cold start 2.0×|cold start 1.3×|||"},
		{[]int64{100, 150, 100}, "|growing 1.5×|"}, {[]int64{100, 149, 100}, "||"}, {[]int64{100}, ""},
		{[]int64{300, 100}, "cold start 3.0×|"},
		{[]int64{150, 100, 100, 160, 100}, "cold start 1.5×|||growing 1.6×|"}, {[]int64{0, 0, 0}, "||"},
		{[]int64{400, 100, 200, 300}, "cold start 2.0×||growing 2.0×|growing 1.5×"},
		{[]int64{300, 100, 200}, "cold start 3.0×||growing 2.0×"}, {[]int64{100, 100, 0, 100}, "|||"},
	} {
		d := &Device{Passes: passesOf(c.walls...)}
		d.noteDurations()
		var got []string
		for _, p := range d.Passes {
			got = append(got, p.Note)
		}
		if s := strings.Join(got, "|"); s != c.want {
			t.Errorf("%v: %s, want %s", c.walls, s, c.want)
		}
	}
	d := &Device{Passes: passesOf(100, 200, 100, 100)} // the first of a model is another pass
	d.Passes[0].Tokens = 5
	d.noteDurations()
	if got := d.Passes[1].Note; got != "" {
		t.Errorf("a pass of other tokens, not the model's first: %q", got)
	}
	for outside, want := range map[time.Duration]int{10: 0, 11: 1} {
		d := &Device{Passes: passesOf(100), Time: 1000, InPasses: 1000 - outside}
		d.columns.pass = []int32{trace.None, 0}
		d.noteUncovered()
		if len(d.Notes) != want || want > 0 && d.Notes[0] != "1 of 2 GPU activities, 1.1% of the GPU time, are in no pass" {
			t.Errorf("%d of 1000 in no pass: %q", outside, d.Notes)
		}
	}
}

func TestStepsEnd(t *testing.T) {
	ends := func(passes ...[2]int64) string {
		var list []ForwardPass
		for _, p := range passes {
			list = append(list, ForwardPass{Start: trace.Time(p[0]), End: trace.Time(p[1]), Kernels: 1})
		}
		return fmt.Sprint(StepEnds(list))
	}
	for _, c := range []struct {
		name string
		got  string
		want string
	}{
		{"as long as itself", ends([2]int64{0, 100}, [2]int64{200, 300}), "[200ns 300ns]"},
		{"side by side", ends([2]int64{0, 100}, [2]int64{100, 300}), "[100ns 300ns]"},
		{"overlapping", ends([2]int64{0, 100}, [2]int64{90, 300}), "[100ns 300ns]"},
		{"longer, but usual", ends([2]int64{0, 100}, [2]int64{201, 300}), "[201ns 300ns]"},
		{"longer, half", ends([2]int64{0, 100}, [2]int64{201, 300}, [2]int64{310, 400}), "[201ns 310ns 400ns]"},
		{"longer, once", ends([2]int64{0, 100}, [2]int64{201, 300}, [2]int64{310, 400}, [2]int64{410, 500}),
			"[201ns 310ns 410ns 500ns]"},
		{"half a second", ends([2]int64{0, 100}, [2]int64{500_000_100, 500_000_200}), "[500000100ns 500000200ns]"},
	} {
		if normal(c.got) != normal(c.want) {
			t.Errorf("%s: %s, want %s", c.name, c.got, c.want)
		}
	}
}

// normal writes times without a unit.
func normal(s string) string { return strings.ReplaceAll(s, "ns", "") }

// TestTokensOfFamilies: two families of kernels that agree, or one in all layers, show the rows; what a kernel that
// writes the cache shows are tokens where it was not replayed.
func TestTokensOfFamilies(t *testing.T) {
	grid := func(family string, real, dense bool) classify.TokenGrid {
		return classify.TokenGrid{Family: family, Real: real, Dense: dense}
	}
	a, b, write, dense := grid("a", false, false), grid("b", false, false), grid("write", true, false),
		grid("dense", false, true)
	for _, c := range []struct {
		name     string
		families []familySize
		experts  bool
		rows     int64
		tokens   int64
	}{
		{"none", nil, false, -1, -1},
		{"one", []familySize{{n: 8, grid: a}}, false, -1, -1},
		{"two", []familySize{{n: 8, grid: a}, {n: 8, grid: b}}, false, 8, -1},
		{"they differ", []familySize{{n: 8, grid: a}, {n: 7, grid: b}}, false, -1, -1},
		{"one is bad", []familySize{{n: 8, grid: a}, {n: 8, grid: b, bad: true}}, false, -1, -1},
		{"none at all", []familySize{{n: 0, grid: a}, {n: 0, grid: b}}, false, -1, -1},
		{"of one row", []familySize{{n: 1, grid: a}, {n: 1, grid: b}}, false, 1, -1},
		{"with real tokens", []familySize{{n: 8, grid: write}, {n: 8, grid: a}}, false, 8, 8},
		{"replayed", []familySize{{n: 8, grid: write, replay: true}, {n: 8, grid: a}}, false, 8, -1},
		{"fewer real ones", []familySize{{n: 5, grid: write}, {n: 8, grid: a}, {n: 8, grid: b}}, false, 8, -1},
		{"more real ones", []familySize{{n: 9, grid: write}, {n: 8, grid: a}, {n: 8, grid: b}}, false, -1, -1},
		{"fewer real ones alone", []familySize{{n: 5, grid: write}, {n: 8, grid: a}}, false, -1, -1},
		{"one in all layers", []familySize{{n: 8, grid: a, layers: 4}}, false, 8, -1},
		{"one in three of four", []familySize{{n: 8, grid: a, layers: 3}}, false, -1, -1},
		{"one that writes in all layers", []familySize{{n: 8, grid: write, layers: 4}}, false, 8, 8},
		{"that is replayed", []familySize{{n: 8, grid: write, layers: 4, replay: true}}, false, 8, -1},
		{"fewer real ones in all layers", []familySize{{n: 5, grid: write, layers: 4}, {n: 8, grid: a, layers: 4}},
			false, 8, 5},
		{"dense", []familySize{{n: 8, grid: dense}, {n: 8, grid: a}}, false, 8, -1},
		{"dense, with experts", []familySize{{n: 8, grid: dense}, {n: 8, grid: a}}, true, -1, -1},
	} {
		if rows, tokens := agreed(c.families, c.experts, 4); rows != c.rows || tokens != c.tokens {
			t.Errorf("%s: %d rows, %d tokens, want %d, %d", c.name, rows, tokens, c.rows, c.tokens)
		}
	}
	list := addFamily(addFamily(nil, a, 8, false, 3), a, 8, true, 3)
	if len(list) != 1 || list[0].bad || !list[0].replay || list[0].layers != 1 {
		t.Errorf("%+v", list)
	}
	if list = addFamily(list, a, 9, false, 4); !list[0].bad || !list[0].replay || list[0].layers != 2 {
		t.Errorf("%+v", list)
	}
	if list = addFamily(list, b, 9, false, 4); len(list) != 2 || list[1].bad {
		t.Errorf("%+v", list)
	}
	for config, want := range map[string][3]int64{"1,2,3|4,5,6": {1, 2, 3}, "7": {7}, "1,2": {1, 2}, "": {}, "x": {},
		"1,x": {}, "1,2,3,4": {}} {
		if got := gridOf(config); got != want {
			t.Errorf("%q: %v, want %v", config, got, want)
		}
	}
}

func TestModelsInWords(t *testing.T) {
	for m, want := range map[Model]string{{Draft: true, Name: "X"}: "draft", {}: "unnamed model", {Name: "X"}: "X"} {
		if got := m.Title(); got != want {
			t.Errorf("%+v: %s, want %s", m, got, want)
		}
	}
	one, draft, two := []Model{{Name: "A"}}, []Model{{Name: "A"}, {Draft: true}}, []Model{{Name: "A"}, {Name: "B"}}
	for _, c := range []struct {
		models []Model
		want   string
	}{{one, ""}, {draft, ""}, {two, "B"}, {append(slices.Clone(two), Model{Draft: true}), "B"}} {
		d := &Device{Models: c.models, Passes: []ForwardPass{{Model: len(c.models[:min(2, len(c.models))]) - 1}}}
		if got := d.ModelOf(0); got != c.want {
			t.Errorf("%+v: %q, want %q", c.models, got, c.want)
		}
	}
	// Means over steps are of one model each, which its title names.
	for _, c := range []struct {
		models []Model
		want   []string
	}{
		{[]Model{{Role: RoleEncoder, NumLayers: 24}, {Role: RoleEncoder, NumLayers: 8}, {Name: "A"}},
			[]string{"encoder of 24 layers", "encoder of 8 layers", "A"}},
		{[]Model{{Name: "A", NumLayers: 9}, {NumLayers: 1}, {Name: "A", NumLayers: 9}, {}, {Draft: true, NumLayers: 1}},
			[]string{"A 1 of 9 layers", "unnamed model of 1 layer", "A 2 of 9 layers", "unnamed model of 0 layers", "draft"}},
	} {
		for i, want := range c.want {
			if got := (&Device{Models: c.models, Passes: []ForwardPass{{Model: i}}}).ModelOf(0); got != want {
				t.Errorf("%+v: model %d is %q, want %q", c.models, i, got, want)
			}
		}
	}
	for l, want := range map[ModelLine]string{{Line: "a:1 f"}: "a:1 f",
		{Line: "a:1 f", From: StagePrefill}: "a:1 f (from prefill)", {From: StagePrefill}: "from prefill", {}: ""} {
		if got := l.String(); got != want {
			t.Errorf("%+v: %q, want %q", l, got, want)
		}
	}
}

// TestStepNumbers: passes of two GPUs are one step where they have one annotation or number, else where they overlap
// most.
func TestStepNumbers(t *testing.T) {
	pass := func(start, end int64, index int64) ForwardPass {
		p := ForwardPass{Start: trace.Time(start), End: trace.Time(end), Host: HostSpan{Annotation: trace.None}}
		if index >= 0 {
			p.Annotation = &Step{Dialect: "x", Index: index}
		}
		return p
	}
	numbers := func(passes []ForwardPass) string {
		var out []int
		for _, p := range passes {
			out = append(out, p.Step)
		}
		return fmt.Sprint(out)
	}
	for _, c := range []struct {
		name          string
		first, second []ForwardPass
		want          string
	}{
		{"overlapping", []ForwardPass{pass(0, 10, -1), pass(20, 30, -1)},
			[]ForwardPass{pass(1, 9, -1), pass(21, 33, -1)}, "[0 1] [0 1]"},
		{"apart", []ForwardPass{pass(0, 10, -1), pass(20, 30, -1)}, []ForwardPass{pass(12, 15, -1)}, "[0 2] [1]"},
		{"touching", []ForwardPass{pass(0, 10, -1)}, []ForwardPass{pass(10, 15, -1)}, "[0] [1]"},
		{"most", []ForwardPass{pass(0, 10, -1), pass(10, 30, -1)}, []ForwardPass{pass(8, 14, -1)}, "[0 1] [1]"},
		{"by number", []ForwardPass{pass(0, 10, 1), pass(20, 30, 2)}, []ForwardPass{pass(1, 9, 2)}, "[0 1] [1]"},
		{"of number zero", []ForwardPass{pass(0, 10, 0), pass(20, 30, 1)}, []ForwardPass{pass(21, 29, 0)}, "[0 1] [0]"},
		{"of number zero beside one without", []ForwardPass{pass(0, 10, 0), pass(20, 30, -1)},
			[]ForwardPass{pass(21, 29, 0)}, "[0 1] [0]"},
		{"of another number", []ForwardPass{pass(0, 10, 1)}, []ForwardPass{pass(1, 9, 2)}, "[0] [1]"},
		{"one has no number", []ForwardPass{pass(0, 10, 1)}, []ForwardPass{pass(1, 9, -1)}, "[0] [0]"},
		{"each once", []ForwardPass{pass(0, 10, 1), pass(20, 30, 1)},
			[]ForwardPass{pass(1, 9, 1), pass(21, 29, 1), pass(40, 50, 1)}, "[0 1] [0 1 2]"},
		{"one GPU", []ForwardPass{pass(0, 10, -1), pass(20, 30, -1)}, nil, "[0 1] []"},
		{"within a long one beside a short one", []ForwardPass{pass(0, 100, -1), pass(10, 20, -1)},
			[]ForwardPass{pass(50, 60, -1)}, "[0 1] [0]"},
		{"nothing on the first", nil, []ForwardPass{pass(1, 9, -1), pass(21, 29, -1)}, "[] [0 1]"},
		{"three and five", []ForwardPass{pass(0, 10, -1), pass(20, 30, -1), pass(40, 50, -1)},
			[]ForwardPass{pass(0, 9, -1), pass(12, 15, -1), pass(22, 29, -1), pass(42, 49, -1), pass(60, 70, -1)},
			"[0 2 3] [0 1 2 3 4]"},
	} {
		NumberSteps(c.first, c.second)
		if got := numbers(c.first) + " " + numbers(c.second); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestIdlePassesByHand: a whole pass with layers and without a mixer is idle where another pass of its model has
// mixers and nothing says what it does.
func TestIdlePassesByHand(t *testing.T) {
	with, without := &ladder.Sequence{Role: []ladder.Role{ladder.RoleNorm, ladder.RoleMixer}},
		&ladder.Sequence{Role: []ladder.Role{ladder.RoleNorm}}
	for _, c := range []struct {
		name  string
		seq   *ladder.Sequence
		model string
		pass  ForwardPass
		want  Stage
	}{
		{"layers without a mixer", without, "m", ForwardPass{NumLayers: 3}, StageIdle},
		{"one layer without a mixer", without, "m", ForwardPass{NumLayers: 1}, StageIdle},
		{"of one token", without, "m", ForwardPass{NumLayers: 3, Tokens: 1}, StageIdle},
		{"of two tokens", without, "m", ForwardPass{NumLayers: 3, Tokens: 2}, StageUnknown},
		{"no layers", without, "m", ForwardPass{}, StageUnknown},
		{"with a mixer", with, "m", ForwardPass{NumLayers: 3}, StageUnknown},
		{"cut", without, "m", ForwardPass{NumLayers: 3, Partial: CutAtEnd}, StageUnknown},
		{"another model, which mixes nowhere", without, "other", ForwardPass{NumLayers: 3}, StageUnknown},
	} {
		results := []ladder.Result{{Seq: with, Span: ladder.Span{Model: "m"}},
			{Seq: c.seq, Span: ladder.Span{Model: c.model}}}
		c.pass.Stage = StageUnknown
		a := &Device{Passes: []ForwardPass{{NumLayers: 3, Stage: StageDecode}, c.pass}}
		(&work{}).nameIdle(a, results)
		if a.Passes[1].Stage != c.want || a.Passes[0].Stage != StageDecode {
			t.Errorf("%s: stages %q and %q, want %q and %q", c.name, a.Passes[0].Stage, a.Passes[1].Stage, StageDecode,
				c.want)
		}
	}
}

// TestSameKernelsByHand: where tokens are unknown, passes of the same work run as many kernels, up to one in twenty.
func TestSameKernelsByHand(t *testing.T) {
	for _, c := range []struct {
		tokens int64
		p, q   int
		want   bool
	}{{-1, 100, 100, true}, {-1, 100, 105, true}, {-1, 105, 100, true}, {-1, 100, 106, false}, {-1, 106, 100, false},
		{8, 100, 900, true}} {
		p, q := &ForwardPass{Tokens: c.tokens, Kernels: c.p}, &ForwardPass{Tokens: c.tokens, Kernels: c.q}
		if got := sameKernels(p, q); got != c.want {
			t.Errorf("%d and %d kernels, %d tokens: %t", c.p, c.q, c.tokens, got)
		}
	}
}

// TestRolesByHand: what a model's kernels make it, each sign beside the one that would make it something else. A network
// that attends at several sizes, as those of older denoisers do, decodes no image; what samples without a head picks a
// row; a rotation in half of the layers or fewer is none. Tokens that see later ones are an encoder's, whatever it
// ends in; CLIP's see those before them alone, and do not rotate.
func TestRolesByHand(t *testing.T) {
	decoder := roleSigns{convolves: true, upsamples: true, mixers: 1}
	several, still := decoder, decoder
	several.mixers, still.upsamples = 2, false
	picks := roleSigns{embeds: true, samples: true, mixers: 12}
	samples := picks
	samples.head = true
	for k, c := range []struct {
		signs  roleSigns
		layers int
		want   Role
	}{
		{decoder, 0, RoleDecoder}, {several, 0, RoleUnknown}, {still, 0, RoleUnknown}, {decoder, 12, RoleTower},
		{picks, 12, RoleEncoder}, {samples, 12, RoleLanguage}, {picks, 0, RoleUnknown},
		{roleSigns{embeds: true, mixers: 12, rotations: 6}, 12, RoleEncoder},
		{roleSigns{embeds: true, mixers: 12, rotations: 7}, 12, RoleUnknown},
		{roleSigns{embeds: true, mixers: 12, rotations: 7, both: true}, 12, RoleEncoder},
		{roleSigns{embeds: true, mixers: 12, head: true, both: true}, 12, RoleEncoder},
		{roleSigns{embeds: true, mixers: 12, rotations: 7, causal: true}, 12, RoleLanguage},
		{roleSigns{embeds: true, mixers: 12, causal: true}, 12, RoleEncoder},
		{roleSigns{mixers: 12, causal: true}, 12, RoleUnknown},
		{roleSigns{generates: true, modulates: true, mixers: 12}, 12, RoleDenoiser},
	} {
		if got := c.signs.role(c.layers); got != c.want {
			t.Errorf("case %d: %q, want %q", k, got, c.want)
		}
	}
}

// TestNumbersOfCategories: each category has one number, and the label that it had first.
func TestNumbersOfCategories(t *testing.T) {
	a := &Device{labels: map[classify.Category]string{}}
	for _, c := range []struct {
		category classify.Category
		want     uint16
	}{{classify.CategoryGEMM, 0}, {classify.CategoryNorm, 1}, {classify.CategoryGEMM, 0}, {classify.CategoryNorm, 1},
		{classify.CategoryRope, 2}} {
		if got := a.key(c.category, "label of "+string(c.category)); got != c.want {
			t.Errorf("%s has the number %d, want %d", c.category, got, c.want)
		}
	}
	if len(a.keys) != 3 || a.labels[classify.CategoryNorm] != "label of norm" {
		t.Errorf("%v, %v", a.keys, a.labels)
	}
}

// TestTwinsByPosition: a match by position stays between two that match better. A kernel of a layer without a twin has
// that of the neighbour before it of the same role, or of the one after it.
func TestTwinsByPosition(t *testing.T) {
	kinds := map[byte]How{'n': HowNone, 'p': HowPosition, 's': HowName}
	for _, c := range []struct{ how, want string }{{"sps", "sps"}, {"psp", "nsn"}, {"spps", "snns"}, {"spns", "snns"},
		{"snps", "snns"}, {"sp", "sn"}, {"sspss", "sspss"}, {"p", "n"}} {
		how, match, got := make([]How, len(c.how)+2), make([]int32, len(c.how)+2), ""
		how[0], how[len(how)-1] = HowName, HowName // of other layers
		for i := range c.how {
			how[i+1], match[i+1] = kinds[c.how[i]], 7
		}
		dropLonePositions(1, len(c.how)+1, match, how)
		for i := range c.how {
			for letter, k := range kinds {
				if how[i+1] == k {
					got += string(letter)
				}
			}
			if (match[i+1] == -1) != (how[i+1] == HowNone && c.how[i] == 'p') {
				t.Errorf("%s: kernel %d is matched with %d", c.how, i, match[i+1])
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.how, got, c.want)
		}
	}
	const mixer, norm, other = ladder.RoleMixer, ladder.RoleNorm, ladder.RoleOther
	for _, c := range []struct {
		roles []ladder.Role
		match []int32
		want  string
	}{{[]ladder.Role{mixer, mixer, mixer}, []int32{4, -1, 6}, "[4 4 6]"},
		{[]ladder.Role{norm, mixer, mixer}, []int32{4, -1, 6}, "[4 6 6]"},
		{[]ladder.Role{norm, mixer, norm}, []int32{4, -1, 6}, "[4 -1 6]"},
		{[]ladder.Role{other, other}, []int32{4, -1}, "[4 -1]"},
		{[]ladder.Role{mixer, mixer}, []int32{-1, 0}, "[0 0]"}} {
		l := &line{seq: ladder.Sequence{Role: c.roles}}
		if shareTwins(l, 0, len(c.roles), c.match, make([]How, len(c.roles))); fmt.Sprint(c.match) != c.want {
			t.Errorf("%v: %v, want %s", c.roles, c.match, c.want)
		}
	}
}

// TestSizesOfAttention: queries and keys of as many requests, by four axes each; a decode has one query and more keys.
func TestSizesOfAttention(t *testing.T) {
	of := func(requests, queries, keys int64) attention {
		return attention{requests: requests, queries: queries, keys: keys}
	}
	four := []int64{2, 8, 1, 64}
	for _, c := range []struct {
		sizes   [][]int64
		want    attention
		decodes bool
	}{{[][]int64{four, {2, 8, 5, 64}}, of(2, 1, 5), true}, {[][]int64{four, four}, of(2, 1, 1), false},
		{[][]int64{{2, 8, 2, 64}, {2, 8, 5, 64}}, of(2, 2, 5), false}, {[][]int64{four}, attention{}, false},
		{[][]int64{four, four[:3]}, attention{}, false}, {[][]int64{four[:3], four}, attention{}, false},
		{[][]int64{four, {3, 8, 5, 64}}, attention{}, false}, {[][]int64{four, {2, 8, 2, 64},
			{9}}, of(2, 1, 2), true}} {
		if got := attentionIn(c.sizes); got != c.want || got.decodes() != c.decodes {
			t.Errorf("%v: %+v, decodes %v", c.sizes, got, got.decodes())
		}
	}
}

// TestOrderOfLayers: one goes on after another one has begun where a number is less than one before it.
func TestOrderOfLayers(t *testing.T) {
	for _, c := range []struct {
		layers []int32
		want   bool
	}{{nil, false}, {[]int32{0, 0, 1, 2}, false}, {[]int32{0, 1, 0}, true}, {[]int32{-1, 0, -1, 1}, false},
		{[]int32{1, -1, 0}, true},
		{[]int32{0, -1, 0}, false}} {
		if got := returns(c.layers); got != c.want {
			t.Errorf("%v: %v, want %v", c.layers, got, c.want)
		}
	}
	for _, c := range []struct {
		walls []int64
		want  int
	}{{[]int64{10, 30, 20}, 2}, {[]int64{10, 20}, 1}, {[]int64{20, 20, 10}, 0}, {[]int64{5}, 0},
		{[]int64{1, 2, 2, 100}, 1}} {
		if got := nearestMedian(passesOf(c.walls...), len(c.walls)); got != c.want {
			t.Errorf("%v: pass %d is nearest to the median, want %d", c.walls, got, c.want)
		}
	}
	for _, c := range []struct {
		layers []int
		want   int
	}{{nil, 0}, {[]int{1, 3, 3}, 1}, {[]int{3, 1}, 0}} {
		passes := make([]ForwardPass, len(c.layers))
		for p, n := range c.layers {
			passes[p].NumLayers = n
		}
		if got := longestPass(passes); got != c.want {
			t.Errorf("%v layers: pass %d has most, want %d", c.layers, got, c.want)
		}
	}
}

// TestStepsOfDrafts: a draft is part of the step of the target before it, the first ones of that of the first target.
func TestStepsOfDrafts(t *testing.T) {
	letters := map[rune]Stage{'d': StageDraft, 't': StageDecode, 'i': StageIdle, 'c': StageCapture}
	for passes, want := range map[string]string{"tddtd": "[0 0 0 3 3]", "dtd": "[1 1 1]", "dd": "[0 1]",
		"titd": "[0 1 2 2]",
		"ddit": "[3 3 2 3]", "c": "[0]", "tcd": "[0 1 0]"} {
		d := &Device{}
		for _, r := range passes {
			d.Passes = append(d.Passes, ForwardPass{Stage: letters[r]})
		}
		if d.findStepOf(); fmt.Sprint(d.stepOf) != want {
			t.Errorf("%s: %v, want %s", passes, d.stepOf, want)
		}
	}
}

// TestNumbersOfLayers: where the window lacks the first layers, they count from the end.
func TestNumbersOfLayers(t *testing.T) {
	for _, c := range []struct {
		p             ForwardPass
		index, number int
		words         string
	}{{ForwardPass{FirstLayer: 2, NumLayers: 3}, 4, 4, "2…4"},
		{ForwardPass{NumLayers: 3, FromEnd: true}, 2, -1,
			"-3…-1, counted from the end, as the window does not hold the first ones"},
		{ForwardPass{FirstLayer: 1, NumLayers: 3, FromEnd: true}, 1, -3,
			"-3…-1, counted from the end, as the window does not hold the first ones"}} {
		index, ok := c.p.indexOf(c.number)
		if c.p.LayerNumber(c.index) != c.number || index != c.index || !ok || c.p.numbers() != c.words {
			t.Errorf("%+v: layer %d is number %d, which is %d, of %s", c.p, c.index, c.p.LayerNumber(c.index), index,
				c.p.numbers())
		}
	}
	from := ForwardPass{NumLayers: 3, FromEnd: true}
	if _, ok := from.indexOf(0); ok {
		t.Error("layer 0 of a pass whose layers count from the end is known")
	}
	for cut, want := range map[string]string{"": "", CutAtBoth: "cut at both ends", CutAtStart: "cut at start"} {
		if got := CutWords(cut); got != want {
			t.Errorf("%q: %q, want %q", cut, got, want)
		}
	}
}
