package classify

import "sync"

// Default returns the rule set of the triage categories. All calls return the
// same immutable set.
func Default() *Ruleset { return defaultRules() }

// The order matters; each list says what it takes from those below it.
var defaultRules = sync.OnceValue(func() *Ruleset {
	var all []Rule
	for _, list := range [][]Rule{
		memoryOps(),
		inductorRules(),
		communicationRules(),
		// "A draft token's cache location" is sampling, "a cache write for
		// draft tokens" is not: kvCacheRules are asked first.
		kvCacheRules(),
		samplingFirst(),
		hybridRules(),
		moeRules(),
		attentionRules(),
		gemmRules(),
		normRules(),
		ropeRules(),
		softmaxRules(),
		activationRules(),
		quantizeRules(),
		reduceRules(),
		samplingRules(),
		memoryRules(),
		elementwiseRules(),
	} {
		all = append(all, list...)
	}
	for i := range all {
		if all[i].Since == "" {
			all[i].Since = "v0.1.0"
		}
	}
	return New(all...)
})

func words(w ...string) []string { return w }
