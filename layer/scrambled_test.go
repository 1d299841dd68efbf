package layer_test

import (
	"bytes"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// TestScrambledReplay: where names and times do not belong together no layer is certain, and with the order repaired
// every kernel has the time and the layer that it ran in.
func TestScrambledReplay(t *testing.T) {
	var b bytes.Buffer
	truths, err := gen.ScrambledReplay().Write(&b)
	if err != nil {
		t.Fatal(err)
	}
	for _, repair := range []bool{false, true} {
		tr, err := trace.Read(t.Context(), bytes.NewReader(b.Bytes()), trace.Options{RepairOrder: repair})
		if err != nil {
			t.Fatal(err)
		}
		if tr.Health().Status != trace.HealthDegraded {
			t.Errorf("repair %t: health %v, want degraded", repair, tr.Health().Status)
		}
		d := analyze(t, tr, layer.Options{})
		if len(d.Passes) != 2 {
			t.Fatalf("repair %t: %d passes, want 2", repair, len(d.Passes))
		}
		decode := d.Passes[1]
		if !repair {
			if decode.Confidence > 0.5 || d.Passes[0].Confidence < 0.85 {
				t.Errorf("confidence %.2f of the scrambled pass, %.2f of the other, want 0.5 at most and 0.85 at least",
					decode.Confidence, d.Passes[0].Confidence)
			}
			continue
		}
		if share, wrong := placed(d, truths, itself); share < 0.995 || decode.Confidence < 0.9 {
			t.Errorf("repaired: %.2f%% right with %.2f, want 99.5%% and 0.9\n%v", 100*share, decode.Confidence, wrong)
		}
	}
}
