package timeline

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

func span(start, end int64) interval.Span { return interval.Span{Start: start, End: end} }

// moments are what a thread did in the spans moved to: its innermost frames and ops.
func moments(n *Timeline, spans ...interval.Span) (out []Piece) {
	var m Moment
	for _, s := range spans {
		n.Stretches(s, &m, func(s interval.Span, code []Piece) {
			m.Moments(s, code, func(s interval.Span) { out = append(out, Piece{s, m[Code].ID, m[Code].Name, m[Code].Kind}) })
		})
	}
	return out
}

// written joins pieces as "name start-end".
func written(tr *trace.Trace, pieces []Piece) string {
	var out []string
	for _, p := range pieces {
		name := "nothing"
		if p.Valid() {
			name = tr.Name(p.Name)
		}
		out = append(out, fmt.Sprintf("%s %d-%d", name, p.Span.Start, p.Span.End))
	}
	return strings.Join(out, ", ")
}

func thread(events ...trace.EventData) *trace.Trace {
	b := trace.NewBuilder(trace.Options{})
	for _, e := range events {
		e.Process, e.Thread = 1, 1
		b.Add(e)
	}
	b.Add(trace.EventData{Kind: event.Frame, Name: "another thread", Start: 0, Duration: 1000, Process: 1, Thread: 2})
	return built.Trace(b)
}

func eventOf(kind event.Kind, name string, start, end int64) trace.EventData {
	return trace.EventData{Kind: kind, Name: name, Start: start, Duration: end - start}
}

// TestInnermostAndOutermost: frames give way to those inside, calls keep what is inside them, and events that overlap
// without nesting are cut at the end of the first.
func TestInnermostAndOutermost(t *testing.T) {
	tr := thread(
		eventOf(event.Frame, "a", 0, 100), eventOf(event.Frame, "b", 20, 60), eventOf(event.Frame, "c", 30, 40),
		eventOf(event.Frame, "d", 90, 120), eventOf(event.Frame, "e", 100, 130),
		eventOf(event.Runtime, "f", 0, 50), eventOf(event.Runtime, "g", 10, 20), eventOf(event.Runtime, "h", 40, 70),
		eventOf(event.Runtime, "i", 70, 80),
		eventOf(event.Overhead, "Profiler overhead", 10, 20), eventOf(event.Overhead, "lazy loading", 30, 40),
		eventOf(event.OSCall, "futex", 10, 20), eventOf(event.OffCPU, "off", 30, 40),
	)
	for _, c := range []struct {
		name                string
		spans               []interval.Span
		code, calls, ranges string
	}{
		{"one span", []interval.Span{span(0, 1000)}, "a 0-20, b 20-30, c 30-40, b 40-60, a 60-90, d 90-100, e 100-130",
			"f 0-50, h 50-70, i 70-80", ""},
		{"spans", []interval.Span{span(10, 25), span(35, 36), span(55, 95)},
			"a 10-20, b 20-25, c 35-36, b 55-60, a 60-90, d 90-95", "f 10-25, f 35-36, h 55-70, i 70-80", ""},
		{"at borders", []interval.Span{span(20, 30), span(60, 70)}, "b 20-30, a 60-70", "f 20-30, h 60-70", ""},
		{"behind all", []interval.Span{span(500, 600)}, "", "", ""},
		{"none", nil, "", "", ""},
	} {
		first := tr.LaneAt(event.LaneLaunch, 0).Thread()
		s := New(tr, first, Timeline{}, nil, nil)
		s.Move(c.spans)
		if got := written(tr, s.Now[Code]); got != c.code {
			t.Errorf("%s: code %s\nwant %s", c.name, got, c.code)
		}
		if got := written(tr, s.Now[Calls]); got != c.calls {
			t.Errorf("%s: calls %s\nwant %s", c.name, got, c.calls)
		}
		if got := written(tr, s.Now[Ranges]); got != c.ranges {
			t.Errorf("%s: ranges %s\nwant %s", c.name, got, c.ranges)
		}
	}
	s := New(tr, tr.LaneAt(event.LaneLaunch, 0).Thread(), Timeline{}, nil, nil)
	s.Move([]interval.Span{span(0, 15)})
	if got, want := written(tr, s.Now[Over])+"; "+written(tr, s.Now[System])+"; "+written(tr, s.Now[Off]),
		"Profiler overhead 10-15; futex 10-15; "; got != want {
		t.Errorf("first gap: %s, want %s", got, want)
	}
	s.Move([]interval.Span{span(15, 1000)}) // goes on where the gap before ended
	if got, want := written(tr, s.Now[Over])+"; "+written(tr, s.Now[System])+"; "+written(tr, s.Now[Off]),
		"Profiler overhead 15-20; futex 15-20; off 30-40"; got != want {
		t.Errorf("second gap: %s, want %s", got, want)
	}
	if got, want := written(tr, s.Now[Code]), "a 15-20, b 20-30, c 30-40, b 40-60, a 60-90, d 90-100, e 100-130"; got != want {
		t.Errorf("second gap: code %s, want %s", got, want)
	}
}

