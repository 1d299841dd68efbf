package classify

import (
	"strings"

	"github.com/llmstrata/strata/internal/wordmatch"
)

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
	// Operation is what a generic kernel runs: the functor of an elementwise
	// kernel ("direct_copy_kernel_cuda"), the operator of a cutlass or ck_tile
	// entry point ("FlashAttnFwdSm90"). Empty when Function says it all.
	Operation string
	// OperationScope are the namespaces of Operation.
	OperationScope []string
	// Family names the code generator or library the kernel comes from, as far as
	// its name says. It answers "who made this", not "what does it do": a CUTLASS
	// kernel may be attention. The values are words that rules can name, "triton" or
	// "cublas"; docs/categories.md lists them, and more may be added.
	Family string
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
// is a Function as it is. Cost is linear in the length of the name.
func Parse(raw string) Name {
	n := Name{Raw: raw}
	s := raw
	if len(s) > maxName {
		s, n.Truncated = s[:maxName], true
	}
	s = foldSpace(s)
	s = strings.TrimSuffix(s, ".kd") // AMD code-object suffix
	n.Demangled = s
	if strings.HasPrefix(s, "_Z") || strings.HasPrefix(s, "__Z") {
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
	if isIdentifier(s) {
		n.Function = strings.TrimSpace(s)
		return
	}
	if strings.HasPrefix(s, "Memcpy") || strings.HasPrefix(s, "Memset") || strings.HasPrefix(s, "[CUDA") {
		n.Function = s // "Memcpy DtoD (Device -> Device)" is not a signature
		return
	}
	// "std::enable_if<…>::type f(…)": a return type whose comparisons look like
	// brackets.
	if strings.HasPrefix(s, "std::enable_if") {
		if _, f, ok := strings.Cut(s, "::type "); ok {
			s = f
		}
	}
	sh := scanShape(s)
	n.Truncated = n.Truncated || sh.cut
	n.hasArgs = sh.argOpen >= 0
	var buf [16]component
	parts := splitQualified(buf[:0], s[sh.nameStart:sh.nameEnd])
	n.setParts(parts, s)
}

// maxParts bounds how many template arguments are kept.
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
		if base := strings.TrimSpace(p.base); base != anonymous && base != unnamed && !isNoiseComponent(base) {
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
	buf = wordmatch.Append(buf, n.Function)
	a := len(buf)
	buf = wordmatch.Append(buf, n.Operation)
	b := len(buf)
	for _, s := range n.Namespaces {
		buf = wordmatch.Append(buf, s)
	}
	for _, s := range n.OperationScope {
		buf = wordmatch.Append(buf, s)
	}
	t := string(buf)
	if strings.Contains(t, "fbgemm") {
		t = strings.ReplaceAll(t, "fbgemm", "fbxxxx") // the library's name, not what the kernel does
	}
	n.fn, n.op, n.scope = t[:a], t[a:b], t[b:]
}

// argWords is the word text of the template arguments, built on demand.
func (n *Name) argWords() string {
	return wordmatch.Text(n.TemplateArgs...)
}

// addressMark replaces an address in a canonical name.
const addressMark = "0xADDR"

// Canonical returns the name under which launches of one kernel are merged in
// tables: whitespace runs folded to one space, addresses replaced (0x and six
// or more hexadecimal digits standing alone, so that MT320x224x64 is left as it
// is), and the argument list of "void f<…>(…)" cut. A name that needs none of
// this is returned as is, without allocation.
func Canonical(raw string) string {
	s := foldSpace(raw)
	s = replaceAddresses(s)
	if !strings.HasPrefix(s, "void ") {
		return s
	}
	sh := scanShape(s)
	if sh.argOpen < 0 || sh.argOpen == 0 || s[sh.argOpen-1] != '>' {
		return s
	}
	return strings.TrimRight(s[:sh.argOpen], " ")
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'
}

func foldSpace(s string) string {
	clean := true
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == ' ' {
			if i == 0 || i == len(s)-1 || s[i+1] == ' ' {
				clean = false
				break
			}
		} else if isSpace(c) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

func isHex(c byte) bool {
	return wordmatch.IsDigit(c) || ('a' <= c && c <= 'f') || ('A' <= c && c <= 'F')
}

func isWordByte(c byte) bool { return wordmatch.IsAlnum(c) || c == '_' }

func replaceAddresses(s string) string {
	from := strings.Index(s, "0x")
	if from < 0 {
		return s
	}
	var out []byte
	done := 0
	for i := from; i+2 < len(s); i++ {
		if s[i] != '0' || s[i+1] != 'x' || (i > 0 && isWordByte(s[i-1])) {
			continue
		}
		j := i + 2
		for j < len(s) && isHex(s[j]) {
			j++
		}
		if j-i-2 < 6 || (j < len(s) && isWordByte(s[j])) {
			continue
		}
		out = append(out, s[done:i]...)
		out = append(out, addressMark...)
		done, i = j, j // which is the end, or no letter
	}
	if done == 0 {
		return s
	}
	return string(append(out, s[done:]...))
}

// Words returns the words of the name's identifiers in lower case, each
// identifier after a '.', its words with '_' between them:
// ".topk_gating_softmax.vllm.moe", the function first. Template arguments, parameter types and the
// data types that are part of a GEMM's name are left out.
func (n *Name) Words() string {
	text := n.fn + n.op + n.scope
	if n.isMatmul() {
		return withoutDTypes(text)
	}
	return text
}

// isMatmul reports a matrix multiplication, whose data types are in its name.
func (n *Name) isMatmul() bool {
	switch n.Family {
	case familyTensile, familyNvjet, familyTRTLLMGen, familyCuBLAS:
		return true
	}
	return matmulWords.In(n.fn) || matmulWords.In(n.op) || matmulWords.In(n.scope)
}

var matmulWords = wordmatch.CompileAll([]string{"*gemm*", "*matmul*", "gemv*"})

// withoutDTypes drops the words of a word text that are data types.
func withoutDTypes(text string) string {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		j := i + 1
		for j < len(text) && text[j] != wordmatch.WordSep && text[j] != wordmatch.IdentSep {
			j++
		}
		word := text[i:j]
		if isDTypeWord(word[1:]) {
			if word[0] == wordmatch.IdentSep {
				out = append(out, wordmatch.IdentSep)
			}
		} else {
			out = append(out, word...)
		}
		i = j
	}
	return string(out)
}

// isDTypeWord reports a word that is a data type or a product of them such as
// bf16xbf16xmxfp4.
func isDTypeWord(w string) bool {
	for part := range strings.SplitSeq(w, "x") {
		if part == "" || part == "m" { // the m and x of mx
			continue
		}
		if !dtypeWords[part] && !dtypeWords["mx"+part] {
			return false
		}
	}
	return w != "" && w != "x" && w != "m"
}

var dtypeWords = map[string]bool{
	"fp64": true, "fp32": true, "fp16": true, "fp8": true, "fp6": true, "fp4": true, "f64": true, "f32": true,
	"f16": true, "f8": true, "f4": true, "bf16": true, "bfloat16": true, "float16": true, "float32": true,
	"float8": true, "float4": true, "half": true, "tf32": true, "e4m3": true, "e5m2": true, "e2m1": true, "e3m2": true,
	"e8m0": true, "ue8m0": true, "mxfp4": true, "mxfp8": true, "mxfp6": true, "nvfp4": true, "mxf4": true,
	"int8": true, "int4": true, "i8": true, "i4": true, "u4": true, "s8": true, "w4a16": true, "w8a8": true,
	"w4a8": true, "w8a16": true, "a8w8": true, "a16w16": true, "a8w4": true, "a4w4": true, "a16w4": true, "a16w8": true,
}
