package event

// Loss says why something of a trace was not kept as it was written: a reason of
// trace.Loss. New ones may be added.
type Loss string

// The reasons.
const (
	Truncated        Loss = "truncated"         // input ended inside an event or before the document's end
	BadEvent         Loss = "bad-event"         // an event that is not valid; skipped to the next one
	BadTime          Loss = "bad-time"          // a timestamp or duration that is no number or out of range
	NegativeDuration Loss = "negative-duration" // dropped
	NotCollected     Loss = "not-collected"     // a GPU activity with ts 0 and dur 0
	NoDuration       Loss = "no-duration"       // a complete event without dur; kept with duration 0
	Twice            Loss = "twice"             // the same GPU activity written again; dropped
	Unmatched        Loss = "unmatched"         // a B without E or an E without B
	UnknownKind      Loss = "unknown-kind"      // Builder.Add with an invalid Kind
	Unread           Loss = "not-read"          // data that is there and that nothing here reads yet
	UnknownPhase     Loss = "unknown-phase"     // an event of a phase that the trace event format has not
	BadCompression   Loss = "bad-compression"   // compressed data ended early or failed its checksum
	// kept after repair: invalid UTF-8, control characters, bare NaN, stray commas
	Repaired     Loss = "repaired"
	Limit        Loss = "limit"         // beyond a configured limit
	Dropped      Loss = "dropped"       // the recorder says that it lost events
	MissingTable Loss = "missing-table" // SQLite: a table or column that this export lacks
)
