package trace

import (
	"math"

	"github.com/llmstrata/strata/internal/scan"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/internal/column"
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
	rank     collectiveRank
	repaired int64
	open     map[threadKey][]half // B without E yet
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
	nameText    []jsonText
	rawText     []string
	threadKeys  []threadKey
	queueKeys   []queue
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
		open: map[threadKey][]half{}}
	for i := range k.workers {
		w := &k.workers[i]
		w.names, w.nameText = translation{0}, []jsonText{{}}
		w.raws, w.rawText = translation{0}, []string{""}
		w.scopes, w.scopeKeys = []uint16{0}, []string{""}
	}
	return k
}

// NewShard implements scan.Sink. A worker's shards share the worker's tables.
func (k *sink) NewShard(id int) scan.Shard {
	w := k.cfg.workers[id]
	if w == nil { // only this goroutine uses slot id
		w = newWorker(id, k.cfg)
		k.cfg.workers[id] = w
	}
	return newShard(w)
}

// learn files what is new in a shard's worker tables.
func (k *sink) learn(s *shard) *sinkWorker {
	w := &k.workers[s.worker.id]
	w.nameText = append(w.nameText, s.fresh.names...)
	for range s.fresh.names {
		w.names = append(w.names, unset)
	}
	w.rawText = append(w.rawText, s.fresh.raws...)
	for range s.fresh.raws {
		w.raws = append(w.raws, unset)
	}
	w.threadKeys = append(w.threadKeys, s.fresh.threads...)
	for range s.fresh.threads {
		w.threads = append(w.threads, -1)
	}
	w.queueKeys = append(w.queueKeys, s.fresh.queues...)
	for range s.fresh.queues {
		w.queues = append(w.queues, -1)
	}
	w.scopeKeys = append(w.scopeKeys, s.fresh.scopes...)
	for range s.fresh.scopes {
		w.scopes = append(w.scopes, 0)
	}
	w.cats = append(w.cats, s.fresh.categories...)
	w.textBytes += s.fresh.bytes
	k.workerNames = max(k.workerNames, int64(max(len(w.names), len(w.raws))))
	k.workerText = max(k.workerText, w.textBytes)
	k.workerTracks = max(k.workerTracks, len(w.threadKeys), len(w.queueKeys), len(w.cats))
	return w
}

// Discard implements scan.Sink.
func (k *sink) Discard(sh scan.Shard) {
	s := sh.(*shard)
	k.learn(s)
	s.reset()
}

// Commit implements scan.Sink.
func (k *sink) Commit(sh scan.Shard) error {
	s := sh.(*shard)
	w := k.learn(s)
	b := k.b
	for l := range s.lanes {
		src := &s.lanes[l]
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
	b.minRaw = min(b.minRaw, s.minRaw)
	if s.rank.seen {
		k.rank.see(s.rank.rank)
		k.rank.mixed = k.rank.mixed || s.rank.mixed
	}
	for ci, c := range s.counts {
		for slot, n := range c {
			if n != 0 {
				b.counts[[2]string{countedPhases[slot-1 : slot], w.cats[ci]}] += n
			}
		}
	}
	for key, n := range s.others {
		b.counts[key] += n
	}
	b.losses.merge(s.losses.list)
	for _, l := range s.labels {
		b.textBytes += int64(len(l.text))
		if l.process {
			b.procs[l.thread.proc] = l.text
		} else {
			b.threads[l.thread] = l.text
		}
	}
	for i := range s.pairs {
		k.pair(&s.pairs[i])
	}
	if k.rows += int64(len(s.flows)); k.rows <= k.cfg.limits.Events {
		b.flows = append(b.flows, s.flows...)
	}
	for i := range s.samples {
		if k.rows++; k.rows > k.cfg.limits.Events {
			break
		}
		b.Add(s.samples[i])
	}
	s.reset()
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
			g = int32(k.b.thread(w.threadKeys[th]))
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
		g = k.b.internOwned(f.text)
		if f.repaired && len(k.b.t.names) > before {
			k.repaired++
		}
		w.names[id] = g
		*f = jsonText{}
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
		g = k.b.queue(w.queueKeys[q])
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

// pair closes B/E pairs, innermost first on each thread.
func (k *sink) pair(p *half) {
	key := p.data.thread()
	stack := k.open[key]
	switch {
	case p.begin && k.openN < maxOpenPairs && k.openArgs < maxOpenArgs:
		k.open[key] = append(stack, *p)
		k.openN++
		k.openArgs += int64(len(p.data.Args))
	case p.begin:
		k.b.losses.add(event.Limit, p.offset)
	case len(stack) == 0:
		k.b.losses.add(event.Unmatched, p.offset)
	default:
		top := stack[len(stack)-1]
		k.open[key] = stack[:len(stack)-1]
		k.openN--
		d, end := top.data, p.data.Start
		k.openArgs -= int64(len(d.Args))
		if d.Duration = end - d.Start; d.Duration < 0 {
			k.b.losses.add(event.NegativeDuration, top.offset)
			return
		}
		if k.cfg.wants[d.Kind] {
			k.rows++
			k.b.Add(d)
		}
	}
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
