package pysource

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Changes says what [Override] did.
type Changes struct {
	// Stacks and Rank0 count the calls and conditions that were changed; 0
	// means all of them were as wanted.
	Stacks int
	Rank0  int
	// PerRank is set when the source gives each rank a file of its own, so
	// that none must be kept from writing.
	PerRank bool
}

// Sentinels of [Override].
var (
	// ErrNoProfilerCall: there is no torch_profiler = torch.profiler.profile(…).
	ErrNoProfilerCall = errors.New("no call \"torch_profiler = torch.profiler.profile(\"")
	// ErrNoTraceCondition: there is no enable_torch_trace =
	// bool(torch_trace_path and profile_start_stop), and all ranks write one
	// file.
	ErrNoTraceCondition = errors.New("no line \"enable_torch_trace = bool(torch_trace_path and profile_start_stop)\"")
	// ErrPython: the source is not what this small reader of Python
	// understands; the message says where.
	ErrPython = errors.New("cannot read the Python source")
)

var (
	profilerCall   = regexp.MustCompile(`\btorch_profiler[ \t]*=[ \t]*torch\.profiler\.profile[ \t]*\(`)
	traceCondition = regexp.MustCompile(`\benable_torch_trace[ \t]*=[ \t]*bool[ \t]*\(`)
	// perRank is a trace path made of a rank. Its right side is an f-string or
	// a call, so it is looked for in the source and its place in the code.
	perRank = regexp.MustCompile(`\b\w*trace\w*path\w*[ \t]*=[^=\n][^\n]*rank`)
)

// rank0 is the condition that leaves one rank to write the one file.
const rank0 = "self.dist.rank == 0"

// Override rewrites TensorRT-LLM's py_executor.py: its profiler call gets
// with_stack=True, so that kernels can be led back to Python lines, and, where
// all ranks write one file, its switch also asks for rank 0, so that they do
// not race for it. A release that puts the rank into the file's name is left
// alone there: the condition would drop ranks. Everything else stays byte by
// byte: indentation, comments and line ends. A source that already has both
// comes back unchanged.
//
// Places inside strings and comments do not count. When a place is not found,
// the error wraps [ErrNoProfilerCall] or [ErrNoTraceCondition], or both.
func Override(src []byte) ([]byte, Changes, error) {
	var ch Changes
	code, err := maskPython(src)
	if err != nil {
		return nil, ch, err
	}
	ch.PerRank = writesPerRank(src, code)
	calls := profilerCall.FindAllIndex(code, -1)
	conds := traceCondition.FindAllIndex(code, -1)
	if len(conds) == 0 && bytes.Contains(src, []byte("-rank-{")) {
		ch.PerRank = true // the switch has another name, the file's name a rank
	}
	if ch.PerRank {
		conds = nil
	}
	var errs []error
	if len(calls) == 0 {
		errs = append(errs, ErrNoProfilerCall)
	}
	if len(conds) == 0 && !ch.PerRank {
		errs = append(errs, ErrNoTraceCondition)
	}
	if len(errs) > 0 {
		return nil, ch, fmt.Errorf("capture: override: %w", errors.Join(errs...))
	}
	var edits []edit
	for _, m := range calls {
		e, err := stackEdits(src, code, m[1])
		if err != nil {
			return nil, ch, err
		}
		if len(e) > 0 {
			ch.Stacks++
		}
		edits = append(edits, e...)
	}
	for _, m := range conds {
		e, err := rankEdit(src, code, m[1])
		if err != nil {
			return nil, ch, err
		}
		if len(e) > 0 {
			ch.Rank0++
		}
		edits = append(edits, e...)
	}
	return applyEdits(src, edits), ch, nil
}

// writesPerRank reports whether the source assigns a trace path that holds the
// rank, outside strings and comments.
func writesPerRank(src, code []byte) bool {
	for _, m := range perRank.FindAllIndex(src, -1) {
		// The condition that Override itself adds to a line names no file.
		line := src[m[0]:]
		if end := bytes.IndexByte(line, '\n'); end >= 0 {
			line = line[:end]
		}
		if !perRank.Match(bytes.ReplaceAll(line, []byte(rank0), nil)) {
			continue
		}
		if name := src[m[0] : m[0]+bytes.IndexByte(src[m[0]:m[1]], '=')]; bytes.HasPrefix(code[m[0]:], name) {
			return true
		}
	}
	return false
}

