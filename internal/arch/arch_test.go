// Package arch checks the house rules of this module: which package may import
// which, what every file and package must carry, and what a test must do.
//
// The rules are ordinary functions over parsed files. They parse in-process
// instead of asking the go command, so that the test cache sees every file
// they read and an edit anywhere in the module runs them again.
package arch

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/llmstrata/strata/internal/testdata"
)

// TestModuleKeepsTheRules runs every rule on this module.
func TestModuleKeepsTheRules(t *testing.T) {
	src := own(t)
	rules := []struct {
		name  string
		check func(*Source) []string
	}{
		{"layering", func(s *Source) []string { return CheckLayering(s, House, Alone) }},
		{"fences", func(s *Source) []string { return CheckFences(s, Fences) }},
		{"light", func(s *Source) []string {
			var bad []string
			for dir, forbidden := range Unreachable {
				bad = append(bad, CheckUnreachable(s, dir, forbidden)...)
			}
			return bad
		}},
		{"names", CheckNames},
		{"package-docs", CheckPackageDocs},
		{"symbol-docs", CheckSymbolDocs},
		{"assertions", CheckAssertions},
		{"examples", CheckExamples},
		{"one-way", CheckOneWay},
		{"comments", CheckComments},
		{"lines", CheckLines},
		{"literals", func(s *Source) []string { return CheckLiterals(s, literals) }},
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, bad := range r.check(src) {
				t.Error(bad)
			}
		})
	}
}

// own is the source of this module.
func own(t *testing.T) *Source {
	t.Helper()
	src, err := Load(os.DirFS(testdata.Root(t)), testdata.Module)
	if err != nil {
		t.Fatal(err)
	}
	if len(src.Packages) < 3 {
		t.Fatalf("Load found %d packages, want at least 3", len(src.Packages))
	}
	return src
}

// module is the path of the small modules the rules are tried on.
const module = "example.com/m"

// load parses a module given as file name → text.
func load(t *testing.T, files map[string]string) *Source {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	src, err := Load(fsys, module)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// wantFindings compares findings with the words that each must hold, in order.
func wantFindings(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d findings, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		for _, word := range strings.Fields(want[i]) {
			if !strings.Contains(got[i], word) {
				t.Errorf("finding %d = %q, want it to hold %q", i, got[i], word)
			}
		}
	}
}

func TestLayeringFindsEachDirection(t *testing.T) {
	imports := func(pkg string, paths ...string) string {
		text := "package " + pkg + "\n"
		for _, p := range paths {
			text += "import _ \"" + p + "\"\n"
		}
		return text
	}
	floors := Floors{{"high", "side"}, {"mid"}, {"low"}}
	alone := map[string][]string{"capture": {"internal/y"}}
	src := load(t, map[string]string{
		"capture/a.go": imports("capture", module+"/internal/x", module+"/internal/y",
			module+"/capture/internal/own"),
		"examples/internal/app.go": imports("app", module+"/high"),
		"examples/one/main.go":     imports("main", module+"/examples/internal", module+"/high"),
		"examples/two/main.go":     imports("main", module+"/examples/one"),
		"high/a.go":                imports("high", module+"/mid", module+"/low", module+"/internal/z"),
		"internal/x/a.go":          imports("x", module+"/low", module+"/internal/y", "fmt"),
		"internal/x/a_test.go":     imports("x_test", module+"/high"),
		"internal/z/a.go":          imports("z", module+"/mid", module+"/internal/x"),
		"low/a.go":                 imports("low", module+"/high", module+"/internal/y"),
		"low/a_test.go":            imports("low_test", module+"/mid", module+"/examples/one"),
		"low/b.go":                 imports("low", module+"/internal/z"),
		"mid/a.go":                 imports("mid", module+"/low", module+"/mid/internal/cut", module+"/internal/x"),
		"mid/internal/cut/a.go":    imports("cut", module+"/low", module+"/side"),
		"side/a.go":                imports("side", module+"/internal/y", module+"/high"),
		"stray/a.go":               imports("stray"),
	})
	wantFindings(t, CheckLayering(src, floors, alone),
		"capture/a.go /internal/x internal/y",
		"examples/two/main.go examples/one",
		"low/a.go /high",
		"low/a_test.go examples/one",
		"low/b.go internal/z low",
		"low/b.go internal/z mid",
		"mid/a.go cut side",
		"side/a.go high",
		"stray floor",
	)
}

