package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
)

// stage is the scratch directory in which the programs run.
type stage struct {
	dir  string // holds bin, home, work
	keep string // where documents are stored, "" nowhere
}

// referenceTraces is where the traces that are not part of the repository lie,
// seen from the module's root.
const referenceTraces = "../shared/traces"

// layOut makes the directory in which programs run and returns the names that
// the traces have there.
func (s *stage) layOut() ([]string, error) {
	work := s.work()
	if err := os.MkdirAll(filepath.Join(work, "generated"), 0o777); err != nil {
		return nil, err
	}
	traces := []string{demo}
	for _, kind := range []string{"torch", "nsys", "other"} {
		from, err := filepath.Abs(filepath.Join(referenceTraces, kind))
		if err != nil {
			return nil, err
		}
		list, err := os.ReadDir(from)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(os.Stderr, "fingerprint: no %s: its traces are left out\n", from)
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := os.Symlink(from, filepath.Join(work, kind)); err != nil {
			return nil, err
		}
		for _, e := range list {
			traces = append(traces, kind+"/"+e.Name())
		}
	}
	if err := generate(filepath.Join(work, "generated")); err != nil {
		return nil, err
	}
	made, err := filepath.Glob(filepath.Join(work, "generated", "*"))
	if err != nil {
		return nil, err
	}
	for _, path := range made {
		traces = append(traces, "generated/"+filepath.Base(path))
	}
	return traces, nil
}

// generate writes the made-up traces.
func generate(dir string) error {
	decode := gen.Pass{Decodes: 8, Context: 640}
	graph, pieces := decode, decode
	graph.Mode, pieces.Mode = gen.FullGraph, gen.Piecewise
	prefill := gen.Pass{Prefills: 2, Tokens: 1024}
	dense := gen.Arch{Family: "Llama", Layers: gen.Uniform(8, gen.Layer{})}
	for name, cfg := range map[string]gen.Config{
		"graphs-no-notes.json":   {Seed: 1, Arch: dense, Passes: []gen.Pass{prefill, graph, graph, graph}, TP: 4},
		"piecewise-vllm.json":    {Seed: 2, Arch: dense, Passes: []gen.Pass{prefill, pieces, pieces}, Dialect: gen.VLLM, Stacks: true},
		"moe-amd.json":           {Seed: 3, Vendor: gen.AMD, Arch: gen.Arch{Family: "Qwen3Moe", Layers: gen.Uniform(6, gen.Layer{FFN: gen.MoE})}, Passes: []gen.Pass{prefill, decode, graph}, Dialect: gen.SGLang, Stacks: true, Modules: true, OneBlock: true},
		"hybrid-trtllm-cut.json": {Seed: 4, Arch: gen.Arch{Layers: gen.Hybrid(8, 4, gen.Dense)}, Passes: []gen.Pass{prefill, decode, decode}, Dialect: gen.TensorRTLLM, Orphans: 20, CutAtEnd: 0.5, OneBlock: true},
	} {
		var b bytes.Buffer
		if err := gen.Write(&b, cfg); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o666); err != nil {
			return err
		}
	}
	for _, c := range gen.Cases() {
		var b bytes.Buffer
		if _, err := c.Write(&b); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "case-"+c.Name+".json"), b.Bytes(), 0o666); err != nil {
			return err
		}
	}
	nsys := nsysgen.Default(1)
	whole := nsys
	whole.Graphs = nsysgen.GraphWhole
	for name, cfg := range map[string]nsysgen.Config{
		"nsys-graphs.sqlite": nsys,
		"nsys-slow.sqlite":   nsys.Slow("_fetch_new_requests", 7.5),
		"nsys-whole.sqlite":  whole,
	} {
		if _, err := nsysgen.Write(filepath.Join(dir, name), cfg); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) work() string { return filepath.Join(s.dir, "work") }
func (s *stage) bin() string  { return filepath.Join(s.dir, "bin") }

// build builds the programs that the jobs run.
func (s *stage) build(ctx context.Context, todo []job) error {
	need := map[string]bool{}
	for _, j := range todo {
		need["./examples/"+j.program] = true
	}
	args := []string{"build", "-o", s.bin() + string(filepath.Separator)}
	first := len(args)
	for dir := range need {
		args = append(args, dir)
	}
	sort.Strings(args[first:])
	out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// runAll runs the jobs, n at a time, and returns a line for each in their order.
func (s *stage) runAll(ctx context.Context, todo []job, n int) ([]string, error) {
	lines, errs := make([]string, len(todo)), make([]error, len(todo))
	slots := make(chan struct{}, max(n, 1))
	var wg sync.WaitGroup
	for i, j := range todo {
		slots <- struct{}{}
		wg.Add(1)
		go func() {
			defer func() { <-slots; wg.Done() }()
			lines[i], errs[i] = s.line(ctx, j, i)
		}()
	}
	wg.Wait()
	return lines, errors.Join(errs...)
}

// line runs a job, stores its document and returns its line.
func (s *stage) line(ctx context.Context, j job, i int) (string, error) {
	doc, err := s.run(ctx, j, i)
	if err != nil {
		return "", err
	}
	if s.keep != "" {
		path := filepath.Join(s.keep, j.program, filepath.FromSlash(j.trace)+"."+j.format)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return "", err
		}
		if err := os.WriteFile(path, doc, 0o666); err != nil {
			return "", err
		}
	}
	sum := sha256.Sum256(doc)
	return j.key() + " " + hex.EncodeToString(sum[:]) + "\n", nil
}

// run returns the document of a job: what the program wrote, or how it failed.
func (s *stage) run(ctx context.Context, j job, i int) ([]byte, error) {
	outDir := filepath.Join(s.dir, "out", strconv.Itoa(i))
	if err := os.MkdirAll(outDir, 0o777); err != nil {
		return nil, err
	}
	file := filepath.Join(outDir, j.file)
	args := append([]string(nil), j.args...)
	for k, a := range args {
		if j.file != "" && a == j.file {
			args[k] = file
		}
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin(), j.program), args...)
	cmd.Dir = s.work()
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(s.dir, "home"), "HF_HOME=", "NO_COLOR=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		text := strings.ReplaceAll(stderr.String(), outDir, "out")
		return fmt.Appendf(nil, "exit %d\n%s", exit.ExitCode(), text), nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", j.key(), err)
	case j.file != "":
		return os.ReadFile(file)
	}
	return stdout.Bytes(), nil
}
