package ladder

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// run is a kernel with its launch: when and on which thread the call was made, −1 for none, and which graph launch it
// is of, 0 for none.
type run struct {
	name       string
	stream     trace.StreamID
	start, dur int64
	launch     int64
	thread     int64
	graph      uint64
}

// workOfRuns collects kernels with their launches.
func workOfRuns(runs ...run) (*Work, []int32) { return workOfAll(nil, runs...) }

// workOfAll collects them beside other events of the CPU.
func workOfAll(others []trace.EventData, runs ...run) (*Work, []int32) {
	b := trace.NewBuilder(trace.Options{})
	for _, e := range others {
		b.Add(e)
	}
	seen := map[uint64]bool{}
	for i, r := range runs {
		e := trace.EventData{Kind: event.Kernel, Name: r.name, Stream: r.stream, Start: 10_000 + r.start,
			Duration: r.dur}
		if r.launch >= 0 {
			call := trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: r.launch, Duration: 1,
				Thread: 1 + r.thread, Device: trace.None, Stream: trace.None}
			if e.Correlation = uint64(1000 + i); r.graph > 0 {
				e.Correlation, e.GraphNode, call.Name = r.graph, uint64(i+1), "cudaGraphLaunch"
			}
			if call.Correlation = e.Correlation; !seen[e.Correlation] {
				b.Add(call)
			}
			seen[e.Correlation] = true
		}
		b.Add(e)
	}
	rows, kernels := make([]int32, len(runs)), make([]int32, len(runs))
	for i := range rows {
		rows[i], kernels[i] = int32(i), int32(i)
	}
	return Collect(func() error { return nil }, built.Trace(b), 0, rows), kernels
}

// TestOrphansJoinTheirNeighbours: kernels without a launch are of the pass of those around them on their stream;
// between two passes the longest pause of the stream decides, the first of equals; on a stream for which no launch is
// known, the pass that runs.
func TestOrphansJoinTheirNeighbours(t *testing.T) {
	k := func(start, dur int64, known bool) run {
		r := run{"k", 7, start, dur, -1, 0, 0}
		if known {
			r.launch = start
		}
		return r
	}
	beside := func(start int64) run { return run{"s", 9, start, 1, -1, 0, 0} }
	for _, c := range []struct {
		name   string
		runs   []run
		passes string // of the kernels, - for none or an orphan
		want   string
	}{
		{"between kernels of one pass", []run{k(0, 10, true), k(20, 10, false), k(40, 10, true)}, "0-0", "000"},
		{"in front of all", []run{k(0, 10, false), k(20, 10, true)}, "-0", "-0"},
		{"behind all", []run{k(0, 10, true), k(20, 10, false)}, "0-", "0-"},
		{"nearer to the pass in front", []run{k(0, 10, true), k(11, 10, false), k(40, 10, true)}, "0-1", "001"},
		{"nearer to the pass behind", []run{k(0, 10, true), k(30, 10, false), k(41, 10, true)}, "0-1", "011"},
		{"overlapping the one in front alone", []run{k(0, 10, true), k(5, 5, false), k(10, 10, true)}, "0-1", "001"},
		{"overlapping the one behind more", []run{k(0, 10, true), k(8, 10, false), k(12, 10, true)}, "0-1", "011"},
		{"as near to both", []run{k(0, 10, true), k(20, 10, false), k(40, 10, true)}, "0-1", "011"},
		{"a pause between two", []run{k(0, 10, true), k(11, 10, false), k(40, 10, false), k(51, 10, true)}, "0--1",
			"0011"},
		{"pauses behind what overlaps do not count",
			[]run{k(0, 100, true), k(20, 10, false), k(90, 30, false), k(125, 10, true)}, "0--1", "0001"},
		{"no pass in front", []run{k(0, 10, true), k(20, 10, false), k(40, 10, true)}, "--1", "--1"},
		{"no pass behind", []run{k(0, 10, true), k(20, 10, false), k(40, 10, true)}, "0--", "0--"},
		{"another stream, in front", []run{beside(0), k(5, 10, true), k(40, 10, true)}, "-01", "-01"},
	} {
		w, _ := workOfRuns(c.runs...)
		passes := make([]Span, 0, 2)
		for i, p := range c.passes {
			if p == '-' {
				continue
			}
			for len(passes) <= int(p-'0') {
				passes = append(passes, Span{})
			}
			passes[p-'0'].Kernels = append(passes[p-'0'].Kernels, int32(i))
		}
		if len(passes) > 0 && passes[0].Kernels == nil {
			passes = passes[1:]
		}
		got := []byte(strings.Repeat("-", len(c.runs)))
		for p, s := range w.adoptOrphans(passes) {
			for _, i := range s.Kernels {
				got[i] = byte('0' + p)
			}
		}
		want := c.want
		if !strings.Contains(c.passes, "0") {
			want = strings.ReplaceAll(want, "1", "0")
		}
		if string(got) != want {
			t.Errorf("%s: %s, want %s", c.name, got, want)
		}
	}
}