func TestFencesHoldTestFilesToo(t *testing.T) {
	src := load(t, map[string]string{
		"low/a.go":        "package low\nimport \"unsafe\"\nvar _ unsafe.Pointer\n",
		"low/a_test.go":   "package low\nimport _ \"zombiezen.com/go/sqlite/sqlitex\"\n",
		"internal/x/a.go": "package x\nimport \"unsafe\"\nvar _ unsafe.Pointer\n",
		"trace/nsys/a.go": "package nsys\nimport _ \"zombiezen.com/go/sqlite\"\n",
	})
	wantFindings(t, CheckFences(src, Fences),
		"low/a.go unsafe internal",
		"low/a_test.go sqlitex databases",
		"trace/nsys/a.go sqlite databases",
	)
}

func TestUnreachableFollowsThePackagesInBetween(t *testing.T) {
	src := load(t, map[string]string{
		"trace/a.go":          "package trace\nimport _ \"" + module + "/internal/x\"\n",
		"trace/a_test.go":     "package trace\nimport _ \"net/http/httptest\"\n",
		"internal/x/a.go":     "package x\nimport _ \"" + module + "/internal/y\"\n",
		"internal/y/a.go":     "package y\nimport _ \"net/http\"\n",
		"internal/y/net.go":   "//go:build windows\n\npackage y\nimport _ \"zombiezen.com/go/sqlite\"\n",
		"internal/other/a.go": "package other\nimport _ \"net/http\"\n",
	})
	wantFindings(t, CheckUnreachable(src, "trace", []string{"net/http", "zombiezen.com"}),
		"internal/x internal/y net/http",
		"internal/y sqlite net.go",
	)
	wantFindings(t, CheckUnreachable(src, "trace", []string{"/internal/y"}), "internal/x /internal/y")
}

func TestNamesThatSayNothingAreFound(t *testing.T) {
	src := load(t, map[string]string{"low/a.go": "package low\n", "low/utils/u.go": "package utils\n"})
	wantFindings(t, CheckNames(src), "low/utils utils")
}

// TestLiteralsAndDialectAreFound: each kind of comparison, an entry that is out of date and a word of a comment.
func TestLiteralsAndDialectAreFound(t *testing.T) {
	src := load(t, map[string]string{
		"low/a.go": `package low

// f tells nothing.
func (t *T) f(s string) bool {
	switch s {
	case "one", "-": // 1
	}
	return s == "two" || strings.EqualFold(s, "three") || s != "" // 2
}

var g = func(s string) bool { return "four" == s } // all of them
`,
		"low/a_test.go": "package low\n\n// h tells.\nfunc h(s string) bool { return s == `five` }\n",
	})
	wantFindings(t, CheckLiterals(src, "low:T.f 3 | a format"), `low/a.go:11:38: "four" compared in low:g`)
	wantFindings(t, CheckLiterals(src, "low:T.f 2 | a format\nlow:g 1 | a format\n"),
		"low:T.f compares 3 literals, 2 are listed")
	wantFindings(t, CheckLiterals(src, "low:T.f 3 | a format\nlow:g 1\n"), "want PACKAGE", "low:g")
	wantFindings(t, CheckComments(src), `low/a.go:3:1: a comment says "tells"`)
}

// TestLongLinesAreFound: code and sentences are broken, what a literal holds of others is not.
func TestLongLinesAreFound(t *testing.T) {
	long := strings.Repeat("x", columns)
	src := load(t, map[string]string{"low/a.go": "package low\n\n// " + long + "\nvar a = \"" + long + "\"\n" +
		"var b = `\n" + long + "x`\nvar c = \"" + strings.Repeat("a word, ", columns/8) + "\"\nvar d = \"\" // " + long +
		"\n"})
	wantFindings(t, CheckLines(src), "low/a.go:3: 123 columns", "low/a.go:7: 130 columns", "low/a.go:8: 134 columns")
}

func TestDocsFindsWhatIsUndocumented(t *testing.T) {
	src := load(t, map[string]string{
		"cmd/main.go":  "// Cmd is a program.\npackage main\n",
		"cmd2/main.go": "package main\n",
		"low/a.go": `// Package low may be documented in any file.
package low

type T struct {
	// A is documented, and so is the field below.
	A int
	B int

	C int
	E int ` + "`json:\"e\"`" + `
	d int
}

// U has a comment.
type U struct{ X int // ok
}

// Wrong words for V.
type V int

// A W may open with an article.
type W int

func F() {}

// M does it.
func (T) M() {}

func (t *T) N() {}

func (t *T) Error() string { return "" }

func (u *unexported) O() {}

type unexported struct{ Y int }

const X = 1

// A group.
const (
	G = 1
	H = 2
)

var (
	I = 1 // counted
	J = 2
)
`,
		"mid/doc.go":      "// Package mid is fine.\npackage mid\n",
		"only/a_test.go":  "package only_test\n",
		"testdata/bad.go": "package broken // not parsed {{{",
	})
	wantFindings(t, CheckPackageDocs(src), "cmd2 comment")
	wantFindings(t, CheckSymbolDocs(src),
		"type T comment", "field T.C", "type V begin", "func F", "func N", "const X", "var J")
}

