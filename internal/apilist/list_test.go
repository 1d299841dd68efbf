package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// check type-checks a package that imports nothing and lists it.
func check(t *testing.T, text string) []string {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "a.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := (&types.Config{}).Check("example.com/m/a", fset, []*ast.File{f}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return list("a", pkg)
}

func TestListHoldsWhatImportersSee(t *testing.T) {
	got := check(t, `package a
type Kind uint8
const (
	One Kind = iota + 1
	Two
	three
)
const Text = "x\ny"
var V = map[string][]int{}
var v int
type S struct {
	A int `+"`json:\"a,omitempty\" x:\"y\"`"+`
	b int
	Kind
}
func (s S) M(x int, more ...string) (n int, err error) { return 0, nil }
func (s *S) P() {}
func (s *S) q() {}
type I interface { Do(int) error; Err; own() }
type Err interface { Error() string }
type G[T any] struct { X T }
func (g *G[T]) Get() T { return g.X }
func F[T ~int | ~string](x T, f func(a T) bool) T { return x }
type A = S
type Fn func(*S) error
type hidden struct { X int }
`)
	want := strings.Split(strings.TrimSpace(`
pkg a, const One Kind = 1
pkg a, const Text untyped string = "x\ny"
pkg a, const Two Kind = 2
pkg a, field G.X T
pkg a, field S.A int json:"a,omitempty"
pkg a, field S.Kind Kind (embedded)
pkg a, func F[T ~int | ~string](T, func(a T) bool) T
pkg a, method (*G) Get() T
pkg a, method (*S) P()
pkg a, method (Err) Error() string
pkg a, method (I) Do(int) error
pkg a, method (S) M(int, ...string) (int, error)
pkg a, type A = S
pkg a, type Err interface
pkg a, type Fn func(*S) error
pkg a, type G[T any] struct
pkg a, type I embeds Err
pkg a, type I interface
pkg a, type I is sealed
pkg a, type Kind uint8
pkg a, type S struct
pkg a, var V map[string][]int`), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func TestDifferenceShowsBothSides(t *testing.T) {
	got := difference([]string{"a", "b", "d"}, []string{"b", "c", "d", "e"})
	if diff := cmp.Diff([]string{"- a", "+ c", "+ e"}, got); diff != "" {
		t.Errorf("difference (-want +got):\n%s", diff)
	}
	if got := difference([]string{"a"}, []string{"a"}); got != nil {
		t.Errorf("difference of equal lists = %q, want none", got)
	}
}

func TestPublicPackages(t *testing.T) {
	for _, c := range []struct {
		path, name string
		want       bool
	}{
		{"/trace", "trace", true},
		{"/trace/nsys", "nsys", true},
		{"/internal/scan", "scan", false},
		{"/examples/internal/app", "app", false},
		{"/examples/triage", "main", false},
	} {
		if got := public(c.path, c.name); got != c.want {
			t.Errorf("public(%q, %q) = %v, want %v", c.path, c.name, got, c.want)
		}
	}
}

// TestRunFindsThisModule lists the module itself; whether the list is the
// committed one is for the check in CI to say, not for a test that the go
// command would answer from its cache.
func TestRunFindsThisModule(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles every package of the module")
	}
	var out bytes.Buffer
	err := run(t.Context(), &out, false)
	if err != nil && !strings.Contains(err.Error(), "-update") {
		t.Fatal(err)
	}
	if out.Len() == 0 {
		t.Error("run printed nothing")
	}
}
