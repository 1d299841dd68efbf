package scan

import "github.com/llmstrata/strata/internal/kind"

// NOTE: what is around the events: documents, their keys, and what is broken there.

// maxTopKey is the longest top-level key that is looked at.
const maxTopKey = 64 << 10

// key consumes up to the start of a top-level value. more asks for more bytes.
func (m *machine) key(b []byte, p int, eof bool) (next int, more bool) {
	for {
		if m.junk.Reason == ReasonNone {
			p = skipSpace(b, p)
		} else if p, more = m.skipJunk(b, p, eof); more || m.fail != nil || m.state != stKey {
			return p, more
		}
		if p >= len(b) {
			if !eof {
				return p, true
			}
			m.truncated = true
			m.state = stDoc
			return p, false
		}
		switch b[p] {
		case ',':
			p++
			continue
		case '}':
			m.state = stDoc
			return p + 1, false
		case '"':
		default:
			m.junk = Loss{Reason: LostMetadata, Offset: m.base + int64(p), Index: -1}
			continue
		}
		// The key, the colon and the first byte of the value must be in view.
		n, v := keyAhead(b, p)
		switch {
		case v == codeMore && !eof:
			return p, true
		case v == codeMore:
			m.truncated = true
			m.lose(Loss{Reason: LostTruncated, Offset: m.base + int64(p), Bytes: int64(len(b) - p), Index: -1})
			m.state = stDoc
			return len(b), false
		case v == codeBad:
			m.junk = Loss{Reason: LostMetadata, Offset: m.base + int64(p), Index: -1}
			continue
		}
		key := b[p+1 : n-1]
		if c := b[v]; string(key) == kind.KeyEvents && c == '[' {
			m.beginEvents()
			return v + 1, false
		}
		m.beginMeta(key, m.base+int64(v))
		return v, false
	}
}

// keyAhead looks at the quote at b[p]: a key ends before n and its value begins
// at v. Where there is no key v is a code.
func keyAhead(b []byte, p int) (n, v int) {
	w := b[:min(len(b), p+maxTopKey)]
	short := codeMore
	if len(w)-p == maxTopKey {
		short = codeBad
	}
	if n = skipString(w, p+1); n < 0 {
		return 0, short
	}
	if v = skipSpace(w, n); v < len(w) && w[v] != ':' {
		return 0, codeBad
	}
	if v = skipSpace(w, min(v+1, len(w))); v >= len(w) {
		return 0, short
	}
	return n, v
}

// beginEvents enters the array of events, again where it was left too early.
func (m *machine) beginEvents() {
	if !m.docEv {
		m.index = 0
	}
	m.state, m.bare, m.sawEv, m.docEv, m.doubt = stElem, false, true, true, false
}

// skipJunk consumes what is broken between top-level keys: up to a key, the end
// of the document, or an event, which begins the events.
func (m *machine) skipJunk(b []byte, p int, eof bool) (next int, more bool) {
	for ; p < len(b); p++ {
		switch b[p] {
		case '\\':
			if p++; p == len(b) && !eof {
				return p - 1, true
			}
			continue
		case '"':
			_, v := keyAhead(b, p)
			if v == codeMore && !eof {
				return p, true
			}
			if v < 0 {
				continue
			}
		case '{':
			at := m.eventAt(b, p, eof)
			if at == codeMore {
				return p, true
			}
			if at < 0 {
				continue
			}
			m.endJunk(p)
			m.beginEvents()
			return p, false
		case '}':
		default:
			continue
		}
		m.endJunk(p)
		return p, false
	}
	p = min(p, len(b))
	if eof {
		m.endJunk(p)
	}
	return p, !eof
}

func (m *machine) endJunk(p int) {
	m.junk.Bytes = m.base + int64(p) - m.junk.Offset
	m.lose(m.junk)
	m.junk = Loss{}
}

// between consumes what is outside documents.
func (m *machine) between(b []byte, p int, eof bool) int {
	for p < len(b) {
		switch c := b[p]; {
		case isSpace(c) || c == 0:
			p++
			continue
		case c == '{' || c == '[':
			next, more := m.begin(b, p, eof)
			if !more {
				m.endGarbage(m.base + int64(p))
			}
			return next
		case c == '"':
			// A key: the document's first brace is damaged, or one too many closed it.
			_, v := keyAhead(b, p)
			if v == codeMore && !eof {
				return p
			}
			if v >= 0 {
				m.reopen(p)
				m.state = stKey
				return p
			}
		case c == '\\': // escaped quotes are none: each would be looked at to its end
			if p+1 == len(b) && !eof {
				return p
			}
			m.beginGarbage(p)
			p = min(p+2, len(b))
			continue
		case c == 0xEF || c == 0xBB || c == 0xBF: // byte order mark
			p++
			continue
		}
		m.beginGarbage(p)
		p++
	}
	if eof {
		m.endGarbage(m.base + int64(p))
	}
	return p
}

// begin enters the document that begins at the bracket at b[p]; more asks for
// more bytes.
func (m *machine) begin(b []byte, p int, eof bool) (next int, more bool) {
	object := b[p] == '{'
	if object {
		switch at := m.eventAt(b, p, eof); {
		case at == codeMore:
			return p, true
		case at >= 0: // events that nothing encloses
			m.reopen(p)
			m.beginEvents()
			return p, false
		}
	} else if k := spaceWithin(b, p+1); k < len(b) && b[k] == '"' {
		_, v := keyAhead(b, k)
		if v == codeMore && !eof {
			return p, true
		}
		object = v >= 0 // a damaged brace
	} else if k >= len(b) && !eof {
		return p, true
	}
	if b[p] == '[' && object {
		m.lose(Loss{Reason: LostMetadata, Offset: m.base + int64(p), Bytes: 1, Index: -1})
	}
	m.doc++
	m.index, m.docEv = 0, false
	m.state, m.bare = stKey, false
	if !object {
		m.beginEvents()
		m.bare = true
	}
	return p + 1, false
}

// reopen goes on in the document before b[p], or begins one there.
func (m *machine) reopen(p int) {
	m.beginGarbage(p)
	m.endGarbage(m.base + int64(p))
	if m.doc < 0 {
		m.doc, m.docEv = 0, false
	}
	m.bare = false
}

func (m *machine) beginGarbage(p int) {
	if m.garbage.Reason == ReasonNone {
		m.garbage = Loss{Reason: LostGarbage, Offset: m.base + int64(p), Index: -1}
	}
}

func (m *machine) endGarbage(at int64) {
	if m.garbage.Reason != ReasonNone {
		m.garbage.Bytes = at - m.garbage.Offset
		m.lose(m.garbage)
		m.garbage = Loss{}
	}
}