// TestReplaysOfAStretch: a pass that one graph launch ran most of is a replay of its own.
func TestReplaysOfAStretch(t *testing.T) {
	for _, c := range []struct {
		graphs string // of the kernels, by number of the graph launch, - for an eager one
		want   Rung
	}{{"1111", RungGraph}, {"-11-", RungStructure}, {"111--", RungGraph}, {"1122", RungStructure},
		{"-1-1-", RungStructure}, {"-1-11", RungGraph}, {"----", RungStructure}, {"11", RungGraph},
		{"1-", RungStructure}, {"122", RungGraph}} {
		var runs []run
		for i, g := range c.graphs {
			r := run{"k", 7, int64(10 * i), 5, int64(10 * i), 0, 0}
			if g != '-' {
				r.graph, r.launch = uint64(g-'0'), int64(g-'0')
			}
			runs = append(runs, r)
		}
		w, kernels := workOfRuns(runs...)
		if got := w.byLaunches([]Span{{Kernels: kernels}}); got != c.want {
			t.Errorf("%s: by %s, want %s", c.graphs, got, c.want)
		}
	}
}

// TestRunsThatNoPassClaims: what lies between, before and behind passes.
func TestRunsThatNoPassClaims(t *testing.T) {
	for claimed, want := range map[string]string{"xxxx": "[]", "----": "[[0 1 2 3]]", "x--x": "[[1 2]]",
		"-xx-": "[[0] [3]]", "--x-": "[[0 1] [3]]", "": "[]"} {
		var acts []act
		var s Span
		for i, c := range claimed {
			acts = append(acts, act{"k", 7, int64(10 * i), 5})
			if c == 'x' {
				s.Kernels = append(s.Kernels, int32(i))
			}
		}
		w, _ := workOf(acts...)
		if got := fmt.Sprint(w.looseRuns([]Span{s})); got != want {
			t.Errorf("%q: %s, want %s", claimed, got, want)
		}
	}
}

// byRole is a sequence by letters: m a mixer, n a norm, e an embedding, s sampling; equal letters are equal kernels.
func byRole(letters string) *Sequence {
	s := &Sequence{}
	for _, l := range letters {
		s.ID, s.Base = append(s.ID, l), append(s.Base, l)
		s.Role = append(s.Role, map[rune]Role{'m': RoleMixer, 'n': RoleNorm, 'e': roleEmbed, 's': roleSample}[l])
	}
	return s
}

