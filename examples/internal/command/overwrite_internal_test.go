package command

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/demo"
)

// place makes a directory with an input and everything that leads to it.
func place(t *testing.T) (dir string, names map[string]string) {
	t.Helper()
	dir = t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, sub := range []string{"run", "other", "empty"} {
		if err := os.Mkdir(at(sub), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"run/in-TP-0.trace.json.gz", "other/o-TP-0.trace.json.gz"} {
		if err := os.WriteFile(at(name), demo.Trace(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	in := at("run/in-TP-0.trace.json.gz")
	if err := os.Symlink(in, at("soft.json.gz")); err != nil {
		t.Skipf("SKIPPED, NOT CHECKED: this system makes no links: %v", err)
	}
	if err := os.Link(in, at("hard.json.gz")); err != nil {
		t.Skipf("SKIPPED, NOT CHECKED: this system makes no links: %v", err)
	}
	if err := os.Symlink(at("run"), at("runs")); err != nil {
		t.Fatal(err)
	}
	return dir, map[string]string{
		"as it is": in, "roundabout": at("empty") + "/../run/in-TP-0.trace.json.gz",
		"symbolic link": at("soft.json.gz"),
		"hard link":     at("hard.json.gz"), "through a linked directory": at("runs/in-TP-0.trace.json.gz"),
	}
}

// programsWithOutputs are all commands, and the sub-commands of capture.
func programsWithOutputs() map[string]app.Program {
	out := map[string]app.Program{}
	for _, c := range commands() {
		p, _ := c.program(nil)
		out[c.name] = p
	}
	for _, sub := range []string{"matrix", "probe", "collect", "doctor"} {
		p, _ := find("capture").program([]string{sub})
		out["capture "+sub] = p
	}
	return out
}

// TestNoCommandReplacesAnInput tries every command with every flag that writes
// a file, over an input that is given by every flag that reads one or by itself,
// once or twice, whatever name leads to it.
func TestNoCommandReplacesAnInput(t *testing.T) {
	dir, names := place(t)
	in, other := names["as it is"], filepath.Join(dir, "other/o-TP-0.trace.json.gz")
	tried := 0
	for command, p := range programsWithOutputs() {
		ins, outs := app.Paths(p.FlagSet())
		if p.Args != "" || p.Common&app.TraceFlag != 0 {
			ins = append(ins, "") // an argument
		}
		for _, out := range outs {
			for _, flag := range ins {
				give := func(path string) []string {
					if flag == "" {
						return []string{path}
					}
					return []string{"--" + flag, path}
				}
				forms := [][]string{give(in), slices.Concat(give(in), give(other)),
					slices.Concat(give(other), give(in)), slices.Concat(give(in), give(in)), give(filepath.Dir(in))}
				several := p.Args != ""
				if f := p.FlagSet().Lookup(flag); f != nil {
					_, several = f.Value.(interface{ Paths() []string })
				}
				if flag == "" && !several {
					forms = [][]string{give(in), give(filepath.Dir(in))} // one argument is all it takes
				} else if !several {
					forms[1] = give(in) // of a flag that is given twice the last value is read
				}
				for _, form := range forms {
					for how, target := range names {
						tried++
						refused(t, how, in, append(append(strings.Fields(command), "--"+out, target), form...))
					}
				}
			}
		}
	}
	const enough = 500
	if tried < enough {
		t.Errorf("%d combinations were tried, want at least %d", tried, enough)
	}
	t.Logf("%d combinations", tried)
}

// refused runs a command that must leave the input as it is.
func refused(t *testing.T, how, in string, args []string) {
	t.Helper()
	before, err := os.Stat(in)
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	// A run that is not refused at once need not go on: it is refused when it writes.
	code := Exec(t.Context(), args, strings.NewReader(""), io.Discard, &stderr)
	after, err := os.Stat(in)
	text, rerr := os.ReadFile(in)
	if err != nil || rerr != nil || !os.SameFile(before, after) || !bytes.Equal(text, demo.Trace()) {
		t.Fatalf("%s (%s): the input was replaced, exit code %d: %s", strings.Join(args, " "), how, code, &stderr)
	}
	if code != app.ExitUsage {
		t.Errorf("%s (%s): exit code %d, want %d: %s", strings.Join(args, " "), how, code, app.ExitUsage, &stderr)
	}
}

// TestWhatIsReadWithoutBeingNamedIsAnInput: files that a program finds by itself.
func TestWhatIsReadWithoutBeingNamedIsAnInput(t *testing.T) {
	dir, names := place(t)
	in := names["as it is"]
	for file, text := range map[string]string{"server_args.json": `{"model_path":"x/y"}`,
		"config.json": demo.Config()} {
		path := filepath.Join(filepath.Dir(in), file)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []string{"report", "layers", "triage", "host", "export"} {
		config := filepath.Join(dir, "run", "config.json")
		var stderr bytes.Buffer
		code := Exec(context.Background(), []string{c, in, "--output", config}, strings.NewReader(""), io.Discard,
			&stderr)
		if text, err := os.ReadFile(config); err != nil || string(text) != demo.Config() || code != app.ExitUsage {
			t.Errorf("%s: exit code %d, config.json has %d bytes, %v: %s", c, code, len(text), err, &stderr)
		}
	}
}

// TestBaselineIsReplacedOnlyWhenAsked: --save over --baseline.
func TestBaselineIsReplacedOnlyWhenAsked(t *testing.T) {
	_, names := place(t)
	in, side := names["as it is"], filepath.Join(t.TempDir(), "a.side.json")
	compare := func(args ...string) int {
		return Exec(t.Context(), append([]string{"compare"}, args...), strings.NewReader(""), io.Discard, io.Discard)
	}
	if code := compare("--b", in, "--b-label", "first", "--save", side); code != app.ExitOK {
		t.Fatalf("--save: exit code %d", code)
	}
	first, err := os.ReadFile(side)
	if err != nil {
		t.Fatal(err)
	}
	again := []string{"--baseline", side, "--b", in, "--b-label", "second", "--save", side}
	if code := compare(again...); code != app.ExitUsage {
		t.Errorf("over its own baseline: exit code %d, want %d", code, app.ExitUsage)
	}
	if now, err := os.ReadFile(side); err != nil || !bytes.Equal(now, first) {
		t.Errorf("the baseline was replaced: %v", err)
	}
	if code := compare(append(again, "--replace")...); code != app.ExitOK {
		t.Errorf("--replace: exit code %d", code)
	}
	if now, err := os.ReadFile(side); err != nil || !bytes.Contains(now, []byte("second")) {
		t.Errorf("--replace left the old baseline: %v", err)
	}
	if code := compare(in, in, "--save", in, "--replace"); code != app.ExitUsage {
		t.Errorf("--replace over a trace: exit code %d, want %d", code, app.ExitUsage)
	}
}