func TestOpsLieOverFrames(t *testing.T) {
	tr := thread(eventOf(event.Frame, "a", 0, 100), eventOf(event.Frame, "b", 100, 200),
		eventOf(event.Frame, "c", 300, 400),
		eventOf(event.Op, "p", 10, 20), eventOf(event.Op, "q", 90, 120), eventOf(event.Op, "r", 200, 210),
		eventOf(event.Op, "s", 300, 310), eventOf(event.Op, "t", 390, 400), eventOf(event.Op, "u", 400, 410))
	s := New(tr, tr.LaneAt(event.LaneOp, 0).Thread(), Timeline{}, nil, nil)
	s.Move([]interval.Span{span(0, 1000)})
	if got, want := written(tr, moments(&s.Now, span(0, 410))), "a 0-10, p 10-20, a 20-90, q 90-120, b 120-200, "+
		"r 200-210, nothing 210-300, s 300-310, c 310-390, t 390-400, u 400-410"; got != want {
		t.Errorf("code %s\nwant %s", got, want)
	}
}

func TestCutCoversTheSpan(t *testing.T) {
	tr := thread(eventOf(event.Frame, "a", 10, 20), eventOf(event.Frame, "b", 20, 30),
		eventOf(event.Frame, "c", 40, 50))
	s := New(tr, tr.LaneAt(event.LanePython, 0).Thread(), Timeline{}, nil, nil)
	s.Move([]interval.Span{span(0, 1000)})
	for _, c := range []struct {
		pieces     []Piece
		start, end int64
		want       string
	}{
		{s.Now[Code], 0, 60, "nothing 0-10, a 10-20, b 20-30, nothing 30-40, c 40-50, nothing 50-60"},
		{s.Now[Code], 20, 40, "b 20-30, nothing 30-40"},
		{s.Now[Code], 15, 45, "a 15-20, b 20-30, nothing 30-40, c 40-45"},
		{s.Now[Code], 50, 60, "nothing 50-60"},
		{s.Now[Code], 30, 30, ""},
		{nil, 0, 5, "nothing 0-5"},
	} {
		got := moments(&Timeline{Code: c.pieces}, span(c.start, c.end))
		if text := written(tr, got); text != c.want {
			t.Errorf("%d-%d: %s, want %s", c.start, c.end, text, c.want)
		}
	}
}

// TestSamplesInASpan: the first sample from the span's start on and before its end.
func TestSamplesInASpan(t *testing.T) {
	tr := thread(eventOf(event.Mark, "x", 10, 10), eventOf(event.Mark, "y", 20, 20))
	var samples []trace.EventID
	for id := range trace.EventID(tr.Len()) {
		if tr.At(id).Kind() == event.Mark {
			samples = append(samples, id)
		}
	}
	if len(samples) != 2 {
		t.Fatalf("%d samples, want 2", len(samples))
	}
	s := New(tr, 0, Timeline{}, samples, nil)
	for _, c := range []struct {
		start, end int64
		want       string
	}{{10, 11, "x 10-11"}, {0, 10, "nothing 0-0"}, {11, 21, "y 11-21"}, {11, 20, "nothing 0-0"},
		{21, 30, "nothing 0-0"}} {
		if got := written(tr, []Piece{s.Sampled(tr, span(c.start, c.end))}); got != c.want {
			t.Errorf("%d-%d: %s, want %s", c.start, c.end, got, c.want)
		}
	}
	if p := New(tr, 0, Timeline{}, nil, nil).Sampled(tr, span(0, 100)); p.Valid() {
		t.Error("a sample without samples")
	}
}

