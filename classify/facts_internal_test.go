package classify

import "testing"

// TestRolesHaveTheirRules: every category of a default rule is in the table, and
// no exception stands for a rule that is gone.
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
	for id := range ruleRoles {
		if !known[id] {
			t.Errorf("ruleRoles names %q, which is no rule", id)
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
