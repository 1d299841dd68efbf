package compare_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/layer/finding"
)

// passesOf calls f with the GPU activities of each n-th pass.
func (d doc) passesOf(passOf map[int64]int, n int, f func(e map[string]any)) {
	for _, e := range d.events() {
		if p, ok := passOf[int64(math.Round(ts(e)*1e3))]; ok && onGPU(e) && p%n == 0 {
			f(e)
		}
	}
}

// key identifies an event.
func key(e map[string]any) string {
	args, _ := e["args"].(map[string]any)
	return fmt.Sprint(e["name"], args["correlation"], args["graph node id"], args["External id"])
}

// rename gives kernels whose names hold a word another name.
func (d doc) rename(from, to string) {
	for _, e := range d.events() {
		if name, _ := e["name"].(string); onGPU(e) && strings.Contains(name, from) {
			e["name"] = to
		}
	}
}

// Each planted change is found in its row, with its sign and its size within the interval, and one phrase says what
// it comes from. Nothing else is found.
func TestPlanted(t *testing.T) {
	base, _ := generated(t, 1)
	for _, c := range []struct {
		name     string
		change   func(d doc, passOf map[int64]int)
		verdict  compare.Outcome
		kind     finding.Kind
		operator string
		us       float64 // of kernel time a pass
		because  string
	}{
		{"a tile × 1.5", func(d doc, _ map[int64]int) { d.stretch(named("nvjet_tst_128x8_64x12_4x1"), 1.5) },
			compare.Slower, finding.OperatorChanged, "gate_up_proj", 80.5, "8 launches, each 20."},
		{"a kernel × 1.1", func(d doc, _ map[int64]int) { d.stretch(named("BatchDecode"), 1.1) }, compare.Slower,
			finding.OperatorChanged, "attention", 22.4, "8 launches, each"},
		{"in a third of the passes", func(d doc, passOf map[int64]int) {
			slow := map[string]bool{}
			d.passesOf(passOf, 3, func(e map[string]any) {
				if named("nvjet_tst_128x8_64x12_4x1")(e) {
					slow[key(e)] = true
				}
			})
			d.stretch(func(e map[string]any) bool { return slow[key(e)] }, 1.5)
		}, compare.Slower, finding.OperatorChanged, "gate_up_proj", 80.5 / 3, "in 6 of 18 passes"},
		{"a name that nobody knows, × 1.5", func(d doc, _ map[int64]int) {
			d.stretch(named("nvjet_tst_128x8_64x12_4x1"), 1.5)
			d.rename("nvjet_tst_128x8_64x12_4x1", "zzz_new_thing")
		}, compare.Slower, finding.OperatorChanged, "gate_up_proj", 80.5, "zzz_new_thing instead of nvjet"},
		{"removed", func(d doc, _ map[int64]int) {
			d.stretch(named("act_and_mul"), 0)
			d.drop(named("act_and_mul"))
		}, compare.Faster,
			finding.OperatorRemoved, "activation", -26.8, ""},
		// One row has both kernels and the one that replaces them, whichever of the two it is named like.
		{"the cache write fused into the rotary embedding", func(d doc, _ map[int64]int) {
			d.stretch(named("store_kvcache"), 0)
			d.drop(named("store_kvcache"))
			d.rename("ApplyRotary", "void fused_rope_store_kernel<true, 128l, true, __nv_bfloat16>(Params)")
		}, compare.Faster, finding.OperatorChanged, "rope+kv_write", -22.9,
			"fused: fused_rope_store_kernel instead of "},
		{"idle between steps", func(d doc, passOf map[int64]int) { d.pause(700, passOf) }, compare.Slower,
			finding.WaitChanged, "between steps", 700, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, passOf := generated(t, 2)
			d := parse(t, text)
			c.change(d, passOf)
			a, b := parse(t, base).side(t, nil), d.side(t, nil)
			r := report(t, a, b, compare.Options{})
			if r.Verdict != c.verdict {
				t.Errorf("%s; want %s", r.Text, c.verdict)
			}
			if len(r.Findings) != 1 || r.Findings[0].Kind != c.kind || r.Findings[0].Code != c.operator {
				t.Fatalf("findings %s, want %s %s", kindsOf(r), c.kind, c.operator)
			}
			for _, row := range r.Rows {
				if row.Operator != c.operator {
					continue
				}
				want := time.Duration(1e3 * c.us)
				if row.Low > want || row.High < want || (row.KernelB-row.KernelA > 0) != (c.us > 0) {
					t.Errorf("%s: %v to %v, want %v within", row.Text, row.Low, row.High, want)
				}
				if !strings.Contains(row.Because, c.because) {
					t.Errorf("%q lacks %q", row.Because, c.because)
				}
			}
			var sum time.Duration
			for _, part := range r.Waterfall {
				sum += part.Delta
			}
			if sum != r.Delta {
				t.Errorf("the waterfall adds up to %v, the step differs by %v", sum, r.Delta)
			}
			if why := compare.Mirrors(r, report(t, b, a, compare.Options{})); why != "" {
				t.Error("the other way round: ", why)
			}
		})
	}
}

