package trace

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/llmstrata/strata/internal/intern"
	"github.com/llmstrata/strata/internal/scan"

	"github.com/llmstrata/strata/trace/internal/column"
)

// NOTE: loading in parallel. Each worker of scan.Parallel numbers names,
// threads and queues for itself, in tables that live as long as the load, and
// writes events into the columns of a shard, one shard per piece of the file.
// The sink (sink.go) takes shards in file order, translates a worker's numbers
// into the Builder's, and appends. Numbers of the Builder are given in the order
// of the committed rows, so neither ids nor anything else depends on which
// worker read what.
//
// A worker's tables are only touched by that worker; what is new in them
// travels in the shard (fresh*), because the sink runs beside the workers.

// worker is what one goroutine remembers between shards.
type worker struct {
	id      int
	cfg     *config
	names   *intern.Table // raw contents of JSON strings; 0 is ""
	raws    *intern.Table // raw JSON and launch configurations; 0 is ""
	cats    []category
	catOf   map[string]int32
	catSlot [64]int32 // index into cats + 1
	threads map[threadKey]int32
	queues  map[queue]int32
	scopes  map[string]uint16
	scratch []byte

	// The last thread looked up, which is nearly always the next one too.
	lastPID, lastTID int64
	lastThread       int32
}

type category struct {
	text string
	kind Kind
	name uint32 // in worker.names when it must be stored per event, else 0
}

func newWorker(id int, cfg *config) *worker {
	w := &worker{id: id, cfg: cfg, names: intern.New(), raws: intern.New(), catOf: map[string]int32{},
		threads: map[threadKey]int32{}, queues: map[queue]int32{}, scopes: map[string]uint16{"": 0}, lastThread: -1}
	w.names.StringID("")
	w.raws.StringID("")
	return w
}

// shard holds the events of one piece of the file, in a worker's numbers.
type shard struct {
	w      *worker
	lanes  [laneCount]column.Columns
	counts []phaseCounts // by category
	others map[[2]string]int64
	minRaw int64
	rank   seenRank
	losses losses
	labels []label
	pairs  []pairEvent
	rare   []EventData // counters

	freshNames   []freshName
	freshRaws    []string
	freshThreads []threadKey
	freshQueues  []queue
	freshScopes  []string
	freshCats    []string
	freshBytes   int64 // of texts
}

// freshName is the text of a name new to the worker.
type freshName struct {
	text     string
	repaired bool // invalid UTF-8 or control characters
}

// seenRank is the rank that collectives carry in their args, if they agree.
type seenRank struct {
	rank       int
	any, mixed bool
}

func (r *seenRank) see(rank int) {
	r.mixed = r.mixed || r.any && r.rank != rank
	r.rank, r.any = rank, true
}

// label is a process_name or thread_name row.
type label struct {
	process bool
	key     threadKey
	text    string
}

// pairEvent is one half of a B/E pair. They are rare in GPU traces.
type pairEvent struct {
	begin  bool
	offset int64
	data   EventData
}

// phaseCounts counts the events of one category by phase (see phaseSlot).
type phaseCounts [len(phaseLetters) + 1]int64

// phaseLetters are the phases of the trace event format that are counted in
// an array; others are counted in a map.
const phaseLetters = "XisftMBEbenCINR"

var phaseSlot = func() (t [256]uint8) {
	for i, c := range []byte(phaseLetters) {
		t[c] = uint8(i) + 1
	}
	return
}()

func newShard(w *worker) *shard {
	return &shard{w: w, others: map[[2]string]int64{}, minRaw: math.MaxInt64}
}

func (s *shard) reset() {
	for l := range s.lanes {
		s.lanes[l].Truncate()
	}
	clear(s.counts)
	clear(s.others)
	s.minRaw = math.MaxInt64
	s.rank = seenRank{}
	s.losses.list = s.losses.list[:0]
	s.labels, s.pairs, s.rare = s.labels[:0], s.pairs[:0], s.rare[:0]
	s.freshNames, s.freshRaws, s.freshThreads = s.freshNames[:0], s.freshRaws[:0], s.freshThreads[:0]
	s.freshQueues, s.freshScopes, s.freshCats = s.freshQueues[:0], s.freshScopes[:0], s.freshCats[:0]
	s.freshBytes = 0
}

// Event implements scan.Shard.
func (s *shard) Event(ev *scan.Event) {
	var cat []byte
	if ev.Has&scan.HasCat != 0 {
		cat = ev.Cat
	}
	ci := s.category(cat)
	for int(ci) >= len(s.counts) {
		s.counts = append(s.counts, phaseCounts{})
	}
	if slot := phaseSlot[ev.Phase]; slot != 0 {
		s.counts[ci][slot]++
	} else {
		s.others[[2]string{string(rune(ev.Phase)), s.w.cats[ci].text}]++
	}
	switch ev.Phase {
	case 'X':
		s.complete(ev, &s.w.cats[ci])
	case 'M':
		s.metadata(ev)
	case 'B', 'E':
		s.see(ev)
		s.half(ev, &s.w.cats[ci])
	case 'C':
		s.see(ev)
		s.counter(ev)
	default:
		s.see(ev)
	}
}

