package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/tools/repository"
)

// programs are what is asked of each trace. TRACE is its file, NEXT the file of the next one.
const programs = `
report TRACE --format json
report TRACE
triage TRACE --format json
triage TRACE --format text
host TRACE --format json
host TRACE
light TRACE --format json
light TRACE
layers TRACE --format json
layers TRACE
breakdown TRACE --format json
breakdown TRACE --format compute-flow
breakdown TRACE
export TRACE --format ndjson
digest TRACE
compare --a TRACE --b NEXT --format json
compare --a TRACE --b NEXT
`

func main() {
	repository.Run("figures", func() error { return run(os.Args[1:], os.Stdout) })
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("figures", flag.ContinueOnError)
	before := flags.String("before", "", "the strata `PROGRAM` of the state before")
	after := flags.String("after", "", "the strata `PROGRAM` of the state after")
	dir := flags.String("traces", "../shared/traces", "`DIR` of the traces that both read")
	reasons := flags.String("reasons", "", "`FILE` of expected differences")
	only := flags.String("only", "", "programs to run, a `REGEXP`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *before == "" || *after == "" {
		return errors.New("-before and -after are needed")
	}
	chosen, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	expected, err := readReasons(*reasons)
	if err != nil {
		return err
	}
	traces, err := tracesIn(*dir)
	if err != nil {
		return err
	}
	found := differences{}
	for i, trace := range traces {
		for line := range strings.Lines(strings.TrimSpace(programs)) {
			words := strings.Fields(line)
			if !chosen.MatchString(strings.TrimSpace(line)) {
				continue
			}
			for k, word := range words {
				switch word {
				case "TRACE":
					words[k] = trace
				case "NEXT":
					words[k] = traces[(i+1)%len(traces)]
				}
			}
			old, err := ask(*before, words)
			if err != nil {
				return err
			}
			now, err := ask(*after, words)
			if err != nil {
				return err
			}
			found.add(words[0], trace, old, now)
		}
	}
	fmt.Fprintf(stdout, "%d traces, %d values compared\n", len(traces), found.values)
	return found.print(stdout, expected)
}

// tracesIn lists the files of a directory that may be traces.
func tracesIn(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) != ".md" {
			files = append(files, path)
		}
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no trace", dir)
	}
	return files, err
}

// ask runs a program and returns what it says as values by place. A program that fails says so: what it writes
// and its exit code are values, too.
func ask(program string, args []string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	values := map[string]string{"exit code": fmt.Sprint(cmd.ProcessState.ExitCode())}
	readText("stderr", stderr.Bytes(), values)
	return values, read(stdout.Bytes(), values)
}

// differences counts the values that differ, by kind.
type differences struct {
	values int
	kinds  map[string]*difference
}

type difference struct {
	count   int
	example string
}

func (d *differences) add(program, trace string, before, after map[string]string) {
	all := maps.Clone(before)
	maps.Copy(all, after)
	d.values += len(all)
	for _, place := range slices.Sorted(maps.Keys(all)) {
		old, was := before[place]
		now, is := after[place]
		if was && is && old == now {
			continue
		}
		kind := program + " " + inAnyRow(place)
		if d.kinds == nil {
			d.kinds = map[string]*difference{}
		}
		if d.kinds[kind] == nil {
			example := fmt.Sprintf("%s %s: %s → %s", filepath.Base(trace), place, shown(old, was), shown(now, is))
			d.kinds[kind] = &difference{example: example}
		}
		d.kinds[kind].count++
	}
}

func shown(value string, there bool) string {
	if !there {
		return "absent"
	}
	if runes := []rune(value); len(runes) > 60 {
		value = string(runes[:60]) + "…"
	}
	return cmp.Or(value, `""`)
}

// print lists the kinds of difference. An unexplained one, or a stale reason, is an error.
func (d *differences) print(w io.Writer, expected []*reason) error {
	unexplained := 0
	for _, kind := range slices.Sorted(maps.Keys(d.kinds)) {
		why := "UNEXPLAINED"
		if i := slices.IndexFunc(expected, func(r *reason) bool { return r.of.MatchString(kind) }); i >= 0 {
			why = expected[i].why
			expected[i].used = true
		} else {
			unexplained++
		}
		one := d.kinds[kind]
		fmt.Fprintf(w, "%6d  %s\n        %s\n        %s\n", one.count, kind, one.example, why)
	}
	stale := 0
	for _, r := range expected {
		if !r.used {
			stale++
			fmt.Fprintf(w, "stale reason: %s\n", r.of)
		}
	}
	fmt.Fprintf(w, "%d kinds of difference, %d unexplained, %d stale reasons\n", len(d.kinds), unexplained, stale)
	if unexplained+stale > 0 {
		return errors.New("not every difference has its reason")
	}
	return nil
}

// reason explains the kinds of difference that its expression matches.
type reason struct {
	of   *regexp.Regexp
	why  string
	used bool
}

func readReasons(file string) (all []*reason, err error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		of, why, ok := strings.Cut(line, " | ")
		if !ok || strings.TrimSpace(why) == "" {
			return nil, fmt.Errorf("%s: want EXPRESSION | REASON: %s", file, line)
		}
		expression, err := regexp.Compile(of)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, &reason{of: expression, why: why})
	}
	return all, nil
}
