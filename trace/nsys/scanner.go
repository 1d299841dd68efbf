package nsys

import (
	"context"
	"slices"
	"sync"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// NOTE: how the large tables are read side by side.
//
// Reading rows costs more than storing events, and tables do not depend on
// each other. So each of the three groups of large tables has a scanner: a
// connection of its own, read by a goroutine of its own, that turns rows into
// batches of events. One more goroutine, the loader's, adds the batches to the
// Builder: one from each scanner in turn. A scanner that runs ahead waits, one
// that lags is waited for, so the order of the events, and with it every number
// the Builder gives, depends on the file alone and never on timing.
//
// Batches are as large as their tables, so that all scanners end at about the
// same time. Between the connections nothing is shared but facts, which no
// longer change.

// scanner reads tables on its own connection and hands on what it finds.
type scanner struct {
	*facts
	db    *database
	tasks []func(*scanner) error

	event trace.EventData   // of [scanner.activities]: one for all rows, so that none is allocated
	batch []trace.EventData // being filled
	full  chan []trace.EventData
	free  chan []trace.EventData
	err   error // valid once full is closed

	counts                  []tableCount // applied to the Builder when the scans are done
	noText, noTime, farTime int64
	lost                    []string // messages of the recorder that say that something is missing, at most maxLost
	lostRows                int64

	api      map[int64]apiName   // by string id
	suffixed map[string][]string // stripped API name → names as stored

	// The last process looked up, which is nearly always the next one too.
	lastKey   int64
	lastScope string
}

type tableCount struct {
	table string
	rows  int64
}

// group is the tables that one scanner reads.
type group struct {
	largest string     // the table that decides the batches' size
	lane    event.Lane // that its rows go to
	tasks   []func(*scanner) error
}

// groups lists what has to be read for the lanes that are asked for.
func groups(o *trace.Options) []group {
	var out []group
	if stores(o, event.LaneGPU) {
		out = append(out, group{tableKernel, event.LaneGPU, []func(*scanner) error{
			(*scanner).readKernels, (*scanner).readMemcpy, (*scanner).readMemset, (*scanner).readGraphs}})
	}
	if stores(o, event.LaneLaunch) {
		out = append(out, group{tableRuntime, event.LaneLaunch, []func(*scanner) error{(*scanner).readCalls}})
	}
	var host []func(*scanner) error
	if wantsRanges(o) {
		host = append(host, (*scanner).readRanges)
	}
	if stores(o, event.LaneSync) {
		host = append(host, (*scanner).readSync, (*scanner).readOverhead, (*scanner).readOSCalls,
			(*scanner).readSwitches, (*scanner).readSamples)
	}
	if len(host) > 0 {
		host = append(host, (*scanner).readDiagnostics)
		out = append(out, group{tableNVTX, event.LaneAnnotation, host})
	}
	return out
}

// stores reports whether a lane is asked for.
func stores(o *trace.Options, l event.Lane) bool {
	return len(o.Lanes) == 0 || slices.Contains(o.Lanes, l)
}

// wantsRanges reports whether anything is asked for that NVTX ranges become.
func wantsRanges(o *trace.Options) bool {
	return stores(o, event.LaneAnnotation) || stores(o, event.LaneOp)
}

// Bounds of a batch: enough events that the channel costs nothing per event,
// few enough to stay in the cache.
const (
	minBatch = 64
	maxBatch = 1024
)

// batchesAhead is how many batches a scanner may have ready.
const batchesAhead = 4

// scanAll runs the scanners and adds what they find to the Builder.
func (l *loader) scanAll(ctx context.Context) ([]*scanner, error) {
	groups := groups(l.cfg)
	rows := make([]int64, len(groups))
	var most, all int64 = 1, 0
	for i, g := range groups {
		rows[i] = l.rowsOf(g.largest)
		l.b.Grow(g.lane, int(rows[i]))
		most, all = max(most, rows[i]), all+rows[i]
	}
	scanners := make([]*scanner, len(groups))
	for i, g := range groups {
		scanners[i] = newScanner(&l.facts, l.db.again(), g.tasks, max(minBatch, int(maxBatch*rows[i]/most)))
	}
	var running sync.WaitGroup
	defer running.Wait()
	for _, s := range scanners {
		running.Go(s.run)
	}
	l.noTime = l.addAll(scanners, all)
	for _, s := range scanners {
		if s.err != nil {
			return nil, s.err
		}
	}
	return scanners, nil
}

func newScanner(f *facts, db *database, tasks []func(*scanner) error, batch int) *scanner {
	s := &scanner{
		facts: f, db: db, tasks: tasks,
		full: make(chan []trace.EventData, batchesAhead), free: make(chan []trace.EventData, batchesAhead+2),
		api: map[int64]apiName{}, suffixed: map[string][]string{}, lastKey: -1 << 63,
	}
	for range batchesAhead + 1 {
		s.free <- make([]trace.EventData, 0, batch)
	}
	s.batch = make([]trace.EventData, 0, batch)
	return s
}

// progressRows is after how many events progress is reported: some five times a
// second.
const progressRows = 1 << 19

// addAll adds the batches of all scanners to the Builder, one of each in turn,
// until all are done, and returns how many GPU activities are left out because
// nobody knows when they ran. rows is how many there are, as far as is known.
func (l *loader) addAll(scanners []*scanner, rows int64) (noTime int64) {
	var zero zeroRows
	add := func(e trace.EventData) { l.b.Add(e) }
	done := make([]bool, len(scanners))
	var added, reported int64
	report := func(read int64) {
		if l.cfg.Progress != nil {
			l.cfg.Progress(trace.Progress{Read: read, Size: l.db.Size, Events: added})
		}
	}
	defer func() { report(l.db.Size) }()
	for open := len(scanners); open > 0; {
		for i, s := range scanners {
			if done[i] {
				continue
			}
			batch, more := <-s.full
			if !more {
				done[i] = true
				open--
				continue
			}
			for k := range batch {
				if !zero.keep(&batch[k], add) {
					l.b.Add(batch[k])
				}
			}
			added += int64(len(batch))
			s.free <- batch[:0]
			if added-reported >= progressRows {
				reported = added
				report(int64(float64(l.db.Size) * float64(added) / float64(max(rows, added))))
			}
		}
	}
	return zero.settle(add)
}

// run reads the scanner's tables one after the other.
func (s *scanner) run() {
	defer close(s.full)
	for _, task := range s.tasks {
		if s.err = task(s); s.err != nil {
			return
		}
	}
	s.full <- s.batch
}

// add hands on an event that ran from start to end.
func (s *scanner) add(e trace.EventData, start, end int64) {
	if start < -maxTime || start > maxTime || end < -maxTime || end > maxTime {
		s.farTime++
		return
	}
	e.Start, e.Duration = start, end-start
	s.batch = append(s.batch, e)
	if len(s.batch) == cap(s.batch) {
		s.full <- s.batch
		s.batch = <-s.free
	}
}

// read calls f for each row of a table and notes how many there are.
func (s *scanner) read(table string, cols []string, f func(row)) error {
	var n int64
	err := s.db.scan(table, cols, func(r row) error {
		n++
		f(r)
		return nil
	})
	s.counts = append(s.counts, tableCount{table, n})
	return err
}

// timed is read for rows with a start and an end, which are before the other columns. Rows that lack one of them are
// counted and left out.
func (s *scanner) timed(table string, cols []string, f func(r row, start, end int64)) error {
	return s.read(table, append([]string{"start", "end"}, cols...), func(r row) {
		if start, end := r.time(0), r.time(1); start == noTime || end == noTime {
			s.noTime++
		} else {
			f(r, start, end)
		}
	})
}

// activities reads a table whose rows ran on a GPU; f completes each event. The columns are numbered from
// firstOfActivity on.
func (s *scanner) activities(table string, kind event.Kind, cols []string, f func(row, *trace.EventData)) error {
	cols = append([]string{"deviceId", "streamId", "correlationId", "globalPid"}, cols...)
	return s.timed(table, cols, func(r row, start, end int64) {
		global := r.Int(5)
		s.event = trace.EventData{
			Kind: kind, Process: s.pid(global), Scope: s.scope(global), Device: s.device(global, r.intOr(2, -1)),
			Stream: trace.StreamID(r.intOr(3, int64(trace.None))), Correlation: correlation(r.Int(4)),
		}
		f(r, &s.event)
		s.add(s.event, start, end)
	})
}

// firstOfActivity is the number of the first column after those that all activities have.
const firstOfActivity = 6

// hostEvent is an event of a thread of the host.
func (s *scanner) hostEvent(kind event.Kind, global int64, name string) trace.EventData {
	return trace.EventData{Kind: kind, Name: name, Process: s.pid(global), Scope: s.scope(global),
		Thread: tidOf(global), Device: trace.None, Stream: trace.None}
}

// scope is [facts.scope], remembering the last one.
func (s *scanner) scope(global int64) string {
	if key := global >> 24; key != s.lastKey {
		s.lastKey, s.lastScope = key, s.facts.scope(global)
	}
	return s.lastScope
}

// bytesPerRow is the least that a row of the large tables takes in a real
// export: two timestamps of 8 bytes, ids and the record's header.
const bytesPerRow = 30

// rowsOf estimates the rows of a large table. The largest rowid is an upper
// bound of their number in an export that nobody deleted rows from, and costs no
// scan; the file's size bounds it for others.
func (l *loader) rowsOf(table string) int64 {
	t := l.db.Table(table)
	if t == nil {
		return 0
	}
	return max(0, min(l.db.LastRowid(t), l.db.Size/bytesPerRow))
}