func (s *shard) see(ev *scan.Event) {
	if ev.Has&scan.HasTS != 0 && ev.TS < s.minRaw && plausibleTime(ev.TS, 0) {
		s.minRaw = ev.TS
	}
}

// complete stores an event of phase X. One function: a column a line, once for
// each event of the file.
func (s *shard) complete(ev *scan.Event, cat *category) {
	w := s.w
	kind := cat.kind
	if ev.Has&scan.HasName == 0 {
		ev.Name = nil
	}
	if kind == KindFrame && isModule(ev.Name) {
		kind = KindModule
	}
	lane := laneOfKind[kind]
	if ev.Has&scan.HasTS == 0 {
		s.losses.add(LossBadTime, ev.Offset)
		return
	}
	dur := ev.Dur
	if ev.Has&scan.HasDur == 0 {
		dur = 0
		if ev.Has&scan.HasBadDur == 0 { // which was counted when it was read
			s.losses.add(lossNoDuration, ev.Offset)
		}
	}
	switch {
	case dur < 0:
		s.losses.add(lossNegativeDuration, ev.Offset)
		return
	case lane == LaneGPU && ev.TS == 0 && dur == 0:
		s.losses.add(lossNotCollected, ev.Offset)
		return
	case !plausibleTime(ev.TS, dur):
		s.losses.add(LossBadTime, ev.Offset)
		return
	}
	if ev.TS < s.minRaw {
		s.minRaw = ev.TS
	}
	if ev.Has&scan.HasRank != 0 && ev.Rank >= 0 && ev.Rank <= math.MaxInt32 {
		s.rank.see(int(ev.Rank))
	}
	if !w.cfg.wants(kind) || w.cfg.window && (ev.TS >= w.cfg.to || ev.TS+dur < w.cfg.from) {
		return
	}
	c := &s.lanes[lane]
	i := len(c.Start)
	c.Start = append(c.Start, ev.TS)
	c.Dur = append(c.Dur, dur)
	c.Name = append(c.Name, s.name(ev.Name))
	c.Kind = append(c.Kind, uint8(kind))
	if kind == KindSync {
		foldSyncThread(ev)
	}
	switch lane {
	case LaneGPU:
		c.Queue = append(c.Queue, s.queue(ev))
		if ev.Has&scan.HasGrid != 0 {
			c.Shape.Set(i, s.launchConfig(ev))
		}
	default:
		th := int32(NoThread)
		if kind != KindGPUAnnotation {
			th = s.thread(ev)
		}
		c.Thread = append(c.Thread, th)
		if kind == KindGPUAnnotation || kind == KindSync {
			c.AnnQueue.Set(i, s.queue(ev)+1)
		}
		if lane == LaneOp && ev.Has&scan.HasDims != 0 {
			c.Shape.Set(i, s.raw(ev.Dims))
		}
		if lane == LaneOp && ev.Has&scan.HasStack != 0 && len(ev.Stack) > 0 {
			c.Domain.Set(i, s.name(ev.Stack))
		}
	}
	if cat.name != 0 {
		c.Cat.Set(i, cat.name)
	}
	if ev.Has&(scan.HasCorrelation|scan.HasExternalID|scan.HasBytes) != 0 {
		if ev.Has&scan.HasCorrelation != 0 {
			c.Corr.Set(i, uint64(ev.Correlation))
		}
		if ev.Has&scan.HasExternalID != 0 {
			c.Ext.Set(i, uint64(ev.ExternalID))
		}
		if ev.Has&scan.HasBytes != 0 {
			c.Bytes.Set(i, ev.Bytes)
		}
	}
	if lane == LaneGPU && ev.Has&(scan.HasGraphID|scan.HasGraphNode|scan.HasUnfinished) != 0 {
		if ev.Has&scan.HasUnfinished != 0 {
			c.Unended.Set(i, 1)
		}
		if ev.Has&scan.HasGraphID != 0 {
			c.Graph.Set(i, uint64(ev.GraphID))
		}
		if ev.Has&scan.HasGraphNode != 0 {
			c.Node.Set(i, uint64(ev.GraphNode))
		}
	}
	if w.cfg.args[kind] && ev.Has&scan.HasArgs != 0 {
		c.Args.Set(i, s.raw(ev.Args))
	}
	if ev.Has&scan.HasPID != 0 && ev.PID.Text != nil {
		c.Scope.Set(i, s.scope(ev.PID.Text))
	}
}

