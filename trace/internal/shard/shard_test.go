package shard

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/internal/scan"
	"github.com/llmstrata/strata/trace/event"
)

// newShard is a shard that stores all kinds and keeps no args.
func newShard(change func(*Config)) *Shard {
	cfg := &Config{}
	for k := range cfg.Wants {
		cfg.Wants[k] = true
	}
	if change != nil {
		change(cfg)
	}
	return New(NewWorker(0, cfg))
}

// complete is an event of phase X that lasts from 1000 to 1010 ns.
func complete(cat, name string) scan.Event {
	return scan.Event{Has: scan.HasTS | scan.HasDur | scan.HasCat | scan.HasName, Phase: 'X', Cat: []byte(cat),
		Name: []byte(name), TS: 1000, Dur: 10}
}

// TestFieldsCountWhereTheyAreGiven: scanners use one event again, so a field that an event does not have may hold
// what another one had.
func TestFieldsCountWhereTheyAreGiven(t *testing.T) {
	all := func(cat string) scan.Event {
		ev := complete(cat, "a")
		ev.PID, ev.TID = scan.Ident{Num: 3}, scan.Ident{Num: 4}
		ev.Correlation, ev.ExternalID, ev.Device, ev.Stream, ev.GraphID, ev.GraphNode, ev.Bytes, ev.Rank = 5, 6, 1, 7,
			8, 9, 10, 2
		ev.Grid, ev.Block, ev.Dims, ev.Stack, ev.Args = []byte("[1, 2]"), []byte("[3]"), []byte("[[4]]"), []byte("f"),
			[]byte("{}")
		return ev
	}
	row := func(s *Shard, lane int) string {
		c := &s.Lanes[lane]
		return fmt.Sprint(c.Corr.At(0), c.Ext.At(0), c.Graph.At(0), c.Node.At(0), c.Bytes.At(0), c.Shape.At(0),
			c.Domain.At(0), c.Args.At(0), c.Scope.At(0), s.Rank.Any, s.Fresh.Threads, s.Fresh.Queues)
	}
	args := func(c *Config) { c.Args[kind.Kernel], c.Args[kind.Op] = true, true }
	for _, tt := range []struct {
		cat, given, missing string
		lane                int
		shape               string
	}{
		{"kernel", "5 6 8 9 10 1 0 2 0 true [] [{1 7}]", "0 0 0 0 0 0 0 0 0 false [] [{-1 -1}]", kind.GPULane, "1,2|3"},
		{"cpu_op", "5 6 0 0 10 1 2 2 0 true [{{3 } 4 }] []", "0 0 0 0 0 0 0 0 0 false [{{0 } 0 }] []", kind.OpLane,
			"[[4]]"},
	} {
		s := newShard(args)
		ev := all(tt.cat)
		ev.Has |= scan.HasPID | scan.HasTID | scan.HasCorrelation | scan.HasExternalID | scan.HasDevice | scan.HasStream | scan.HasGraphID | scan.HasGraphNode |
			scan.HasBytes | scan.HasRank | scan.HasGrid | scan.HasBlock | scan.HasDims | scan.HasStack | scan.HasArgs
		s.Event(&ev)
		if got := row(s, tt.lane); got != tt.given || !slices.Contains(s.Fresh.Raws, tt.shape) {
			t.Errorf("%s with all fields: %s, raw texts %q; want %s and %q", tt.cat, got, s.Fresh.Raws, tt.given,
				tt.shape)
		}
		s = newShard(args)
		ev = all(tt.cat)
		s.Event(&ev)
		if got := row(s, tt.lane); got != tt.missing {
			t.Errorf("%s with none: %s, want %s", tt.cat, got, tt.missing)
		}
	}
}

// TestDurationsAndTimes: what is kept, and what is counted as lost for which reason.
func TestDurationsAndTimes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cat    string
		change func(*scan.Event)
		dur    int64 // −1: the event is not kept
		lost   event.Loss
	}{
		{"ordinary", "kernel", func(*scan.Event) {}, 10, ""},
		{"of no length", "kernel", func(e *scan.Event) { e.Dur = 0 }, 0, ""},
		{"negative", "kernel", func(e *scan.Event) { e.Dur = -1 }, -1, "negative-duration"},
		{"no duration", "kernel", func(e *scan.Event) { e.Has &^= scan.HasDur }, 0, "no-duration"},
		{"a duration that is no number", "kernel", func(e *scan.Event) { e.Has &^= scan.HasDur; e.Has |= scan.HasBadDur }, 0,
			""},
		{"no time", "kernel", func(e *scan.Event) { e.Has &^= scan.HasTS }, -1, "bad-time"},
		{"not collected", "kernel", func(e *scan.Event) { e.TS, e.Dur = 0, 0 }, -1, "not-collected"},
		{"at time 0", "kernel", func(e *scan.Event) { e.TS = 0 }, 10, ""},
		{"an op at time 0", "cpu_op", func(e *scan.Event) { e.TS, e.Dur = 0, 0 }, 0, ""},
		{"too long", "kernel", func(e *scan.Event) { e.Dur = math.MaxInt64 }, -1, "bad-time"},
	} {
		s := newShard(nil)
		ev := complete(tt.cat, "a")
		tt.change(&ev)
		s.Event(&ev)
		lost, dur := event.Loss(""), int64(-1)
		for _, l := range s.Lost {
			lost += l.Reason
		}
		for l := range s.Lanes {
			for _, d := range s.Lanes[l].Dur {
				dur = d
			}
		}
		if dur != tt.dur || lost != tt.lost {
			t.Errorf("%s: lasts %d, lost %q; want %d, %q", tt.name, dur, lost, tt.dur, tt.lost)
		}
	}
}

