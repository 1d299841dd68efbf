package main

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/tools/repository"
)

// measured are the packages whose judgement the tests must hold.
const measured = "trace,classify,profile,layer,triage,hostoverhead"

// module is the path of this module.
const module = "github.com/llmstrata/strata"

func main() {
	if err := repository.Enter(); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	pkgs, kind, skip string
	n                int
	seed             uint64
	limit, budget    time.Duration
	verbose          bool
	kinds            []kind
	stdout           io.Writer
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	o := options{stdout: stdout, kinds: []kind{number, comparison}}
	fs := flag.NewFlagSet("mutate", flag.ContinueOnError)
	fs.StringVar(&o.pkgs, "pkg", measured, "comma-separated `DIRS` of packages, below the module's root; internal packages below them belong to them")
	fs.StringVar(&o.kind, "kind", "both", "what to change: number, comparison or both")
	fs.StringVar(&o.skip, "skip", "^Example|Golden|Reference|Parity", "tests that do not count, a `REGEXP`")
	fs.IntVar(&o.n, "n", 20, "mutants of each kind and package")
	fs.Uint64Var(&o.seed, "seed", 1, "selects the sample")
	fs.DurationVar(&o.limit, "timeout", 3*time.Minute, "a mutant whose tests run longer is noticed")
	fs.DurationVar(&o.budget, "budget", time.Minute,
		"tests of a mutant are run, quickest first, until they take longer together; what slower ones would notice counts as survived")
	fs.BoolVar(&o.verbose, "v", false, "print each mutant as it is tested, not survivors alone")
	if err := fs.Parse(args); err != nil {
		return err
	}
	switch o.kind {
	case "number":
		o.kinds = o.kinds[:1]
	case "comparison":
		o.kinds = o.kinds[1:]
	case "both":
	default:
		return fmt.Errorf("-kind %s: want number, comparison or both", o.kind)
	}
	for _, pkg := range strings.Split(o.pkgs, ",") {
		if err := o.measure(ctx, pkg); err != nil {
			return fmt.Errorf("%s: %w", pkg, err)
		}
	}
	return nil
}

// measure tests a sample of each kind in one package and prints the rates.
func (o options) measure(ctx context.Context, pkg string) error {
	b, err := newBench(ctx, pkg)
	defer b.remove()
	if err != nil {
		return err
	}
	mutants, err := o.draw(b)
	if err != nil {
		return err
	}
	if err := b.build(ctx, mutants); err != nil {
		return err
	}
	if err := b.survey(ctx, o.skip, len(mutants)); err != nil {
		return err
	}
	known, err := readSurvivors(survivors)
	if err != nil {
		return err
	}
	type count struct{ killed, survived, equal, cost int }
	var counts [2]count
	for _, m := range mutants {
		c := &counts[m.kind]
		killer, reached, err := b.try(ctx, m.id, o.limit, o.budget)
		reason := known.reason(m, b.line(m))
		says := "survived"
		switch {
		case err != nil:
			return err
		case killer != "":
			c.killed++
			says = "killed"
		case reason == equivalent:
			c.equal++
		case reason == costOnly:
			c.cost++
		default:
			c.survived++
			if !reached {
				says = "unreached"
			}
		}
		if o.verbose || killer == "" && reason == "" {
			fmt.Fprintf(o.stdout, "%-9s %s: %s → %s: %s %s%s\n", says, m.where(), m.text, m.to, b.line(m), killer,
				reason)
		}
	}
	for _, k := range o.kinds {
		c := counts[k]
		n := c.killed + c.survived + c.equal + c.cost
		fmt.Fprintf(o.stdout, "%s %s: %d of %d killed (%.0f%%), %d equivalent, %d of cost only; %d places in all\n",
			pkg, k, c.killed, n, 100*float64(c.killed)/float64(max(n, 1)), c.equal, c.cost, b.places[k])
	}
	return nil
}

