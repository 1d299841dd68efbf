package hostoverhead

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// named is an account of a trace whose events have these names, and the number of each.
func named(all ...string) (*account, map[string]trace.NameID) {
	b := trace.NewBuilder(trace.Options{})
	for i, n := range all {
		b.Add(trace.EventData{Kind: event.Kernel, Name: n, Start: int64(10 * i), Duration: 5})
	}
	t := built.Trace(b)
	ids := map[string]trace.NameID{}
	for id := range trace.NameID(t.NumNames()) {
		ids[t.Name(id)] = id
	}
	p := defaultParams()
	return &account{l: &ledger{w: &workload{t: t, layers: &layer.Analysis{},
		general: names.ByName(t, names.Generalise)}, p: &p}}, ids
}

// TestPassesThatLoseMost: five, most first, the earlier of equals; those that lose nothing are none.
func TestPassesThatLoseMost(t *testing.T) {
	a, _ := named()
	for i, ns := range []int64{0, 1, 7, 3, 9, 3, 2} {
		s := hostly(ns)
		s.span = interval.Span{Start: int64(100 * i), End: int64(100*i + 100)}
		a.steps = append(a.steps, s)
	}
	// the window is not a step
	a.steps = append(a.steps, stepAccount{span: interval.Span{End: 100}, timeSum: a.steps[4].timeSum})
	var got []string
	for _, w := range a.worst() {
		got = append(got, fmt.Sprint(w.Headroom.HostNS, "@", w.StartNS))
	}
	if s, want := strings.Join(got, " "), "9@400 7@200 3@300 3@500 2@600"; s != want {
		t.Errorf("%s, want %s", s, want)
	}
	a.steps = a.steps[:2]
	if got := a.worst(); len(got) != 1 || got[0].Headroom.HostNS != 1 {
		t.Errorf("%+v, want the one that loses a nanosecond", got)
	}
}