func isModule(name []byte) bool {
	return len(name) > len(modulePrefix) && string(name[:len(modulePrefix)]) == modulePrefix
}

// category returns the worker's number of a category.
func (s *shard) category(cat []byte) int32 {
	w := s.w
	slot := 0
	if n := len(cat); n > 0 {
		slot = (n*7 ^ int(cat[0]) ^ int(cat[n-1])<<2) & (len(w.catSlot) - 1)
	}
	if i := w.catSlot[slot]; i > 0 && w.cats[i-1].text == string(cat) {
		return i - 1
	}
	i, ok := w.catOf[string(cat)]
	if !ok {
		c := category{text: text(cat)}
		c.kind = KindOf(c.text, "")
		if c.text != defaultCategory[c.kind] {
			c.name = s.name(cat)
		}
		i = int32(len(w.cats))
		w.cats = append(w.cats, c)
		w.catOf[string(cat)] = i
		s.freshCats = append(s.freshCats, c.text)
	}
	w.catSlot[slot] = i + 1
	return i
}

func text(raw []byte) string {
	if scan.IsPlain(raw) {
		return string(raw)
	}
	return string(scan.AppendText(nil, raw))
}

// name numbers the raw contents of a JSON string.
func (s *shard) name(raw []byte) uint32 {
	id, isNew := s.w.names.ID(raw)
	if isNew {
		f := freshName{text: s.w.names.Key(id)}
		if !scan.IsPlain(raw) {
			f.text = string(scan.AppendText(nil, raw))
			f.repaired = !utf8.Valid(raw)
		}
		for _, c := range raw {
			f.repaired = f.repaired || c < ' '
		}
		s.freshNames = append(s.freshNames, f)
		s.freshBytes += int64(len(f.text))
	}
	return id
}

// raw numbers bytes that are kept as they are.
func (s *shard) raw(b []byte) uint32 {
	id, isNew := s.w.raws.ID(b)
	if isNew {
		s.freshRaws = append(s.freshRaws, s.w.raws.Key(id))
		s.freshBytes += int64(len(b))
	}
	return id
}

// launchConfig numbers "gx,gy,gz|bx,by,bz".
func (s *shard) launchConfig(ev *scan.Event) uint32 {
	b := s.w.scratch[:0]
	b = appendNumbers(b, ev.Grid)
	b = append(b, '|')
	if ev.Has&scan.HasBlock != 0 {
		b = appendNumbers(b, ev.Block)
	}
	s.w.scratch = b
	return s.raw(b)
}

// appendNumbers appends a JSON array of numbers without brackets and spaces.
func appendNumbers(dst, array []byte) []byte {
	for _, c := range array {
		if c > ' ' && c != '[' && c != ']' {
			dst = append(dst, c)
		}
	}
	return dst
}

func (s *shard) thread(ev *scan.Event) int32 {
	w := s.w
	pid, tid := ev.PID, ev.TID
	if ev.Has&scan.HasPID == 0 {
		pid = scan.Ident{}
	}
	if ev.Has&scan.HasTID == 0 {
		tid = scan.Ident{}
	}
	plain := pid.Text == nil && tid.Text == nil
	if plain && w.lastThread >= 0 && pid.Num == w.lastPID && tid.Num == w.lastTID {
		return w.lastThread
	}
	k := makeThreadKey(pid, tid)
	id, ok := w.threads[k]
	if !ok {
		id = int32(len(w.threads))
		w.threads[k] = id
		s.freshThreads = append(s.freshThreads, k)
	}
	if plain {
		w.lastPID, w.lastTID, w.lastThread = pid.Num, tid.Num, id
	}
	return id
}

// syncThreadOffset is what Kineto adds to a stream to get the tid of the row
// that shows the stream's synchronisations.
const syncThreadOffset = 1_000_000

// foldSyncThread undoes that, where the stream in args, if there is one,
// confirms it: thread ids of the operating system can be larger than that too.
func foldSyncThread(ev *scan.Event) {
	n := ev.TID.Num - syncThreadOffset
	if ev.Has&scan.HasTID != 0 && ev.TID.Text == nil && n >= 0 && (ev.Has&scan.HasStream == 0 || ev.Stream == n) {
		ev.TID.Num = n
	}
}

func makeThreadKey(pid, tid scan.Ident) threadKey {
	return threadKey{makeProcKey(pid), ThreadID(tid.Num), text(tid.Text)}
}

func makeProcKey(pid scan.Ident) procKey {
	return procKey{ProcessID(pid.Num), text(pid.Text)}
}

