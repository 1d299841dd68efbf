package hostoverhead

import (
	"testing"

	"github.com/llmstrata/strata/classify"
)

// TestCollectivesHaveAHome: a new kind of exchange must be told whether its
// ranks end together before stragglers can be found in it.
func TestCollectivesHaveAHome(t *testing.T) {
	for _, c := range classify.Collectives() {
		if _, ok := endTogether[c]; !ok {
			t.Errorf("collective %q is not in endTogether", c)
		}
	}
	if endTogether[classify.SendRecv] || !endTogether[classify.AllReduce] {
		t.Error("a transfer between two GPUs ends together, or an all-reduce does not")
	}
}
