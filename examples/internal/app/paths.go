package app

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/trace"
)

// outputPath is the value of a flag that names a file to write.
type outputPath struct{ path *string }

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
	fs.Var(&outputPath{path}, name, usage)
}

// HTMLFile defines --html, the same in all programs that have it.
func HTMLFile(fs *flag.FlagSet, path *string) {
	OutputFile(fs, path, "html", "also write a page for browsers to this `FILE`: one file that needs no network")
}

// isPath reports whether a flag's value names a file or directory.
func isPath(f *flag.Flag) bool {
	kind, _ := flag.UnquoteUsage(f)
	for _, word := range []string{"FILE", "DIR", "file", "directory"} {
		if strings.Contains(kind, word) {
			return true
		}
	}
	return false
}

// named is a file that the command line names.
type named struct {
	by   string // the flag or argument, as the user calls it
	path string
}

// checkPaths refuses an output that is an input or another output, under
// whatever name: that would replace the user's file.
func checkPaths(fs *flag.FlagSet, args []string, stdin io.Reader) error {
	var ins, outs []named
	fs.Visit(func(f *flag.Flag) {
		value := f.Value.String()
		if _, ok := f.Value.(*outputPath); ok {
			if value != "-" { // standard output
				outs = append(outs, named{"--" + f.Name, value})
			}
		} else if isPath(f) {
			ins = append(ins, spellings("--"+f.Name, value)...)
		}
	})
	for _, a := range args {
		ins = append(ins, spellings("the argument", a)...)
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
			if in.reads(info) {
				return Usagef("%s %s is read by %s: it would be replaced, so name another file", out.by, out.path, in.by)
			}
		}
	}
	return nil
}

// spellings returns what a value may name: the path itself, the parts of a list
// and what follows a label. One too many does no harm, for only a path that
// leads to an output's file counts.
func spellings(by, value string) []named {
	all := []named{{by, value}}
	for _, part := range strings.Split(value, ", ") {
		all = append(all, named{by, part})
		if _, path, ok := strings.Cut(part, "="); ok {
			all = append(all, named{by, path})
		}
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
		return false // the program tells it
	}
	for _, f := range list {
		if at, err := os.Stat(f.Path); err == nil && os.SameFile(at, file) {
			return true
		}
	}
	return false
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
