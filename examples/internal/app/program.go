package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/llmstrata/strata/examples/internal/rlimit"
	"github.com/llmstrata/strata/internal/atomicfile"
	"github.com/llmstrata/strata/internal/gate"
	"github.com/llmstrata/strata/internal/table"
)

// The exit codes of all programs.
const (
	ExitOK    = 0 // done, or nobody reads the output any more
	ExitError = 1 // an error, reported in one line on stderr
	ExitUsage = 2 // wrong usage
	// A program that judges ends with these codes, and its output is complete.
	ExitFailed       = gate.ExitFailed
	ExitInconclusive = gate.ExitInconclusive
)

// Program describes an example program.
type Program struct {
	// Name is what the program is called by, "layer-timeline".
	Name string
	// Summary is one or two lines that say what the program answers; the help
	// opens with it.
	Summary string
	// Args describes what may follow the flags, such as "[FILE...]". Where it
	// is empty such arguments are wrong usage.
	Args string
	// Installed says that Name is how an installed program is called, not a
	// directory of examples.
	Installed bool
	// Examples are command lines of the help, without "go run ./examples/":
	// "layer-timeline --trace x.json.gz    # what it shows".
	Examples []string
	// Common selects the common flags the program has.
	Common Common
	// AllGPUs says that --device may be all; SumsGPUs and RanksGPUs, that it is where it is not given: they add GPUs
	// up, or take each as a rank.
	AllGPUs, SumsGPUs, RanksGPUs bool
	// Formats are the values of --format, the first one the default. Needed
	// where Common has FormatFlag.
	Formats []Format
	// FailOn are the conditions that the program can judge. If there are any, it has --fail-on
	// and --allow-inconclusive; see [Env.Judge].
	FailOn []string
	// Judges says that the program has a --fail-on of its own, and ends with [Env.Judged].
	Judges bool
	// Exits says what the exit codes from 3 on mean; "": those of --fail-on where there is one.
	Exits string
	// First are the own flags that the help lists before the others, Last those that it lists after them.
	First, Last []string
	// Flags defines the program's own flags; nil where it has none.
	Flags func(*flag.FlagSet)
	// More defines further own flags that the help lists apart, under MoreTitle;
	// nil where there are none.
	More      func(*flag.FlagSet)
	MoreTitle string
	// Obsolete are flags of older command lines, which the help does not list.
	Obsolete []Obsolete
	// Next returns the program of a command, whose flags are in command lines that this one prints. Nil: none are.
	Next func(command string) Program
	// Run does the work. An error made by [Usagef] is wrong usage. It must
	// return soon after ctx ends.
	Run func(ctx context.Context, env *Env) error
}

// As returns the program under the name that it has as a command of another
// one: "strata layers" for layer-timeline.
func (p Program) As(name string) Program {
	examples := make([]string, len(p.Examples))
	for i, e := range p.Examples {
		if rest, ok := strings.CutPrefix(e, p.Name); ok {
			e = name + rest
		}
		examples[i] = e
	}
	p.Name, p.Examples, p.Installed = name, examples, true
	return p
}

// FlagSet returns the program's flags, those that the help lists, for what
// completes command lines.
func (p Program) FlagSet() *flag.FlagSet {
	p.Obsolete = nil
	return p.flagSet(&Env{})
}

// shownError ends a program with [ExitError] after its complete output.
type shownError struct{ error }

// Shown returns an error that ends the program with exit code 1 and keeps what it printed.
func Shown(err error) error { return shownError{err} }

// exitError is an error that says with which code the program ends.
type exitError struct {
	error
	code int
}

// ExitCode is what [exitCode] asks for.
func (e exitError) ExitCode() int { return e.code }

// Exitf returns an error that ends the program with this exit code.
func Exitf(code int, format string, args ...any) error {
	return exitError{fmt.Errorf(format, args...), code}
}

// usageError is wrong usage found by a program.
type usageError struct{ error }

// Usagef returns an error that ends the program as wrong usage does: with a
// pointer to the help and exit code 2.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Main runs the program on the process's arguments and streams and exits. The
// first interrupt or termination signal cancels the context, a second one ends
// the process at once.
func Main(p Program) { MainFunc(p.Exec) }

// garbageShare is the part of a limited address space, 1 of so many, from which on garbage
// is collected more often than Go does by itself: half, as a heap of arenas of 64 MB has gaps.
const garbageShare = 2

// limitedProcs is how many threads compute at once in a limited address space, as many as
// the constants of package rlimit were measured with.
const limitedProcs = 2

