package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"
)

// bench is a copy of the module with a sample of mutants built in.
type bench struct {
	dir, pkg string
	listed   []listing
	exports  map[string]string // file of the types of a package, by import path
	sources  []*source
	places   [2]int
	tests    []test
}

// listing is what the go command says of a package.
type listing struct {
	Dir, ImportPath, Export            string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

// test is a test function: the package it is in, how long it takes, which switches it came by.
type test struct {
	pkg, name string
	takes     time.Duration
	reached   map[int]bool
}

// newBench copies the module and reads a package and the internal packages below it.
func newBench(ctx context.Context, pkg string) (*bench, error) {
	b := &bench{pkg: pkg, exports: map[string]string{}}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return b, err
	}
	b.dir = dir
	list, err := os.ReadDir(".")
	if err != nil {
		return b, err
	}
	for _, e := range list {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if err := copyTree(e.Name(), filepath.Join(b.module(), e.Name())); err != nil {
			return b, err
		}
	}
	if err := b.write("internal/mutantswitch/switch.go", switchSource); err != nil {
		return b, err
	}
	return b, b.read(ctx)
}

func (b *bench) module() string { return filepath.Join(b.dir, "module") }

func (b *bench) remove() {
	if b.dir != "" {
		os.RemoveAll(b.dir)
	}
}

func (b *bench) write(path, text string) error {
	path = filepath.Join(b.module(), filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o666)
}

// read lists the packages and finds the types of the measured ones.
func (b *bench) read(ctx context.Context) error {
	out, err := b.command(ctx, nil, "go", "list", "-export", "-deps",
		"-json=Dir,ImportPath,Export,GoFiles,TestGoFiles,XTestGoFiles",
		"./"+b.pkg, "./"+b.pkg+"/...", "./internal/mutantswitch")
	if err != nil {
		return err
	}
	own := regexp.MustCompile("^" + regexp.QuoteMeta(module+"/"+b.pkg) + "($|/internal/)")
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listing
		if err := dec.Decode(&l); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		b.exports[l.ImportPath] = l.Export
		if own.MatchString(l.ImportPath) {
			b.listed = append(b.listed, l)
		}
	}
	for _, l := range b.listed {
		dir := strings.TrimPrefix(l.ImportPath, module+"/")
		texts := map[string]string{}
		for _, name := range l.GoFiles {
			data, err := os.ReadFile(filepath.Join(l.Dir, name))
			if err != nil {
				return err
			}
			texts[dir+"/"+name] = string(data)
		}
		s, wrong, err := b.check(dir, texts)
		if err != nil {
			return err
		}
		if len(wrong) > 0 {
			return wrong[0]
		}
		b.sources = append(b.sources, s)
	}
	return nil
}

func (b *bench) check(dir string, texts map[string]string) (*source, []types.Error, error) {
	files := token.NewFileSet()
	imports := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
		if b.exports[path] == "" {
			return nil, fmt.Errorf("no types of %s", path)
		}
		return os.Open(b.exports[path])
	})
	return check(dir, files, texts, imports)
}

// faults are the mutants of a package that do not compile.
func (b *bench) faults(s *source, mutants []mutant) (map[int]bool, error) {
	if len(mutants) == 0 {
		return nil, nil
	}
	texts := map[string]string{}
	for path, text := range s.texts {
		texts[path] = text
	}
	for path, text := range s.switched(mutants) {
		texts[path] = text
	}
	_, wrong, err := b.check(s.dir, texts)
	if err != nil || len(wrong) == 0 {
		return nil, err
	}
	ids := blamed(texts, wrong)
	if len(ids) == 0 {
		return nil, wrong[0]
	}
	return ids, nil
}

// line is the line of source that a mutant changes.
func (b *bench) line(m mutant) string {
	for _, s := range b.sources {
		if text, ok := s.texts[m.file]; ok {
			return strings.TrimSpace(strings.Split(text, "\n")[m.line-1])
		}
	}
	return ""
}