// pauses puts so many µs after each of the kernels chosen by which: all that comes later moves, what the CPU does
// meanwhile takes longer.
func (d doc) pauses(which func(map[string]any) bool, us float64) {
	var at []float64
	for _, e := range d.events() {
		if which(e) {
			at = append(at, ts(e))
		}
	}
	slices.Sort(at)
	before := func(t float64) float64 { n, _ := slices.BinarySearch(at, t); return us * float64(n) }
	for _, e := range d.events() {
		start, ok := e["ts"].(float64)
		if !ok {
			continue
		}
		if dur, ok := e["dur"].(float64); ok && !onGPU(e) {
			e["dur"] = dur + before(start+dur) - before(start)
		}
		e["ts"] = start + before(start)
	}
}

// waits makes the first kernel of each pass whose name holds a word take so many µs longer: what follows moves.
func (d doc) waits(word string, us float64, passOf map[int64]int) {
	passes := map[int][]map[string]any{}
	d.passesOf(passOf, 1, func(e map[string]any) {
		p := passOf[int64(math.Round(ts(e)*1e3))]
		passes[p] = append(passes[p], e)
	})
	d.pause(us, passOf)
	for _, list := range passes {
		slices.SortFunc(list, func(a, b map[string]any) int { return cmp.Compare(ts(a), ts(b)) })
		first := slices.IndexFunc(list, named(word))
		for i := first; i >= 0 && i < len(list); i++ {
			if i == first {
				list[i]["dur"] = list[i]["dur"].(float64) + us
			} else {
				list[i]["ts"] = ts(list[i]) + us
			}
		}
	}
}

// slowHost makes all that the CPU does take factor times as long. Kernels begin as soon after their launch, and after
// the kernel before, as they did.
func (d doc) slowHost(factor float64) {
	list := d.events()
	slices.SortStableFunc(list, func(a, b map[string]any) int { return cmp.Compare(ts(a), ts(b)) })
	id := func(e map[string]any) any { args, _ := e["args"].(map[string]any); return args["correlation"] }
	ends := func(e map[string]any) float64 { dur, _ := e["dur"].(float64); return ts(e) + dur }
	launched, latency, first := map[any]float64{}, math.Inf(1), math.Inf(1)
	for _, e := range list {
		switch cat, _ := e["cat"].(string); {
		case strings.HasPrefix(cat, "cuda_"):
			launched[id(e)] = ends(e)
		case onGPU(e):
			latency = min(latency, ts(e)-launched[id(e)])
		}
		if e["dur"] != nil {
			first = min(first, ts(e))
		}
	}
	warp := func(t float64) float64 { return first + factor*(t-first) }
	var was, free float64 // ends of the kernel before
	for _, e := range list {
		dur, _ := e["dur"].(float64)
		switch end := ends(e); {
		case e["ts"] == nil:
		case !onGPU(e):
			e["ts"] = warp(ts(e))
			if e["dur"] != nil {
				e["dur"] = factor * dur
			}
		default:
			gap := ts(e) - max(was, launched[id(e)]+latency)
			e["ts"] = max(free, warp(launched[id(e)])+latency) + gap
			was, free = end, ts(e)+dur
		}
	}
}

