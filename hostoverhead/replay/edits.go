package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/internal/vocabulary"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// Kind is what an edit changes.
type Kind string

// The kinds of edits.
const (
	// Cause removes a host cause: the time of ranges, frames, operators and calls of a name between launches.
	Cause Kind = "cause"
	// Overlap lets the host run one step ahead: it prepares and launches a step while the one before runs.
	Overlap Kind = "overlap"
	// Graphs launches all kernels of a step as one graph.
	Graphs Kind = "graphs"
	// Sync removes synchronising calls of a name, or all within ranges or operators of a name, such as aten::item.
	Sync Kind = "sync"
	// Kernel multiplies the duration of kernels of a name.
	Kernel Kind = "kernel"
	// Fuse makes one kernel of two that follow one another on a stream.
	Fuse Kind = "fuse"
	// Times gives kernels what kernels of their names take in another trace of the same GPU, see [Edit.From].
	Times Kind = "kernels-of"
	// Chain makes one kernel of each occurrence of a chain of the triage's fuse table, see [Edit.In].
	Chain Kind = "chain"
)

// kindRow is what is known of a kind.
type kindRow struct {
	kind    Kind
	uses    edges // that it rests on
	assumes bool  // what no trace shows: the constants
	title   func(Edit) string
	plan    func(*model, *plan, Edit, constants) string // "", or why it cannot be made
}

// kinds has one row for each kind.
var kinds = []kindRow{
	{Cause, launchEdges, false, func(e Edit) string { return "without " + e.Name }, (*model).planCause},
	{Overlap, waitEdges, true, func(Edit) string {
		return "overlap scheduling (host one step ahead)"
	}, (*model).planOverlap},
	{Graphs, launchEdges, true, func(Edit) string { return "all launches of a step in one graph" }, (*model).planGraphs},
	{Sync, waitEdges, false, func(e Edit) string { return "without waiting in " + e.Name }, (*model).planSync},
	{Kernel, streamEdges, false, func(e Edit) string {
		return fmt.Sprintf("%s in %s its time", e.Name, table.Times(e.factor(), 2))
	}, (*model).planKernel},
	{Fuse, streamEdges, false, func(e Edit) string {
		return fmt.Sprintf("%s and %s fused, in %s their time", e.Name, e.Then, table.Times(e.factor(), 2))
	}, (*model).planFuse},
	{Times, streamEdges, false, func(e Edit) string { return "with the kernel times of " + e.Name }, (*model).planTimes},
	{Chain, streamEdges, true, func(e Edit) string {
		return "fuse " + strings.TrimSuffix(e.Name, " in pieces") + " into one kernel"
	}, (*model).planChain},
}

// row is that of a kind.
func (k Kind) row() *kindRow {
	i := slices.IndexFunc(kinds, func(r kindRow) bool { return r.kind == k })
	if i < 0 {
		return &kindRow{kind: k, title: Edit.String, plan: func(*model, *plan, Edit, constants) string {
			return "no edit has this kind"
		}}
	}
	return &kinds[i]
}

// Kinds lists the kinds of edits.
func Kinds() (out []Kind) {
	for i := range kinds {
		out = append(out, kinds[i].kind)
	}
	return out
}

// String returns the kind's word.
func (k Kind) String() string { return string(k) }

// MarshalText returns the kind's word and refuses unknown ones.
func (k Kind) MarshalText() ([]byte, error) {
	return []byte(k), vocabulary.Check("kind of edit", Kinds(), k)
}

// UnmarshalText accepts the word of a kind.
func (k *Kind) UnmarshalText(text []byte) error {
	return vocabulary.Set(k, "kind of edit", text, Kinds()...)
}

// Edit is one change.
type Edit struct {
	// Kind says what is changed.
	Kind Kind `json:"kind"`
	// Name is a part of the names that the edit is about; of two kernels to fuse the first, Then the second; of Times
	// the other trace; of Chain the name in the fuse table.
	Name string `json:"name,omitempty"`
	Then string `json:"then,omitempty"`
	// Factor multiplies durations: those of kernels, or the sum of two that are fused. 0: one for kernels to fuse, a
	// half for kernels.
	Factor float64 `json:"factor,omitempty"`

	times map[string]kernelTimes
	gpu   string // that times are of
	fused []Fused
}

