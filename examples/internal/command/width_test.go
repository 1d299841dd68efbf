package command_test

import (
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/testdata"
)

// TestTextFitsTheTerminal: whatever a command prints as text is no wider than was asked for, but words that cannot be
// broken, such as links and paths of a command to copy. Tables of torch and nsys traces, of one GPU and of two, are
// among it.
func TestTextFitsTheTerminal(t *testing.T) {
	traces := []string{"", testdata.Shared(t, "traces/torch/sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz"),
		testdata.Shared(t, "traces/nsys/torchrun-2gpu-hopper.sqlite")}
	if !testdata.Long() {
		traces = traces[1:] // the demo's tables have fewer columns
	}
	bases := baseNames(t)
	const width = 80
	for i, command := range []string{"report --all", "layers --show-all-passes", "breakdown",
		"breakdown --format compute-flow", "light", "triage", "triage --overlap-mode published", "host",
		"host --comparable", "host-compare", "perfetto", "answer", "compare"} {
		for k, trace := range traces {
			if !testdata.Long() && i%len(traces) != k {
				continue
			}
			args := append(strings.Fields(command), "--width", "80")
			if trace != "" {
				args = append(args, trace)
			}
			text := run(t, "", args...).Stdout
			for _, name := range bases.cut(text) {
				t.Errorf("%s: the base name of a kernel is cut: %s", strings.Join(args, " "), name)
			}
			for line := range strings.Lines(text) {
				line = strings.TrimRight(line, "\n")
				long := ""
				for _, word := range strings.Fields(line) {
					if utf8.RuneCountInString(word) > width/2 {
						long = word
					}
				}
				if n := utf8.RuneCountInString(line); n > width && !strings.Contains(long, "/") && len(strings.Fields(line)) > 1 {
					t.Errorf("%s: a line of %d characters: %s", strings.Join(args, " "), n, line)
				}
			}
		}
	}
}

// bases are the base names of known kernels.
type bases map[string]bool

// baseNames are those of all labelled kernels.
func baseNames(t *testing.T) bases {
	t.Helper()
	data, err := os.ReadFile(testdata.Shared(t, "labels/kernel-names.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	out := bases{}
	var names []string
	for line := range strings.Lines(string(data)) {
		name, _, _ := strings.Cut(strings.Trim(line, "\""), "\t")
		names = append(names, name)
	}
	for _, name := range append(names, classify.Labels(names, nil)...) {
		name = strings.TrimPrefix(name, "void ")
		if to := strings.IndexAny(name, "<("); to > 0 {
			name = name[:to]
		}
		out[name[strings.LastIndexAny(name, ":/ ")+1:]] = true
	}
	return out
}

// cut are the beginnings of base names that a text cuts with dots. Arguments of templates are no base
// names.
func (b bases) cut(text string) (out []string) {
	const dots, letters = "...", 8
	word := func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for before, rest, found := strings.Cut(text, dots); found; before, rest, found = strings.Cut(rest, dots) {
		at := strings.LastIndexFunc(before, word)
		start := strings.LastIndexByte(before, '\n') + 1
		head, tail := before[at+1:], rest
		if start > 0 && strings.HasPrefix(before[start:], "    ") { // goes on
			column := at + 1 - start
			start = strings.LastIndexByte(before[:start-1], '\n') + 1
			if above := strings.Fields(before[min(start+column, at+1):]); strings.HasSuffix(before[:at+1], " ") &&
				len(above) > 1 {
				head = above[0] + head // the name begins in the line above
			}
		}
		line := before[start:]
		if strings.Count(line, "<") > strings.Count(line, ">") {
			continue
		}
		if end := strings.IndexFunc(rest, word); end >= 0 {
			tail = rest[:end]
		}
		for name := range b {
			if len(head) >= letters && strings.HasPrefix(name, head) && !b[head] {
				out = append(out, head+dots)
			}
			if len(tail) >= letters && strings.HasSuffix(name, tail) && !b[tail] {
				out = append(out, dots+tail)
			}
		}
	}
	return out
}

// TestCutNamesAreFound: the check finds what it is for.
func TestCutNamesAreFound(t *testing.T) {
	b := bases{"flash_fwd_splitkv_kernel": true, "flash_fwd": true}
	for text, want := range map[string]int{"a flash_fwd_splitkv... b": 1, "flash_fwd_splitkv_kernel...": 0,
		"...splitkv_kernel 1": 1,
		"flash_fwd...":        0, "copy<flash_fwd_spl...>": 0, "...": 0} {
		if got := b.cut(text); len(got) != want {
			t.Errorf("%q: %q, want %d", text, got, want)
		}
	}
}