// TestPiecesBetweenMarks: pieces are passes where four in five of the inner ones hold the layers; where marks are
// exact, shorter ones in between are runs of a draft model that end with their last mixer, if the others hold three
// in five of the kernels.
func TestPiecesBetweenMarks(t *testing.T) {
	for _, c := range []struct {
		name string
		// a letter each: T one of the target's layers, d a draft of one mixer, D one of two, x one without
		pieces string
		exact  bool
		want   string // T, d for what is kept
	}{
		{"all hold the layers", "TTTT", false, "TTTT"},
		{"four of five inner ones", "TTTTTdT", false, "TTTTTT"},
		{"three of four", "TTTdTd", false, "TTTT"},
		{"two of four", "TTdTdd", false, ""},
		{"two of four, exact marks", "TdTddTd", true, "TdTddTd"},
		{"one without a mixer", "TxTdd", true, "TTdd"},
		{"a longer one at the end is cut from a target", "TdTdD", true, "TdTd"},
		{"a longer one in between", "TDTdd", true, "TDTdd"},
		{"nothing but drafts", "dddd", true, ""},
		{"one of the target at the edge, and drafts", "Tddd", true, "Tddd"},
		{"the target's is hardly more than half", "Tdddd", true, ""},
		{"the first draft is at the end, where a target is cut", "TxTxd", true, "TT"},
		{"what stands in front of the first mark is none", "dTdTd", true, "TdTd"},
	} {
		var letters string
		b := &pieces{votes: map[int]int{}, covered: map[int]int{}, all: map[int]int{}, n: 4}
		var m marks
		m.exact = c.exact
		var kinds []byte
		for k, p := range []byte(c.pieces) {
			from := len(letters)
			text := map[byte]string{'T': "emxxmxxmxxmxxx", 'd': "emx", 'D': "emmx", 'x': "exx"}[p]
			letters += text
			if k > 0 {
				m.pos = append(m.pos, from)
			}
			n := 0
			span := [2]int{from, from}
			if p == 'T' {
				n, span = 4, [2]int{from + 1, from + 13}
				b.votes[4]++
			}
			b.bounds, b.spans, b.ns = append(b.bounds, [2]int{from, len(letters)}), append(b.spans, span),
				append(b.ns, n)
			b.all[n] += len(text)
			if k > 0 && k+1 < len(c.pieces) {
				b.inner++
				b.innerKernels += len(text)
				b.covered[n] += len(text)
			}
			kinds = append(kinds, p)
		}
		kept, small := b.keep(byRole(letters), m)
		got := ""
		for i, span := range kept {
			for k, bound := range b.bounds {
				if span[0] < bound[0] || span[1] > bound[1] {
					continue
				}
				got += string(kinds[k])
				if small[i] != (kinds[k] != 'T') {
					t.Errorf("%s: piece %d, %c, is a draft: %v", c.name, k, kinds[k], small[i])
				}
				if last := bound[1] - 1; small[i] && (span[0] != bound[0] || span[1] != last) {
					t.Errorf("%s: the draft of %v is %v, want up to its last mixer", c.name, bound, span)
				}
			}
		}
		if got != c.want {
			t.Errorf("%s: of %s the passes are %s, want %s", c.name, c.pieces, got, c.want)
		}
	}
}

// TestEndsBetweenMarks: what a mark shows to be of the pass before the window, or after it, is no part of the
// first and the last one, where it holds a mixer.
func TestEndsBetweenMarks(t *testing.T) {
	for _, c := range []struct {
		name, kernels string
		pos           []int
		from, to      int // of what is left
	}{
		{"mixers in front of the mark", "mxemxmxs", []int{2}, 2, 8},
		{"none in front", "xxemxmxs", []int{2}, 0, 8},
		{"mixers behind a mark", "emxmxsemx", []int{0, 6}, 0, 6},
		{"none behind", "emxmxsexx", []int{0, 6}, 0, 9},
		{"mixers behind the only mark", "xmxmxsemx", []int{6}, 0, 6},
		{"both", "memxmxsem", []int{1, 7}, 1, 7},
		{"the first mixer is the first kernel", "mEemxmxs", []int{1, 2}, 1, 8},
	} {
		s := byRole(c.kernels)
		var acts []act
		for i := range c.kernels {
			acts = append(acts, act{"k", 7, int64(10 * i), 5})
		}
		w, kernels := workOf(acts...)
		from := strings.Index(c.kernels, "mx")
		if c.pos[0] > 0 && c.pos[0] < 6 {
			from = c.pos[len(c.pos)-1] + 1
			if c.name == "both" {
				from = 2
			}
		}
		passes := []Span{{Kernels: kernels}}
		w.trimEnds(passes, s, [][2]int{{from, from + 4}}, c.pos)
		if k := passes[0].Kernels; len(k) != c.to-c.from || k[0] != int32(c.from) {
			t.Errorf("%s: kernels %v are left, want %d to %d", c.name, k, c.from, c.to-1)
		}
	}
}