// A host that takes half as long again for all that it does: each of its operations is found with that size, the step
// with the time that the GPU then waits, and no kernel is.
func TestPlantedHost(t *testing.T) {
	eager := func(c *gen.Config) {
		c.Passes, c.NoFlows, c.Stacks = slices.Clone(c.Passes), true, true
		for i := range c.Passes {
			c.Passes[i].Mode = gen.Eager
		}
	}
	with := func(seed uint64, factor float64) (*compare.Side, float64) {
		text, passOf := generated(t, seed, eager)
		d := parse(t, text)
		starts := map[int]*map[string]any{}
		d.passesOf(passOf, 1, func(e map[string]any) {
			if p := passOf[int64(math.Round(ts(e)*1e3))]; starts[p] == nil || ts(e) < ts(*starts[p]) {
				starts[p] = &e
			}
		})
		if factor != 1 {
			d.slowHost(factor)
		}
		s := d.side(t, nil)
		s.Runs[0].Host = d.host(t)
		return s, (ts(*starts[20]) - ts(*starts[2])) / 18
	}
	a, stepA := with(1, 1)
	b, stepB := with(2, 1.5)
	r := report(t, a, b, compare.Options{})
	want := time.Duration(1e3 * (stepB - stepA))
	if r.Verdict != compare.Slower || want < r.Wall.Low || want > r.Wall.High {
		t.Errorf("%s (%v to %v); want slower by %v", r.Text, r.Wall.Low, r.Wall.High, want)
	}
	if f := r.First; f.Kind != finding.HostChanged || f.PerStep <= 0 {
		t.Errorf("look first at %s: %s", f.Kind, f.Evidence)
	}
	found := 0
	for _, row := range r.Host.Rows {
		if row.Class == compare.OfHost && row.Significant {
			if found++; row.A/2 < row.Low || row.A/2 > row.High {
				t.Errorf("%s %s: %v to %v (%v to %v)", row.Kind, row.Name, row.A, row.B, row.Low, row.High)
			}
		}
	}
	for _, f := range r.Findings {
		if f.Kind != finding.WaitChanged && f.Kind != finding.HostChanged {
			t.Errorf("%s: %s", f.Kind, f.Sentence())
		}
	}
	if found < 2 {
		t.Errorf("%d operations of the host are found", found)
	}
	if back := report(t, b, a, compare.Options{}); back.Verdict != compare.Faster {
		t.Errorf("the other way round: %s", back.Text)
	}
}

// split makes two kernels of each one whose name holds a word: the first takes a share of its time, the second the
// rest.
func (d doc) split(word, first, second string, share float64) {
	for _, e := range d.events() {
		if !named(word)(e) {
			continue
		}
		rest := maps.Clone(e)
		dur := e["dur"].(float64)
		e["name"], e["dur"] = first, share*dur
		rest["name"], rest["ts"], rest["dur"] = second, ts(e)+share*dur, (1-share)*dur
		d["traceEvents"] = append(d["traceEvents"].([]any), rest)
	}
}

// perStep is the time in µs of kernels whose names hold one of some words, in the mean of the twenty decode steps.
func (d doc) perStep(passOf map[int64]int, words ...string) float64 {
	var sum float64
	d.passesOf(passOf, 1, func(e map[string]any) {
		if passOf[int64(math.Round(ts(e)*1e3))] > 0 &&
			slices.ContainsFunc(words, func(w string) bool { return named(w)(e) }) {
			sum += e["dur"].(float64)
		}
	})
	return sum / 20
}

