package classify

import (
	"cmp"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/llmstrata/strata/internal/wordmatch"
)

// NOTE. A demangled name is read with one pass over its brackets. It is never
// parsed as C++: profilers cut names, compilers print them in at least four
// dialects ("(anonymous namespace)" and "<unnamed>", "{lambda(int)#1}" and
// "[lambda(int) (instance 1)]", "4ul" and "(unsigned long)4"), and a wrong
// guess must cost a rule, not the run. Unbalanced brackets are therefore
// allowed everywhere: a name that ends early simply has fewer parts.

// shape says where the parts of a demangled name lie, as offsets in it.
type shape struct {
	nameStart int  // first byte of the qualified name, after the return type
	nameEnd   int  // one past the qualified name
	argOpen   int  // '(' of the argument list, or -1
	cut       bool // a bracket is left open
}

const maxDepth = 256 // brackets nested deeper than this end the reading

// brackets tracks open brackets. The zero value is empty.
type brackets struct {
	open [maxDepth]byte
	n    int
}

// isBracket are the letters that step looks at.
var isBracket = [256]bool{'<': true, '>': true, '(': true, ')': true, '[': true, ']': true, '{': true, '}': true}

// step consumes one byte.
func (b *brackets) step(s string, i int) {
	c := s[i]
	switch c {
	case '<':
		// operator<, operator<<, operator<=
		if strings.HasSuffix(s[:i], "operator") || strings.HasSuffix(s[:i], "operator<") {
			return
		}
		b.push(c)
	case '(', '[', '{':
		b.push(c)
	case '>':
		if strings.HasSuffix(s[:i], "-") || strings.HasSuffix(s[:i], "operator") {
			return
		}
		if b.n > 0 && b.open[b.n-1] == '<' {
			b.n--
		}
	case ')', ']', '}':
		want := byte('(')
		if c == ']' {
			want = '['
		} else if c == '}' {
			want = '{'
		}
		// Close through '<' left open by a comparison or a cut name.
		for k := b.n - 1; k >= 0; k-- {
			if b.open[k] == want {
				b.n = k
				return
			}
			if b.open[k] != '<' {
				return
			}
		}
	}
}

func (b *brackets) push(c byte) {
	if b.n < maxDepth {
		b.open[b.n] = c
		b.n++
	}
}

const (
	anonymous = "(anonymous namespace)"
	unnamed   = "<unnamed>"
)

// scanShape finds the qualified name and the argument list.
func scanShape(s string) shape {
	sh := shape{nameEnd: len(s), argOpen: -1}
	var b brackets
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !isBracket[c] && c != ' ' {
			continue
		}
		if b.n == 0 {
			switch {
			case c == '(' && strings.HasPrefix(s[i:], anonymous):
				i += len(anonymous) - 1
				continue
			case c == '(' && endsWithOperator(s[:i]) && strings.HasPrefix(s[i:], "()"):
				i++
				continue
			case c == '(':
				end := closing(s, i)
				if !nameGoesOn(s, end+1) {
					sh.nameEnd, sh.argOpen, sh.cut = i, i, end == len(s)
					return sh
				}
				i = end
				continue
			case c == ' ':
				// A space outside brackets ends the return type, unless it
				// belongs to "operator ()" or begins a suffix such as
				// " [clone .kd]" or " const".
				rest := s[i+1:]
				if endsWithOperator(s[:i]) {
					continue
				}
				if strings.HasPrefix(rest, "[clone") || strings.HasPrefix(rest, "const") &&
					strings.HasSuffix(s[:i], ")") {
					sh.nameEnd = i
					return sh
				}
				sh.nameStart = i + 1
				continue
			}
		}
		b.step(s, i)
	}
	sh.cut = b.n > 0
	return sh
}

