package capture_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/capture"
)

// The places around the call, as TensorRT-LLM has them.
const (
	executorHead = `import os
import torch

# torch_profiler = torch.profiler.profile( in a comment does not count
DOC = """
enable_torch_trace = bool(nothing)
torch_profiler = torch.profiler.profile(
"""


class PyExecutor:

    def _profiler(self):
        torch_trace_path = os.environ.get("PATH_VAR", None)
        enable_torch_trace = bool(torch_trace_path and profile_start_stop)
        if torch_trace_path and profile_start_stop is None:
            logger.warning(
                f"{NAME} needs to be set, e.g. ( 10-20: "
                'it''s not ) closed')

        if enable_torch_trace:
            activities = [torch.profiler.ProfilerActivity.CPU]
`
	executorTail = `
        def profile_step():
            pass
`
	conditionWas = "enable_torch_trace = bool(torch_trace_path and profile_start_stop)"
	conditionIs  = "enable_torch_trace = bool(torch_trace_path and profile_start_stop and self.dist.rank == 0)"
)

// TestOverride: each way to write the call, with both line ends. What is not
// meant stays byte by byte, and a second pass changes nothing.
func TestOverride(t *testing.T) {
	for _, c := range []struct{ name, call, want string }{
		{"one line", `torch_profiler = torch.profiler.profile(activities=activities)`,
			`torch_profiler = torch.profiler.profile(activities=activities, with_stack=True)`},
		{"no arguments", `torch_profiler = torch.profiler.profile()`,
			`torch_profiler = torch.profiler.profile(with_stack=True)`},
		{"trailing comma", `torch_profiler = torch.profiler.profile(activities=activities,)`,
			`torch_profiler = torch.profiler.profile(activities=activities, with_stack=True,)`},
		{"nested", `torch_profiler=torch.profiler.profile (activities=f(a, (b, [c])), schedule=lambda s: g("), (", s))`,
			`torch_profiler=torch.profiler.profile (activities=f(a, (b, [c])), schedule=lambda s: g("), (", s), with_stack=True)`},
		{"aligned", `torch_profiler = torch.profiler.profile(activities=activities,
                                                    record_shapes=True,
                                                    with_modules=True)`,
			`torch_profiler = torch.profiler.profile(activities=activities,
                                                    record_shapes=True,
                                                    with_modules=True,
                                                    with_stack=True)`},
		{"hanging, comma", `torch_profiler = torch.profiler.profile(
                activities=activities,  # with_stack=True in a comment
                record_shapes=True,  # the last one
            )`, `torch_profiler = torch.profiler.profile(
                activities=activities,  # with_stack=True in a comment
                record_shapes=True,  # the last one
                with_stack=True,
            )`},
		{"hanging, no comma", `torch_profiler = torch.profiler.profile(
                activities=activities,
                on_trace_ready=handler("with_stack=True")  # )
            )`, `torch_profiler = torch.profiler.profile(
                activities=activities,
                on_trace_ready=handler("with_stack=True"),  # )
                with_stack=True
            )`},
		{"hanging, closed at the end", `torch_profiler = torch.profiler.profile(
                activities=[
                    a,
                ])`, `torch_profiler = torch.profiler.profile(
                activities=[
                    a,
                ],
                with_stack=True)`},
		{"two on a line", `torch_profiler = torch.profiler.profile(
                activities=a, record_shapes=True,
            )`, `torch_profiler = torch.profiler.profile(
                activities=a, record_shapes=True, with_stack=True,
            )`},
		{"already", `torch_profiler = torch.profiler.profile(with_stack = True, activities=a)`, ""},
		{"switched off", `torch_profiler = torch.profiler.profile(with_stack=False, activities=a)`,
			`torch_profiler = torch.profiler.profile(with_stack=True, activities=a)`},
		{"of another name", `torch_profiler = torch.profiler.profile(no_with_stack=True)`,
			`torch_profiler = torch.profiler.profile(no_with_stack=True, with_stack=True)`},
	} {
		for _, crlf := range []bool{false, true} {
			end := func(s string) []byte {
				if crlf {
					s = strings.ReplaceAll(s, "\n", "\r\n")
				}
				return []byte(s)
			}
			src := end(executorHead + "            " + c.call + "\n" + executorTail)
			call := c.want
			if call == "" {
				call = c.call
			}
			want := end(strings.Replace(executorHead, conditionWas, conditionIs, 1) + "            " + call + "\n" + executorTail)
			keep := bytes.Clone(src)
			got, ch, err := capture.OverrideSource(src)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			if d := cmp.Diff(string(want), string(got)); d != "" {
				t.Errorf("%s, CRLF %v (-want +got):\n%s", c.name, crlf, d)
			}
			if !bytes.Equal(src, keep) {
				t.Errorf("%s: the source was changed", c.name)
			}
			if wantStacks := map[bool]int{true: 0, false: 1}[c.want == ""]; ch.Stacks != wantStacks || ch.Rank0 != 1 {
				t.Errorf("%s: changes %+v", c.name, ch)
			}
			again, ch, err := capture.OverrideSource(got)
			if err != nil || !bytes.Equal(again, got) || ch != (capture.OverrideChanges{}) {
				t.Errorf("%s: not idempotent: %+v, %v", c.name, ch, err)
			}
		}
	}
}

