package nsys

import (
	"github.com/llmstrata/strata/trace"
)

// NOTE: Reading rows and storing events cost about the same, so they run side by
// side: the scans fill batches, one goroutine adds them to the Builder. Tables
// are scanned one after the other and batches arrive in order, so the Trace
// is the same every time. While the scans run, only that goroutine touches the
// Builder.

// batchSize is how many events travel together: enough that the channel costs
// nothing per event, few enough to stay in the cache.
const batchSize = 512

// pipe carries batches from the scans to the Builder.
type pipe struct {
	batch []trace.EventData // being filled
	full  chan []trace.EventData
	free  chan []trace.EventData
	done  chan struct{}
}

type tableCount struct {
	table string
	rows  int64
}

// run executes the scans and adds what they find to the Builder.
func (l *loader) run(scans []func() error) error {
	const batches = 4
	p := &pipe{full: make(chan []trace.EventData, batches), free: make(chan []trace.EventData, batches+2), done: make(chan struct{})}
	for range batches + 1 {
		p.free <- make([]trace.EventData, 0, batchSize)
	}
	p.batch = make([]trace.EventData, 0, batchSize)
	l.out = p
	l.reserve()
	go func() {
		defer close(p.done)
		for batch := range p.full {
			for i := range batch {
				l.b.Add(batch[i])
			}
			p.free <- batch[:0]
		}
	}()
	var err error
	for _, scan := range scans {
		if err = scan(); err != nil {
			break
		}
	}
	if err == nil {
		p.full <- p.batch
	}
	close(p.full)
	<-p.done
	return err
}

// add hands on an event that ran from start to end.
func (l *loader) add(e trace.EventData, start, end int64) {
	if start < -maxTime || start > maxTime || end < -maxTime || end > maxTime {
		l.farTime++
		return
	}
	e.Start, e.Duration = start, end-start
	p := l.out
	p.batch = append(p.batch, e)
	if len(p.batch) == batchSize {
		p.full <- p.batch
		p.batch = <-p.free
	}
}

// bytesPerRow is the least that a row of the large tables takes in a real
// export: two timestamps of 8 bytes, ids and the record's header.
const bytesPerRow = 30

// reserve makes room for the rows of the large tables. The largest rowid is an
// upper bound of their number in an export that nobody deleted rows from, and
// costs no scan; the file's size bounds it for others.
func (l *loader) reserve() {
	for _, t := range []struct {
		table string
		lane  trace.Lane
	}{{tableKernel, trace.LaneGPU}, {tableRuntime, trace.LaneLaunch}, {tableNVTX, trace.LaneAnnotation}} {
		if !l.db.has(t.table) || !l.cfg.wants(t.lane) {
			continue
		}
		var rows int64
		// A table without rowids is read all the same, only slower.
		_ = l.db.each("SELECT max(rowid) FROM "+quoteName(t.table), func(r *row) error {
			rows = r.int(0)
			return nil
		})
		l.b.Grow(t.lane, int(min(rows, l.db.size/bytesPerRow)))
	}
}