// queue returns the device and stream of an activity: its args, or where they
// are missing the pid and tid, which is how old files have it.
func (s *shard) queue(ev *scan.Event) int32 {
	q := queue{NoDevice, NoStream}
	if ev.Has&scan.HasDevice != 0 {
		q.device = deviceID(ev.Device)
	} else if ev.Has&scan.HasPID != 0 && ev.PID.Text == nil {
		q.device = deviceID(ev.PID.Num)
	}
	if ev.Has&scan.HasStream != 0 {
		// A missing stream is written as −1, unsigned in some versions.
		if q.stream = StreamID(ev.Stream); ev.Stream == math.MaxUint32 {
			q.stream = NoStream
		}
	} else if ev.Has&scan.HasTID != 0 {
		q.stream = streamOf(ev.TID)
	}
	id, ok := s.w.queues[q]
	if !ok {
		id = int32(len(s.w.queues))
		s.w.queues[q] = id
		s.freshQueues = append(s.freshQueues, q)
	}
	return id
}

func deviceID(n int64) DeviceID {
	if n < 0 || n > math.MaxInt32 {
		return NoDevice
	}
	return DeviceID(n)
}

// streamOf reads a stream from a tid: a number, or "stream 7".
func streamOf(tid scan.Ident) StreamID {
	if tid.Text == nil {
		return StreamID(tid.Num)
	}
	if rest, ok := bytes.CutPrefix(tid.Text, []byte("stream ")); ok {
		if n, err := strconv.ParseInt(string(rest), 10, 64); err == nil {
			return StreamID(n)
		}
	}
	return NoStream
}

// scope numbers the part of a pid that tells the merged files apart:
// "[TP00-DP00] 83" is process 83 of the rank in brackets.
func (s *shard) scope(pid []byte) uint16 {
	label := rankLabel(pid)
	id, ok := s.w.scopes[string(label)]
	if !ok {
		if len(s.w.scopes) >= math.MaxUint16 {
			return 0
		}
		id = uint16(len(s.w.scopes))
		s.w.scopes[string(label)] = id
		s.freshScopes = append(s.freshScopes, string(label))
	}
	return id
}

func rankLabel(pid []byte) []byte {
	if len(pid) > 0 && pid[0] == '[' {
		if end := bytes.IndexByte(pid, ']'); end > 0 {
			return pid[:end+1]
		}
	}
	return nil
}

// metadata keeps process and thread names.
func (s *shard) metadata(ev *scan.Event) {
	if ev.Has&(scan.HasName|scan.HasArgs|scan.HasPID) != scan.HasName|scan.HasArgs|scan.HasPID {
		return
	}
	process := string(ev.Name) == "process_name"
	if !process && string(ev.Name) != "thread_name" {
		return
	}
	var args struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(ev.Args, &args) != nil {
		return
	}
	l := label{process: process, text: args.Name, key: threadKey{proc: makeProcKey(ev.PID)}}
	if !process {
		if ev.Has&scan.HasTID == 0 {
			return
		}
		l.key = makeThreadKey(ev.PID, ev.TID)
	}
	s.labels = append(s.labels, l)
}

// half keeps one half of a B/E pair for the sink, which sees both.
func (s *shard) half(ev *scan.Event, cat *category) {
	if ev.Has&scan.HasTS == 0 {
		s.losses.add(LossBadTime, ev.Offset)
		return
	}
	if ev.Has&scan.HasName == 0 {
		ev.Name = nil
	}
	// Numbered like any name, so that it is kept once however often it comes.
	name := s.w.names.Key(s.name(ev.Name))
	if !scan.IsPlain(ev.Name) {
		name = text(ev.Name)
	}
	if ev.Has&scan.HasPID == 0 {
		ev.PID = scan.Ident{}
	}
	if ev.Has&scan.HasTID == 0 {
		ev.TID = scan.Ident{}
	}
	k := makeThreadKey(ev.PID, ev.TID)
	d := EventData{Kind: KindOf(cat.text, name), Category: cat.text, Name: name, Start: ev.TS,
		Process: ProcessRef{ID: k.proc.id, Label: k.proc.label, Scope: string(rankLabel(ev.PID.Text))},
		Thread:  k.tid, Label: k.label, Device: NoDevice, Stream: NoStream}
	if ev.Has&scan.HasDevice != 0 {
		d.Device = deviceID(ev.Device)
	}
	if ev.Has&scan.HasStream != 0 {
		d.Stream = StreamID(ev.Stream)
	}
	if ev.Has&scan.HasCorrelation != 0 {
		d.Correlation = CorrelationID(ev.Correlation)
	}
	if ev.Has&scan.HasExternalID != 0 {
		d.ExternalID = uint64(ev.ExternalID)
	}
	if s.w.cfg.args[d.Kind] && ev.Has&scan.HasArgs != 0 {
		d.Args = bytes.Clone(ev.Args)
	}
	s.pairs = append(s.pairs, pairEvent{ev.Phase == 'B', ev.Offset, d})
}
