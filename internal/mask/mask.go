package mask

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
)

// token is a secret that is known by how its issuer begins it. Sources: the
// issuers' own documents and the public rules of secret scanners.
type token struct {
	prefix string
	what   string
	least  int  // characters after the prefix
	plain  bool // of letters and digits alone: no "_" and "-"
}

// Prefixes that need more than what follows: signed tokens have dots, and keys digits, which other words lack.
const (
	prefixSigned = "eyJ"
	prefixKey    = "sk-"
)

var tokens = []token{
	{"hf_", "Hugging Face token", 20, true},
	{"ghp_", "GitHub token", 20, true},
	{"gho_", "GitHub token", 20, true},
	{"ghs_", "GitHub token", 20, true},
	{"github_pat_", "GitHub token", 20, false},
	{"glpat-", "GitLab token", 16, false},
	{"nvapi-", "NVIDIA key", 16, false},
	{prefixKey, "API key", 20, false},
	{"xoxb-", "Slack token", 16, false},
	{"xoxp-", "Slack token", 16, false},
	{"AKIA", "AWS key", 16, true},
	{"ASIA", "AWS key", 16, true},
	{"AIza", "Google key", 30, false},
	{prefixSigned, "signed token", 30, false},
	{"Bearer ", "bearer token", 16, false},
	{"-----BEGIN ", "private key", 10, false},
}

// names end the names of values that are secrets, whatever they are, where a text
// follows: "HF_TOKEN": "x".
var names = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY",
	"CREDENTIALS",
	"_token", "secret", "password", "passwd", "api_key", "apikey", "access_key", "private_key"}

// leastNamed is the least length of a value that its name makes a secret: shorter
// ones are switches and counts.
const leastNamed = 8

// longest is how much of a secret is waited for: what is longer is masked in pieces.
const longest = 4 << 10

// Writer passes bytes on with the characters of secrets replaced by stars, so
// that lengths stay as they are: in JSON, in text and in a binary format alike.
// Flush must be called at the end. It is not safe for concurrent use.
type Writer struct {
	w     io.Writer
	buf   []byte
	seen  int // bytes of buf that were passed on, kept for what is before a secret
	found map[string]int
}

// NewWriter returns a writer that masks what it writes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w, found: map[string]int{}} }

// Found says what was masked, such as "2 × Hugging Face token", in order of the alphabet.
func (m *Writer) Found() []string {
	var out []string
	for _, what := range slices.Sorted(maps.Keys(m.found)) {
		out = append(out, fmt.Sprintf("%d × %s", m.found[what], what))
	}
	return out
}

// room is how much is looked through at a time.
const room = 64 << 10

// Write implements io.Writer.
func (m *Writer) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		k := min(len(p), room)
		m.buf, p = append(m.buf, p[:k]...), p[k:]
		if len(m.buf) >= room {
			if err := m.pass(false); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

// Flush writes what is left.
func (m *Writer) Flush() error { return m.pass(true) }

// pass masks and passes on what is complete: all of it at the end.
func (m *Writer) pass(end bool) error {
	upTo := len(m.buf)
	if !end {
		upTo = max(m.seen, upTo-longest)
	}
	b, first, last := m.buf, begins, upTo-1
	for i := 0; i < last; i++ {
		c := b[i]
		from, to, what := 0, 0, ""
		switch {
		case c == '"':
			from, to, what = m.named(i)
		case first[uint16(c)|uint16(b[i+1])<<8] && (i == 0 || !word(b[i-1], false)):
			from, to, what = m.token(i)
		}
		if what == "" {
			continue
		}
		if to > m.seen && b[to-1] != '*' {
			m.found[what]++
		}
		for k := max(from, m.seen); k < to; k++ {
			b[k] = '*'
		}
		i = to - 1
	}
	if _, err := m.w.Write(m.buf[m.seen:upTo]); err != nil {
		return err
	}
	keep := min(upTo, longest) // what is before the rest decides whether it is a secret
	m.seen = keep
	m.buf = m.buf[:copy(m.buf, m.buf[upTo-keep:])]
	return nil
}

// ends are the last two bytes of all names.
var ends = func() *[1 << 16]bool {
	var b [1 << 16]bool
	for _, n := range names {
		b[uint16(n[len(n)-2])|uint16(n[len(n)-1])<<8] = true
	}
	return &b
}()

// begins are the first two bytes of all tokens.
var begins = func() *[1 << 16]bool {
	var b [1 << 16]bool
	for _, t := range tokens {
		b[uint16(t.prefix[0])|uint16(t.prefix[1])<<8] = true
	}
	return &b
}()

// token is the token that begins at i, after its prefix.
func (m *Writer) token(i int) (from, to int, what string) {
	b := m.buf
	for _, t := range tokens {
		if !bytes.HasPrefix(b[i:], []byte(t.prefix)) {
			continue
		}
		from = i + len(t.prefix)
		for to = from; to < len(b) && to-i < longest &&
			(word(b[to], t.plain) || b[to] == '.' && t.prefix == prefixSigned); to++ {
		}
		if to-from >= t.least && (t.prefix != prefixKey || bytes.ContainsAny(b[from:to], "0123456789")) {
			return from, to, t.what
		}
	}
	return 0, 0, ""
}

// named is the text value of a secret's name, which the quote at i ends.
func (m *Writer) named(i int) (from, to int, what string) {
	b := m.buf
	end := i
	if end > 0 && b[end-1] == '\\' { // JSON in a text of JSON
		end--
	}
	if end < 2 || !ends[uint16(b[end-2])|uint16(b[end-1])<<8] {
		return 0, 0, ""
	}
	name := b[:end]
	if !slices.ContainsFunc(names, func(n string) bool { return bytes.HasSuffix(name, []byte(n)) }) {
		return 0, 0, ""
	}
	for i++; i < len(b) && (b[i] == ' ' || b[i] == ':' || b[i] == '\\'); i++ {
	}
	if i >= len(b) || b[i] != '"' {
		return 0, 0, ""
	}
	from = i + 1
	for to = from; to < len(b) && b[to] != '"' && b[to] != '\\' && b[to] >= ' ' && to-from < longest; to++ {
	}
	if to-from < leastNamed {
		return 0, 0, ""
	}
	return from, to, "value named as a secret"
}

// word reports whether a byte is one of a token.
func word(c byte, plain bool) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || !plain && (c == '_' || c == '-')
}
