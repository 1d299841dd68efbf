package scan

import (
	"bytes"

	"github.com/llmstrata/strata/internal/decimal"
	"github.com/llmstrata/strata/internal/kind"
)

// NOTE: the hot path. parseEvent reads one event in one pass: it steps over
// every string eight bytes at a time, finds its fields by key length and first
// letter, and turns numbers into integers as it meets them. It allocates
// nothing; everything it hands out aliases b. As in skip.go a negative position
// is a code; f then holds what is known about the fault.

// fault says why an event was given up, or what had to be put right in it.
type fault struct {
	reason Reason
	field  string
	pos    int // in b
}

// parser holds what parseEvent reports beside the event.
type parser struct {
	fault    fault
	comma    int  // position of a comma before a closing brace, −1
	inner    bool // a value other than args, or one of args, holds an object
	maxDepth int
	shapes   shapes
	lesson   lesson
}

// parseEvent parses the object at b[p] into ev and returns the position after it.
// Fields that are not plausible are left out; a ts that is not a number sets
// f.reason and still returns the position, so that the scan can go on after it.
// One function: every field of every event passes here, and a call for each would
// cost a tenth of the load.
func (f *parser) parseEvent(b []byte, p int, ev *Event) int {
	ev.Has = 0
	f.fault = fault{}
	f.comma, f.inner = -1, false
	start := p
	name, nameEnd, cat := 0, 0, 0 // positions, for learning the shape; 0: it cannot be learned
	inside := false               // a value was read
	f.lesson.of = nil
	if n, s := f.known(b, start, ev); s != nil {
		p, inside = n, true
		if ev.Has&HasTS == 0 {
			name, nameEnd, cat = start+s.headLen, n, start+s.cat
		} else if n, whole := f.rest(b, start, p, &s.rest, ev); n < 0 || whole {
			return n
		} else {
			p = n
		}
	} else if p = skipSpace(b, p+1); p >= len(b) {
		return codeMore
	} else if b[p] == '}' {
		ev.Raw = b[start : p+1]
		return p + 1
	}
	for {
		if inside {
			// After the value: a comma and the next key, or the end.
			if p < len(b) && b[p] <= ' ' {
				p = skipSpace(b, p)
			}
			if p >= len(b) {
				return codeMore
			}
			end := b[p] == '}'
			if b[p] == ',' {
				comma := p
				if p = skipSpace(b, p+1); p >= len(b) {
					return codeMore
				}
				if end = b[p] == '}'; end {
					f.comma = comma
				}
			} else if !end {
				f.fault.pos = p
				return codeBad
			}
			if end {
				p++
				ev.Raw = b[start:p]
				if f.lesson.of != nil && f.comma < 0 && f.fault.reason == ReasonNone {
					f.lesson.learn(b, p)
				}
				return p
			}
		}
		inside = true
		if b[p] != '"' {
			f.fault.pos = p
			return codeBad
		}
		ks := p + 1
		if p = skipString(b, ks); p < 0 {
			return p
		}
		key := b[ks : p-1]
		if p+1 < len(b) && b[p] == ':' && b[p+1] == ' ' { // the usual formatting
			p += 2
		} else {
			if p = skipSpace(b, p); p >= len(b) {
				return codeMore
			}
			if b[p] != ':' {
				f.fault.pos = p
				return codeBad
			}
			p++
		}
		if p >= len(b) {
			return codeMore
		}
		if b[p] <= ' ' {
			if p = skipSpace(b, p); p >= len(b) {
				return codeMore
			}
		}
		vs := p
		known := true
		switch len(key) {
		case 1:
			if key[0] == 's' && b[p] == '"' {
				if p = skipString(b, p+1); p > 0 {
					ev.Scope = b[vs+1 : p-1]
					ev.Has |= HasScope
				}
			} else {
				known = false
			}
		case 2:
			switch {
			case key[0] == 'p' && key[1] == 'h' && b[p] == '"':
				if p = skipString(b, p+1); p > 0 && p-vs > 2 {
					ev.Phase = b[vs+1]
					ev.Has |= HasPhase
					nameEnd = 0
				}
			case key[0] == 't' && key[1] == 's':
				if nameEnd > 0 && ev.Has == HasPhase|HasCat|HasName|HasPID|HasTID {
					f.learn(b, start, cat, name, nameEnd, vs, ev)
				}
				usual := ev.Has == HasPhase|HasCat|HasName|HasPID|HasTID
				ev.TS, p = f.time(b, p, LostTime, "ts")
				ev.Has |= HasTS
				if s := f.shapes.at(b, start); usual && p > 0 && s != nil {
					n, whole := f.rest(b, start, p, &s.rest, ev)
					if n < 0 || whole {
						return n
					}
					p = n
					continue
				}
			case key[0] == 'i' && key[1] == 'd':
				if p = f.ident(b, p, &ev.ID); p > 0 {
					ev.Has |= HasID
				}
			default:
				known = false
			}
		case 3:
			switch {
			case key[0] == 'c' && key[1] == 'a' && key[2] == 't' && b[p] == '"':
				if p = skipString(b, p+1); p > 0 {
					ev.Cat = b[vs+1 : p-1]
					ev.Has |= HasCat
					cat, nameEnd = vs+1, 0
				}
			case key[0] == 'p' && key[1] == 'i' && key[2] == 'd':
				if p = f.ident(b, p, &ev.PID); p > 0 {
					ev.Has |= HasPID
				}
			case key[0] == 't' && key[1] == 'i' && key[2] == 'd':
				if p = f.ident(b, p, &ev.TID); p > 0 {
					ev.Has |= HasTID
				}
			case key[0] == 'd' && key[1] == 'u' && key[2] == 'r':
				if p = f.duration(b, p, ev); p > 0 {
					f.lesson.add(vs, p, fieldDuration)
				}
			default:
				known = false
			}
		case 4:
			switch {
			case b[p] == '"' && string(key) == kind.KeyName:
				if p = skipString(b, p+1); p > 0 {
					if name, nameEnd = vs, 0; ev.Has == HasPhase|HasCat {
						nameEnd = p
					}
					ev.Name = b[vs+1 : p-1]
					ev.Has |= HasName
				}
			case b[p] == '{' && string(key) == kind.KeyArgs:
				f.lesson.open(vs)
				if p = f.args(b, p, false, ev); p > 0 {
					f.lesson.close = p - 1
					ev.Args = b[vs:p]
					ev.Has |= HasArgs
				}
			default:
				known = false
			}
		default:
			known = false
		}
		if !known {
			if p = skipValue(b, p, f.maxDepth); p-vs > smallestEvent && class[b[vs]] == clOpen {
				f.lookInside(b[vs:p])
			}
		}
		if p < 0 {
			f.fault.pos = vs
			return p
		}
		if f.lesson.of != nil {
			f.lesson.check(p)
		}
	}
}