// TestStartsBetweenMarks: what runs before the mark that begins the first pass is no part of it where it is more than
// any other pass, but as much as the others have before theirs; where there is no other, what is more than what follows
// the mark. A mark that ends passes shows no start. The window's end is cut in any case.
func TestStartsBetweenMarks(t *testing.T) {
	for _, c := range []struct {
		name     string
		before   int
		passes   []string // "M" is a mark
		tail     string
		from, to int // of the kernels that are left
	}{
		{"as long as a pass", 3, []string{"xMmx", "xMmx", "xMmx"}, "", 0, 15},
		{"a start", 4, []string{"xMmx", "xMmx", "xMmx"}, "", 4, 16},
		{"others begin with more", 7, []string{"xMmx", "xMmx", "xxMmx"}, "", 6, 20},
		{"a start, and a cut end", 4, []string{"xMmx", "xMmx", "xMmx"}, "Mm", 4, 16},
		{"one pass, and before it as much", 2, []string{"xMmx"}, "", 0, 6},
		{"one pass, and before it more", 3, []string{"xMmx"}, "", 4, 7},
		{"marks at the ends", 4, []string{"mxmxmMxmxM", "xmxM", "xmxM"}, "", 9, 22},
	} {
		text := strings.Repeat("x", c.before) + strings.Join(c.passes, "") + c.tail
		var pos []int
		for i, letter := range text {
			if letter == 'M' {
				pos = append(pos, i)
			}
		}
		var acts []act
		for i := range text {
			acts = append(acts, act{"k", 7, int64(10 * i), 5})
		}
		w, kernels := workOf(acts...)
		var passes []Span
		var spans [][2]int
		at := 0
		for p, pass := range c.passes {
			end := at + len(pass)
			if p == 0 {
				end += c.before
			}
			if p+1 == len(c.passes) {
				end = len(kernels)
			}
			layer := at + strings.LastIndexByte(text[at:min(end, len(text)-len(c.tail))], 'm')
			passes, spans = append(passes, Span{Kernels: kernels[at:end]}), append(spans, [2]int{layer, layer + 1})
			at = end
		}
		w.trimEnds(passes, byRole(strings.ReplaceAll(text, "M", "e")), spans, pos)
		first, last := passes[0].Kernels[0], passes[len(passes)-1].Kernels
		if to := last[len(last)-1] + 1; first != int32(c.from) || to != int32(c.to) {
			t.Errorf("%s: kernels %d to %d are left, want %d to %d", c.name, first, to-1, c.from, c.to-1)
		}
	}
}

