package app

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/published"
	"github.com/llmstrata/strata/internal/table"
)

// Common is a set of common flags.
type Common uint

// The common flags, by the groups that go together.
const (
	TraceFlag    Common = 1 << iota // --trace
	ModelFlags                      // --config --profile --anchor-kernel --num-layers --boundaries --hash-layers
	DeviceFlag                      // --device
	FormatFlag                      // --format
	OutputFlag                      // --output
	ProgressFlag                    // --progress
	MemoryFlag                      // --memory-limit --repair-order: how a trace is loaded

	// AllFlags is every common flag.
	AllFlags = TraceFlag | ModelFlags | DeviceFlag | FormatFlag | OutputFlag | ProgressFlag | MemoryFlag
)

// The values of --boundaries and --hash-layers, the default first.
var (
	boundaryModes = []string{"auto", "modules", "repeats", "anchor-closes", published.AnchorOpens}
	hashLayers    = []string{"first", "last"}
)

// commonOrder is the order of the common flags in the help.
var commonOrder = []string{
	"trace", "config", "profile", "anchor-kernel", "num-layers", "boundaries", "hash-layers", "device",
	"format", "limit", "fields", "budget", "width", "output", "progress", "quiet", "memory-limit", "repair-order",
}

// flagSet defines the program's own flags and its common ones into env.
func (p Program) flagSet(env *Env) *flag.FlagSet {
	fs := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // errors and help are printed by Exec
	fs.Usage = func() {}
	if p.Flags != nil {
		p.Flags(fs)
	}
	if p.More != nil {
		p.More(fs)
	}
	if len(p.FailOn) > 0 {
		p.failOnFlags(fs, env)
	}
	for _, o := range p.Obsolete {
		fs.Var(&obsoleteValue{o}, o.Name, "")
	}
	has := func(c Common) bool { return p.Common&c != 0 }
	if has(TraceFlag) {
		fs.StringVar(&env.Trace, "trace", "", "trace to read: `FILE|DIR` of torch-profiler JSON (plain, gzip or zstd) or an nsys .sqlite export; empty: the built-in demo trace")
	}
	if has(ModelFlags) {
		fs.StringVar(&env.Config, "config", "", "the model: its config.json `FILE`, or the name of a public one (llama-3.1-70b); empty: looked for beside the trace, in server_args.json and in the Hugging Face cache")
		fs.StringVar(&env.Profile, "profile", "", "model profile, `NAME|FILE`; empty: inferred from the config")
		fs.StringVar(&env.Anchor, "anchor-kernel", "",
			"`SUBSTRING` of the kernel name that marks layer blocks; empty: the profile's")
		fs.IntVar(&env.NumLayers, "num-layers", 0, "`NUMBER` of layers; 0: from the config, else found in the trace")
		env.Boundaries = boundaryModes[0]
		fs.Var(oneOf(&env.Boundaries, boundaryModes), "boundaries",
			"how layer boundaries are found, a `MODE` of: "+strings.Join(boundaryModes, ", "))
		env.HashLayers = hashLayers[0]
		fs.Var(oneOf(&env.HashLayers, hashLayers), "hash-layers",
			"which `END` of the model the config's hash layers are at: "+strings.Join(hashLayers, ", "))
	}
	if has(DeviceFlag) {
		p.deviceFlag(fs, env)
	}
	if has(FormatFlag) {
		p.formatFlags(fs, env)
	}
	if has(OutputFlag) {
		OutputFile(fs, &env.Output, "output", "write to this `FILE`, all or nothing; empty or -: stdout")
	}
	if has(ProgressFlag) {
		fs.Var(&env.Progress, "progress", "progress on stderr: true, false, or auto: a line on a terminal, every 30 s elsewhere")
		fs.BoolVar(&env.Quiet, "quiet", false, "no progress and no notes on stderr; errors stay")
	}
	if has(MemoryFlag) {
		fs.Var(&env.memory, "memory-limit", "how much memory loading a trace may need, a `SIZE` such as 4GB; 0: no limit; auto: what the system, the container and ulimit leave")
		fs.BoolVar(&env.RepairOrder, "repair-order", false,
			"where the trace's health says scrambled-records: join the names of graph kernels, in the order of the file, with their times; a note says so")
	}
	return fs
}

// deviceFlag defines --device.
func (p Program) deviceFlag(fs *flag.FlagSet, env *Env) {
	usual, words := Busiest, Busiest+": the one with most GPU time"
	switch {
	case p.SumsGPUs:
		usual, words = AllGPUs, words+"; "+AllGPUs+": times are sums over them"
	case p.AllGPUs:
		words += "; " + AllGPUs + ": every one"
	}
	fs.StringVar(&env.Device, "device", usual, "which GPU of the trace, its `NUMBER`; "+words)
}

