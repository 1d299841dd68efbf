package trace

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/internal/scan"
	"github.com/llmstrata/strata/trace/event"
)

// shardOf is a shard of a load with some options.
func shardOf(o Options) *shard {
	cfg := newConfig(&o)
	return newShard(newWorker(0, &cfg))
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
	row := func(s *shard, lane int) string {
		c := &s.lanes[lane]
		return fmt.Sprint(c.Corr.At(0), c.Ext.At(0), c.Graph.At(0), c.Node.At(0), c.Bytes.At(0), c.Shape.At(0),
			c.Domain.At(0), c.Args.At(0), c.Scope.At(0), s.rank.seen, s.fresh.threads, s.fresh.queues)
	}
	args := Options{Args: []event.Kind{event.Kernel, event.Op}}
	for _, tt := range []struct {
		cat, given, missing string
		lane                int
		shape               string
	}{
		{"kernel", "5 6 8 9 10 1 0 2 0 true [] [{1 7}]", "0 0 0 0 0 0 0 0 0 false [] [{-1 -1}]", kind.GPULane, "1,2|3"},
		{"cpu_op", "5 6 0 0 10 1 2 2 0 true [{{3 } 4 }] []", "0 0 0 0 0 0 0 0 0 false [{{0 } 0 }] []", kind.OpLane,
			"[[4]]"},
	} {
		s := shardOf(args)
		ev := all(tt.cat)
		ev.Has |= scan.HasPID | scan.HasTID | scan.HasCorrelation | scan.HasExternalID | scan.HasDevice | scan.HasStream | scan.HasGraphID | scan.HasGraphNode |
			scan.HasBytes | scan.HasRank | scan.HasGrid | scan.HasBlock | scan.HasDims | scan.HasStack | scan.HasArgs
		s.Event(&ev)
		if got := row(s, tt.lane); got != tt.given || !slices.Contains(s.fresh.raws, tt.shape) {
			t.Errorf("%s with all fields: %s, raw texts %q; want %s and %q", tt.cat, got, s.fresh.raws, tt.given,
				tt.shape)
		}
		s = shardOf(args)
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
		s := shardOf(Options{})
		ev := complete(tt.cat, "a")
		tt.change(&ev)
		s.Event(&ev)
		lost, dur := event.Loss(""), int64(-1)
		for _, l := range s.losses.list {
			lost += l.Reason
		}
		for l := range s.lanes {
			for _, d := range s.lanes[l].Dur {
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
		s := shardOf(Options{})
		ev := complete("cuda_sync", "Stream Sync")
		ev.TID, ev.Stream = scan.Ident{Num: tt.tid}, tt.stream
		ev.Has |= scan.HasTID
		if tt.stream != None {
			ev.Has |= scan.HasStream
		}
		s.Event(&ev)
		if got := s.fresh.threads[0].tid; got != tt.own {
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
		want     queue
		elements int
	}{
		{"args", device | stream | pid | tid, scan.Event{Device: 2, Stream: 7, PID: scan.Ident{Num: 5},
			TID: scan.Ident{Num: 6}}, queue{2, 7}, 1},
		{"rows of old files", pid | tid, scan.Event{PID: scan.Ident{Num: 0}, TID: scan.Ident{Text: []byte("stream 9")}},
			queue{0, 9}, 1},
		{"numbers", pid | tid, scan.Event{PID: scan.Ident{Num: 5}, TID: scan.Ident{Num: 6}}, queue{5, 6}, 1},
		{"texts", pid | tid, scan.Event{PID: scan.Ident{Text: []byte("p")}, TID: scan.Ident{Text: []byte("gpu")}},
			queue{None, None}, 1},
		{"none", 0, scan.Event{}, queue{None, None}, 1},
		{"unsigned", device | stream, scan.Event{Device: 0, Stream: math.MaxUint32}, queue{0, None}, 1},
		{"next to it", device | stream, scan.Event{Device: 0, Stream: math.MaxUint32 - 1}, queue{0, math.MaxUint32 - 1},
			1},
		{"no such device", device, scan.Event{Device: -1}, queue{None, None}, 1},
		{"the highest device", device, scan.Event{Device: math.MaxInt32}, queue{math.MaxInt32, None}, 1},
		{"beyond it", device, scan.Event{Device: math.MaxInt32 + 1}, queue{None, None}, 1},
	} {
		s := shardOf(Options{})
		ev := tt.ev
		ev.Has = tt.has
		if id := s.queue(&ev); id != 0 || s.fresh.queues[id] != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, s.fresh.queues[id], tt.want)
		}
		if id := s.queue(&ev); id != 0 || len(s.fresh.queues) != tt.elements {
			t.Errorf("%s: the second time it is number %d of %d", tt.name, id, len(s.fresh.queues))
		}
	}
}

// TestScopesOfMergedFiles: the label in brackets separates the files, as far as there are numbers for them.
func TestScopesOfMergedFiles(t *testing.T) {
	s := shardOf(Options{})
	for i, pid := range []string{"", "83", "x]", "[TP00] 83", "[TP00] 84", "[TP01] 83", "[] 1", "[TP00"} {
		want := []uint16{0, 0, 0, 1, 1, 2, 3, 0}[i]
		if got := s.scope([]byte(pid)); got != want {
			t.Errorf("%q has scope %d, want %d", pid, got, want)
		}
	}
	for i := len(s.worker.scopes); i < math.MaxUint16; i++ {
		s.scope(fmt.Appendf(nil, "[%d]", i))
	}
	if last, beyond := s.scope([]byte("[65534]")), s.scope([]byte("[more]")); last != math.MaxUint16-1 || beyond != 0 {
		t.Errorf("the last scope has number %d, one more %d, want 65534 and 0", last, beyond)
	}
}

func TestLossesAndRanks(t *testing.T) {
	s := shardOf(Options{})
	for i := range int64(12) {
		s.losses.add("bad-event", i-2)
	}
	s.losses.add("bad-time", 5)
	if l := s.losses.list; len(l) != 2 || l[0].Count != 12 || l[1].Count != 1 ||
		!slices.Equal(l[0].Offsets, []int64{0, 1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("%+v, want 12 and 1, with the first eight places", l)
	}
	for _, tt := range []struct {
		ranks []int64
		want  collectiveRank
	}{
		{[]int64{0}, collectiveRank{0, true, false}},
		{[]int64{3, 3}, collectiveRank{3, true, false}},
		{[]int64{0, 1}, collectiveRank{1, true, true}},
		{[]int64{-1}, collectiveRank{}},
		{[]int64{math.MaxInt32}, collectiveRank{math.MaxInt32, true, false}},
		{[]int64{math.MaxInt32 + 1}, collectiveRank{}},
	} {
		s := shardOf(Options{})
		for _, r := range tt.ranks {
			ev := complete("kernel", "nccl")
			ev.Rank = r
			ev.Has |= scan.HasRank
			s.Event(&ev)
		}
		if s.rank != tt.want {
			t.Errorf("ranks %v: %+v, want %+v", tt.ranks, s.rank, tt.want)
		}
	}
}

// TestResetForgetsAll but what the worker knows.
func TestResetForgetsAll(t *testing.T) {
	s := shardOf(Options{})
	for i, cat := range []string{"kernel", "cpu_op"} {
		ev := complete(cat, "a")
		ev.Rank = int64(i)
		ev.Has |= scan.HasRank
		s.Event(&ev)
	}
	s.losses.add(event.BadEvent, 1)
	s.reset()
	ev := complete("kernel", "a")
	ev.TS = 2000
	s.Event(&ev)
	f := s.fresh
	if n := len(f.names) + len(f.raws) + len(f.threads) + len(f.queues) + len(f.scopes) + len(f.categories); n != 0 ||
		f.bytes != 0 {
		t.Errorf("%d new texts and numbers of %d bytes, want none: the worker has seen all", n, f.bytes)
	}
	if len(s.losses.list) != 0 || s.rank.seen || s.minRaw != 2000 || s.lanes[kind.GPULane].Len() != 1 ||
		s.lanes[kind.OpLane].Len() != 0 || s.counts[0][phaseSlot['X']] != 1 {
		t.Errorf("after a reset and one event: %+v", s)
	}
}

// TestNumbersOfNamesAndCategories: each text has one number, and what is new is counted once.
func TestNumbersOfNamesAndCategories(t *testing.T) {
	s := shardOf(Options{})
	cats := []string{"odd", "kernel", "cpu_op", "odd", "odder", "", "kernel"}
	for _, cat := range cats {
		ev := complete(cat, "n")
		s.Event(&ev)
	}
	if got := s.fresh.categories; !slices.Equal(got, []string{"odd", "kernel", "cpu_op", "odder", ""}) {
		t.Errorf("categories %q", got)
	}
	var counts []int64
	for _, c := range s.counts {
		counts = append(counts, c[phaseSlot['X']])
	}
	if !slices.Equal(counts, []int64{2, 2, 1, 1, 1}) {
		t.Errorf("%v events by category, want 2 2 1 1 1", counts)
	}
	other := &s.lanes[kind.OtherLane]
	var texts []string
	for i := range other.Len() {
		texts = append(texts, s.worker.names.Key(other.Cat.At(i)))
	}
	if !slices.Equal(texts, []string{"odd", "odd", "odder", ""}) || s.lanes[kind.GPULane].Cat.At(0) != 0 {
		t.Errorf("categories of rows %q, and %d of a kernel, which needs none", texts, s.lanes[kind.GPULane].Cat.At(0))
	}
	if n := s.fresh.bytes; n != int64(len("odd")+len("n")+len("odder")) {
		t.Errorf("%d bytes of names", n)
	}
	for name, repaired := range map[string]bool{"a": false, "a\\n": false, "a\x01": true, "a\x1f": true, "a ": false,
		"a\xff": true} {
		s := shardOf(Options{})
		s.name([]byte(name))
		if got := s.fresh.names[0].repaired; got != repaired {
			t.Errorf("%q is repaired: %v, want %v", name, got, repaired)
		}
	}
}