// TestEndsOfFramedPasses: what frames show of a call and the window does not hold says that the window cuts the pass.
func TestEndsOfFramedPasses(t *testing.T) {
	var runs []run
	for i := range 6 {
		r := run{"k", 7, int64(10 * i), 5, int64(10 * i), 0, 0}
		if i == 0 {
			r.launch = -1
		}
		runs = append(runs, r)
	}
	w, kernels := workOfRuns(runs...)
	result := func(from, to, first, count int, framed frameSpan, layers ...int32) *Result {
		return &Result{Span: Span{Kernels: kernels[from:to]}, Layer: layers, First: first, Count: count, framed: framed}
	}
	for _, c := range []struct {
		name string
		r    *Result
		want bool
	}{
		{"all of its layers", result(1, 4, 0, 2, frameSpan{layers: 2}, None, 0, 1), false},
		{"the first layer is not there", result(1, 4, 1, 1, frameSpan{layers: 2}, None, 1, 1), true},
		{"a call without a frame from layer 1 on", result(1, 4, 1, 1, frameSpan{first: 1, layers: 2, joined: true},
			None, 1, 1), true},
		{"one from layer 0 on", result(1, 4, 0, 1, frameSpan{layers: 1, joined: true}, None, 0, 0), false},
		{"begins with its first layer, and nothing was launched before",
			result(1, 4, 0, 2, frameSpan{layers: 2, fromLayer: true}, 0, 0, 1), true},
		{"something was launched before", result(2, 5, 0, 2, frameSpan{layers: 2, fromLayer: true}, 0, 0, 1), false},
		{"something stands in front of its layers", result(1, 4, 0, 2, frameSpan{layers: 2, fromLayer: true}, None, 0,
			1), false},
	} {
		if got := w.beginsWithin(c.r); got != c.want {
			t.Errorf("%s: begins within %v, want %v", c.name, got, c.want)
		}
	}
	for _, c := range []struct {
		name string
		r    *Result
		of   int // layers of the model
		only bool
		want bool
	}{
		{"all of its layers", result(1, 4, 0, 2, frameSpan{layers: 2}, 0, 1, None), 2, true, false},
		{"the last layer is not there", result(1, 4, 0, 1, frameSpan{layers: 2}, 0, 0, None), 2, true, true},
		{"a call without a frame, of fewer layers than the model",
			result(1, 4, 0, 1, frameSpan{layers: 1, joined: true}, 0, 0, None), 2, false, true},
		{"of as many", result(1, 4, 0, 2, frameSpan{layers: 2, joined: true}, 0, 1, None), 2, false, false},
		{"of as many, by itself", result(1, 4, 0, 2, frameSpan{layers: 2, joined: true}, 0, 1, None), 2, true, true},
		{"of as many, by itself, from layer 1 on", result(1, 4, 1, 1, frameSpan{first: 1, layers: 2, joined: true}, 1,
			1, None), 2, true, false},
		{"ends with the window in a layer", result(3, 6, 0, 2, frameSpan{layers: 2, toLayer: true}, None, 0, 1), 2,
			false, true},
		{"and frames go on", result(3, 6, 0, 2, frameSpan{layers: 2}, None, 0, 1), 2, false, false},
		{"and the model has more", result(3, 6, 0, 2, frameSpan{layers: 2}, None, 0, 1), 3, false, true},
		{"not with the window", result(2, 5, 0, 2, frameSpan{layers: 2, toLayer: true}, None, 0, 1), 2, false, false},
		{"with the window, outside of layers", result(3, 6, 0, 2, frameSpan{layers: 2, toLayer: true}, 0, 1, None), 2,
			false, false},
	} {
		if got := w.endsWithin(c.r, &Model{Layers: c.of}, c.only); got != c.want {
			t.Errorf("%s: ends within %v, want %v", c.name, got, c.want)
		}
	}
}

