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

// Words are those of a closed set whose values are numbers from 0 on.
type Words[T ~uint8] struct {
	set string
	of  []string
}

// New names a set, and its words in the order of its values.
func New[T ~uint8](set string, words ...string) Words[T] { return Words[T]{set, words} }

// All lists the values from first on.
func (w *Words[T]) All(first T) (out []T) {
	for v := int(first); v < len(w.of); v++ {
		out = append(out, T(v))
	}
	return out
}

// Word is that of a value, or its number where it is none of the set.
func (w *Words[T]) Word(v T) string {
	if int(v) < len(w.of) {
		return w.of[v]
	}
	return fmt.Sprintf("%T(%d)", v, v)
}

// Text is the word of a value in documents.
func (w *Words[T]) Text(v T) ([]byte, error) {
	if int(v) < len(w.of) {
		return []byte(w.of[v]), nil
	}
	return nil, fmt.Errorf("%s %d: %w", w.set, v, ErrUnknown)
}

// Read sets a value to that of a word; it stays as it is on an error, which is that of [Parse].
func (w *Words[T]) Read(to *T, text []byte) error {
	i := slices.Index(w.of, string(text))
	if i < 0 {
		return unknown(w.set, string(text), w.of)
	}
	*to = T(i)
	return nil
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