// candidate is a mutant with the package it is in.
type candidate struct {
	*source
	mutant
}

// draw takes a random sample of mutants that can be built behind switches.
func (o options) draw(b *bench) ([]mutant, error) {
	spare := o.shuffled(b)
	var chosen []candidate
	id := 0
	for {
		for _, k := range o.kinds {
			have := 0
			for _, c := range chosen {
				if c.kind == k {
					have++
				}
			}
			for ; have < o.n && len(spare[k]) > 0; spare[k] = spare[k][1:] {
				c := spare[k][0]
				id++
				c.id = id
				if _, _, ok := c.edits(c.mutant); ok {
					chosen = append(chosen, c)
					have++
				}
			}
		}
		fit, err := b.compiling(chosen)
		if err != nil {
			return nil, err
		}
		if len(fit) == len(chosen) {
			break
		}
		chosen = fit
	}
	if len(chosen) == 0 {
		return nil, errors.New("no place to change")
	}
	mutants := make([]mutant, len(chosen))
	for i, c := range chosen {
		mutants[i] = c.mutant
	}
	return mutants, nil
}

// shuffled are all places of each kind, each with what it becomes, in the order of the seed.
func (o options) shuffled(b *bench) (all [2][]candidate) {
	for _, k := range o.kinds {
		for _, s := range b.sources {
			for _, at := range s.sites(k) {
				all[k] = append(all[k], candidate{s, mutant{site: at}})
			}
		}
		b.places[k] = len(all[k])
		rng := rand.New(rand.NewPCG(o.seed, uint64(k)))
		rng.Shuffle(len(all[k]), func(i, j int) { all[k][i], all[k][j] = all[k][j], all[k][i] })
		for i := range all[k] {
			all[k][i].to = all[k][i].mutated(rng)
		}
	}
	return all
}

// compiling leaves out the mutants that do not compile.
func (b *bench) compiling(chosen []candidate) (fit []candidate, err error) {
	bad := map[int]bool{}
	for _, s := range b.sources {
		var list []mutant
		for _, c := range chosen {
			if c.source == s {
				list = append(list, c.mutant)
			}
		}
		more, err := b.faults(s, list)
		if err != nil {
			return nil, err
		}
		for id := range more {
			bad[id] = true
		}
	}
	for _, c := range chosen {
		if !bad[c.id] {
			fit = append(fit, c)
		}
	}
	return fit, nil
}

//go:embed survivors.txt
var survivors string

// Reasons for which a survivor is no gap.
const (
	equivalent = "equivalent"
	costOnly   = "cost"
)

// explained are survivors that were read: by file, trimmed line and changed text.
type explained map[[3]string]string

// readSurvivors reads lines of "file | line of source | what it held | equivalent or cost: why"; a bar in the line is
// written \|.
func readSurvivors(text string) (explained, error) {
	all := explained{}
	in := bufio.NewScanner(strings.NewReader(text))
	for in.Scan() {
		line := strings.TrimSpace(in.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, " | ")
		for i := range parts {
			parts[i] = strings.ReplaceAll(parts[i], `\|`, "|")
		}
		if len(parts) != 4 {
			return nil, fmt.Errorf("survivors.txt: want file | line | text | reason: %s", line)
		}
		reason, _, _ := strings.Cut(parts[3], ":")
		if reason != equivalent && reason != costOnly {
			return nil, fmt.Errorf("survivors.txt: a reason begins with %q or %q: %s", equivalent, costOnly, line)
		}
		all[[3]string{parts[0], parts[1], parts[2]}] = reason
	}
	return all, in.Err()
}

func (e explained) reason(m mutant, line string) string {
	file, _, _ := strings.Cut(m.where(), ":")
	for _, text := range []string{m.text + " → " + m.to, m.text} {
		if r := e[[3]string{file, line, text}]; r != "" {
			return r
		}
	}
	return ""
}
