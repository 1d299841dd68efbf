package trace

import (
	"math"

	"github.com/llmstrata/strata/internal/scan"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/internal/column"
	"github.com/llmstrata/strata/trace/internal/shard"
)

// sink appends shards to a Builder in file order. See the NOTE in shard.go.
type sink struct {
	cfg     *config
	b       *Builder
	workers []sinkWorker
	// progress answers how much of the input has been consumed; total is 0 when
	// its size is not known.
	progress func() (done, total int64)
	rows     int64
	rank     shard.Rank
	repaired int64
	open     map[threadKey][]openPair // B without E yet
	openN    int64
	openArgs int64 // bytes of args that open holds

	// The largest of the workers' tables, which may hold what was read on a wrong
	// guess and so is in no table of the Builder.
	workerNames, workerText int64
	workerTracks            int
}

// sinkWorker translates one worker's numbers into the Builder's.
type sinkWorker struct {
	names, raws translation
	nameText    []shard.Name
	rawText     []string
	threadKeys  []shard.Thread
	queueKeys   []shard.Queue
	scopeKeys   []string
	threads     []int32
	queues      []int32
	scopes      []uint16
	cats        []string
	textBytes   int64
}

// translation maps a worker's name numbers; unset until a row needs one.
type translation []uint32

const unset = uint32(math.MaxUint32)

func newSink(cfg *config, b *Builder, workers int, progress func() (done, total int64)) *sink {
	k := &sink{cfg: cfg, b: b, workers: make([]sinkWorker, workers+1), progress: progress,
		open: map[threadKey][]openPair{}}
	for i := range k.workers {
		w := &k.workers[i]
		w.names, w.nameText = translation{0}, []shard.Name{{}}
		w.raws, w.rawText = translation{0}, []string{""}
		w.scopes, w.scopeKeys = []uint16{0}, []string{""}
	}
	return k
}

// NewShard implements scan.Sink. A worker's shards share the worker's tables.
func (k *sink) NewShard(id int) scan.Shard {
	w := k.cfg.workers[id]
	if w == nil { // only this goroutine uses slot id
		w = shard.NewWorker(id, &k.cfg.Config)
		k.cfg.workers[id] = w
	}
	return shard.New(w)
}

// learn files what is new in a shard's worker tables.
func (k *sink) learn(s *shard.Shard) *sinkWorker {
	w := &k.workers[s.Worker.ID]
	w.nameText = append(w.nameText, s.Fresh.Names...)
	for range s.Fresh.Names {
		w.names = append(w.names, unset)
	}
	w.rawText = append(w.rawText, s.Fresh.Raws...)
	for range s.Fresh.Raws {
		w.raws = append(w.raws, unset)
	}
	w.threadKeys = append(w.threadKeys, s.Fresh.Threads...)
	for range s.Fresh.Threads {
		w.threads = append(w.threads, -1)
	}
	w.queueKeys = append(w.queueKeys, s.Fresh.Queues...)
	for range s.Fresh.Queues {
		w.queues = append(w.queues, -1)
	}
	w.scopeKeys = append(w.scopeKeys, s.Fresh.Scopes...)
	for range s.Fresh.Scopes {
		w.scopes = append(w.scopes, 0)
	}
	w.cats = append(w.cats, s.Fresh.Categories...)
	w.textBytes += s.Fresh.Bytes
	k.workerNames = max(k.workerNames, int64(max(len(w.names), len(w.raws))))
	k.workerText = max(k.workerText, w.textBytes)
	k.workerTracks = max(k.workerTracks, len(w.threadKeys), len(w.queueKeys), len(w.cats))
	return w
}

// Discard implements scan.Sink.
func (k *sink) Discard(sh scan.Shard) {
	s := sh.(*shard.Shard)
	k.learn(s)
	s.Reset()
}

// Commit implements scan.Sink.
func (k *sink) Commit(sh scan.Shard) error {
	s := sh.(*shard.Shard)
	w := k.learn(s)
	b := k.b
	for l := range s.Lanes {
		src := &s.Lanes[l]
		n := src.Len()
		if n == 0 {
			continue
		}
		if k.rows += int64(n); k.rows > k.cfg.limits.Events {
			break
		}
		k.translate(w, src)
		b.t.lanes[l].Append(src, k.predict)
	}
	b.minRaw = min(b.minRaw, s.MinRaw)
	if s.Rank.Any {
		k.rank.See(s.Rank.Rank)
		k.rank.Mixed = k.rank.Mixed || s.Rank.Mixed
	}
	for ci, c := range s.Counts {
		for slot, n := range c {
			if n != 0 {
				b.counts[[2]string{shard.Phases[slot-1 : slot], w.cats[ci]}] += n
			}
		}
	}
	for key, n := range s.Others {
		b.counts[key] += n
	}
	b.losses.merge(s.Lost)
	for _, l := range s.Labels {
		b.textBytes += int64(len(l.Text))
		if key := keyOf(l.Key); l.Process {
			b.procs[key.proc] = l.Text
		} else {
			b.threads[key] = l.Text
		}
	}
	for i := range s.Pairs {
		k.pair(&s.Pairs[i])
	}
	if k.rows += int64(len(s.Flows)); k.rows <= k.cfg.limits.Events {
		b.flows = append(b.flows, s.Flows...)
	}
	for i := range s.Samples {
		if k.rows++; k.rows > k.cfg.limits.Events {
			break
		}
		b.Add(eventData(&s.Samples[i]))
	}
	s.Reset()
	k.report()
	return k.checkLimits()
}

