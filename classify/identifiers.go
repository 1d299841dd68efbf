package classify

import "strings"

// Identifiers returns the identifiers of the function, the operation and their
// namespaces, outermost first. Template arguments and parameter types are not
// among them.
func (n *Name) Identifiers() []string {
	out := make([]string, 0, len(n.Namespaces)+len(n.OperationScope)+2)
	out = append(out, n.Namespaces...)
	out = append(out, n.Function)
	out = append(out, n.OperationScope...)
	if n.Operation != "" {
		out = append(out, n.Operation)
	}
	return out
}

// HasIdentifier reports whether the keyword stands in the name's identifiers
// as whole words: "allreduce" and "all_reduce" are both found in AllReduce,
// "fp4" is not found in a matmul's bf16xbf16xmxfp4. Template arguments,
// parameter types and the data types that are part of a GEMM's name are not
// looked at. A leading or trailing '*' lets the keyword begin or end inside a
// word.
func (n *Name) HasIdentifier(keyword string) bool {
	return compilePattern(keyword).in(n.Words().text)
}

// Words are the words of a name's identifiers, as [Name.HasIdentifier] looks
// through them. The zero value has none.
type Words struct{ text string }

// Words returns the words of the name's identifiers, for [Keywords.In].
func (n *Name) Words() Words {
	text := n.fn + n.op + n.scope
	if n.isMatmul() {
		text = withoutDTypes(text)
	}
	return Words{text}
}

// Keywords are keywords of [Name.HasIdentifier] made ready for many names.
// They are safe for concurrent use; the zero value has none.
type Keywords struct{ patterns []wordPattern }

// NewKeywords makes a list of keywords ready.
func NewKeywords(keywords ...string) Keywords { return Keywords{compilePatterns(keywords)} }

// In reports whether one of the keywords stands among the words.
func (k Keywords) In(w Words) bool { return anyIn(k.patterns, w.text) }

// isMatmul reports a matrix multiplication, whose data types stand in its name.
func (n *Name) isMatmul() bool {
	switch n.Family {
	case FamilyTensile, FamilyNvjet, FamilyTRTLLMGen, FamilyCuBLAS:
		return true
	}
	return anyIn(matmulWords, n.fn) || anyIn(matmulWords, n.op) || anyIn(matmulWords, n.scope)
}

var matmulWords = compilePatterns([]string{"*gemm*", "*matmul*", "gemv*"})

// withoutDTypes drops the words of a word text that are data types.
func withoutDTypes(text string) string {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		j := i + 1
		for j < len(text) && text[j] != wordSep && text[j] != identSep {
			j++
		}
		word := text[i:j]
		if len(word) > 1 && isDTypeWord(word[1:]) {
			if word[0] == identSep {
				out = append(out, identSep)
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

// Display returns a short readable form: scopes and function, with the
// operation of a generic kernel in brackets.
func (n *Name) Display() string {
	var b strings.Builder
	for _, s := range n.Namespaces {
		b.WriteString(s)
		b.WriteString("::")
	}
	b.WriteString(n.Function)
	if n.Operation != "" {
		b.WriteByte('[')
		b.WriteString(n.Operation)
		b.WriteByte(']')
	}
	return b.String()
}
