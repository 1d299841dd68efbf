package arch

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Layering says which public packages of the module each package may import,
// by directory, internal packages and the standard library apart. It is the
// picture in docs and in the design: imports go down only.
type Layering map[string][]string

// Layers is the layering of this module.
var Layers = Layering{
	".":            {},
	"trace":        {},
	"classify":     {},
	"profile":      {"classify"},
	"layer":        {"profile", "classify", "trace", "layer/internal/segment"},
	"hostoverhead": {"layer", "classify", "trace"},
	"triage":       {"layer", "profile", "classify", "trace"},
	"perfetto":     {"layer", "trace"},
	"trace/nsys":   {"trace"},
	"capture":      {},

	"layer/internal/segment": {"classify"},

	// Internal packages import no public one unless they stand here.
	"internal/published":        {"layer", "profile", "trace"},
	"internal/published/blocks": {"profile", "trace"},
}

// noInternal are the public packages that import nothing of ours at all, so
// that they can be lifted out of the module.
var noInternal = map[string]bool{".": true, "capture": true}

// Fence keeps an import inside some directories.
type Fence struct {
	// Import is an import path; paths below it are meant too.
	Import string
	// Dirs are the directories (packages below them included) that may use it.
	Dirs []string
	// Why is told with a violation.
	Why string
}

// Fences are the fenced imports of this module.
var Fences = []Fence{
	{"zombiezen.com/go/sqlite", []string{"trace/nsys", "internal/gen/nsysgen", "internal/distil", "internal/oracle"}, "only the nsys reader and the makers and checkers of its test files know SQLite"},
	{"modernc.org/sqlite", nil, "zombiezen.com/go/sqlite is the SQLite driver"},
	{"database/sql", nil, "zombiezen.com/go/sqlite is the SQLite driver"},
	{"unsafe", []string{"internal"}, "unsafe stays in internal"},
	{"C", nil, "the module builds without cgo"},
	{"github.com/stretchr/testify", nil, "tests use the standard library and go-cmp"},
}

// Unreachable are imports that a program importing package trace must not pay
// for.
var Unreachable = []string{"net/http", "zombiezen.com", "modernc.org", "github.com/ianlancetaylor/demangle"}

// CheckLayering reports imports that go up or sideways: a public package that
// imports one that Layers does not grant it, an internal package that imports a
// public one that it is not granted either, anything that imports an example. Test files may also use what
// lies further down and internal packages; tests of the root package and
// examples may use everything public.
func CheckLayering(s *Source, layers Layering) []string {
	var bad []string
	for _, p := range s.Packages {
		for _, f := range p.Files {
			for _, imp := range f.Imports {
				dir, ok := s.local(imp)
				if !ok || dir == p.Dir {
					continue
				}
				if why := layers.refuse(p.Dir, dir, f.Test); why != "" {
					bad = append(bad, fmt.Sprintf("%s: imports %s: %s", f.Path, imp, why))
				}
			}
		}
		if !within(p.Dir, "internal") && !within(p.Dir, "examples") && !within(p.Dir, "benchmarks") {
			if _, ok := layers[p.Dir]; !ok {
				bad = append(bad, fmt.Sprintf("%s: a public package that the layering does not know", p.Dir))
			}
		}
	}
	return bad
}

// refuse says why the package in from may not import the one in to, "" where
// it may.
func (l Layering) refuse(from, to string, test bool) string {
	switch {
	case within(to, "examples"):
		if within(from, "examples") && (within(to, "examples/internal") || test) {
			return ""
		}
		return "nothing imports an example"
	case within(from, "examples"), within(from, "benchmarks"):
		return ""
	case within(from, "internal"):
		if within(to, "internal") || slices.Contains(l[from], to) || test && slices.Contains(l.below(from), to) {
			return ""
		}
		return "internal packages never import a public one"
	case within(to, "internal"):
		if !test && noInternal[from] {
			return "this package imports nothing of ours"
		}
		return ""
	case test && from == ".":
		return ""
	case test && from == "hostoverhead" && to == "trace/nsys":
		return "" // its reference figures are of nsys exports
	}
	allowed := l[from]
	if test {
		allowed = l.below(from)
	}
	for _, a := range allowed {
		if a == to {
			return ""
		}
	}
	return fmt.Sprintf("%s may import %s of the public packages", from, list(allowed))
}

// below returns everything that from may reach, directly or not, sorted.
func (l Layering) below(from string) []string {
	seen := map[string]bool{}
	var visit func(string)
	visit = func(dir string) {
		for _, d := range l[dir] {
			if !seen[d] {
				seen[d] = true
				visit(d)
			}
		}
	}
	visit(from)
	out := make([]string, 0, len(seen))
	for d := range seen {
		out = append(out, d)
	}
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
				if withinAny(imp, forbidden) {
					bad = append(bad, fmt.Sprintf("%s → %s (%s): importing %s must not pull it in", at.chain, imp, f.Path, dir))
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

// list joins names for a message.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
