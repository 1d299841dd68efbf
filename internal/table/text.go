package table

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// ellipsis ends a text that [Cut] shortened.
const ellipsis = "..."

// Clean makes a text from a trace safe to print on one line: line breaks and
// tabs become spaces, other control characters (terminal escapes among them)
// and invalid UTF-8 become U+FFFD.
func Clean(s string) string {
	clean := true
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r', r == '\t':
			return ' '
		case unsafeRune(r):
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}

// Known returns the texts that are not empty.
func Known(texts ...string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return s == "" })
}

// isBidi recognises the characters that reorder the text around them and so could
// make a line show something else than it holds.
func isBidi(r rune) bool {
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// Cut shortens a text to at most max characters, the last three of them "..."
// where something was cut. A max below 4 cuts without dots; 0 and less
// leave nothing.
func Cut(s string, max int) string {
	if len(s) <= max || utf8.RuneCountInString(s) <= max {
		return s
	}
	if max <= 0 {
		return ""
	}
	keep, end := max, ""
	if max > len(ellipsis) {
		keep, end = max-len(ellipsis), ellipsis
	}
	return prefix(s, keep) + end
}

// prefix is the first n characters of a text.
func prefix(s string, n int) string {
	for i := range s {
		if n <= 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// CutStart is [Cut] for texts whose end says more than their start.
func CutStart(s string, max int) string {
	n := utf8.RuneCountInString(s)
	if n <= max {
		return s
	}
	keep, start := max, ""
	if max > len(ellipsis) {
		keep, start = max-len(ellipsis), ellipsis
	}
	for i := range s {
		if n <= keep {
			return start + s[i:]
		}
		n--
	}
	return ""
}

// Join lists words, with one before the last: "a", "a and b", "a, b and c".
func Join(words []string, last string) string {
	n := len(words) - 1
	if n < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

// Steps counts steps; complete is their number where one that the window cuts counts as the part that it is.
func Steps(n int, complete float64) string {
	steps := Counted(n, "step", "steps")
	if complete == float64(n) {
		return steps
	}
	return fmt.Sprintf("%s (cut ones count in part: %s)", steps, Fixed(complete, 2))
}

// UpperFirst begins a sentence with a word of ASCII.
func UpperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// CodeSpan is a text as code in a cell of a Markdown table, cleaned as [Clean] does: nothing of it is markup.
func CodeSpan(s string) string {
	s = strings.ReplaceAll(Clean(s), "|", "\\|")
	if s == "" {
		return ""
	}
	longest, run := 0, 0
	for i := range len(s) {
		if run++; s[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	if s[0] == '`' || s[len(s)-1] == '`' {
		s = " " + s + " "
	}
	return fence + s + fence
}

// EscapeMarkdown makes a text safe for a cell of a Markdown table: cleaned as
// [Clean] does, with the characters escaped that would end the cell or be taken
// for markup.
func EscapeMarkdown(s string) string {
	s = Clean(s)
	if !strings.ContainsAny(s, "|\\<*`[_") {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch r {
		case '|', '\\', '*', '`', '[', '<':
			b.WriteByte('\\')
		case '_':
			if !wordInside(s, i) {
				b.WriteByte('\\')
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}

// EscapeProse escapes Markdown except in pairs of back quotes, which advice has around flags.
func EscapeProse(s string) string {
	spans := strings.Split(s, "`")
	if len(spans)%2 == 0 {
		return EscapeMarkdown(s)
	}
	for i := range spans {
		if i%2 == 0 {
			spans[i] = EscapeMarkdown(spans[i])
		}
	}
	return strings.Join(spans, "`")
}

// wordInside reports whether the underscore at byte i is between letters or
// digits, where GitHub's Markdown does not take it for emphasis.
func wordInside(s string, i int) bool {
	word := func(c byte) bool {
		return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	return i > 0 && i+1 < len(s) && word(s[i-1]) && word(s[i+1])
}
