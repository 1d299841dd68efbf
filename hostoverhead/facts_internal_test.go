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
			t.Errorf("collective %d is not in endTogether", c)
		}
	}
	if endTogether[classify.SendRecv] || !endTogether[classify.AllReduce] {
		t.Error("a transfer between two GPUs ends together, or an all-reduce does not")
	}
}

// Names of objects hold addresses, which differ from run to run.
func TestNamesWithoutAddresses(t *testing.T) {
	for name, want := range map[string]string{
		"<built-in method replay of pybind11_type object at 0x7f462d1f2>": "<built-in method replay of pybind11_type>",
		"a.py(12): f": "a.py: f", "<built-in function mkdir>": "<built-in function mkdir>", "f of x object at 0x": "f of x object at 0x",
	} {
		if got := withoutLine(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
