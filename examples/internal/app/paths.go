package app

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/internal/atomicfile"
	"github.com/llmstrata/strata/trace"
)

// outputPath is the value of a flag that names a file to write.
type outputPath struct {
	path *string
	over *over // nil where it replaces no input
}

func (o *outputPath) Set(s string) error { *o.path = s; return nil }

func (o *outputPath) String() string {
	if o == nil || o.path == nil {
		return ""
	}
	return *o.path
}

// OutputFile defines a flag that names a file which the program writes. Every
// such flag must be defined by it: before anything is read, a file that is also
// an input or another output is refused as wrong usage. All other flags whose
// placeholder says FILE, DIR, file or directory name inputs, and so do the
// arguments.
func OutputFile(fs *flag.FlagSet, path *string, name, usage string) {
	fs.Var(&outputPath{path: path}, name, usage)
}

// List is the value of a flag that may be given several times.
type List []string

// Set implements flag.Value.
func (f *List) Set(s string) error { *f = append(*f, s); return nil }

// String implements flag.Value.
func (f *List) String() string { return strings.Join(*f, ", ") }

// Paths returns what was given, with the labels that a program may allow.
func (f *List) Paths() []string { return *f }

// MayReplace lets the output of one flag replace the input of another where
// the user says so with a third, the switch replace.
func MayReplace(fs *flag.FlagSet, output, input, replace string) {
	fs.Lookup(output).Value.(*outputPath).over = &over{input, replace}
}

// over is what an output may replace, and the switch that says so.
type over struct{ input, replace string }

// isPath reports whether a flag's value names a file or directory.
func isPath(f *flag.Flag) bool {
	kind, _ := flag.UnquoteUsage(f)
	return slices.ContainsFunc([]string{"FILE", "DIR", "file", "directory"}, func(word string) bool {
		return strings.Contains(kind, word)
	})
}

// named is a file that the command line names.
type named struct {
	by   string // the flag or argument, as the user calls it
	path string
	over *over // of an output
}

// checkPaths refuses an output that is an input or another output, under
// whatever name, before anything is read. Package atomicfile refuses again what
// was really read, when the output is put in its place.
func checkPaths(flags *flag.FlagSet, args []string, stdin io.Reader) error {
	var ins []named
	outs := outputs(flags)
	var err error
	flags.Visit(func(f *flag.Flag) {
		if o, ok := f.Value.(*outputPath); ok {
			if *o.path == stdio && f.Name != outputName {
				err = fmt.Errorf("--%s -: standard output has the results: name a file", f.Name)
			}
		} else if isPath(f) {
			for _, v := range paths(f.Value) {
				ins = append(ins, spellings("--"+f.Name, v)...)
			}
		}
	})
	if err != nil {
		return err
	}
	for _, a := range args {
		ins = append(ins, spellings("the argument", a)...)
	}
	for _, in := range ins {
		atomicfile.NotePath(in.path)
	}
	if f, ok := stdin.(*os.File); ok {
		atomicfile.Note("the standard input", f)
	}
	for i, out := range outs {
		for _, other := range outs[:i] {
			if sameOutput(out.path, other.path) {
				return Usagef("%s and %s both write %s: name two files", other.by, out.by, out.path)
			}
		}
		info, err := os.Stat(out.path)
		if err != nil || !info.Mode().IsRegular() {
			continue // nothing there that could be lost
		}
		if f, ok := stdin.(*os.File); ok && isFile(f, info) {
			return Usagef("%s %s is the standard input: it would be replaced, so name another file", out.by, out.path)
		}
		for _, in := range ins {
			if !in.reads(info) {
				continue
			}
			switch o := out.over; {
			case o == nil || in.by != "--"+o.input:
				return Usagef("%s %s is read by %s: it would be replaced, so name another file", out.by, out.path,
					in.by)
			case flags.Lookup(o.replace).Value.String() != strconv.FormatBool(true):
				return Usagef("%s %s is read by %s: with --%s it is replaced", out.by, out.path, in.by, o.replace)
			}
		}
	}
	return nil
}

// outputs returns the files that flags name for writing.
func outputs(flags *flag.FlagSet) (outs []named) {
	flags.Visit(func(f *flag.Flag) {
		if o, ok := f.Value.(*outputPath); ok && *o.path != stdio {
			outs = append(outs, named{"--" + f.Name, *o.path, o.over})
		}
	})
	return outs
}

// checkWritable refuses outputs that cannot be written where they are, before a large trace is read for them.
func checkWritable(flags *flag.FlagSet) error {
	for _, out := range outputs(flags) {
		info, err := os.Stat(out.path)
		if err == nil && info.IsDir() {
			return fmt.Errorf("%s %s is a directory (name a file in it)", out.by, out.path)
		}
		dir := filepath.Dir(out.path)
		if _, missing := os.Stat(dir); err != nil && errors.Is(missing, fs.ErrNotExist) {
			return fmt.Errorf("%s %s: the directory %s does not exist (create it first)", out.by, out.path, dir)
		}
	}
	return nil
}

// paths returns the paths that the value of a flag holds.
func paths(v flag.Value) []string {
	if several, ok := v.(interface{ Paths() []string }); ok {
		return several.Paths()
	}
	return []string{v.String()}
}

// spellings returns what a value may name: the path itself, and what follows a
// label. One too many does no harm, for only a path that leads to an output's
// file counts.
func spellings(by, value string) []named {
	all := []named{{by: by, path: value}}
	if _, path, ok := strings.Cut(value, "="); ok {
		all = append(all, named{by: by, path: path})
	}
	return all
}

// reads reports whether the input is this file, or a directory with this trace.
func (n named) reads(file os.FileInfo) bool {
	info, err := os.Stat(n.path)
	if err != nil {
		return false
	}
	if !info.IsDir() {
		return os.SameFile(info, file)
	}
	list, err := trace.ListFiles(n.path, strata.Formats()...)
	if err != nil {
		return false // the program reports it
	}
	return slices.ContainsFunc(list, func(f trace.File) bool {
		at, err := os.Stat(f.Path)
		return err == nil && os.SameFile(at, file)
	})
}

func isFile(f *os.File, info os.FileInfo) bool {
	at, err := f.Stat()
	return err == nil && os.SameFile(at, info)
}

// sameOutput reports whether two names lead to one regular file, or would make
// one.
func sameOutput(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return x.Mode().IsRegular() && os.SameFile(x, y)
	}
	return errA != nil && errB != nil && resolved(a) == resolved(b)
}

// resolved returns the path of a file that is not there yet, without the links
// of its directory.
func resolved(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	dir, base := filepath.Split(path)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return filepath.Join(dir, base)
}

// Paths returns the names of a program's flags that name files to read and
// files to write, for tests over all of them.
func Paths(fs *flag.FlagSet) (ins, outs []string) {
	fs.VisitAll(func(f *flag.Flag) {
		if _, ok := f.Value.(*outputPath); ok {
			outs = append(outs, f.Name)
		} else if isPath(f) {
			ins = append(ins, f.Name)
		}
	})
	return ins, outs
}
