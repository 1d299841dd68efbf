package command_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/testdata"
)

// notRun are the commands of the documentation that are not run here: how they
// begin, and why.
var notRun = []struct{ begins, why string }{
	{"go test ./...", "is what runs this test"},
	{"go install ", ".ci/fresh installs the program in a clean home"},
	{"go work init ", "changes the reader's own module"},
	{"go tool pprof", "triage's tests run go tool pprof on its profiles"},
	{"strata capture ", "needs a server; the test TestDocumented of capture runs every line of its page against one"},
	{"strata triage --url", "needs a server; triage's own tests run against one"},
	{"strata triage --mapping-url", "needs two servers; triage's own tests run against them"},
	{"strata perfetto --trace x.json.gz --annotate x.layers.json.gz --open", "waits for a browser"},
	{"strata view FILE --serve", "serves until Ctrl-C; TestServe asks it"},
	{"strata explain ID", "is one of a hundred; TestExplain runs each"},
	{"strata explain CODE", "is one of a hundred; TestExplain runs each"},
	{"strata digest runs/$(date", "names folders by the shell's date; two such digests are made for the line after it"},
	{"strata completion bash|zsh|fish", "is a choice of three; TestCompletionScripts runs them"},
}

var (
	// A command is alone on an indented line, or between back quotes.
	commandLine   = regexp.MustCompile(`(?m)^ {4}(?:\$ )?((?:go (?:run|test|install|tool) |strata [a-z-]+ |\.ci/)[^\n]*)$`)
	commandQuoted = regexp.MustCompile("`((?:go (?:run|test|install|tool|work|mod) |strata [a-z]|\\.ci/\\w+ )[^`\n]*)`")
)

// TestEveryCommandOfTheDocs runs every command of the README, of the pages and of
// the programs' help, with files of the names that they use, and holds those that
// run tests or tools of this repository to tests, flags and steps that are there.
func TestEveryCommandOfTheDocs(t *testing.T) {
	root := testdata.Root(t)
	commands := documented(t, root)
	dir := documentedFiles(t)
	t.Chdir(dir)
	t.Setenv("DISPLAY", "") // strata view opens no browser
	t.Setenv("WAYLAND_DISPLAY", "")
	checked, tried := 0, map[string]bool{}
	for _, c := range commands {
		if slices.ContainsFunc(notRun, func(n struct{ begins, why string }) bool {
			return strings.HasPrefix(c,
				n.begins)
		}) {
			continue
		}
		checked++
		args := words(c)
		if form := formOf(args); tried[form] && !testdata.Long() {
			continue // the same command and flags with other values
		} else {
			tried[form] = true
		}
		t.Run(c, func(t *testing.T) {
			switch {
			case args[0] == "strata" && len(args) == 2 && !strings.Contains(c, "."):
				exits(t, []string{args[1], "-h"}) // the command is only named
			case args[0] == "strata":
				exits(t, args[1:])
			case strings.HasPrefix(args[0], ".ci/"):
				step(t, root, args)
			case args[1] == "test":
				namesTests(t, root, args[2:])
			case strings.HasPrefix(args[2], "./examples/strata"):
				exits(t, args[3:])
			case strings.HasPrefix(args[2], "./examples/"):
				exits(t, append([]string{filepath.Base(args[2])}, args[3:]...))
			case args[2] == "-C":
				namesFlags(t, filepath.Join(root, args[3]), args[4:])
			default:
				namesFlags(t, root, args[2:])
			}
		})
	}
	if checked < 60 {
		t.Errorf("%d commands, want the documentation's", checked)
	}
	for _, n := range notRun {
		if !slices.ContainsFunc(commands, func(c string) bool { return strings.HasPrefix(c, n.begins) }) {
			t.Errorf("%q is not in the documentation any more (%s)", n.begins, n.why)
		}
	}
}