// TestThreadsOfSynchronisations: Kineto adds a million to a stream; other large ids are those of threads.
func TestThreadsOfSynchronisations(t *testing.T) {
	for _, tt := range []struct {
		name             string
		tid, stream, own int64
	}{
		{"stream 7", 1_000_007, 7, 7},
		{"stream 0", 1_000_000, 0, 0},
		{"no stream told", 1_000_007, None, 7},
		{"another stream", 1_000_007, 8, 1_000_007},
		{"a thread", 999_999, None, 999_999},
		{"a thread, and a stream", 999_999, 7, 999_999},
	} {
		s := newShard(nil)
		ev := complete("cuda_sync", "Stream Sync")
		ev.TID, ev.Stream = scan.Ident{Num: tt.tid}, tt.stream
		ev.Has |= scan.HasTID
		if tt.stream != None {
			ev.Has |= scan.HasStream
		}
		s.Event(&ev)
		if got := s.Fresh.Threads[0].ID; got != tt.own {
			t.Errorf("%s: thread %d is %d, want %d", tt.name, tt.tid, got, tt.own)
		}
	}
}

func TestQueuesOfActivities(t *testing.T) {
	const device, stream, pid, tid = scan.HasDevice, scan.HasStream, scan.HasPID, scan.HasTID
	for _, tt := range []struct {
		name     string
		has      scan.Has
		ev       scan.Event
		want     Queue
		elements int
	}{
		{"args", device | stream | pid | tid, scan.Event{Device: 2, Stream: 7, PID: scan.Ident{Num: 5},
			TID: scan.Ident{Num: 6}}, Queue{2, 7}, 1},
		{"rows of old files", pid | tid, scan.Event{PID: scan.Ident{Num: 0}, TID: scan.Ident{Text: []byte("stream 9")}},
			Queue{0, 9}, 1},
		{"numbers", pid | tid, scan.Event{PID: scan.Ident{Num: 5}, TID: scan.Ident{Num: 6}}, Queue{5, 6}, 1},
		{"texts", pid | tid, scan.Event{PID: scan.Ident{Text: []byte("p")}, TID: scan.Ident{Text: []byte("gpu")}},
			Queue{None, None}, 1},
		{"none", 0, scan.Event{}, Queue{None, None}, 1},
		{"unsigned", device | stream, scan.Event{Device: 0, Stream: math.MaxUint32}, Queue{0, None}, 1},
		{"next to it", device | stream, scan.Event{Device: 0, Stream: math.MaxUint32 - 1}, Queue{0, math.MaxUint32 - 1},
			1},
		{"no such device", device, scan.Event{Device: -1}, Queue{None, None}, 1},
		{"the highest device", device, scan.Event{Device: math.MaxInt32}, Queue{math.MaxInt32, None}, 1},
		{"beyond it", device, scan.Event{Device: math.MaxInt32 + 1}, Queue{None, None}, 1},
	} {
		s := newShard(nil)
		ev := tt.ev
		ev.Has = tt.has
		if id := s.queue(&ev); id != 0 || s.Fresh.Queues[id] != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, s.Fresh.Queues[id], tt.want)
		}
		if id := s.queue(&ev); id != 0 || len(s.Fresh.Queues) != tt.elements {
			t.Errorf("%s: the second time it is number %d of %d", tt.name, id, len(s.Fresh.Queues))
		}
	}
}

// TestScopesOfMergedFiles: the label in brackets separates the files, as far as there are numbers for them.
func TestScopesOfMergedFiles(t *testing.T) {
	s := newShard(nil)
	for i, pid := range []string{"", "83", "x]", "[TP00] 83", "[TP00] 84", "[TP01] 83", "[] 1", "[TP00"} {
		want := []uint16{0, 0, 0, 1, 1, 2, 3, 0}[i]
		if got := s.scope([]byte(pid)); got != want {
			t.Errorf("%q has scope %d, want %d", pid, got, want)
		}
	}
	for i := len(s.Worker.scopes); i < math.MaxUint16; i++ {
		s.scope(fmt.Appendf(nil, "[%d]", i))
	}
	if last, beyond := s.scope([]byte("[65534]")), s.scope([]byte("[more]")); last != math.MaxUint16-1 || beyond != 0 {
		t.Errorf("the last scope has number %d, one more %d, want 65534 and 0", last, beyond)
	}
}

