package classify

import "strings"

// NOTE. Names are compared by words, not by letters, because plain substrings
// lie: "fp4" is found in a matmul's dtype list, "rope" in "property", "combine"
// in "_combined_routing". An identifier is cut into lower-case words at
// underscores, other punctuation and camel-case humps, and stored as text:
//
//	.vllm.moe.topk_gating_softmax     identifiers start with '.', words with '_'
//
// A pattern is compared without separators and must begin and end where a word
// begins and ends, so that "topk", "TopK" and "top_k" are one thing. A leading
// or trailing '*' lifts that condition on its side ("*_ssm" does not: the '_'
// asks for a word start). A match never runs from one identifier into the
// next, and one that begins inside a word passes to the next word only where
// the pattern has a separator: "*mha" is not in gemm_half, "*ssm*" not in
// ws_sm90, though the letters are.

const (
	identSep = '.'
	wordSep  = '_'
)

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isAlnum(c byte) bool { return isLower(c) || isUpper(c) || isDigit(c) || c >= 0x80 }

// appendWords adds one identifier to a word text.
func appendWords(dst []byte, ident string) []byte {
	start := len(dst)
	dst = append(dst, identSep)
	gap := true // at a word start
	for i := 0; i < len(ident); i++ {
		c := ident[i]
		if !isAlnum(c) {
			gap = true
			continue
		}
		if isUpper(c) {
			if !gap {
				prev := ident[i-1]
				switch {
				case !isUpper(prev): // fooBar, sm100Bar
					gap = true
				case i+1 < len(ident) && isLower(ident[i+1]): // RMSNorm
					gap = true
				}
			}
			c += 'a' - 'A'
		}
		if gap && len(dst) > start+1 {
			dst = append(dst, wordSep)
		}
		gap = false
		dst = append(dst, c)
	}
	if len(dst) == start+1 {
		return dst[:start]
	}
	return dst
}

// wordText is appendWords for a list of identifiers.
func wordText(idents ...string) string {
	var buf []byte
	for _, s := range idents {
		buf = appendWords(buf, s)
	}
	return string(buf)
}

// wordPattern is a compiled pattern: see the note above.
type wordPattern struct {
	lit                string // lower-case letters and digits only
	gaps               uint64 // bit k: a separator stood before lit[k]
	pairs              uint64 // see pairsOf
	openStart, openEnd bool
}

// maxPattern bounds a pattern: gaps has one bit a letter.
const maxPattern = 64

func compilePattern(s string) wordPattern {
	var p wordPattern
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "*") {
		p.openStart, s = true, s[1:]
	}
	if strings.HasSuffix(s, "*") {
		p.openEnd, s = true, s[:len(s)-1]
	}
	buf := make([]byte, 0, len(s))
	gap := false
	for i := 0; i < len(s) && len(buf) < maxPattern; i++ {
		c := s[i]
		if !isAlnum(c) {
			gap = true
			continue
		}
		if isUpper(c) {
			c += 'a' - 'A'
		}
		if gap {
			if len(buf) == 0 {
				p.openStart = false
			} else {
				p.gaps |= 1 << len(buf)
			}
			gap = false
		}
		buf = append(buf, c)
	}
	if gap {
		p.openEnd = false
	}
	p.lit = string(buf)
	p.pairs = pairsOf(p.lit)
	return p
}

func compilePatterns(list []string) []wordPattern {
	if len(list) == 0 {
		return nil
	}
	out := make([]wordPattern, 0, len(list))
	for _, s := range list {
		if p := compilePattern(s); p.lit != "" {
			out = append(out, p)
		}
	}
	return out
}

// in reports whether the pattern occurs in a word text.
func (p wordPattern) in(text string) bool {
	if p.lit == "" {
		return false
	}
	first := p.lit[0]
	for i := 0; i < len(text); {
		k := strings.IndexByte(text[i:], first)
		if k < 0 {
			return false
		}
		i += k
		atWord := i == 0 || text[i-1] == wordSep || text[i-1] == identSep
		if (atWord || p.openStart) && p.at(text[i:], atWord) {
			return true
		}
		i++
	}
	return false
}

// at reports whether text begins with the pattern; atWord says that text begins
// with a word.
func (p wordPattern) at(text string, atWord bool) bool {
	k, j := 0, 0
	for ; j < len(text) && k < len(p.lit); j++ {
		c := text[j]
		if c == wordSep {
			if !atWord && p.gaps&(1<<k) == 0 {
				return false
			}
			continue
		}
		if c != p.lit[k] {
			return false
		}
		k++
	}
	if k < len(p.lit) {
		return false
	}
	return p.openEnd || j == len(text) || text[j] == wordSep || text[j] == identSep
}

func anyIn(patterns []wordPattern, text string) bool {
	return anyOf(patterns, text, pairsOf(text))
}

// anyOf is anyIn with the text's pairs at hand.
func anyOf(patterns []wordPattern, text string, pairs uint64) bool {
	if text == "" {
		return false
	}
	for i := range patterns {
		if p := &patterns[i]; p.pairs&^pairs == 0 && p.in(text) {
			return true
		}
	}
	return false
}

// pairsOf is a set of the pairs of neighbouring letters of a text, separators
// left out, as bits. A pattern with a pair that a text lacks is not in it, which
// spares nearly every comparison.
func pairsOf(text string) uint64 {
	var set uint64
	last := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == wordSep || c == identSep {
			continue
		}
		if last != 0 {
			set |= 1 << ((uint(last)*37 + uint(c)*11) & 63)
		}
		last = c
	}
	return set
}
