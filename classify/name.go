package classify

import "strings"

// Name is a parsed kernel name. Parts that a name does not have are empty: a
// Triton kernel has a Function and nothing else. The strings are slices of Raw
// or of Demangled; a Name is immutable and safe for concurrent use.
type Name struct {
	// Raw is the name as the profiler wrote it.
	Raw string
	// Demangled is Raw without mangling, or Raw itself when it is not mangled
	// or cannot be demangled.
	Demangled string
	// Function is the function's own name without namespaces, template
	// arguments or parameters.
	Function string
	// Namespaces are the enclosing scopes, outermost first. An unnamed
	// namespace is left out.
	Namespaces []string
	// TemplateArgs are the function's template arguments, else those of the
	// nearest enclosing class that has any, as written.
	TemplateArgs []string
	// ArgTypes are the parameter types, as written.
	ArgTypes []string
	// Operation is what a generic kernel runs: the functor of an elementwise
	// kernel ("direct_copy_kernel_cuda"), the operator of a cutlass or ck_tile
	// entry point ("FlashAttnFwdSm90"). Empty when Function says it all.
	Operation string
	// OperationScope are the namespaces of Operation.
	OperationScope []string
	// Family is the generator or library the kernel comes from.
	Family Family
	// Truncated reports that the profiler cut the name: brackets are left
	// open, or a mangled name ends in the middle.
	Truncated bool

	mangled bool
	hasArgs bool
	fn      string // word text of Function
	op      string // word text of Operation
	scope   string // word text of Namespaces and OperationScope
}

// maxName is the longest name that is looked at; what follows is ignored. The
// longest in the sample traces has 2,006 bytes.
const maxName = 64 << 10

// Parse reads a kernel name. It never fails: a name that makes no sense as C++
// is a Function as it stands. Cost is linear in the length of the name.
func Parse(raw string) Name {
	n := Name{Raw: raw}
	s := raw
	if len(s) > maxName {
		s, n.Truncated = s[:maxName], true
	}
	s = foldSpace(s)
	s = strings.TrimSuffix(s, ".kd") // AMD code-object suffix
	n.Demangled = s
	if looksMangled(s) {
		n.mangled = true
		if d, ok := demangled(s); ok {
			n.Demangled = d
			n.readDemangled(d)
		} else {
			n.Truncated = true
			n.readMangled(s)
		}
	} else {
		n.readDemangled(s)
	}
	n.Family = detectFamily(&n)
	n.index()
	return n
}

// readDemangled fills the parts from a readable name.
func (n *Name) readDemangled(s string) {
	if strings.HasPrefix(s, "Memcpy") || strings.HasPrefix(s, "Memset") || strings.HasPrefix(s, "[CUDA") {
		n.Function = s // "Memcpy DtoD (Device -> Device)" is not a signature
		return
	}
	sh := scanShape(s)
	n.Truncated = n.Truncated || sh.cut
	if sh.argOpen >= 0 {
		n.hasArgs = true
		n.ArgTypes = splitTop(s[sh.argOpen+1:min(sh.argClose, len(s))], ',', maxParts)
	}
	var buf [16]component
	parts := splitQualified(buf[:0], s[sh.nameStart:sh.nameEnd])
	n.setParts(parts, s)
}

// maxParts bounds how many template arguments or parameter types are kept.
const maxParts = 512

func (n *Name) setParts(parts []component, whole string) {
	if len(parts) == 0 {
		n.Function = whole
		return
	}
	last := len(parts) - 1
	for last > 0 && isNoiseComponent(parts[last].base) {
		last--
	}
	n.Function = strings.TrimSpace(parts[last].base)
	args := parts[last].args
	for i := last - 1; i >= 0 && args == ""; i-- {
		args = parts[i].args
	}
	n.Namespaces = scopes(parts[:last])
	n.TemplateArgs = splitTop(args, ',', maxParts)
	if op, scope := operation(n.Function, n.Namespaces, n.TemplateArgs); op != "" {
		n.Operation, n.OperationScope = op, scope
	}
}

func scopes(parts []component) []string {
	var out []string
	for _, p := range parts {
		if base := strings.TrimSpace(p.base); base != anonymous && base != "<unnamed>" && !isNoiseComponent(base) {
			out = append(out, base)
		}
	}
	return out
}

// isNoiseComponent reports a part of a qualified name that names nothing: a
// lambda or a call operator.
func isNoiseComponent(base string) bool {
	return base == "" || base[0] == '{' || base[0] == '[' || base[0] == '\'' ||
		strings.HasPrefix(base, "operator()") || strings.HasPrefix(base, "operator ()")
}

// index builds the word texts that rules look at.
func (n *Name) index() {
	buf := make([]byte, 0, len(n.Function)+len(n.Operation)+64)
	buf = appendWords(buf, n.Function)
	a := len(buf)
	buf = appendWords(buf, n.Operation)
	b := len(buf)
	for _, s := range n.Namespaces {
		buf = appendWords(buf, s)
	}
	for _, s := range n.OperationScope {
		buf = appendWords(buf, s)
	}
	t := string(buf)
	n.fn, n.op, n.scope = t[:a], t[a:b], t[b:]
}

// argWords is the word text of the template arguments, built on demand.
func (n *Name) argWords() string {
	return wordText(n.TemplateArgs...)
}
