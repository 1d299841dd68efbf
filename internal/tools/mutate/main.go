package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"

	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/tools/repository"
)

// measured are the packages whose judgement the tests must hold.
const measured = "trace,classify,profile,layer,triage,hostoverhead"

func main() {
	repository.Run("mutate", func() error { return run(os.Args[1:], os.Stdout) })
}

func run(args []string, stdout io.Writer) error {
	fs := flag.NewFlagSet("mutate", flag.ContinueOnError)
	pkgs := fs.String("pkg", measured,
		"comma-separated `DIRS` of packages, below the module's root; internal packages below them belong to them")
	kinds := fs.String("kind", number+","+comparison, "`KINDS` of change, with comma between")
	skip := fs.String("skip", "^Example|Golden|Reference|Parity", "tests that do not count, a `REGEXP`")
	n := fs.Int("n", 20, "mutants of each kind and package")
	seed := fs.Uint64("seed", 1, "selects the sample")
	longest := fs.Float64("longest", 60, "leave out tests that take more `SECONDS`")
	verbose := fs.Bool("v", false, "print each mutant as it is tested, not survivors alone")
	if err := fs.Parse(args); err != nil {
		return err
	}
	known, err := explained(survivors)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, pkg := range strings.Split(*pkgs, ",") {
		b := bench{dir: dir, pkg: pkg, skip: *skip, longest: *longest}
		if err := b.read(); err != nil {
			return fmt.Errorf("%s: %w", pkg, err)
		}
		for _, line := range b.gone(known) {
			fmt.Fprintf(os.Stderr, "survivors.txt: no such line any more: %s\n", line)
		}
		var drawn []mutant
		places := map[string]int{}
		for _, kind := range strings.Split(*kinds, ",") {
			sites, err := b.sites(kind)
			if err != nil {
				return err
			}
			places[kind] = len(sites)
			drawn = append(drawn, b.draw(sample(sites, *seed), *n)...)
		}
		if err := b.build(drawn); err != nil {
			return fmt.Errorf("%s: %w", pkg, err)
		}
		for _, kind := range strings.Split(*kinds, ",") {
			count := map[string]int{}
			for i, m := range drawn {
				if m.kind != kind {
					continue
				}
				says, err := b.try(i)
				if err != nil {
					return err
				}
				reason := cmp.Or(known[key(m.file, b.line(m), m.text+" → "+m.to)], known[key(m.file, b.line(m), m.text)])
				if says != killed && reason != "" {
					says = reason
				}
				count[says]++
				count["tried"]++
				if *verbose || says != killed && reason == "" {
					fmt.Fprintf(stdout, "%-9s %s:%d: %s → %s: %s\n", says, m.file, m.line, m.text, m.to, b.line(m))
				}
			}
			fmt.Fprintf(stdout, "%s %s: %d of %d killed (%.0f%%), %d equivalent, %d of cost only; %d places in all\n",
				pkg, kind, count[killed], count["tried"], 100*float64(count[killed])/float64(max(count["tried"], 1)),
				count[equivalent], count[costOnly], places[kind])
		}
	}
	return nil
}

// What became of a mutant.
const (
	killed     = "killed"
	survived   = "survived"
	unreached  = "unreached"
	equivalent = "equivalent" // a survivor that no test can see
	costOnly   = "cost"       // a survivor that changes no answer
)

// module begins the import paths of the repository.
const module = "github.com/llmstrata/strata/"

// bench tries the changes of one package.
type bench struct {
	dir, pkg, skip string
	longest        float64
	sources        []*source
	plain          []*checked // of each source
	binaries       []binary
	mutants        []mutant
}

// binary is the built tests of a package, the shortest first.
type binary struct {
	path, dir string
	tests     []test
}

// test is a test, how long it takes, and the mutants that it reaches.
type test struct {
	name    string
	seconds float64
	reaches map[string]bool
}

// short is how many seconds a test takes at most that runs before all others.
const short = 0.05

// selected are the arguments that select tests: of a change that never ends, five times their time is enough.
func selected(tests []test) []string {
	var names []string
	seconds := 0.0
	for _, t := range tests {
		names, seconds = append(names, t.name), seconds+t.seconds
	}
	return []string{"-test.failfast", "-test.run", "^(" + strings.Join(names, "|") + ")$",
		"-test.timeout", fmt.Sprintf("%.0fs", 20+5*seconds)}
}

// read reads the package's files and their types.
func (b *bench) read() error {
	below := []string{"./" + b.pkg + "/..."}
	if b.pkg == "." {
		below[0] = "." // of the root, the package alone
	}
	if owner, _, ok := strings.Cut(b.pkg, "/internal/"); ok {
		below = append(below, "./"+owner)
	}
	out, err := exec.Command("go", append([]string{"list", "-f",
		`{{.ImportPath}} {{.Name}} {{.Dir}}{{range .GoFiles}} {{.}}{{end}}{{range .TestGoFiles}} {{.}}{{end}}`},
		below...)...).Output()
	if err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	var paths []string
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		s := &source{path: words[0], name: words[1], texts: map[string][]byte{}}
		below := strings.TrimPrefix(s.path, module+b.pkg)
		if b.pkg != "." && below != "" && !strings.HasPrefix(below, "/internal/") && below != s.path {
			continue // a public package of its own
		}
		paths = append(paths, s.path)
		b.binaries = append(b.binaries, binary{path: s.path, dir: words[2]})
		if b.pkg != "." && below == s.path {
			continue // the owner, whose tests count
		}
		for _, name := range words[3:] {
			rel, err := filepath.Rel(root, filepath.Join(words[2], name))
			if err != nil {
				return err
			}
			s.files = append(s.files, filepath.ToSlash(rel))
			if s.texts[filepath.ToSlash(rel)], err = os.ReadFile(rel); err != nil {
				return err
			}
		}
		b.sources = append(b.sources, s)
	}
	imports, err := exports(paths)
	for _, s := range b.sources {
		s.importer = imports
		plain, failed := s.check(nil)
		b.plain, err = append(b.plain, plain), cmp.Or(err, failed)
	}
	return err
}