// edit replaces src[from:to].
type edit struct {
	from, to int
	text     string
}

// applyEdits applies edits that do not overlap, in any order.
func applyEdits(src []byte, edits []edit) []byte {
	out := bytes.Clone(src)
	// From the end, so that offsets stay good.
	for {
		last := -1
		for i, e := range edits {
			if e.from >= 0 && (last < 0 || e.from > edits[last].from || (e.from == edits[last].from && i > last)) {
				last = i
			}
		}
		if last < 0 {
			return out
		}
		e := edits[last]
		out = append(out[:e.from:e.from], append([]byte(e.text), out[e.to:]...)...)
		edits[last].from = -1
	}
}

// argument is one argument of a call: code[from:to], trimmed of space.
type argument struct{ from, to int }

// callArgs splits the arguments of the call whose parenthesis opens right
// before open. It returns them, the offset of the closing parenthesis and
// whether the last argument is followed by a comma.
func callArgs(code []byte, open int) (args []argument, closing int, comma bool, err error) {
	depth, from := 0, open
	add := func(to int) bool {
		a := argument{from, to}
		for a.from < a.to && isSpace(code[a.from]) {
			a.from++
		}
		for a.to > a.from && isSpace(code[a.to-1]) {
			a.to--
		}
		if a.from < a.to {
			args = append(args, a)
			return true
		}
		return false
	}
	for i := open; i < len(code); i++ {
		switch code[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth == 0 {
				if code[i] != ')' {
					return nil, 0, false, pythonErr(code, i, "unexpected "+string(code[i]))
				}
				comma = !add(i) && len(args) > 0
				return args, i, comma, nil
			}
			depth--
		case ',':
			if depth == 0 {
				add(i)
				from = i + 1
			}
		}
	}
	return nil, 0, false, pythonErr(code, open-1, "the parenthesis is never closed")
}

// stackEdits makes the call have with_stack=True.
func stackEdits(src, code []byte, open int) ([]edit, error) {
	args, closing, comma, err := callArgs(code, open)
	if err != nil {
		return nil, err
	}
	if have, edits, err := givenStack(code, args); have || err != nil {
		return edits, err
	}
	const arg = "with_stack=True"
	if len(args) == 0 {
		return []edit{{open, open, arg}}, nil
	}
	last := args[len(args)-1]
	end := last.to
	if comma {
		end = last.to + bytes.IndexByte(code[last.to:], ',') + 1
	}
	lineStart := bytes.LastIndexByte(src[:last.from], '\n') + 1
	indent := leadingSpace(src[lineStart:last.from])
	ownLine := lineStart > open && len(indent) == last.from-lineStart // nothing but space before it
	if !ownLine {
		// The last argument shares its line with another or with the call.
		if comma {
			return []edit{{end, end, " " + arg + ","}}, nil
		}
		return []edit{{end, end, ", " + arg}}, nil
	}
	nl := "\n"
	if lineStart >= 2 && src[lineStart-2] == '\r' {
		nl = "\r\n"
	}
	// Where the parenthesis closes on a line of its own, the new argument
	// gets a line before it, behind the last one's comment.
	closeLine := bytes.LastIndexByte(src[:closing], '\n') + 1
	if closeLine > end && len(leadingSpace(src[closeLine:closing])) == closing-closeLine {
		tail := ""
		var edits []edit
		if comma {
			tail = ","
		} else {
			edits = append(edits, edit{end, end, ","})
		}
		return append(edits, edit{closeLine, closeLine, indent + arg + tail + nl}), nil
	}
	if comma {
		return []edit{{end, end, nl + indent + arg + ","}}, nil
	}
	return []edit{{end, end, "," + nl + indent + arg}}, nil
}