// TestReadmeShowsWhatIs: the output of programs in the README is theirs, apart from lines left out.
func TestReadmeShowsWhatIs(t *testing.T) {
	readme := string(testdata.ReadFile(t, filepath.Join(testdata.Root(t), "README.md")))
	commands := 0
	_, shown, _ := strings.Cut(readme, "## What it looks like\n")
	shown, _, _ = strings.Cut(shown, "\n## ")
	for _, block := range strings.Split(shown, "    $ ")[1:] {
		command, want, _ := strings.Cut(block, "\n")
		commands++
		t.Run(command, func(t *testing.T) {
			args, ok := strings.CutPrefix(command, "go run ./examples/strata ")
			if !ok {
				t.Fatal("is not strata")
			}
			within(t, want, run(t, "", strings.Fields(args)...).Stdout)
		})
	}
	if commands < 2 {
		t.Errorf("%d commands with their output, want at least 2", commands)
	}
}

// within checks that the lines of part are lines of whole, in order. Part may
// cut lines off and leave lines out where it has "…".
func within(t *testing.T, part, whole string) {
	t.Helper()
	for line := range strings.Lines(part) {
		line = strings.TrimSpace(line)
		if line == "" || line == "…" {
			continue
		}
		line, cut := strings.CutSuffix(line, "…")
		found := false
		for !found && whole != "" {
			var next string
			next, whole, _ = strings.Cut(whole, "\n")
			next = strings.TrimSpace(next)
			found = next == line || cut && strings.HasPrefix(next, line)
		}
		if !found {
			t.Fatalf("not there, or not in this order: %q", line)
		}
	}
}

// formOf is a command line without the values of its flags, and of what it reads only the endings.
func formOf(args []string) string {
	form := ""
	for i, a := range args {
		switch {
		case i < 2 || strings.HasPrefix(a, "./") || strings.HasPrefix(a, ".ci/"):
			form += " " + a
		case strings.HasPrefix(a, "-"):
			a, _, _ = strings.Cut(a, "=")
			form += " --" + strings.TrimLeft(a, "-")
		case args[0] == "go" && args[1] == "test":
			form += " " + a
		default:
			form += " " + filepath.Ext(a)
		}
	}
	return form
}

// documented lists the commands of all pages and of the help of all programs.
func documented(t *testing.T, root string) []string {
	t.Helper()
	pages := []string{"README.md", "RATIONALE.md"}
	for _, pattern := range []string{"docs/*.md", "docs/format/*.md", "docs/skill/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		for _, f := range found {
			rel, err := filepath.Rel(root, f)
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, rel)
		}
	}
	var commands []string
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, re := range []*regexp.Regexp{commandLine, commandQuoted} {
			for _, m := range re.FindAllStringSubmatch(string(text), -1) {
				// output, and what is cut short
				if !strings.Contains(m[1], " of built-in demo") && !strings.Contains(m[1], "…") {
					commands = append(commands, m[1])
				}
			}
		}
	}
	for _, c := range strings.Fields(run(t, "", "__complete", "").Stdout) {
		_, examples, _ := strings.Cut(run(t, "", "help", c).Stdout, "\nExamples:\n")
		examples, _, _ = strings.Cut(examples, "\n\n")
		for line := range strings.Lines(examples) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "strata ") {
				commands = append(commands, line)
			}
		}
	}
	slices.Sort(commands)
	return slices.Compact(commands)
}