// TestDrainsByTime: those of steps, most time in them first.
func TestDrainsByTime(t *testing.T) {
	a, ids := named("b", "c", "d", "e")
	a.drains = map[trace.NameID]*nameSum{ids["b"]: {ns: 9, steps: 1, count: 3}, ids["c"]: {ns: 9},
		ids["d"]: {ns: 2, steps: 2, count: 1}, ids["e"]: {ns: 1, steps: 1, count: 1}}
	if got, want := fmt.Sprint(a.drainList()), "[{ d  2 2 1} { b  9 1 3} { e  1 1 1}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestGapsThatAreAskedFor: as many as asked for, in order of time; of equally long ones the first.
func TestGapsThatAreAskedFor(t *testing.T) {
	var busy []interval.Span
	at := int64(0)
	for _, gap := range []int64{0, 5, 9, 5, 7, 9, 1} {
		at += gap
		busy = append(busy, interval.Span{Start: at, End: at + 10})
		at += 10
	}
	for n, want := range map[int]string{0: "", 1: "9", 2: "9 9", 3: "9 7 9", 4: "5 9 7 9", 5: "5 9 5 7 9",
		6: "5 9 5 7 9 1", 7: "5 9 5 7 9 1", math.MaxInt: "5 9 5 7 9 1"} {
		a := &account{d: &deviceWork{busy: busy}}
		a.findTop(n)
		var got []string
		for i := range a.top {
			got = append(got, fmt.Sprint(a.top[i].span.Len()))
			if i > 0 && a.top[i-1].span.Start >= a.top[i].span.Start {
				t.Errorf("of %d gaps %v follows %v", n, a.top[i].span, a.top[i-1].span)
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("of %d gaps: %s, want %s", n, s, want)
		}
		if n == 4 && a.top[0].span.Start != 10 {
			t.Errorf("of two gaps of 5 the later one: %v", a.top[0].span)
		}
	}
}

// TestIdleTimeInWords: groups without idle time are no rows, a nanosecond is enough.
func TestIdleTimeInWords(t *testing.T) {
	v := Verdict{Basis: finding.OfStep, Idle: []IdleCause{{Group: finding.HostWork, Cause: finding.HostCode, NS: 1,
		Names: []IdleName{{Name: "f", Where: "g"}}},
		{Group: finding.DispatchGroup, Cause: finding.GPUDispatch, Names: []IdleName{{}}}}}
	n, text := rowsOf(t, func(b *table.Writer) { v.writeIdle(b, &RankVerdict{}) }, "host")
	if n != 1 || strings.Contains(text, finding.DispatchGroup.String()) || !strings.Contains(text, "f in g") {
		t.Errorf("%d rows of host work, want one and none of others:\n%s", n, text)
	}
}

// TestNamesOfIdleTime: what ran, what is known beside it, or what is known alone.
func TestNamesOfIdleTime(t *testing.T) {
	a, ids := named("call", "range", "frame")
	call, rng, frame := ids["call"], ids["range"], ids["frame"]
	for _, c := range []struct {
		what  string
		p     idlePiece
		name  string
		where string
	}{
		{"code in a range", idlePiece{cause: finding.HostCode, rng: rng, code: frame, api: call}, "range", ""},
		{"code in a step's range", idlePiece{cause: finding.HostCode, rng: rng, code: frame, step: true}, "frame", ""},
		{"a step's range alone", idlePiece{cause: finding.HostCode, rng: rng, step: true}, "range", ""},
		{"a call", idlePiece{cause: finding.Synchronisation, rng: rng, code: frame, api: call}, "call", "frame"},
		{"a call in a range", idlePiece{cause: finding.Synchronisation, rng: rng, api: call}, "call", "range"},
		{"a frame alone", idlePiece{cause: finding.Lock, rng: rng, code: frame}, "frame", "range"},
		{"an exchange", idlePiece{cause: finding.OtherRanks, rng: rng, code: frame}, "frame", ""},
		{"a late collective", idlePiece{cause: finding.OtherRanks, detail: detailLateCollective, rng: rng},
			details[detailLateCollective], ""},
		{"nothing", idlePiece{cause: finding.UnknownCause, detail: detailQuiet, rng: rng}, details[detailQuiet], ""},
	} {
		k := c.p.key()
		where := ""
		if k.where != 0 {
			where = a.l.w.general(k.where)
		}
		if name := a.nameOf(k); name != c.name || where != c.where {
			t.Errorf("%s: %q in %q, want %q in %q", c.what, name, where, c.name, c.where)
		}
	}
}

// TestIdleTimeIsListed: by cause and name, most first, with the part of it in the steps; names that differ in their
// numbers are one.
func TestIdleTimeIsListed(t *testing.T) {
	a, ids := named("f 1", "f 2", "b")
	host, sync := finding.HostCode, finding.Synchronisation
	a.names = map[nameKey]*nameSum{
		{cause: host, name: ids["f 1"]}: {ns: 5, steps: 4, count: 1},
		{cause: host, name: ids["f 2"]}: {ns: 2, steps: 1, count: 2},
		{cause: host, name: ids["b"]}:   {ns: 9, steps: 9, count: 1},
		{cause: sync, name: ids["b"]}:   {ns: 1, count: 1}, {cause: finding.Lock, name: ids["b"]}: {},
	}
	var got []string
	for _, c := range a.idleCauses(100) {
		for _, n := range c.Names {
			got = append(got, fmt.Sprint(c.Cause, " ", c.NS, " ", c.StepsNS, " ", c.Share, ": ", n.Name, " ", n.NS, " ",
				n.StepsNS, " ", n.Count))
		}
	}
	if want := []string{"host-code 16 14 0.14: b 9 9 1", "host-code 16 14 0.14: f N 7 5 3",
		"synchronisation 1 0 0: b 1 0 1"}; !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// TestClassesOfGaps: each length class has the cause with most of its time, the first of equals.
func TestClassesOfGaps(t *testing.T) {
	// A gap of 1 ns is rounding.
	a := &account{d: &deviceWork{busy: []interval.Span{{Start: -5, End: -1}, {Start: 0, End: 10}, {Start: 12, End: 20},
		{Start: 2020, End: 2030}}}}
	a.byGap[0][finding.Synchronisation] = 2
	a.byGap[1][finding.Synchronisation], a.byGap[1][finding.HostCode], a.byGap[1][finding.UnknownCause] = 500, 1000, 500
	got := a.gapClasses()
	for i, want := range []GapBucket{{Count: 1, TotalNS: 2, Largest: finding.Synchronisation, LargestShare: 1},
		{Count: 1, TotalNS: 2000, Largest: finding.HostCode, LargestShare: 0.5}, {}} {
		if g := got[i]; g.Count != want.Count || g.TotalNS != want.TotalNS || g.Largest != want.Largest ||
			g.LargestShare != want.LargestShare {
			t.Errorf("class %d: %+v, want %+v", i, g, want)
		}
	}
}

// TestReportOfTwoRanks: the deciding rank is named if there are at least two.
func TestReportOfTwoRanks(t *testing.T) {
	for n, want := range map[int]bool{1: false, 2: true} {
		v := Verdict{Ranks: make([]RankVerdict, n), Next: []Action{{Advice: finding.Advice{Do: "a", Source: "https://s"}},
			{Advice: finding.Advice{Do: "b"}}}}
		var b strings.Builder
		if err := v.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "(of 2 GPUs, the one that loses most to the host)"); got != want {
			t.Errorf("%d ranks: %v, want %v:\n%s", n, got, want, b.String())
		}
		if got := strings.Count(b.String(), "     see "); got != 1 {
			t.Errorf("%d sources of one:\n%s", got, b.String())
		}
	}
}

// TestIdleOutsideSteps: where the GPU idles longer outside the steps than in them, and by what cause most.
func TestIdleOutsideSteps(t *testing.T) {
	r := RankVerdict{WindowNS: 300, BusyNS: 100, Headroom: Headroom{IdleNS: 99}, Stages: make([]StageVerdict, 1),
		Idle: []IdleCause{{Cause: finding.HostCode, NS: 90, StepsNS: 60, Names: []IdleName{{Name: "f", NS: 30}}},
			{Cause: finding.NoRequests, NS: 71, Names: []IdleName{{NS: 99}, {Name: "n", NS: 36}}},
			{Cause: finding.Lock, NS: 99, StepsNS: 39}}}
	want := "outside the steps the GPU is idle for 101 ns of 300 ns (largest cause: no-requests, mostly n, 71 ns); " +
		"in the steps, "
	if got := r.outside(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if r.Idle[1].Names[1].NS = 35; strings.Contains(r.outside(), "mostly") {
		t.Errorf("less than half is most: %q", r.outside())
	}
	if r.Headroom.IdleNS = 100; r.outside() != "" {
		t.Error("half of the idle time is more than half")
	}
	if r.Headroom.IdleNS, r.Stages = 99, nil; r.outside() != "" {
		t.Error("something is outside of no steps")
	}
}

// TestBadFiles: the error that a digest has does not name the file again.
func TestBadFiles(t *testing.T) {
	for text, want := range map[string]string{"d/f: cut off": "cut off", "open d/f: cut off": "cut off",
		"cut off": "cut off"} {
		got := BadRank("run", trace.File{Path: "d/f", Rank: 3}, errors.New(text))
		if got.Bad != want || got.File != "f" || got.Rank != 3 || got.NameRank != 3 {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// TestShareOfTheUser: what the host must cause for YES is the user's, where one is given.
func TestShareOfTheUser(t *testing.T) {
	for given, want := range map[float64]float64{0.25: 0.25, 0: defaultParams().MinShare} {
		if got := (&Options{HostShare: given}).params().MinShare; got != want {
			t.Errorf("%v given: %v", given, got)
		}
	}
}

// TestTimeOfCopies: that in which something runs, and no kernel; of two copies at once it is the first one's.
func TestTimeOfCopies(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	for _, e := range []trace.EventData{{Kind: event.Kernel, Name: "k", Start: 0, Duration: 20},
		{Kind: event.Memcpy, Name: "up", Start: 10, Duration: 25, Bytes: 1000, Stream: 1},
		{Kind: event.Kernel, Name: "k", Start: 30, Duration: 13},
		{Kind: event.Memset, Name: "clear", Start: 33, Duration: 17, Stream: 2},
		{Kind: event.Memcpy, Name: "hidden", Start: 36, Duration: 2, Bytes: 1, Stream: 1}} {
		b.Add(e)
	}
	d := &deviceWork{acts: []int32{0, 1, 2, 3, 4}, busy: []interval.Span{{Start: 0, End: 50}},
		kernels: []interval.Span{{Start: 0, End: 20}, {Start: 30, End: 43}}}
	a := &account{d: d, l: &ledger{w: &workload{t: built.Trace(b)}}}
	a.steps = []stepAccount{{span: interval.Span{Start: 0, End: 5}}, {span: interval.Span{Start: 28, End: 44}},
		{span: interval.Span{Start: 44, End: 45}}}
	c := a.transfers(timeSum{wall: 100, busy: 30, kernels: 26})
	want := &IdleCause{Cause: finding.Transfer, Group: finding.Transfer.Group(), NS: 17, StepsNS: 4, Share: 0.04,
		Names: []IdleName{{Name: "up", NS: 10, StepsNS: 2, Count: 1}, {Name: "clear", NS: 7, StepsNS: 2, Count: 1}}}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for name, want := range map[string]string{"up": "1.00 kB in all at 40.0 GB/s", "clear": "", "no such": "",
		"hidden": "1 B in all at 500 MB/s"} {
		if got := a.moved(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	d.kernels = d.busy
	if c := (&account{d: d}).transfers(timeSum{wall: 100}); c != nil {
		t.Errorf("without copies: %+v", c)
	}
}

// TestLargeChanges: more than half as long again, or less than 0.7 times as long, where the change is beyond noise; of
// others one that large is inconclusive.
func TestLargeChanges(t *testing.T) {
	for _, c := range []struct {
		b           time.Duration
		significant bool
		large       bool
		status      DeltaStatus
	}{
		{150_000, true, false, statusRegression}, {150_100, true, true, statusRegression},
		{70_000, true, false, statusImproved}, {69_900, true, true, statusImproved},
		{150_100, false, false, statusInconclusive}, {150_000, false, false, ""}, {69_900, false, false, statusInconclusive},
	} {
		row := compare.HostRow{Name: "op", Kind: compare.APIKind, Significant: c.significant, Judged: true,
			Interval: compare.Interval{A: 100_000, B: c.b, Delta: c.b - 100_000}}
		if got := deltaOf(&row, 1000); got.Large != c.large || got.Status != c.status {
			t.Errorf("100 µs and %v, significant %t: large %t, %q", c.b, c.significant, got.Large, got.Status)
		}
		if got := deltaOf(&row, 60_000); !c.significant && got.Status != "" {
			t.Errorf("%v: a difference below a finding is %q", c.b, got.Status)
		}
	}
}

// TestStatisticsOfSamples: of the numbers from 1 to 20, the larger ones first, and of one number.
func TestStatisticsOfSamples(t *testing.T) {
	var samples []float64
	for i := range 20 {
		samples = append(samples, float64(20-i))
	}
	for _, c := range []struct {
		samples []float64
		want    Stats
	}{{samples, Stats{N: 20, Avg: 10.5, Min: 1, Max: 20, P50: 11, P90: 19}},
		{samples[:1], Stats{N: 1, Avg: 20, Min: 20, Max: 20, P50: 20, P90: 20}}, {nil, Stats{}}} {
		if got := statsOf(c.samples); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.samples, got, c.want)
		}
	}
}
