package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
)

// maxSource bounds the file read: the real one is some 450 kB.
const maxSource = 32 << 20

// The two places of TensorRT-LLM's py_executor.py that the published patch changes. They are found as the releases
// spell them, on lines of code: nothing here reads Python. NVIDIA/TensorRT-LLM#13872 moved profiling to another file,
// which has HTTP routes and no such places.
var (
	profilerCall = regexp.MustCompile(`(?m)^[ \t]*torch_profiler[ \t]*=[ \t]*torch\.profiler\.profile\(`)
	traceSwitch  = regexp.MustCompile(`(?m)^[ \t]*enable_torch_trace[ \t]*=[ \t]*bool\([ \t]*torch_trace_path[ \t]+and[ \t]+profile_start_stop([ \t]+and[ \t]+self\.dist\.rank[ \t]*==[ \t]*0)?[ \t]*\)`)
	ownFile      = regexp.MustCompile(`-rank-\{`) // from #13536 each rank has a file of its own
	withStack    = regexp.MustCompile(`\bwith_stack[ \t]*=`)
)

// Override applies the published patch to TensorRT-LLM's py_executor.py, from the file source to the file output: its
// profiler call gets with_stack=True, so that kernels can be led back to Python lines, and in a release whose ranks all
// write one file the switch also asks for rank 0. Everything else stays byte by byte, and a source that is as wanted is
// copied. What was done comes back in sentences. A source without the places is refused.
//
// The output is replaced in one step. The source is only read; naming it as the output too is an error.
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
	text, done, err := overrideSource(src)
	if err != nil {
		return fail(fmt.Errorf("%s: %w", source, err))
	}
	if err := replaceFile(output, text); err != nil {
		return fail(err)
	}
	return done, nil
}

// overrideSource is the patch on a text.
func overrideSource(src []byte) (text []byte, done []string, err error) {
	calls, switches := profilerCall.FindAllIndex(src, -1), traceSwitch.FindAllSubmatchIndex(src, -1)
	switch {
	case len(calls) != 1:
		return nil, nil, fmt.Errorf("%d places torch_profiler = torch.profiler.profile(…), want one: this patch is for releases before NVIDIA/TensorRT-LLM#13872; later ones profile in profiling.py and need no patch to be captured", len(calls))
	case len(switches) != 1:
		return nil, nil, fmt.Errorf("%d places enable_torch_trace = bool(torch_trace_path and profile_start_stop), want one", len(switches))
	}
	end, err := callEnd(src[calls[0][1]:])
	if err != nil {
		return nil, nil, err
	}
	text = bytes.Clone(src)
	insert := func(at int, what string) { text = append(text[:at:at], append([]byte(what), text[at:]...)...) }
	edits := []func(){}
	if !withStack.Match(src[calls[0][1] : calls[0][1]+end]) {
		edits = append(edits, func() { insert(calls[0][1], "with_stack=True, ") })
		done = append(done, "with_stack=True added")
	}
	switch sw := switches[0]; {
	case ownFile.Match(src):
		done = append(done, "each rank writes a file of its own and goes on doing so")
	case sw[2] < 0:
		edit := func() { insert(sw[1]-1, " and self.dist.rank == 0") }
		if sw[1] > calls[0][1] { // the later place first
			edits = append([]func(){edit}, edits...)
		} else {
			edits = append(edits, edit)
		}
		done = append(done, "rank 0 condition added")
	}
	for _, e := range edits {
		e()
	}
	if len(edits) == 0 {
		done = append(done, "unchanged: both places are as wanted")
	}
	return text, done, nil
}

// callEnd is where the call closes whose arguments src begins with. Strings and comments in them would need a reader of
// Python; the releases have none, so both are refused.
func callEnd(src []byte) (int, error) {
	depth := 1
	for i, c := range src {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return i, nil
			}
		case '\'', '"', '#':
			return 0, errors.New("the profiler's call holds a string or a comment, as no release has it")
		}
	}
	return 0, errors.New("the profiler's call does not end")
}