// givenStack looks for with_stack among the arguments, and sees that it is True.
func givenStack(code []byte, args []argument) (have bool, edits []edit, err error) {
	for _, a := range args {
		text := string(code[a.from:a.to])
		if strings.HasPrefix(text, "**") {
			return false, nil, pythonErr(code, a.from, "the profiler call spreads a dictionary, which may hold with_stack already")
		}
		name, _, ok := strings.Cut(text, "=")
		if !ok || strings.TrimSpace(name) != "with_stack" {
			continue
		}
		value := a.from + len(name) + 1
		for value < a.to && isSpace(code[value]) {
			value++
		}
		if string(code[value:a.to]) == "True" {
			return true, nil, nil
		}
		return true, []edit{{value, a.to, "True"}}, nil
	}
	return false, nil, nil
}

// rankEdit adds the rank to the condition.
func rankEdit(src, code []byte, open int) ([]edit, error) {
	args, closing, _, err := callArgs(code, open)
	if err != nil {
		return nil, err
	}
	got := strings.Join(strings.Fields(string(src[open:closing])), " ")
	if len(args) == 1 {
		a := args[0]
		norm := strings.Join(strings.Fields(string(code[a.from:a.to])), " ")
		switch {
		case strings.Contains(strings.ReplaceAll(norm, " ", ""), strings.ReplaceAll(rank0, " ", "")):
			return nil, nil
		case norm == "torch_trace_path and profile_start_stop":
			return []edit{{a.to, a.to, " and " + rank0}}, nil
		}
	}
	return nil, fmt.Errorf("capture: override: line %d: %w: its condition is %q", lineOf(src, open), ErrNoTraceCondition, got)
}

// maskPython returns a copy of src in which the insides of comments and
// strings are spaces, line ends kept, so that what is left is code. A string
// that is never closed is an error.
func maskPython(src []byte) ([]byte, error) {
	code := bytes.Clone(src)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if code[i] != '\n' && code[i] != '\r' {
				code[i] = ' '
			}
		}
	}
	for i := 0; i < len(src); {
		switch c := src[i]; c {
		case '#':
			end := bytes.IndexByte(src[i:], '\n')
			if end < 0 {
				end = len(src) - i
			}
			blank(i, i+end)
			i += end
		case '"', '\'':
			end, err := stringEnd(src, i)
			if err != nil {
				return nil, err
			}
			// The quotes stay, an argument must not look empty.
			blank(i+1, end-1)
			i = end
		default:
			i++
		}
	}
	return code, nil
}

// stringEnd is the offset behind the string that starts at i. A backslash
// keeps the next byte from ending it, in raw strings too. Quotes inside the
// braces of an f-string are taken for its end unless they are of the other
// kind, which is what Python before 3.12 asked for.
func stringEnd(src []byte, i int) (int, error) {
	q := src[i]
	triple := []byte{q, q, q}
	long := bytes.HasPrefix(src[i:], triple)
	j := i + 1
	if long {
		j = i + 3
	}
	for j < len(src) {
		switch {
		case src[j] == '\\':
			j++
			if j < len(src) && src[j] == '\r' && j+1 < len(src) && src[j+1] == '\n' {
				j++
			}
		case long && bytes.HasPrefix(src[j:], triple):
			return j + 3, nil
		case !long && src[j] == q:
			return j + 1, nil
		case !long && src[j] == '\n':
			return 0, pythonErr(src, i, "the string is not closed on its line")
		}
		j++
	}
	return 0, pythonErr(src, i, "the string is never closed")
}

// leadingSpace is the indentation of line.
func leadingSpace(line []byte) string {
	n := 0
	for n < len(line) && (line[n] == ' ' || line[n] == '\t') {
		n++
	}
	return string(line[:n])
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\\'
}

func lineOf(src []byte, at int) int { return 1 + bytes.Count(src[:at], []byte{'\n'}) }

func pythonErr(src []byte, at int, why string) error {
	return fmt.Errorf("capture: override: line %d: %w: %s", lineOf(src, at), ErrPython, why)
}
