package arch

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Floors orders the public packages of a module from the top floor to the ground.
// A package may import the floors below its own. Packages below an internal
// directory have no floor: they count as part of whoever imports them, and must not
// lead an importer to a package that it may not import itself.
type Floors [][]string

// House is the order of this module.
var House = Floors{
	{"."},
	{"triage", "hostoverhead", "perfetto"},
	{"layer/compare", "hostoverhead/replay"},
	{"layer/roofline", "layer/fleet"},
	{"layer"},
	{"profile"},
	{"profile/hardware", "classify"},
	{"trace/nsys", "trace/pftrace", "trace/rocprof", "trace/xplane"},
	{"trace"},
	{"trace/event"},
	{"layer/finding"},
}

// Alone are the public packages outside the floors, each with the packages of this
// module that it may use, apart from its own internal ones.
var Alone = map[string][]string{
	"capture":    {"internal/framework", "internal/table", "internal/vocabulary"},
	"docs/skill": {}, // the text of the skill, which the strata program installs
}

// Fence keeps an import inside some directories.
type Fence struct {
	// Import is an import path; paths below it are meant too.
	Import string
	// Dirs are the directories (packages below them included) that may use it.
	Dirs []string
	// Why is reported with a violation.
	Why string
}

// Fences are the fenced imports of this module.
var Fences = []Fence{
	{"zombiezen.com/go/sqlite", nil, "trace/internal/sqlite reads databases, internal/gen/database makes those of tests"},
	{"modernc.org/sqlite", nil, "trace/internal/sqlite reads databases"},
	{"database/sql", nil, "trace/internal/sqlite reads databases"},
	{"unsafe", []string{"internal", "examples/internal/app"}, "unsafe stays in internal packages"},
	{"text/tabwriter", nil, "internal/table prints tables"},
	{"encoding/csv", []string{"internal/table", "examples/internal/agree", "examples/internal/command",
		"examples/internal/programs"},
		"internal/table prints CSV; tests read it back"},
	{"C", nil, "the module builds without cgo"},
	{"github.com/stretchr/testify", nil, "tests use the standard library and go-cmp"},
}

// Unreachable are the imports, by package of this module, that a program
// importing it must not pay for. Those of this module begin with a slash.
var Unreachable = map[string][]string{
	".":        {"net/http", "/capture"},
	"trace":    {"net/http", "zombiezen.com", "modernc.org", "github.com/ianlancetaylor/demangle", "github.com/goccy"},
	"perfetto": {"net/http"},
	// No program links what makes or checks test data: the demo embeds what the generator wrote.
	"examples/strata": {"/internal/gen", "/internal/built", "/internal/hosttest", "/internal/testdata",
		"/internal/whole", "/internal/arch", "/examples/internal/apptest", "testing"},
}

// CheckLayering reports imports that go up or sideways, also through internal
// packages, anything that imports an example, and public packages without a floor.
// A test may import everything but an example.
func CheckLayering(s *Source, floors Floors, alone map[string][]string) []string {
	at := map[string]int{}
	for i, floor := range floors {
		for _, dir := range floor {
			at[dir] = i
		}
	}
	var bad []string
	for _, p := range s.Packages {
		_, known := at[p.Dir]
		_, lone := alone[p.Dir]
		public := !internal(p.Dir) && !within(p.Dir, "examples") && !within(p.Dir, "docs")
		if public && !known && !lone {
			bad = append(bad, fmt.Sprintf("%s: a public package without a floor", p.Dir))
		}
		for _, f := range p.Files {
			for _, imp := range f.Imports {
				dir, ok := s.local(imp)
				if !ok || dir == p.Dir {
					continue
				}
				program := within(dir, "examples")
				library := within(p.Dir, "examples") && (f.Test || within(dir, "examples/internal"))
				if program && !library {
					bad = append(bad, fmt.Sprintf("%s: imports %s: nothing imports an example", f.Path, imp))
				}
				if f.Test || program || !public || !known && !lone {
					continue
				}
				if lone {
					if !within(dir, p.Dir+"/internal") && !slices.Contains(alone[p.Dir], dir) {
						bad = append(bad, fmt.Sprintf("%s: imports %s: %s may import %s", f.Path, imp, p.Dir,
							strings.Join(alone[p.Dir], ", ")))
					}
					continue
				}
				for _, reached := range s.publicBelow(dir) {
					if floor, ok := at[reached]; !ok || floor <= at[p.Dir] {
						bad = append(bad, fmt.Sprintf("%s: imports %s, which leads to %s: that is not on a floor below %s", f.Path, imp,
							reached, p.Dir))
					}
				}
			}
		}
	}
	return bad
}

// internal reports whether a directory is that of an internal package.
func internal(dir string) bool { return slices.Contains(strings.Split(dir, "/"), "internal") }

// publicBelow returns the public packages that an import of dir leads to: dir
// itself, or what an internal package imports, directly or through others.
func (s *Source) publicBelow(dir string) []string {
	var out []string
	seen := map[string]bool{}
	var visit func(string)
	visit = func(dir string) {
		if seen[dir] {
			return
		}
		seen[dir] = true
		if !internal(dir) {
			out = append(out, dir)
			return
		}
		p := s.find(dir)
		if p == nil {
			return
		}
		for _, f := range p.Files {
			if f.Test {
				continue
			}
			for _, imp := range f.Imports {
				if next, ok := s.local(imp); ok {
					visit(next)
				}
			}
		}
	}
	visit(dir)
	sort.Strings(out)
	return out
}

// CheckFences reports imports outside their fence, in test files too.
func CheckFences(s *Source, fences []Fence) []string {
	var bad []string
	for _, p := range s.Packages {
		for _, f := range p.Files {
			for _, imp := range f.Imports {
				for _, fence := range fences {
					if !within(imp, fence.Import) || withinAny(p.Dir, fence.Dirs) {
						continue
					}
					bad = append(bad, fmt.Sprintf("%s: imports %s: %s", f.Path, imp, fence.Why))
				}
			}
		}
	}
	return bad
}

// CheckUnreachable reports every forbidden import that a program importing the
// package in dir would link: its own, and those of every package of the module
// it reaches. Each finding names the chain that leads there.
func CheckUnreachable(s *Source, dir string, forbidden []string) []string {
	var bad []string
	seen := map[string]bool{dir: true}
	type step struct {
		dir   string
		chain string
	}
	for queue := []step{{dir, dir}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		p := s.find(at.dir)
		if p == nil {
			bad = append(bad, fmt.Sprintf("%s: no such package", at.chain))
			continue
		}
		for _, f := range p.Files {
			if f.Test {
				continue
			}
			for _, imp := range f.Imports {
				local := ""
				if d, ok := s.local(imp); ok {
					local = "/" + d
				}
				if withinAny(imp, forbidden) || withinAny(local, forbidden) {
					bad = append(bad, fmt.Sprintf("%s → %s (%s): importing %s must not pull it in", at.chain, imp,
						f.Path, dir))
				}
				if next, ok := s.local(imp); ok && !seen[next] {
					seen[next] = true
					queue = append(queue, step{next, at.chain + " → " + next})
				}
			}
		}
	}
	return bad
}

// within reports whether a slash-separated path is dir or lies below it.
func within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, dir+"/")
}

// withinAny reports whether p lies within any of dirs.
func withinAny(p string, dirs []string) bool {
	for _, d := range dirs {
		if within(p, d) {
			return true
		}
	}
	return false
}