// documentedFiles makes a folder with the files that the commands name.
func documentedFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, data []byte) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"x", "before", "after", "today", "run", "main", "old", "new", "prefill", "decode",
		"capture", "trace", "run1", "run2", "run3", "run4",
		"rank0", "rank1", "r1", "r2", "r3", "r4", "r5", "run/1-TP-0.trace", "runs/qwen/1-TP-0.trace",
		"traces/1-TP-0.trace", "x.trace", "TP-0-DECODE.trace",
		"profile-dir/1-TP-0.trace", "graph-off-dir/1-TP-0.trace", "real-dir/1-TP-0.trace", "new-dir/1-TP-0.trace",
		"old-dir/1-TP-0.trace", "TRACE"} {
		write(name+".json.gz", demo.Trace())
	}
	for _, name := range []string{"FILE", "OLD", "NEW", "A", "B"} { // of docs/findings.md
		write(name, demo.Trace())
	}
	write("config.json", []byte(strings.Replace(runConfig, `"num_hidden_layers": 4`, `"num_hidden_layers": 8`, 1)))
	for _, name := range []string{"run.sqlite", "old.sqlite", "new.sqlite"} {
		if _, err := nsysgen.Write(filepath.Join(dir, name), nsysgen.Default(1)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	write("a.md", []byte(run(t, "", "triage", "x.json.gz", "--format", "markdown").Stdout))
	for _, name := range []string{"b.md", "runs/a.md"} {
		text, err := os.ReadFile("a.md")
		if err != nil {
			t.Fatal(err)
		}
		write(name, text)
	}
	if err := os.Mkdir("nightly", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, day := range []string{"2026-01-01", "2026-01-02"} {
		exits(t, []string{"digest", "x.json.gz", "--date", day, "--output", "nightly/" + day + ".ndjson"})
	}
	for _, side := range []string{"yesterday", "old", "baseline"} {
		exits(t, []string{"compare", "--b", "x.json.gz", "--save", side + ".side.json"})
	}
	return dir
}

// words splits a command as a shell would, up to a comment, a pipe, a redirection
// or a second command.
func words(line string) []string {
	var args []string
	var word strings.Builder
	quote, open := rune(0), false
	for _, r := range line + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, open = r, true
		case r == ' ':
			if w := word.String(); w != "" || open {
				if !open && (w == "#" || w == "|" || w == ">" || w == ">>" || w == "&&" || w == "||") {
					return args
				}
				args = append(args, w)
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(r)
		}
	}
	return args
}

// exits runs a command in this process: 0, or what a gate says, 3 and 4.
func exits(t *testing.T, args []string) {
	t.Helper()
	r := run(t, string(demo.Trace()), args...)
	if r.Code != 0 && r.Code != 3 && r.Code != 4 {
		t.Errorf("%q: exit code %d: %s", args, r.Code, r.Stderr)
	}
}

// step checks that a script is there, and of .ci/run the step.
func step(t *testing.T, root string, args []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, args[0]))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range args[1:] {
		if args[0] == ".ci/run" && !strings.HasPrefix(a, "-") && !strings.Contains(string(text), "step_"+a+"()") {
			t.Errorf("%s has no step %s", args[0], a)
		}
	}
}

// namesTests checks that each package of a "go test" is there and has a test or a
// benchmark for each alternative: the tests themselves are run by the test step.
func namesTests(t *testing.T, root string, args []string) {
	t.Helper()
	if len(args) > 1 && args[0] == "-C" {
		root, args = filepath.Join(root, args[1]), append([]string{"./."}, args[2:]...)
	}
	var source bytes.Buffer
	for i, a := range args {
		if a == "." || strings.HasPrefix(a, "./") {
			files, err := filepath.Glob(filepath.Join(root, a, "*_test.go"))
			if err != nil || len(files) == 0 {
				t.Fatalf("%s has no tests, %v", a, err)
			}
			for _, f := range files {
				text, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				source.Write(text)
			}
		}
		if kind := map[string]string{"-run": "Test", "-bench": "Benchmark"}[a]; kind != "" && i+1 < len(args) {
			for _, name := range strings.Split(args[i+1], "|") {
				name = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(name, "^"), kind), "$")
				if name != "" && name != "xxx" && !regexp.MustCompile(`(?m)^func `+kind+`\w*`+
					name).Match(source.Bytes()) {
					t.Errorf("no %s of that name: %s", kind, name)
				}
			}
		}
	}
}

// namesFlags checks that a tool of this repository is there and knows the flags.
func namesFlags(t *testing.T, root string, args []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, args[0], "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s is not there, %v", args[0], err)
	}
	var source bytes.Buffer
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	for _, a := range args[1:] {
		if name := strings.TrimLeft(a, "-"); name != a && !bytes.Contains(source.Bytes(), []byte(`"`+name+`"`)) {
			t.Errorf("%s has no flag %s", args[0], a)
		}
	}
}
