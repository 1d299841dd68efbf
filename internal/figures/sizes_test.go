package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMeasureCountsStatementsAndNames(t *testing.T) {
	root := t.TempDir()
	src := "package p\n\nconst A, b = 1, 2\n\ntype T struct{}\n\nfunc (t *T) M() { if true { return } }\nfunc (t hidden) N() {}\n\ntype hidden int\n\nfunc F() {" + strings.Repeat("\n\t_ = 1", 60) + "\n}\n"
	for name, text := range map[string]string{"p/p.go": src, "p/p_test.go": "package p\nfunc G() { _ = 1 }\n", "internal/q/q.go": "package q\n\nfunc Q() {}\n"} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := measure(root)
	if err != nil {
		t.Fatal(err)
	}
	if want := (size{files: 1, lines: 73, statements: 62, exported: 4, long: 1}); got["p"] != want {
		t.Errorf("p = %+v, want %+v", got["p"], want)
	}
	if want := (size{files: 1, lines: 3}); got["internal/q"] != want {
		t.Errorf("internal/q = %+v, want %+v", got["internal/q"], want)
	}
}