// smallestEvent is the length of the shortest object that is taken for an event.
const smallestEvent = len(`{"ph":"M","name":""}`)

// lookInside notes that the value holds an object, perhaps an event that an
// unclosed bracket made a part of this one.
func (f *parser) lookInside(value []byte) {
	if bytes.IndexByte(value[1:], '{') >= 0 {
		f.inner = true
	}
}

// args parses the args object at b[p] for the fields that ev has room for; what
// is left of it after one of its values, if inside. One function: one loop over
// the keys, as hot as parseEvent.
func (f *parser) args(b []byte, p int, inside bool, ev *Event) int {
	if !inside {
		if p = skipSpace(b, p+1); p >= len(b) {
			return codeMore
		}
		if b[p] == '}' {
			return p + 1
		}
	}
	for ; ; inside = true {
		if inside {
			if p < len(b) && b[p] <= ' ' {
				p = skipSpace(b, p)
			}
			if p >= len(b) {
				return codeMore
			}
			if b[p] == '}' {
				return p + 1
			}
			if b[p] != ',' {
				return codeBad
			}
			comma := p
			if p = skipSpace(b, p+1); p >= len(b) {
				return codeMore
			}
			if b[p] == '}' {
				f.comma = comma
				return p + 1
			}
		}
		if b[p] != '"' {
			return codeBad
		}
		ks := p + 1
		if p = skipString(b, ks); p < 0 {
			return p
		}
		key := b[ks : p-1]
		if p+1 < len(b) && b[p] == ':' && b[p+1] == ' ' {
			p += 2
		} else {
			if p = skipSpace(b, p); p >= len(b) {
				return codeMore
			}
			if b[p] != ':' {
				return codeBad
			}
			p++
		}
		if p >= len(b) {
			return codeMore
		}
		if b[p] <= ' ' {
			if p = skipSpace(b, p); p >= len(b) {
				return codeMore
			}
		}
		vs, what := p, argField(key)
		if p = f.argValue(b, p, what, ev); p < 0 {
			return p
		}
		f.lesson.add(vs, p, what)
	}
}

