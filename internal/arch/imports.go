package arch

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Layering says which packages of the module each package may import, by
// directory. A public package lists the public ones; it may also use every
// internal package that reaches nothing else. An internal package lists all
// that it imports: what stands below it, public or internal. It is the picture
// in docs and in the design: imports go down only.
type Layering map[string][]string

// Layers is the layering of this module.
var Layers = Layering{
	".": {"layer", "layer/compare", "layer/roofline", "triage", "hostoverhead", "perfetto", "profile", "profile/hardware", "classify", "trace", "trace/event", "trace/nsys",
		"trace/pftrace", "internal/choose", "internal/severity", "internal/htmlreport", "internal/kernelword", "internal/lightpage", "internal/opname", "internal/table"},
	"trace":            {"trace/event"},
	"trace/event":      {},
	"classify":         {"internal/decimal", "internal/kernelword", "internal/wordmatch"},
	"profile":          {"classify", "profile/internal/document", "profile/internal/quant", "profile/internal/ranks"},
	"profile/hardware": {},
	"layer":            {"profile", "classify", "trace", "trace/event"},
	"layer/view":       {"layer", "profile", "classify", "trace", "trace/event"},
	"layer/roofline":   {"layer", "profile", "profile/hardware", "classify", "trace", "trace/event"},
	"layer/compare":    {"layer", "profile", "classify", "trace", "trace/event", "internal/stat"},
	"hostoverhead":     {"layer", "profile", "classify", "trace", "trace/event", "hostoverhead/internal/names", "hostoverhead/internal/settings", "hostoverhead/internal/steps", "hostoverhead/internal/threads", "hostoverhead/internal/timeline"},
	"triage":           {"layer", "layer/compare", "internal/fusion", "triage/internal/activity", "triage/internal/chain", "triage/internal/pyframe", "triage/internal/reportfile", "profile", "profile/hardware", "classify", "trace", "trace/event"},
	"perfetto":         {"layer", "classify", "trace", "trace/event", "trace/pftrace", "internal/compress", "internal/eventjson"},
	"trace/nsys":       {"trace", "trace/event"},
	"trace/pftrace":    {"trace", "trace/event"},

	"trace/internal/column":  {},
	"trace/internal/shard":   {"internal/intern", "internal/scan", "trace/internal/column", "internal/kind", "internal/loss"},
	"trace/internal/suspect": {"trace/internal/column"},

	"hostoverhead/internal/settings": {"internal/framework"},
	"hostoverhead/internal/timeline": {"trace", "trace/event", "hostoverhead/internal/names", "internal/interval"},
	"hostoverhead/internal/names":    {"layer", "classify", "trace", "trace/event", "internal/apicall", "internal/kernelword", "internal/framework"},
	"hostoverhead/internal/threads":  {"layer", "trace", "trace/event"},
	"hostoverhead/internal/steps":    {"layer", "trace", "trace/event", "hostoverhead/internal/names", "internal/framework", "internal/interval"},
	"hostoverhead/hostcompare":       {"hostoverhead", "hostoverhead/internal/names", "hostoverhead/internal/steps", "hostoverhead/internal/threads", "hostoverhead/internal/timeline", "layer", "layer/compare", "classify", "trace", "trace/event", "internal/stat"},

	"triage/internal/activity":   {"layer", "profile", "classify", "trace", "trace/event", "internal/wordmatch", "internal/interval", "internal/kernelword", "internal/framework", "internal/table", "triage/internal/pyframe"},
	"triage/internal/chain":      {"layer", "classify", "trace", "trace/event", "internal/wordmatch", "internal/kernelword", "internal/fusion", "triage/internal/activity", "triage/internal/pyframe"},
	"triage/internal/pyframe":    {"internal/framework"},
	"triage/internal/reportfile": {},

	"capture": {"internal/framework", "capture/internal/disk", "capture/internal/folder", "capture/internal/judge",
		"capture/internal/label", "capture/internal/pysource", "capture/internal/server", "capture/internal/whole"},

	"capture/internal/disk":     {},
	"capture/internal/folder":   {"capture/internal/label"},
	"capture/internal/judge":    {},
	"capture/internal/label":    {"internal/framework"},
	"capture/internal/pysource": {},
	"capture/internal/secret":   {},
	"capture/internal/server":   {"capture/internal/label", "capture/internal/secret", "internal/framework"},
	"capture/internal/whole":    {},

	"internal/agree":            {"internal/gen"},
	"internal/apilist":          {},
	"internal/apicall":          {},
	"internal/built":            {"trace"},
	"internal/arch":             {},
	"internal/arch/testcount":   {},
	"internal/atomicfile":       {},
	"internal/compress":         {"internal/decompress"},
	"internal/choose":           {"trace"},
	"internal/cost":             {},
	"internal/decimal":          {},
	"internal/decompress":       {"internal/inflate"},
	"internal/distil":           {"internal/atomicfile"},
	"internal/demo":             {"internal/gen"},
	"internal/fingerprint":      {"internal/atomicfile", "internal/gen", "internal/gen/nsysgen"},
	"internal/figures":          {"internal/gen", "internal/gen/nsysgen"},
	"internal/hosttest":         {"internal/built", "internal/gen/nsysgen", "layer", "trace", "trace/event", "trace/nsys"},
	"internal/framework":        {},
	"internal/fusion":           {"classify", "internal/kernelword", "internal/framework"},
	"internal/gen":              {"internal/opname"},
	"internal/gen/families":     {"internal/opname"},
	"internal/gen/cmd/demogen":  {"internal/gen"},
	"internal/gen/cmd/tracegen": {"internal/gen"},
	"internal/gen/idle":         {"internal/gen/nsysgen"},
	"internal/gen/nsysgen":      {},
	"internal/gen/pftracegen":   {},
	"internal/eventjson":        {"trace", "trace/event", "trace/pftrace", "internal/decimal", "internal/kind"},
	"internal/gate":             {"internal/table"},
	"internal/htmlreport":       {"internal/table"},
	"internal/lightpage":        {"internal/htmlreport", "internal/table", "layer/roofline"},
	"internal/inflate":          {},
	"internal/intern":           {},
	"internal/kind":             {},
	"internal/interval":         {},
	"internal/kernelword":       {},
	"internal/loss":             {},
	"internal/stat":             {},
	"internal/mutate":           {},
	"internal/opname":           {},
	"internal/perf":             {"internal/cost", "internal/gen/nsysgen", "internal/table"},
	"internal/perf/load":        {".", "trace", "trace/event"},
	"internal/torture":          {".", "internal/cost", "internal/table", "internal/torture/shapes"},
	"internal/wordmatch":        {},
	"internal/whole":            {"internal/built", "hostoverhead", "hostoverhead/hostcompare", "internal/apicall", "internal/gen", "internal/loss", "internal/published", "internal/published/host", "layer", "layer/view", "perfetto", "trace", "trace/event", "trace/pftrace", "triage"},
	"internal/torture/shapes":   {},
	"internal/published":        {"internal/published/blocks", "layer", "layer/view", "profile", "trace", "trace/event"},
	"internal/published/blocks": {"internal/decimal", "profile", "trace", "trace/event"},
	"internal/published/host":   {"classify", "internal/interval", "trace", "trace/event"},
	"internal/published/triage": {"classify", "internal/kernelword", "trace", "trace/event"},
	"internal/scan":             {"internal/decimal"},
	"internal/serve":            {"perfetto"},
	"internal/severity":         {},
	"internal/student":          {},
	"internal/table":            {},
	"internal/terminal":         {},
	"profile/internal/document": {},
	"profile/internal/quant":    {"profile/internal/document"},
	"profile/internal/ranks":    {"profile/internal/document"},
	"layer/internal/segment":    {"classify", "internal/kernelword"},
	"layer/internal/ladder":     {"profile", "classify", "trace", "trace/event", "internal/apicall", "internal/intern", "internal/kernelword", "internal/framework", "layer/internal/segment"},
	"layer/internal/operator":   {"internal/decimal", "internal/opname"},
	"layer/internal/launches":   {},
	"internal/testdata":         {},
}

