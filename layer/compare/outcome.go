package compare

import "github.com/llmstrata/strata/internal/vocabulary"

// Outcome is the result of a comparison for the time of a step.
type Outcome string

// The outcomes.
const (
	Faster        Outcome = "faster"
	Slower        Outcome = "slower"
	Same          Outcome = "same"           // within three per cent, noise included
	Mixed         Outcome = "mixed"          // work became less and the step longer, or the reverse
	Inconclusive  Outcome = "inconclusive"   // noise may be all, or a doubt is not allowed
	NotComparable Outcome = "not-comparable" // the sides do not run the same work
)

// UnmarshalText refuses words that are no outcome.
func (o *Outcome) UnmarshalText(text []byte) error {
	return vocabulary.Set(o, "outcome", text, Faster, Slower, Same, Mixed, Inconclusive, NotComparable)
}

// Change is how a row or an operation of the host is on one side only, or has another name.
type Change string

// The changes.
const (
	Unchanged Change = ""
	New       Change = "new"     // only B has it
	Removed   Change = "removed" // only A has it
	Renamed   Change = "renamed" // it has another name: the same place, as often, as long
)

// UnmarshalText refuses words that are no change.
func (c *Change) UnmarshalText(text []byte) error {
	return vocabulary.Set(c, "change", text, Unchanged, New, Removed, Renamed)
}
