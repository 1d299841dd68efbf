package nsys_test

import (
	"context"
	"fmt"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/nsys"
	"path/filepath"
	"testing"
)

func TestLook(t *testing.T) {
	fs, _ := filepath.Glob("/work/shared/traces/nsys/*.sqlite")
	for _, f := range fs {
		tr, err := nsys.Open(context.Background(), f)
		fmt.Println("==", f)
		if err != nil {
			fmt.Println(err)
			continue
		}
		for l := trace.LaneGPU; l <= trace.LaneOther; l++ {
			fmt.Print(l, " ", tr.LaneLen(l), "; ")
		}
		fmt.Println(tr.Devices(), tr.Meta().Format, tr.Meta().Devices)
		h := tr.Health()
		fmt.Println(h.Status)
		for _, x := range h.Findings {
			fmt.Println("   ", x.Code, x.Severity, x.Message)
		}
		fmt.Println(tr.LaneAt(trace.LaneGPU, 0).Name(), tr.LaneAt(trace.LaneGPU, 0).LaunchConfig(), tr.LaneAt(trace.LaneGPU, 0).Op().Name(), tr.LaneAt(trace.LaneOp, 1).Name(), len(tr.Threads()))
		fmt.Println(tr.Epoch())
	}
}
