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
		words[i] = v.String()
	}
	var none T
	return none, unknown(set, text, words)
}

// Read is [Parse] into a value, which stays as it is on an error.
func Read[T fmt.Stringer](to *T, set string, all []T, text []byte) error {
	v, err := Parse(set, all, string(text))
	if err == nil {
		*to = v
	}
	return err
}

// Set sets a value whose text is its word; text is one of all, or the error is that of [Parse].
func Set[T ~string](to *T, set string, text []byte, all ...T) error {
	if slices.Contains(all, T(text)) {
		*to = T(text)
		return nil
	}
	return unknown(set, string(text), all)
}

func unknown[T ~string](set, text string, all []T) error {
	words := make([]string, len(all))
	for i, w := range all {
		words[i] = fmt.Sprintf("%q", string(w))
	}
	return fmt.Errorf("%s %q: %w (want one of %s)", set, text, ErrUnknown, strings.Join(words, ", "))
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
