package scan

import "bytes"

// metaState is the place inside a top-level value. Such values can be larger
// than any buffer, so they are followed byte by byte.
type metaState struct {
	key    string
	start  int64
	buf    []byte
	depth  int
	str    bool // inside a string
	esc    bool // after a backslash
	closed bool // after a quote that may have closed the string
	scalar bool
	over   bool // more than Config.MaxMeta; no longer kept
	odd    bool // a stray quote was noted
}

func (m *machine) beginMeta(key []byte, at int64) {
	m.state = stMeta
	m.meta = metaState{key: string(key), start: at, buf: m.meta.buf[:0]}
}

// scanMeta consumes from b[p:] until the value ends. A quote closes a string
// only if a structural byte follows; INFO and WARNING arrays hold log lines with
// unescaped quotes (kineto issue 1184).
//
// Before the events have come, an event inside a value is where they begin: a
// bracket that was lost or added before them must not swallow them.
//
// One function: the cases are the states of one automaton, which share the depth
// and the quote that is open.
func (m *machine) scanMeta(b []byte, p int, eof bool) int {
	s := &m.meta
	from := p
	for p < len(b) {
		c := b[p]
		if s.str {
			switch {
			case s.esc:
				s.esc = false
			case c == '\\':
				s.esc = true
			case c == '"':
				s.str, s.closed = false, true
			default:
				// Run over plain text.
				n := bytes.IndexAny(b[p:], `"\`)
				if n < 0 {
					n = len(b) - p
				}
				p += n
				continue
			}
			p++
			continue
		}
		if s.closed {
			if isSpace(c) {
				p++
				continue
			}
			s.closed = false
			if class[c] != clStop && class[c] != clClose {
				s.str = true
				if !s.odd {
					s.odd = true
					m.lose(Loss{Reason: RepairedQuote, Offset: m.base + int64(p), Index: -1, Key: s.key})
				}
				continue
			}
			if s.depth == 0 {
				return m.endMeta(b, from, p)
			}
		}
		switch c {
		case '"':
			if s.depth == 0 && s.scalar {
				return m.endMeta(b, from, p)
			}
			s.str = true
		case '{', '[':
			if c == '{' && !m.docEv {
				switch at := m.eventAt(b, p, eof); {
				case at == codeMore:
					m.keepMeta(b[from:p])
					return p
				case at >= 0:
					m.lose(Loss{Reason: LostMetadata, Offset: s.start, Bytes: m.base + int64(p) - s.start, Index: -1,
						Key: s.key})
					m.beginEvents()
					return p
				}
			}
			s.depth++
		case '}', ']':
			if s.depth == 0 {
				return m.endMeta(b, from, p)
			}
			if s.depth--; s.depth == 0 {
				return m.endMeta(b, from, p+1)
			}
		case ',':
			if s.depth == 0 {
				return m.endMeta(b, from, p)
			}
		case ' ', '\n', '\r', '\t':
			if s.depth == 0 && s.scalar {
				return m.endMeta(b, from, p)
			}
		default:
			if s.depth == 0 {
				s.scalar = true
			}
		}
		p++
	}
	m.keepMeta(b[from:p])
	return p
}

// metaOverhead is what a value costs beside its bytes, so that a million empty
// ones are not free.
const metaOverhead = 64

func (m *machine) keepMeta(b []byte) {
	if m.meta.over || m.metaBytes+metaOverhead+len(m.meta.key)+len(m.meta.buf)+len(b) > m.cfg.MaxMeta {
		m.meta.over = true
		m.meta.buf = m.meta.buf[:0]
		return
	}
	m.meta.buf = append(m.meta.buf, b...)
}

func (m *machine) endMeta(b []byte, from, p int) int {
	m.keepMeta(b[from:p])
	m.state = stKey
	s := &m.meta
	if s.over {
		m.lose(Loss{Reason: LostMetadata, Offset: s.start, Bytes: m.base + int64(p) - s.start, Index: -1, Key: s.key})
		return p
	}
	m.metaBytes += len(s.buf) + len(s.key) + metaOverhead
	m.metas = append(m.metas, Meta{Doc: m.doc, Key: s.key, Value: bytes.TrimSpace(bytes.Clone(s.buf)), Offset: s.start})
	return p
}