// kernelTimes are the launches of a kernel.
type kernelTimes struct{ sum, count int64 }

func (k kernelTimes) mean() float64 { return float64(k.sum) / float64(k.count) }

// timesOf are those of a device, by name.
func timesOf(d *layer.Device) map[string]kernelTimes {
	out := map[string]kernelTimes{}
	for i := range d.NumKernels() {
		e := d.Kernel(i).Event()
		k := out[e.Name()]
		out[e.Name()] = kernelTimes{k.sum + int64(e.Duration()), k.count + 1}
	}
	return out
}

// From is an edit of the kind [Times] with what kernels take on a device of another trace.
func (e Edit) From(d *layer.Device) Edit {
	e.times, e.gpu = timesOf(d), d.GPU
	return e
}

// Parse reads an edit as programs take it: "cause=NAME", "overlap", "graphs", "sync=NAME", "kernel=NAME*0.5",
// "fuse=A+B*0.8", "kernels-of=FILE", "chain=NAME".
func Parse(text string) (Edit, error) {
	word, rest, _ := strings.Cut(text, "=")
	var e Edit
	known := e.Kind.UnmarshalText([]byte(word)) == nil
	if e.Kind == Kernel || e.Kind == Fuse {
		if i := strings.LastIndexByte(rest, '*'); i >= 0 {
			f, err := strconv.ParseFloat(rest[i+1:], 64)
			if err != nil || !(f >= 0 && f <= 100) {
				return Edit{}, fmt.Errorf("edit %q: a factor is a number from 0 to 100", text)
			}
			rest, e.Factor = rest[:i], f
		}
	}
	e.Name = rest
	if e.Kind == Fuse {
		e.Name, e.Then, _ = strings.Cut(rest, "+")
	}
	needs := e.Kind != Overlap && e.Kind != Graphs
	if !known || needs == (e.Name == "") || e.Kind == Fuse && e.Then == "" {
		return Edit{}, fmt.Errorf("edit %q: want cause=NAME, overlap, graphs, sync=NAME, kernel=NAME*FACTOR, "+
			"fuse=FIRST+SECOND*FACTOR, kernels-of=FILE or chain=NAME", text)
	}
	return e, nil
}

// String is the edit as [Parse] reads it.
func (e Edit) String() string {
	out := e.Kind.String()
	if e.Name != "" {
		out += "=" + e.Name
	}
	if e.Then != "" {
		out += "+" + e.Then
	}
	if e.Factor != 0 {
		out += fmt.Sprintf("*%g", e.Factor)
	}
	return out
}

// Title is the edit in words.
func (e Edit) Title() string { return e.Kind.row().title(e) }

func (e Edit) factor() float64 {
	switch {
	case e.Factor != 0:
		return e.Factor
	case e.Kind == Kernel:
		return 0.5
	}
	return 1
}

// plan makes an edit. A reason is given where that cannot be. The plan is to be run before the next one is made, which
// has its calls and acts in the same place: they are many, and plans two for each edit.
func (m *model) plan(e Edit, c constants) (*plan, string) {
	p := m.unedited()
	m.planned.items, m.planned.acts = append(m.planned.items[:0], p.items...), append(m.planned.acts[:0], p.acts...)
	p.items, p.acts = m.planned.items, m.planned.acts
	return p, e.Kind.row().plan(m, p, e, c)
}

