package hostoverhead_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/hosttest"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/nsys"
)

// shortFile is the size in bytes up to which reference traces are read without STRATA_LONG.
const shortFile = 200_000

// TestReferenceTraces holds every reference trace that loads, each read once, against all that must be true of any;
// the large ones only with STRATA_LONG.
func TestReferenceTraces(t *testing.T) {
	for _, dir := range []string{"traces/nsys", "traces/torch"} {
		files, err := os.ReadDir(testdata.Shared(t, dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range files {
			if info, err := e.Info(); !testdata.Long() && (err != nil || info.Size() > shortFile) {
				continue
			}
			t.Run(e.Name(), func(t *testing.T) {
				path := testdata.Shared(t, dir+"/"+e.Name())
				open := func() (*trace.Trace, error) { return trace.Open(context.Background(), path, trace.Options{}) }
				if filepath.Ext(path) == ".sqlite" {
					open = func() (*trace.Trace, error) {
						return trace.Open(context.Background(), path, trace.Options{Formats: nsys.Formats()})
					}
				}
				tr, err := open()
				if err != nil {
					t.Fatal(err)
				}
				a := analyzed(t, tr)
				v, err := hostoverhead.Analyze(t.Context(), []*layer.Analysis{a}, hostoverhead.Options{})
				if errors.Is(err, layer.ErrNoKernels) {
					for e := range tr.Events(event.LaneGPU) {
						if e.Kind() == event.Kernel {
							t.Fatal("ErrNoKernels for a trace with kernels")
						}
					}
				} else if err != nil {
					t.Fatal(err)
				} else {
					checkAddsUp(t, a, v)
					checkRaw(t, tr, v)
					checkNoRowDecides(t, tr, v)
				}
				checkJudged(t, t.Name(), a, a)
			})
		}
	}
}

// TestKernelOnItsWay: a kernel that is launched in a gap costs the host its way, but not what it waits for besides.
func TestKernelOnItsWay(t *testing.T) {
	for way, want := range map[int64]finding.Cause{49: finding.LaunchCall, 51: finding.Dependency} {
		tl := hosttest.NewTimeline()
		for i := range int64(200) {
			at := i * 200
			tl.Event(event.Runtime, "cudaLaunchKernel", 0, int(i)+1, at, at+5)
			tl.Event(event.Kernel, "gemm", 0, int(i)+1, at+5+way, at+195)
		}
		got := causesOf(judged(t, tl.Finish()))
		if got[want] < 199*way {
			t.Errorf("a way of %d µs: %v, want at least %d µs of %s", way, got, 199*way, want)
		}
	}
}

// TestClocksApart: where all kernels begin more than a second after their launches, and later than all of them last,
// the clocks of host and GPU differ, and the cause of idle time is unknown.
func TestClocksApart(t *testing.T) {
	for _, c := range []struct {
		late    int64 // µs
		unknown bool
		verdict hostoverhead.Answer
	}{{999_000, false, hostoverhead.No}, {1_001_000, true, hostoverhead.Inconclusive}} {
		tl := hosttest.NewTimeline()
		for i := range int64(200) {
			at := i * 200
			tl.Event(event.Runtime, "cudaLaunchKernel", 0, int(i)+1, at, at+5)
			tl.Event(event.Kernel, "gemm", 0, int(i)+1, at+5+c.late, at+105+c.late)
		}
		v := judged(t, tl.Finish())
		got, all := causesOf(v), v.Headroom.IdleNS
		if unknown := v.Headroom.UnknownNS; (unknown == all) != c.unknown || (unknown == 0) == c.unknown ||
			v.Verdict != c.verdict {
			t.Errorf("%d µs late: %s, %v, %d of %d ns unknown", c.late, v.Verdict, got, unknown, all)
		}
	}
}

// checkAddsUp holds every device's causes, names and pieces against its idle time, and the steps against theirs: the
// pieces tile it, in order, disjoint, and to the nanosecond.
func checkAddsUp(t *testing.T, a *layer.Analysis, v *hostoverhead.Verdict) {
	t.Helper()
	sum, last := map[trace.DeviceID]int64{}, map[trace.DeviceID]int64{}
	if err := hostoverhead.Pieces(a, hostoverhead.DefaultParams(), func(p hostoverhead.Piece) {
		if p.End <= p.Start || p.Start < last[p.Device] || p.Cause == finding.NoCause {
			t.Errorf("piece %+v after %d", p, last[p.Device])
		}
		last[p.Device] = p.End
		sum[p.Device] += p.End - p.Start
	}); err != nil {
		t.Fatal(err)
	}
	for _, r := range v.Ranks {
		var causes, names, steps, host, unknown int64
		for _, c := range r.Idle {
			causes += c.NS
			steps += c.StepsNS
			for _, n := range c.Names {
				names += n.NS
			}
			switch c.Group {
			case finding.HostWork, finding.HostWaiting:
				host += c.StepsNS
			case finding.UnknownGroup:
				unknown += c.StepsNS
			}
		}
		idle := r.WindowNS - r.BusyNS
		if causes != idle || names != idle || sum[r.Device] != idle {
			t.Errorf("device %d: idle %d, causes %d, names %d, pieces %d", r.Device, idle, causes, names, sum[r.Device])
		}
		h := r.Headroom
		if h.WallNS != h.BusyNS+h.IdleNS || h.IdleNS != steps || h.HostNS != host || h.UnknownNS != unknown ||
			h.AtMost < 1 || h.WithUnknown < h.AtMost {
			t.Errorf("device %d: headroom %+v, in the steps %d idle, %d of the host, %d unknown", r.Device, h, steps,
				host, unknown)
		}
	}
}
