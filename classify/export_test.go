package classify

import "github.com/llmstrata/strata/internal/wordmatch"

// Names that only tests use from outside.
var ErrRules = errRules

// Label is the short name that tables show.
func (n *Name) Label() string { return n.label() }

// HasIdentifier reports whether a pattern is among the name's words.
func (n *Name) HasIdentifier(pattern string) bool { return wordmatch.Compile(pattern).In(n.Words()) }

// Substring is a rule whose id and category are its key.
func Substring(key, label string, fold bool, patterns ...string) Rule {
	return Rule{ID: key, Title: label, Category: Category(key), Label: label,
		When: Pattern{Substring: patterns, Fold: fold}}
}

// DType is the narrowest operand type that the name shows.
func (n *Name) DType() string { return string(n.dType()) }
