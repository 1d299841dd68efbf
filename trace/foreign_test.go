package trace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// Proton writes a document for each stream, without GPU or launches.
const proton = `{"displayTimeUnit":"us","traceEvents":[{"args":{"call_stack":["ROOT","a"]},"cat":"kernel","dur":2.5,"name":"a","ph":"X","tid":0,"ts":0.0}]}
{"displayTimeUnit":"us","traceEvents":[{"args":{"call_stack":["ROOT","b"]},"cat":"kernel","dur":2.5,"name":"b","ph":"X","tid":7,"ts":1.5}]}
`

func TestProton(t *testing.T) {
	tr, err := trace.Read(context.Background(), strings.NewReader(proton), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := tr.LaneAt(event.LaneGPU, 1)
	got := fmt.Sprintln(tr.Meta().Source, tr.Devices(), tr.Streams(0), b.Name(), b.Start(), b.Duration(),
		tr.Health().Status)
	if want := "proton [0] [0 7] b 1500 2.5µs degraded\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, f := range tr.Health().Findings {
		if f.Code == trace.CodeSeveralDocuments {
			t.Error("the documents of streams are taken for joined files")
		}
	}
	one, _, _ := strings.Cut(proton, "\n")
	if tr, err := trace.Read(context.Background(), strings.NewReader(one), trace.Options{}); err != nil ||
		fmt.Sprint(tr.Meta().Source, tr.Devices(), tr.Streams(0)) != "proton[0] [0]" {
		t.Errorf("one stream: source %s of GPUs %v (%v)", tr.Meta().Source, tr.Devices(), err)
	}
	// The same events of another program, which says nothing of its unit, are no Proton trace.
	tr, err = trace.Read(context.Background(), strings.NewReader(strings.ReplaceAll(proton, `"us"`, `"ms"`)),
		trace.Options{})
	if err != nil || tr.Meta().Source != trace.SourceTorch {
		t.Errorf("source %s (%v)", tr.Meta().Source, err)
	}
}

// Where another profiler's GPU work is not read, the health says whose it is.
func TestForeignDiagnosis(t *testing.T) {
	for want, doc := range map[string]string{
		"XLA profile": `{"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[
{"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:GPU:0 (gpu)"}},{"ph":"M","pid":1,"tid":14,"name":"thread_name","args":{"name":"Stream #14(Compute)"}},
{"ph":"X","pid":1,"tid":14,"ts":3,"dur":2,"name":"loop_fusion","args":{"correlation_id":"7","hlo_op":"fusion.1"}}]}`,
		"inside kernels": `{"displayTimeUnit":"ns","traceEvents":[
{"name":"load","cat":"matmul","ph":"X","pid":"matmul Core0 CTA0","tid":"warp 3","ts":1,"dur":2}]}`,
		"profiler without CUDA/HIP": `{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":1}]}`,
	} {
		tr, err := trace.Read(context.Background(), strings.NewReader(doc), trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if f := tr.Health().Findings; len(f) == 0 || f[0].Code != trace.CodeNoActivity ||
			!strings.Contains(f[0].Message, want) {
			t.Errorf("%v, want %q in it", f, want)
		}
	}
}

// A directory of tables, as Nsight Systems exports them, is named with the command that makes a database.
func TestExportedTables(t *testing.T) {
	for name, want := range map[string]bool{"CUPTI_ACTIVITY_KIND_KERNEL.parquet": true, "StringIds.arrow": true,
		"weights.parquet": false} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("PAR1"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := trace.ListFiles(dir)
		if !errors.Is(err, trace.ErrNoTrace) || strings.Contains(err.Error(), "nsys export --type sqlite") != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
