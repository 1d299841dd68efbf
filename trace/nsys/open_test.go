package nsys_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/nsys"
)

// generate writes an export and returns its path.
func generate(tb testing.TB, cfg nsysgen.Config) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "run.sqlite")
	if _, err := nsysgen.Write(path, cfg); err != nil {
		tb.Fatal(err)
	}
	return path
}

func open(tb testing.TB, path string, opts ...trace.Options) *trace.Trace {
	tb.Helper()
	t, err := nsys.Open(context.Background(), path, slices.Concat(opts, []trace.Options{{}})[0])
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// TestRealExportsLoad holds row counts that the sqlite3 shell gives for the
// same tables, and the share of activities whose launch is found.
func TestRealExportsLoad(t *testing.T) {
	for _, c := range []struct {
		file                                   string
		gpu, launch, op, annotation, sync, dev int
		orphans                                int
		status                                 trace.HealthStatus
	}{
		{"no-cupti-tables.sqlite", 0, 0, 0, 0, 0, 0, 0, trace.HealthUnusable},
		{"pytorch-2gpu-h100.sqlite", 4368, 5796, 16778, 4, 442, 2, 2276, trace.HealthDegraded},
		{"synthetic-few-columns.sqlite", 400, 400, 0, 0, 0, 1, 0, trace.HealthDegraded},
		{"synthetic-trtllm-baseline.sqlite", 6720, 1408, 0, 1080, 0, 2, 5320, trace.HealthDegraded},
		{"tiny-no-nvtx-rtx3080.sqlite", 3, 9, 0, 0, 32, 1, 0, trace.HealthDegraded},
		{"torchrun-2gpu-hopper.sqlite", 5299, 7466, 18289, 829, 372, 2, 31, trace.HealthOK},
	} {
		t.Run(c.file, func(t *testing.T) {
			tr := open(t, testdata.Shared(t, "traces/nsys/"+c.file))
			h := tr.Health()
			got := []int{tr.Len(event.LaneGPU), tr.Len(event.LaneLaunch), tr.Len(event.LaneOp),
				tr.Len(event.LaneAnnotation),
				tr.Len(event.LaneSync), len(tr.Devices()), h.Orphans}
			want := []int{c.gpu, c.launch, c.op, c.annotation, c.sync, c.dev, c.orphans}
			for i, name := range []string{"gpu", "launch", "op", "annotation", "sync", "devices", "orphans"} {
				if got[i] != want[i] {
					t.Errorf("%s = %d, want %d", name, got[i], want[i])
				}
			}
			if h.Status != c.status {
				t.Errorf("health = %v, want %v", h.Status, c.status)
			}
		})
	}
}

func TestLaunchesJoinOnProcessAndCorrelation(t *testing.T) {
	cfg := nsysgen.Default(1) // both ranks count correlations from 1
	cfg.Graphs = nsysgen.GraphOff
	tr := open(t, generate(t, cfg))
	if n := tr.Health().Orphans; n != 0 {
		t.Fatalf("orphans = %d, want 0", n)
	}
	for e := range tr.Events(event.LaneGPU) {
		th := tr.Thread(e.Launch().Thread())
		if want := int64(1000 + int64(e.Device())); th.Process != want {
			t.Fatalf("activity on device %d is launched by process %d, want %d", e.Device(), th.Process, want)
		}
	}
	if got, want := tr.Thread(0).Name, "executor-0"; got != want {
		t.Errorf("thread name = %q, want %q", got, want)
	}
	if got, want := tr.Thread(0).ProcessName, "trtllm-serve"; got != want {
		t.Errorf("process name = %q, want %q", got, want)
	}
}

func TestRanksThatEachSeeOneGPUStayApart(t *testing.T) {
	cfg := nsysgen.Default(1)
	cfg.LocalDevices = true
	tr := open(t, generate(t, cfg))
	if got := tr.Devices(); len(got) != 2 || got[0] != 0 || got[1] != 1 {
		t.Errorf("devices = %v, want [0 1]", got)
	}
}

func TestGraphReplays(t *testing.T) {
	node := open(t, generate(t, nsysgen.Default(1)))
	replays := 0
	for e := range node.Events(event.LaneGPU) {
		if e.IsReplay() {
			replays++
		}
	}
	// 54 generation steps × 56 kernels × 2 ranks.
	if want := 54 * 56 * 2; replays != want {
		t.Errorf("replayed kernels = %d, want %d", replays, want)
	}
	cfg := nsysgen.Default(1)
	cfg.Graphs = nsysgen.GraphWhole
	whole := open(t, generate(t, cfg)).Health()
	if whole.GraphRows != 54*2 || whole.Status != trace.HealthDegraded {
		t.Errorf("graph rows = %d (%v), want %d (degraded)", whole.GraphRows, whole.Status, 54*2)
	}
}

func TestNVTXTextMayStandInEitherColumn(t *testing.T) {
	byID := open(t, generate(t, nsysgen.Default(3)))
	cfg := nsysgen.Default(3)
	cfg.PlainText = true
	inline := open(t, generate(t, cfg))
	for i := range byID.Len(event.LaneAnnotation) {
		a, b := byID.LaneAt(event.LaneAnnotation, i), inline.LaneAt(event.LaneAnnotation, i)
		if a.Name() == "" || a.Name() != b.Name() || a.Start() != b.Start() {
			t.Fatalf("range %d: %q at %d and %q at %d", i, a.Name(), a.Start(), b.Name(), b.Start())
		}
	}
}

func TestLanesNotAskedForAreNotRead(t *testing.T) {
	tr := open(t, generate(t, nsysgen.Default(1)), trace.Options{Lanes: []event.Lane{event.LaneGPU}})
	if tr.Len(event.LaneGPU) == 0 || tr.Len(event.LaneLaunch)+tr.Len(event.LaneAnnotation) != 0 {
		t.Errorf("lanes: gpu %d, launch %d, annotation %d", tr.Len(event.LaneGPU), tr.Len(event.LaneLaunch),
			tr.Len(event.LaneAnnotation))
	}
}

func TestProgressEndsWithTheFile(t *testing.T) {
	path := generate(t, nsysgen.Large(1, 180_000))
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	var calls []trace.Progress
	tr := open(t, path, trace.Options{Progress: func(p trace.Progress) { calls = append(calls, p) }})
	if len(calls) < 2 {
		t.Fatalf("%d calls, want several", len(calls))
	}
	last := trace.Progress{}
	for _, p := range calls {
		if p.Read < last.Read || p.Events < last.Events || p.Size != info.Size() || p.Read > p.Size {
			t.Errorf("progress %+v after %+v", p, last)
		}
		last = p
	}
	if last.Read != info.Size() || last.Events != int64(tr.Len()) {
		t.Errorf("last progress %+v, want all of %d bytes and %d events", last, info.Size(), tr.Len())
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := nsys.Open(ctx, generate(t, nsysgen.Default(1)), trace.Options{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
}

func TestReportNeedsNsys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.nsys-rep")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	_, err := nsys.Open(context.Background(), path, trace.Options{})
	if !errors.Is(err, nsys.ErrNoTool) || !strings.Contains(err.Error(), "nsys export -t sqlite -o") {
		t.Errorf("error = %v, want ErrNoTool with the command", err)
	}
}

// TestReportIsExported replaces nsys with a script that copies an export
// to the path after -o.
func TestReportIsExported(t *testing.T) {
	dir := t.TempDir()
	sqlite := generate(t, nsysgen.Default(1))
	tool(t, "[ \"$1 $2 $3 $4\" = 'export -t sqlite -o' ] || exit 9\ncp '"+sqlite+"' \"$5\"")
	report := filepath.Join(dir, "run.nsys-rep")
	if err := os.WriteFile(report, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	tr := open(t, report)
	if tr.Len(event.LaneGPU) != 6720 || tr.Meta().Path != report {
		t.Errorf("%d activities of %q", tr.Len(event.LaneGPU), tr.Meta().Path)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.sqlite*")); len(left) != 0 {
		t.Errorf("files left beside the report: %v", left)
	}
}

func TestStripVersion(t *testing.T) {
	for in, want := range map[string]string{
		"cudaLaunchKernel_v7000":             "cudaLaunchKernel",
		"cudaLaunchKernelExC_v11060":         "cudaLaunchKernelExC",
		"cudaLaunchKernel_ptsz_v7000":        "cudaLaunchKernel",
		"cudaStreamGetCaptureInfo_v2_v11030": "cudaStreamGetCaptureInfo_v2",
		"cuMemAlloc_v2":                      "cuMemAlloc_v2",
		"cuLaunchKernelEx":                   "cuLaunchKernelEx",
		"_v7000":                             "_v7000",
		"x_v70a0":                            "x_v70a0",
	} {
		if got := nsys.StripVersion(in); got != want {
			t.Errorf("StripVersion(%q) = %q, want %q", in, got, want)
		}
	}
}