// build writes the mutants into the copy and compiles the tests of its packages.
func (b *bench) build(ctx context.Context, mutants []mutant) error {
	for _, s := range b.sources {
		var list []mutant
		for _, m := range mutants {
			if filepath.ToSlash(filepath.Dir(m.file)) == s.dir {
				list = append(list, m)
			}
		}
		for path, text := range s.switched(list) {
			if err := b.write(path, text); err != nil {
				return err
			}
		}
	}
	for _, l := range b.listed {
		tests := append(append([]string(nil), l.TestGoFiles...), l.XTestGoFiles...)
		for _, name := range tests {
			if err := announce(filepath.Join(l.Dir, name)); err != nil {
				return err
			}
		}
		if len(tests) == 0 {
			continue
		}
		if _, err := b.command(ctx, nil, "go", "test", "-c", "-vet=off", "-o", b.binary(l.ImportPath),
			l.ImportPath); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) binary(pkg string) string {
	return filepath.Join(b.dir, strings.ReplaceAll(strings.TrimPrefix(pkg, module+"/"), "/", "_")+".test")
}

// announce makes each test of a file say when it begins.
func announce(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, data, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	text := string(data)
	for i := len(f.Decls) - 1; i >= 0; i-- {
		fn, ok := f.Decls[i].(*ast.FuncDecl)
		if !ok || fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Test") || fn.Name.Name == "TestMain" ||
			len(fn.Type.Params.List) != 1 {
			continue
		}
		at := files.Position(fn.Body.Lbrace).Offset + 1
		text = text[:at] + "mutantswitch.Begin(" + fn.Type.Params.List[0].Names[0].Name + ");" + text[at:]
	}
	return os.WriteFile(path, []byte(withImport(text)), 0o666)
}

// survey runs all tests once without a change and notes which switches each came by.
func (b *bench) survey(ctx context.Context, skip string, mutants int) error {
	for _, l := range b.listed {
		if _, err := os.Stat(b.binary(l.ImportPath)); err != nil {
			continue
		}
		notes := filepath.Join(b.dir, "notes")
		os.Remove(notes)
		out, err := b.test(ctx, l, []string{"MUTANT_NOTES=" + notes}, "-test.skip", skip)
		if err != nil {
			return fmt.Errorf("%s: %s fails without any change: %w", l.ImportPath, failed(out), err)
		}
		data, err := os.ReadFile(notes)
		if err != nil {
			return err
		}
		for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
			fields := strings.Fields(line)
			if len(fields) < 2 {
				continue
			}
			took, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				return err
			}
			t := test{pkg: l.ImportPath, name: fields[0], takes: time.Duration(took), reached: map[int]bool{}}
			for _, f := range fields[2:] {
				id, _ := strconv.Atoi(f)
				t.reached[id] = true
			}
			b.tests = append(b.tests, t)
		}
	}
	sort.SliceStable(b.tests, func(i, j int) bool { return b.tests[i].takes < b.tests[j].takes })
	return nil
}

// batch is how long tests may take together that are run by one command: a quick
// one may spare the slow ones.
const batch = 2 * time.Second

// try runs the tests that reach a mutant, quickest first, and names one that failed.
func (b *bench) try(ctx context.Context, id int, limit, budget time.Duration) (killer string, reached bool, err error) {
	for first := 0; first < len(b.tests) && budget > 0; {
		names := map[string][]string{}
		var sum time.Duration
		for ; first < len(b.tests) && (sum == 0 || sum+b.tests[first].takes <= batch); first++ {
			if t := b.tests[first]; t.reached[id] {
				names[t.pkg] = append(names[t.pkg], t.name)
				sum += t.takes
			}
		}
		budget -= sum
		for _, l := range b.listed {
			if len(names[l.ImportPath]) == 0 {
				continue
			}
			reached = true
			within, cancel := context.WithTimeout(ctx, min(limit, 20*time.Second+20*sum))
			out, err := b.test(within, l, []string{"MUTANT=" + strconv.Itoa(id)}, "-test.failfast", "-test.run",
				"^("+strings.Join(names[l.ImportPath], "|")+")$")
			late := within.Err() != nil
			cancel()
			var exit *exec.ExitError
			switch {
			case late:
				return "took too long", true, ctx.Err()
			case errors.As(err, &exit):
				return failed(out), true, nil
			case err != nil:
				return "", true, err
			}
		}
	}
	return "", reached, nil
}

var failure = regexp.MustCompile(`--- FAIL: (\w+)`)

// failed is the first test that an output says has failed.
func failed(out []byte) string {
	if m := failure.FindSubmatch(out); m != nil {
		return string(m[1])
	}
	return "panic"
}

// test runs a test binary in its package's directory.
func (b *bench) test(ctx context.Context, l listing, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, b.binary(l.ImportPath), append([]string{"-test.timeout", "1h"}, args...)...)
	cmd.Dir = l.Dir
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = time.Second
	return cmd.CombinedOutput()
}

// command runs a command in the copy.
func (b *bench) command(ctx context.Context, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = b.module()
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, stderr.Bytes(), out)
	}
	return out, nil
}

// copyTree copies a file or directory.
func copyTree(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	if info.IsDir() {
		return os.CopyFS(to, os.DirFS(from))
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, info.Mode())
}

// switchSource is the package that the copy's code asks whether it is changed.
const switchSource = `package mutantswitch

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

var (
	current, _ = strconv.Atoi(os.Getenv("MUTANT"))
	notes      = os.Getenv("MUTANT_NOTES")
	met        = make([]bool, 1<<16)
	loading    []int // met before any test
	began      bool
)

func On(id int) bool {
	if notes != "" {
		met[id] = true
	}
	return id == current
}

func Off(id int) bool { return id != current }

func Of[T any](id int, is, becomes T) T {
	if On(id) {
		return becomes
	}
	return is
}

func take() (ids []int) {
	for id, ok := range met {
		if ok {
			ids = append(ids, id)
			met[id] = false
		}
	}
	return ids
}

// Begin is called by each test.
func Begin(t interface {
	Name() string
	Cleanup(func())
}) {
	if notes == "" {
		return
	}
	if now := take(); !began {
		began, loading = true, now
	}
	start := time.Now()
	t.Cleanup(func() {
		line := fmt.Sprint(t.Name(), " ", time.Since(start).Nanoseconds())
		for _, id := range append(take(), loading...) {
			line += " " + strconv.Itoa(id)
		}
		f, err := os.OpenFile(notes, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(f, line)
		f.Close()
	})
}
`