// strict are the public packages that import no internal package but those
// they list, so that they can be lifted out of the module.
var strict = map[string]bool{".": true, "capture": true}

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
	{"zombiezen.com/go/sqlite", []string{"trace/nsys", "internal/gen/nsysgen", "internal/distil", "internal/agree"}, "only the nsys reader and the makers and checkers of its test files know SQLite"},
	{"modernc.org/sqlite", nil, "zombiezen.com/go/sqlite is the SQLite driver"},
	{"database/sql", nil, "zombiezen.com/go/sqlite is the SQLite driver"},
	{"unsafe", []string{"internal"}, "unsafe stays in internal"},
	{"text/tabwriter", nil, "internal/table prints tables"},
	{"encoding/csv", []string{"internal/table", "internal/agree", "examples/internal/programs/kernelexport"}, "internal/table prints CSV; tests and the agreement test read it back"},
	{"C", nil, "the module builds without cgo"},
	{"github.com/stretchr/testify", nil, "tests use the standard library and go-cmp"},
}

// Unreachable are the imports, by package of this module, that a program
// importing it must not pay for. Those of this module begin with a slash.
var Unreachable = map[string][]string{
	".":        {"net/http", "/capture"},
	"trace":    {"net/http", "zombiezen.com", "modernc.org", "github.com/ianlancetaylor/demangle"},
	"perfetto": {"net/http"},
}

// CheckLayering reports imports that go up or sideways: one that Layers does
// not grant, a package that Layers does not know, anything that imports an
// example. Test files may also use what lies further down, and any internal
// package; tests of the root package and examples may use everything public.
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
		if _, ok := layers[p.Dir]; !ok && !within(p.Dir, "examples") && !within(p.Dir, "benchmarks") {
			bad = append(bad, fmt.Sprintf("%s: a package that the layering does not know", p.Dir))
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
	case test && (from == "." || internal(to)):
		return ""
	case test && from == "hostoverhead" && to == "hostoverhead/hostcompare":
		return "" // what holds of every trace is asked of both at once
	case test && (from == "hostoverhead" || from == "hostoverhead/hostcompare" || from == "internal/published/host" || from == "perfetto" || from == "trace/pftrace") && to == "trace/nsys":
		return "" // reference figures are of nsys exports, and copies are made of them
	case internal(to) && !internal(from) && !strict[from]:
		for _, d := range l.below(to) {
			if !internal(d) && d != from && !slices.Contains(l.below(from), d) {
				return fmt.Sprintf("it reaches %s, which %s may not import", d, from)
			}
		}
		return ""
	}
	allowed := l[from]
	if test {
		allowed = l.below(from)
	}
	if slices.Contains(allowed, to) {
		return ""
	}
	return fmt.Sprintf("%s may import %s of this module's packages", from, list(allowed))
}

// internal reports whether a directory is that of an internal package.
func internal(dir string) bool { return slices.Contains(strings.Split(dir, "/"), "internal") }

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
				local := ""
				if d, ok := s.local(imp); ok {
					local = "/" + d
				}
				if withinAny(imp, forbidden) || withinAny(local, forbidden) {
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
