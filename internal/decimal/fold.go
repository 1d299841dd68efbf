package decimal

import "strings"

// Fold writes every run of digits as one "#", so that variants of a name by size are equal.
func Fold(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	digits := false
	for i := range len(s) {
		c := s[i]
		if c >= '0' && c <= '9' {
			if !digits {
				b.WriteByte('#')
			}
			digits = true
			continue
		}
		digits = false
		b.WriteByte(c)
	}
	return b.String()
}
