package hostoverhead

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
)

// TestDefaults: what the documentation says of each number is said of these.
func TestDefaults(t *testing.T) {
	want := params{
		MinShare: 0.10, MinStagePasses: 3, QueuedLimit: 50_000, LongCopyCall: 20_000, BlockedLaunch: 1_000_000,
		Unnamed:    250_000,
		FewKernels: 100, FewSteps: 3, DominantGap: 0.30, OrphanShare: 0.10, CommunicationShare: 0.20,
		UnnamedShare: 0.50, TracingCost: 2,
		AdviceShare: 0.02, MinKernelShare: 0.01, SplitRun: 4,
	}
	if got := defaultParams(); got != want {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	if got := (&Options{}).gaps(); got != 10 {
		t.Errorf("%d gaps are listed, want 10", got)
	}
	for n, want := range map[int]int{-1: 0, 0: 0, 1: 1} {
		if got := (&Options{TopGaps: &n}).gaps(); got != want {
			t.Errorf("of %d gaps %d are listed, want %d", n, got, want)
		}
	}
}

func TestFiguresInWords(t *testing.T) {
	for ns, want := range map[int64]string{0: "0.000000 s", 1500: "0.000002 s", 1_000_000: "0.001000 s"} {
		if got := position(ns); got != want {
			t.Errorf("%d ns: %s, want %s", ns, got, want)
		}
	}
	for r, want := range map[float64]string{0: "0.0%", 0.1234: "12.3%", 1: "100.0%", math.NaN(): "n/a"} {
		if got := percent(r); got != want {
			t.Errorf("%v: %s, want %s", r, got, want)
		}
	}
	for _, c := range []struct {
		num, den int64
		want     float64
	}{{1, 2, 0.5}, {1, 0, 0}, {1, -1, 0}, {0, 1, 0}, {1, 1, 1}, {1, 3, 0.333333}, {2, 3, 0.666667}} {
		if got := ratio(c.num, c.den); got != c.want {
			t.Errorf("%d of %d: %v, want %v", c.num, c.den, got, c.want)
		}
	}
	for of, want := range map[int64]string{8: "12.5%", 1: "100.0%", 0: "n/a", -1: "n/a"} {
		if got := percentOf(1, of); got != want {
			t.Errorf("1 of %d: %s, want %s", of, got, want)
		}
	}
	if got := us(1500); got != 1.5 {
		t.Errorf("1500 ns are %v µs", got)
	}
	if got := part(1, 3); got != 1.0/3 {
		t.Errorf("a share to decide by of %v, want 1/3", got)
	}
}

func TestLengthClasses(t *testing.T) {
	for i, b := range buckets[1:] {
		if got := bucketOf(int64(b.From) - 1); got != i {
			t.Errorf("just below %s: class %d, want %d", b.From, got, i)
		}
		if got := bucketOf(int64(b.From)); got != i+1 {
			t.Errorf("%s: class %d, want %d", b.From, got, i+1)
		}
		if buckets[i].To != b.From {
			t.Errorf("class %d ends at %s, the next begins at %s", i, buckets[i].To, b.From)
		}
	}
	if bucketOf(0) != 0 || len(buckets) != numBuckets {
		t.Errorf("no gap is of class %d of %d", bucketOf(0), len(buckets))
	}
}

// hostly is idle time of a step of 100 ns; the host causes ns of it.
func hostly(ns int64) stepAccount {
	s := stepAccount{step: &hostStep{Index: int(ns)}, span: interval.Span{End: 100}, timeSum: timeSum{wall: 100}}
	s.idle[finding.HostCode] = ns
	return s
}

func TestLargestAndSpread(t *testing.T) {
	var c causeSums
	if got, _ := c.largest(true); got != finding.NoCause {
		t.Errorf("nothing is caused by %s", got)
	}
	c[finding.Transfer], c[finding.Synchronisation] = 100, 1
	if got, _ := c.largest(true); got != finding.Synchronisation {
		t.Errorf("largest %s, want %s: a transfer is not the host's", got, finding.Synchronisation)
	}
	c[finding.HostCode] = 1
	if got, _ := c.largest(true); got != finding.HostCode {
		t.Errorf("largest of equals %s, want the first, %s", got, finding.HostCode)
	}
	c[finding.Synchronisation] = 2
	if got, _ := c.largest(true); got != finding.Synchronisation {
		t.Errorf("largest %s, want %s", got, finding.Synchronisation)
	}
	var all []stepAccount
	for i := range int64(20) {
		all = append(all, hostly(i))
	}
	all = append(all, stepAccount{span: interval.Span{End: 100}}) // the window is not a step
	want := PassSpread{10, 18, 19, 0.10, 0.18, 0.19}
	if got := spread(all); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := spread(nil); got != (PassSpread{}) {
		t.Errorf("no steps: %+v", got)
	}
}

func TestPathsOfKernels(t *testing.T) {
	var p pathSums
	p[pathGraph] = pathSum{kernels: 3, time: 30, exposed: 5}
	p[pathUnknown] = pathSum{kernels: 1, time: 10}
	want := []Path{
		{Path: pathNames[pathGraph], Kernels: 3, Share: 0.75, TimeNS: 30, TimeShare: 0.75, ExposedNS: 5, Exposed: 0.05},
		{Path: pathNames[pathUnknown], Kernels: 1, Share: 0.25, TimeNS: 10, TimeShare: 0.25, Exposed: 0},
	}
	got := p.list(100)
	slices.SortFunc(got, func(a, b Path) int { return b.Kernels - a.Kernels })
	if !slices.Equal(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// rowsOf writes a table and counts the lines that begin with a word.
func rowsOf(t *testing.T, write func(*table.Writer), word string) (n int, text string) {
	t.Helper()
	var out strings.Builder
	b := table.NewWriter(&out)
	write(b)
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] == word {
			n++
		}
	}
	return n, out.String()
}

// TestListsEnd: each list shows as many rows as its limit, and says how many more there are.
func TestListsEnd(t *testing.T) {
	for _, more := range []int{0, 1} {
		r := RankVerdict{WindowNS: 100, BusyNS: 50, Idle: []IdleCause{{Cause: finding.HostCode}}}
		for range 15 + more {
			r.Idle[0].Names = append(r.Idle[0].Names, IdleName{Name: "f", NS: 10})
		}
		for range 10 + more {
			r.Coverage.EagerKernels = append(r.Coverage.EagerKernels,
				EagerKernel{Name: "eager", Count: 1, Suspect: true, Replayed: 1})
		}
		// "eager kernel" heads its table
		for word, want := range map[string]int{"host-code": 15, "eager": 10 + 1, "(1": 2 * more} {
			if n, text := rowsOf(t, r.writeDrill, word); n != want {
				t.Errorf("%d more: %d lines with %s, want %d\n%s", more, n, word, want, text)
			}
		}
	}
}

func TestStagesAreWrittenFromTheFirst(t *testing.T) {
	r := RankVerdict{Stages: []StageVerdict{{Stage: "decode", Steps: 1}}}
	if n, text := rowsOf(t, func(b *table.Writer) { writeStages(b, &r) }, "decode"); n != 1 ||
		!strings.Contains(text, "Stages\n") {
		t.Errorf("one stage is not reported:\n%s", text)
	}
	r.Stages = nil
	if _, text := rowsOf(t, func(b *table.Writer) { writeStages(b, &r) }, "decode"); strings.Contains(text, "Stages\n") {
		t.Errorf("no stage is reported:\n%s", text)
	}
}

// TestWorstPasses: lists of passes and gaps have these limits.
func TestWorstPasses(t *testing.T) {
	if worstPasses != 5 || topGaps != 10 {
		t.Errorf("%d passes, %d gaps; want 5 and 10", worstPasses, topGaps)
	}
}

// TestRanksFromTheSecond: one device is no table; names of GPUs have thirty letters.
func TestRanksFromTheSecond(t *testing.T) {
	gpu := strings.Repeat("G", 30)
	v := Verdict{Ranks: []RankVerdict{{Rank: "r0", GPU: gpu, Verdict: Yes, Steps: 1, Kernels: 2000, BusyNS: 500,
		Exchange: 0.5, Headroom: Headroom{WallNS: 1000, IdleNS: 500, HostNS: 250, Share: 0.25, AtMost: 1.3333}}}}
	if _, text := rowsOf(t, v.writeRanks, ""); text != "" {
		t.Errorf("one rank is a table:\n%s", text)
	}
	v.Ranks = append(v.Ranks, RankVerdict{Rank: "r1", Ignored: true, GPU: gpu + "X"})
	_, text := rowsOf(t, v.writeRanks, "")
	flat := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{gpu + " YES 1 2,000 1.00 µs 50.0% 25.0% 1.33× 50.0%",
		"too little work 0 0 0 n/a n/a 0.00× n/a"} {
		if !strings.Contains(flat, want) && !strings.Contains(flat, strings.ReplaceAll(want, "2,000", "2000")) {
			t.Errorf("no row %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, gpu+"X") {
		t.Errorf("31 letters of a GPU are shown:\n%s", text)
	}
	for n, want := range map[int]string{listedRanks: "", listedRanks + 1: "57 more GPUs, which lose no more to the host"} {
		v := Verdict{Ranks: make([]RankVerdict, n)}
		if _, text := rowsOf(t, v.writeRanks, ""); strings.Contains(text, "more GPUs,") != (want != "") ||
			!strings.Contains(text, want) {
			t.Errorf("%d ranks: want %q:\n%s", n, want, text)
		}
	}
}

// TestListedRanks: the deciding rank and those that lose most, in their order; ranks with too little work last.
func TestListedRanks(t *testing.T) {
	v := Verdict{Ranks: make([]RankVerdict, listedRanks+2), Deciding: 5}
	for i := range v.Ranks {
		v.Ranks[i].Headroom.Share = 0.5
	}
	v.Ranks[5].Headroom.Share, v.Ranks[7].Ignored, v.Ranks[9].Headroom.Share = 0, true, 0.4
	got := v.listed()
	if len(got) != worstRanks || !slices.IsSorted(got) || slices.Contains(got, 7) || slices.Contains(got, 9) ||
		!slices.Contains(got, 5) {
		t.Errorf("%v", got)
	}
	for i := range v.Ranks { // nobody loses anything: still, no work comes last
		v.Ranks[i].Headroom.Share = 0
	}
	if got := v.listed(); slices.Contains(got, 7) || slices.Contains(got, listedRanks+1) || !slices.Contains(got, 6) {
		t.Errorf("without loss: %v", got)
	}
}

func TestGapsInWords(t *testing.T) {
	long := strings.Repeat("k", 24) + "/" + strings.Repeat("k", 50)
	r := RankVerdict{Gaps: []GapBucket{{Title: "none"},
		{Title: "one", Count: 1, TotalNS: 1500, Share: 1, Largest: finding.HostCode, LargestShare: 0.5}},
		Top: []Gap{{NS: 1000, StartNS: 2_000_000, Before: long, After: long[:60],
			Causes: []IdleName{{Cause: finding.HostCode, Name: strings.Repeat("f", 30) + "/" + strings.Repeat("f", 30), NS: 500},
				{Cause: finding.Synchronisation, Name: "two", NS: 300}, {Cause: finding.Lock, Name: "three", NS: 150},
				{Cause: finding.GIL, Name: "four", NS: 50}}}}}
	_, text := rowsOf(t, r.writeGaps, "")
	flat := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{"one 1 1.50 µs 100.0% host-code 50.0%", "1.00 µs 0.002000 s",
		long[:60], "30.0% synchronisation two", "15.0% lock three"} {
		if !strings.Contains(flat, want) {
			t.Errorf("no %q:\n%s", want, text)
		}
	}
	for _, not := range []string{"none 0", long, "four", strings.Repeat("f", 30) + "/" + strings.Repeat("f", 30)} {
		if strings.Contains(flat, not) {
			t.Errorf("%q is shown:\n%s", not, text)
		}
	}
	if !strings.Contains(flat, strings.Repeat("k", 50)) ||
		!strings.Contains(flat, strings.Repeat("f", 30)) {
		t.Errorf("names are cut too short:\n%s", text)
	}
	r.Top = nil
	if _, text := rowsOf(t, r.writeGaps, ""); strings.Contains(text, "Longest") {
		t.Errorf("no gap is the longest:\n%s", text)
	}
}

// TestCoverageInWords: eager kernels that also run from graphs are suspects.
func TestCoverageInWords(t *testing.T) {
	r := RankVerdict{Coverage: Coverage{
		EagerKernels: []EagerKernel{{Name: "k", Count: 1, TotalNS: 1500, Replayed: 2, Suspect: true,
			Source: "a.py(1): f"}, {Name: "l", Count: 2, TotalNS: 500}},
		Hints: []Action{{Code: "SYNC", Why: "w", Advice: finding.Advice{Do: "d"}}}}}
	_, text := rowsOf(t, r.writeCoverage, "")
	flat := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{"Kernels outside of the graphs", "k 1 1.50 µs 2 yes a.py(1): f", "l 2 500 ns 0",
		"SYNC: w: d"} {
		if !strings.Contains(flat, want) {
			t.Errorf("no %q:\n%s", want, text)
		}
	}
}

// TestSummaries: stages are named if there are several.
func TestSummaries(t *testing.T) {
	stage := func(name string, a Answer) StageVerdict {
		return StageVerdict{Stage: layer.Stage(name), Verdict: a, Headroom: Headroom{AtMost: 1.5}}
	}
	head := Headroom{WallNS: 1000, HostNS: 250, UnknownNS: 100, Share: 0.25, AtMost: 1.333, WithUnknown: 1.538}
	const yes = "host overhead: 250 ns of 1.00 µs of step time (at most a 1.33× speedup)"
	for _, c := range []struct {
		verdict Answer
		stages  []StageVerdict
		want    string
	}{
		{Yes, nil, yes},
		{Yes, []StageVerdict{stage("decode", Yes)}, yes},
		{Yes, []StageVerdict{stage("decode", Yes), stage("prefill", No)}, yes + "; by stage: decode at most 1.50×"},
		{Yes, []StageVerdict{stage("decode", Yes), stage("prefill", Yes)},
			yes + "; by stage: decode at most 1.50×, prefill at most 1.50×"},
		{Yes, []StageVerdict{stage("decode", No), stage("prefill", No)}, yes},
		{No, nil, "host overhead is 25.0% of step time (at most a 1.33× speedup)"},
		{Inconclusive, nil, "host overhead is 25.0%–35.0% of step time (at most a 1.33–1.54× speedup), depending on who " +
			"causes the unexplained idle time"},
	} {
		v := Verdict{Verdict: c.verdict, Basis: finding.OfStep, Headroom: head, Ranks: []RankVerdict{{Stages: c.stages}}}
		if got := v.answer(); got != c.want {
			t.Errorf("%s, %d stages: %s\nwant %s", c.verdict, len(c.stages), got, c.want)
		}
	}
	for mean, want := range map[StepMean]string{{}: "250 ns of 1.00 µs of step time (at most a 1.33× speedup)",
		{"", 100, 400}:   "100 ns of 400 ns per step (at most a 1.33× speedup)",
		{"T5", 10, 20}:   "10 ns of 20 ns per step of T5 (at most a 2.00× speedup; 1.33× of all models)",
		{"draft", 2, 20}: "2 ns of 20 ns per step of the draft (at most a 1.11× speedup; 1.33× of all models)"} {
		v := Verdict{Verdict: Yes, Basis: finding.OfStep, Headroom: head, Ranks: []RankVerdict{{Mean: mean}}}
		if got := v.answer(); got != "host overhead: "+want {
			t.Errorf("%+v: %s", mean, got)
		}
	}
	r := RankVerdict{Worst: []PassHeadroom{{Pass: 3, Stage: "decode", StartNS: 1000, EndNS: 2000, VisStart: 5,
		VisEnd: 6, Headroom: Headroom{HostNS: 500, Share: 0.5, AtMost: 2}}}}
	_, text := rowsOf(t, r.writePasses, "")
	if flat := strings.Join(strings.Fields(text), " "); !strings.Contains(flat,
		"3 decode 500 ns 50.0% 2.00× 0.000001 s 0.000002 s 5 6") {
		t.Errorf("one pass:\n%s", text)
	}
}

// TestShortestGapsAreNotListed: gaps below the first class of lengths are counted there, not listed one by one.
func TestShortestGapsAreNotListed(t *testing.T) {
	for _, c := range []struct {
		ns   []int64
		want string
	}{{[]int64{999}, ""}, {[]int64{999, 1000}, "1.00 µs"}, {[]int64{2000, 1000}, "1.00 µs"}} {
		var d RankVerdict
		for _, ns := range c.ns {
			d.Top = append(d.Top, Gap{NS: ns})
		}
		var b strings.Builder
		w := table.NewWriter(&b)
		d.writeGaps(w)
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); strings.Contains(got, "Longest") != (c.want != "") || !strings.Contains(got, c.want) ||
			strings.Contains(got, "999 µs") {
			t.Errorf("%v: %s\nwant %q", c.ns, got, c.want)
		}
	}
}

// TestDeltas: the change of an operation is in percent of what it was, if it was anything.
func TestDeltas(t *testing.T) {
	for _, c := range []struct{ a, b, delta, percent float64 }{
		{1, 2, 1, 100}, {0.5, 0.25, -0.25, -50}, {0, 2, 2, math.NaN()}, {3, 0, -3, -100},
	} {
		d := newDelta("op", "cpu_op", c.a, c.b)
		if (d.DeltaPct == nil) != math.IsNaN(c.percent) || d.DeltaPct != nil && *d.DeltaPct != c.percent ||
			d.DeltaUS != c.delta || d.BaselineUS != c.a || d.TargetUS != c.b {
			t.Errorf("from %v to %v: %+v (%v)", c.a, c.b, d, d.DeltaPct)
		}
	}
}

// TestHeadroomWithoutIdleTime: what is left without some idle time is never less than nothing.
func TestHeadroomWithoutIdleTime(t *testing.T) {
	var idle causeSums
	unknown := slices.IndexFunc(finding.Causes(), func(c finding.Cause) bool { return c.Group() == finding.UnknownGroup })
	idle[finding.HostCode], idle[finding.Causes()[unknown]] = 30, 5
	h := Headroom{WallNS: 100, HostNS: 40, UnknownNS: 5}
	if got := h.without(&idle); got.WallNS != 65 || got.HostNS != 10 || got.UnknownNS != 0 {
		t.Errorf("%+v", got)
	}
	h = Headroom{WallNS: 100, HostNS: 29, UnknownNS: 4}
	if got := h.without(&idle); got.HostNS != 0 || got.UnknownNS != 0 {
		t.Errorf("%+v", got)
	}
}
