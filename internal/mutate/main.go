package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// measured are the packages whose judgement the tests must hold.
const measured = "trace,classify,profile,layer,triage,hostoverhead"

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	pkgs, kind, skip string
	n, jobs          int
	seed             uint64
	limit            time.Duration
	verbose          bool
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	var o options
	fs := flag.NewFlagSet("mutate", flag.ContinueOnError)
	fs.StringVar(&o.pkgs, "pkg", measured, "comma-separated `DIRS` of packages, below the module's root")
	fs.StringVar(&o.kind, "kind", "both", "what to change: number, comparison or both")
	fs.StringVar(&o.skip, "skip", "^Example|Golden|Reference|Parity", "tests that do not count, a `REGEXP`")
	fs.IntVar(&o.n, "n", 20, "mutants of each kind and package")
	fs.IntVar(&o.jobs, "j", 2, "mutants tested at a time, each in a copy of the module")
	fs.Uint64Var(&o.seed, "seed", 1, "selects the sample")
	fs.DurationVar(&o.limit, "timeout", 3*time.Minute, "a mutant whose tests run longer is noticed")
	fs.BoolVar(&o.verbose, "v", false, "print each mutant as it is tested, not survivors alone")
	if err := fs.Parse(args); err != nil {
		return err
	}
	kinds := []kind{number, comparison}
	switch o.kind {
	case "number":
		kinds = kinds[:1]
	case "comparison":
		kinds = kinds[1:]
	case "both":
	default:
		return fmt.Errorf("-kind %s: want number, comparison or both", o.kind)
	}
	benches, err := copies(o.jobs)
	defer benches.remove()
	if err != nil {
		return err
	}
	for _, pkg := range strings.Split(o.pkgs, ",") {
		if ok, err := o.test(ctx, benches[0], pkg); err != nil || !ok {
			return errors.Join(fmt.Errorf("%s: its tests fail without any change", pkg), err)
		}
		for _, k := range kinds {
			if err := o.measure(ctx, stdout, benches, pkg, k); err != nil {
				return fmt.Errorf("%s: %w", pkg, err)
			}
		}
	}
	return nil
}

// measure tests a sample of one kind in one package and prints its rate.
func (o options) measure(ctx context.Context, stdout io.Writer, benches workbenches, pkg string, k kind) error {
	sites, err := sitesOf(benches[0], pkg, k)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(o.seed, uint64(k)))
	rng.Shuffle(len(sites), func(i, j int) { sites[i], sites[j] = sites[j], sites[i] })
	texts := make([]string, len(sites)) // drawn before the tests run, so that their order does not matter
	for i, s := range sites {
		texts[i] = s.mutated(rng)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	next, killed, survived := 0, 0, 0
	var failed error
	for _, dir := range benches {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				mu.Lock()
				i := next
				if i >= len(sites) || killed+survived >= o.n || failed != nil {
					mu.Unlock()
					return
				}
				next++
				mu.Unlock()
				got, err := o.try(ctx, dir, pkg, sites[i], texts[i])
				mu.Lock()
				counts := err == nil && got != unbuilt && killed+survived < o.n
				switch {
				case err != nil:
					failed = err
				case counts && got == dead:
					killed++
				case counts:
					survived++
				}
				if counts && (o.verbose || got == alive) {
					fmt.Fprintf(stdout, "%-8s %-10s %s: %s → %s\n", got, k, sites[i].where(), sites[i].text, texts[i])
				}
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
	if n := killed + survived; n > 0 {
		fmt.Fprintf(stdout, "%s %s: %d of %d killed (%.0f %%), %d places in all\n", pkg, k, killed, n, 100*float64(killed)/float64(n), len(sites))
	}
	return failed
}

// outcome is what the tests said of a mutant.
type outcome string

const (
	dead    outcome = "killed"
	alive   outcome = "survived"
	unbuilt outcome = "unbuilt"
)

// try puts a mutant into a copy of the module and runs the package's tests.
func (o options) try(ctx context.Context, dir, pkg string, s site, text string) (outcome, error) {
	path := filepath.Join(dir, s.file)
	original, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	mutant := append([]byte(nil), original[:s.at]...)
	mutant = append(append(mutant, text...), original[s.at+len(s.text):]...)
	if err := os.WriteFile(path, mutant, 0o666); err != nil {
		return "", err
	}
	defer os.WriteFile(path, original, 0o666)
	if ok, err := o.command(ctx, dir, "test", "-run", "^$", "-vet=off", "./"+pkg); err != nil || !ok {
		return unbuilt, err
	}
	ok, err := o.test(ctx, dir, pkg)
	if err != nil || !ok {
		return dead, err
	}
	return alive, nil
}

// test reports whether a package's tests pass.
func (o options) test(ctx context.Context, dir, pkg string) (ok bool, err error) {
	return o.command(ctx, dir, "test", "-short", "-failfast", "-vet=off", "-skip", o.skip, "./"+pkg)
}

// command runs the go command; a test that runs too long has failed.
func (o options) command(ctx context.Context, dir string, args ...string) (ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &exit), errors.Is(ctx.Err(), context.DeadlineExceeded):
		return false, nil
	}
	return false, err
}

// workbenches are copies of the module.
type workbenches []string

// copies copies the module n times, sources and test data, without its history
// and without anything beside it.
func copies(n int) (workbenches, error) {
	var b workbenches
	for range max(n, 1) {
		dir, err := os.MkdirTemp("", "mutate")
		if err != nil {
			return b, err
		}
		b = append(b, dir)
		list, err := os.ReadDir(".")
		if err != nil {
			return b, err
		}
		for _, e := range list {
			from, to := e.Name(), filepath.Join(dir, "module", e.Name())
			if strings.HasPrefix(from, ".") {
				continue
			}
			if err := copyTree(from, to); err != nil {
				return b, err
			}
		}
		b[len(b)-1] = filepath.Join(dir, "module")
	}
	return b, nil
}

func (b workbenches) remove() {
	for _, dir := range b {
		os.RemoveAll(strings.TrimSuffix(dir, string(filepath.Separator)+"module"))
	}
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
