package scan_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llmstrata/strata/internal/scan"
)

// What an event holds does not depend on the events in front of it, of which the parser remembers how they begin.
func TestEventsAreReadAloneAsInCompany(t *testing.T) {
	usual := ev("a", `, "args": {"correlation": 4}`)
	variants := []string{usual, ev("b"), ev(`c\"d`), ev(""), ev("e", `, "id": 3`)}
	for _, r := range [][2]string{
		{`"tid": 2`, `"tid": 3`}, {`"tid": 2`, `"tid": "stream 7"`}, {`"pid": 1`, `"pid": "1"`}, {`"pid": 1`, `"pid": -1`}, {`"cat": "cpu_op"`, `"cat": "kernel"`},
		{`"cat": "cpu_op"`, `"cat": ""`}, {`"cat": "cpu_op"`, `"cat": "cpu_op", "cat": "cpu_out"`}, {`"cat": "cpu_op", `, ``}, {`"cat": "cpu_op"`, `"cat": 5`},
		{`"ph": "X"`, `"ph": "B"`}, {`"ph": "X"`, `"ph": "Xy"`}, {`"ph": "X", "cat": "cpu_op"`, `"cat": "cpu_op", "ph": "X"`}, {`"ph": "X", `, `"pid": 9, "ph": "X", `},
		{`"pid": 1, `, `"pid": 1, "ph": "i", `}, {`"pid": 1, `, `"pid": 1, "cat": "other", `}, {`"pid": 1, `, `"pid": 1, "name": "second", `}, {`"pid": 1, `, `"pid": 1, "pid": 8, `},
		{`"pid": 1, `, `"pid": 1, "dur": 7, `}, {`"pid": 1, `, `"pid": 1, "dur": NaN, `}, {`"pid": 1, `, `"pid": 1, "x": {"name": [1]}, `}, {`"pid": 1, `, `"pid": 1, "s": "t", `}, {`"pid": 1, `, ``},
		{`"ts": 10.5`, `"ts":  10.5`}, {`"ts": 10.5`, `"ts": "10.5"`}, {`"ts": 10.5`, `"ts": "x"`}, {`"ts": 10.5, `, ``}, {`"ts": 10.5`, `"ts": 10.5, "ts": 11`}, {`"ts": 10.5`, `"ts": NaN`},
		{`"dur": 1.25`, `"dur": 1.25,`}, {`"name": "a"`, `"name":  "a"`}, {`"name": "a"`, `"name": 5`}, {`"name": "a"`, `"name": null`}, {`{"ph"`, `{ "ph"`}, {`, "pid"`, `,"pid"`},
		{`"name": "a"`, `"` + strings.Repeat("k", 200) + `": 1, "name": "a"`}, {`"pid": 1`, `"` + strings.Repeat("k", 200) + `": 1, "pid": 1`},
	} {
		variants = append(variants, strings.Replace(usual, r[0], r[1], 1))
	}
	alone := map[string][]string{}
	for i, v := range variants {
		if i > 0 && i > 4 && v == usual {
			t.Fatalf("variant %d is the usual event: nothing was replaced", i)
		}
		alone[v] = pull(strings.NewReader(doc(v)), scan.Config{}).Events
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var list, want []string
		for range 2 + rng.IntN(5) {
			v := variants[rng.IntN(len(variants))]
			if rng.IntN(3) == 0 {
				v = usual
			}
			list, want = append(list, v), append(want, alone[v]...)
		}
		got := pull(strings.NewReader(doc(list...)), scan.Config{}).Events
		if !slices.Equal(got, want) {
			t.Fatalf("%s\n(-alone +in company):\n%s", strings.Join(list, "\n"), cmp.Diff(want, got))
		}
	}
}
