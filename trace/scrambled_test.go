package trace_test

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// row is a kernel of a replay.
type row struct {
	name       string
	start, dur int64
}

// replay is a graph of equal layers, in the order of its names, with times that
// vary by a tenth.
func replay(kernels int, ratio int64) []row {
	rng := rand.New(rand.NewSource(1))
	rows := make([]row, kernels)
	var at int64 = 1_000_000
	for i := range rows {
		base := int64(4_000)
		if i%4 == 2 {
			base *= ratio
		}
		d := base + rng.Int63n(base/10)
		rows[i] = row{fmt.Sprintf("kernel_%d", i%4), at, d}
		at += d + 500
	}
	return rows
}

// scramble moves the times of rows of the second layer to later ones, as the
// real trace has it: names stay, and the times between move up.
func scramble(rows []row) {
	var late []row
	for k := 19; k < len(rows); k += 11 {
		late = append(late, rows[k])
	}
	times := slices.Clone(rows)
	times = slices.DeleteFunc(times, func(r row) bool { return slices.Contains(late, r) })
	times = slices.Insert(times, 9, late...)
	for i := range rows {
		rows[i].start, rows[i].dur = times[i].start, times[i].dur
	}
}

func build(rows []row, repair bool) *trace.Trace {
	b := trace.NewBuilder(trace.Options{RepairOrder: repair})
	b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaGraphLaunch", Start: 1, Duration: 10, Correlation: 7,
		Thread: 1, Device: trace.None, Stream: trace.None})
	for _, r := range rows {
		b.Add(trace.EventData{Kind: event.Kernel, Name: r.name, Start: r.start, Duration: r.dur, Correlation: 7,
			Stream: 3})
	}
	return built.Trace(b)
}

func finding(tr *trace.Trace, code trace.Code) *trace.Remark {
	h := tr.Health()
	for i := range h.Findings {
		if h.Findings[i].Code == code {
			return &h.Findings[i]
		}
	}
	return nil
}

func TestScrambledReplayIsDegraded(t *testing.T) {
	rows := replay(128, 8)
	want := slices.Clone(rows)
	scramble(rows)
	got := build(rows, false)
	if f := finding(got, "scrambled-records"); f == nil || f.Severity != trace.HealthDegraded ||
		got.Health().Status != trace.HealthDegraded {
		t.Fatalf("health %+v, want scrambled records and degraded", got.Health())
	}
	repaired := build(rows, true)
	if f := finding(repaired, "order-repaired"); f == nil || f.Severity != trace.HealthDegraded ||
		finding(repaired, "scrambled-records") != nil {
		t.Fatalf("health %+v, want repaired and degraded", repaired.Health())
	}
	i := 0
	for e := range repaired.Events(event.LaneGPU) {
		if w := want[i]; e.Name() != w.name || repaired.Raw(e.Start()) != w.start || int64(e.Duration()) != w.dur {
			t.Fatalf("kernel %d is %s at %d for %d, want %+v", i, e.Name(), repaired.Raw(e.Start()), e.Duration(), w)
		}
		i++
	}
}

// Each number that decides, on either side.
func TestWhatIsNotScrambled(t *testing.T) {
	for _, c := range []struct {
		name string
		rows func() []row
		want bool
	}{
		{"as recorded", func() []row { return replay(128, 8) }, false},
		{"scrambled", func() []row { r := replay(128, 8); scramble(r); return r }, true},
		{"durations are nearly alike", func() []row { r := replay(128, 2); scramble(r); return r }, false}, // minSpread
		{"and a little less so", func() []row { r := replay(128, 4); scramble(r); return r }, true},
		{"rows in any order", func() []row { // maxRepaired
			r := replay(128, 8)
			rand.New(rand.NewSource(2)).Shuffle(len(r), func(i, j int) { r[i], r[j] = r[j], r[i] })
			return r
		}, false},
		{"rows by name", func() []row {
			r := replay(128, 8)
			slices.SortStableFunc(r, func(a, b row) int { return strings.Compare(a.name, b.name) })
			return r
		}, false},
		{"rows by name, whose durations are of any size", func() []row {
			r := replay(128, 8)
			rng := rand.New(rand.NewSource(3))
			for i := range r {
				r[i].dur = 1 << rng.Intn(9)
			}
			slices.SortStableFunc(r, func(a, b row) int { return strings.Compare(a.name, b.name) })
			return r
		}, false},
		{"few kernels", func() []row { r := replay(31, 8); scramble(r); return r }, false}, // minReplay
		{"enough kernels", func() []row { r := replay(32, 8); scramble(r); return r }, true},
	} {
		tr := build(c.rows(), false)
		if got := finding(tr, "scrambled-records") != nil; got != c.want {
			t.Errorf("%s: scrambled %t, want %t", c.name, got, c.want)
		}
	}
}