// TestCutLayersOfFrames: the first and the last layer of a pass that the window cuts are cut where they are shorter
// than their neighbour; nothing shows which layers they are where no other pass shows it.
func TestCutLayersOfFrames(t *testing.T) {
	for _, c := range []struct {
		name             string
		cut              Partial
		layers           []int32
		source           string
		of, shown        int
		front, back, end bool
		conf             float64
	}{
		{"not cut", Uncut, []int32{0, 1, 1, 2}, "modules", 3, 3, false, false, false, 1},
		{"a shorter first layer", CutAtStart, []int32{0, 1, 1, 2, 2}, "modules", 3, 3, true, false, true,
			segment.CapBack},
		{"a whole first layer", CutAtStart, []int32{0, 0, 1, 1, 2, 2}, "modules", 3, 3, false, false, true,
			segment.CapBack},
		{"a longer first layer", CutAtStart, []int32{0, 0, 0, 1, 1, 2, 2}, "modules", 3, 3, false, false, true,
			segment.CapBack},
		{"a shorter last layer", CutAtEnd, []int32{0, 0, 1, 1, 2}, "modules", 3, 3, false, true, false, 1},
		{"both", CutAtBoth, []int32{0, 1, 1, 2}, "modules", 3, 3, true, true, true, segment.CapBack},
		{"a shorter first layer of two", CutAtStart, []int32{0, 1, 1}, "modules", 2, 2, true, false, true,
			segment.CapBack},
		{"a shorter last layer of two", CutAtEnd, []int32{0, 0, 1}, "modules", 2, 2, false, true, false, 1},
		{"a last layer longer than its neighbour", CutAtEnd, []int32{0, 0, 0, 1, 2, 2}, "modules", 3, 3, false, false,
			false, 1},
		{"one layer", CutAtBoth, []int32{0, 0}, "modules", 1, 1, false, false, true, segment.CapBack},
		{"the config says how many", CutAtStart, []int32{0, 1, 1, 2, 2}, "config", 3, 3, true, false, false, 1},
		{"another pass shows more", CutAtStart, []int32{0, 1, 1, 2, 2}, "modules", 4, 3, true, false, false, 1},
		{"kernels outside of layers", CutAtStart, []int32{None, 0, 1, 1, None, 2, 2, None}, "modules", 3, 3, true,
			false, true, segment.CapBack},
	} {
		count := 0
		for _, l := range c.layers {
			count = max(count, int(l)+1)
		}
		r := &Result{Span: Span{Kernels: c.layers, Cut: c.cut}, Layer: c.layers, Count: count, LayerConf: 1,
			framed: frameSpan{layers: c.shown}}
		r.doubtFramed(&Model{Layers: c.of, Source: Source(c.source)})
		if r.CutFirst != c.front || r.CutLast != c.back || r.FromEnd != c.end || r.LayerConf != c.conf {
			t.Errorf("%s: first cut %v, last cut %v, from the end %v, %v; want %v, %v, %v, %v", c.name, r.CutFirst,
				r.CutLast, r.FromEnd, r.LayerConf, c.front, c.back, c.end, c.conf)
		}
	}
}

// TestGroupsOfACombThatAreCut: the first and the last group of a window may be shorter than a pass.
func TestGroupsOfACombThatAreCut(t *testing.T) {
	s := byRole("xnmxnmxnmx")
	for _, c := range []struct {
		groups [][2]int
		g, per int
		want   Partial
	}{
		{[][2]int{{0, 4}, {4, 8}}, 0, 4, Uncut}, {[][2]int{{0, 3}, {3, 7}}, 0, 4, CutAtStart},
		{[][2]int{{0, 4}, {4, 7}}, 1, 4, CutAtEnd}, {[][2]int{{0, 4}, {4, 7}, {7, 11}}, 1, 4, Uncut},
		{[][2]int{{0, 4}, {4, 8}}, 1, 0, Uncut}, {[][2]int{{0, 5}}, 0, 4, Uncut},
	} {
		if got := cutOf(s, []int{1, 4, 7}, c.groups, c.g, c.per); got != c.want {
			t.Errorf("group %d of %v, %d a pass: %q, want %q", c.g, c.groups, c.per, got, c.want)
		}
	}
}

// TestRunsInFrontOfACutPass: what was launched before a pass whose beginning the window cuts off is of that
// pass, outside of its layers.
func TestRunsInFrontOfACutPass(t *testing.T) {
	for _, c := range []struct {
		evidence string
		cut      Partial
		want     string
	}{{"module", CutAtStart, "true [8 9 1 2] [-1 -1 0 1]"}, {"module", CutAtBoth, "true [8 9 1 2] [-1 -1 0 1]"},
		{"module", CutAtEnd, "false [1 2] [0 1]"}, {"module", Uncut, "false [1 2] [0 1]"},
		{"repeat", CutAtStart, "false [1 2] [0 1]"}} {
		r := &Result{Span: Span{Kernels: []int32{1, 2}, Cut: c.cut}, Layer: []int32{0, 1},
			LayerEvidence: Rung(c.evidence)}
		if got := fmt.Sprint(r.precededBy([]int32{8, 9}), r.Kernels, r.Layer); got != c.want {
			t.Errorf("%s, cut at %q: %s, want %s", c.evidence, c.cut, got, c.want)
		}
	}
}

