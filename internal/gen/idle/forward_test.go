package idle

import (
	"bytes"
	"encoding/json"
	"testing"
)

// TestOperatorRunsAreWhatTheySay: kernels of a run follow one another, each as long as its operator is measured to be,
// and each step would be shorter by less than its kernels take.
func TestOperatorRunsAreWhatTheySay(t *testing.T) {
	for _, c := range append(AttentionRuns(), MisalignedRuns()...) {
		end, kernels, took := int64(0), 0, 0.0
		for _, e := range c.play() {
			if e.op == nil {
				continue
			}
			kernels++
			length := float64(e.end[2] - e.start[2])
			took += length
			if e.start[2] < end || length < 985*e.op.us || length > 1015*e.op.us {
				t.Fatalf("%s: %s from %d to %d, behind %d, listed with %v µs", c.Name, e.op.name, e.start[2], e.end[2],
					end, e.op.us)
			}
			end = e.end[2]
		}
		if want := operatorSteps * (c.layers*len(c.layer) + len(c.tail)); kernels != want {
			t.Errorf("%s: %d kernels, want %d", c.Name, kernels, want)
		}
		if c.PerStep <= 0 || float64(c.PerStep) >= took/operatorSteps {
			t.Errorf("%s: %v of a step of %.0f ns", c.Name, c.PerStep, took/operatorSteps)
		}
		var b bytes.Buffer
		if err := c.WriteTorch(&b); err != nil || !json.Valid(b.Bytes()) {
			t.Errorf("%s: no JSON: %v", c.Name, err)
		}
	}
}