func (b *bench) sites(kind string) (all []site, err error) {
	for _, s := range b.sources {
		for _, name := range s.files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			sites, err := sitesIn(name, s.texts[name], kind)
			if err != nil {
				return nil, err
			}
			all = append(all, sites...)
		}
	}
	slices.SortStableFunc(all, func(a, b site) int { return strings.Compare(a.file, b.file) })
	return all, nil
}

// draw takes the first n mutants that compile.
func (b *bench) draw(mutants []mutant, n int) (drawn []mutant) {
	for _, m := range mutants {
		if i := b.of(m); len(drawn) < n && b.sources[i].compiles(b.plain[i], m) {
			drawn = append(drawn, m)
		}
	}
	return drawn
}

// of finds the package of a mutant.
func (b *bench) of(m mutant) int {
	return slices.IndexFunc(b.sources, func(s *source) bool { return s.texts[m.file] != nil })
}

// build makes the binaries, and runs them without any change.
func (b *bench) build(mutants []mutant) error {
	b.mutants = mutants
	replace := map[string]string{}
	for i, s := range b.sources {
		files, err := s.instrument(b.dir, b.plain[i], mutants)
		if err != nil {
			return err
		}
		maps.Copy(replace, files)
	}
	list := filepath.Join(b.dir, "overlay.json")
	if err := overlay(list, replace); err != nil {
		return err
	}
	for i := range b.binaries {
		t := &b.binaries[i]
		log, file := filepath.Join(b.dir, "reached"), filepath.Join(b.dir, fmt.Sprint(i, ".test"))
		out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", list, "-o", file, t.path).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		if _, err := os.Stat(file); err != nil {
			continue // no tests
		}
		out, _ = b.test(i, "MUTANT=", "-test.v")
		for name, seconds := range timed(out) {
			if seconds <= b.longest {
				t.tests = append(t.tests, test{name: name, seconds: seconds})
			}
		}
		slices.SortFunc(t.tests, func(a, b test) int {
			return cmp.Or(cmp.Compare(a.seconds, b.seconds), strings.Compare(a.name, b.name))
		})
		for _, line := range failedTest.FindAllString(string(out), -1) {
			fmt.Fprintf(os.Stderr, "without any change, and left out: %s %s\n", t.path, line)
		}
		for j := range t.tests {
			if t.tests[j].reaches, err = b.reach(i, log, &t.tests[j]); err != nil {
				return err
			}
		}
	}
	return nil
}

var failedTest = regexp.MustCompile(`(?m)^--- FAIL.*`)

func (b *bench) test(i int, environment string, args ...string) ([]byte, error) {
	cmd := exec.Command(filepath.Join(b.dir, fmt.Sprint(i, ".test")),
		append(args, "-test.skip", b.skip)...)
	cmd.Dir = b.binaries[i].dir
	cmd.Env = append(os.Environ(), environment)
	return cmd.CombinedOutput()
}

// reach runs one test without any change, and notes the mutants in its way.
func (b *bench) reach(i int, log string, t *test) (map[string]bool, error) {
	if err := os.WriteFile(log, nil, 0o666); err != nil {
		return nil, err
	}
	b.test(i, "MUTANT_LOG="+log, selected([]test{*t})...)
	text, err := os.ReadFile(log)
	all := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		all[strings.TrimSpace(line)] = true
	}
	return all, err
}

// try runs the tests that reach a mutant with it switched on.
func (b *bench) try(id int) (string, error) {
	name := switchName(id)
	says := unreached
	for i, t := range b.binaries {
		var first, others []test
		for _, one := range t.tests {
			switch {
			case !one.reaches[name]:
			case one.seconds <= short:
				first = append(first, one)
			default:
				others = append(others, one)
			}
		}
		for _, tests := range [][]test{first, others} {
			if len(tests) == 0 {
				continue
			}
			says = survived
			if _, err := b.test(i, "MUTANT="+name, selected(tests)...); err != nil {
				return killed, nil
			}
		}
	}
	return says, nil
}

// line is the line of source that a mutant changes.
func (b *bench) line(m mutant) string {
	return string(bytes.TrimSpace(bytes.Split(b.sources[b.of(m)].texts[m.file], []byte("\n"))[m.line-1]))
}

// gone are the survivors, by file and line of source, whose file is the package's and has no such line.
func (b *bench) gone(known map[string]string) (out []string) {
	lines := map[string]bool{}
	for _, s := range b.sources {
		for file, text := range s.texts {
			lines[file] = true
			for line := range strings.Lines(string(text)) {
				lines[file+"\n"+strings.TrimSpace(line)] = true
			}
		}
	}
	for _, survivor := range slices.Sorted(maps.Keys(known)) {
		parts := strings.Split(survivor, "\n")
		if lines[parts[0]] && !lines[parts[0]+"\n"+parts[1]] {
			out = append(out, parts[0]+": "+parts[1])
		}
	}
	return slices.Compact(out)
}

//go:embed survivors.txt
var survivors string

// key finds a survivor that was read: by file, trimmed line and changed text.
func key(file, line, text string) string { return file + "\n" + line + "\n" + text }

// explained reads lines of "file | line of source | what it held | equivalent or cost: why"; a bar in the line is
// written \|.
func explained(text string) (map[string]string, error) {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
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
		all[key(parts[0], parts[1], parts[2])] = reason
	}
	return all, nil
}
