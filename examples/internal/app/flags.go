package app

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/published"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/profile"
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

// The values of --hash-layers.
const (
	hashFirst = "first"
	hashLast  = "last"
)

// The values of --boundaries and --hash-layers, the default first.
var (
	boundaryModes = []string{"auto", "modules", "repeats", "anchor-closes", published.AnchorOpens}
	hashLayers    = []string{hashFirst, hashLast}
)

// outputName is the flag that names where results go.
const outputName = "output"

// commonOrder is the order of the common flags in the help.
var commonOrder = []string{
	"trace", "config", "profile", "anchor-kernel", "num-layers", "boundaries", "hash-layers", deviceName,
	"format", "limit", "fields", "budget", "width", outputName, "progress", "quiet", "memory-limit", "repair-order",
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
		fs.StringVar(&env.Trace, "trace", "", "`FILE|DIR`: trace to read (default: the built-in demo)")
	}
	if has(ModelFlags) {
		fs.StringVar(&env.Config, "config", "", "`FILE`: config.json, or a public model's name (default: found near the "+
			"trace)")
		fs.StringVar(&env.Profile, "profile", "", "`NAME|FILE`: model profile (default: from the config)")
		fs.StringVar(&env.Anchor, "anchor-kernel", "",
			"`TEXT`: part of the kernel name that marks blocks (default: the profile's)")
		fs.IntVar(&env.NumLayers, "num-layers", 0, "`N`: number of layers (default: from the config or the trace)")
		env.Boundaries = boundaryModes[0]
		fs.Var(oneOf(&env.Boundaries, boundaryModes), "boundaries",
			"`MODE`: "+strings.Join(boundaryModes, ", "))
		env.HashLayers = hashLayers[0]
		fs.Var(oneOf(&env.HashLayers, hashLayers), "hash-layers",
			"`END`: position of the config's hash layers: "+strings.Join(hashLayers, ", "))
	}
	if has(DeviceFlag) {
		p.deviceFlag(fs, env)
	}
	if has(FormatFlag) {
		p.formatFlags(fs, env)
	}
	if has(OutputFlag) {
		OutputFile(fs, &env.Output, outputName, "`FILE`: write the results to it (default: stdout)")
	}
	if has(ProgressFlag) {
		fs.Var(&env.Progress, "progress", "show progress on stderr: true, false, auto")
		fs.BoolVar(&env.Quiet, "quiet", false, "print errors only on stderr")
	}
	if has(MemoryFlag) {
		fs.Var(&env.memory, "memory-limit", "`SIZE`: memory limit for loading, e.g. 4GB; 0: none")
		fs.BoolVar(&env.RepairOrder, "repair-order", false, "join names and times of scrambled graph records again")
	}
	return fs
}

// deviceName is the flag that names a GPU.
const deviceName = "device"

// deviceFlag defines --device.
func (p Program) deviceFlag(fs *flag.FlagSet, env *Env) {
	usual, words := Busiest, "`GPU`: its number, or "+Busiest
	switch {
	case p.SumsGPUs:
		usual, words = AllGPUs, words+", or "+AllGPUs+" (summed)"
	case p.RanksGPUs:
		usual, words = AllGPUs, words+", or "+AllGPUs+" (each is a rank)"
	case p.AllGPUs:
		words += ", or " + AllGPUs
	}
	fs.StringVar(&env.Device, deviceName, usual, words)
}

// formatFlags defines --format and --width.
func (p Program) formatFlags(fs *flag.FlagSet, env *Env) {
	env.Format = p.Formats[0]
	usage := "`FORMAT`: " + strings.Replace(list(p.formats())+",", ",", " (default),", 1)
	usage = strings.TrimSuffix(usage, ",")
	if more := p.checkFormats(); len(more) > 0 {
		usage += "; gates: " + list(more)
	}
	fs.Var(&choice[Format]{&env.Format, append(p.formats(), p.checkFormats()...), Format.where}, "format", usage)
	p.documentFlags(fs, env)
	fs.IntVar(&env.Width, "width", 0, "`N`: table width in columns (default: terminal)")
}

// check verifies what single flags cannot.
func (e *Env) check(p Program) error {
	if e.NumLayers < 0 {
		return fmt.Errorf("--num-layers %d: want a positive number, or 0 to find it", e.NumLayers)
	}
	if e.NumLayers > profile.MaxLayers {
		return fmt.Errorf("--num-layers %d: want at most %d", e.NumLayers, profile.MaxLayers)
	}
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
	if Format(s) == ShortMarkdown && slices.Contains(c.allowed, T(Markdown)) {
		s = string(Markdown)
	}
	if !slices.Contains(c.allowed, T(s)) {
		text := "want one of " + list(c.allowed)
		if len(c.allowed) == 1 {
			text = "want " + list(c.allowed)
		}
		if c.hint != nil && c.hint(T(s)) != "" {
			text += " (" + c.hint(T(s)) + ")"
		}
		return errors.New(text)
	}
	*c.value = T(s)
	return nil
}

// auto is the word for the choice of a program.
const auto = "auto"

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
		return auto
	case *s == On:
		return "true"
	}
	return "false"
}