// named are the spans of a name, as recorded or as findings have it, on the threads that launch, by thread of the
// model.
func (m *model) named(name string, lanes ...event.Lane) [][]interval.Span {
	out := make([][]interval.Span, len(m.launching))
	matches := make([]bool, m.t.NumNames())
	for i := range matches {
		id := trace.NameID(i)
		matches[i] = strings.Contains(m.t.Name(id), name) || strings.Contains(m.general(id), name)
	}
	if !slices.Contains(matches, true) {
		return out
	}
	for at, th := range m.launching {
		for _, lane := range lanes {
			for e := range m.t.OnThread(lane, th) {
				if matches[e.NameID()] {
					out[at] = append(out[at], interval.Span{Start: int64(e.Start()), End: int64(e.End())})
				}
			}
		}
		out[at] = interval.UnionInPlace(out[at])
	}
	return out
}

// before is the host time before a call, and during the time that it takes.
func (it *item) before() interval.Span { return interval.Span{Start: it.start - it.pre, End: it.start} }

func (it *item) during() interval.Span {
	return interval.Span{Start: it.start, End: it.start + max(it.d, 1)}
}

func (m *model) planCause(p *plan, e Edit, _ constants) string {
	list := m.named(e.Name, event.LaneAnnotation, event.LanePython, event.LaneOp, event.LaneSync)
	found := false
	for i := range p.items {
		it := &p.items[i]
		n := interval.Covered(list[it.thread], it.before())
		it.pre -= n
		found = found || n > 0
		if it.waits == none && it.acts == 0 && strings.Contains(m.t.Name(it.name), e.Name) {
			it.d, found = 0, true
		}
	}
	if !found {
		return "nothing of that name runs on the thread that launches"
	}
	return ""
}

func (m *model) planSync(p *plan, e Edit, _ constants) string {
	list := m.named(e.Name, event.LaneAnnotation, event.LanePython, event.LaneOp)
	found := false
	for i := range p.items {
		it := &p.items[i]
		inside := interval.Covered(list[it.thread], it.during()) > 0
		if it.waits == none || !inside && !strings.Contains(m.t.Name(it.name), e.Name) {
			continue
		}
		if it.acts > 0 && m.acts[it.first].copies && inside { // the copy of an item() is not made
			for a := it.first; a < it.first+it.acts; a++ {
				p.acts[a].without = true
			}
			it.pre -= interval.Covered(list[it.thread], it.before())
		}
		it.waits, it.d, found = none, emptySync, true
	}
	if !found {
		return "no call of that name waits for the device"
	}
	return ""
}

func (m *model) planKernel(p *plan, e Edit, _ constants) string {
	found := false
	for i := range m.acts {
		a := &m.acts[i]
		if a.copies || !strings.Contains(m.t.Name(a.name), e.Name) {
			continue
		}
		if a.comm {
			return "kernels of that name exchange data: their length is that of other ranks"
		}
		p.acts[i].d, found = int64(float64(a.d)*e.factor()), true
	}
	if !found {
		return "no kernel has that name"
	}
	return ""
}

// planTimes multiplies the launches of a kernel by how its mean differs: they keep their differences among each other.
func (m *model) planTimes(p *plan, e Edit, _ constants) string {
	if e.gpu != m.d.GPU {
		return "the other trace is of another GPU: kernel times do not carry over"
	}
	own := timesOf(m.d)
	var all, known int64
	for i := range m.acts {
		a := &m.acts[i]
		if a.copies || a.comm {
			continue
		}
		all += a.d
		if other, ok := e.times[m.t.Name(a.name)]; ok {
			known += a.d
			p.acts[i].d = int64(float64(a.d) * other.mean() / max(own[m.t.Name(a.name)].mean(), 1))
		}
	}
	if float64(known) < sameKernels*float64(all) {
		return fmt.Sprintf("kernels of only %s of the time run in the other trace",
			table.Pct(100*float64(known)/float64(all), 0))
	}
	return ""
}

func (m *model) planFuse(p *plan, e Edit, _ constants) string {
	found := false
	for i := range m.acts {
		b := &m.acts[i]
		if b.prev == none || !strings.Contains(m.t.Name(b.name), e.Then) {
			continue
		}
		a, first := &m.acts[b.prev], &p.acts[b.prev]
		if !strings.Contains(m.t.Name(a.name), e.Name) || first.without || a.comm || b.comm {
			continue
		}
		first.d = int64(float64(first.d+p.acts[i].d) * e.factor())
		p.acts[i].without, found = true, true
		if it := &p.items[b.item]; it.acts == 1 { // the call is not made
			it.pre, it.d = 0, 0
		}
	}
	if !found {
		return "no two kernels of these names follow one another on a stream"
	}
	return ""
}

