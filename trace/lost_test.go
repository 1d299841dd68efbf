package trace

import (
	"fmt"
	"testing"

	"github.com/llmstrata/strata/trace/internal/column"
)

// TestEmptyLaunches: calls of threads, one letter each, in order. K has its kernel, o has none, and n has none and is
// within the call before; B and E are around a capture, G launches a graph without kernels, x is any other call. A bar
// begins another thread.
func TestEmptyLaunches(t *testing.T) {
	ten := "oooooooooo"
	for _, c := range []struct {
		calls   string
		unknown int // kernels of unknown launches
		want    string
	}{
		{"K" + ten + "K", 0, "[10]"}, {"K" + ten[1:] + "K", 0, "[]"}, {"KoooooKoooooxK", 0, "[10]"},
		{"K" + ten + "K", 1, "[]"}, {"Ko" + ten + "K", 1, "[10]"},
		{ten + "K", 0, "[]"}, {"K" + ten, 0, "[]"}, {"K" + ten + "|K" + ten, 0, "[]"}, {"K" + ten + "K|" + ten, 0, "[10]"},
		{"KB" + ten + "EK", 0, "[]"}, {"KB" + ten, 0, "[]"}, {"KBE" + ten + "K", 0, "[10]"}, {"KB|K" + ten + "K", 0, "[10]"},
		{"KonononononononononoK", 0, "[10]"}, {"KononononononononoK", 0, "[]"}, {"KGGGGGGGGGGGK", 0, "[]"},
		{"KxxxxxxxxxxxK", 0, "[]"},
	} {
		g, calls := &column.Columns{}, &column.Columns{}
		var launch []int32
		var what []launchCall
		work := func(start int64, of int32) {
			g.Start, g.Dur, g.Queue, g.Name = append(g.Start, start), append(g.Dur, 1000), append(g.Queue, 0),
				append(g.Name, 0)
			launch = append(launch, of)
		}
		at, thread := int64(0), int32(0)
		for _, x := range c.calls {
			if x == '|' {
				thread++
				continue
			}
			start, dur := at, int64(5000)
			if x == 'n' {
				start, dur = at-9000, 1000
			} else {
				at += 10000
			}
			if x == 'K' {
				work(at, int32(len(what)))
			}
			what = append(what, map[rune]launchCall{'K': kernelLaunch, 'o': kernelLaunch,
				'n': kernelLaunch, 'B': captureBegin, 'E': captureEnd, 'G': graphLaunch,
				'x': otherCall}[x])
			calls.Start, calls.Dur, calls.Thread = append(calls.Start, start), append(calls.Dur, dur),
				append(calls.Thread, thread)
		}
		for range c.unknown {
			work(at, -1)
		}
		got := []int64{}
		for _, f := range findSuspicions(g, calls, 1, launch, func(int) bool { return true },
			func(row int32) launchCall { return what[row] }) {
			if f.Code == CodeEmptyLaunches {
				got = append(got, f.Count)
			}
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s, %d of unknown launches: %v, want %s", c.calls, c.unknown, got, c.want)
		}
	}
}

// TestFewOfManyLaunches: one in a hundred may be missing.
func TestFewOfManyLaunches(t *testing.T) {
	for lost, want := range map[int]string{20: "", 21: "empty-launches=21"} {
		got := found(2000, 1000, 200, func(g *column.Columns, launch []int32) {
			for i := range lost { // its kernel is of the call before
				launch[3*i+2] = launch[3*i+1]
			}
		})
		if got != want {
			t.Errorf("%d of 2000: %q, want %q", lost, got, want)
		}
	}
}

func TestCallsOfNames(t *testing.T) {
	for name, want := range map[string]launchCall{"cudaLaunchKernelExC": kernelLaunch,
		"hipGraphLaunch": graphLaunch, "cudaStreamBeginCapture_v10000": captureBegin,
		"hipStreamEndCapture": captureEnd, "cudaStreamGetCaptureInfo_v2": otherCall} {
		if got := launchCallOf(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}
