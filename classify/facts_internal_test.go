package classify

import (
	"maps"
	"slices"
	"testing"
)

// TestRolesHaveTheirRules: every category of a default rule is in the table, and
// no exception names a rule that is gone.
func TestRolesHaveTheirRules(t *testing.T) {
	known := map[string]bool{}
	kinds := map[string]bool{}
	for _, r := range Default().rules {
		known[r.ID] = true
		if _, ok := placeOf[r.Category]; !ok {
			t.Errorf("rule %s: category %q is not in categories", r.ID, r.Category)
		}
		if r.Category == CategoryCommunication {
			kinds[r.Subcategory] = true
		}
	}
	for table, ids := range map[string][]string{"ruleRoles": slices.Collect(maps.Keys(ruleRoles)),
		"ruleOps": slices.Collect(maps.Keys(ruleOps)), "conditions": slices.Collect(maps.Keys(conditions))} {
		for _, id := range ids {
			if !known[id] {
				t.Errorf("%s names %q, which is no rule", table, id)
			}
		}
	}
	for _, k := range collectiveKinds {
		kinds[k.kind] = true
	}
	for k := range kinds {
		if _, ok := collectiveOf[k]; !ok {
			t.Errorf("subcategory %q of communication is not in collectiveOf", k)
		}
	}
}

// TestCategoriesHaveAWord: of every category of the default rules it is said what work it is, and what its kernels
// are to a layer.
func TestCategoriesHaveAWord(t *testing.T) {
	for _, c := range Categories() {
		if (c.Work() == WorkUnknown) != (c == CategoryOther) || c == "" {
			t.Errorf("nothing says what work category %q is", c)
		}
	}
	for sub, c := range collectiveOf {
		if c == NotCollective {
			t.Errorf("subcategory %q is exchange %q, which no list has", sub, c)
		}
	}
}