func TestAssertionsFindsTestsThatCannotFail(t *testing.T) {
	src := load(t, map[string]string{
		"internal/testdata/a.go": `package testdata
import "testing"
func Shared(tb testing.TB) string { tb.Fatal("x"); return "" }`,
		"internal/check/a.go": `package check
import "testing"
func Same(t *testing.T) { t.Helper(); t.Errorf("x") }
func Nothing(t *testing.T) {}`,
		"low/a_test.go": `package low
import (
	"testing"
	"` + module + `/internal/testdata"
	"` + module + `/internal/check"
)
func TestDirect(t *testing.T) { t.Run("x", func(t *testing.T) { t.Fatal("y") }) }
func TestHelper(t *testing.T) { help(t) }
func help(t *testing.T) { deeper(t) }
func deeper(t *testing.T) { t.Error("z") }
func TestGeneric(t *testing.T) { generic[int](t) }
func generic[T any](t *testing.T) { t.Error("z") }
func TestOther(t *testing.T) { check.Same(t) }
func TestMethod(t *testing.T) { (h{t}).want(1) }
type h struct{ t *testing.T }
func (x h) want(int) { x.t.Errorf("w") }
func TestMain(m *testing.M) {}
func BenchmarkX(b *testing.B) {}
func FuzzOK(f *testing.F) { f.Fuzz(func(t *testing.T, b []byte) { t.Error() }) }
func TestNothing(t *testing.T) { t.Log("x"); t.Skip() }
func TestOnlyFinds(t *testing.T) { _ = testdata.Shared(t) }
func TestEmptyHelper(t *testing.T) { check.Nothing(t) }
func TestCycle(t *testing.T) { ping(t) }
func ping(t *testing.T) { pong(t) }
func pong(t *testing.T) { ping(t) }
func FuzzNothing(f *testing.F) { f.Fuzz(func(t *testing.T, b []byte) { help2(b) }) }
func help2(b []byte) {}
func Example() {
	// Output:
	// x
}
func Example_silent() {}
`,
	})
	wantFindings(t, CheckAssertions(src),
		"TestNothing", "TestOnlyFinds", "TestEmptyHelper", "TestCycle", "FuzzNothing", "Example_silent output")
}

func TestShortTestsAreFound(t *testing.T) {
	src := load(t, map[string]string{"low/a_test.go": "package low\nimport \"testing\"\nvar _ = testing.Short()\nvar _ = testing.Verbose()\n"})
	wantFindings(t, CheckOneWay(src), "low/a_test.go:3 Long")
}

func TestExamplesFindsPackagesWithout(t *testing.T) {
	src := load(t, map[string]string{
		"a.go":            "package m\n",
		"a_test.go":       "package m_test\nfunc Example() {\n// Output:\n}\n",
		"bare/a.go":       "package bare\nfunc Example() {}\n",
		"examples/x/a.go": "package x\n",
		"internal/y/a.go": "package y\n",
		"only/a_test.go":  "package only\n",
		"prog/a.go":       "package main\n",
		"shown/a.go":      "package shown\n",
		"shown/b_test.go": "package shown_test\nfunc ExampleT_m() {\n// Output:\n}\n",
	})
	wantFindings(t, CheckExamples(src), "bare")
}

func TestLoadRefusesFilesThatDoNotParse(t *testing.T) {
	_, err := Load(fstest.MapFS{"a/a.go": {Data: []byte("package a\nfunc {")}}, module)
	if err == nil || !strings.Contains(err.Error(), "a/a.go") {
		t.Errorf("Load of a broken file: error %v, want one that names the file", err)
	}
}

func TestLoadLeavesNestedModulesOut(t *testing.T) {
	src := load(t, map[string]string{
		"a/a.go": "package a\n", "nested/go.mod": "module n\n", "nested/b.go": "package b\n",
		".hidden/c.go": "package c\n", "_off/d.go": "package d\n",
	})
	if len(src.Packages) != 1 || src.Packages[0].Dir != "a" {
		t.Errorf("Load found %d packages, want a alone", len(src.Packages))
	}
}