// Set parses auto, true or false.
func (s *Switch) Set(text string) error {
	if text == auto {
		*s = Auto
		return nil
	}
	switch on, err := strconv.ParseBool(text); {
	case err != nil:
		return fmt.Errorf("want true, false or auto")
	case on:
		*s = On
	default:
		*s = Off
	}
	return nil
}

// IsBoolFlag allows --progress without a value.
func (s *Switch) IsBoolFlag() bool { return true }

// helpWidth is where the lines of the help are broken.
const helpWidth = 96

// exitsWidth is where the lines on the exit codes are broken: those of most programs are one line.
const exitsWidth = 130

// screens is how many lines the short help has at most.
const screens = 60

// help prints what the program does, how to call it, and its flags: its own first, then the common ones. In full each
// flag has all of its text. Otherwise it has one line, and flags beyond two screens are only named.
func (p Program) help(w io.Writer, fs *flag.FlagSet, full bool) error {
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
			b.WriteString(" (from a checkout, write \"go run ./examples/\" before each)")
		}
		b.WriteString(":\n  " + strings.Join(p.Examples, "\n  ") + "\n")
	}
	own, more := p.ownFlags(fs)
	exits := p.exits(full)
	left := func(foot int) int { // lines for flags, above a foot
		if full {
			return math.MaxInt
		}
		return max(0, screens-strings.Count(b.String(), "\n")-foot-strings.Count(exits, "\n"))
	}
	writeFlags(&b, fs, "Flags", own, full, left(14))
	switch {
	case full:
		writeFlags(&b, fs, p.MoreTitle, more, true, left(0))
	case len(more) > 0:
		fmt.Fprintf(&b, "\n%s: %d flags, see --help\n", p.MoreTitle, len(more))
	}
	writeFlags(&b, fs, "Common flags", commonOrder, full, left(8))
	if full && p.Common&TraceFlag != 0 {
		b.WriteString("\nWithout a trace, the built-in demo is read. Flags may precede or follow the file.\n")
	}
	b.WriteString("\n" + exits + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// exits are the lines on the exit codes.
func (p Program) exits(full bool) string {
	text := "Exit codes: 0 done, 1 error, 2 wrong usage"
	switch {
	case p.Exits != "":
		text += ", " + p.Exits
	case len(p.FailOn) > 0 || p.Judges:
		text += ", 3 a --fail-on condition is met, 4 undecided"
	}
	text += "."
	if !full {
		text += " --help describes every flag in full."
	}
	return strings.Join(table.Fill(text, exitsWidth), "\n")
}

// ownFlags returns the program's flags that are not common, and those of its second list.
func (p Program) ownFlags(fs *flag.FlagSet) (own, more []string) {
	if p.More != nil {
		second := flag.NewFlagSet("", flag.ContinueOnError)
		p.More(second)
		second.VisitAll(func(f *flag.Flag) { more = append(more, f.Name) })
	}
	fs.VisitAll(func(f *flag.Flag) {
		if _, old := f.Value.(*obsoleteValue); !old && !slices.Contains(commonOrder, f.Name) &&
			!slices.Contains(more, f.Name) {
			own = append(own, f.Name)
		}
	})
	for _, name := range slices.Backward(p.First) {
		at := slices.Index(own, name)
		own = slices.Insert(slices.Delete(own, at, at+1), 0, name)
	}
	for _, name := range p.Last {
		at := slices.Index(own, name)
		own = append(slices.Delete(own, at, at+1), name)
	}
	return own, more
}

// writeFlags prints the named flags that fs has under a title: in full, or a line each for as many as there are lines.
func writeFlags(b *strings.Builder, fs *flag.FlagSet, title string, names []string, full bool, lines int) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return fs.Lookup(name) == nil })
	if len(names) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for i, name := range names {
		if i == lines && i < len(names)-1 { // one flag takes a line with its text, too
			for _, line := range table.Fill("--"+strings.Join(names[i:], ", --"), helpWidth) {
				b.WriteString("  " + line + "\n")
			}
			return
		}
		f := fs.Lookup(name)
		kind, text := flag.UnquoteUsage(f)
		text = strings.TrimPrefix(text, kind+": ") + defaultText(f)
		head := strings.TrimSpace("--" + f.Name + " " + kind)
		if full {
			b.WriteString("  " + head + "\n        " + strings.Join(table.Fill(text, helpWidth-8), "\n        ") + "\n")
			continue
		}
		head = fmt.Sprintf("  %-26s ", head)
		short := table.Fill(text, max(helpWidth+14-len(head), helpWidth/2))
		if len(short) > 1 {
			short[0] += " …"
		}
		b.WriteString(head + short[0] + "\n")
	}
}

// defaultText is the default of a flag whose description does not say it, "" for nothing, no and 0.
func defaultText(f *flag.Flag) string {
	if strings.Contains(f.Usage, "default") || slices.Contains([]string{"", "false", "0", "0s", "-1"}, f.DefValue) {
		return ""
	}
	return " (default: " + f.DefValue + ")"
}
