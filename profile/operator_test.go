package profile_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/profile"
)

// TestOperatorsHaveARow: every operator has one row with all that consumers show, in the order of a model, and a line
// in the documentation.
func TestOperatorsHaveARow(t *testing.T) {
	doc, err := os.ReadFile("../docs/operators.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range profile.Operators() {
		names = append(names, string(r.Name))
		if r.Part == "" || r.Help == "" || !slices.Contains(classify.Categories(), r.Category) {
			t.Errorf("%s: incomplete row %+v", r.Name, r)
		}
		row := ""
		for line := range strings.Lines(string(doc)) {
			if strings.HasPrefix(line, "| "+r.Part+" |") {
				row = line
			}
		}
		if !strings.Contains(row, "`"+string(r.Name)+"`") {
			t.Errorf("docs/operators.md does not list %s under %q", r.Name, r.Part)
		}
		if info, ok := r.Name.Info(); !ok || info != r {
			t.Errorf("%s: its row is %+v", r.Name, info)
		}
		back := profile.Operator("x")
		if err := back.UnmarshalText([]byte(r.Name)); err != nil || back != r.Name {
			t.Errorf("%s reads as %s, %v", r.Name, back, err)
		}
	}
	if !slices.Equal(names, opname.All[:]) {
		t.Errorf("rows %v, want those of %v", names, opname.All)
	}
}

// servants are the categories whose kernels serve an operator of another category, and have none of their own.
var servants = []classify.Category{classify.CategoryQuantize, classify.CategorySoftmax, classify.CategoryReduceTopK}

// TestCategoriesHaveAnOperator: a category is that of an operator, or its kernels serve others.
func TestCategoriesHaveAnOperator(t *testing.T) {
	for _, c := range classify.Categories() {
		has := slices.ContainsFunc(profile.Operators(), func(r profile.OperatorInfo) bool { return r.Category == c })
		if has == slices.Contains(servants, c) {
			t.Errorf("category %s: has an operator %t, serves others %t", c, has, !has)
		}
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
