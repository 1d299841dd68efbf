package classify

import "github.com/llmstrata/strata/internal/kernelword"

// Category is the coarse kind of work a kernel does. [Categories] lists those of
// the default rule set, and docs/categories.md says what is counted under each:
// "communication", "attention", "moe", "gemm" … The set is open: a user's rule
// may name any category, so callers must be ready for others.
type Category string

// categories are those of the default rule set in report order. role is that of its kernels to a layer, where ruleRoles has
// no other for the rule that matched.
var categories = []struct {
	category Category
	role     string
}{
	{kernelword.CategoryCommunication, kernelword.RoleCollective},
	{kernelword.CategoryMemory, kernelword.RoleOther},
	{kernelword.CategoryKVCache, kernelword.RoleCacheWrite},
	{kernelword.CategoryHybridLinear, kernelword.RoleMixer},
	{kernelword.CategoryAttention, kernelword.RoleMixer},
	{kernelword.CategoryMoE, kernelword.RoleMoE},
	{kernelword.CategoryGEMM, kernelword.RoleProduct},
	{kernelword.CategoryNorm, kernelword.RoleNorm},
	{kernelword.CategoryRope, kernelword.RoleRope},
	{kernelword.CategorySoftmax, kernelword.RoleSoftmax},
	{kernelword.CategoryActivation, kernelword.RoleActivation},
	{kernelword.CategoryQuantize, kernelword.RoleQuantize},
	{kernelword.CategoryReduceTopK, kernelword.RoleOther},
	{kernelword.CategorySamplingIO, kernelword.RoleOther},
	{kernelword.CategoryElementwise, kernelword.RoleElementwise},
	{kernelword.CategoryOther, kernelword.RoleOther},
}

// Categories lists the categories of the default rule set in report order.
func Categories() []Category {
	list := make([]Category, len(categories))
	for i := range categories {
		list[i] = categories[i].category
	}
	return list
}

// placeOf is a category's place in categories.
var placeOf = func() map[Category]int {
	m := make(map[Category]int, len(categories))
	for i := range categories {
		m[categories[i].category] = i
	}
	return m
}()

// role is the role of the category's kernels.
func (c Category) role() string {
	if i, ok := placeOf[c]; ok {
		return categories[i].role
	}
	return kernelword.RoleOther
}
