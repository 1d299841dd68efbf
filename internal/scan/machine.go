package scan

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// NOTE: the machine holds everything that scanning must remember between two
// buffers. It is driven with windows of the stream: next(b, p) consumes from
// b[p:] and says where it stopped. Whatever it did not consume must be at the
// beginning of the next window, and base must be the stream offset of b[0].
//
// What comes out may not depend on where windows end. Three rules make it so:
//   - state changes, and losses are recorded, only for what was consumed;
//   - an event is looked at through a slice of at most maxEvent bytes, so that
//     "too large" does not depend on how much happened to be buffered;
//   - a scan for the next event begins at the broken event's own start.
//
// Top-level values, which may be of any size, are consumed as they come.

// Config limits what a scan may cost and says how it takes damage. Zero values
// mean the defaults.
type Config struct {
	Strict   bool // the first loss or repair ends the scan
	MaxEvent int  // bytes of one event; default 64 MiB
	MaxName  int  // bytes of a name; default 64 KiB; longer names are cut
	MaxDepth int  // nesting of one value of an event; default and at most [MaxDepth]
	MaxMeta  int  // bytes of all top-level values and keys together, 64 more for each; default 16 MiB
	Segment  int  // bytes read at a time; default 512 KiB
	Workers  int  // goroutines of Parallel; default 1
}

// WithDefaults returns c with its zero fields set.
func (c Config) WithDefaults() Config {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&c.MaxEvent, 64<<20)
	def(&c.MaxName, 64<<10)
	def(&c.MaxMeta, 16<<20)
	def(&c.MaxDepth, MaxDepth)
	c.MaxDepth = min(c.MaxDepth, MaxDepth)
	def(&c.Segment, 512<<10)
	def(&c.Workers, 1)
	return c
}

type state uint8

const (
	stDoc    state = iota // between documents
	stKey                 // in the top-level object, before a key
	stMeta                // inside a top-level value
	stElem                // in traceEvents, after [
	stNext                // in traceEvents, after an element
	stComma               // in traceEvents, after a comma
	stResync              // in traceEvents, looking for the next event
)

type result uint8

const (
	resEvent result = iota
	resMore
	resArrayEnd // only with stopAtEnd: a traceEvents array closed
	resEOF
	resFail // strict
)

// Meta is a top-level value other than traceEvents.
type Meta struct {
	Doc    int
	Key    string // raw, escapes unresolved
	Value  []byte
	Offset int64 // of the value
}

type machine struct {
	cfg       Config
	parser    *parser // not a value: what a worker found is copied with its machine
	stopAtEnd bool

	base  int64 // stream offset of the current window
	end   int64 // length of the stream, once known
	state state
	bare  bool // the events array is the whole document
	doc   int  // documents begun, minus one
	index int64
	sawEv bool // a traceEvents array was found in some document
	docEv bool // and in this one

	doubt     bool // after a resync: perhaps inside some event's args
	pending   Loss // while in stResync; its Offset is where the broken element begins
	faultOff  int64
	atEOF     bool // pending was raised by the end of the stream
	meta      metaState
	metas     []Meta
	metaBytes int
	garbage   Loss // while between documents
	junk      Loss // while between top-level keys
	losses    Losses
	fail      *Loss
	truncated bool
}

func newMachine(cfg Config) *machine {
	m := &machine{cfg: cfg.WithDefaults(), parser: new(parser), doc: -1}
	m.parser.maxDepth = m.cfg.MaxDepth
	return m
}

// startSpeculative prepares m for a segment believed to begin with an event.
func (m *machine) startSpeculative(base int64) {
	m.base, m.state, m.index, m.bare, m.sawEv = base, stComma, 0, false, false
	m.stopAtEnd, m.doubt = true, false
	m.fail = nil
	m.losses.reset()
}

// adopt continues from where the speculative machine s stopped; s began where m is.
func (m *machine) adopt(s *machine) {
	m.state, m.doubt = s.state, s.doubt
	if m.bare && s.state == stKey { // s does not know what encloses the array
		m.state = stDoc
	}
	if s.state == stResync {
		m.pending, m.faultOff, m.atEOF = s.pending, s.faultOff, s.atEOF
		if m.pending.Index >= 0 {
			m.pending.Index += m.index
		}
	}
	m.losses.merge(&s.losses, m.index)
	if s.fail != nil && m.fail == nil {
		x := *s.fail
		if x.Index >= 0 {
			x.Index += m.index
		}
		m.fail = &x
	}
	m.index += s.index
}

// lose records x.
func (m *machine) lose(x Loss) {
	if m.cfg.Strict && m.fail == nil {
		m.fail = &x
	}
	m.losses.add(x)
}