// Changes of more than one kernel: what is found, where, and the phrase that says why.
func TestPlantedElsewhere(t *testing.T) {
	parallel := func(c *gen.Config) { c.TP = 2 }
	var reduced float64 // µs a decode step of all-reduces after attention
	reduces := func(c *gen.Config) {
		parallel(c)
		truth := c.Truth
		c.Truth = func(x gen.Truth) {
			if x.Pass > 0 && strings.Contains(x.Operator, opname.AttnAllReduce) {
				reduced += float64(x.Duration) / 1e3 / 20
			}
			truth(x)
		}
	}
	splitK := func(c *gen.Config) { c.Arch.SplitK = true }
	decodes := func(edit func(p *gen.Pass)) func(c *gen.Config) {
		return func(c *gen.Config) {
			c.Passes = slices.Clone(c.Passes)
			for i := range c.Passes {
				if c.Passes[i].Decodes > 0 {
					edit(&c.Passes[i])
				}
			}
		}
	}
	tokens := decodes(func(p *gen.Pass) { p.Decodes = 32 })
	eager := decodes(func(p *gen.Pass) { p.Mode = gen.Eager })
	for _, c := range []struct {
		name     string
		a, b     func(*gen.Config)
		change   func(d doc, passOf map[int64]int)
		o        compare.Options
		verdict  compare.Outcome
		finding  string
		operator string
		// us is what the row takes more on B by the raw records, from the time of kernels before the change and
		// after it.
		us      func(a, b func(words ...string) float64) float64
		because string
		part    string // of the waterfall that is beyond noise
	}{
		{"idle between kernels", nil, nil, func(d doc, _ map[int64]int) { d.pauses(named("BatchDecode"), 50) },
			compare.Options{}, compare.Slower, "waiting idle", "idle",
			func(_, _ func(...string) float64) float64 { return 400 }, "", "between kernels"},
		{"waiting for ranks", parallel, parallel, func(d doc, passOf map[int64]int) { d.waits("reduce_", 400, passOf) },
			compare.Options{}, compare.Slower, "waiting waiting for ranks", "waiting for ranks",
			func(_, _ func(...string) float64) float64 { return 400 }, "", "waiting for ranks"},
		{"a faster all-reduce", parallel, reduces, func(d doc, _ map[int64]int) { d.stretch(named("reduce_"), 0.6) },
			compare.Options{}, compare.Faster, "operator attn_all_reduce", "attn_all_reduce",
			func(_, _ func(...string) float64) float64 { return -0.4 * reduced }, "8 launches, each ",
			"exposed communication"},
		{"fused", splitK, splitK, func(d doc, _ map[int64]int) {
			d.drop(named("splitKreduce"))
			d.rename("splitK_TNT", "nvjet_tst_64x8_64x16_4x1_v_bz_TNT")
		}, compare.Options{}, "", "operator o_proj", "o_proj",
			func(_, b func(...string) float64) float64 { return -b("splitKreduce") },
			"fused: nvjet_tst_64x8_64x16_4x1_v_bz_TNT instead of nvjet_tst_64x8_64x16_2x1_v_bz_splitK_TNT and " +
				"splitKreduce_kernel, 8 launches instead of 11", ""},
		{"split", nil, nil, func(d doc, _ map[int64]int) {
			d.stretch(named("nvjet_tst_128x8_64x12_4x1"), 1.4)
			d.split("nvjet_tst_128x8_64x12_4x1", "nvjet_tst_128x8_64x12_4x1_v_bz_splitK_TNT", "splitKreduce_kernel",
				0.6)
		}, compare.Options{}, compare.Slower, "operator gate_up_proj", "gate_up_proj",
			func(_, b func(...string) float64) float64 { return 0.4 * b("nvjet_tst_128x8_64x12_4x1") },
			"split: nvjet_tst_128x8_64x12_4x1_v_bz_splitK_TNT and splitKreduce_kernel instead of " +
				"nvjet_tst_128x8_64x12_4x1_v_bz_TNT, 16 launches instead of 8", ""},
		{"the tokens doubled", nil, tokens, func(doc, map[int64]int) {},
			compare.Options{Allow: []compare.DoubtCode{compare.DoubtWork}}, compare.Slower,
			"operator attention, operator gate_up_proj", "attention",
			func(a, b func(...string) float64) float64 { return b("BatchDecode") - a("BatchDecode") },
			"2.00× the tokens", "kernels"},
		{"graph to eager", nil, eager, func(d doc, _ map[int64]int) { d.pauses(named("BatchDecode"), 50) },
			compare.Options{}, compare.Slower, "path, waiting idle", "idle",
			func(_, _ func(...string) float64) float64 { return 430 }, "graph → eager", "between kernels"},
	} {
		t.Run(c.name, func(t *testing.T) {
			edits := func(f func(*gen.Config)) []func(*gen.Config) {
				if f == nil {
					return nil
				}
				return []func(*gen.Config){f}
			}
			base, passOfA := generated(t, 1, edits(c.a)...)
			text, passOf := generated(t, 2, edits(c.b)...)
			d := parse(t, text)
			want := c.us(func(words ...string) float64 { return parse(t, base).perStep(passOfA, words...) },
				func(words ...string) float64 { return parse(t, text).perStep(passOf, words...) })
			c.change(d, passOf)
			sideA, sideB := parse(t, base).side(t, nil), d.side(t, nil)
			r := report(t, sideA, sideB, c.o)
			if why := compare.Mirrors(r, report(t, sideB, sideA, c.o)); why != "" {
				t.Error("the other way round: ", why)
			}
			if c.verdict != "" && r.Verdict != c.verdict || !strings.Contains(kindsOf(r), c.finding) {
				t.Errorf("%s, findings %s; want %s, %s", r.Text, kindsOf(r), c.verdict, c.finding)
			}
			for _, row := range r.Rows {
				if low, high := float64(row.Low)/1e3, float64(row.High)/1e3; row.Operator == c.operator &&
					(want < low || want > high || !strings.Contains(row.Because, c.because)) {
					t.Errorf("%s (%.1f … %.1f µs); want %.1f µs, %q", row.Text, low, high, want, c.because)
				}
			}
			var sum time.Duration
			for _, part := range r.Waterfall {
				sum += part.Delta
				if part.Operator == c.part && !part.Significant {
					t.Errorf("%s: %v to %v is not found", part.Operator, part.Low, part.High)
				}
			}
			if sum != r.Delta {
				t.Errorf("the waterfall adds up to %v, the step differs by %v", sum, r.Delta)
			}
		})
	}
}
