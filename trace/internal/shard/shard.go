package shard

import (
	"math"

	"github.com/llmstrata/strata/internal/intern"
	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/internal/column"
)

// None says that there is no device, stream or thread.
const None = -1

// Config says what is stored.
type Config struct {
	Wants, Args [kind.Kinds]bool // kinds to store, and those whose args are kept
}

// Worker is what one goroutine remembers between shards.
type Worker struct {
	ID      int // its number
	cfg     *Config
	names   *intern.Table // raw contents of JSON strings; 0 is ""
	raws    *intern.Table // raw JSON and launch configurations; 0 is ""
	cats    []category
	catOf   map[string]int32
	catSlot [256]int32 // index into cats + 1
	threads map[Thread]int32
	queues  map[Queue]int32
	scopes  map[string]uint16
	scratch []byte

	// The last thread looked up, which is nearly always the next one too.
	lastPID, lastTID int64
	lastThread       int32
}

type category struct {
	text string
	kind uint8
	name uint32 // in Worker.names when it must be stored per event, else 0
}

// NewWorker returns a worker with empty tables.
func NewWorker(id int, cfg *Config) *Worker {
	w := &Worker{ID: id, cfg: cfg, names: intern.New(), raws: intern.New(), catOf: map[string]int32{},
		threads: map[Thread]int32{}, queues: map[Queue]int32{}, scopes: map[string]uint16{"": 0}, lastThread: -1}
	w.names.StringID("")
	w.raws.StringID("")
	return w
}

// Process is a process of the file.
type Process struct {
	ID    int64  // 0 where the pid is text
	Label string // the pid where it is text
}

// Thread is a thread of the file.
type Thread struct {
	Process Process // that it is of
	ID      int64   // 0 where the tid is text
	Label   string  // the tid where it is text
}

// Queue is a stream of a device, each [None] where it is not known.
type Queue struct {
	Device int32 // the GPU
	Stream int64 // as the profiler names it
}

// Shard holds the events of one piece of the file, in a worker's numbers.
type Shard struct {
	Worker  *Worker                    // whose numbers these are
	Lanes   [kind.Lanes]column.Columns // complete events
	Counts  []PhaseCounts              // by category
	Others  map[[2]string]int64        // of rare phases, by phase and category
	MinRaw  int64                      // the earliest time
	Rank    Rank                       // of collectives
	Lost    []Loss                     // a reason each
	Labels  []Label                    // names of processes and threads
	Pairs   []Half                     // of B/E pairs
	Samples []Plain                    // of counters
	Flows   []Flow                     // after events without a correlation
	Fresh   Fresh                      // what the worker had not seen before

	correlated bool // the last complete event has a correlation: its flow says no more
}

// Flow is one end of an arrow from a launch to its activity.
type Flow struct {
	ID       uint64 // both ends have the same
	Start    int64  // raw ns, of the event that it belongs to
	PID, TID int64  // where that event is
	Finish   bool   // the end at the activity
}

// Fresh is what is new in a worker's tables, in the order of its numbers.
type Fresh struct {
	Names      []Name   // texts of JSON strings
	Raws       []string // raw JSON, launch configurations
	Threads    []Thread // new threads
	Queues     []Queue  // new queues
	Scopes     []string // process scopes
	Categories []string // new categories
	Bytes      int64    // of texts
}

// Name is the text of a JSON string.
type Name struct {
	Text     string // escapes resolved
	Repaired bool   // invalid UTF-8 or control characters
}

// Loss counts what was lost for one reason.
type Loss struct {
	Reason  event.Loss // one of the constants
	Count   int64      // how often
	Offsets []int64    // the first few, bytes of the input
}

// MaxOffsets is how many offsets of one reason are kept.
const MaxOffsets = 8

func (s *Shard) lose(reason event.Loss, offset int64) {
	i := 0
	for i < len(s.Lost) && s.Lost[i].Reason != reason {
		i++
	}
	if i == len(s.Lost) {
		s.Lost = append(s.Lost, Loss{Reason: reason})
	}
	l := &s.Lost[i]
	if l.Count++; offset >= 0 && len(l.Offsets) < MaxOffsets {
		l.Offsets = append(l.Offsets, offset)
	}
}

// Rank is the rank that collectives carry in their args, if they agree.
type Rank struct {
	Rank  int  // the last one seen
	Any   bool // one was seen
	Mixed bool // they do not agree
}

// See takes the rank of one collective.
func (r *Rank) See(rank int) {
	r.Mixed = r.Mixed || r.Any && r.Rank != rank
	r.Rank, r.Any = rank, true
}

// Label is a process_name or thread_name row.
type Label struct {
	Process bool   // it names a process
	Key     Thread // what it names
	Text    string // the name
}

// Half is one half of a B/E pair. They are rare in GPU traces.
type Half struct {
	Begin  bool  // of phase B
	Offset int64 // byte of the input
	Data   Plain // what it says
}

// Plain is an event that is too rare for columns.
type Plain struct {
	Kind           uint8   // see package kind
	Category, Name string  // as written
	Start          int64   // raw ns
	Thread         Thread  // where it ran
	Scope          string  // of the correlation
	Device         int32   // the GPU, or None
	Stream         int64   // or None
	Correlation    uint64  // 0: none
	ExternalID     uint64  // 0: none
	Args           []byte  // raw, where they are kept
	Value          float64 // of a counter
}

// PhaseCounts counts the events of one category by phase: those of Phases[i] at
// i+1.
type PhaseCounts [len(Phases) + 1]int64

// Phases are the phases of the trace event format that are counted in an array;
// others are counted in a map.
const Phases = "XisftMBEbenCINR"

var phaseSlot = func() (t [256]uint8) {
	for i, c := range []byte(Phases) {
		t[c] = uint8(i) + 1
	}
	return
}()

// New returns an empty shard of a worker.
func New(w *Worker) *Shard {
	return &Shard{Worker: w, Others: map[[2]string]int64{}, MinRaw: math.MaxInt64}
}

// Reset empties the shard and keeps its memory.
func (s *Shard) Reset() {
	for l := range s.Lanes {
		s.Lanes[l].Truncate()
	}
	clear(s.Counts)
	clear(s.Others)
	s.MinRaw = math.MaxInt64
	s.Rank = Rank{}
	s.Lost = s.Lost[:0]
	s.Labels, s.Pairs, s.Samples, s.Flows = s.Labels[:0], s.Pairs[:0], s.Samples[:0], s.Flows[:0]
	s.correlated = false
	f := &s.Fresh
	f.Names, f.Raws, f.Threads = f.Names[:0], f.Raws[:0], f.Threads[:0]
	f.Queues, f.Scopes, f.Categories = f.Queues[:0], f.Scopes[:0], f.Categories[:0]
	f.Bytes = 0
}