// report reports the progress to who asked for it.
func (k *sink) report() {
	if f := k.cfg.report; f != nil {
		read, size := k.progress()
		f(Progress{Read: read, Size: size, Events: k.rows})
	}
}

// translate rewrites a shard's columns from the worker's numbers.
func (k *sink) translate(w *sinkWorker, c *column.Columns) {
	for i, id := range c.Name {
		c.Name[i] = k.nameID(w, id)
	}
	for i, id := range c.Cat.V {
		c.Cat.V[i] = k.nameID(w, id)
	}
	for i, id := range c.Shape.V {
		c.Shape.V[i] = k.rawID(w, id)
	}
	for i, id := range c.Args.V {
		c.Args.V[i] = k.rawID(w, id)
	}
	for i, id := range c.Inputs.V {
		c.Inputs.V[i] = k.rawID(w, id)
	}
	for i, id := range c.Domain.V {
		c.Domain.V[i] = k.nameID(w, id)
	}
	for i, th := range c.Thread {
		if th < 0 {
			continue
		}
		g := w.threads[th]
		if g < 0 {
			key := w.threadKeys[th]
			g = int32(k.b.thread(procKey{key.Process.ID, key.Process.Label}, key.ID, key.Label))
			w.threads[th] = g
		}
		c.Thread[i] = g
	}
	for i, q := range c.Queue {
		c.Queue[i] = k.queueID(w, q)
	}
	for i, q := range c.AnnQueue.V {
		if q > 0 {
			c.AnnQueue.V[i] = k.queueID(w, q-1) + 1
		}
	}
	for i, s := range c.Scope.V {
		if s != 0 && w.scopes[s] == 0 {
			w.scopes[s] = k.b.scope(w.scopeKeys[s])
		}
		c.Scope.V[i] = w.scopes[s]
	}
}

func (k *sink) nameID(w *sinkWorker, id uint32) uint32 {
	g := w.names[id]
	if g == unset {
		f := &w.nameText[id]
		before := len(k.b.t.names)
		g = k.b.internOwned(f.Text)
		if f.Repaired && len(k.b.t.names) > before {
			k.repaired++
		}
		w.names[id] = g
		*f = shard.Name{}
	}
	return g
}

func (k *sink) rawID(w *sinkWorker, id uint32) uint32 {
	g := w.raws[id]
	if g == unset {
		g = k.b.internOwned(w.rawText[id])
		w.raws[id] = g
		w.rawText[id] = ""
	}
	return g
}

func (k *sink) queueID(w *sinkWorker, q int32) int32 {
	g := w.queues[q]
	if g < 0 {
		g = k.b.queue(DeviceID(w.queueKeys[q].Device), StreamID(w.queueKeys[q].Stream))
		w.queues[q] = g
	}
	return g
}

// maxOpenPairs and maxOpenArgs bound the memory that begin events without an
// end can take.
const (
	maxOpenPairs = 1 << 20
	maxOpenArgs  = 64 << 20
)

// openPair is a B without its E.
type openPair struct {
	offset int64
	data   EventData
}

// pair closes B/E pairs, innermost first on each thread.
func (k *sink) pair(p *shard.Half) {
	key := keyOf(p.Data.Thread)
	stack := k.open[key]
	switch {
	case p.Begin && k.openN < maxOpenPairs && k.openArgs < maxOpenArgs:
		k.open[key] = append(stack, openPair{p.Offset, eventData(&p.Data)})
		k.openN++
		k.openArgs += int64(len(p.Data.Args))
	case p.Begin:
		k.b.losses.add(event.Limit, p.Offset)
	case len(stack) == 0:
		k.b.losses.add(event.Unmatched, p.Offset)
	default:
		top := stack[len(stack)-1]
		k.open[key] = stack[:len(stack)-1]
		k.openN--
		d, end := top.data, p.Data.Start
		k.openArgs -= int64(len(d.Args))
		if d.Duration = end - d.Start; d.Duration < 0 {
			k.b.losses.add(event.NegativeDuration, top.offset)
			return
		}
		if k.cfg.Wants[d.Kind] {
			k.rows++
			k.b.Add(d)
		}
	}
}

func keyOf(t shard.Thread) threadKey {
	return threadKey{procKey{t.Process.ID, t.Process.Label}, t.ID, t.Label}
}

// eventData makes p what [Builder.Add] takes.
func eventData(p *shard.Plain) EventData {
	t := p.Thread
	return EventData{Kind: event.Kind(p.Kind), Category: p.Category, Name: p.Name, Start: p.Start, Value: p.Value,
		Process: t.Process.ID, ProcessLabel: t.Process.Label, Scope: p.Scope, Thread: t.ID, Label: t.Label,
		Device: DeviceID(p.Device), Stream: StreamID(p.Stream), Correlation: uint64(p.Correlation),
		ExternalID: p.ExternalID, Args: p.Args}
}

// finish counts what remained open.
func (k *sink) finish() {
	var n int64
	for _, stack := range k.open {
		n += int64(len(stack))
	}
	if n > 0 {
		k.b.LoseDetail(event.Unmatched, n, "begin events without an end")
	}
	if k.repaired > 0 {
		k.b.LoseDetail(event.Repaired, k.repaired, "names with invalid UTF-8 or control characters")
	}
}

// predict returns how many rows a column that has n now will have at the end.
func (k *sink) predict(n int) int {
	done, total := k.progress()
	return predicted(n, done, total)
}