// TestBusiestModules: the class that launched most kernels, of those that hold layers where any does; the first name
// of equals.
func TestBusiestModules(t *testing.T) {
	for _, c := range []struct {
		counts map[string]int
		layers string
		want   string
	}{{map[string]int{"A": 3, "B": 5}, "", "B 5 false"}, {map[string]int{"A": 3, "B": 5}, "A", "A 3 true"},
		{map[string]int{"A": 5, "B": 5}, "", "A 5 false"}, {nil, "", " 0 false"},
		{map[string]int{"A": 3}, "B", "A 3 false"}} {
		f := &Frames{hasLayers: map[string]bool{c.layers: c.layers != ""}}
		var calls []moduleCall
		for class, n := range c.counts {
			calls = append(calls, moduleCall{frameSpan: &frameSpan{class: class}, kernels: make([]int32, n)})
		}
		class, most, any := f.busiest(calls)
		if got := fmt.Sprint(class, " ", most, " ", any); got != c.want {
			t.Errorf("%v, layers in %q: %s, want %s", c.counts, c.layers, got, c.want)
		}
	}
	for some, want := range map[int]bool{900: true, 899: false, 1000: true} {
		if got := coversAsMuch(some, 1000); got != want {
			t.Errorf("%d of 1000 kernels: as much %v, want %v", some, got, want)
		}
	}
}

// TestHostOfAPass: from the first launch of the thread that launched most of a pass to the end of its last one.
func TestHostOfAPass(t *testing.T) {
	for _, c := range []struct {
		name       string
		launches   []int64
		threads    string
		start, end int64
	}{
		{"one thread", []int64{100, 200, 300}, "000", 100, 301},
		{"another thread's do not count", []int64{50, 200, 300}, "100", 200, 301},
		{"not in order", []int64{300, 100, 200}, "000", 100, 301},
		{"without the first", []int64{-1, 200, 300}, "000", 200, 301}, {"one", []int64{150}, "0", 150, 151},
		{"the first of equals", []int64{100, 200}, "01", 100, 101}, {"none", []int64{-1}, "0", 0, 0},
	} {
		var runs []run
		for i, at := range c.launches {
			runs = append(runs, run{"k", 7, int64(10 * i), 5, at, int64(c.threads[i] - '0'), 0})
		}
		w, kernels := workOfRuns(runs...)
		h := w.HostOf(&Result{Span: Span{Kernels: kernels}})
		start, end := int64(0), int64(0)
		if h.End != 0 || h.Start != 0 {
			start, end = w.Trace.Raw(h.Start), w.Trace.Raw(h.End)
		}
		if start != c.start || end != c.end {
			t.Errorf("%s: from %d to %d, want %d to %d", c.name, start, end, c.start, c.end)
		}
	}
}

