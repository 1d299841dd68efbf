package trace

import (
	"cmp"
	"encoding/json"
)

// Time is a point in time in nanoseconds since the trace's first event (see
// [Trace.Raw]). Times of two traces are comparable only after adding each
// trace's Raw(0) and [Meta.BaseTime].
type Time int64

// EventID identifies one stored event of a Trace. Ids are dense, grouped by
// lane, and the same for the same input and options; they mean nothing in
// another Trace. [None] is no event.
type EventID int32

// None is the id of no event, no GPU, no stream, no thread, no pass and no layer, where there is
// none or it is not known. Of ids that are never negative, names and
// correlations, 0 is none.
const None = -1

// NameID identifies an interned text (event name, category, shape) of a Trace.
// Two events of one Trace have the same name exactly if their NameIDs are equal. 0 is the empty text.
type NameID uint32

// DeviceID is the GPU's index as the profiler numbers it; [None] where it is
// unknown.
type DeviceID int32

// StreamID is the GPU stream as the profiler names it. ROCm writes values up
// to 64-bit handles, so ids are neither small nor dense. [None] where
// it is unknown.
type StreamID int64

// ThreadIndex is a thread's position in [Trace.Threads], [None] of activities.
type ThreadIndex int32

// Source names a profiler. The set is open: readers of other formats add their own.
type Source string

// The profilers whose recordings this module reads.
const (
	SourceTorch   Source = "torch.profiler"
	SourceNsys    Source = "nsys"
	SourceRocprof Source = "rocprofv3"
	SourceXLA     Source = "xla"    // of JAX and TensorFlow
	SourceProton  Source = "proton" // of Triton
)

// Encoding is how the events of a file are written, which decides which other programs read it.
type Encoding uint8

// The encodings. The first is any that only this module reads, such as a database.
const (
	EncodingOther    Encoding = iota
	EncodingChrome            // Chrome's trace JSON
	EncodingPerfetto          // Perfetto's protocol buffers
)

// Shown is the file as its user knows it: as [Options.Shown] calls it, else its path.
func (m Meta) Shown() string { return cmp.Or(m.shown, m.Path) }

// Meta is what the file says about the recording, outside its events.
type Meta struct {
	Path     string   `json:"path,omitempty"`   // file that was opened; empty for Read
	Source   Source   `json:"source"`           // the profiler that recorded it
	Format   string   `json:"format,omitempty"` // schema version as written, e.g. "1" or "3.25.1"
	Encoding Encoding `json:"-"`                // how the file is written
	shown    string

	// BaseTime is nanoseconds of the Unix epoch to add to raw timestamps for
	// wall-clock time (Kineto's baseTimeNanoseconds); 0 when the file has none,
	// in which case old files' raw timestamps are epoch time themselves.
	BaseTime int64 `json:"base_time_ns"`

	TraceName   string          `json:"trace_name,omitempty"` // path at recording time
	Rank        int             `json:"rank"`                 // −1 when unknown
	WorldSize   int             `json:"world_size,omitempty"` // ranks of the job; 0 when unknown
	Backend     string          `json:"backend,omitempty"`    // of distributedInfo
	Devices     []GPU           `json:"devices,omitempty"`    // as listed in the file
	WithStack   bool            `json:"with_stack,omitempty"`
	RecordShape bool            `json:"record_shapes,omitempty"`
	Distributed json.RawMessage `json:"-"` // distributedInfo, raw

	// Extra holds every other top-level value of the file, raw.
	Extra map[string]json.RawMessage `json:"-"`

	// Counts is how often each phase ("X", "M", "s", …) and category, "" where an
	// event has none, occurred in the file, stored or not: Counts["X"]["kernel"].
	Counts map[string]map[string]int64 `json:"-"`
}

// GPU describes one device of the recording machine. Fields that the file
// does not give are zero.
type GPU struct {
	ID           DeviceID `json:"id"`                     // as activities refer to it
	Name         string   `json:"name"`                   // marketing name
	MemoryBytes  int64    `json:"memory_bytes,omitempty"` // total device memory
	SMs          int      `json:"sms,omitempty"`          // multiprocessors / compute units
	ComputeMajor int      `json:"compute_major,omitempty"`
	ComputeMinor int      `json:"compute_minor,omitempty"`
	WarpSize     int      `json:"warp_size,omitempty"`
	// Bandwidth is that of the memory in bytes a second, MaxClockMHz the highest clock of the multiprocessors, as the
	// driver reports them.
	Bandwidth   int64   `json:"bandwidth,omitempty"`
	MaxClockMHz float64 `json:"max_clock_mhz,omitempty"`
}

// Thread is one CPU thread that has events.
type Thread struct {
	Process      int64  `json:"process"`                 // 0 when ProcessLabel is not a number
	ProcessLabel string `json:"process_label,omitempty"` // pid as written when it is text, e.g. "[TP00] 83"
	ID           int64  `json:"thread"`
	Label        string `json:"label,omitempty"` // tid as written when it is text
	Name         string `json:"name,omitempty"`
	ProcessName  string `json:"process_name,omitempty"`
}
