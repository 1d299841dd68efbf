package scan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llmstrata/strata/internal/scan"
	"github.com/llmstrata/strata/internal/testdata"
)

// front is what kineto writes before the events.
const front = `{
  "schemaVersion": 1,
  "deviceProperties": [
    {"id": 0, "name": "GPU \"A\"", "computeMajor": 9}, {"id": 1, "name": "B", "smemPerBlock": 49152}
  ],
  "distributedInfo": {"rank": 0, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]},
  "with_stack": 1, "traceName": "/tmp/x.json",
  "traceEvents": [
`

func TestDamageInFrontOfTheEvents(t *testing.T) {
	a, b, c := ev("a"), ev("b"), ev("c")
	rest := a + ",\n" + b + ",\n" + c + "\n]}"
	repl := func(old, new string) string { return strings.Replace(front, old, new, 1) + rest }
	tests := []struct{ name, in, events string }{
		{"bracket-added", repl(`"computeMajor": 9`, `"computeMajor": {9`), "a b c"},
		{"bracket-lost", repl(`}]},`, `},`), "a b c"},
		{"brace-closes-the-document", repl(`"with_stack"`, `}, "with_stack"`), "a b c"},
		{"array-begins-in-the-front", repl(`1, "traceName"`, `[1, "traceName"`), "a b c"},
		{"quote-lost", repl(`"B",`, `"B,`), "a b c"},
		{"quote-added", repl(`"B",`, `"B"",`), "a b c"},
		{"quote-escaped", repl(`"B"`, `"B\"`), "a b c"},
		{"first-brace", "x" + front[1:] + rest, "a b c"},
		{"first-brace-is-a-bracket", "[" + front[1:] + rest, "a b c"},
		{"key-damaged", repl(`traceEvents`, `traceEvenps`), "a b c"},
		{"colon-lost", repl(`traceEvents":`, `traceEvents"z`), "a b c"},
		{"array-is-an-object", repl(`traceEvents": [`, `traceEvents": {`), "a b c"},
		{"array-lost", repl(`traceEvents": [`, `traceEvents": `), "a b c"},
		{"in-an-envelope", `{"data": ` + front + rest + "}", "a b c"},
		{"events-without-anything", rest, "a b c"},
		{"array-closed-early", front + a + "]" + b + ",\n" + c + "\n]}", "a b c"},
		{"no-events-in-values", `{"deviceProperties": [{"id": 0, "name": "A"}, {"ph": "X", "name": "no time"}], "traceEvents": [` + a + `]}`, "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := pull(strings.NewReader(tt.in), scan.Config{Segment: len(tt.in) + 1})
			got, _, res, err := names(t, tt.in, scan.Config{})
			if err != nil || strings.Join(got, " ") != tt.events {
				t.Errorf("events %q, error %v, want %q (losses %+v)", got, err, tt.events, res.Losses.First)
			}
			if whole := tt.name == "no-events-in-values" || tt.name == "in-an-envelope"; !whole &&
				!strings.HasPrefix(tt.name, "quote") && res.Losses.Total() == 0 {
				t.Error("nothing is said of the damage")
			}
			if res.Docs != 1 {
				t.Errorf("%d documents, want 1", res.Docs)
			}
			for _, size := range []int{1, 7, 64} {
				if d := cmp.Diff(want, push(strings.NewReader(tt.in),
					scan.Config{Segment: size, Workers: 2})); d != "" {
					t.Errorf("in segments of %d (-whole +segments):\n%s", size, clip(d))
				}
			}
		})
	}
}

// TestEveryBitInFrontOfTheEvents flips each bit of the metadata.
func TestEveryBitInFrontOfTheEvents(t *testing.T) {
	in := []byte(front + strings.Join([]string{ev("a"), ev("b"), ev("c"), ev("d")}, ",\n") +
		"],\n\"traceName\": \"x\"}")
	for at := range len(front) {
		for bit := range 8 {
			in[at] ^= 1 << bit
			if scan.Sniff(in) != "" {
				t.Errorf("bit %d of byte %d (%q): %s", bit, at, in[max(0, at-8):at+8], scan.Sniff(in))
			}
			got, losses, _, err := names(t, string(in), scan.Config{Segment: 64})
			if err != nil || len(got) < 3 {
				t.Errorf("bit %d of byte %d (%q): events %q, error %v, losses %v", bit, at, in[max(0, at-8):at+8], got,
					err, losses)
			}
			in[at] ^= 1 << bit
		}
	}
}

// TestFrontDamageIsLinear: what is looked at for a key or an event must not be
// looked at again for each byte of it.
func TestFrontDamageIsLinear(t *testing.T) {
	testdata.ManyInputs(t)
	size := 1 << 20
	if !testdata.Long() {
		size = 1 << 18 // what is quadratic takes minutes for it, too
	}
	for _, unit := range []string{`\"`, `{"id":[`, `},{"id":"`, `"`, `{`, `{"name":"`, "\" ", `{"ph":"X","name":"`,
		`{"id":1,`, `[{"id":[`, `[},{"ph":"`, `[],`, `[{"ph":[`, `{"id":[{"ph":"M","name":"n"},`,
		`{"id":[{"id":1}],"ph":"`} {
		for _, before := range []string{`{"x": `, `{x`, `x`, `{"traceEvents": [`} {
			in := before + strings.Repeat(unit, size/len(unit))
			if _, _, res, err := names(t, in, scan.Config{}); err != nil || res.HasEvents &&
				len(res.Losses.First) == 0 {
				t.Errorf("%s…%s: %v", before, unit, err)
			}
		}
	}
}