// nameGoesOn reports whether a parenthesis that closed just before from was
// not the argument list: "f(args)::{lambda}::g(args)" goes on inside f, and
// "decltype (x) f(args)" has only shown its return type.
func nameGoesOn(s string, from int) bool {
	if from >= len(s) {
		return false
	}
	rest := s[from:]
	if strings.HasPrefix(rest, "::") {
		return true
	}
	rest = strings.TrimLeft(rest, " ")
	if len(rest) == len(s)-from || rest == "" || !(wordmatch.IsAlnum(rest[0]) || rest[0] == '_') {
		return false
	}
	for _, qualifier := range []string{"const", "volatile", "noexcept"} {
		if strings.HasPrefix(rest, qualifier) && (len(rest) == len(qualifier) || !isWordByte(rest[len(qualifier)])) {
			return strings.HasPrefix(rest[len(qualifier):], "::")
		}
	}
	return true
}

func endsWithOperator(s string) bool {
	s = strings.TrimRight(s, " ")
	if !strings.HasSuffix(s, "operator") {
		return false
	}
	k := len(s) - len("operator")
	return k == 0 || !isWordByte(s[k-1])
}

// closing returns the offset of the bracket that closes s[open], or len(s).
func closing(s string, open int) int {
	var b brackets
	for i := open; i < len(s); i++ {
		if !isBracket[s[i]] {
			continue
		}
		if b.step(s, i); b.n == 0 {
			return i
		}
	}
	return len(s)
}

// splitTop cuts s at separators outside brackets, with surrounding blanks
// removed. Empty input gives nil.
func splitTop(s string, sep byte, limit int) []string {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	var out []string
	var b brackets
	from := 0
	for i := 0; i < len(s); i++ {
		if c := s[i]; !isBracket[c] && c != sep {
			continue
		}
		if b.n == 0 && s[i] == sep {
			out = append(out, strings.TrimSpace(s[from:i]))
			from = i + 1
			if len(out) == limit {
				return out
			}
			continue
		}
		b.step(s, i)
	}
	return append(out, strings.TrimSpace(s[from:]))
}

// component is one part of a qualified name: base<args>.
type component struct {
	base string
	args string // inside the angle brackets, "" when there are none
}

// splitQualified cuts a qualified name at "::" outside brackets.
func splitQualified(dst []component, s string) []component {
	var b brackets
	from, angle, angleEnd := 0, -1, 0 // of the brackets at the top: −1 and 0 where there are none
	flush := func(end int) {
		if end <= from {
			return
		}
		c := component{base: s[from:end]}
		if angle >= 0 {
			c.base = s[from:angle]
			c.args = s[angle+1 : cmp.Or(angleEnd, end)]
		}
		dst = append(dst, c)
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !isBracket[c] && c != ':' {
			continue
		}
		if b.n == 0 {
			switch {
			case c == '(' && strings.HasPrefix(s[i:], anonymous):
				i += len(anonymous) - 1
				continue
			case c == '<' && strings.HasPrefix(s[i:], "<unnamed>"):
				i += len("<unnamed>") - 1
				continue
			case c == ':' && i+1 < len(s) && s[i+1] == ':':
				flush(i)
				i++
				from, angle, angleEnd = i+1, -1, 0
				continue
			case c == '<' && angle < 0:
				angle = i
			}
		}
		before := b.n
		b.step(s, i)
		if c == '>' && before == 1 && b.n == 0 && angleEnd == 0 {
			angleEnd = i
		}
	}
	flush(len(s))
	return dst
}

// Limits on demangling. Substitutions let n bytes of mangled text expand to
// 2^n bytes of readable text, so both ends are bounded: names
// of the sample traces reach 867 bytes mangled and 2,006 bytes readable.
const (
	maxMangled        = 16 << 10
	maxDemangledPower = 16 // 64 KiB
	maxRun            = 96 // equal letters in a row: "PPPPPP…" nests the parser
	// The demangler tries a conversion operator ("cv") in two ways, so that n
	// nested ones cost 2^n: 155 bytes of "INcvT_" took 16 s. No kernel is a
	// conversion operator; the letters do occur in identifiers (recv).
	maxConversions = 6
)

