package intern_test

import (
	"strconv"
	"testing"

	"github.com/llmstrata/strata/internal/intern"
)

func TestNumbersAreDenseAndStable(t *testing.T) {
	tab := intern.New()
	const n = 10_000
	for round := range 2 {
		for i := range n {
			key := strconv.Itoa(i * 7919)
			id, isNew := tab.ID([]byte(key))
			if id != uint32(i) || isNew != (round == 0) || tab.Key(id) != key {
				t.Fatalf("round %d: ID(%q) = %d, %v, key %q", round, key, id, isNew, tab.Key(id))
			}
			if id, isNew := tab.StringID(key); id != uint32(i) || isNew {
				t.Fatalf("StringID(%q) = %d, %v, want %d, false", key, id, isNew, i)
			}
		}
	}
	if id, isNew := tab.StringID("new"); id != n || !isNew {
		t.Errorf("a new key is %d, %v, want %d, true", id, isNew, n)
	}
}

func TestEmptyStringIsAKey(t *testing.T) {
	tab := intern.New()
	if id, isNew := tab.StringID(""); id != 0 || !isNew {
		t.Errorf("StringID(\"\") = %d, %v, want 0, true", id, isNew)
	}
	if id, isNew := tab.ID(nil); id != 0 || isNew {
		t.Errorf("ID(nil) = %d, %v, want 0, false", id, isNew)
	}
}

func TestLookupDoesNotAllocate(t *testing.T) {
	tab := intern.New()
	key := []byte("aten::mm")
	tab.ID(key)
	if n := testing.AllocsPerRun(100, func() { tab.ID(key) }); n != 0 {
		t.Errorf("%v allocations a lookup, want 0", n)
	}
}
