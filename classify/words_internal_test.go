package classify

import (
	"encoding"
	"errors"
	"testing"

	"github.com/llmstrata/strata/internal/vocabulary"
)

// TestWordsOfClosedSets: every value has a word of its own, is read back from it, and nothing else is read.
func TestWordsOfClosedSets(t *testing.T) {
	readsBack(t, Roles(), func(r Role) *Role { return &r })
	readsBack(t, Collectives(), func(c Collective) *Collective { return &c })
	if len(Roles()) != int(numRoles) || len(Collectives()) != int(numCollectives) {
		t.Errorf("%d roles and %d kinds of exchange are listed, want %d and %d", len(Roles()), len(Collectives()),
			numRoles, numCollectives)
	}
	if Role(numRoles).String() != "invalid" || WorkCompute.String() != "compute" {
		t.Errorf("%q and %q", Role(numRoles), WorkCompute)
	}
}

func readsBack[T interface {
	comparable
	String() string
	encoding.TextMarshaler
}, P interface {
	*T
	encoding.TextUnmarshaler
}](t *testing.T, list []T, copied func(T) P) {
	t.Helper()
	seen := map[string]bool{}
	for i, v := range list {
		text, err := v.MarshalText()
		if err != nil || string(text) != v.String() || seen[v.String()] || (v.String() == "") != (i == 0) {
			t.Errorf("%T %d: text %q, %v", v, i, text, err)
		}
		seen[v.String()] = true
		back := copied(list[0])
		if err := back.UnmarshalText(text); err != nil || *back != v {
			t.Errorf("%q reads as %v, %v", text, *back, err)
		}
	}
	back := copied(list[1])
	if err := back.UnmarshalText([]byte("no such word")); !errors.Is(err, vocabulary.ErrUnknown) || *back != list[1] {
		t.Errorf("a word of no value reads as %v, %v", *back, err)
	}
}
