package app

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/goccy/go-json"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/trace"
)

// Env is what a running program sees: the common flags' values and the
// streams.
type Env struct {
	// Trace is --trace, empty for the demo.
	Trace string
	// Config is --config, empty to look for one.
	Config string
	// Profile is --profile, a name or a file, empty to infer one.
	Profile string
	// Anchor is --anchor-kernel, empty for the profile's.
	Anchor string
	// NumLayers is --num-layers, 0 where it is to be found.
	NumLayers int
	// Boundaries is --boundaries, one of auto, modules, repeats,
	// anchor-closes, anchor-opens.
	Boundaries string
	// HashLayers is --hash-layers, first or last.
	HashLayers string
	// Device is --device: a number, or Busiest, which "" is too.
	Device string
	// Format is --format, one of the program's formats.
	Format Format
	// Output is --output, empty or "-" for stdout.
	Output string
	// Width is how many characters wide the results may be, 0 where nothing
	// limits them.
	Width int
	// Color says that the results may be coloured.
	Color bool
	// RepairOrder is --repair-order.
	RepairOrder bool
	// Progress is --progress.
	Progress Switch
	// Quiet is --quiet.
	Quiet bool
	// ReadsRanks says that the program reads the other ranks of a directory by itself.
	ReadsRanks bool

	// FailOn is --fail-on, AllowInconclusive the flag of that name; see [Env.Judge].
	FailOn            Conditions
	AllowInconclusive bool

	// Args are the arguments after the flags.
	Args []string
	// Stdin is the program's input.
	Stdin io.Reader
	// Stdout takes the results: stdout or the output file, buffered.
	Stdout io.Writer
	// Stderr takes notes; see also [Env.Notef].
	Stderr io.Writer

	given    *flag.FlagSet // with the flags that the user set
	cut      Cut           // of documents
	progress *progress
	checks   checks
	next     func(command string) Program
	memory   memoryLimit
	health   *trace.HealthStatus // the worst of what was read, shared by copies; nil: nothing yet
}

// Notef prints a note for the user, one line on stderr.
func (e *Env) Notef(format string, args ...any) {
	if e.Quiet {
		return
	}
	for i, a := range args {
		if err, ok := a.(error); ok {
			args[i] = Plain(err)
		}
	}
	e.progress.clear()
	fmt.Fprintln(e.Stderr, table.Clean(fmt.Sprintf(format, args...)))
}

// Given reports whether the user set a flag.
func (e *Env) Given(name string) (given bool) {
	e.given.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	return given
}

// carried are the flags by which a command reads a trace as this program did: those that the user gave of what is read
// and counted, as far as the command has them, and the number of one GPU of several, nil for none.
// Without model those that say what the model is are left out.
func (e *Env) carried(command string, gpu *int, model bool) (out []strata.Flag) {
	if e.next == nil {
		return nil
	}
	common := DeviceFlag | MemoryFlag
	if model {
		common |= ModelFlags
	}
	about := Program{Common: common}.flagSet(&Env{})
	new(Reckoning).Register(about)
	Recordings(about, Newest)
	has := e.next(command).FlagSet()
	e.given.Visit(func(f *flag.Flag) {
		to, value := has.Lookup(f.Name), f.Value.String()
		if about.Lookup(f.Name) == nil || to == nil || value == to.DefValue || gpu != nil && f.Name == deviceName {
			return
		}
		_, err := os.Stat(value)
		if b, is := f.Value.(interface{ IsBoolFlag() bool }); is && b.IsBoolFlag() {
			value = ""
		}
		out = append(out, strata.Flag{Name: f.Name, Value: value, File: isPath(f) && err == nil})
	})
	if gpu != nil && has.Lookup(deviceName) != nil {
		out = append(out, strata.Flag{Name: deviceName, Value: strconv.Itoa(*gpu)})
	}
	return out
}

// Demo reports whether the program runs on the built-in demo trace.
func (e *Env) Demo() bool { return e.Trace == "" }

// Step shows how far a long step is: done of total, in bytes, or only done
// where total is 0. It does nothing where progress is off and is cheap to call
// often. It is safe for concurrent use.
func (e *Env) Step(label string, done, total int64) { e.progress.show(label, done, total) }

// WriteJSON writes one document, indented, with names of kernels as they are: < and > are not escaped. It has no null
// lists.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(withoutNulls(v))
}