// TestOverrideRefuses: what is not found is named, and what cannot be read is
// told with its line.
func TestOverrideRefuses(t *testing.T) {
	call := "torch_profiler = torch.profiler.profile(activities=a)\n"
	for _, c := range []struct {
		name, src string
		is        []error
		parts     []string
	}{
		{"empty", "", []error{capture.ErrNoProfilerCall, capture.ErrNoTraceCondition}, nil},
		{"no call", conditionWas + "\n# " + call, []error{capture.ErrNoProfilerCall}, nil},
		{"call in a string", conditionWas + "\nx = '''" + call + "'''\n", []error{capture.ErrNoProfilerCall}, nil},
		{"no condition", call, []error{capture.ErrNoTraceCondition}, nil},
		{"condition of another name", call + "env_" + conditionWas + "\n", []error{capture.ErrNoTraceCondition}, nil},
		{"a rank in a comment", call + "# torch_trace_path = f\"{base}-{rank}\"\n", []error{capture.ErrNoTraceCondition}, nil},
		{"other condition", call + "enable_torch_trace = bool(torch_trace_path or\n  debug)\n", []error{capture.ErrNoTraceCondition}, []string{"line 2", `"torch_trace_path or debug"`}},
		{"never closed", conditionWas + "\ntorch_profiler = torch.profiler.profile(activities=[a)\n", []error{capture.ErrPython}, nil},
		{"runs off", conditionWas + "\ntorch_profiler = torch.profiler.profile(activities=a\n", []error{capture.ErrPython}, []string{"line 2", "never closed"}},
		{"string", conditionWas + "\nx = 'abc\n" + call, []error{capture.ErrPython}, []string{"line 2", "not closed on its line"}},
		{"long string", conditionWas + "\n" + call + "'''abc\n", []error{capture.ErrPython}, []string{"line 3"}},
		{"spread", conditionWas + "\ntorch_profiler = torch.profiler.profile(\n  **options)\n", []error{capture.ErrPython}, []string{"line 3", "spreads a dictionary"}},
	} {
		out, _, err := capture.OverrideSource([]byte(c.src))
		if out != nil {
			t.Errorf("%s: output all the same: %s", c.name, out)
		}
		for _, is := range c.is {
			wantError(t, err, is, c.parts...)
		}
		for _, other := range []error{capture.ErrNoProfilerCall, capture.ErrNoTraceCondition} {
			if errors.Is(err, other) != (other == c.is[0] || other == c.is[len(c.is)-1]) {
				t.Errorf("%s: error says %v wrongly: %v", c.name, other, err)
			}
		}
	}
}

