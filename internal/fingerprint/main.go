package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"github.com/llmstrata/strata/internal/atomicfile"
)

func main() {
	same, err := run(context.Background(), os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fingerprint:", err)
		os.Exit(2)
	}
	if !same {
		os.Exit(1)
	}
}

// run does what the arguments say; same is false where -diff found changes.
func run(ctx context.Context, args []string, stdout io.Writer) (same bool, err error) {
	fs := flag.NewFlagSet("fingerprint", flag.ContinueOnError)
	diff := fs.Bool("diff", false, "compare two fingerprints, given as arguments OLD NEW")
	out := fs.String("o", "", "write to this `FILE`, all or nothing; empty: stdout")
	only := fs.String("only", "", "run only what this `REGEXP` finds in \"program trace format\"")
	keep := fs.String("keep", "", "keep the documents in this `DIR`")
	jobs := fs.Int("j", 2, "how many programs run at a time")
	if err := fs.Parse(args); err != nil {
		return false, err
	}
	if *diff {
		if fs.NArg() != 2 {
			return false, fmt.Errorf("-diff takes two files, OLD NEW; got %d arguments", fs.NArg())
		}
		return compare(stdout, fs.Arg(0), fs.Arg(1))
	}
	want, err := regexp.Compile(*only)
	if err != nil {
		return false, fmt.Errorf("-only: %w", err)
	}
	lines, err := fingerprint(ctx, want, *keep, *jobs)
	if err != nil {
		return false, err
	}
	text := strings.Join(lines, "")
	if *out == "" {
		_, err = io.WriteString(stdout, text)
		return true, err
	}
	return true, atomicfile.Write(*out, 0o666, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// fingerprint builds the programs, lays the traces out and runs every job that
// want finds, n at a time. The lines come in the order of the jobs.
func fingerprint(ctx context.Context, want *regexp.Regexp, keep string, n int) ([]string, error) {
	scratch, err := os.MkdirTemp("", "fingerprint")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	if keep != "" {
		if keep, err = filepath.Abs(keep); err != nil {
			return nil, err
		}
	}
	s := &stage{dir: scratch, keep: keep}
	traces, err := s.layOut()
	if err != nil {
		return nil, err
	}
	var todo []job
	for _, j := range jobs(traces) {
		if want.MatchString(j.key()) {
			todo = append(todo, j)
		}
	}
	if err := s.build(ctx, todo); err != nil {
		return nil, err
	}
	return s.runAll(ctx, todo, n)
}

// compare prints the documents that differ, are new or are gone.
func compare(w io.Writer, oldPath, newPath string) (same bool, err error) {
	before, err := read(oldPath)
	if err != nil {
		return false, err
	}
	after, err := read(newPath)
	if err != nil {
		return false, err
	}
	var out []string
	for key, sum := range before {
		switch now, ok := after[key]; {
		case !ok:
			out = append(out, "gone    "+key)
		case now != sum:
			out = append(out, "changed "+key)
		}
	}
	for key := range after {
		if _, ok := before[key]; !ok {
			out = append(out, "new     "+key)
		}
	}
	sort.Strings(out)
	for _, line := range out {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintf(w, "%d of %d documents differ\n", len(out), max(len(before), len(after)))
	return len(out) == 0, nil
}

// read returns the hash of each document of a fingerprint.
func read(path string) (map[string]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		cut := strings.LastIndexByte(line, ' ')
		if cut < 0 {
			return nil, fmt.Errorf("%s:%d: not a line of a fingerprint: %q", path, i+1, line)
		}
		sums[line[:cut]] = line[cut+1:]
	}
	return sums, nil
}
