// Package loss holds the words that say why something of a trace was not kept
// as it stands: the reasons of trace.Loss, for those who write and ask for them.
package loss

// The reasons. New ones may be added.
const (
	Truncated        = "truncated"         // input ended inside an event or before the document's end
	BadEvent         = "bad-event"         // an event that is not valid; skipped to the next one
	BadTime          = "bad-time"          // a timestamp or duration that is no number or out of range
	NegativeDuration = "negative-duration" // dropped
	NotCollected     = "not-collected"     // a GPU activity with ts 0 and dur 0
	NoDuration       = "no-duration"       // a complete event without dur; kept with duration 0
	Unmatched        = "unmatched"         // a B without E or an E without B
	UnknownKind      = "unknown-kind"      // Builder.Add with an invalid Kind
	Unread           = "not-read"          // data that is there and that nothing here reads yet
	UnknownPhase     = "unknown-phase"     // an event of a phase that the trace event format has not
	BadCompression   = "bad-compression"   // compressed data ended early or failed its checksum
	Repaired         = "repaired"          // kept after repair: invalid UTF-8, control characters, bare NaN, stray commas
	Limit            = "limit"             // beyond a configured limit
	Dropped          = "dropped"           // the recorder says that it lost events
	MissingTable     = "missing-table"     // SQLite: a table or column that this export lacks
)
