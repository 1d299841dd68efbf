package shard

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/internal/scan"
)

// category returns the worker's number of a category.
func (s *Shard) category(cat []byte) int32 {
	w := s.Worker
	slot := byte(len(cat)) // the categories of PyTorch have slots of their own
	if len(cat) > 0 {
		slot ^= cat[0] ^ cat[len(cat)-1]
	}
	if i := w.catSlot[slot]; i > 0 && w.cats[i-1].text == string(cat) {
		return i - 1
	}
	i, ok := w.catOf[string(cat)]
	if !ok {
		c := category{text: text(cat)}
		c.kind = kind.OfCategory(c.text)
		if c.text != kind.Category(c.kind) {
			c.name = s.name(cat)
		}
		i = int32(len(w.cats))
		w.cats = append(w.cats, c)
		w.catOf[string(cat)] = i
		s.Fresh.Categories = append(s.Fresh.Categories, c.text)
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
func (s *Shard) name(raw []byte) uint32 {
	id, isNew := s.Worker.names.ID(raw)
	if isNew {
		f := Name{Text: s.Worker.names.Key(id)}
		if !scan.IsPlain(raw) {
			f.Text = string(scan.AppendText(nil, raw))
			f.Repaired = !utf8.Valid(raw)
		}
		for _, c := range raw {
			f.Repaired = f.Repaired || c < ' '
		}
		s.Fresh.Names = append(s.Fresh.Names, f)
		s.Fresh.Bytes += int64(len(f.Text))
	}
	return id
}

// raw numbers bytes that are kept as they are.
func (s *Shard) raw(b []byte) uint32 {
	id, isNew := s.Worker.raws.ID(b)
	if isNew {
		s.Fresh.Raws = append(s.Fresh.Raws, s.Worker.raws.Key(id))
		s.Fresh.Bytes += int64(len(b))
	}
	return id
}

// launchConfig numbers "gx,gy,gz|bx,by,bz".
func (s *Shard) launchConfig(ev *scan.Event) uint32 {
	b := s.Worker.scratch[:0]
	b = appendNumbers(b, ev.Grid)
	b = append(b, '|')
	if ev.Has.Any(scan.HasBlock) {
		b = appendNumbers(b, ev.Block)
	}
	s.Worker.scratch = b
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

func (s *Shard) thread(ev *scan.Event) int32 {
	w := s.Worker
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
		s.Fresh.Threads = append(s.Fresh.Threads, k)
	}
	if plain {
		w.lastPID, w.lastTID, w.lastThread = pid.Num, tid.Num, id
	}
	return id
}

func threadOf(pid, tid scan.Ident) Thread {
	return Thread{processOf(pid), tid.Num, text(tid.Text)}
}

func processOf(pid scan.Ident) Process {
	return Process{pid.Num, text(pid.Text)}
}

// queue returns the device and stream of an activity: its args, or where they
// are missing the pid and tid, which is how old files have it.
func (s *Shard) queue(ev *scan.Event) int32 {
	q := Queue{None, None}
	if ev.Has.Any(scan.HasDevice) {
		q.Device = Device(ev.Device)
	} else if ev.Has.Any(scan.HasPID) && ev.PID.Text == nil {
		q.Device = Device(ev.PID.Num)
	}
	if ev.Has.Any(scan.HasStream) {
		// A missing stream is written as −1, unsigned in some versions.
		if q.Stream = ev.Stream; ev.Stream == math.MaxUint32 {
			q.Stream = None
		}
	} else if ev.Has.Any(scan.HasTID) {
		q.Stream = streamOf(ev.TID)
	}
	id, ok := s.Worker.queues[q]
	if !ok {
		id = int32(len(s.Worker.queues))
		s.Worker.queues[q] = id
		s.Fresh.Queues = append(s.Fresh.Queues, q)
	}
	return id
}

// Device makes an id of a GPU of a number in a file, None of one that cannot be.
func Device(n int64) int32 {
	if n < 0 || n > math.MaxInt32 {
		return None
	}
	return int32(n)
}

// streamOf reads a stream from a tid: a number, or "stream 7".
func streamOf(tid scan.Ident) int64 {
	if tid.Text == nil {
		return tid.Num
	}
	if rest, ok := bytes.CutPrefix(tid.Text, []byte("stream ")); ok {
		if n, err := strconv.ParseInt(string(rest), 10, 64); err == nil {
			return n
		}
	}
	return None
}

// scope numbers the part of a pid that separates the merged files:
// "[TP00-DP00] 83" is process 83 of the rank in brackets.
func (s *Shard) scope(pid []byte) uint16 {
	label := rankLabel(pid)
	id, ok := s.Worker.scopes[string(label)]
	if !ok {
		if len(s.Worker.scopes) >= math.MaxUint16 {
			return 0
		}
		id = uint16(len(s.Worker.scopes))
		s.Worker.scopes[string(label)] = id
		s.Fresh.Scopes = append(s.Fresh.Scopes, string(label))
	}
	return id
}

func rankLabel(pid []byte) []byte {
	if !bytes.HasPrefix(pid, []byte("[")) {
		return nil
	}
	return pid[:bytes.IndexByte(pid, ']')+1]
}
