package capture_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/capture"
)

// executor has the two places as releases before #13872 have them.
const executor = `class PyExecutor:

    def _profiler(self):
        # with_stack=True in a comment
        torch_trace_path = os.environ.get(PROFILE_TRACE_ENV_VAR_NAME, None)
        enable_torch_trace = bool(torch_trace_path and profile_start_stop)
        if enable_torch_trace:
            torch_profiler = torch.profiler.profile(activities=activities,
                                                    record_shapes=f(a, (b, [c])),
                                                    with_modules=True)
`

// TestOverride: both places change and nothing else, whichever comes first, and a second pass changes nothing.
func TestOverride(t *testing.T) {
	lines := strings.SplitAfter(executor, "\n")
	swapped := strings.Join(append(append([]string{}, lines[6:10]...), lines[5]), "")
	for _, src := range []string{executor, strings.ReplaceAll(executor, "\n", "\r\n"), swapped} {
		got, done, err := capture.OverrideSource([]byte(src))
		want := strings.Replace(src, "profile(activities", "profile(with_stack=True, activities", 1)
		want = strings.Replace(want, "profile_start_stop)", "profile_start_stop and self.dist.rank == 0)", 1)
		if err != nil || string(got) != want || len(done) != 2 {
			t.Errorf("%v, %q:\n%s", err, done, got)
		}
		again, done, err := capture.OverrideSource(got)
		if err != nil || !bytes.Equal(again, got) || len(done) != 1 || !strings.HasPrefix(done[0], "unchanged") {
			t.Errorf("a second pass: %v, %q", err, done)
		}
	}
	// A release that puts the rank into the name keeps all its ranks.
	src := executor + `        path = f"{stem}-rank-{self.global_rank}{ext}"` + "\n"
	got, done, err := capture.OverrideSource([]byte(src))
	if err != nil || strings.Contains(string(got), "dist.rank") || len(done) != 2 {
		t.Errorf("%v, %q", err, done)
	}
}

// TestOverrideRefuses: a source without the places, or with what this patch does not read, says why.
func TestOverrideRefuses(t *testing.T) {
	for src, says := range map[string]string{
		"": "#13872",
		strings.Replace(executor, "torch.profiler.profile", "profile", 1): "#13872",
		executor + executor: "2 places",
		strings.Replace(executor, "enable_torch_trace =", "enable =", 1):                         "0 places enable_torch_trace",
		strings.Replace(executor, "with_modules=True)", "with_modules=True  # )", 1):             "a string or a comment",
		strings.Replace(executor, "with_modules=True)", "with_modules=True", 1):                  "does not end",
		strings.Replace(executor, "record_shapes=f(a, (b, [c]))", `record_shapes=f("with(")`, 1): "a string or a comment",
	} {
		_, _, err := capture.OverrideSource([]byte(src))
		wantError(t, err, nil, says)
	}
}

// TestOverrideFile: the source is never written to, and the output replaced in one step.
func TestOverrideFile(t *testing.T) {
	dir := t.TempDir()
	src, out := filepath.Join(dir, "py_executor.py"), filepath.Join(dir, "sub", "out.py")
	if err := os.WriteFile(src, []byte(executor), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := capture.Override(src, out); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(out); err != nil || !strings.Contains(string(text), "with_stack=True, activities") {
		t.Errorf("%v: %s", err, text)
	}
	_, err := capture.Override(src, src)
	wantError(t, err, nil, "is the source")
	_, err = capture.Override(src, dir)
	wantError(t, err, nil, "is a folder")
	_, err = capture.Override(filepath.Join(dir, "none.py"), out)
	wantError(t, err, os.ErrNotExist)
	if text, err := os.ReadFile(src); err != nil || string(text) != executor {
		t.Errorf("the source has changed: %v", err)
	}
}

// FuzzOverride: no input brings it down, and what it accepts it accepts again, unchanged.
func FuzzOverride(f *testing.F) {
	f.Add([]byte(executor))
	f.Fuzz(func(t *testing.T, src []byte) {
		got, _, err := capture.OverrideSource(src)
		if err != nil {
			return
		}
		if again, _, err := capture.OverrideSource(got); err != nil || !bytes.Equal(again, got) {
			t.Errorf("%v: %q became %q", err, got, again)
		}
	})
}
