package severity

import (
	"cmp"
	"slices"
)

// Compare orders statuses from best to worst: it is positive where a is worse than
// b, 0 where they are equal. What is no status comes first.
func Compare[S ~string](a, b S) int {
	order := []S{"ok", "degraded", "unusable"}
	return cmp.Compare(slices.Index(order, a), slices.Index(order, b))
}
