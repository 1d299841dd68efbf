package compare

import (
	"context"
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
				at[u.name] = len(r.Rows)
				r.Rows = append(r.Rows, RowName{Operator: u.name, Class: classNames[memory], Kernels: []string{u.name}})
				r.Kernels = append(r.Kernels, KernelName{Name: u.name, Base: u.name, Operator: u.name, Category: "gemm", Row: at[u.name]})
			}
		}
	}
	for i, uses := range passes {
		p := Pass{Index: i, Stage: layer.StageDecode, Batch: -1, Tokens: -1, Followed: true, Rows: make([]time.Duration, len(r.Rows)), Launches: make([]int, len(r.Rows))}
		for _, u := range uses {
			d := time.Duration(1e3 * u.us)
			k := at[u.name]
			p.Kernels = append(p.Kernels, KernelTime{Kernel: k, Count: u.count, Exclusive: d, Time: d})
			p.Rows[k] += d
			p.Launches[k] += u.count
			p.Wall += d
		}
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
		"Pooled": {0.899, 0.901, func(p params, x float64) bool {
			groups, _ := p.groups([2]*Side{sideOf(runOf([]use1{{"k", 1000, 10}})), sideOf(runOf([]use1{{"k", int(1000 * x), 10}}))})
			return len(groups) == 1
		}},
		"Contained": {0.949, 0.951, func(p params, x float64) bool { // of the last pass's kernels that the other pass runs, too
			r := runOf([]use1{{"k", 2000, 10}}, []use1{{"k", int(1000 * x), 10}, {"l", 1000 - int(1000*x), 10}})
			return p.cut(&r, sigs(&r), 1)
		}},
		"Whole": {-0.996, -0.994, func(p params, x float64) bool {
			r := runOf([]use1{{"k", 1000, 10}}, []use1{{"k", int(-1000 * x), 10}})
			return p.cut(&r, sigs(&r), 1)
		}},
		"SizeGap": {0.099, 0.101, func(p params, x float64) bool {
			groups, _ := p.groups([2]*Side{sideOf(runOf([]use1{{"k", 10, 100}}, []use1{{"k", 10, 100 * (1 + x)}})), sideOf()})
			return len(groups) == 2
		}},
		"Lost": {-75, -74, func(p params, x float64) bool { return p.fill(int(-x), 100) == 1 }},
		"Strays": {-0.101, -0.099, func(p params, x float64) bool {
			r := &Report{Work: Interval{A: 1e6, B: 1e6}, Rows: []Row{{Operator: rowOthers, Interval: Interval{B: time.Duration(-1e6 * x)}}}}
			return (&comparison{p: p}).strays(r) == ""
		}},
		"Alike": {0.699, 0.701, func(p params, x float64) bool { // of side B's time in an operator that A has
			a, b := runOf([]use1{{"attention", 10, 100}}), runOf([]use1{{"attention", 10, 100 * x}, {"lm_head", 1, 100 * (1 - x)}})
			a.Kernels[0].Base = "another"
			return p.match([2]*Side{sideOf(a), sideOf(b)}, &Options{}).why == ""
		}},
		"Matched": {0.499, 0.501, func(p params, x float64) bool {
			a := runOf([]use1{{"k", 10, 100 * x}}, []use1{{"l", 10, 100 * (1 - x)}})
			return p.match([2]*Side{sideOf(a), sideOf(runOf([]use1{{"k", 10, 100}}))}, &Options{}).why == ""
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

// Passes that do other work are not pooled, whatever their stage is: of an encoder and a decoder of images only what both sides have is compared, and the
// rest is named with its share of the GPU time.
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
	if left := strings.Join(r.Left, "\n"); !strings.Contains(left, "A: 1 × decode, 3.5% of its GPU time") {
		t.Errorf("left out: %s", left)
	}
}

// Two models are not compared, and the reason says what they are.
func TestStrangers(t *testing.T) {
	llama := runOf(repeated(5, use1{"attention", 80, 800}, use1{"qkv_proj", 80, 900}, use1{"down_proj", 80, 900}, use1{"rope", 80, 100})...)
	conv := runOf(repeated(5, use1{"conv", 50, 900}, use1{"pool", 3, 20})...)
	for i := range llama.Passes {
		llama.Passes[i].NumLayers = 80
		conv.Passes[i].Stage = layer.StageUnknown
	}
	conv.Kernels[0].Op, conv.Kernels[1].Op = "aten::cudnn_convolution", "aten::max_pool2d"
	r := compareSides(t, sideOf(llama), sideOf(conv))
	if want := "not comparable: A is an 80-layer language model, B a convolutional network"; r.Verdict != NotComparable || r.Text != want {
		t.Errorf("%s: %q, want %q", r.Verdict, r.Text, want)
	}
	gates := Options{Gates: []Gate{{Limit: 0.03}}}
	if r, _ := Compare(context.Background(), sideOf(llama), sideOf(conv), gates); len(r.Gates) != 1 || r.Gates[0].Outcome != undecided {
		t.Errorf("gates %+v, want one that is undecided", r.Gates)
	}
	// The same architecture with another number of layers is another model.
	other := runOf(repeated(5, use1{"attention", 32, 320}, use1{"qkv_proj", 32, 360}, use1{"down_proj", 32, 360}, use1{"rope", 32, 40})...)
	for i := range other.Passes {
		other.Passes[i].NumLayers = 32
	}
	if r := compareSides(t, sideOf(llama), sideOf(other)); r.Verdict != NotComparable || !strings.Contains(r.Text, "80-layer") || !strings.Contains(r.Text, "32-layer") {
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
	small, large := []use1{{"attention", 43, 500}, {"down_proj", 43, 700}}, []use1{{"attention", 43, 800}, {"down_proj", 43, 1100}}
	a := sideOf(runOf(small, large, large, large, large))
	b := sideOf(runOf(small, small, large, large))
	if r := compareSides(t, a, b); r.Verdict != Same || r.A.Passes != 4 || r.B.Passes != 2 || len(r.Others) != 1 || r.Others[0].Verdict != Same {
		t.Errorf("%s: %d and %d passes, others %+v", r.Text, r.A.Passes, r.B.Passes, r.Others)
	}
	// One kernel that is slower in some passes is a change of the same work.
	step := func(us float64) []use1 {
		return []use1{{"attention", 43, 800}, {"o_proj", 43, 500}, {"rope", 43, 90}, {"down_proj", 43, us}}
	}
	if r := compareSides(t, sideOf(runOf(repeated(6, step(1100)...)...)), sideOf(runOf(step(1100), step(1700), step(1100), step(1100), step(1700), step(1100)))); r.B.Passes != 6 {
		t.Errorf("%d of 6 passes are compared", r.B.Passes)
	}
}

// The same kernels are in the same row on both sides, whatever one side's analysis calls them, and a kernel of another name that runs as often between the
// same kernels keeps its operator.
func TestRowsFollowKernels(t *testing.T) {
	with := func(edit func(k *KernelName)) *Side {
		r := runOf(repeated(6, use1{"attention", 80, 800}, use1{"o_proj", 80, 900}, use1{"down_proj", 80, 900})...)
		r.Kernels[1].Before, r.Kernels[1].After = "attention", "down_proj"
		if edit != nil {
			edit(&r.Kernels[1])
		}
		return sideOf(r)
	}
	for name, edit := range map[string]func(k *KernelName){
		"another operator":                    func(k *KernelName) { k.Operator = "gate_up_proj" },
		"no operator":                         func(k *KernelName) { k.Operator, k.Category = "", "gemm" },
		"another name that nobody knows":      func(k *KernelName) { k.Name, k.Base, k.Operator, k.Category = "zzz", "zzz", "", "other" },
		"another name with another operator":  func(k *KernelName) { k.Name, k.Base, k.Operator = "zzz", "zzz", "gate_up_proj" },
		"another name with its own, known by": func(k *KernelName) { k.Name, k.Base = "zzz", "zzz" },
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
	b := with(func(k *KernelName) { k.Name, k.Base, k.Operator, k.Before, k.After = "zzz", "zzz", "lm_head", "x", "y" })
	if r := compareSides(t, with(nil), b); r.Verdict != NotComparable {
		t.Errorf("a kernel of a third of the time in another place: %s", r.Text)
	}
}

// A single pass without layers that runs a part of the other side's kernels is not compared: nothing says that it is complete.
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
	one, other = sideOf(runOf(append([]use1{{"norm", 25, 30}}, whole...))), sideOf(runOf(whole)) // without a kernel of each layer
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
