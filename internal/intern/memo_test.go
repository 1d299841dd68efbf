package intern_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/intern"
)

// TestSlots: texts of every length have a slot, the same as bytes and as a string, and texts that differ at their
// ends or in their length seldom share one.
func TestSlots(t *testing.T) {
	used := map[uint32]bool{}
	for n := range 200 {
		s := strings.Repeat("a", n)
		slot := intern.Slot(s)
		if used[slot] = true; slot >= intern.Slots || slot != intern.Slot([]byte(s)) {
			t.Fatalf("%d letters: slot %d, of bytes %d", n, slot, intern.Slot([]byte(s)))
		}
	}
	if len(used) < 120 {
		t.Errorf("200 lengths have %d slots", len(used))
	}
	clear(used)
	for i := range 100 {
		used[intern.Slot("a_kernel_"+strconv.Itoa(100+i))] = true
	}
	if len(used) < 60 {
		t.Errorf("100 numbers have %d slots", len(used))
	}
}
