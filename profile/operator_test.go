package profile_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/profile"
)

// TestOperatorsAreDocumented: the list is that of the names, in the order of a model, and the documentation has a row
// with each.
func TestOperatorsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../docs/operators.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range profile.Operators() {
		names = append(names, o.String())
		named := false
		for line := range strings.Lines(string(doc)) {
			named = named || strings.HasPrefix(line, "| ") && strings.Contains(line, "`"+o.String()+"`")
		}
		if !named {
			t.Errorf("docs/operators.md lists no %s", o)
		}
		back := profile.Operator("x")
		if err := back.UnmarshalText([]byte(o)); err != nil || back != o {
			t.Errorf("%s reads as %s, %v", o, back, err)
		}
	}
	if !slices.Equal(names, opname.All[:]) {
		t.Errorf("operators %v, want %v", names, opname.All)
	}
}

// TestJoinedOperators: fused operators and operators that cannot be separated.
func TestJoinedOperators(t *testing.T) {
	for name, want := range map[profile.Operator]string{"rope+kv_write": "rope kv_write all",
		"k_proj|v_proj": "k_proj v_proj one", "attention": "attention all"} {
		list, all := name.Each()
		var got []string
		for _, o := range list {
			got = append(got, o.String())
		}
		if got = append(got, map[bool]string{true: "all", false: "one"}[all]); strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", name, got, want)
		}
	}
	for text, ok := range map[string]bool{"rope+kv_write": true, "k_proj|v_proj": true, "": true, "rope+nothing": false,
		"nothing": false} {
		o := profile.Operator("attention")
		if err := o.UnmarshalText([]byte(text)); (err == nil) != ok || !ok && o != "attention" {
			t.Errorf("%q: %v, read as %s", text, err, o)
		}
	}
}
