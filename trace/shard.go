package trace

import (
	"math"

	"github.com/llmstrata/strata/trace/internal/column"
)

// NOTE: each worker of scan.Parallel numbers names, threads and queues for
// itself, in tables that live as long as the load, and writes events into the
// columns of a shard, one shard per piece of the file. The sink commits the shards,
// in file order: it translates a worker's numbers into those of the trace and
// appends. Numbers of the trace are given in the order of the committed rows, so
// neither ids nor anything else depends on which worker read what.
//
// A worker's tables are only touched by that worker; what is new in them travels in
// the shard, because the sink runs beside the workers.

// shard holds the events of one piece of a Kineto file, in a worker's numbers.
type shard struct {
	worker  *worker                   // whose numbers these are
	lanes   [laneCount]column.Columns // complete events
	counts  []phaseCounts             // by category
	others  map[[2]string]int64       // of rare phases, by phase and category
	minRaw  int64                     // the earliest time
	rank    collectiveRank
	losses  losses
	labels  []rowName   // of processes and threads
	pairs   []half      // of B/E pairs
	samples []EventData // of counters
	flows   []flow      // after events without a correlation
	fresh   fresh       // what the worker had not seen before

	correlated bool // the last complete event has a correlation: its flow says no more
}

// flow is one end of an arrow from a launch to its activity.
type flow struct {
	id       uint64 // both ends have the same
	start    int64  // raw ns, of the event that it belongs to
	pid, tid int64  // where that event is
	finish   bool   // the end at the activity
}

// fresh is what is new in a worker's tables, in the order of its numbers.
type fresh struct {
	names      []jsonText
	raws       []string // raw JSON, launch configurations
	threads    []threadKey
	queues     []queue
	scopes     []string
	categories []string
	bytes      int64 // of texts
}

// jsonText is the text of a JSON string.
type jsonText struct {
	text     string // escapes resolved
	repaired bool   // invalid UTF-8 or control characters
}

// collectiveRank is the rank that collectives carry in their args, if they agree.
type collectiveRank struct {
	rank  int  // the last one seen
	seen  bool // there is one
	mixed bool // they do not agree
}

// see takes the rank of one collective.
func (r *collectiveRank) see(rank int) {
	r.mixed = r.mixed || r.seen && r.rank != rank
	r.rank, r.seen = rank, true
}

// rowName is a process_name or thread_name row.
type rowName struct {
	process bool      // it names a process
	thread  threadKey // what it names, or a thread of it
	text    string
}

// half is one half of a B/E pair. They are rare in GPU traces.
type half struct {
	begin  bool  // of phase B
	offset int64 // byte of the input
	data   EventData
}

// phaseCounts counts the events of one category by phase: those of countedPhases[i]
// at i+1.
type phaseCounts [len(countedPhases) + 1]int64

// countedPhases are the phases of the trace event format that are counted in an
// array; others are counted in a map.
const countedPhases = "XisftMBEbenCINR"

var phaseSlot = func() (t [256]uint8) {
	for i, c := range []byte(countedPhases) {
		t[c] = uint8(i) + 1
	}
	return
}()

// newShard returns an empty shard of a worker.
func newShard(w *worker) *shard {
	return &shard{worker: w, others: map[[2]string]int64{}, minRaw: math.MaxInt64}
}

// reset empties the shard and keeps its memory.
func (s *shard) reset() {
	for l := range s.lanes {
		s.lanes[l].Truncate()
	}
	clear(s.counts)
	clear(s.others)
	s.minRaw = math.MaxInt64
	s.rank = collectiveRank{}
	s.losses.list = s.losses.list[:0]
	s.labels, s.pairs, s.samples, s.flows = s.labels[:0], s.pairs[:0], s.samples[:0], s.flows[:0]
	s.correlated = false
	f := &s.fresh
	f.names, f.raws, f.threads = f.names[:0], f.raws[:0], f.threads[:0]
	f.queues, f.scopes, f.categories = f.queues[:0], f.scopes[:0], f.categories[:0]
	f.bytes = 0
}
