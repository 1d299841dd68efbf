package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/cover"

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
		b := bench{dir: dir, pkg: pkg, skip: *skip}
		if err := b.read(); err != nil {
			return fmt.Errorf("%s: %w", pkg, err)
		}
		for _, kind := range strings.Split(*kinds, ",") {
			sites, err := b.sites(kind)
			if err != nil {
				return err
			}
			count := map[string]int{}
			for _, m := range sample(sites, *seed) {
				if count["tried"] == *n {
					break
				}
				says, err := b.try(m)
				if err != nil {
					return err
				}
				if says == doesNotCompile {
					continue
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
				count[equivalent], count[costOnly], len(sites))
		}
	}
	return nil
}

// What became of a mutant.
const (
	killed         = "killed"
	survived       = "survived"
	unreached      = "unreached"
	doesNotCompile = "does not compile"
	equivalent     = "equivalent" // a survivor that no test can see
	costOnly       = "cost"       // a survivor that changes no answer
)

// module begins the import paths of the repository.
const module = "github.com/llmstrata/strata/"

// bench tries the changes of one package.
type bench struct {
	dir, pkg, skip string
	paths          []string // import paths whose tests count
	texts          map[string][]byte
	covered        map[string][]cover.ProfileBlock
}

// read reads the package's files and notes which lines its tests reach.
func (b *bench) read() error {
	below := "./" + b.pkg + "/..."
	if b.pkg == "." {
		below = "." // of the root, the package alone
	}
	out, err := exec.Command("go", "list", "-f",
		`{{.ImportPath}} {{.Dir}}{{range .GoFiles}} {{.}}{{end}}`, below).Output()
	if err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	b.texts, b.covered = map[string][]byte{}, map[string][]cover.ProfileBlock{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		below := strings.TrimPrefix(words[0], module+b.pkg)
		if b.pkg != "." && below != "" && !strings.HasPrefix(below, "/internal/") {
			continue // a public package of its own
		}
		b.paths = append(b.paths, words[0])
		for _, name := range words[2:] {
			rel, err := filepath.Rel(root, filepath.Join(words[1], name))
			if err != nil {
				return err
			}
			if b.texts[filepath.ToSlash(rel)], err = os.ReadFile(rel); err != nil {
				return err
			}
		}
	}
	covered := strings.Join(b.paths, ",")
	if owner, _, ok := strings.Cut(b.pkg, "/internal/"); ok {
		b.paths = append(b.paths, module+owner)
	}
	profile := filepath.Join(b.dir, "cover.out")
	out, err = b.test("-coverprofile", profile, "-coverpkg", covered)
	if err != nil {
		return fmt.Errorf("a test fails without any change: %w\n%s", err, out)
	}
	profiles, err := cover.ParseProfiles(profile)
	for _, p := range profiles {
		name := strings.TrimPrefix(p.FileName, module)
		b.covered[name] = p.Blocks
	}
	return err
}

func (b *bench) test(args ...string) ([]byte, error) {
	args = append([]string{"test", "-vet=off", "-failfast", "-timeout", "10m", "-skip", b.skip}, args...)
	return exec.Command("go", append(args, b.paths...)...).CombinedOutput()
}

func (b *bench) sites(kind string) (all []site, err error) {
	files := make([]string, 0, len(b.texts))
	for name := range b.texts {
		files = append(files, name)
	}
	slices.Sort(files)
	for _, name := range files {
		sites, err := sitesIn(name, b.texts[name], kind)
		if err != nil {
			return nil, err
		}
		all = append(all, sites...)
	}
	return all, nil
}

// reached reports whether a test reaches a place. Places outside of functions are
// in no block: they are tried.
func (b *bench) reached(s site) bool {
	for _, block := range b.covered[s.file] {
		after := s.line > block.StartLine || s.line == block.StartLine && s.column >= block.StartCol
		before := s.line < block.EndLine || s.line == block.EndLine && s.column < block.EndCol
		if after && before {
			return block.Count > 0
		}
	}
	return true
}

// try runs the tests with a mutant laid over the checkout.
func (b *bench) try(m mutant) (string, error) {
	if !b.reached(m.site) {
		return unreached, nil
	}
	text := b.texts[m.file]
	changed := slices.Concat(text[:m.at], []byte(m.to), text[m.at+len(m.text):])
	file, list := filepath.Join(b.dir, "mutant.go"), filepath.Join(b.dir, "overlay.json")
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: file}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(file, changed, 0o666); err != nil {
		return "", err
	}
	if err := os.WriteFile(list, overlay, 0o666); err != nil {
		return "", err
	}
	out, err := b.test("-overlay", list)
	switch {
	case err == nil:
		return survived, nil
	case bytes.Contains(out, []byte("[build failed]")):
		return doesNotCompile, nil
	case failure.Match(out):
		return killed, nil
	}
	return "", fmt.Errorf("%w\n%s", err, out)
}

// failure is what the go command prints of a package whose tests failed.
var failure = regexp.MustCompile(`(?m)^FAIL\b`)

// line is the line of source that a mutant changes.
func (b *bench) line(m mutant) string {
	return string(bytes.TrimSpace(bytes.Split(b.texts[m.file], []byte("\n"))[m.line-1]))
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