// time parses decimal microseconds, quoted or not, at b[p]. What is not a
// number is noted as bad (the whole event is lost) and skipped; NaN and infinite
// durations are noted as repaired.
func (f *parser) time(b []byte, p int, bad Reason, field string) (int64, int) {
	if ns, end := micros(b, p); end > p {
		return ns, end
	}
	// The rest: quotes, signs, exponents, more digits, nonsense.
	var text []byte
	end := p
	if b[p] == '"' {
		if end = skipString(b, p+1); end < 0 {
			return 0, end
		}
		text = b[p+1 : end-1]
	} else {
		if end = skipValue(b, p, f.maxDepth); end < 0 {
			return 0, end
		}
		text = b[p:end]
	}
	ns, err := decimal.Micros(text)
	switch {
	case err == nil:
		return ns, end
	case field == kind.KeyDuration && (err == decimal.ErrNonFinite || string(text) == kind.Null):
		if f.fault.reason == ReasonNone {
			f.fault = fault{RepairedDuration, field, p}
		}
	default:
		f.fault = fault{bad, field, p}
	}
	return 0, end
}

// duration parses "dur".
func (f *parser) duration(b []byte, p int, ev *Event) int {
	ev.Has &^= HasDur | HasBadDur
	d, end := f.time(b, p, LostNumber, kind.KeyDuration)
	switch {
	case end < 0 || f.fault.reason == LostNumber:
	case f.fault.reason == RepairedDuration && f.fault.pos == p:
		ev.Has |= HasBadDur
	default:
		ev.Dur = d
		ev.Has |= HasDur
	}
	return end
}

// argInt parses a number, quoted or not, into *dst; anything else is skipped.
func (f *parser) argInt(b []byte, p int, ev *Event, dst *int64, has Has) int {
	if v, end, ok := integer(b, p); ok {
		if end == len(b) {
			return codeMore
		}
		*dst = v
		ev.Has |= has
		return end
	}
	end := skipValue(b, p, f.maxDepth)
	if end < 0 {
		return end
	}
	text := b[p:end]
	if text[0] == '"' {
		text = text[1 : len(text)-1]
	}
	if v, n, ok := integer(text, 0); ok && n == len(text) && n > 0 {
		*dst = v
		ev.Has |= has
	} else {
		ev.Has &^= has
	}
	return end
}

// ident parses a pid, tid or id.
func (f *parser) ident(b []byte, p int, dst *Ident) int {
	if v, end, ok := integer(b, p); ok {
		if end == len(b) {
			return codeMore
		}
		dst.Num, dst.Text = v, nil
		return end
	}
	end := skipValue(b, p, f.maxDepth)
	if end < 0 {
		return end
	}
	text := b[p:end:end]
	if text[0] == '"' {
		text = text[1 : len(text)-1]
	}
	if v, n, ok := integer(text, 0); ok && n == len(text) && n > 0 {
		dst.Num, dst.Text = v, nil
	} else {
		dst.Num, dst.Text = 0, text
	}
	return end
}
