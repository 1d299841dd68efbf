package scan

import (
	"strings"

	"github.com/llmstrata/strata/internal/kind"
)

// Has is a set of the fields that an event carries.
type Has uint32

// Any reports whether the set holds one of these fields.
func (h Has) Any(fields Has) bool { return h&fields != 0 }

// The fields.
const (
	HasPhase Has = 1 << iota
	HasName
	HasCat
	HasPID
	HasTID
	HasTS
	HasDur
	HasID
	HasArgs
	HasExternalID
	HasCorrelation
	HasDevice
	HasStream
	HasGraphID
	HasGraphNode
	HasGrid
	HasBlock
	HasDims
	HasBytes
	HasScope
	// HasBadDur says that dur was there and not a finite number.
	HasBadDur
	// HasUnfinished says that dur is the profiler's guess: args.finished is "false".
	HasUnfinished
	HasRank
	HasStack
	HasTypes
	HasStrides
	HasValues
	HasExchange
)

// Ident is a number or a text: pids and tids are numbers in most files, and
// labels such as "Spans" or "[TP00] 83" in some rows and in merged files.
type Ident struct {
	Num  int64  // the number, when Text is nil; unsigned 64-bit values wrap around
	Text []byte // raw string contents (escapes unresolved) when not a decimal integer
}

// Event is one element of traceEvents. Byte slices alias the scanner's buffer:
// they are valid until the next call, and hold the text between the quotes as
// it is in the file (see [AppendText]). A field that is not in Has holds
// nothing of meaning.
type Event struct {
	Has    Has
	Phase  byte  // "ph"; the first byte
	Index  int64 // position in its traceEvents array, lost elements counted
	Offset int64 // of its '{' in the decompressed stream
	Doc    int   // number of the document in the stream, from 0
	TS     int64 // ns
	Dur    int64 // ns, may be negative

	Name, Cat []byte
	Scope     []byte // "s" of instants
	PID, TID  Ident
	ID        Ident // flow and async id

	// From args. Numbers may be quoted in the file.
	ExternalID  int64
	Correlation int64
	Device      int64
	Stream      int64
	GraphID     int64
	GraphNode   int64
	Bytes       int64
	Rank        int64
	Grid, Block []byte // raw arrays
	Dims        []byte // raw "Input Dims" / "Input dims"
	Types       []byte // raw "Input type"
	Strides     []byte // raw "Input Strides"
	Values      []byte // raw "Concrete Inputs"
	Stack       []byte // "Call stack": Python frames, the innermost first, between semicolons

	// Exchange is what a collective says of itself, raw values by the Exchange… constants.
	Exchange [ExchangeParts][]byte

	Args []byte // raw, with its braces
	Raw  []byte // the whole event
}

// isEventKey reports a key that an event may start with; only these mark an
// event's start when the scanner looks for one (see doc.go).
func isEventKey(k []byte) bool {
	return eventKeys[string(k)]
}

var eventKeys = words("ph cat name pid tid ts dur args id s bp tts cname")

// isDocumentKey reports a key of a trace's document: that of its events, or one beside it.
func isDocumentKey(k []byte) bool { return string(k) == kind.KeyEvents || isTopKey(k) }

// isTopKey reports a key that is beside traceEvents in real files; only these
// mark the end of a broken traceEvents array.
func isTopKey(k []byte) bool { return topKeys[string(k)] }

var topKeys = words("traceName displayTimeUnit baseTimeNanoseconds schemaVersion deviceProperties distributedInfo " +
	"metadata otherData trace_id host_name with_stack record_shapes with_flops with_modules profile_memory INFO " +
	"WARNING ERROR systemTraceEvents stackFrames samples cuda_runtime_version cuda_driver_version username")

// words is the set of the words of a text.
func words(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}