// next consumes up to and including one event. eof says that no bytes follow b;
// cut that the byte after b is the '{' of a boundary. One function: the states of
// the machine, each a few lines.
func (m *machine) next(b []byte, p int, eof, cut bool, ev *Event) (int, result) {
	for {
		if m.fail != nil {
			return p, resFail
		}
		switch m.state {
		case stElem, stNext, stComma:
			var res result
			if p, res = m.element(b, p, eof, ev); res != resContinue {
				return p, res
			}
		case stResync:
			at, found, end := resync(b, p, eof, cut)
			if !found && !eof {
				return at, resMore
			}
			if !found {
				at = len(b)
			} else if m.atEOF {
				m.pending.Reason = LostSyntax
			}
			m.pending.Bytes = m.base + int64(at) - m.pending.Offset
			m.pending.Offset = m.faultOff
			m.lose(m.pending)
			p = at
			m.state, m.doubt = stComma, true
			if end {
				m.state, m.doubt = stNext, false
			}
			if !found {
				m.truncated = true
				m.state = stDoc
			}
		case stMeta:
			p = m.scanMeta(b, p, eof)
			if m.state == stMeta {
				if !eof {
					return p, resMore
				}
				m.truncated = true
				m.lose(Loss{Reason: LostTruncated, Offset: m.base + int64(p), Bytes: m.base + int64(p) - m.meta.start,
					Index: -1, Key: m.meta.key})
				m.state = stDoc
			}
		case stKey:
			var more bool
			if p, more = m.key(b, p, eof); more {
				return p, resMore
			}
		case stDoc:
			if p = m.between(b, p, eof); m.state == stDoc {
				if p < len(b) || !eof {
					return p, resMore
				}
				if m.truncated && m.cfg.Strict && m.fail == nil {
					m.fail = &Loss{Reason: LostTruncated, Offset: m.base + int64(p), Index: -1}
					return p, resFail
				}
				m.end = m.base + int64(p)
				return p, resEOF
			}
		}
	}
}

// resContinue is element's "go on"; it never leaves next.
const resContinue = result(255)

// element consumes white space, commas, one element or the end of the array. One
// function: it is next's inner state.
func (m *machine) element(b []byte, p int, eof bool, ev *Event) (int, result) {
	for {
		if p = skipSpace(b, p); p >= len(b) {
			if !eof {
				return p, resMore
			}
			m.truncated = true
			m.state = stDoc
			return p, resContinue
		}
		switch c := b[p]; c {
		case ',':
			if m.state != stNext {
				m.lose(Loss{Reason: RepairedComma, Offset: m.base + int64(p), Index: m.index})
			}
			m.state = stComma
			p++
			if m.fail != nil {
				return p, resContinue
			}
		case ']':
			if m.doubt {
				switch at := closes(b, p, eof); at {
				case codeMore:
					return p, resMore
				case codeBad:
					m.beginResync(b, p, p, codeBad, false, eof)
					return p, resContinue
				}
			}
			if m.state == stComma {
				m.lose(Loss{Reason: RepairedComma, Offset: m.base + int64(p), Index: m.index})
			}
			p++
			m.state = stKey
			if m.bare {
				m.state = stDoc
			}
			if m.stopAtEnd {
				return p, resArrayEnd
			}
			return p, resContinue
		case '{':
			return m.object(b, p, eof, ev)
		default:
			switch at := m.eventWithin(b, p, eof); {
			case at == codeMore:
				return p, resMore
			case at >= 0: // not an element: what is before the next one
				m.lose(Loss{Reason: LostNotObject, Offset: m.base + int64(p), Bytes: int64(at - p), Index: m.index})
				m.index++
				m.state = stComma
				return at, resContinue
			}
			w := b[:min(len(b), p+m.cfg.MaxEvent)]
			n := skipValue(w, p, m.cfg.MaxDepth)
			if n == codeMore && len(w) == len(b) && !eof && len(b)-p < m.cfg.MaxEvent {
				return p, resMore
			}
			if n < 0 {
				m.beginResync(b, p, p, n, len(w)-p == m.cfg.MaxEvent, eof)
				return p, resContinue
			}
			m.lose(Loss{Reason: LostNotObject, Offset: m.base + int64(p), Bytes: int64(n - p), Index: m.index})
			m.index++
			m.state = stNext
			return n, resContinue
		}
	}
}

