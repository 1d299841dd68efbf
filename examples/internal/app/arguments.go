package app

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"slices"
	"strings"
)

// Obsolete is a flag of an older command line that has no effect any more. It is accepted, with a note, so that scripts
// keep working.
type Obsolete struct {
	Name string
	// Value says that the flag has a value; without it the flag is a switch.
	Value bool
	// Note says what happens instead, worded to follow the flag's name.
	Note string
}

// obsoleteValue remembers that an obsolete flag was given.
type obsoleteValue struct{ Obsolete }

func (*obsoleteValue) String() string     { return "" }
func (*obsoleteValue) Set(string) error   { return nil }
func (o *obsoleteValue) IsBoolFlag() bool { return !o.Value }

// noteObsolete notes which given flags have no effect.
func noteObsolete(fs *flag.FlagSet, env *Env) {
	fs.Visit(func(f *flag.Flag) {
		if o, ok := f.Value.(*obsoleteValue); ok {
			env.Notef("--%s %s", f.Name, o.Note)
		}
	})
}

// parseAnywhere reads flags before, between and after the arguments, which it returns. What follows "--" is arguments.
func parseAnywhere(fs *flag.FlagSet, args []string) (rest []string, err error) {
	args = joinSwitches(fs, long(fs, args))
	for {
		if err := fs.Parse(args); err != nil {
			return nil, suggestFlag(fs, err)
		}
		if err := finite(fs); err != nil {
			return nil, err
		}
		left := fs.Args()
		if len(left) == 0 {
			return rest, nil
		}
		if read := len(args) - len(left); read > 0 && args[read-1] == "--" {
			return append(rest, left...), nil
		}
		rest, args = append(rest, left[0]), left[1:]
	}
}

// shorts are the short flags and the long flags that they mean.
var shorts = map[string]string{"-o": "output", "-q": "quiet", "--json": "format=json"}

// long writes short flags out, where the program has the long one and none of the short name. Those that are the
// value of a flag before them stay.
func long(fs *flag.FlagSet, args []string) []string {
	out := slices.Clone(args)
	for i, arg := range out {
		if arg == "--" {
			break
		}
		short, value, given := strings.Cut(arg, "=")
		full, ok := shorts[short]
		if !ok || fs.Lookup(strings.TrimLeft(short, "-")) != nil || i > 0 && takesValue(fs, out[i-1]) {
			continue
		}
		if flagName, _, _ := strings.Cut(full, "="); fs.Lookup(flagName) == nil {
			continue
		}
		out[i] = "--" + full
		if given {
			out[i] += "=" + value
		}
	}
	return out
}

// takesValue reports whether a flag without "=" has its value in the next argument.
func takesValue(fs *flag.FlagSet, arg string) bool {
	if !strings.HasPrefix(arg, "-") {
		return false
	}
	f := fs.Lookup(strings.TrimLeft(arg, "-"))
	if f == nil {
		return false
	}
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return !ok || !b.IsBoolFlag()
}

// finite refuses NaN and infinity, with which every comparison with a threshold
// has the same answer.
func finite(fs *flag.FlagSet) (err error) {
	fs.Visit(func(f *flag.Flag) {
		g, ok := f.Value.(flag.Getter)
		if !ok {
			return
		}
		if v, ok := g.Get().(float64); ok && (math.IsNaN(v) || math.IsInf(v, 0)) {
			err = fmt.Errorf("invalid value %q for flag --%s: it must be a finite number", f.Value, f.Name)
		}
	})
	return err
}

// joinSwitches joins the two words "--progress auto": package flag would take the second one for an argument, as it
// does after any boolean flag.
func joinSwitches(fs *flag.FlagSet, args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return append(out, args[i:]...)
		}
		if name, dashed := strings.CutPrefix(arg, "-"); dashed && i+1 < len(args) {
			f := fs.Lookup(strings.TrimPrefix(name, "-"))
			if f != nil && isSwitch(f) && slices.Contains([]string{"auto", "true", "false"}, args[i+1]) {
				arg += "=" + args[i+1]
				i++
			}
		}
		out = append(out, arg)
	}
	return out
}