// TestOverridePerRank: a release that writes one file per rank keeps all its
// ranks; only stacks are added.
func TestOverridePerRank(t *testing.T) {
	const call = "torch_profiler = torch.profiler.profile(activities=a)\n"
	const stacks = "torch_profiler = torch.profiler.profile(activities=a, with_stack=True)\n"
	for _, rank := range []string{
		"base, ext = os.path.splitext(torch_trace_path)\ntorch_trace_path = f\"{base}-rank-{self.global_rank}{ext}\"\n",
		"torch_trace_path = with_rank(torch_trace_path, self.dist.rank)\n",
	} {
		for _, rest := range []string{conditionWas + "\n", "env_" + conditionWas + "\n"} {
			got, ch, err := capture.OverrideSource([]byte(rank + rest + call))
			if err != nil || string(got) != rank+rest+stacks || ch != (capture.OverrideChanges{Stacks: 1, PerRank: true}) {
				t.Errorf("%q: %+v, %v:\n%s", rank+rest, ch, err, got)
			}
		}
	}
}

// TestOverrideFile: the source stays as it is, also when it is named as the
// output under another name.
func TestOverrideFile(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "py_executor.py")
	text := executorHead + "            torch_profiler = torch.profiler.profile(activities=a)\n"
	if err := os.WriteFile(src, []byte(text), 0o400); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link.py")
	if err := os.Symlink(src, link); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{src, link, filepath.Join(dir, ".", "py_executor.py")} {
		_, err := capture.Override(src, out)
		wantError(t, err, nil, "is the source")
	}
	_, err := capture.Override(src, dir)
	wantError(t, err, nil, "is a folder")
	_, err = capture.Override(src+".none", link)
	wantError(t, err, os.ErrNotExist)
	out := filepath.Join(dir, "new", "py_executor.py")
	for range 2 {
		done, err := capture.Override(src, out)
		if err != nil || !slices.Equal(done, []string{"with_stack=True added 1 times", "rank 0 condition added 1 times"}) {
			t.Fatalf("%q, %v", done, err)
		}
	}
	if done, err := capture.Override(out, filepath.Join(dir, "again.py")); err != nil || len(done) != 1 || !strings.HasPrefix(done[0], "unchanged") {
		t.Errorf("of its own output: %q, %v", done, err)
	}
	if got, _ := os.ReadFile(src); string(got) != text {
		t.Error("the source was changed")
	}
	got, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(got), conditionIs) {
		t.Errorf("output: %v", err)
	}
	// A refusal leaves the output as it was.
	if err := os.WriteFile(filepath.Join(dir, "bad.py"), []byte("x = 1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = capture.Override(filepath.Join(dir, "bad.py"), out)
	wantError(t, err, capture.ErrNoProfilerCall, "bad.py")
	if again, _ := os.ReadFile(out); !bytes.Equal(again, got) {
		t.Error("a refusal changed the output")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "new", ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// FuzzOverride: no input panics; what is accepted is stable under a second
// pass and only gained bytes outside a switched-off with_stack.
func FuzzOverride(f *testing.F) {
	f.Add([]byte(executorHead + "            torch_profiler = torch.profiler.profile(activities=a)\n"))
	f.Add([]byte("enable_torch_trace = bool(torch_trace_path and profile_start_stop)\r\ntorch_profiler = torch.profiler.profile(a,\r\n b)\r\n"))
	f.Add([]byte("enable_torch_trace=bool(a)\ntorch_profiler=torch.profiler.profile('\\"))
	f.Fuzz(func(t *testing.T, src []byte) {
		out, _, err := capture.OverrideSource(src)
		if err != nil {
			return
		}
		again, ch, err := capture.OverrideSource(out)
		if err != nil || ch != (capture.OverrideChanges{}) || !bytes.Equal(out, again) {
			t.Errorf("not idempotent: %+v, %v\nsource %q\nonce   %q\ntwice  %q", ch, err, src, out, again)
		}
	})
}
