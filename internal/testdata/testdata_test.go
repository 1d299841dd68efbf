package testdata_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
)

func TestRootHoldsThisPackage(t *testing.T) {
	root := testdata.Root(t)
	if _, err := os.Stat(filepath.Join(root, "internal", "testdata", "doc.go")); err != nil {
		t.Errorf("Root() = %q, which does not hold this package: %v", root, err)
	}
}

func TestRootPassesOverNestedModules(t *testing.T) {
	want := testdata.Root(t)
	dir := filepath.Join(t.TempDir(), "outer", "nested", "pkg")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	outer := filepath.Dir(filepath.Dir(dir))
	write(t, filepath.Join(outer, "go.mod"), "// a comment\nmodule "+testdata.Module+"\n\ngo 1.25.0\n")
	write(t, filepath.Join(outer, "nested", "go.mod"), "module "+testdata.Module+"/nested\n")
	t.Chdir(dir)
	got := testdata.Root(t)
	if same, err := sameFile(got, outer); err != nil || !same {
		t.Errorf("Root() below a nested module = %q, want %q (%v)", got, outer, err)
	}
	if got == want {
		t.Errorf("Root() = %q, the root of the real module", got)
	}
}

// TestSharedNamesWhatIsMissing runs Shared in a subtest that is expected to be
// skipped, because a skip is the behaviour under test.
func TestSharedNamesWhatIsMissing(t *testing.T) {
	rec := &recorder{TB: t}
	func() {
		defer func() { _ = recover() }()
		testdata.Shared(rec, "no/such/file.json")
	}()
	if !strings.Contains(rec.skipped, "no/such/file.json") || !strings.Contains(rec.skipped, "missing") {
		t.Errorf("skip message = %q, want it to name the missing path", rec.skipped)
	}
}

// recorder is a testing.TB that notes a skip instead of ending the test.
type recorder struct {
	testing.TB
	skipped string
}

func (r *recorder) Skipf(format string, args ...any) {
	var b strings.Builder
	b.WriteString(format)
	for _, a := range args {
		if s, ok := a.(string); ok {
			b.WriteString(" " + filepath.ToSlash(s))
		}
	}
	r.skipped = b.String()
	panic("skipped")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func sameFile(a, b string) (bool, error) {
	fa, err := os.Stat(a)
	if err != nil {
		return false, err
	}
	fb, err := os.Stat(b)
	if err != nil {
		return false, err
	}
	return os.SameFile(fa, fb), nil
}

func TestSmallestKeepsTheOrder(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for _, name := range []string{"ccc", "bbbb", "a", "dd"} {
		paths = append(paths, filepath.Join(dir, name))
		write(t, paths[len(paths)-1], name)
	}
	got := testdata.Smallest(paths, 2)
	if len(got) != 2 || got[0] != paths[2] || got[1] != paths[3] {
		t.Errorf("Smallest = %v, want a and dd", got)
	}
	if got := testdata.Smallest(paths, 9); len(got) != 4 {
		t.Errorf("%d of 4 files, want all", len(got))
	}
}

// TestSpread: small files are read by all tests, each large one by a third of them, all of them with STRATA_LONG.
func TestSpread(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i, size := range []int64{1, testdata.Large - 1, testdata.Large, testdata.Large, testdata.Large, testdata.Large,
		testdata.Large, testdata.Large} {
		path := filepath.Join(dir, string(rune('a'+i)))
		write(t, path, "")
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	t.Setenv("STRATA_LONG", "")
	read := map[string]int{}
	const tests = 30
	for i := range tests {
		t.Run(string(rune('A'+i)), func(t *testing.T) {
			kept := testdata.Spread(t, paths)
			if len(kept) != 4 {
				t.Errorf("%d files, want two small and two of six large ones", len(kept))
			}
			for _, k := range kept {
				read[filepath.Base(k)]++
			}
		})
	}
	for i, path := range paths {
		if n := read[filepath.Base(path)]; i < 2 && n != tests || i >= 2 && (n == 0 || n == tests) {
			t.Errorf("file %d is read by %d of %d tests", i, n, tests)
		}
	}
	t.Setenv("STRATA_LONG", "1")
	if kept := testdata.Spread(t, paths); len(kept) != len(paths) {
		t.Errorf("%d of %d files with STRATA_LONG", len(kept), len(paths))
	}
}
