package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/internal/tools/repository"
)

func main() {
	if err := repository.Enter(); err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) == 3 && os.Args[1] == readMode {
		os.Exit(read(ctx, os.Args[2], os.Stdout, os.Stderr))
	}
	bad, err := run(ctx, os.Args[1:], os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
	}
	if err != nil || bad {
		os.Exit(1)
	}
}

// readMode makes this program the reader that counts events.
const readMode = "-read-and-count"

// read prints how many events a file holds.
func read(ctx context.Context, path string, stdout, stderr io.Writer) int {
	rec, err := strata.Open(ctx, path, strata.Options{})
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	fmt.Fprintf(stdout, "%s%d\n", countPrefix, rec.Parts[0].Trace.Len())
	return 0
}

// bench is one run of this program.
type bench struct {
	dir, jsonDir string
	n, size      int
	limit        time.Duration
	exponent     float64
	tools        []tool
	log          io.Writer
	rows         []row
	growth       []growthRow
}

func run(ctx context.Context, args []string, log io.Writer) (bad bool, err error) {
	b := &bench{log: log}
	fs := flag.NewFlagSet("torture", flag.ContinueOnError)
	suites := fs.String("suite", "cuts,flips,json,bombs,sizes", "`SUITES` to run, with comma between")
	fs.IntVar(&b.n, "n", 100, "cuts and flips of each trace, plain and compressed")
	fs.IntVar(&b.size, "size", 20_000, "events of the smaller size")
	fs.StringVar(&b.jsonDir, "json", "", "`DIR` of JSONTestSuite's test_parsing; empty: left out")
	fs.DurationVar(&b.limit, "timeout", 30*time.Second, "what a program may take of one file")
	fs.Float64Var(&b.exponent, "exponent", 1.35, "largest growth of time: 1 is linear, 2 the square")
	out := fs.String("o", "docs/torture.md", "the page to write")
	fs.Func("tool", "`COMMAND` to torture, {} stands for the file; may be given several times", func(s string) error {
		t, err := newTool(s)
		b.tools = append(b.tools, t)
		return err
	})
	if err := fs.Parse(args); err != nil {
		return false, err
	}
	if b.dir, err = os.MkdirTemp("", "strata-torture"); err != nil {
		return false, err
	}
	defer os.RemoveAll(b.dir)
	if len(b.tools) == 0 {
		if b.tools, err = ownTools(ctx, b.dir); err != nil {
			return false, err
		}
	}
	for _, s := range strings.Split(*suites, ",") {
		if err := b.suite(ctx, s, fs.Args()); err != nil {
			return false, err
		}
		// After each suite: what was measured is kept when a later one is interrupted.
		if err := os.WriteFile(*out, b.page(args), 0o644); err != nil {
			return false, err
		}
	}
	return b.bad(), nil
}

// programs are those of this repository that read any trace.
var programs = []string{"triage --input {}", "host-detect --trace {}", "perfetto-map --trace {}",
	"kernel-export --stacks --module --trace {}"}

// ownTools builds the programs of this repository.
func ownTools(ctx context.Context, dir string) ([]tool, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	tools := []tool{{"read", []string{self, readMode, "{}"}}}
	for _, p := range programs {
		words := strings.Fields(p)
		bin := filepath.Join(dir, words[0])
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", bin,
			"./examples/"+words[0]).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w: %s", err, out)
		}
		tools = append(tools, tool{words[0], append([]string{bin}, words[1:]...)})
	}
	return tools, nil
}