func isSwitch(f *flag.Flag) bool {
	_, ok := f.Value.(*Switch)
	return ok
}

// suggestFlag words the error of an unknown flag, with the name that was
// probably meant.
func suggestFlag(fs *flag.FlagSet, err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		if value, rest, ok := strings.Cut(err.Error(), " for flag -"); ok {
			return errors.New(value + " for flag --" + rest)
		}
		return err
	}
	var names []string
	fs.VisitAll(func(f *flag.Flag) {
		if _, old := f.Value.(*obsoleteValue); !old {
			names = append(names, f.Name)
		}
	})
	if near := Nearest(name, names); near != "" {
		return fmt.Errorf("unknown flag --%s: did you mean --%s?", strings.TrimPrefix(name, "-"), near)
	}
	return fmt.Errorf("unknown flag --%s", strings.TrimPrefix(name, "-"))
}

// Nearest returns the name that a mistyped word probably means, "" where none
// is near: at most one letter in three, and at least one, is wrong, missing,
// added or swapped with its neighbour, or the word begins exactly one name.
func Nearest(word string, names []string) string {
	const lettersAMistake = 3 // one mistake in so many letters is a slip; more is another word
	word = strings.ToLower(word)
	best, least := "", max(1, len(word)/lettersAMistake)+1
	var begun []string
	for _, n := range names {
		if d := distance(word, n); d < least {
			best, least = n, d
		}
		if word != "" && strings.HasPrefix(n, word) {
			begun = append(begun, n)
		}
	}
	if best == "" && len(begun) == 1 {
		return begun[0]
	}
	return best
}

// distance is how many letters must be changed, added, removed or swapped with
// their neighbour to make one word of the other.
func distance(a, b string) int {
	const longest = 64 // of a name; a longer word is none
	if len(a) > longest || len(b) > longest {
		return math.MaxInt
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// takeTrace makes the argument of a program that reads one trace its --trace.
func (p Program) takeTrace(env *Env) error {
	if p.Args != "" || p.Common&TraceFlag == 0 || len(env.Args) == 0 {
		return nil
	}
	switch {
	case len(env.Args) > 1:
		return fmt.Errorf("%d traces are named, %s and %s among them, and %s reads one: name a directory, or see strata "+
			"report for several", len(env.Args), env.Args[0], env.Args[1], p.Name)
	case env.Trace != "":
		return fmt.Errorf("two traces are named: --trace %s and %s", env.Trace, env.Args[0])
	}
	env.Trace, env.Args = env.Args[0], nil
	return nil
}

// AsksVersion reports whether the first argument asks for the version.
func AsksVersion(args []string) bool { return startsWith(args, "--version", "-version", "-v") }

// AsksHelp reports whether the first argument asks for help.
func AsksHelp(args []string) bool { return startsWith(args, "--help", "-help", "-h") }

func startsWith(args []string, words ...string) bool {
	return len(args) > 0 && slices.Contains(words, args[0])
}

// Choose returns the program that the first argument names, else the usual one, and the arguments that are left.
func Choose(args []string, usual func() Program, named map[string]func() Program) (Program, []string) {
	if len(args) > 0 && named[args[0]] != nil {
		return named[args[0]](), args[1:]
	}
	return usual(), args
}

// unversioned is what the toolchain calls the version of a checkout without one.
const unversioned = "(devel)"

// Version is the module's version, "" for a checkout without one.
func Version() string {
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != unversioned {
		return b.Main.Version
	}
	return ""
}

// commitKey is what the build says the commit under.
const commitKey = "vcs.revision"

// WriteVersion prints which build this is: the module's version, or the commit
// of a checkout, and what built it.
func WriteVersion(w io.Writer, name string) error {
	version, built := "(unknown)", ""
	if b, ok := debug.ReadBuildInfo(); ok {
		version, built = b.Main.Version, ", "+b.GoVersion
		for _, s := range b.Settings {
			if s.Key == commitKey && !strings.Contains(version, s.Value[:min(12, len(s.Value))]) {
				built = ", commit " + s.Value + built
			}
		}
	}
	version = cmp.Or(version, unversioned)
	_, err := fmt.Fprintf(w, "%s %s%s\n", name, version, built)
	return err
}
