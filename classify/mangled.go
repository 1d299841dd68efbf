package classify

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// Limits on demangling. Substitutions let n bytes of mangled text stand for
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

func looksMangled(s string) bool {
	return strings.HasPrefix(s, "_Z") || strings.HasPrefix(s, "__Z")
}

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
// usually because the profiler cut it. The names in it are still whole:
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
	var scope []string
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
	// What follows are template arguments, then parameters; without their
	// nesting only the identifiers can be told, in order.
	var ids []string
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
	n.TemplateArgs = ids
	if wrappers[n.Function] {
		for k, id := range ids {
			if wrappers[id] || familyScope[id] != "" || id == "native" || id == "kernel" || id == "gemm" {
				continue
			}
			n.Operation = id
			n.OperationScope = ids[:k:k]
			return
		}
	}
}

// sourceName reads <length><identifier> at i; an identifier cut by the end of
// the name counts.
func sourceName(s string, i int) (id string, next int, ok bool) {
	j, size := i, 0
	for j < len(s) && isDigit(s[j]) {
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
	if isDigit(s[j]) {
		return "", i, false
	}
	return s[j:end], end, true
}

// literalEnd returns the end of a literal such as Li64E or Lb1E at i, or i.
func literalEnd(s string, i int) int {
	j := i + 1
	if j >= len(s) || !isLower(s[j]) {
		return i
	}
	j++
	if j < len(s) && s[j] == 'n' {
		j++
	}
	for j < len(s) && isDigit(s[j]) {
		j++
	}
	if j < len(s) && s[j] == 'E' {
		return j + 1
	}
	return i
}