func demangled(s string) (string, bool) {
	if len(s) > maxMangled || longRun(s) || strings.Count(s, "cv") > maxConversions {
		return "", false
	}
	if strings.HasPrefix(s, "__Z") { // Mach-O style leading underscore
		s = s[1:]
	}
	d, err := demangle.ToString(s, demangle.MaxLength(maxDemangledPower))
	if err != nil || len(d) >= 1<<maxDemangledPower {
		return "", false
	}
	return d, true
}

func longRun(s string) bool {
	run := 1
	for i := 1; i < len(s); i++ {
		if s[i] == s[i-1] {
			if run++; run > maxRun {
				return true
			}
		} else {
			run = 1
		}
	}
	return false
}

// readMangled fills the parts from a mangled name that does not demangle,
// usually because the profiler cut it. The names in it are complete:
// "_ZN7ck_tile6kentryILi1E…" has length-prefixed identifiers in order, scopes
// first, then template arguments after the 'I'.
func (n *Name) readMangled(s string) {
	i := strings.IndexByte(s, 'Z') + 1
	nested := i < len(s) && s[i] == 'N'
	if nested {
		i++
	}
	for i < len(s) && strings.IndexByte("KVrRO", s[i]) >= 0 { // cv-qualifiers
		i++
	}
	scope, i := mangledScope(s, i, nested)
	if len(scope) == 0 {
		n.Function = s
		return
	}
	n.Function = scope[len(scope)-1]
	for _, id := range scope[:len(scope)-1] {
		if !strings.HasPrefix(id, "_GLOBAL__N") {
			n.Namespaces = append(n.Namespaces, id)
		}
	}
	n.TemplateArgs = mangledParts(s, i)
	if !wrappers[n.Function] {
		return
	}
	for k, id := range n.TemplateArgs {
		if wrappers[id] || familyScope[id] != "" || plainScopes[id] {
			continue
		}
		n.Operation = id
		n.OperationScope = n.TemplateArgs[:k:k]
		return
	}
}

// mangledScope reads the identifiers of a mangled name from s[i:], the function
// last, and returns what follows them.
func mangledScope(s string, i int, nested bool) (scope []string, next int) {
	for i < len(s) {
		if id, next, ok := sourceName(s, i); ok {
			scope = append(scope, id)
			i = next
			if !nested {
				break
			}
			continue
		}
		if s[i] == 'L' { // internal linkage
			i++
			continue
		}
		if strings.HasPrefix(s[i:], "St") {
			scope = append(scope, "std")
			i += 2
			continue
		}
		break
	}
	return scope, i
}

// mangledParts returns the identifiers of template arguments and parameters, which
// follow a mangled name. Without their nesting only the order is known.
func mangledParts(s string, i int) (ids []string) {
	for i < len(s) && len(ids) < maxParts {
		if id, next, ok := sourceName(s, i); ok {
			if !strings.HasPrefix(id, "_GLOBAL__N") {
				ids = append(ids, id)
			}
			i = next
			continue
		}
		if s[i] == 'L' { // literal: L <type> <value> E, digits are a value
			if j := literalEnd(s, i); j > i {
				i = j
				continue
			}
		}
		i++
	}
	return ids
}

// sourceName reads <length><identifier> at i; an identifier cut by the end of
// the name counts.
func sourceName(s string, i int) (id string, next int, ok bool) {
	j, size := i, 0
	for j < len(s) && wordmatch.IsDigit(s[j]) {
		size = size*10 + int(s[j]-'0')
		if size > maxMangled {
			return "", i, false
		}
		j++
	}
	if j == i || size == 0 || j >= len(s) {
		return "", i, false
	}
	end := min(j+size, len(s))
	if wordmatch.IsDigit(s[j]) {
		return "", i, false
	}
	return s[j:end], end, true
}

// literalEnd returns the end of a literal such as Li64E or Lb1E at i, or i.
func literalEnd(s string, i int) int {
	j := i + 1
	if j >= len(s) || !wordmatch.IsLower(s[j]) {
		return i
	}
	j++
	if j < len(s) && s[j] == 'n' {
		j++
	}
	for j < len(s) && wordmatch.IsDigit(s[j]) {
		j++
	}
	if j < len(s) && s[j] == 'E' {
		return j + 1
	}
	return i
}