// stepItems are the items of each pass: those that launch it, in order.
func (m *model) stepItems() [][]int32 {
	out := make([][]int32, m.passes)
	for i := range m.items {
		it := &m.items[i]
		if it.acts > 0 {
			if p := m.acts[it.first].pass; p >= 0 {
				out[p] = append(out[p], int32(i))
			}
		}
	}
	return out
}

func (m *model) planGraphs(p *plan, _ Edit, c constants) string {
	found := false
	for _, list := range m.stepItems() {
		var launches []int32
		for _, i := range list {
			it := &m.items[i]
			if it.graph {
				return "a graph launch already covers launches of a step"
			}
			if !m.acts[it.first].copies {
				launches = append(launches, i)
			}
		}
		if len(launches) < 2 {
			continue
		}
		first, last := launches[0], launches[len(launches)-1]
		for i := first; i <= last; i++ {
			if m.items[i].waits != none {
				return "a synchronisation lies between the launches of a step: no graph can hold it"
			}
		}
		graph := &p.items[first]
		graph.d, graph.lat, found = c.call, c.lat, true
		for a := graph.first; a < graph.first+graph.acts; a++ {
			p.acts[a].lat = c.lat
		}
		for i := first + 1; i <= last; i++ {
			it := &p.items[i]
			if it.thread != graph.thread {
				continue
			}
			it.pre, it.d = 0, 0
			for a := it.first; a < it.first+it.acts; a++ {
				p.acts[a].chain = c.body
			}
		}
	}
	if !found {
		return "no step has two launches"
	}
	return ""
}

// planOverlap moves what the host does between the last wait of a step and the launches of the next one after these
// launches.
//
// As recorded: launches 0, wait 0, host 0, launches 1, wait 1, host 1, launches 2 … One step ahead: launches 0,
// launches 1, wait 0, host 0, launches 2, wait 1, host 1 … What a step needs before its own launches is not known:
// that is the constant.
func (m *model) planOverlap(p *plan, _ Edit, c constants) string {
	list := slices.DeleteFunc(m.stepItems(), func(l []int32) bool { return len(l) == 0 })
	var out, carry []int32
	var left int64 // host time that follows what is carried
	at, moved := int32(0), 0
	upTo := func(end int32) {
		for ; at < end; at++ {
			out = append(out, at)
		}
	}
	for s := range list {
		first, last := list[s][0], list[s][len(list[s])-1]
		if first < at {
			return "launches of two steps are mixed"
		}
		upTo(first)
		ahead, rest := carry, left
		carry, left = nil, 0
		to := int32(len(m.items))
		if s+1 < len(list) {
			to = list[s+1][0]
		}
		wait := int32(none)
		for i := last; i < to; i++ {
			if m.items[i].waits != none && (i > last || m.acts[m.items[i].first].copies) {
				wait = i
			}
		}
		for i := first; i < last; i++ {
			if m.items[i].waits != none && i != wait {
				return "a synchronisation lies between the launches of a step: the host cannot run ahead of it"
			}
		}
		if wait == none {
			upTo(last + 1)
			out = append(out, ahead...)
			upTo(to)
			if s+1 < len(list) {
				p.items[to].pre += rest
			}
			continue
		}
		upTo(wait)
		out = append(out, ahead...)
		if s+1 == len(list) {
			continue
		}
		for ; at < to; at++ {
			carry = append(carry, at)
		}
		left = max(0, m.items[to].pre-c.host)
		p.items[to].pre = min(c.host, m.items[to].pre) + rest
		moved++
	}
	out = append(out, carry...)
	upTo(int32(len(m.items)))
	if moved < len(list)/2 {
		return "the host does not wait between steps: it runs ahead already"
	}
	p.order = out
	return ""
}
