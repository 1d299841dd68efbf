package triage

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"

	"github.com/llmstrata/strata/triage/internal/activity"
	"github.com/llmstrata/strata/triage/internal/chain"
)

// pageOf is what is written to a page of a terminal.
func pageOf(width int, write func(*page)) string {
	var b strings.Builder
	write(&page{w: &b, text: true, width: width})
	return b.String()
}

// flat joins words by single spaces.
func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

// TestSummarySaysWhatDominates: the first category and two more of at least a tenth, the largest stage where there
// are several, and idle time from 15% on.
func TestSummarySaysWhatDominates(t *testing.T) {
	stage := func(of layer.Stage, us, idle float64, shares ...float64) StageReport {
		s := StageReport{Stage: stageWord(of), PassStage: of, GPUTimeUS: us, IdlePct: idle}
		for i, share := range shares {
			s.Categories = append(s.Categories, Share{Category: classify.Category(rune('a' + i)), SharePct: share})
		}
		return s
	}
	labelled := stage(layer.StageUnknown, 1, 0, 70)
	labelled.Kernels = []KernelRow{{Kernel: "long", Label: "short", SharePct: 42}, {Kernel: "next", SharePct: 9}}
	divided := func(n int) StageReport {
		s := stage(layer.StageUnknown, 1, 0, 70)
		s.Kernels = []KernelRow{{Kernel: "gemm", SharePct: 42, Operators: make([]OperatorRow, n)}}
		return s
	}
	unlabelled := stage(layer.StageUnknown, 1, 0, 70)
	unlabelled.Kernels = []KernelRow{{Kernel: strings.Repeat("k", 61), SharePct: 42}}
	for _, c := range []struct {
		stages []StageReport
		want   string
	}{
		{nil, "The trace holds no GPU activity, so nothing can be said about GPU time."},
		{[]StageReport{stage(layer.StageUnknown, 1, 0, 70)}, "GPU time is mostly a (70.0%)."},
		{[]StageReport{stage(layer.StageUnknown, 1, 0, 9)}, "GPU time is mostly a (9.0%)."},
		{[]StageReport{stage(layer.StageUnknown, 1, 0, 70, 10)}, "GPU time is mostly a (70.0%) and b (10.0%)."},
		{[]StageReport{stage(layer.StageUnknown, 1, 0, 70, 9.9)}, "GPU time is mostly a (70.0%)."},
		{[]StageReport{stage(layer.StageUnknown, 1, 0, 40, 30, 20, 10)},
			"GPU time is mostly a (40.0%), b (30.0%) and c (20.0%)."},
		{[]StageReport{stage(layer.StageUnknown, 1, 15, 70)},
			"GPU time is mostly a (70.0%); the GPU is idle 15.0% of the time."},
		{[]StageReport{stage(layer.StageUnknown, 1, 14.9, 70)}, "GPU time is mostly a (70.0%)."},
		{[]StageReport{stage(layer.StagePrefill, 1, 0, 70), stage(layer.StageDecode, 3, 0, 60)},
			"Decode takes 75.0% of GPU time, mostly a (60.0%)."},
		{[]StageReport{stage(layer.StagePrefill, 2, 0, 70), stage(layer.StageDecode, 2, 0, 60)},
			"Extend/prefill takes 50.0% of GPU time, mostly a (70.0%)."},
		{[]StageReport{labelled}, "GPU time is mostly a (70.0%); the largest kernel is short (42.0%)."},
		{[]StageReport{divided(1)}, "GPU time is mostly a (70.0%); the largest kernel is gemm (42.0%)."},
		{[]StageReport{divided(2)}, "GPU time is mostly a (70.0%); the largest kernel is gemm (42.0% in 2 operators)."},
		{[]StageReport{unlabelled}, "GPU time is mostly a (70.0%); the largest kernel is " + strings.Repeat("k", 61) +
			" (42.0%)."},
	} {
		if got := summarise(&Report{Stages: c.stages}); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestHeadingsOfABundle(t *testing.T) {
	for heading, want := range map[string]string{"# a": "#### a", "## a": "##### a", "### a": "###### a",
		"##### a": "###### a"} {
		if got := lower(heading); got != want {
			t.Errorf("%q: %q, want %q", heading, got, want)
		}
	}
	used := map[string]int{}
	for _, c := range [][2]string{
		{"Az 09", "az-09"}, {"Az 09", "az-09-1"}, {"az-09", "az-09-2"}, {"a_b-c", "a_b-c"}, {"é", "é"},
		{"(`a`: {b}/[c] \x7f.)", "a-bc-\x7f"},
	} {
		if got := slug(c[0], used); c[0][0] != '(' && got != c[1] || c[0][0] == '(' &&
			strings.ContainsAny(got, "`:{}/[].()") {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
	for _, c := range []struct {
		level int
		want  string
	}{{1, "Title\n=====\n\n"}, {2, "Title\n=====\n\n"}, {3, "Title\n-----\n\n"}, {5, "Title\n-----\n\n"}} {
		if got := pageOf(80, func(m *page) { m.heading(c.level, "Title") }); got != c.want {
			t.Errorf("level %d: %q, want %q", c.level, got, c.want)
		}
	}
	if got := slug("a\x7f\u0080", map[string]int{}); got != "a\u0080" {
		t.Errorf("an anchor %q holds what no heading's has", got)
	}
}

// TestColumnsOfATable: a terminal has one source line, Markdown all that is known; where no line is known there is
// none.
func TestColumnsOfATable(t *testing.T) {
	row := KernelRow{Kernel: "k", Category: "gemm", GPUTimeNS: 10, Launches: 1,
		ModelLines: []Location{{Location: "models/m.py:1 f", Module: "A/B/C", SharePct: 99.4}}}
	for _, c := range []struct {
		text, known   bool
		titles, cells string
	}{
		{true, true, "Kernel Operator GPU time Share Launches Source line", "k - 10 ns 0.0% 1 m.py:1 f (99%)"},
		{false, true, "Kernel Category Operator GPU time Share Launches Avg Model line Python location (site share) CPU op",
			"k gemm - 10 ns 0.0% 1 10 ns models/m.py:1 f in B/C (99%) unresolved -"},
		{true, false, "Kernel Operator GPU time Share Launches", "k - 10 ns 0.0% 1"},
		{false, false, "Kernel Category Operator GPU time Share Launches Avg CPU op", "k gemm - 10 ns 0.0% 1 10 ns -"},
	} {
		r := row
		if !c.known {
			r.ModelLines = nil
		}
		var b strings.Builder
		if err := (&page{text: c.text}).kernelTable([]KernelRow{r}).WriteText(&b); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		if got := flat(lines[0]); got != c.titles {
			t.Errorf("text %v, lines %v: %q, want %q", c.text, c.known, got, c.titles)
		}
		if got := flat(lines[len(lines)-1]); got != c.cells {
			t.Errorf("text %v, lines %v: %q, want %q", c.text, c.known, got, c.cells)
		}
	}
	for share, want := range map[float64]string{100: "", 99.5: "", 99.4: " (99%)", 50.4: " (50%)", 0: " (0%)"} {
		if got := siteShare(share); got != want {
			t.Errorf("%v%%: %q, want %q", share, got, want)
		}
	}
}

// TestHeadOfAStage: what is one, or not known, is not shown.
func TestHeadOfAStage(t *testing.T) {
	for _, c := range []struct {
		s    StageReport
		want string
	}{
		{StageReport{Launches: 1, Devices: 1}, "in 1 launch, busy"},
		{StageReport{Launches: 2, Devices: 2}, "in 2 launches on 2 GPUs (times are sums over them), busy"},
		{StageReport{Launches: 2, Steps: 1}, "2 launches; in 1 step, busy 0 of 0."},
		{StageReport{Launches: 2, Steps: 1, Exposure: &Exposure{Steps: 1, CompleteSteps: 0.5}},
			"2 launches; in 1 step (cut ones count in part: 0.50), busy"},
		{StageReport{Launches: 2, Steps: 3, Exposure: &Exposure{Steps: 6, CompleteSteps: 5}},
			"2 launches; in 3 steps (cut ones count in part: 2.50), busy"},
		{StageReport{Launches: 2, Steps: 1, Batch: 1}, "2 launches; in 1 step of 1 request, busy"},
		{StageReport{Launches: 2, Batch: 1}, "2 launches, busy 0 of 0."},
		{StageReport{Launches: 2, Steps: 1, Outside: 1, Stray: "copy"},
			"Outside steps: 1 launch, 0; the first is copy."},
		{StageReport{Launches: 2, HiddenRows: 1}, "1 more row below 1.0% of GPU time or beyond the limit."},
		{StageReport{Launches: 2, Kernels: []KernelRow{{Kernel: "a", SharePct: 0.9}}}, "1 more row below 1.0%"},
		{StageReport{Launches: 2, ReplaySources: []Location{{From: "x", SharePct: 75}, {From: "", SharePct: 25}}},
			"by GPU time: 75.0% x, 25.0% not known."},
	} {
		got := flat(pageOf(0, func(m *page) { m.kernels(&Report{MinSharePct: 1}, &c.s) }))
		if !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.s, got, c.want)
		}
	}
	for _, c := range []struct {
		s   StageReport
		not string
	}{
		{StageReport{Outside: 1, Stray: "copy"}, "Outside"}, {StageReport{Steps: 1}, "Outside"},
		{StageReport{}, "more row"},
		{StageReport{Kernels: []KernelRow{{Kernel: "a", SharePct: 1}}}, "more row"}, {StageReport{}, "by GPU time"},
	} {
		if got := flat(pageOf(0, func(m *page) { m.kernels(&Report{MinSharePct: 1}, &c.s) })); strings.Contains(got,
			c.not) {
			t.Errorf("%+v says %q:\n%s", c.s, c.not, got)
		}
	}
	head := func(r *Report) string { return flat(pageOf(0, func(m *page) { m.head(r) })) }
	if got := head(&Report{TPSize: 1, Traces: []string{"a"}}); !strings.Contains(got, "TP size: 1") ||
		!strings.Contains(got, "Input traces: a") {
		t.Errorf("%q", got)
	}
	if got := head(&Report{Traces: []string{"a"}, MappingTraces: []string{"b"}}); strings.Contains(got, "TP size") ||
		!strings.Contains(got, "Mapping traces: b Formal traces: a") {
		t.Errorf("%q", got)
	}
	section := func(stages ...layer.Stage) string {
		r := &Report{}
		for _, of := range stages {
			r.Stages = append(r.Stages, StageReport{Stage: stageWord(of), PassStage: of})
		}
		return flat(pageOf(0, func(m *page) {
			m.section(r, r.Stages, "Part", func(_ *Report, s *StageReport) { m.printf("<%s>", s.Stage) })
		}))
	}
	for want, got := range map[string]string{
		"Part ==== No GPU activity.": section(), "Part ==== <all>": section(layer.StageUnknown),
		"Part ==== decode ------ <decode>":              section(layer.StageDecode),
		"Part ==== all --- <all>decode ------ <decode>": section(layer.StageUnknown, layer.StageDecode),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestTablesOfAStage: what is not known, or nothing, is no number.
func TestTablesOfAStage(t *testing.T) {
	for _, c := range []struct {
		write func(*page)
		want  string
	}{
		{func(m *page) { m.operators(nil, &StageReport{}) }, "No operators are known"},
		{func(m *page) {
			m.operators(nil, &StageReport{Operators: []OperatorRow{{Operator: "mlp", GPUTimeNS: 1000, SharePct: 5,
				Launches: 3, Confidence: 0.876}}})
		}, "mlp 1.00 µs 5.0% 3 0.88"},
		{func(m *page) {
			m.operators(nil, &StageReport{Operators: []OperatorRow{{Operator: activity.NoOperator, GPUTimeNS: 1000,
				SharePct: 5, Launches: 3, Confidence: 0.876}}})
		}, activity.NoOperator + " 1.00 µs 5.0% 3 -"},
		{func(m *page) { m.exposure(nil, &StageReport{}) }, "No steps were found"},
		{func(m *page) { m.exposure(nil, &StageReport{Exposure: &Exposure{}}) }, "No steps were found"},
		{func(m *page) {
			m.exposure(nil, &StageReport{Exposure: &Exposure{WallNS: 1, SharedNS: 1,
				Rows: []ExposureRow{{Category: "gemm", Streams: 1}}}})
		}, "gemm 0 0 0.0% 0 1 - - "},
		{func(m *page) {
			m.exposure(nil, &StageReport{Exposure: &Exposure{WallNS: 1, SharedNS: 1,
				Rows: []ExposureRow{{Category: "communication", BoundNS: 1,
					Longest: &Place{StartNS: 1000, EndNS: 3000, Kernel: "k"}}}}})
		}, "communication 0 0 0.0% 0 0 - 1 ns 2.00 µs 0.001 ms k"},
		{func(m *page) {
			m.exposure(nil, &StageReport{Exposure: &Exposure{WallNS: 1, SharedNS: 1,
				Rows: []ExposureRow{{Category: "gemm", Longest: &Place{StartNS: 1000, EndNS: 3000, Kernel: "k"}}}}})
		}, "2.00 µs 0.001 ms k"},
		{func(m *page) { m.overlap(nil, &StageReport{OverlapNote: "note"}) }, "note"},
		{func(m *page) { m.overlap(nil, &StageReport{Overlap: []OverlapRow{{Kernel: "k", BoundPct: 7}}}) },
			"k 0 0.0% 0.0% - - "},
		{func(m *page) {
			m.overlap(nil, &StageReport{Overlap: []OverlapRow{{Kernel: "k", BoundNS: 1, BoundPct: 7}}})
		}, "k 0 0.0% 0.0% 1 ns 7.0%"},
		{func(m *page) { m.fuse(nil, &StageReport{}) }, "No kernels were found"},
		{func(m *page) { m.fuse(nil, &StageReport{Fuse: []FuseRow{{Pattern: "p", Kind: Split, State: "s"}}}) },
			"p s - - 0 0.0% 0"},
		{func(m *page) {
			m.fuse(nil, &StageReport{Fuse: []FuseRow{{Pattern: "p", Kind: Split, State: "s", EstimatedGainUS: 1,
				GainPct: 7}}})
		}, "p s 1.00 µs ≤ 7.0% 0 0.0% 0"},
		{func(m *page) {
			m.fuse(nil, &StageReport{Fuse: []FuseRow{{Pattern: "p", Kind: InUse, State: "s", EstimatedGainUS: 1,
				GainPct: 7}}})
		}, "p s - - 0 0.0% 0"},
	} {
		if got := flat(pageOf(0, c.write)) + " "; !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := pageOf(0, func(m *page) { m.overlap(nil, &StageReport{OverlapNote: "note"}) }); strings.Contains(got,
		"Priority") {
		t.Errorf("an empty table is written: %q", got)
	}
	for want, p := range map[string]*Place{
		"": nil, "at 1.500 ms": {Layer: new(int), StartNS: 1_500_000},
		"pass 0, at 1.500 ms":          {Pass: new(int), StartNS: 1_500_000},
		"pass 0, layer 0, at 0.000 ms": {Pass: new(int), Layer: new(int)},
	} {
		if got := first(p); got != want {
			t.Errorf("%+v: %q, want %q", p, got, want)
		}
	}
	text := pageOf(12, func(m *page) {
		m.fuseDetails(&FuseRow{Pattern: "p", Kind: Split,
			Rationale: "aaa bbb ccc ddd"})
	})
	if text != "p\n  aaa bbb\n  ccc ddd\n" {
		t.Errorf("in 12 columns: %q", text)
	}
	if text = pageOf(1, func(m *page) {
		m.fuseDetails(&FuseRow{Pattern: "p", Kind: Split,
			Rationale: "a b"})
	}); text != "p\n  a\n  b\n" {
		t.Errorf("in one column: %q", text)
	}
}

// TestMappingOfTheStage: the mapping trace whose file names the formal one's stage, else the first with GPU work,
// else the first.
func TestMappingOfTheStage(t *testing.T) {
	empty, work := &layer.Analysis{}, func() *layer.Analysis { return &layer.Analysis{Devices: []layer.Device{{}}} }
	a, b, c := work(), work(), work()
	const extend, decode, plain = "x-TP-0-EXTEND.trace.json.gz", "x-TP-0-DECODE.trace.json.gz", "x.json"
	for _, tt := range []struct {
		what, formal string
		list         []*layer.Analysis
		paths        []string
		want         *layer.Analysis
	}{
		{"none", decode, nil, nil, nil},
		{"without GPU work", decode, []*layer.Analysis{empty}, []string{decode}, empty},
		{"the first with work", plain, []*layer.Analysis{empty, a, b}, []string{plain, plain, plain}, a},
		{"of the stage", decode, []*layer.Analysis{empty, a, b, c}, []string{decode, extend, decode, decode}, b},
		{"no file of the stage", decode, []*layer.Analysis{a, b}, []string{extend, extend}, a},
		{"no stage in the name", plain, []*layer.Analysis{a, b}, []string{extend, decode}, a},
	} {
		var sources []Source
		for _, p := range tt.paths {
			sources = append(sources, Source{Path: p})
		}
		if got := mappingFor(Source{Path: tt.formal}, tt.list, sources); got != tt.want {
			t.Errorf("%s: mapping %d, want %d", tt.what, slices.Index(tt.list, got), slices.Index(tt.list, tt.want))
		}
	}
}

// TestOptionsAreCompleted: 0 is the default, less than 0 none.
func TestOptionsAreCompleted(t *testing.T) {
	for given, want := range map[float64]float64{0: 1, -1: 0, 0.5: 0.5} {
		if got := (Options{MinSharePct: given}).complete().MinSharePct; got != want {
			t.Errorf("a bar of %v is %v, want %v", given, got, want)
		}
	}
	for given, want := range map[int]int{0: 5, -1: -1, 7: 7} {
		if got := (Options{OverlapLimit: given}).complete().OverlapLimit; got != want {
			t.Errorf("a limit of %d is %d, want %d", given, got, want)
		}
	}
}

// TestUnresolved: time without a line, a replay's and a prefill's too.
func TestUnresolved(t *testing.T) {
	_, r := sites(activity.SiteTime{Site: activity.SiteFromPrefill + 1, Ns: 49},
		activity.SiteTime{Site: activity.SiteUnresolved, Ns: 41},
		activity.SiteTime{Site: activity.SiteFromPrefill, Ns: 10})
	b := trace.NewBuilder(trace.Options{})
	s := &stageWork{ns: 100, rows: []row{*r}, parts: []*activity.Trace{{Trace: built.Trace(b)}}}
	a := &analysis{report: &Report{Framework: "vLLM"}}
	if pct, fix := a.unresolved(s); pct != 51 || !strings.Contains(fix, "no Python frames") {
		t.Errorf("%v%%: %s, want 51%%", pct, fix)
	}
	b.Add(trace.EventData{Kind: event.Frame, Name: "a.py(1): f", Duration: 100, Thread: 1})
	s.parts[0].Trace = built.Trace(b)
	for want, replayed := range map[string][2]int64{ // of a prefill's line, and of those replayed in the mapping too
		"launches or stacks are missing": {25, 0},
		"replayed from graphs; pass the trace of a run without graphs (--enforce-eager)": {26, 13},
		"in the mapping trace, too; pass the trace of a run without graphs":              {26, 14},
	} {
		r.sites[2].Ns = replayed[0]
		r.sites[1].Ns = 51 - replayed[0]
		s.replays[activity.FromReplay] = replayed[1]
		if pct, fix := a.unresolved(s); pct != 51 || !strings.Contains(fix, want) {
			t.Errorf("%v%%: %s, want %s", pct, fix, want)
		}
	}
}

// TestNoteOfOverlap: rows say for themselves; one stream, and communication outside of layers from one percent of the
// steps on, are reported.
func TestNoteOfOverlap(t *testing.T) {
	a := &analysis{report: &Report{}}
	layers, exchanges := 0, map[int32]*exchange(nil)
	note := func(rows []OverlapRow, x *Exposure, streams int32) string {
		w := &activity.Trace{Queues: make([]activity.Queue, 100), Analysis: &layer.Analysis{}}
		for i := range streams {
			w.Acts = append(w.Acts, activity.Activity{Queue: i}, activity.Activity{Queue: i})
		}
		w.Acts = append(w.Acts, activity.Activity{Queue: 99, Stage: 1}) // of another stage
		w.Analysis.Devices = []layer.Device{{NumLayers: layers}}
		return a.overlapNote(&stageWork{parts: []*activity.Trace{w}, exposure: x, exchanges: exchanges}, rows)
	}
	ledger := func(exposed, bound int64) *Exposure {
		return &Exposure{WallNS: 1000, Rows: []ExposureRow{{Category: "gemm", ExposedNS: 999},
			{Category: "communication", ExposedNS: exposed, BoundNS: bound}}}
	}
	bare := &Exposure{WallNS: 50, Rows: []ExposureRow{{Category: "gemm", ExposedNS: 50}}} // 1 ns is 2% of it
	apart := []string{note(nil, bare, 2)}
	exchanges = map[int32]*exchange{0: {}}
	apart = append(apart, note(nil, ledger(9, 0), 2), note(nil, ledger(10, 0), 2))
	exchanges = nil
	const less = "Compute of the same layers can hide less communication than 1.0%"
	for _, c := range []struct {
		text, part string
		want       bool
	}{
		{apart[0], "exposed communication", false}, {apart[1], less, true}, {apart[2], less, false},
		{note(nil, nil, 2), "No communication", true}, {note([]OverlapRow{{}}, nil, 2), "No communication", false},
		{note(nil, ledger(10, 0), 2), "not known what could hide 10 ns of exposed communication (1.0% of the window)", true},
		{note(nil, ledger(9, 0), 2), "exposed communication", false},
		{note(nil, ledger(30, 21), 2), "exposed communication", false},
		{note([]OverlapRow{{}}, nil, 2), "not what may legally overlap", true}, {note(nil, nil, 2), "legally", false},
		{note([]OverlapRow{{}}, nil, 2), "Known to hide", false}, {note([]OverlapRow{{}}, nil, 2), "Of no use", false},
		{note([]OverlapRow{{Known: []string{"x"}}}, nil, 2), "has where they are written): x.", true},
		{note([]OverlapRow{{NotHere: []string{"x"}}}, nil, 2), "Of no use here: x.", true},
		{func() string { layers = 1; return note(nil, ledger(10, 0), 2) }(),
			"No compute of its layers can hide 10 ns of exposed communication", true},
	} {
		if got := strings.Contains(c.text, c.part); got != c.want {
			t.Errorf("%q says %q: %v, want %v", c.text, c.part, got, c.want)
		}
	}
}

// TestFindingsThatTouchAReport: those about GPU time, attribution or completeness, and those that say nothing of it.
func TestFindingsThatTouchAReport(t *testing.T) {
	for _, c := range []struct {
		affects []trace.Area
		want    bool
	}{{nil, true}, {[]trace.Area{"idle"}, false}, {[]trace.Area{"idle", "layers"}, false},
		{[]trace.Area{"gpu-time"}, true}, {[]trace.Area{"layers", "attribution"}, true},
		{[]trace.Area{"completeness"}, true}} {
		if got := touches(c.affects); got != c.want {
			t.Errorf("%q: %v, want %v", c.affects, got, c.want)
		}
	}
}

// TestRationaleOfAChain: other patterns of the same kernels, and those that share some, are named from the first on.
func TestRationaleOfAChain(t *testing.T) {
	const split = "why"
	for _, c := range []struct {
		also, near []string
		want       string
	}{
		{nil, nil, split},
		{[]string{"a"}, nil, split + " Other paths for these kernels: a."},
		{nil, []string{"b"}, split + " Shares kernels with: b; the gains do not add up."},
		{[]string{"a", "c"}, []string{"b", "d"}, split +
			" Other paths for these kernels: a; c. Shares kernels with: b; d; the gains do not add up."},
	} {
		s, h := &stageWork{paths: map[*chain.Candidate]*path{}},
			&path{Candidate: &chain.Candidate{}, pattern: &fusion.Pattern{Rationale: "why"}}
		for _, name := range c.also {
			h.others = append(h.others, &fusion.Pattern{Pattern: name})
		}
		for _, name := range c.near {
			other := &chain.Candidate{}
			s.paths[other], h.Near = &path{Candidate: other, pattern: &fusion.Pattern{Pattern: name}},
				append(h.Near, other)
		}
		if got := s.rationale(h); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestPlacesOfAFuseRow: the four places with most time, twelve kernels at most, and confident from a share on.
func TestPlacesOfAFuseRow(t *testing.T) {
	p := activity.NewPool()
	w := &activity.Trace{}
	var refs []chain.Ref
	for i := range 13 {
		site := p.Sites.ID(fmt.Sprint("l", min(i, 5)))
		w.Acts = append(w.Acts, activity.Activity{Site: site, Start: 0, End: int64(10 + i), Event: int32(i)})
		refs = append(refs, chain.Ref{Act: int32(i)})
	}
	p.Facts, p.Labels = kernels(1), make([]string, 1)
	a := &analysis{pool: p, formal: []*activity.Trace{w}}
	for share, want := range map[int64]Confidence{100: Confirmed, 666: Confirmed, 667: Possible} {
		r := a.fuseRow(&stageWork{ns: share}, &fusion.Pattern{}, Split, refs, refs, 1, 10)
		if r.Confidence != want {
			t.Errorf("10 of %v ns: %s, want %s", share, r.Confidence, want)
		}
		if got, want := strings.Join(r.CurrentLocations, " "), "l5 l4 l3 l2"; got != want {
			t.Errorf("places %s, want %s", got, want)
		}
		if n := len(r.ExampleKernels); n != 12 || r.ExampleKernels[11] != 11 {
			t.Errorf("%d kernels: %v, want 12", n, r.ExampleKernels)
		}
		if len(r.Evidence) != 1 || r.Evidence[0].Launches != 13 {
			t.Errorf("%+v", r.Evidence)
		}
	}
}

// TestStraysOfAFuseRow: of four chains a place of one kernel is a stray, unless it has most time; of a fused kernel in
// use each place counts.
func TestStraysOfAFuseRow(t *testing.T) {
	p := activity.NewPool()
	w := &activity.Trace{}
	var refs []chain.Ref
	for i, site := range []string{"longest", "often", "often", "stray"} {
		w.Acts = append(w.Acts, activity.Activity{Site: p.Sites.ID(site), End: []int64{200, 70, 40, 10}[i]})
		refs = append(refs, chain.Ref{Act: int32(i)})
	}
	p.Facts, p.Labels = kernels(1), make([]string, 1)
	a := &analysis{pool: p, formal: []*activity.Trace{w}}
	for kind, want := range map[FuseKind]string{Split: "longest often", InUse: "longest often stray"} {
		r := a.fuseRow(&stageWork{ns: 1000}, &fusion.Pattern{}, kind, refs, refs, 4, 10)
		if got := strings.Join(r.CurrentLocations, " "); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
	if r := a.fuseRow(&stageWork{ns: 1000}, &fusion.Pattern{}, Split, refs, refs, 5, 10); len(r.CurrentLocations) != 1 {
		t.Errorf("of five chains places of one and two kernels are no strays: %v", r.CurrentLocations)
	}
}

// TestCategoriesOfNoTime: a category whose kernels take no time has no row, one nanosecond is enough.
func TestCategoriesOfNoTime(t *testing.T) {
	x := &exposureSums{wall: 10, categories: []*categorySums{{name: "a"}, {name: "b", exposed: 1}, {name: "c", hidden: 1},
		{name: "d", exposed: 2, hidden: 3}}}
	var got []string
	for _, r := range x.ledger().Rows {
		got = append(got, fmt.Sprint(r.Category, " ", r.ExposedNS, "+", r.HiddenNS, "=", r.TotalNS, " ", r.ExposedPct))
	}
	if want := []string{"d 2+3=5 20", "b 1+0=1 10", "c 0+1=1 0"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestWallOfAStage: the time of its passes, that of its work where there are none.
func TestWallOfAStage(t *testing.T) {
	for wall, want := range map[int64]int64{7: 7, 1: 1, 0: 0} {
		if got, _ := (&stageWork{exposure: &Exposure{WallNS: wall}}).wall(); got != want {
			t.Errorf("passes of %d ns: %d, want %d", wall, got, want)
		}
	}
	w := &activity.Trace{Acts: []activity.Activity{{Start: 10, End: 20}, {Start: 30, End: 50},
		{Start: 60, End: 99, Stage: 1}}}
	w.OfDevice = map[trace.DeviceID][]activity.Activity{0: w.Acts}
	if got, idle := (&stageWork{parts: []*activity.Trace{w}, exposure: &Exposure{}}).wall(); got != 40 || idle != 10 {
		t.Errorf("no passes: %d ns, %d idle, want 40 and 10", got, idle)
	}
}

// TestDetailsOfFuseRows: what is in use needs nothing to be done.
func TestDetailsOfFuseRows(t *testing.T) {
	for kind, want := range map[FuseKind]bool{Split: true, InUse: false} {
		got := flat(pageOf(0, func(m *page) {
			m.fuseDetails(&FuseRow{Pattern: "p", Kind: kind, Action: "use it", ExampleKernels: []int{3, 4},
				CandidatePaths: []string{"path"}, CurrentLocations: []string{"here"}})
		}))
		if strings.Contains(got, "Fix: use it.") != want || strings.Contains(got, "Source: path.") != want ||
			!strings.Contains(got, "From: here.") {
			t.Errorf("%s: %q", kind, got)
		}
	}
}

// TestEvidenceInWords: of four chains, the twelve kernels with most time that at least half of them run are named in
// their order, and the others are counted; of a fused kernel in use those of fewer launches are named, too.
func TestEvidenceInWords(t *testing.T) {
	for _, c := range []struct {
		kind    FuseKind
		kernels string // capitals are launched once, the others twice; the first takes least time
		want    string
	}{{Split, "", ""}, {Split, "a", "a"}, {Split, "A", "A"}, {Split, "aBc", "ac and 1 more"}, {InUse, "aBc", "aBc"},
		{Split, "abcdefghijkl", "abcdefghijkl"}, {Split, "abcdefghijklm", "bcdefghijklm and 1 more"},
		{Split, "abcDefghijklm", "abcefghijklm and 1 more"}, {InUse, "abcDefghijklm", "bcDefghijklm and 1 more"}} {
		f := FuseRow{Kind: c.kind, State: StateAvailable, Occurrences: 4}
		for i, k := range strings.Split(c.kernels, "") {
			e := Share{Label: k, GPUTimeUS: float64(30 - i), Launches: 2}
			if i == 0 {
				e.GPUTimeUS = 1
			}
			if k == strings.ToUpper(k) {
				e.Launches = 1
			}
			f.Evidence = append(f.Evidence, e)
		}
		got := flat(pageOf(0, func(m *page) { m.fuseDetails(&f) }))
		_, got, _ = strings.Cut(got, "Kernels: ")
		if got = strings.NewReplacer(" (0.0%)", "", ".", "", ", and", " and", ", ", "").Replace(got); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.kind, c.kernels, got, c.want)
		}
	}
}

// TestLimitOfOverlapRows: of more exchanges than are asked for those with the largest bound are listed; no limit
// lists all.
func TestLimitOfOverlapRows(t *testing.T) {
	for limit, want := range map[int]int{1: 1, 2: 2, 3: 2, -1: 2} {
		p, r := sites(activity.SiteTime{Site: activity.SiteFromPrefill + 1, Ns: 10})
		p.Facts, p.Labels = kernels(2), []string{"a", "b"}
		second := *r
		r.kernel, r.ns, second.kernel, second.ns = 0, 50, 1, 40
		s := &stageWork{ns: 90, rows: []row{*r, second}, rowOf: []int32{0, 1}, exposure: &Exposure{WallNS: 100},
			exchanges: map[int32]*exchange{0: {exposed: 50, bound: 20}, 1: {exposed: 40, bound: 30}}}
		a := &analysis{pool: p, report: &Report{}, registry: &fusion.Registry{}}
		a.OverlapLimit = limit
		rows, _ := a.overlap(s)
		if len(rows) != want || rows[0].Label != "b" || rows[0].BoundNS != 30 {
			t.Errorf("limit %d: %+v, want %d rows", limit, rows, want)
		}
	}
}

// TestBoundOfALayer: several exchanges of one layer are bounded together, once, and those of each layer by themselves.
func TestBoundOfALayer(t *testing.T) {
	communication, gemm := &categorySums{exchange: true}, &categorySums{compute: true}
	x := &exposureSums{categories: []*categorySums{communication, gemm}, byKernel: map[int32]*exchange{1: {}, 2: {}},
		alone: map[layerKey]*layerAlone{{0, 0}: {100, map[int32]int64{1: 10, 2: 20}}, {0, 1}: {15, map[int32]int64{1: 40}}}}
	x.bound()
	if c := communication.bound; c != 45 || x.byKernel[1].bound != 25 || x.byKernel[2].bound != 20 || gemm.bound != 0 {
		t.Errorf("%d in all, %d and %d; want 45, 25 and 20", c, x.byKernel[1].bound, x.byKernel[2].bound)
	}
}

// TestGainsInWords: of GPU time, of a step, of bytes that are known, and launches that fall away.
func TestGainsInWords(t *testing.T) {
	for _, c := range []struct {
		g    Gain
		want string
	}{
		{Gain{NS: 5000}, ""},
		{Gain{LowNS: 5000, NS: 5000, HighNS: 5000, Steps: 1, StepLowNS: 2000, StepHighNS: 2000, Launches: 1},
			"GPU −5.00 µs; step −2.00 µs; 1 fewer launch"},
		{Gain{LowNS: 4000, NS: 5000, HighNS: 6000, Steps: 2, CompleteSteps: 2, StepHighNS: 2000, Launches: 2},
			"GPU −5.00 µs (4.00–6.00 µs) in 2 steps; each step −0 to −2.00 µs; 2 fewer launches"},
		{Gain{LowNS: 5000, NS: 5000, HighNS: 5000, GPUs: 1, Launches: 2},
			"GPU −5.00 µs; window −0: no gain while host bound; 2 fewer launches"},
		{Gain{LowNS: 5000, NS: 5000, HighNS: 5000, GPUs: 2, StepLowNS: 2000, StepHighNS: 2000, HostBoundPct: 25,
			Launches: 2}, "GPU −5.00 µs on 2 GPUs; window of each −2.00 µs; 25.0% of the occurrences are host bound and not " +
			"counted for it; 2 fewer launches"},
		{Gain{LowNS: 5000, NS: 5000, HighNS: 5000, Steps: 1, StepLowNS: 2000, StepHighNS: 2000, BytesMoved: 2000,
			BytesNeeded: 1000, BytesOf: 3, Occurrences: 4, Launches: 2}, "GPU −5.00 µs; step −2.00 µs; 2.00 kB moved, " +
			"1.00 kB needed (shapes are known of 3 of 4 occurrences); 2 fewer launches"},
		{Gain{LowNS: 5000, NS: 5000, HighNS: 5000, Steps: 1, StepLowNS: 2000, StepHighNS: 2000, BytesMoved: 2000,
			BytesNeeded: 1000, BytesOf: 4, Occurrences: 4, Launches: 2},
			"GPU −5.00 µs; step −2.00 µs; 2.00 kB moved, 1.00 kB needed; 2 fewer launches"},
		{Gain{LowNS: 1, NS: 1, HighNS: 1, Steps: 1, StepLowNS: 1, StepHighNS: 1, BytesMoved: 2, BytesNeeded: 1,
			BytesOf: 1, Occurrences: 1, Launches: 1}, "GPU −1 ns; step −1 ns; 2 B moved, 1 B needed; 1 fewer launch"},
	} {
		if got := c.g.String(); got != c.want {
			t.Errorf("%+v:\n%q, want\n%q", c.g, got, c.want)
		}
	}
}

// TestFiguresInWords: what has no line, confidences, and a row of the published table.
func TestFiguresInWords(t *testing.T) {
	for pct, want := range map[float64]string{0: "", 0.5: "No source line is known for 0.5% of GPU time: x."} {
		if got := (&StageReport{UnresolvedPct: pct, UnresolvedFix: "x"}).Unresolved(); got != want {
			t.Errorf("%v%% without a line: %q, want %q", pct, got, want)
		}
	}
	for confidence, want := range map[float64]finding.Band{1: finding.High, 0.9: finding.High, 0.89: finding.Medium,
		0.6: finding.Medium, 0.59: finding.Low, 0.01: finding.Low, 0: finding.BandUnknown} {
		if got := band(confidence); got != want {
			t.Errorf("%v: %s, want %s", confidence, got, want)
		}
	}
	row := OverlapRow{Kernel: "k", TotalUS: 12.34, SharePct: 5, ExclusiveRatio: 0.25, HiddenRatio: 0.75}
	got, want := flat(pageOf(0, func(m *page) { m.published([]OverlapRow{row}) })),
		"12.3 us, share 5.0%, excl 25.0% / hid 75.0%"
	if !strings.Contains(got, want) {
		t.Errorf("%q lacks %q", got, want)
	}
}

// TestSlowProducts: those of single precision where more time is in half precision, from the least share on; a split
// product's reduction. What a row takes above the floor of its op is shown where that is known, and is not below 0.
func TestSlowProducts(t *testing.T) {
	gemm := func(dtype classify.DType, ops ...classify.Role) activity.Kernel {
		return activity.Kernel{Facts: &classify.Facts{Category: classify.CategoryGEMM, DType: dtype, Ops: ops}}
	}
	for _, c := range []struct {
		half, single int64
		want         int
	}{{51, 50, 1}, {50, 50, 0}, {90, 10, 1}, {91, 9, 0}} {
		p := activity.NewPool()
		p.Facts, p.Labels = []activity.Kernel{gemm(classify.DTypeBF16), gemm(classify.DTypeFP32),
			{Facts: &classify.Facts{DType: classify.DTypeBF16}}}, make([]string, 3)
		a := &analysis{pool: p, report: &Report{}}
		a.MinSharePct = 10
		s := &stageWork{ns: 100, rows: []row{{kernel: 0, ns: c.half}, {kernel: 1, ns: c.single}, {kernel: 2, ns: 99}}}
		if got := a.slow(s); len(got) != c.want || len(got) > 0 && (got[0].GPUTimeNS != c.single || got[0].FloorNS != 0) {
			t.Errorf("%d ns in half and %d in single precision: %+v, want %d rows", c.half, c.single, got, c.want)
		}
	}
	for floor, want := range map[int64]string{0: "?", 1: "9 ns", 10: "0", 11: "0"} {
		row := SlowRow{Label: "k", GPUTimeNS: 10, SharePct: 3, Launches: 1, FloorNS: floor, Reason: "slow", Do: "fix it"}
		got := flat(pageOf(0, func(m *page) { m.slow(nil, &StageReport{Slow: []SlowRow{row}}) }))
		if !strings.Contains(got, "k 10 ns 3.0% 1 "+want+" slow") || !strings.Contains(got, "Slow. Fix: fix it.") {
			t.Errorf("a floor of %d ns: %q lacks %q", floor, got, want)
		}
	}
	if got := pageOf(0, func(m *page) { m.slow(nil, &StageReport{}) }); !strings.Contains(got,
		"No product takes a slow path") {
		t.Errorf("of none: %q", got)
	}
}

// TestOtherPathsOfAChain: the path that is nearest to be had counts, the first of equals; the others are listed.
func TestOtherPathsOfAChain(t *testing.T) {
	here := &fusion.Pattern{Pattern: "here", Origin: fusion.Upstream}
	equal := &fusion.Pattern{Pattern: "equal", Origin: fusion.Upstream}
	elsewhere := &fusion.Pattern{Pattern: "elsewhere", Origin: fusion.Upstream,
		Requires: fusion.Requirements{Platforms: []string{"rocm"}}}
	for _, c := range []struct {
		list []*fusion.Pattern
		want string
	}{{[]*fusion.Pattern{here}, "here"}, {[]*fusion.Pattern{elsewhere, here, equal}, "here elsewhere equal"},
		{[]*fusion.Pattern{here, elsewhere}, "here elsewhere"}, {[]*fusion.Pattern{equal, here}, "equal here"}} {
		got := (&analysis{}).pathOf(nil, c.list, &fusion.Setting{Platform: "cuda"})
		text := got.pattern.Pattern
		for _, p := range got.others {
			text += " " + p.Pattern
		}
		if text != c.want {
			t.Errorf("%q, want %q", text, c.want)
		}
	}
}

// TestGainsOfAStep: of three kernels that a fused one replaces, the first two run before the host waits for them: a step
// is shorter by what the host waits at most, 170 ns, and by what the third saves. A host that does not wait, and keeps
// the GPU idle later, leaves what the third saves alone.
func TestGainsOfAStep(t *testing.T) {
	for _, c := range []struct {
		call      string
		steps     float64 // 0: of a window
		low, high int64
		bound     float64
	}{{"cudaStreamSynchronize", 2, (60 + 60 + 60) / 2, (170 + 90) / 2, 0}, {"cudaMalloc", 2, 60 / 2, 90 / 2, 66.6667},
		{"cudaMalloc", 0, 60, 90, 66.6667}} {
		b := trace.NewBuilder(trace.Options{})
		for i, k := range []struct{ launch, start int64 }{{100, 110}, {105, 200}, {350, 360}, {355, 460}} {
			id := uint64(i + 1)
			b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: k.launch, Duration: 4, Thread: 1,
				Correlation: id})
			b.Add(trace.EventData{Kind: event.Kernel, Name: "k", Start: k.start, Duration: 90, Stream: 7, Correlation: id})
		}
		b.Add(trace.EventData{Kind: event.Runtime, Name: c.call, Start: 120, Duration: 200, Thread: 1})
		an, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		w := activity.NewPool().Collect(t.Context(), an, "t", "")
		var at []chain.Occurrence
		for i := range w.Acts {
			w.Acts[i].Pass = 0
			if i < 3 {
				at = append(at, chain.Occurrence{Trace: w, Acts: []int32{int32(i)}, Price: chain.Price{Low: 60, High: 200}})
			}
		}
		s := &stageWork{parts: []*activity.Trace{w}, index: int(w.Acts[0].Stage), exposure: &Exposure{WallNS: 1000,
			Steps: int(c.steps), CompleteSteps: c.steps}}
		var out FuseRow
		(&analysis{}).gains(s, &out, chain.Price{Low: 1, GPU: 2000, High: 3, Launches: 4}, at)
		g := out.Gain
		if g.StepLowNS != c.low || g.StepHighNS != c.high || g.HostBoundPct != c.bound || g.GPUs != 1-int(min(c.steps, 1)) ||
			g.Steps != int(c.steps) {
			t.Errorf("%s, %v steps: %+v", c.call, c.steps, g)
		}
		if want := percent(c.high*int64(max(c.steps, 1)), 1000); out.GainPct != want || out.EstimatedGainUS != 2 {
			t.Errorf("%s, %v steps: %v%% and %v µs, want %v%% and 2", c.call, c.steps, out.GainPct, out.EstimatedGainUS, want)
		}
	}
}

// TestLocationsInWords: shares tell several sites apart, unless one of them is unknown, which is not listed beside others.
func TestLocationsInWords(t *testing.T) {
	for _, c := range []struct {
		sites []Location
		want  string
	}{
		{nil, unresolved}, {[]Location{{Location: unresolved, SharePct: 100}}, unresolved},
		{[]Location{{Location: unresolved, SharePct: 60}}, unresolved + " (60%)"},
		{[]Location{{Location: "a.py:1", SharePct: 100}}, "a.py:1"},
		{[]Location{{Location: "a.py:1", SharePct: 60}}, "a.py:1 (60%)"},
		{[]Location{{Location: "a.py:1", SharePct: 60}, {Location: "b.py:2", SharePct: 40}}, table.Lines("a.py:1 (60%)", "b.py:2 (40%)")},
		{[]Location{{Location: "a.py:1", SharePct: 60}, {Location: unresolved, SharePct: 40}}, "a.py:1"},
	} {
		if got := locations(c.sites); got != c.want {
			t.Errorf("%v: %q, want %q", c.sites, got, c.want)
		}
	}
}

// TestWaitingInWords: exposed communication says how much of it waits, from a nanosecond on; other work says nothing.
func TestWaitingInWords(t *testing.T) {
	x := &Exposure{WallNS: 10}
	for _, c := range []struct {
		r    ExposureRow
		want string
	}{
		{ExposureRow{Category: classify.CategoryCommunication, ExposedNS: 1, WaitingBy: layer.WaitingByRanks},
			"Exposed communication: 0 (0.0% of the window) waiting for other ranks, 1 ns (10.0%) transfer. "},
		{ExposureRow{Category: classify.CategoryCommunication, WaitingBy: layer.WaitingByRanks}, ""},
		{ExposureRow{Category: classify.CategoryGEMM, ExposedNS: 1, WaitingBy: layer.WaitingByRanks}, ""},
	} {
		if got := c.r.waiting(x); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%+v: %q, want %q", c.r, got, c.want)
		}
	}
}

// TestStacksOfUnknownLines: what is known instead of a stack has the operator below it, a source line has none.
func TestStacksOfUnknownLines(t *testing.T) {
	p := activity.NewPool()
	line, operator := p.Sites.ID("a.py:1 f"), p.Operators.ID("mlp")
	for _, c := range []struct {
		site, operator int32
		want           string
	}{{line, operator, "a.py:1 f"}, {activity.SiteFromPrefill, operator, "operator mlp"},
		{activity.SiteReplay, operator, "operator mlp"}, {activity.SiteFromPrefill, 0, activity.FromPrefill}} {
		b := &profileBuilder{a: &analysis{pool: p}, own: activity.NewPool()}
		id := b.stackFor(nil, &activity.Activity{Site: c.site, Operator: c.operator, From: activity.FromMapping},
			trace.Event{}, layer.Kernel{})
		if got := b.own.Sites.Texts[b.stacks.Key(int(id)).site]; got != c.want {
			t.Errorf("site %d, operator %d: %q, want %q", c.site, c.operator, got, c.want)
		}
	}
}
