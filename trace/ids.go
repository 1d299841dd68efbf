package trace

import "time"

// Time is a point in time in nanoseconds since the trace's first event (see
// [Trace.Origin]). Times of two traces are comparable only after adding each
// trace's Origin and [Meta.BaseTime].
type Time int64

// Sub returns the duration t−u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// Add returns t shifted by d.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// EventID identifies one stored event of a Trace. Ids are dense, grouped by
// lane, and the same for the same input and options; they mean nothing in
// another Trace.
type EventID int32

// NoEvent is the id of "no such event".
const NoEvent = EventID(-1)

// NameID identifies an interned text (event name, category, shape) of a Trace.
// Two events of one Trace have the same name exactly if their NameIDs are equal.
type NameID uint32

// NoName is the id of the empty text.
const NoName = NameID(0)

// DeviceID is the GPU's index as the profiler numbers it.
type DeviceID int32

// NoDevice says that an event belongs to no GPU or that its GPU is unknown.
const NoDevice = DeviceID(-1)

// StreamID is the GPU stream as the profiler names it. ROCm writes values up
// to 64-bit handles, so ids are neither small nor dense.
type StreamID int64

// NoStream says that an event belongs to no stream or that it is unknown.
const NoStream = StreamID(-1)

// CorrelationID pairs a launch with its activities within one process.
type CorrelationID uint64

// NoCorrelation says that the event carries no correlation (0 in the file).
const NoCorrelation = CorrelationID(0)

// ProcessID is an operating-system process id, as recorded.
type ProcessID int64

// ThreadID is an operating-system thread id, as recorded.
type ThreadID int64

// ThreadIndex is a thread's position in [Trace.Threads].
type ThreadIndex int32

// NoThread says that an event has no CPU thread.
const NoThread = ThreadIndex(-1)
