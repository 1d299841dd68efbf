package capture

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/examples/internal/programs/answer"
)

// TestFromServerToAnswer is the complete loop without a person: a capture against a server, then the answer about the
// result. A valid capture ends with 0, and the answer has its verdict. One of the wrong stage ends with 3, and its
// answer with 4 and the reason.
func TestFromServerToAnswer(t *testing.T) {
	for _, c := range []struct {
		name               string
		swapped            bool
		captured, answered int
		verdict            string
		conclusion         answer.Conclusion
		stage              string
	}{
		{"valid", false, app.ExitOK, app.ExitOK, "VALID", answer.Found, "decode"},
		{"wrong stage", true, app.ExitFailed, app.ExitInconclusive, "INVALID", answer.CannotTell, "decode"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, dir := newServer(t), apptest.ProfileFolder(t)
			if c.swapped {
				s.Prefill, s.Decode = s.Decode, s.Prefill
			}
			got := apptest.Run(t, captureProgram(), append(apptest.FastLive, "--url", s.URL, "--output-dir", dir,
				"--format", "json", "--num-steps", "1")...)
			if got.Code != c.captured {
				t.Fatalf("capture: exit code %d, want %d: %s", got.Code, c.captured, got.Stderr)
			}
			r := apptest.Run(t, answer.Program(), filepath.Join(dir, c.stage), "--format", "json")
			if r.Code != c.answered {
				t.Errorf("answer: exit code %d, want %d: %s", r.Code, c.answered, r.Stderr)
			}
			var a answer.Answer
			if err := json.Unmarshal([]byte(r.Stdout), &a); err != nil {
				t.Fatalf("%v in %.300s", err, r.Stdout)
			}
			if a.Validity.Capture.Value != c.verdict || a.Conclusion != c.conclusion ||
				(len(a.Validity.Problems) > 0) != c.swapped {
				t.Errorf("%s, %s: %+v", a.Conclusion, a.Why, a.Validity)
			}
			for name, i := range map[string]answer.Item{"model": a.Model.Item, "environment": a.Environment.Item,
				"passes": a.Passes.Item, "layers": a.Layers.Item, "kernels": a.Kernels.Item,
				"overlap": a.Overlap.Item, "fuse": a.Fuse.Item, "host": a.Host.Item, "speed of light": a.Light.Item,
				"ranks": a.Ranks.Item, "compared": a.Compared.Item} {
				if !i.Known && i.Why == "" {
					t.Errorf("%s: neither known nor a reason", name)
				}
			}
			if a.Environment.Framework.Value != "SGLang" || a.Model.Name.Value != "Qwen/Qwen3-8B" || !a.Passes.Known ||
				!a.Kernels.Known {
				t.Errorf("%+v %+v", a.Environment, a.Model)
			}
		})
	}
}
