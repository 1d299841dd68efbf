package command

import (
	"context"
	_ "embed" // for the notices
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/programs"
	"github.com/llmstrata/strata/examples/internal/programs/answer"
	"github.com/llmstrata/strata/examples/internal/programs/capture"
	"github.com/llmstrata/strata/examples/internal/programs/compare"
	"github.com/llmstrata/strata/examples/internal/programs/perfettomap"
	"github.com/llmstrata/strata/examples/internal/programs/triage"
	"github.com/llmstrata/strata/internal/table"
)

// notices are the licences of all modules in the program; a test writes them.
//
//go:embed NOTICE
var notices string

// name is what the joined program is called.
const name = "strata"

// command is one of the programs under the name it has here.
type command struct {
	name string
	// alone is the name of the program by itself, which is accepted too.
	alone string
	// answers is the question it answers, for the overview.
	answers string
	// program picks the program by the arguments after the command, and
	// returns the remaining ones.
	program func(args []string) (app.Program, []string)
	// subs are its sub-commands.
	subs []string
}

// plain is a program without sub-commands.
func plain(p func() app.Program) func([]string) (app.Program, []string) {
	return func(args []string) (app.Program, []string) { return p(), args }
}

// commands are in the order of the overview: what most people need first.
func commands() []command {
	return []command{
		{"report", "report", "report everything, the largest findings first", plain(programs.Report), nil},
		{"view", "view", "open the report as a page in your browser", plain(programs.ReportView), nil},
		{"answer", "answer", "answer one question, for agents and scripts", plain(answer.Program), nil},
		{"layers", "layer-timeline", "list forward passes and layers with their cost",
			plain(programs.LayerTimeline), nil},
		{"breakdown", "layer-breakdown", "list the kernels of one layer", plain(programs.LayerBreakdown), nil},
		{"light", "speed-of-light", "compare each pass with what the GPU can do",
			plain(programs.SpeedOfLight), nil},
		{"triage", "triage", "show source lines, exposed time and unused fusions", plain(triage.Program), nil},
		{"host", "host-detect", "show whether the CPU is the bottleneck, and why", plain(programs.HostDetect), nil},
		{"what-if", "what-if", "estimate a step with a change of host, wait or kernel",
			plain(programs.WhatIf), nil},
		{"compare", "compare", "compare two runs, beyond noise", plain(compare.Program), nil},
		{"host-compare", "host-compare", "compare the host operations of two runs", plain(programs.HostCompare), nil},
		{"fleet", "fleet", "find the late rank among many", programs.ChooseFleet, programs.FleetCommands()},
		{"digest", "digest", "summarise ranks for strata fleet, on one machine or many", plain(programs.Digest), nil},
		{"export", "kernel-export", "export one row per kernel as CSV or NDJSON", plain(programs.KernelExport), nil},
		{"perfetto", "perfetto-map", "link into the Perfetto UI; annotate or slice a trace",
			plain(perfettomap.Program), nil},
		{"capture", "capture", "capture a usable trace from a running server", capture.Choose, capture.Commands()},
		{"bundle", "triage-bundle", "join triage reports into one document", plain(programs.TriageBundle), nil},
	}
}

// Main runs the joined program on the process's arguments and exits.
func Main() {
	app.MainFunc(Exec)
}

// Exec runs the joined program and returns its exit code.
func Exec(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		return overview(stdout, stderr)
	}
	first := args[0]
	switch {
	case app.AsksHelp(args):
		return overview(stdout, stderr)
	case app.AsksVersion(args):
		first = versionCommand
	}
	switch first {
	case versionCommand:
		if len(args) > 1 && strings.TrimLeft(args[1], "-") == licenses {
			_, err := io.WriteString(table.NewCleaner(stdout), notices)
			return exitCode(stderr, err)
		}
		return exitCode(stderr, app.WriteVersion(stdout, name))
	case helpCommand:
		return help(ctx, args[1:], stdin, stdout, stderr)
	case completionCommand:
		return completion(args[1:], stdout, stderr)
	case explainCommand:
		return explain(args[1:], stdout, stderr)
	case skillCommand:
		return installSkill(args[1:], stdout, stderr)
	case schemaCommand:
		return schemas(args[1:], stdout, stderr)
	case completeCommand:
		return exitCode(stderr, complete(stdout, args[1:]))
	}
	if a, ok := aliases[first]; ok && !isFile(first) {
		if a.hint != "" {
			fmt.Fprintf(stderr, "%s: no command %s: %s\n", name, first, a.hint)
			return app.ExitUsage
		}
		return Exec(ctx, append(slices.Clone(a.args), args[1:]...), stdin, stdout, stderr)
	}
	if c := find(first); c != nil {
		return c.run(ctx, args[1:], stdin, stdout, stderr)
	}
	if !isInput(first) {
		return unknown(stderr, first)
	}
	return find("report").run(ctx, args, stdin, stdout, stderr)
}

func (c *command) run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p, rest := c.program(args)
	p.Next = Next
	return c.as(p).Exec(ctx, rest, stdin, stdout, stderr)
}