// object consumes the event at b[p].
func (m *machine) object(b []byte, p int, eof bool, ev *Event) (int, result) {
	w := b
	if len(b)-p > m.cfg.MaxEvent {
		w = b[:p+m.cfg.MaxEvent]
	}
	n := m.parser.parseEvent(w, p, ev)
	if n == codeMore && (eof || len(b)-p >= probeBytes) || n >= 0 && (m.parser.inner || ev.Has&HasPhase == 0) {
		if at := m.swallowed(w, p, n); at > 0 {
			m.lose(Loss{Reason: LostSyntax, Offset: m.base + int64(p), Bytes: int64(at - p), Index: m.index})
			m.index++
			m.state = stComma
			return at, resContinue
		}
		if n >= 0 { // the parser's other answers are of what it saw last
			n = m.parser.parseEvent(w, p, ev)
		}
	}
	if n < 0 {
		full := len(w)-p >= m.cfg.MaxEvent
		if n == codeMore && !full && !eof {
			return p, resMore
		}
		m.beginResync(b, p, m.parser.fault.pos, n, full, eof)
		return p, resContinue
	}
	if m.state == stNext {
		m.lose(Loss{Reason: RepairedComma, Offset: m.base + int64(p), Index: m.index})
	}
	m.state = stNext
	m.doubt = m.doubt && ev.Has&(HasPhase|HasName) != HasPhase|HasName
	ev.Index, ev.Doc, ev.Offset = m.index, m.doc, m.base+int64(p)
	m.index++
	if m.parser.comma >= 0 {
		m.lose(Loss{Reason: RepairedComma, Offset: m.base + int64(m.parser.comma), Index: ev.Index})
	}
	if m.parser.fault.reason != ReasonNone || ev.Has&HasPhase == 0 || len(ev.Name) > m.cfg.MaxName {
		if !m.odd(ev, p, n) {
			return n, resContinue
		}
	}
	if m.cfg.Strict {
		if m.fail == nil {
			m.checkStrict(ev)
		}
		if m.fail != nil {
			return n, resContinue
		}
	}
	return n, resEvent
}

// odd records what is strange about ev and reports whether it can be used.
func (m *machine) odd(ev *Event, p, n int) bool {
	x := Loss{Offset: ev.Offset, Index: ev.Index, Bytes: int64(n - p)}
	f := m.parser.fault
	switch {
	case f.reason == RepairedDuration:
		m.lose(Loss{Reason: f.reason, Offset: m.base + int64(f.pos), Index: ev.Index, Field: f.field})
	case f.reason != ReasonNone:
		x.Reason, x.Field, x.Offset = f.reason, f.field, m.base+int64(f.pos)
		m.lose(x)
		return false
	}
	if ev.Has&HasPhase == 0 {
		if x.Reason = LostNoPhase; ev.Has == 0 && n-p <= maxSpace &&
			len(bytes.TrimSpace(ev.Raw[1:len(ev.Raw)-1])) == 0 {
			x.Reason, x.Bytes = RepairedEmpty, 0
		}
		m.lose(x)
		return false
	}
	if len(ev.Name) > m.cfg.MaxName {
		m.lose(Loss{Reason: LostLongName, Offset: ev.Offset, Bytes: int64(len(ev.Name) - m.cfg.MaxName),
			Index: ev.Index, Field: "name"})
		ev.Name = ev.Name[:m.cfg.MaxName]
	}
	return true
}

// checkStrict holds the event against the letter of JSON: escapes, control
// characters, UTF-8, number syntax. It is slow, and only strict scans pay.
func (m *machine) checkStrict(ev *Event) {
	bad := int64(-1)
	if !json.Valid(ev.Raw) {
		bad = 0
		var v json.RawMessage
		if e, ok := json.Unmarshal(ev.Raw, &v).(*json.SyntaxError); ok {
			bad = max(e.Offset-1, 0)
		}
	} else if !utf8.Valid(ev.Raw) {
		for b := ev.Raw; ; {
			r, n := utf8.DecodeRune(b)
			if r == utf8.RuneError && n == 1 {
				bad = int64(len(ev.Raw) - len(b))
				break
			}
			b = b[n:]
		}
	}
	if bad >= 0 {
		m.lose(Loss{Reason: LostSyntax, Offset: ev.Offset + bad, Index: ev.Index})
	}
}

// beginResync gives up the element at b[p].
func (m *machine) beginResync(b []byte, p, faultPos, code int, full, eof bool) {
	x := Loss{Reason: LostSyntax, Offset: m.base + int64(p), Index: m.index}
	m.faultOff = x.Offset
	m.atEOF = false
	switch {
	case code == codeDeep:
		x.Reason = LostTooDeep
	case code == codeBad:
		m.faultOff = m.base + int64(max(faultPos, p))
	case full:
		x.Reason = LostTooLarge
	default:
		x.Reason, m.atEOF = LostTruncated, true
	}
	m.index++
	m.state = stResync
	m.pending = x
	if m.cfg.Strict { // no going on, and so no size
		x.Offset = m.faultOff
		m.lose(x)
	}
}