// TestSpansAreCutOutOfAll: the pieces of some spans are those of all time, cut, however events nest or overlap.
func TestSpansAreCutOutOfAll(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		var events []trace.EventData
		kinds := []event.Kind{event.Frame, event.Op, event.Runtime, event.OSCall, event.Range}
		for i := range 100 {
			at := r.Int64N(1000)
			events = append(events, eventOf(kinds[r.IntN(len(kinds))], fmt.Sprint("f", i), at, at+r.Int64N(200)))
		}
		tr := thread(events...)
		first := tr.LaneAt(event.LaneOp, 0).Thread()
		var spans []interval.Span
		for at := r.Int64N(100); at < 1100; at += 1 + r.Int64N(150) {
			s := span(at, at+1+r.Int64N(80))
			spans, at = append(spans, s), s.End
		}
		around := func(name trace.NameID) bool { return name%4 == 0 }
		all, some := New(tr, first, Timeline{}, nil, around), New(tr, first, Timeline{}, nil, around)
		all.Move([]interval.Span{span(-1, 2000)})
		var want, got [numLanes][]Piece
		for i, s := range spans {
			for lane, pieces := range all.Now {
				for _, p := range pieces {
					if p.Span = p.Span.Clip(s); !p.Span.Empty() {
						want[lane] = append(want[lane], p)
					}
				}
			}
			if i%3 == 2 || i == len(spans)-1 {
				some.Move(spans[i-i%3 : i+1])
				for lane, pieces := range some.Now {
					got[lane] = append(got[lane], pieces...)
				}
			}
		}
		for lane := range got {
			if g, w := written(tr, got[lane]), written(tr, want[lane]); g != w {
				t.Fatalf("seed %d, lane %d: %s\nwant %s", seed, lane, g, w)
			}
		}
	}
}

// TestMomentsAreWhereNoLaneChanges: the stretches of a span follow each other without a gap, each within one piece, or
// between two, of every lane but that of frames, and so do the moments of a stretch in that lane, unless an op runs.
func TestMomentsAreWhereNoLaneChanges(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 11))
		var n Timeline
		for _, lane := range append(outerLanes[:], Code) {
			for at := r.Int64N(60); at < 100 && r.IntN(8) > 0; at += 1 + r.Int64N(40) {
				p := Piece{Span: span(at, at+1+r.Int64N(20)), Name: trace.NameID(len(n[lane]) + 1), Kind: event.Frame}
				n[lane], at = append(n[lane], p), p.Span.End
			}
		}
		in := func(lane int, at int64) (name trace.NameID) {
			for _, p := range n[lane] {
				if p.Span.Contains(at) {
					name = p.Name
				}
			}
			return name
		}
		whole := span(r.Int64N(50), 50+r.Int64N(60))
		at, m := whole.Start, Moment{}
		check := func(s interval.Span, changes bool, lanes ...int) {
			for _, lane := range lanes {
				changes = changes || in(lane, s.Start-1) != in(lane, s.Start)
				for x := s.Start; x < s.End; x++ {
					want := in(lane, x)
					if op := in(ops, x); lane == Code && op != 0 {
						want = op
					}
					if m[lane].Name != want || !m[lane].Span.Contains(x) {
						t.Fatalf("seed %d: lane %d at %d of %v: %v, want name %d", seed, lane, x, s, m[lane], want)
					}
				}
			}
			if s.Start != at || s.Empty() || !changes {
				t.Fatalf("seed %d: moment %v after %d", seed, s, at)
			}
		}
		n.Stretches(whole, &m, func(s interval.Span, code []Piece) {
			check(s, at == whole.Start, outerLanes[:]...)
			if m[ops].Valid() && code != nil || len(code) > 0 && code[0].Span.End <= s.Start {
				t.Fatalf("seed %d: frames %v in %v", seed, code, s)
			}
			m.Moments(s, code, func(part interval.Span) {
				check(part, at == s.Start, Code)
				at = part.End
			})
			if at != s.End {
				t.Fatalf("seed %d: moments up to %d of %v", seed, at, s)
			}
		})
		if at != max(whole.Start, whole.End) {
			t.Fatalf("seed %d: stretches up to %d of %v", seed, at, whole)
		}
	}
}

// TestReadersSkip: rows that begin before a time are passed over, however many they are.
func TestReadersSkip(t *testing.T) {
	for rows := range 40 {
		var events []trace.EventData
		for i := range rows {
			events = append(events, eventOf(event.Frame, "f", int64(i), int64(i+1)))
		}
		tr := thread(append(events, eventOf(event.Frame, "g", 1000, 1001))...)
		for to := range rows {
			for next := range to {
				r := reader{t: tr, lane: event.LanePython, next: next, end: rows}
				if r.skip(int64(to)); r.next != to {
					t.Fatalf("%d rows from %d up to %d: next is %d", rows, next, to, r.next)
				}
			}
		}
	}
}
