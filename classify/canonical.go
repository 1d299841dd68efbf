package classify

import "strings"

// addressMark stands for an address in a canonical name.
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
	return isDigit(c) || ('a' <= c && c <= 'f') || ('A' <= c && c <= 'F')
}

func isWordByte(c byte) bool { return isAlnum(c) || c == '_' }

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
		done, i = j, j-1
	}
	if done == 0 {
		return s
	}
	return string(append(out, s[done:]...))
}
