package trace

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/llmstrata/strata/internal/intern"
	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/internal/scan"
)

// worker is what one goroutine remembers between shards.
type worker struct {
	id      int // its number
	cfg     *config
	names   *intern.Table // raw contents of JSON strings; 0 is ""
	raws    *intern.Table // raw JSON and launch configurations; 0 is ""
	cats    []category
	catOf   map[string]int32
	catSlot [256]int32 // index into cats + 1
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
	kind uint8
	name uint32 // in worker.names when it must be stored per event, else 0
}

// newWorker returns a worker with empty tables.
func newWorker(id int, cfg *config) *worker {
	w := &worker{id: id, cfg: cfg, names: intern.New(), raws: intern.New(), catOf: map[string]int32{},
		threads: map[threadKey]int32{}, queues: map[queue]int32{}, scopes: map[string]uint16{"": 0}, lastThread: -1}
	w.names.StringID("")
	w.raws.StringID("")
	return w
}

// category returns the worker's number of a category.
func (s *shard) category(cat []byte) int32 {
	w := s.worker
	slot := byte(len(cat)) // the categories of PyTorch have slots of their own
	if len(cat) > 0 {
		slot ^= cat[0] ^ cat[len(cat)-1]
	}
	if i := w.catSlot[slot]; i > 0 && w.cats[i-1].text == string(cat) {
		return i - 1
	}
	i, ok := w.catOf[string(cat)]
	if !ok {
		c := category{text: textOf(cat)}
		c.kind = kind.OfCategory(c.text)
		if c.text != kind.Category(c.kind) {
			c.name = s.name(cat)
		}
		i = int32(len(w.cats))
		w.cats = append(w.cats, c)
		w.catOf[string(cat)] = i
		s.fresh.categories = append(s.fresh.categories, c.text)
	}
	w.catSlot[slot] = i + 1
	return i
}

// textOf returns the text of the raw contents of a JSON string.
func textOf(raw []byte) string {
	if scan.IsPlain(raw) {
		return string(raw)
	}
	return string(scan.AppendText(nil, raw))
}

// name numbers the raw contents of a JSON string.
func (s *shard) name(raw []byte) uint32 {
	id, isNew := s.worker.names.ID(raw)
	if isNew {
		f := jsonText{text: s.worker.names.Key(id)}
		if !scan.IsPlain(raw) {
			f.text = string(scan.AppendText(nil, raw))
			f.repaired = !utf8.Valid(raw)
		}
		for _, c := range raw {
			f.repaired = f.repaired || c < ' '
		}
		s.fresh.names = append(s.fresh.names, f)
		s.fresh.bytes += int64(len(f.text))
	}
	return id
}

// raw numbers bytes that are kept as they are.
func (s *shard) raw(b []byte) uint32 {
	id, isNew := s.worker.raws.ID(b)
	if isNew {
		s.fresh.raws = append(s.fresh.raws, s.worker.raws.Key(id))
		s.fresh.bytes += int64(len(b))
	}
	return id
}

// launchConfig numbers "gx,gy,gz|bx,by,bz".
func (s *shard) launchConfig(ev *scan.Event) uint32 {
	b := s.worker.scratch[:0]
	b = appendNumbers(b, ev.Grid)
	b = append(b, '|')
	if ev.Has.Any(scan.HasBlock) {
		b = appendNumbers(b, ev.Block)
	}
	s.worker.scratch = b
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
	w := s.worker
	pid, tid := ev.PID, ev.TID
	if !ev.Has.Any(scan.HasPID) {
		pid = scan.Ident{}
	}
	if !ev.Has.Any(scan.HasTID) {
		tid = scan.Ident{}
	}
	plain := pid.Text == nil && tid.Text == nil
	if plain && w.lastThread >= 0 && pid.Num == w.lastPID && tid.Num == w.lastTID {
		return w.lastThread
	}
	k := threadOf(pid, tid)
	id, ok := w.threads[k]
	if !ok {
		id = int32(len(w.threads))
		w.threads[k] = id
		s.fresh.threads = append(s.fresh.threads, k)
	}
	if plain {
		w.lastPID, w.lastTID, w.lastThread = pid.Num, tid.Num, id
	}
	return id
}

func threadOf(pid, tid scan.Ident) threadKey {
	return threadKey{processOf(pid), tid.Num, textOf(tid.Text)}
}

func processOf(pid scan.Ident) procKey {
	return procKey{pid.Num, textOf(pid.Text)}
}

// queue returns the device and stream of an activity: its args, or where they
// are missing the pid and tid, which is how old files have it.
func (s *shard) queue(ev *scan.Event) int32 {
	q := queue{None, None}
	if ev.Has.Any(scan.HasDevice) {
		q.device = deviceOf(ev.Device)
	} else if ev.Has.Any(scan.HasPID) && ev.PID.Text == nil {
		q.device = deviceOf(ev.PID.Num)
	}
	if ev.Has.Any(scan.HasStream) {
		// A missing stream is written as −1, unsigned in some versions.
		if q.stream = StreamID(ev.Stream); ev.Stream == math.MaxUint32 {
			q.stream = None
		}
	} else if ev.Has.Any(scan.HasTID) {
		q.stream = streamOf(ev.TID)
	}
	id, ok := s.worker.queues[q]
	if !ok {
		id = int32(len(s.worker.queues))
		s.worker.queues[q] = id
		s.fresh.queues = append(s.fresh.queues, q)
	}
	return id
}

// deviceOf makes an id of a GPU of a number in a file, None of one that cannot be.
func deviceOf(n int64) DeviceID {
	if n < 0 || n > math.MaxInt32 {
		return None
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
	return None
}

// scope numbers the part of a pid that separates the merged files:
// "[TP00-DP00] 83" is process 83 of the rank in brackets.
func (s *shard) scope(pid []byte) uint16 {
	label := rankLabel(pid)
	id, ok := s.worker.scopes[string(label)]
	if !ok {
		if len(s.worker.scopes) >= math.MaxUint16 {
			return 0
		}
		id = uint16(len(s.worker.scopes))
		s.worker.scopes[string(label)] = id
		s.fresh.scopes = append(s.fresh.scopes, string(label))
	}
	return id
}

func rankLabel(pid []byte) []byte {
	if !bytes.HasPrefix(pid, []byte("[")) {
		return nil
	}
	return pid[:bytes.IndexByte(pid, ']')+1]
}
