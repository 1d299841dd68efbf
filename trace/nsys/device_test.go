package nsys_test

import (
	"context"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/nsys"
)

// A real export says what the driver reports of the GPU: the memory's bandwidth and the highest clock.
func TestReportedFiguresOfTheGPU(t *testing.T) {
	path := testdata.Shared(t, "traces/nsys/tiny-no-nvtx-rtx3080.sqlite")
	tr, err := trace.Open(context.Background(), path, trace.Options{Formats: nsys.Formats()})
	if err != nil {
		t.Fatal(err)
	}
	devices := tr.Meta().Devices
	if len(devices) == 0 {
		t.Fatal("no GPUs")
	}
	if g := devices[0]; g.Bandwidth < 700e9 || g.Bandwidth > 1000e9 || g.MaxClockMHz < 1500 || g.MaxClockMHz > 2200 {
		t.Errorf("%+v, want the 760 to 936 GB/s and about 1.7 GHz of this kind of GPU", g)
	}
}
