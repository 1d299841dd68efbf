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
