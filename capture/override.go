package capture

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/llmstrata/strata/capture/internal/folder"
	"github.com/llmstrata/strata/capture/internal/pysource"
)

// Sentinels of [Override].
var (
	// errNoProfilerCall: there is no torch_profiler = torch.profiler.profile(…).
	errNoProfilerCall = pysource.ErrNoProfilerCall
	// errNoTraceCondition: all ranks write one file, and there is no
	// enable_torch_trace = bool(torch_trace_path and profile_start_stop).
	errNoTraceCondition = pysource.ErrNoTraceCondition
	// errPython: the source is not what this small reader of Python
	// understands; the message says where.
	errPython = pysource.ErrPython
)

// maxSource bounds the file read: the real one is some 450 kB.
const maxSource = 32 << 20

// Override rewrites TensorRT-LLM's py_executor.py, from the file source to the
// file output: its profiler call gets with_stack=True, so that kernels can be led
// back to Python lines. In a release whose ranks all write one file, its switch
// also asks for rank 0; one that writes a file per rank keeps them all.
// Everything else stays byte by byte, and a source that is as wanted is copied.
// What was done comes back in sentences, at least one.
//
// The output is replaced in one step. The source is only read; naming it as the
// output too is an error. Where a place is not found, the error says which.
func Override(source, output string) ([]string, error) {
	fail := func(err error) ([]string, error) {
		return nil, fmt.Errorf("capture: override: %w", err)
	}
	info, err := os.Stat(source)
	if err != nil {
		return fail(err)
	}
	if info.Size() > maxSource {
		return fail(fmt.Errorf("%s has %d bytes, more than a Python source", source, info.Size()))
	}
	out, err := os.Stat(output)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fail(err)
	case os.SameFile(info, out):
		return fail(fmt.Errorf("%s is the source; name another output", output))
	case out.IsDir():
		return fail(fmt.Errorf("%s is a folder; name a file", output))
	}
	src, err := os.ReadFile(source)
	if err != nil {
		return fail(err)
	}
	text, changes, err := pysource.Override(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	if err := folder.Replace(output, text); err != nil {
		return fail(err)
	}
	return sentences(changes), nil
}

// sentences say what was changed.
func sentences(c pysource.Changes) []string {
	var out []string
	if c.Stacks > 0 {
		out = append(out, fmt.Sprintf("with_stack=True added %d times", c.Stacks))
	}
	if c.Rank0 > 0 {
		out = append(out, fmt.Sprintf("rank 0 condition added %d times", c.Rank0))
	}
	if out == nil {
		out = append(out, "unchanged: both places are as wanted")
	}
	if c.PerRank {
		out = append(out, "each rank writes a file of its own and goes on doing so")
	}
	return out
}
