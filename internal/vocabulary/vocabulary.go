package vocabulary

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrUnknown is wrapped by errors on a word that a set does not have.
var ErrUnknown = errors.New("unknown word")

// Parse returns the value in all whose word is text. The error names the set and lists its words.
func Parse[T fmt.Stringer](set string, all []T, text string) (T, error) {
	if i := slices.IndexFunc(all, func(v T) bool { return v.String() == text }); i >= 0 {
		return all[i], nil
	}
	words := make([]string, len(all))
	for i, v := range all {
		words[i] = fmt.Sprintf("%q", v.String())
	}
	var none T
	return none, fmt.Errorf("%s %q: %w (want one of %s)", set, text, ErrUnknown, strings.Join(words, ", "))
}

// Check returns an error if value is not in all.
func Check[T interface {
	comparable
	fmt.Stringer
}](set string, all []T, value T) error {
	if slices.Contains(all, value) {
		return nil
	}
	_, err := Parse(set, all, value.String())
	if err == nil {
		err = fmt.Errorf("%s %v: %w", set, value, ErrUnknown)
	}
	return err
}
