package strata

// CrossCheck is the check of headlines alone.
func CrossCheck(r *Report) { r.crossCheck() }
