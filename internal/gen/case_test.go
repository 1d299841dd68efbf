package gen_test

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
)

// TestCasesAreConsistent: the file holds what the truth says, every pass has all
// layers on every GPU, and the same bytes come out twice.
func TestCasesAreConsistent(t *testing.T) {
	for _, c := range gen.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			var a, b bytes.Buffer
			truths, err := c.Write(&a)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write(&b); err != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
				t.Errorf("two runs differ (%v)", err)
			}
			var doc struct{ TraceEvents []struct{ Cat string } }
			if err := json.Unmarshal(a.Bytes(), &doc); err != nil {
				t.Fatal(err)
			}
			events := 0
			for _, e := range doc.TraceEvents {
				if e.Cat == "kernel" || e.Cat == "gpu_memcpy" || e.Cat == "gpu_memset" {
					events++
				}
			}
			if events != len(truths) {
				t.Errorf("%d GPU activities in the file, %d in the truth", events, len(truths))
			}
			seen := map[[3]int]bool{}
			for _, tr := range truths {
				seen[[3]int{tr.Device, tr.Pass, tr.Layer}] = true
			}
			for gpu := range max(1, c.GPUs) {
				for p := range c.Passes {
					for l := range c.Layers {
						if !seen[[3]int{gpu, p, l}] {
							t.Errorf("GPU %d pass %d has no layer %d", gpu, p, l)
						}
					}
				}
			}
		})
	}
}

// TestStepsAheadIdleInDecode: the case whose phases others swap has the idle time
// where it says.
func TestStepsAheadIdleInDecode(t *testing.T) {
	for _, c := range gen.Cases() {
		if c.Name != "cpu-one-step-ahead" {
			continue
		}
		truths, err := c.Write(io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		busy, idle := map[string]int64{}, map[string]int64{}
		for i, tr := range truths {
			busy[tr.Stage] += tr.Duration
			if i > 0 {
				idle[tr.Stage] += max(0, tr.Start-truths[i-1].Start-truths[i-1].Duration)
			}
		}
		for stage, want := range map[string][2]float64{"prefill": {0, 0.03}, "decode": {0.35, 0.45}} {
			got := float64(idle[stage]) / float64(idle[stage]+busy[stage])
			if got < want[0] || got > want[1] {
				t.Errorf("%s: idle share %.3f, want %.2f to %.2f", stage, got, want[0], want[1])
			}
		}
		return
	}
	t.Fatal("the case is gone")
}