// MainFunc is [Main] for a program that is run by a function like
// [Program.Exec].
func MainFunc(exec func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int) {
	// Without this a write to a closed pipe would kill the process before it
	// could remove its temporary files.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	collectOften()
	if left, ok := rlimit.Left(); ok { // before garbage and threads take what the trace needs
		debug.SetMemoryLimit(left / garbageShare)
		runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), limitedProcs))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)
	os.Exit(exec(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Exec runs the program with these arguments (the program's name not among
// them) and streams, and returns its exit code.
func (p Program) Exec(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if AsksVersion(args) {
		if err := WriteVersion(stdout, p.Name); err != nil && !ClosedPipe(err) {
			return p.fail(stderr, err)
		}
		return ExitOK
	}
	defer atomicfile.Guard()()
	env := &Env{next: p.Next, Stdin: stdin, Stderr: table.NewCleaner(stderr)}
	env.worst() // which copies share
	fs := p.flagSet(env)
	switch err := p.parse(fs, env, args); {
	case errors.Is(err, flag.ErrHelp):
		if err := p.help(stdout, fs, !slices.Contains(args, "-h")); err != nil && !ClosedPipe(err) {
			return p.fail(stderr, err)
		}
		return ExitOK
	case err != nil:
		return p.wrong(stderr, err)
	}
	if err := checkWritable(fs); err != nil {
		return p.fail(stderr, err)
	}
	out, err := openOutput(env.Output, stdout)
	if err != nil {
		return p.fail(stderr, err)
	}
	if env.Output == "" || env.Output == stdio {
		env.Color = color(stdout)
		out.width = env.width(stdout)
	} else {
		out.width = env.Width
	}
	env.Width = out.width
	if env.Format == AutoFormat {
		env.Format = Markdown
		if env.Width > 0 {
			env.Format = Text
		}
	}
	out.markdown = env.Format == Markdown
	out.clean.JSON = env.Format.document()
	if env.Color {
		out.clean.Styles = table.Styles()
	}
	if env.Width > 0 && env.Format.prose() {
		out.fit()
	}
	env.Stdout = out
	env.divert(p)
	if env.Quiet {
		env.Progress = Off
	}
	env.progress = newProgress(env.Progress, stderr)
	if err = p.Run(ctx, env); err == nil {
		err = env.undiverted()
	}
	env.progress.clear()
	var shown shownError
	if judged(err) || errors.As(err, &shown) { // the output says what was found, and is complete
		if ferr := out.finish(nil); ferr != nil && !out.gone() {
			err = ferr
		}
		return p.fail(stderr, err)
	}
	err = out.finish(err)
	var usage usageError
	switch {
	case err == nil, out.gone():
		return ExitOK
	case errors.As(err, &usage):
		return p.wrong(stderr, err)
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		p.fail(stderr, errors.New("interrupted"))
		return exitCode(err)
	}
	return p.fail(stderr, err)
}

// judged reports whether a program did its work and found against what it was
// asked to judge.
func judged(err error) bool {
	code := ExitOK
	if err != nil {
		code = exitCode(err)
	}
	return code == ExitFailed || code == ExitInconclusive
}

// exitCode is what an error asks for with a method ExitCode, ExitError
// otherwise. An output that is an input is wrong usage.
func exitCode(err error) int {
	if errors.Is(err, atomicfile.ErrInput) {
		return ExitUsage
	}
	var c interface{ ExitCode() int }
	if errors.As(err, &c) {
		return c.ExitCode()
	}
	return ExitError
}

// parse reads the flags and checks those with a closed set of values.
func (p Program) parse(fs *flag.FlagSet, env *Env, args []string) error {
	var err error
	if env.Args, err = parseAnywhere(fs, args); err != nil {
		return err
	}
	if name := emptyPath(fs); name != "" {
		return fmt.Errorf("--%s is given an empty value, perhaps of a variable that is not set: name a file, or leave the "+
			"flag out", name)
	}
	if slices.Contains(env.Args, "") {
		return errors.New("an argument is empty, perhaps of a variable that is not set")
	}
	if err := checkPaths(fs, env.Args, env.Stdin); err != nil {
		return err
	}
	if err := p.takeTrace(env); err != nil {
		return err
	}
	if p.Args == "" && len(env.Args) > 0 {
		return fmt.Errorf("unexpected argument %q", env.Args[0])
	}
	env.given = fs
	if err := env.needsConditions(p); err != nil {
		return err
	}
	noteObsolete(fs, env)
	if err := env.check(p); err != nil {
		return err
	}
	if err := checkRanges(fs); err != nil {
		return err
	}
	return env.checkDevice(p)
}

// emptyPath returns the name of a flag that was given an empty path, "" where
// none was.
func emptyPath(fs *flag.FlagSet) (name string) {
	fs.Visit(func(f *flag.Flag) {
		if f.Value.String() == "" && isPath(f) {
			name = f.Name
		}
	})
	return name
}

// fail prints an error in one line, and returns the exit code.
func (p Program) fail(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "%s: %s\n", p.Name, Plain(err))
	return exitCode(err)
}

// wrong prints an error of usage in one line.
func (p Program) wrong(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "%s: %s (see %s -h)\n", p.Name, Plain(err), p.Name)
	return ExitUsage
}

// Plain is an error's text for the reader of a command line: without the names of Go packages that errors carry for
// programs that embed these, and without the system call that did not find a file.
func Plain(err error) string {
	text := err.Error()
	var file *fs.PathError
	if errors.As(err, &file) {
		text = strings.Replace(text, file.Error(), file.Path+": "+file.Err.Error(), 1)
	}
	parts := strings.Split(strings.TrimSpace(text), ": ")
	for i := len(parts) - 2; i >= 0; i-- { // the last part says what is wrong
		if slices.Contains(packages, parts[i]) {
			parts = slices.Delete(parts, i, i+1)
		}
	}
	return table.Clean(strings.Join(parts, ": "))
}

// packages are those of the module whose errors begin with their name: a test compares them with the source.
var packages = []string{"capture", "classify", "eventjson", "fusion", "hostoverhead", "layer", "nsys", "page", "perfetto",
	"pftrace", "profile", "serve", "strata", "trace", "triage"}
