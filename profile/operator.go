package profile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/opname"
)

// Operator names a part of the model that kernels compute: "qkv_proj",
// "experts_down". [Operators] lists the names. Kernels that fuse neighbours carry
// several, joined by "+"; operators that cannot be separated are joined by "|".
type Operator string

// Operators lists all operators in the order in which a model runs them; docs/operators.md says what each is.
func Operators() []Operator {
	out := make([]Operator, len(opname.All))
	for i, name := range opname.All {
		out[i] = Operator(name)
	}
	return out
}

// errOperator is wrapped by the error about a name that no operator has.
var errOperator = errors.New("profile: unknown operator")

// Each returns the operators that are joined in o, and whether a kernel computes
// all of them ("+") or an unknown one of them ("|"). Of one operator it is that.
func (o Operator) Each() (list []Operator, all bool) {
	sep := "+"
	if strings.Contains(string(o), "|") {
		sep = "|"
	}
	for part := range strings.SplitSeq(string(o), sep) {
		list = append(list, Operator(part))
	}
	return list, sep == "+"
}

// String returns o as it is.
func (o Operator) String() string { return string(o) }

// UnmarshalText reads operators that are joined or alone, and "" for none; a name
// that no operator has is an error.
func (o *Operator) UnmarshalText(text []byte) error {
	read := Operator(text)
	for _, alternatives := range strings.FieldsFunc(string(read), func(r rune) bool { return r == '+' || r == '|' }) {
		if !slices.Contains(opname.All[:], alternatives) {
			return fmt.Errorf("%w: %q", errOperator, text)
		}
	}
	*o = read
	return nil
}
