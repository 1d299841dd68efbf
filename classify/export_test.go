package classify

// Names that only tests use from outside.
var WriteRules = writeRules

var ErrRules = errRules

// AppendRules appends the rules in order to dst.
func (s *Ruleset) AppendRules(dst []Rule) []Rule {
	return append(dst, s.rules...)
}

// DType is the narrowest operand type that the name shows.
func (n *Name) DType() string { return n.dType() }