func TestLossesAndRanks(t *testing.T) {
	s := newShard(nil)
	for i := range int64(12) {
		s.lose("bad-event", i-2)
	}
	s.lose("bad-time", 5)
	if l := s.Lost[0]; l.Count != 12 || !slices.Equal(l.Offsets, []int64{0, 1, 2, 3, 4, 5, 6, 7}) || len(s.Lost) != 2 ||
		s.Lost[1].Count != 1 {
		t.Errorf("%+v, want 12 and 1, with the first eight places", s.Lost)
	}
	for _, tt := range []struct {
		ranks []int64
		want  Rank
	}{
		{[]int64{0}, Rank{0, true, false}}, {[]int64{3, 3}, Rank{3, true, false}}, {[]int64{0, 1}, Rank{1, true, true}},
		{[]int64{-1}, Rank{}},
		{[]int64{math.MaxInt32}, Rank{math.MaxInt32, true, false}}, {[]int64{math.MaxInt32 + 1}, Rank{}},
	} {
		s := newShard(nil)
		for _, r := range tt.ranks {
			ev := complete("kernel", "nccl")
			ev.Rank = r
			ev.Has |= scan.HasRank
			s.Event(&ev)
		}
		if s.Rank != tt.want {
			t.Errorf("ranks %v: %+v, want %+v", tt.ranks, s.Rank, tt.want)
		}
	}
}

// TestResetForgetsAll but what the worker knows.
func TestResetForgetsAll(t *testing.T) {
	s := newShard(nil)
	for i, cat := range []string{"kernel", "cpu_op"} {
		ev := complete(cat, "a")
		ev.Rank = int64(i)
		ev.Has |= scan.HasRank
		s.Event(&ev)
	}
	s.lose(event.BadEvent, 1)
	s.Reset()
	ev := complete("kernel", "a")
	ev.TS = 2000
	s.Event(&ev)
	f := s.Fresh
	if n := len(f.Names) + len(f.Raws) + len(f.Threads) + len(f.Queues) + len(f.Scopes) + len(f.Categories); n != 0 ||
		f.Bytes != 0 {
		t.Errorf("%d new texts and numbers of %d bytes, want none: the worker has seen all", n, f.Bytes)
	}
	if len(s.Lost) != 0 || s.Rank.Any || s.MinRaw != 2000 || s.Lanes[kind.GPULane].Len() != 1 ||
		s.Lanes[kind.OpLane].Len() != 0 || s.Counts[0][phaseSlot['X']] != 1 {
		t.Errorf("after a reset and one event: %+v", s)
	}
}

// TestNumbersOfNamesAndCategories: each text has one number, and what is new is told once.
func TestNumbersOfNamesAndCategories(t *testing.T) {
	s := newShard(nil)
	cats := []string{"odd", "kernel", "cpu_op", "odd", "odder", "", "kernel"}
	for _, cat := range cats {
		ev := complete(cat, "n")
		s.Event(&ev)
	}
	if got := s.Fresh.Categories; !slices.Equal(got, []string{"odd", "kernel", "cpu_op", "odder", ""}) {
		t.Errorf("categories %q", got)
	}
	var counts []int64
	for _, c := range s.Counts {
		counts = append(counts, c[phaseSlot['X']])
	}
	if !slices.Equal(counts, []int64{2, 2, 1, 1, 1}) {
		t.Errorf("%v events by category, want 2 2 1 1 1", counts)
	}
	other := &s.Lanes[kind.OtherLane]
	var texts []string
	for i := range other.Len() {
		texts = append(texts, s.Worker.names.Key(other.Cat.At(i)))
	}
	if !slices.Equal(texts, []string{"odd", "odd", "odder", ""}) || s.Lanes[kind.GPULane].Cat.At(0) != 0 {
		t.Errorf("categories of rows %q, and %d of a kernel, which needs none", texts, s.Lanes[kind.GPULane].Cat.At(0))
	}
	if n := s.Fresh.Bytes; n != int64(len("odd")+len("n")+len("odder")) {
		t.Errorf("%d bytes of names", n)
	}
	for name, repaired := range map[string]bool{"a": false, "a\\n": false, "a\x01": true, "a\x1f": true, "a ": false,
		"a\xff": true} {
		s := newShard(nil)
		s.name([]byte(name))
		if got := s.Fresh.Names[0].Repaired; got != repaired {
			t.Errorf("%q is repaired: %v, want %v", name, got, repaired)
		}
	}
}