// formatFlags defines --format and --width.
func (p Program) formatFlags(fs *flag.FlagSet, env *Env) {
	env.Format = p.Formats[0]
	usage := "output `FORMAT`: " + list(p.formats())
	if more := p.checkFormats(); len(more) > 0 {
		usage += "; and what --fail-on says, alone, for build servers: " + list(more)
	}
	fs.Var(&choice[Format]{&env.Format, append(p.formats(), p.checkFormats()...), Format.where}, "format", usage)
	p.documentFlags(fs, env)
	fs.IntVar(&env.Width, "width", 0, "how many `CHARACTERS` wide tables of text may be; 0: as the terminal, and without one as they come")
}

// check verifies what single flags cannot.
func (e *Env) check(p Program) error {
	if e.NumLayers < 0 {
		return fmt.Errorf("--num-layers %d: want a positive number, or 0 to find it", e.NumLayers)
	}
	e.plainMarkdown = !slices.Contains(p.Formats, Markdown)
	if err := e.checkCut(); err != nil {
		return err
	}
	return e.checkWidth()
}

// choice is a flag with a closed set of values.
type choice[T ~string] struct {
	value   *T
	allowed []T
	hint    func(T) string // on a value that is not allowed; nil: none
}

// oneOf returns a flag that accepts the allowed values only.
func oneOf[T ~string](value *T, allowed []T) *choice[T] { return &choice[T]{value, allowed, nil} }

// Choice defines a flag that accepts the allowed values only, the first being
// the default, and returns where its value is.
func Choice[T ~string](fs *flag.FlagSet, name, usage string, allowed ...T) *T {
	value := allowed[0]
	fs.Var(oneOf(&value, allowed), name, usage+": "+list(allowed))
	return &value
}

// Values returns the values that a flag accepts where these are a closed set,
// nil otherwise.
func Values(f *flag.Flag) []string {
	if c, ok := f.Value.(interface{ values() []string }); ok {
		return c.values()
	}
	return nil
}

// list joins words for a sentence.
func list[T ~string](words []T) string { return strings.Join(plain(words), ", ") }

func plain[T ~string](words []T) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return out
}

func (c *choice[T]) values() []string { return plain(c.allowed) }

func (c *choice[T]) String() string {
	if c == nil || c.value == nil {
		return ""
	}
	return string(*c.value)
}

func (c *choice[T]) Set(s string) error {
	if Format(s) == shortMarkdown && slices.Contains(c.allowed, T(Markdown)) {
		s = string(Markdown)
	}
	if !slices.Contains(c.allowed, T(s)) {
		text := "want one of " + list(c.allowed)
		if c.hint != nil && c.hint(T(s)) != "" {
			text += " (" + c.hint(T(s)) + ")"
		}
		return errors.New(text)
	}
	*c.value = T(s)
	return nil
}

// Switch is a boolean flag with a third state, auto, which is its zero value.
type Switch uint8

// The states of a switch.
const (
	Auto Switch = iota
	On
	Off
)

// String returns auto, true or false.
func (s *Switch) String() string {
	switch {
	case s == nil || *s == Auto:
		return "auto"
	case *s == On:
		return "true"
	}
	return "false"
}

// Set parses auto, true or false.
func (s *Switch) Set(text string) error {
	switch text {
	case "auto":
		*s = Auto
	case "true", "1":
		*s = On
	case "false", "0":
		*s = Off
	default:
		return fmt.Errorf("want true, false or auto")
	}
	return nil
}

// IsBoolFlag allows --progress without a value.
func (s *Switch) IsBoolFlag() bool { return true }

// helpWidth is where the lines of the help are broken.
const helpWidth = 96

