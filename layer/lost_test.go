package layer_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// ofTen is how many kernels each pass of tenPasses runs, ran how many ns each takes with what is before the next.
const (
	ofTen = 248
	ran   = 5000
)

// tenPasses is ten passes of a model whose layers run many kernels, each by a call of its own or as replays of graphs.
func tenPasses(replays bool) []act {
	pass := laid("vectorized_gather_kernel", rep(24, "fused_add_rms_norm nvjet_qkv rotary_embedding reshape_and_cache "+
		"flash_fwd_splitkv nvjet_o fused_add_rms_norm nvjet_gate_up act_and_mul nvjet_down"),
		"fused_add_rms_norm nvjet_lm temper penalize top_k top_p argmax")
	if replays {
		for i := range pass {
			pass[i].launch, pass[i].graph = 0, true
		}
	}
	return concat(slices.Repeat([][]act{pass}, 10)...)
}

// dropped returns what is left without some activities, in whose place the GPU idles so many ns: the others run
// earlier.
func dropped(all []act, idle int64, gone func(pass, i int) bool) []act {
	var kept []act
	early := int64(0)
	for i, x := range all {
		if gone(i/ofTen, i%ofTen) {
			early += ran - idle
			continue
		}
		x.start -= early
		kept = append(kept, x)
	}
	return kept
}

// late returns activities some of which run after the next two, and nothing runs where they ran before.
func late(all []act, moved func(pass, i int) bool) []act {
	out := slices.Clone(all)
	by := int64(0)
	for i := range out {
		if i > 2 && moved((i-3)/ofTen, (i-3)%ofTen) {
			by += 5000
			out[i-3].start += 15_000
		}
		out[i].start += by
	}
	slices.SortStableFunc(out, func(a, b act) int { return cmp.Compare(a.start, b.start) })
	return out
}

// TestRecordsLostOneByOne: where a profiler loses every 37th record, the passes show that by each other, and health is
// degraded. A kernel that a pass does not run is not lost: the GPU does not wait for it, most passes lack the same,
// it is one that the pass runs once, or it runs somewhere else.
func TestRecordsLostOneByOne(t *testing.T) {
	often := func(pass, i int) bool { return (pass*ofTen+i)%37 == 36 }
	for _, replays := range []bool{false, true} {
		all := tenPasses(replays)
		twice := slices.Clone(all)
		for i := range twice {
			if i%ofTen == 244 || i%ofTen == 246 {
				twice[i].name = all[i-1].name
			}
		}
		for _, c := range []struct {
			name        string
			acts        []act
			least, most int // records that are missing
		}{
			{"nothing", all, 0, 0},
			{"every 37th", dropped(all, ran, often), 34, 67},
			{"some the same in two", dropped(all, ran, func(p, i int) bool {
				return i%50 == p%5*7+2 || i%60 == p*5+1
			}), 60, 100},
			{"in three passes", dropped(all, ran, func(p, i int) bool { return p%3 == 2 && i%37 == p }), 10, 21},
			{"never ran, and the GPU idles a bit", dropped(all, ran/4, often), 0, 0},
			{"one of two of a name", dropped(twice, ran, func(p, i int) bool {
				return p%2 == 1 && p < 8 && (i == 243+p/2%2 || i == 245+(p/2+p/4)%2)
			}), 0, 0},
			{"three", dropped(all, ran, func(p, i int) bool { return p%3 == 2 && i == 20*p }), 0, 0},
			{"in one pass", dropped(all, ran, func(p, i int) bool { return p == 3 && i%37 == 1 }), 0, 0},
			{"never ran", dropped(all, 0, often), 0, 0},
			{"the same in most, and one more in each of these", dropped(all, ran, func(p, i int) bool {
				return p >= 3 && (i%50 == 7 || i == 21*p)
			}), 4, 7},
			{"kernels that run once", dropped(all, ran, func(p, i int) bool { return p%2 == 1 && p < 8 && i == 243+p/2 }),
				0, 0},
			{"late", late(all, func(p, i int) bool { return (p*ofTen+i)%97 == 36 }), 0, 0},
		} {
			an, err := layer.Analyze(t.Context(), traceOf(c.acts), layer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			d, missing := &an.Devices[0], 0
			for _, x := range d.Damage {
				missing += x.Kernels
			}
			if said := an.Health.Status == trace.HealthDegraded; said != (c.most > 0) || missing < c.least || missing > c.most {
				t.Errorf("%s, replays %t: %d records of %d are missing, want %d to %d, health %s\n%v", c.name, replays, missing,
					len(all), c.least, c.most, an.Health.Status, an.Health.Findings)
			}
			if c.most > 0 && !strings.Contains(strings.Join(d.Notes, " "), "likely missing at") {
				t.Errorf("%s, replays %t: notes %q", c.name, replays, d.Notes)
			}
		}
	}
}

// TestClockThatGoesBackIsDoubted: where the GPU's clock goes back within a replay, kernels of two passes are mixed, and
// the layers of both are printed as doubtful; those of the others are not.
func TestClockThatGoesBackIsDoubted(t *testing.T) {
	acts := tenPasses(true)
	of := map[int64]int{} // passes, by the start of a kernel
	for i := range acts {
		acts[i].dur -= int64(500 * (i % 7))
		if i > 5*ofTen+137 {
			acts[i].start -= 1_000_500
		}
		of[acts[i].start] = acts[i].pass
	}
	tr := traceOf(acts)
	an, err := layer.Analyze(t.Context(), tr, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, mixed := &an.Devices[0], 0
	runs := make([]map[int]bool, len(d.Passes))
	for k := range d.Kernels() {
		if p := k.Place().Pass; p != trace.None {
			if runs[p] == nil {
				runs[p] = map[int]bool{}
			}
			runs[p][of[tr.Raw(k.Event().Start())]] = true
		}
	}
	for p := range d.Passes {
		if conf := d.Passes[p].Confidence; (len(runs[p]) > 1 || runs[p][5]) != (conf <= 0.5) {
			t.Errorf("pass %d, kernels of passes %v: confidence %.3f", p, runs[p], conf)
		}
		mixed += len(runs[p]) - 1
	}
	if mixed == 0 || an.Health.Status != trace.HealthDegraded {
		t.Errorf("%d passes mixed, health %s", mixed, an.Health.Status)
	}
}
