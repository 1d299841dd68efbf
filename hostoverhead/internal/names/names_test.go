package names_test

import (
	"testing"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
)

// Names of objects hold addresses, which differ from run to run.
func TestNamesWithoutAddresses(t *testing.T) {
	for name, want := range map[string]string{
		"<built-in method replay of pybind11_type object at 0x7f462d1f2>": "<built-in method replay of pybind11_type>",
		"a.py(12): f": "a.py: f", "<built-in function mkdir>": "<built-in function mkdir>",
		"f of x object at 0x": "f of x object at 0x",
	} {
		if got := names.WithoutLine(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
