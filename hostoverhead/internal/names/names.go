package names

import "strings"

// Generalise makes one name of names that differ in their numbers only:
// numbers that stand alone become N, and what torch's emit_nvtx appends is cut.
// "[Executor] _forward_step 9: 0 ctx reqs" becomes "[Executor] _forward_step N:
// N ctx reqs"; "layer0" and "gemm_128x64" stay.
func Generalise(name string) string {
	if i := strings.Index(name, ", op_id = "); i > 0 {
		name = name[:i]
	}
	if i := strings.Index(name, ", seq = "); i > 0 {
		name = name[:i]
	}
	if !strings.ContainsAny(name, "0123456789") {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		c := name[i]
		if c < '0' || c > '9' || i > 0 && wordByte(name[i-1]) {
			b.WriteByte(c)
			i++
			continue
		}
		j := i
		for j < len(name) && name[j] >= '0' && name[j] <= '9' {
			j++
		}
		if j < len(name) && wordByte(name[j]) {
			b.WriteString(name[i:j])
		} else {
			b.WriteByte('N')
		}
		i = j
	}
	return b.String()
}

// wordByte reports whether c continues a word: a digit run beside it is part of
// a name, not a number of its own.
func wordByte(c byte) bool {
	return c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// WithoutLine drops the line number of a frame's name, which moves with every
// edit of the file: "a.py(12): f" becomes "a.py: f"; and the address of an object.
func WithoutLine(name string) string {
	if i := strings.Index(name, " object at 0x"); i > 0 { // <built-in method replay of … object at 0x7f46>: another address in each run
		if end := strings.IndexByte(name[i:], '>'); end > 0 {
			return name[:i] + name[i+end:]
		}
	}
	i := strings.Index(name, "): ")
	if i < 0 {
		return name
	}
	j := strings.LastIndexByte(name[:i], '(')
	if j < 0 {
		return name
	}
	return name[:j] + name[i+1:]
}

// SplitFrame parts "file.py(12): function" into "file.py(12)" and "function".
func SplitFrame(name string) (source, function string) {
	if i := strings.Index(name, "): "); i > 0 {
		return name[:i+1], name[i+3:]
	}
	return "", name
}