// as gives a program its name as a command; a sub-command keeps its second word.
func (c *command) as(p app.Program) app.Program {
	if sub, ok := strings.CutPrefix(p.Name, c.alone); ok {
		return p.As(name + " " + c.name + sub)
	}
	return p.As(name + " " + c.name)
}

// Next is [app.Program.Next] of every program.
func Next(word string) app.Program {
	p, _ := find(word).program(nil)
	return p
}

// find returns the command of that name, nil for none.
func find(word string) *command {
	for _, c := range commands() {
		if c.name == word || c.alone == word {
			return &c
		}
	}
	return nil
}

// isInput reports whether the first word is no command but what a report is
// made of: a flag of the report, a file that is there, or what looks like one.
func isInput(word string) bool {
	if strings.HasPrefix(word, "-") || strings.ContainsAny(word, `/\.*?[`) {
		return true
	}
	return isFile(word)
}

func isFile(word string) bool {
	_, err := os.Stat(word)
	return err == nil
}

// aliases are words that users of other tools try first, with the arguments that they mean, or a hint.
var aliases = map[string]struct {
	args []string
	hint string
}{
	"diff":     {args: []string{"compare"}},
	"top":      {args: []string{"triage"}},
	"kernels":  {args: []string{"triage"}},
	"fuse":     {args: []string{"triage"}},
	"roofline": {args: []string{"light"}},
	"probe":    {args: []string{"capture", "probe"}},
	"timeline": {args: []string{"layers"}},
	"stats":    {args: []string{"report"}},
	"analyze":  {args: []string{"report"}},
	"analyse":  {args: []string{"report"}},
	"open":     {args: []string{"view"}},
	"flame":    {hint: "strata triage FILE --pprof gpu.pb.gz, then go tool pprof -http=: gpu.pb.gz"},
	"html":     {args: []string{"view"}},
	"convert":  {hint: "strata perfetto FILE --annotate x.pftrace"},
	"overlay":  {hint: "strata perfetto FILE --annotate x.json.gz"},
}

// unknown says that a word is no command, and which one was probably meant.
func unknown(stderr io.Writer, word string) int {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name, c.alone)
	}
	names = append(names, extras...)
	hint := ""
	if near := app.Nearest(word, names); near != "" {
		hint = fmt.Sprintf(": did you mean %s %s?", name, near)
	}
	fmt.Fprintf(stderr, "%s: %q is neither a command nor a file%s (see %s help)\n", name, table.Clean(word), hint, name)
	return app.ExitUsage
}

// help prints the help of a command, or the overview.
func help(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		return overview(stdout, stderr)
	}
	c := find(args[0])
	if c == nil {
		return unknown(stderr, args[0])
	}
	return c.run(ctx, append(slices.Clone(args[1:]), "--help"), stdin, stdout, stderr)
}

// The commands that are no programs.
const (
	completionCommand = "completion"
	explainCommand    = "explain"
	helpCommand       = "help"
	schemaCommand     = "schema"
	skillCommand      = "skill"
	versionCommand    = "version"
)

var extras = []string{completionCommand, explainCommand, helpCommand, schemaCommand, skillCommand, versionCommand}

// licenses after version asks for the licences of all modules.
const licenses = "licenses"

// exitCode turns an error of printing into an exit code.
func exitCode(stderr io.Writer, err error) int {
	if err == nil || app.ClosedPipe(err) {
		return app.ExitOK
	}
	fmt.Fprintf(stderr, "%s: %v\n", name, err)
	return app.ExitError
}

// overview prints what there is.
func overview(stdout, stderr io.Writer) int {
	var b strings.Builder
	b.WriteString(`strata reads profiler traces of LLM inference and says where the time goes.

Usage:
  strata FILE|DIR...            the report: health, verdict, passes, operators, what to do first
  strata COMMAND [flags] FILE   one question in depth
  strata COMMAND -h             its flags

Commands:
`)
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-13s %s\n", c.name, c.answers)
	}
	b.WriteString(`  explain       explain a finding: meaning, method, limits, fix
  completion    print a completion script for bash, zsh, fish or powershell
  skill         print the skill for coding agents; --install DIR copies it
  schema        print the JSON Schema of a document
  version       print the version

A way through:
  strata x.json.gz                               what is wrong here, largest first
  strata view x.json.gz                          the same as one page to click through; --html x.html to send it
  strata layers x.json.gz                        each pass, layer and type of layer
  strata breakdown x.json.gz --layer 3           one layer kernel by kernel
  strata compare --a old.json.gz --b new.json.gz --fail-on 3%    a gate: exit code 3 above 3%

FILE is a torch.profiler JSON (plain, gzip, zstd), .pftrace, nsys .sqlite export, rocprofv3 JSON or .db, or XPlane
.xplane.pb; "-" is standard input; a directory is searched. Flags may precede or follow the file.
Exit codes: 0 done, 1 error, 2 wrong usage, 3 a --fail-on condition is met, 4 undecided.
`)
	_, err := io.WriteString(stdout, b.String())
	return exitCode(stderr, err)
}