// TestCutAtAnchors: boundaries are right after the anchors that close layers, and right before those that
// open them; of two blocks a layer the second anchor closes it, the first opens it.
func TestCutAtAnchors(t *testing.T) {
	for _, c := range []struct {
		name, kernels string // A an anchor
		position      string
		blocks, n     int
		cut           Partial
		want          string // the layer of each kernel, "" where anchors do not decide
	}{
		{"closes", "exyAxyAxyAz", profile.AnchorCloses, 1, 0, Uncut, "-000111222-"},
		{"opens", "eAxyAxyAxyz", profile.AnchorOpens, 1, 0, Uncut, "-000111222-"},
		{"two blocks, closes", "exAyAxAyAxAyAz", profile.AnchorCloses, 2, 0, Uncut, "-000011112222-"},
		{"two blocks, opens", "eAxAyAxAyAxAyz", profile.AnchorOpens, 2, 0, Uncut, "-000011112222-"},
		{"as many as asked for", "exyAxyAxyAz", profile.AnchorCloses, 1, 3, Uncut, "-000111222-"},
		{"other than asked for", "exyAxyAxyAz", profile.AnchorCloses, 1, 4, Uncut, ""},
		{"half a layer", "exAyAxAyAxAz", profile.AnchorCloses, 2, 0, Uncut, ""},
		{"one layer", "exyAz", profile.AnchorCloses, 1, 0, Uncut, ""},
		{"cut in front", "yAxyAxyAz", profile.AnchorCloses, 1, 5, CutAtStart, "22333444-"},
		{"cut behind", "exyAxyAxy", profile.AnchorCloses, 1, 5, CutAtEnd, "-00011122"},
	} {
		var acts []act
		for i, k := range c.kernels {
			acts = append(acts, act{"kernel_" + string(k), 7, int64(10 * i), 5})
		}
		w, kernels := workOf(acts...)
		m := &Model{Position: c.position, Blocks: c.blocks, Layers: c.n}
		m.IsAnchor, _ = w.FindAnchors("kernel_A")
		r := w.prepare(Span{Kernels: kernels, Cut: c.cut})
		got := ""
		if w.byAnchors(r, m) {
			for _, l := range r.Layer {
				got += strings.ReplaceAll(fmt.Sprint(l), "-1", "-")
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestSecondHalves: a stream beside the busiest one runs the second half of a batch where it has norms, products and
// two mixers at least, and the streams take turns more often than it mixes.
func TestSecondHalves(t *testing.T) {
	names := map[rune]string{'n': "rms_norm_kernel", 'q': "nvjet_qkv", 'm': "flash_fwd_kernel", 'x': "some_kernel",
		'y': "a_kernel_of_its_own"}
	for _, c := range []struct {
		kernels string // capitals on the other stream
		want    bool
	}{
		{"nqmxNQMXnqmxNQMX", true}, {"nqmxNQMX", false}, {"nqmxxxNQMXnqmxxxxNQMXNQMX", false},
		{"nqmxxxNQMXnqmxxxNQMXNQMXnqm", true}, {"nqmxQMXnqmxQMX", false}, {"nqmxNMXnqmxNMX", false},
		{"nqmxNQXnqmxNQX", false}, {"nqmxnqmx", false},
		{"nqmxNQMnqmxNQM", true}, {"nqmxNQMXnqmxXNQX", false}, {"nqmxNQMnqmxQM", true}, {"nqmxNQMnqmxNM", true},
		{"nqmxNQMXnqmxNQMXYYnqmx", false}, {"nqmxNQMXnqmxNQMXYnqmx", false}, {"nqmxNQMXXnqmxNQMXXYnqmx", true},
	} {
		var acts []act
		for i, k := range c.kernels {
			a := act{"", 7, int64(10 * i), 5}
			if k < 'a' {
				k, a.stream = k+'a'-'A', 8
			}
			a.name = names[k]
			acts = append(acts, a)
		}
		w, kernels := workOf(acts...)
		stream, got := w.secondHalf(kernels)
		if got != c.want || got && stream != 8 {
			t.Errorf("%s: a second half %v on stream %d, want %v", c.kernels, got, stream, c.want)
		}
		first, second := w.withoutHalf(kernels)
		if len(second) > 0 && (w.Act(second[0]).Stream() != 8 || w.Act(first[0]).Stream() != 7) {
			t.Errorf("%s: the halves are taken for each other", c.kernels)
		}
		if got := w.OneStream(kernels); got != (strings.ToLower(c.kernels) == c.kernels) {
			t.Errorf("%s: of one stream %v", c.kernels, got)
		}
		if (len(second) > 0) != c.want || len(first)+len(second) != len(kernels) {
			t.Errorf("%s: %d and %d of %d kernels", c.kernels, len(first), len(second), len(kernels))
		}
	}
}
