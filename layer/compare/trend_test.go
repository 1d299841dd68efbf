package compare

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
)

// nightly is a trend of so many runs of eight decode passes: times in µs of attention, a product and idle time in run
// i, which two runs of one program differ in by half a per cent.
func nightly(seed uint64, n int, times func(i int) (attention, product, idle float64)) []TrendRun {
	r := rand.New(rand.NewPCG(seed, 7))
	var out []TrendRun
	for i := range n {
		attention, product, idle := times(i)
		run := Run{GPU: "a", Health: "ok", Parts: []Part{MadePart("attention", "attention", Memory),
			MadePart("down_proj", "down_proj", Memory), MadePart("idle", "", Waiting)}}
		vary := func(us float64) float64 { return us * (1 + 0.005*r.NormFloat64()) }
		attention, product = vary(attention), vary(product)
		for p := range 8 {
			us := func(x float64) time.Duration { return time.Duration(1e3 * x * (1 + 0.002*r.NormFloat64())) }
			run.AddPass(Pass{Index: p, Stage: layer.StageDecode, Batch: 8, Tokens: 8, Followed: true}, 1, us(attention),
				us(product), us(idle))
		}
		kernel := "old<1>"
		if i >= 5 {
			kernel = "new<1>"
		}
		out = append(out, TrendRun{Date: fmt.Sprintf("2026-10-%02d", i+8), Commit: fmt.Sprint("c", i), Run: run,
			Kernels: map[string]string{"attention": kernel, "down_proj": "gemm"}})
	}
	return out
}

// The run since which an operator takes longer is found, with what runs there instead; the same runs in another order
// give the same.
func TestTrend(t *testing.T) {
	runs := nightly(1, 12, func(i int) (attention, product, idle float64) {
		if i >= 5 {
			return 1040, 2000, 300
		}
		return 1000, 2000, 300
	})
	rand.New(rand.NewPCG(3, 3)).Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
	got, err := NewTrend(t.Context(), runs)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Changes) != 1 || got.Runs != 12 || got.From != "2026-10-08" || got.To != "2026-10-19" {
		t.Fatalf("%+v", got)
	}
	c := got.Changes[0]
	if c.Operator != "attention" || c.Since != "2026-10-13" || c.Commit != "c5" || c.Before != 5 || c.After != 7 ||
		c.Was != "old<1>" || c.Now != "new<1>" || c.Low > 40*time.Microsecond || c.High < 40*time.Microsecond {
		t.Errorf("%+v", c)
	}
	if want := fmt.Sprintf("attention %s since 2026-10-13, c5 (%s → %s a decode pass), kernel old<1> → new<1>",
		percentOf(c.Delta, c.A), table.Duration(c.A), table.Duration(c.B)); c.Text != want {
		t.Errorf("%q, want %q", c.Text, want)
	}
}

// The change is where it began, also at the first and the last run, and where runs have a single pass.
func TestTrendAtEachRun(t *testing.T) {
	for _, passes := range []int{1, 8} {
		for k := 1; k < 6; k++ {
			runs := nightly(uint64(k), 6, func(i int) (attention, product, idle float64) {
				if i >= k {
					return 1600, 2000, 300
				}
				return 1000, 2000, 300
			})
			for i := range runs {
				runs[i].Run.Passes = runs[i].Run.Passes[:passes]
			}
			got, err := NewTrend(t.Context(), runs)
			if err != nil || len(got.Changes) != 1 || got.Changes[0].Commit != fmt.Sprint("c", k) {
				t.Errorf("%d passes, since run %d: %v, %+v", passes, k, err, got.Changes)
			}
		}
	}
}

// An operator that goes, and idle time that grows.
func TestTrendOfOtherChanges(t *testing.T) {
	for name, c := range map[string]struct {
		times func(i int) (attention, product, idle float64)
		want  string
	}{
		"gone": {func(i int) (float64, float64, float64) {
			if i >= 6 {
				return 0, 2000, 300
			}
			return 1000, 2000, 300
		}, "attention is gone since 2026-10-14, c6 ("},
		"idle": {func(i int) (float64, float64, float64) {
			if i >= 6 {
				return 1000, 2000, 500
			}
			return 1000, 2000, 300
		}, "idle +66"},
	} {
		got, err := NewTrend(t.Context(), nightly(2, 12, c.times))
		if err != nil || len(got.Changes) != 1 || !strings.HasPrefix(got.Changes[0].Text, c.want) ||
			got.Changes[0].Since != "2026-10-14" {
			t.Errorf("%s: %v, %+v, want %s", name, err, got.Changes, c.want)
		}
	}
	if _, err := NewTrend(t.Context(), nightly(2, 1,
		func(int) (float64, float64, float64) { return 1, 1, 1 })); !errors.Is(err, ErrNoMatch) {
		t.Errorf("of one run: %v", err)
	}
}

// Runs of one program have no change point, though each of them might be one.
func TestTrendOfEqualRuns(t *testing.T) {
	found := 0
	const trends = 40
	for seed := range uint64(trends) {
		got, err := NewTrend(t.Context(), nightly(seed, 12,
			func(int) (float64, float64, float64) { return 1000, 2000, 300 }))
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Changes) > 0 {
			found++
		}
	}
	if found > 1 {
		t.Errorf("%d of %d trends without a change have one", found, trends)
	}
}
