package hostoverhead_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/nsys"
)

// shortFile is the size in bytes up to which -short reads reference traces.
const shortFile = 200_000

// everyTrace calls f with every reference trace that loads; the large ones only
// without -short.
func everyTrace(t *testing.T, f func(t *testing.T, tr *trace.Trace)) {
	t.Helper()
	for _, dir := range []string{"traces/nsys", "traces/torch"} {
		files, err := os.ReadDir(testdata.Shared(t, dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range files {
			if info, err := e.Info(); testing.Short() && (err != nil || info.Size() > shortFile) {
				continue
			}
			t.Run(e.Name(), func(t *testing.T) {
				path := testdata.Shared(t, dir+"/"+e.Name())
				open := func() (*trace.Trace, error) { return trace.Open(context.Background(), path, trace.Options{}) }
				if filepath.Ext(path) == ".sqlite" {
					open = func() (*trace.Trace, error) { return nsys.Open(context.Background(), path, trace.Options{}) }
				}
				tr, err := open()
				if err != nil {
					t.Fatal(err)
				}
				f(t, tr)
			})
		}
	}
}

// TestLedgerAddsUp checks on every reference trace that the entries tile the
// idle time: in order, disjoint, never during a kernel, and to the nanosecond.
func TestLedgerAddsUp(t *testing.T) {
	everyTrace(t, func(t *testing.T, tr *trace.Trace) {
		ledgers, err := hostoverhead.Ledger(context.Background(), tr)
		if errors.Is(err, hostoverhead.ErrNoKernels) {
			if tr.LaneLen(trace.LaneGPU) > 0 {
				for e := range tr.Events(trace.LaneGPU) {
					if e.Kind() == trace.KindKernel {
						t.Fatal("ErrNoKernels for a trace with kernels")
					}
				}
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		sum := map[trace.DeviceID]int64{}
		last := map[trace.DeviceID]int64{}
		if err := hostoverhead.LedgerEntries(context.Background(), tr, func(e hostoverhead.LedgerEntry) bool {
			if e.EndNS <= e.StartNS || e.StartNS < last[e.Device] || e.Cause == "" {
				t.Fatalf("entry %+v after %d", e, last[e.Device])
			}
			last[e.Device] = e.EndNS
			sum[e.Device] += e.EndNS - e.StartNS
			return true
		}); err != nil {
			t.Fatal(err)
		}
		for _, l := range ledgers {
			var causes, names int64
			for _, c := range l.Causes {
				causes += c.TotalNS
			}
			for _, c := range l.Names {
				names += c.TotalNS
			}
			if causes != l.IdleNS || names != l.IdleNS || sum[l.Device] != l.IdleNS {
				t.Errorf("device %d: idle %d, causes %d, names %d, entries %d", l.Device, l.IdleNS, causes, names, sum[l.Device])
			}
			t.Logf("device %d idle %d of %d", l.Device, l.IdleNS, l.WindowNS)
			for _, c := range l.Causes {
				t.Logf("   %-16s %12d %6d %s", c.Cause, c.TotalNS, c.Count, c.Share)
			}
			for i, c := range l.Names {
				if i < 8 {
					t.Logf("      %-16s %12d %6d %s  %.90s", c.Cause, c.TotalNS, c.Count, c.Share, c.Name)
				}
			}
		}
	})
}
