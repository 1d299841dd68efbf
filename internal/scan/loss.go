package scan

import (
	"errors"
	"fmt"
)

// Reason says what was lost or repaired.
//
// New reasons may be added.
type Reason uint8

// The reasons. Up to lastLost they cost an element or more; the rest were put right.
const (
	ReasonNone       Reason = iota
	LostSyntax              // not JSON; skipped to the next event
	LostTruncated           // the stream ended inside the element
	LostTooLarge            // larger than Config.MaxEvent
	LostTooDeep             // nested deeper than MaxDepth
	LostTime                // ts is not a finite number
	LostNumber              // dur is not a number at all
	LostNoPhase             // an object without "ph"
	LostNotObject           // an element that is not an object
	LostMetadata            // a top-level value that is broken or larger than Config.MaxMeta
	LostGarbage             // bytes between or after documents
	LostLongName            // a name longer than Config.MaxName, cut
	RepairedDuration        // dur is NaN or infinite: taken as absent
	RepairedComma           // a comma too many or too few between events
	RepairedEmpty           // {} among the events
	RepairedQuote           // a stray quote in a top-level value
	reasonCount
	lastLost = LostGarbage
)

var reasonNames = [...]string{
	ReasonNone: "none", LostSyntax: "syntax", LostTruncated: "truncated", LostTooLarge: "event too large",
	LostTooDeep: "nested too deeply", LostTime: "bad timestamp", LostNumber: "bad number", LostNoPhase: "no phase",
	LostNotObject: "not an object", LostMetadata: "bad metadata", LostGarbage: "garbage between documents",
	LostLongName: "name cut", RepairedDuration: "duration not finite", RepairedComma: "comma",
	RepairedEmpty: "empty event", RepairedQuote: "stray quote",
}

// String returns a few lower-case words.
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return "unknown"
}

// Loss is one thing lost or repaired.
type Loss struct {
	Reason Reason
	Offset int64 // in the decompressed stream, of the byte at fault where that is known
	Bytes  int64 // skipped
	Index  int64 // element of traceEvents, −1 outside
	Field  string
	Key    string // the top-level key, for metadata
}

// Losses counts by reason and keeps the first few of each in full.
type Losses struct {
	Count [reasonCount]int64
	Bytes [reasonCount]int64
	First []Loss // at most maxExamples of each reason, in stream order
}

// maxExamples bounds what a file of broken events costs; the counts stay exact.
const maxExamples = 16

func (l *Losses) add(x Loss) {
	if l.Count[x.Reason] < maxExamples {
		l.First = append(l.First, x)
	}
	l.Count[x.Reason]++
	l.Bytes[x.Reason] += x.Bytes
}

// merge appends later losses whose element indices are off by indexBase.
func (l *Losses) merge(m *Losses, indexBase int64) {
	if m.empty() {
		return
	}
	for _, x := range m.First {
		if x.Index >= 0 {
			x.Index += indexBase
		}
		if l.Count[x.Reason] < maxExamples {
			l.First = append(l.First, x)
			l.Count[x.Reason]++
			l.Bytes[x.Reason] += x.Bytes
			m.Count[x.Reason]--
			m.Bytes[x.Reason] -= x.Bytes
		}
	}
	for r := range m.Count {
		l.Count[r] += m.Count[r]
		l.Bytes[r] += m.Bytes[r]
	}
}

func (l *Losses) empty() bool { return len(l.First) == 0 }

func (l *Losses) reset() {
	if !l.empty() {
		*l = Losses{First: l.First[:0]}
	}
}

// Total returns how many things were lost (not repaired).
func (l *Losses) Total() int64 {
	var n int64
	for r := ReasonNone + 1; r <= lastLost; r++ {
		n += l.Count[r]
	}
	return n
}

// SyntaxError is the first loss or repair under Config.Strict.
type SyntaxError struct {
	Offset int64  // byte in the decompressed stream
	Path   string // JSON pointer, such as /traceEvents/1042/ts
	Err    error
}

func (e *SyntaxError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%v (offset %d)", e.Err, e.Offset)
	}
	return fmt.Sprintf("%v at %s (offset %d)", e.Err, e.Path, e.Offset)
}

// Unwrap returns the reason.
func (e *SyntaxError) Unwrap() error { return e.Err }

// Errors that a SyntaxError may wrap, and that Scanner and Parallel return.
var (
	ErrSyntax    = errors.New("invalid JSON")
	ErrTruncated = errors.New("truncated")
	ErrLimit     = errors.New("limit exceeded")
)

// asError returns x as the error that strict reading ends with.
func (x Loss) asError() error {
	err := &SyntaxError{Offset: x.Offset}
	switch x.Reason {
	case LostTruncated:
		err.Err = ErrTruncated
	case LostTooLarge, LostTooDeep, LostLongName:
		err.Err = fmt.Errorf("%s: %w", x.Reason, ErrLimit)
	default:
		err.Err = fmt.Errorf("%s: %w", x.Reason, ErrSyntax)
	}
	if x.Index >= 0 {
		err.Path = fmt.Sprintf("/traceEvents/%d", x.Index)
		if x.Field != "" {
			err.Path += "/" + x.Field
		}
	} else if x.Key != "" {
		err.Path = "/" + x.Key
	}
	return err
}
