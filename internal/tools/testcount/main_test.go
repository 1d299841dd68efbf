package main

import (
	"strings"
	"testing"
)

func TestRunCounts(t *testing.T) {
	const in = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    x_test.go:3: reference data missing: /x\n"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p"}
`
	for _, c := range []struct {
		name, in string
		ok       bool
		want     []string // last one is the closing line
	}{
		{"pass and skip", in, true, []string{"skipped 1: reference data missing: /x", "1 passed, 0 failed, 1 skipped"}},
		{"a failing test fails its package once", in +
			`{"Action":"output","Package":"q","Test":"TestC","Output":"why\n"}
{"Action":"fail","Package":"q","Test":"TestC"}
{"Action":"fail","Package":"q"}
`, false, []string{"FAILED q TestC", "why", "1 passed, 1 failed, 1 skipped"}},
		{"a package that does not build", in + `{"ImportPath":"r","Action":"build-output","Output":"r.go:1: broken\n"}
{"Action":"fail","Package":"r","FailedBuild":"r"}
`, false, []string{"FAILED r", "r.go:1: broken", "1 passed, 1 failed, 1 skipped"}},
		{"nothing ran", "", false, []string{"0 passed, 0 failed, 0 skipped"}},
		{"other text is shown", "go: no modules\n" + in, true,
			[]string{"go: no modules", "1 passed, 0 failed, 1 skipped"}},
	} {
		var b strings.Builder
		ok, err := run(strings.NewReader(c.in), &b)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if ok != c.ok {
			t.Errorf("%s: ok = %v, want %v", c.name, ok, c.ok)
		}
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		if got, want := lines[len(lines)-1], c.want[len(c.want)-1]; got != want {
			t.Errorf("%s: closing line %q, want %q", c.name, got, want)
		}
		for _, w := range c.want {
			if !strings.Contains(b.String(), w) {
				t.Errorf("%s: output lacks %q:\n%s", c.name, w, b.String())
			}
		}
	}
}