// help prints what the program does, how to call it, and every flag with its
// default: the program's own first, then the common ones.
func (p Program) help(w io.Writer, fs *flag.FlagSet) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s - %s\n\nUsage:\n  %s [flags]", p.Name, strings.TrimSpace(p.Summary), p.Name)
	switch {
	case p.Args != "":
		b.WriteString(" " + p.Args)
	case p.Common&TraceFlag != 0:
		b.WriteString(" [FILE|DIR]")
	}
	b.WriteString("\n")
	if len(p.Examples) > 0 {
		b.WriteString("\nExamples")
		if !p.Installed {
			b.WriteString(" (from a checkout, put \"go run ./examples/\" in front)")
		}
		b.WriteString(":\n")
		for _, e := range p.Examples {
			b.WriteString("  " + e + "\n")
		}
	}
	var own, more []string
	if p.More != nil {
		apart := flag.NewFlagSet("", flag.ContinueOnError)
		p.More(apart)
		apart.VisitAll(func(f *flag.Flag) { more = append(more, f.Name) })
	}
	fs.VisitAll(func(f *flag.Flag) {
		if _, old := f.Value.(*obsoleteValue); old {
			return
		}
		if !slices.Contains(commonOrder, f.Name) && !slices.Contains(more, f.Name) {
			own = append(own, f.Name)
		}
	})
	writeFlags(&b, fs, "Flags of this program", own)
	writeFlags(&b, fs, p.MoreTitle, more)
	writeFlags(&b, fs, "Common flags", commonOrder)
	if p.Common&TraceFlag != 0 {
		b.WriteString("\nWithout a trace the program shows a small one that is built in. Flags may stand before and behind the file.\n")
	}
	judging := ""
	if len(p.FailOn) > 0 {
		judging = ", 3 a condition is met, 4 it cannot be decided"
	}
	b.WriteString("Exit codes: 0 done, 1 error, 2 wrong usage" + judging +
		". Results go to stdout, notes to stderr. --version prints the build.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// shortHelp is help with a line a flag: what does not fit, and the flags of the second list, are in the long one.
func (p Program) shortHelp(w io.Writer, fs *flag.FlagSet) error {
	const most = 60 // lines, two screens
	var long strings.Builder
	if err := p.help(&long, fs); err != nil {
		return err
	}
	head, _, _ := strings.Cut(long.String(), "\nFlags of this program:\n")
	head, _, _ = strings.Cut(head, "\nCommon flags:\n")
	var own, common []string
	var more map[string]bool
	if p.More != nil {
		apart := flag.NewFlagSet("", flag.ContinueOnError)
		p.More(apart)
		more = map[string]bool{}
		apart.VisitAll(func(f *flag.Flag) { more[f.Name] = true })
	}
	fs.VisitAll(func(f *flag.Flag) {
		_, old := f.Value.(*obsoleteValue)
		switch {
		case old || more[f.Name]:
		case slices.Contains(commonOrder, f.Name):
			common = append(common, f.Name)
		default:
			own = append(own, f.Name)
		}
	})
	var b strings.Builder
	b.WriteString(head)
	room := most - strings.Count(head, "\n") - 14
	list := func(title string, names []string) {
		if len(names) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n%s:\n", title)
		for i, name := range names {
			if room == 0 {
				for _, line := range table.Fill("--"+strings.Join(names[i:], ", --"), helpWidth) {
					b.WriteString("  " + line + "\n")
				}
				return
			}
			room--
			f := fs.Lookup(name)
			kind, usage := flag.UnquoteUsage(f)
			if kind != "" {
				kind = " " + kind
			}
			left := fmt.Sprintf("  --%-24s ", f.Name+kind)
			lines := table.Fill(usage+defaultText(f), max(helpWidth+14-len(left), helpWidth/2))
			if len(lines) > 1 {
				lines[0] += " …"
			}
			b.WriteString(left + lines[0] + "\n")
		}
	}
	list("Flags", own)
	if len(more) > 0 {
		fmt.Fprintf(&b, "\n%s: %d flags, see --help\n", p.MoreTitle, len(more))
	}
	room = max(0, most-strings.Count(b.String(), "\n")-8)
	list("Common flags", common)
	b.WriteString("\n--help has every flag in full. Exit codes: 0 done, 1 error, 2 usage, 3 a --fail-on condition is met, 4 undecided.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// writeFlags prints the named flags that fs has under a title.
func writeFlags(b *strings.Builder, fs *flag.FlagSet, title string, names []string) {
	first := true
	for _, name := range names {
		f := fs.Lookup(name)
		if f == nil {
			continue
		}
		if first {
			fmt.Fprintf(b, "\n%s:\n", title)
			first = false
		}
		kind, usage := flag.UnquoteUsage(f)
		if kind != "" {
			kind = " " + kind
		}
		fmt.Fprintf(b, "  --%s%s\n", f.Name, kind)
		for _, line := range table.Fill(usage+defaultText(f), helpWidth-8) {
			b.WriteString("        " + line + "\n")
		}
	}
}

// defaultText says what a flag is without being given, where its description
// does not.
func defaultText(f *flag.Flag) string {
	switch {
	case strings.Contains(f.Usage, "default: "), strings.Contains(f.Usage, "empty: "):
		return ""
	case f.DefValue == "":
		return " (default empty)"
	}
	return " (default " + f.DefValue + ")"
}
