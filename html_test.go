package strata_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// pages are all that are made of an analysed GPU.
func pages(t *testing.T, tr *trace.Trace, name string) map[string]string {
	t.Helper()
	ctx := context.Background()
	a, err := layer.Analyze(ctx, tr, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := &a.Devices[0]
	out := map[string]string{}
	add := func(kind string, write func(io.Writer) error) {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		out[kind] = b.String()
	}
	add("layers", func(w io.Writer) error { return strata.WriteLayersHTML(ctx, w, d, trace.None, name) })
	v, err := hostoverhead.Analyze(ctx, []*layer.Analysis{a}, hostoverhead.Options{})
	if err != nil {
		t.Fatal(err)
	}
	add("host", func(w io.Writer) error { return strata.WriteHostHTML(w, v, []*layer.Analysis{a}, name) })
	in, err := triage.NewInput(ctx, []triage.Source{{Trace: tr, Path: name}}, nil, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tri, err := triage.Analyze(ctx, in, triage.Options{MinSharePct: -1})
	if err != nil {
		t.Fatal(err)
	}
	add("triage", func(w io.Writer) error { return strata.WriteTriageHTML(ctx, w, tri, nil, d) })
	run, err := compare.Measure(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	side := compare.Side{Label: name, Runs: []compare.Run{*run}}
	if c, err := compare.Compare(ctx, &side, &side, compare.Options{}); err == nil {
		add("compare", func(w io.Writer) error { return strata.WriteCompareHTML(ctx, w, c, d, d) })
	}
	r, err := strata.Analyze(ctx, &strata.Recording{Name: name,
		Parts: []strata.Part{{File: trace.File{Path: name}, Trace: tr}}}, strata.ReportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	add("report", func(w io.Writer) error { return r.WriteHTML(w) })
	return out
}

func demoTrace(t *testing.T) *trace.Trace {
	t.Helper()
	tr, err := trace.Read(context.Background(), bytes.NewReader(demo.Trace()), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// manySteps makes a trace of decode steps, each with the same kernels on one stream; name returns what kernel i is
// called.
func manySteps(t *testing.T, passes, layers, perLayer int, name func(i int) string) *trace.Trace {
	t.Helper()
	const kernel, launch, cpu = 2000, 1000, 100 // ns, ns, process
	b := trace.NewBuilder(trace.Options{})
	at, i := int64(1000), 0
	for range passes {
		begin := at
		for k := range layers * perLayer {
			corr := uint64(i + 1)
			b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: at, Duration: launch,
				Process: cpu, Thread: 1, Device: trace.None, Stream: trace.None, Correlation: corr})
			b.Add(trace.EventData{Kind: event.Kernel, Name: fmt.Sprintf("%s_%d", name(i), k%perLayer),
				Start: at + launch, Duration: kernel, Device: 0, Stream: 7, Correlation: corr})
			at += launch + kernel
			i++
		}
		b.Add(trace.EventData{Kind: event.Annotation, Name: "step[DECODE bs=8]", Start: begin - 10,
			Duration: at - begin - launch - kernel + 20, Process: cpu, Thread: 1, Device: trace.None,
			Stream: trace.None})
		at += 5000
	}
	tr, err := b.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// Each page has a timeline and names no folder of whoever made it.
func TestPagesHaveATimelineAndNoPath(t *testing.T) {
	for kind, p := range pages(t, demoTrace(t), "/home/someone/run.json.gz") {
		if strings.Contains(p, "/home/someone") {
			t.Errorf("%s: the page names the author's folder", kind)
		}
		if !strings.Contains(p, `class="timeline-data"`) || !strings.Contains(p, "run.json.gz") ||
			!strings.Contains(p, "fused_moe_kernel") {
			t.Errorf("%s: the page lacks its timeline, its file's name or a kernel", kind)
		}
	}
}

func TestPagesAreDeterministic(t *testing.T) {
	first, second := pages(t, demoTrace(t), "x"), pages(t, demoTrace(t), "x")
	for kind := range first {
		if first[kind] != second[kind] {
			t.Errorf("two %s pages of the same trace differ", kind)
		}
	}
}

// TestPagesStaySmall: a window with more kernels than a page keeps is summarised, with few names as in real runs and
// with more names, and longer ones, than any run has.
func TestPagesStaySmall(t *testing.T) {
	testdata.ManyInputs(t)
	passes := 80
	if !testdata.Long() {
		passes = 8
	}
	long := strings.Repeat("cutlass::gemm::kernel::Universal<", 8)
	for name, kernel := range map[string]func(int) string{
		"few names":  func(int) string { return "void kernel<float>" },
		"many names": func(i int) string { return fmt.Sprintf("%s%d", long, i/14%500) },
	} {
		if name == "few names" && !testdata.Long() {
			continue
		}
		tr := manySteps(t, passes, 36, 14, kernel)
		for kind, p := range pages(t, tr, "x") {
			t.Logf("%s, %s: %d activities, %d bytes", kind, name, tr.Len(event.LaneGPU), len(p))
			if len(p) >= 3_000_000 {
				t.Errorf("the %s page of %d activities has %d bytes, want less than 3 MB", kind, tr.Len(event.LaneGPU),
					len(p))
			}
		}
	}
}

// TestHostileNamesStayText: nothing that a trace or a file is called becomes markup.
func TestHostileNamesStayText(t *testing.T) {
	for _, evil := range []string{`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`,
		`</title></style></script><script>alert(1)</script>`} {
		tr := manySteps(t, 4, 6, 5, func(i int) string { return fmt.Sprintf("%s%d", evil, i%3) })
		for kind, p := range pages(t, tr, evil) {
			if strings.Contains(p, "<script>alert") || strings.Contains(p, "<img") {
				t.Errorf("%s: %q came through as markup", kind, evil)
			}
			if n := strings.Count(p, "<script>"); n != 1 {
				t.Errorf("%s: %d scripts, want the page's own one", kind, n)
			}
			if !strings.Contains(p, "alert(1)") {
				t.Errorf("%s: the name is not shown at all", kind)
			}
		}
	}
}

// TestPageOfRanks: each rank has its bars, the late one and its difference are marked, and the page says so if there
// are no matched collectives.
func TestPageOfRanks(t *testing.T) {
	g := fleet.Group{Name: "0–1", Ranks: 2, Steps: 3, Step: 1000, Transfer: 100, Collectives: 9,
		Wait: fleet.Spread{Max: 400, Worst: []fleet.Value{{Rank: "rank 0", NS: 400}}},
		Rows: []fleet.Row{{Rank: "rank 0", Wall: 1000, Busy: 500, Wait: 400},
			{Rank: "rank 1", Wall: 1000, Busy: 900, Last: 9}},
		Differs: []fleet.Differs{{Rank: "rank 1", What: "attention", NS: 400, Share: .4}},
		Late:    &fleet.Late{Rank: "rank 1"}}
	var b bytes.Buffer
	if err := strata.WriteFleetHTML(&b, &fleet.Report{Verdict: "v",
		Runs: []fleet.Run{{Run: "r", Groups: []fleet.Group{g}}}}, "r"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`Waiting for others, ranks 0–1`, `0 on rank 1 … 400 ns on rank 0`,
		`<path class="win" d="M1 40v-40h0.88v40z"/></svg><p>100 ns on rank 0 … 900 ns on rank 1</p>`, `<td>rank 0</td>`,
		`<td class="strong">rank 1</td>`,
		`<rect width="40" height="4"/></svg>400 ns`, "attention: +40.0% of step time"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	b.Reset()
	if err := strata.WriteFleetHTML(&b, &fleet.Report{Verdict: "v"}, "r"); err != nil ||
		!strings.Contains(b.String(), "No collectives of different ranks could be matched") {
		t.Errorf("without groups: %v", err)
	}
}

// TestPageOfATrend: each change has a chart of its runs, those since it set apart, and a row.
func TestPageOfATrend(t *testing.T) {
	trend := &compare.Trend{Runs: 4, From: "2026-01-01", To: "2026-01-04", Changes: []compare.TrendChange{{
		Stage: layer.StageDecode, Operator: "attention", Since: "2026-01-03", Before: 2, After: 2,
		Interval: compare.Interval{A: 100, B: 200, Delta: 100},
		Points:   []compare.TrendPoint{{Time: 100}, {Time: 100}, {Time: 200}, {Time: 200}},
		Text:     "attention +100% since 2026-01-03"}}}
	var b bytes.Buffer
	if err := strata.WriteTrendHTML(&b, trend, "nightly"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"4 runs", "attention, Decode",
		`d="M0 40v-20h0.88v20zM1 40v-20h0.88v20z"/><path class="win" d="M2 40v-40h0.88v40zM3 40v-40h0.88v40z"/>`,
		"<td>2026-01-03</td>"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}
