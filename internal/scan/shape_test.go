package scan_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llmstrata/strata/internal/scan"
	"github.com/llmstrata/strata/internal/testdata"
)

// What an event holds does not depend on the events before it, whose beginnings the parser remembers.
func TestEventsAreReadAloneAsInCompany(t *testing.T) {
	testdata.ManyInputs(t)
	usual := ev("a", `, "args": {"correlation": 4}`)
	variants := []string{usual, ev("b"), ev(`c\"d`), ev(""), ev("e", `, "id": 3`)}
	for _, r := range [][2]string{
		{`"tid": 2`, `"tid": 3`}, {`"tid": 2`, `"tid": "stream 7"`}, {`"pid": 1`, `"pid": "1"`},
		{`"pid": 1`, `"pid": -1`}, {`"cat": "cpu_op"`, `"cat": "kernel"`},
		{`"cat": "cpu_op"`, `"cat": ""`}, {`"cat": "cpu_op"`, `"cat": "cpu_op", "cat": "cpu_out"`},
		{`"cat": "cpu_op", `, ``}, {`"cat": "cpu_op"`, `"cat": 5`},
		{`"ph": "X"`, `"ph": "B"`}, {`"ph": "X"`, `"ph": "Xy"`},
		{`"ph": "X", "cat": "cpu_op"`, `"cat": "cpu_op", "ph": "X"`}, {`"ph": "X", `, `"pid": 9, "ph": "X", `},
		{`"pid": 1, `, `"pid": 1, "ph": "i", `}, {`"pid": 1, `, `"pid": 1, "cat": "other", `},
		{`"pid": 1, `, `"pid": 1, "name": "second", `}, {`"pid": 1, `, `"pid": 1, "pid": 8, `},
		{`"pid": 1, `, `"pid": 1, "dur": 7, `}, {`"pid": 1, `, `"pid": 1, "dur": NaN, `},
		{`"pid": 1, `, `"pid": 1, "x": {"name": [1]}, `}, {`"pid": 1, `, `"pid": 1, "s": "t", `}, {`"pid": 1, `, ``},
		{`"ts": 10.5`, `"ts":  10.5`}, {`"ts": 10.5`, `"ts": "10.5"`}, {`"ts": 10.5`, `"ts": "x"`},
		{`"ts": 10.5, `, ``}, {`"ts": 10.5`, `"ts": 10.5, "ts": 11`}, {`"ts": 10.5`, `"ts": NaN`},
		{`"dur": 1.25`, `"dur": 1.25,`}, {`"name": "a"`, `"name":  "a"`}, {`"name": "a"`, `"name": 5`},
		{`"name": "a"`, `"name": null`}, {`{"ph"`, `{ "ph"`}, {`, "pid"`, `,"pid"`},
		{`"name": "a"`, `"` + strings.Repeat("k", 200) + `": 1, "name": "a"`},
		{`"pid": 1`, `"` + strings.Repeat("k", 200) + `": 1, "pid": 1`},
		{`, "args": {"correlation": 4}`, ``}, {`{"correlation": 4}`, `{}`}, {`{"correlation": 4}`, `{ }`},
		{`{"correlation": 4}`, `5`}, {`{"correlation": 4}`, `{"correlation": 4,}`},
		{`"correlation": 4`, `"correlation": "4"`}, {`"correlation": 4`, `"correlation": x`},
		{`"correlation": 4`, `"correlation":  4`}, {`"correlation": 4`, `"correlation": 4 `},
		{`"correlation": 4`, `"correlation": 4, "correlation": {"a": 1}`},
		{`"correlation": 4`, `"correlation": {"ph": "X", "name": "inside"}`}, {`"correlation": 4`, `"correlation" 4`},
		{`"correlation": 4`, `"correlation": 4, "device": 1, "stream": 7, "grid": [1, 2, 3], "block": [4, 5, 6]`},
		{`"correlation": 4`, `"correlation": 4, "device": 1, "stream": 7`},
		{`"correlation": 4`, `"correlation": 4, "device": 1, "stream": 8, "grid": 3, "block": [[]]`},
		{`"correlation": 4`, `"correlation": 4, "Input Dims": [[1]], "Call stack": "a;b"`},
		{`"correlation": 4`, `"correlation": 4, "Input Dims": "[[1]]", "Call stack": ["a"]`},
		{`"correlation": 4`, `"correlation": 4, "finished": "false"`},
		{`"correlation": 4`, `"correlation": 4, "finished": true`},
		{`"correlation": 4`, `"External id": 4`}, {`"correlation": 4`,
			`"external id": -4, "bytes": 7, "graph id": 3, "graph node id": 5, "Rank": 2`},
		{`, "dur": 1.25, "args": {"correlation": 4}`, `, "args": {"correlation": 4}, "dur": 1.25`},
		{`"args": {"correlation": 4}`, `"args": {"correlation": 4}, "args": {"stream": 9}`},
		{`"args": {"correlation": 4}`, `"args": {"correlation": 4}, "id": 8`},
		{`"args": {"correlation": 4}`, `"id": 8, "args": {"correlation": 4}`},
		{`"args": {"correlation": 4}`, `"args": {"correlation": 4}, "s": "g"`},
		{`"args": {"correlation": 4}`, `"args": {"correlation": 4}, "x": [{"ph": "X", "name": "inside"}]`},
		{`"dur": 1.25`, `"dur": 1.25, "dur": 2`}, {`"dur": 1.25`, `"dur": "1.25"`}, {`"dur": 1.25`, `"dur": -3`},
		{`"dur": 1.25`, `"dur": NaN`}, {`"dur": 1.25`, `"dur": {}`}, {`"dur": 1.25, `, ``},
		{`"dur": 1.25`, `"tts": 5, "dur": 1.25`}, {`{"correlation": 4}`,
			`{` + strings.Repeat(`"key": 3, `, 40) + `"correlation": 4}`},
		{`{"correlation": 4}`, `{"` + strings.Repeat("k", 900) + `": 3, "correlation": 4}`},
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
	for i := range 3000 {
		var list, want []string
		n, few := 2+rng.IntN(5), variants
		if i%10 == 0 { // enough for what was learned to be given up for something else
			n, few = 60, []string{variants[rng.IntN(len(variants))], variants[rng.IntN(len(variants))]}
		}
		for range n {
			v := few[rng.IntN(len(few))]
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
