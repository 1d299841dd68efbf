package classify_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
)

// FuzzParse feeds any bytes through every accessor: no panic, no unbounded
// output, and the same answer twice.
func FuzzParse(f *testing.F) {
	for _, s := range corpus(f)[:200] {
		f.Add(s)
	}
	for _, s := range []string{
		"", " ", "<", ">", "((((", "::", "a::", "void ", "operator<<", "f<", "f<>", "_Z", "_ZN", "_ZNI", "__Z3foov",
		"_Z" + strings.Repeat("P", 300) + "i", "f(" + strings.Repeat("<", 5000),
		"_ZN1aIS_S_S_S_S_EE", "Cijk_", "nvjet_", "nvjet_sm", "triton_", "0x123456789", "\xff\xfe",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		n := classify.Parse(raw)
		if len(n.Demangled) > 1<<16+len(raw) {
			t.Errorf("%d bytes demangled from %d", len(n.Demangled), len(raw))
		}
		if len(n.TemplateArgs) > 1024 || len(n.ArgTypes) > 1024 {
			t.Errorf("%d template arguments, %d parameters", len(n.TemplateArgs), len(n.ArgTypes))
		}
		_, _, _ = n.Display(), n.DType(), n.Identifiers()
		n.HasIdentifier(raw)
		a, b := classify.Default().Classify(raw), classify.Default().ClassifyName(&n)
		if a != b {
			t.Errorf("Classify = %+v, ClassifyName = %+v", a, b)
		}
		if a.Category == "" {
			t.Error("empty category")
		}
		c := classify.Canonical(raw)
		if again := classify.Canonical(c); again != c {
			t.Errorf("Canonical(%q) = %q, then %q", raw, c, again)
		}
	})
}

// FuzzLoadRules reads any bytes as a rules file; what is accepted must survive
// being written and read again.
func FuzzLoadRules(f *testing.F) {
	f.Add([]byte(`{"version":1,"rules":[{"id":"a","category":"moe","when":{"function":["*topk"]}}]}`))
	f.Add([]byte(`{"version":1,"rules":[{"id":"a","category":"moe","when":{"substring":["x"],"fold":true}}]}`))
	f.Add([]byte(`{"version":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		rules, err := classify.LoadRules(bytes.NewReader(data))
		if err != nil {
			return
		}
		var buf bytes.Buffer
		if err := classify.WriteRules(&buf, rules...); err != nil {
			t.Fatal(err)
		}
		if _, err := classify.LoadRules(&buf); err != nil {
			t.Errorf("written rules do not load: %v", err)
		}
		classify.New(rules...).Classify("void ns::f<int>(int)")
	})
}
