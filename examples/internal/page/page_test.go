package page_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/page"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/htmlreport"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// timeline returns the page of a trace's analysis.
func timeline(t *testing.T, tr *trace.Trace, name string, header ...string) string {
	t.Helper()
	a, err := layer.Analyze(context.Background(), tr, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := page.Timeline(&a.Devices[0], trace.None, name, header...)
	if err != nil {
		t.Fatal(err)
	}
	return text(t, r)
}

// triaged returns the page of a trace's triage.
func triaged(t *testing.T, tr *trace.Trace, name string) string {
	t.Helper()
	in, err := triage.NewInput(context.Background(), []triage.Source{{Trace: tr, Path: name}}, nil, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := triage.Analyze(context.Background(), in, triage.Options{MinSharePct: -1})
	if err != nil {
		t.Fatal(err)
	}
	return text(t, page.Triage(r, nil))
}

func text(t *testing.T, r *htmlreport.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func demoTrace(t *testing.T) *trace.Trace {
	t.Helper()
	tr, err := trace.Read(context.Background(), bytes.NewReader(demo.Trace()), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// steps makes a trace of decode steps, each with the same kernels on one
// stream; name returns what kernel i of the trace is called.
func steps(passes, layers, perLayer int, name func(i int) string) *trace.Trace {
	const (
		kernel = 2000 // ns
		launch = 1000 // ns
	)
	b := trace.NewBuilder(trace.Options{})
	const cpu = 100
	at, i := int64(1000), 0
	for range passes {
		begin := at
		for k := range layers * perLayer {
			corr := uint64(i + 1)
			b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: at, Duration: launch, Process: cpu, Thread: 1,
				Device: trace.None, Stream: trace.None, Correlation: corr})
			b.Add(trace.EventData{Kind: event.Kernel, Name: fmt.Sprintf("%s_%d", name(i), k%perLayer), Start: at + launch, Duration: kernel,
				Device: 0, Stream: 7, Correlation: corr})
			at += launch + kernel
			i++
		}
		b.Add(trace.EventData{Kind: event.Annotation, Name: "step[DECODE bs=8]", Start: begin - 10, Duration: at - begin - launch - kernel + 20,
			Process: cpu, Thread: 1, Device: trace.None, Stream: trace.None})
		at += 5000
	}
	return built.Trace(b)
}

func TestPagesShowEveryResult(t *testing.T) {
	tr := demoTrace(t)
	for name, tc := range map[string]struct {
		page string
		want []string
	}{
		"timeline": {timeline(t, tr, "dir/run.json.gz", "GPU type: H100"), []string{
			"<h1>run.json.gz</h1>", "dir/run.json.gz", "<dt>GPU type</dt><dd>H100</dd>", `id="health"`, "Nothing was found that changes a result",
			"<h2>Forward passes</h2>", "All forward passes", "steady pass", "<h2>Layers</h2>", "Layers of pass", "wall time of the layer",
			"<h2>Layer types</h2>", "<h2>Kernels</h2>", "ncclDevKernel", `type="search"`,
		}},
		"triage": {triaged(t, tr, "dir/run.json.gz"), []string{
			"<h1>run.json.gz</h1>", `id="health"`, "Stage decode: kernels", "Stage decode: overlap", "Stage decode: fusion", "Overlap of stage decode",
			"Fused paths of stage decode", "fused_moe_kernel", "Operators of stage decode", "experts_gate_up",
			`title="void flashinfer::norm::FusedAddRMSNormKernel&lt;8u, __nv_bfloat16&gt;"`, "What to do", "--flashinfer-allreduce-fusion-backend auto", `type="search"`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, want := range tc.want {
				if !strings.Contains(tc.page, want) {
					t.Errorf("the page lacks %q", want)
				}
			}
		})
	}
}

func TestPagesAreDeterministic(t *testing.T) {
	for name, page := range map[string]func(*testing.T, *trace.Trace, string) string{
		"timeline": func(t *testing.T, tr *trace.Trace, name string) string { return timeline(t, tr, name) }, "triage": triaged,
	} {
		first, second := page(t, demoTrace(t), "x"), page(t, demoTrace(t), "x")
		if first != second {
			t.Errorf("two %s pages of the same trace differ", name)
		}
	}
}

// TestPagesStaySmall: 100 000 kernels, with few names as in real runs and with
// more names, and longer ones, than any run has.
func TestPagesStaySmall(t *testing.T) {
	passes := 200
	if !testdata.Long() {
		passes = 20
	}
	long := strings.Repeat("cutlass::gemm::kernel::Universal<", 8)
	for name, kernel := range map[string]func(int) string{
		"few names":  func(int) string { return "void kernel<float>" },
		"many names": func(i int) string { return fmt.Sprintf("%s%d", long, i/14%500) },
	} {
		t.Run(name, func(t *testing.T) {
			tr := steps(passes, 36, 14, kernel)
			for kind, p := range map[string]string{"timeline": timeline(t, tr, "x"), "triage": triaged(t, tr, "x")} {
				t.Logf("%s: %d activities, %d bytes", kind, tr.Len(event.LaneGPU), len(p))
				if len(p) >= 1_000_000 {
					t.Errorf("the %s page of %d activities has %d bytes, want less than 1 MB", kind, tr.Len(event.LaneGPU), len(p))
				}
			}
		})
	}
}

// TestHostileNamesStayText: nothing that a trace or a file is called becomes
// markup.
func TestHostileNamesStayText(t *testing.T) {
	for _, evil := range []string{`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</title></style></script><script>alert(1)</script>`} {
		tr := steps(4, 6, 5, func(i int) string { return fmt.Sprintf("%s%d", evil, i%3) })
		for kind, p := range map[string]string{
			"timeline": timeline(t, tr, evil, evil+": "+evil), "triage": triaged(t, tr, filepath.Join(evil, evil)),
		} {
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
