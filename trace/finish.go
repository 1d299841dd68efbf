package trace

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/llmstrata/strata/trace/internal/column"
)

// RepairOrder says whether scrambled records are repaired; see
// [Options.RepairOrder].
func (b *Builder) RepairOrder(repair bool) { b.scrambled.Repair = repair }

// Finish sorts and links what was added and returns the Trace. The Builder
// must not be used afterwards.
func (b *Builder) Finish() *Trace {
	t, _ := b.FinishContext(context.Background()) // which does not end
	return t
}

// FinishContext is Finish, given up when ctx ends. The error is then that of ctx.
func (b *Builder) FinishContext(ctx context.Context) (*Trace, error) {
	t := &b.t
	b.dropFar(ctx)
	if b.minRaw != math.MaxInt64 {
		t.origin = b.minRaw
	}
	b.scrambled.Judge(ctx, &t.lanes[LaneGPU], len(t.queues))
	b.noteScrambled()
	t.finishLanes(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i := range t.threads {
		th := &t.threads[i]
		p := procKey{th.Process, th.ProcessLabel}
		th.ProcessName = b.procs[p]
		th.Name = b.threads[threadKey{proc: p, tid: th.ID, label: th.Label}]
	}
	for k, n := range b.counts {
		t.counts = append(t.counts, CategoryCount{Phase: k[0], Category: k[1], Count: n})
	}
	slices.SortFunc(t.counts, func(a, b CategoryCount) int {
		return cmp.Or(cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Category, b.Category))
	})
	if err := t.linkLaunches(ctx); err != nil {
		return nil, err
	}
	t.health = t.examine(b.losses, b.notes)
	return t, nil
}

// dropFar leaves out the events that are far from all others, and counts them as lost.
func (b *Builder) dropFar(ctx context.Context) {
	far, ok := column.DropFar(ctx, b.t.lanes[:])
	if !ok {
		return
	}
	if b.minRaw < far.First-column.FarAway {
		b.minRaw = far.First
	}
	b.LoseDetail(LossBadTime, far.Dropped, fmt.Sprintf("far from all other events, %q by %d s", b.t.names[far.Name], far.Gap/int64(time.Second)))
}

// CodeScrambled is the [Finding] of scrambled records.
const CodeScrambled = "scrambled-records"

// noteScrambled says what is scrambled, or was.
func (b *Builder) noteScrambled() {
	s := &b.scrambled
	if s.Launches == 0 {
		return
	}
	f := Finding{Code: CodeScrambled, Severity: HealthDegraded, Count: s.Rows, Affects: []string{"gpu-time", "layers", "attribution"},
		Message: s.String() + "; no time of a kernel, layer or operator in them is to be trusted (--repair-order joins the names in file order with the times in theirs)"}
	if s.Repair {
		f.Code = "order-repaired"
		f.Message = "REPAIRED, not as recorded: " + s.String() + "; names are taken in the order of the file and times in theirs, as asked for"
	}
	b.notes = append(b.notes, f)
}

// finishLanes makes the times of all lanes relative and sorts them, each lane
// on a goroutine of its own: they share nothing.
func (t *Trace) finishLanes(ctx context.Context) {
	var bounds [laneCount]struct{ first, last int64 }
	ordered := make([]bool, len(t.queues)) // is a stream
	for i, q := range t.queues {
		ordered[i] = q.stream != NoStream
	}
	var lanes sync.WaitGroup
	var id EventID
	for l := Lane(0); l < laneCount; l++ {
		c := &t.lanes[l]
		t.base[l] = id
		id += EventID(c.Len())
		lanes.Go(func() {
			c.Rebase(t.origin)
			if l != LaneGPU {
				t.threadRow[l] = column.ThreadRows(c.Thread, len(t.threads))
			}
			c.Sort(ctx, t.threadRow[l])
			if l == LaneGPU {
				c.CapDurations(uint8(KindGraph), ordered)
			}
			bounds[l].first, bounds[l].last = c.Bounds()
		})
	}
	t.base[laneCount] = id
	lanes.Wait()
	empty := true
	for l, b := range bounds {
		if t.lanes[l].Len() == 0 || Lane(l) == LaneCounter { // counters are sampled before and after the work too
			continue
		}
		if empty {
			t.first, t.last, empty = Time(b.first), Time(b.last), false
		}
		t.first, t.last = min(t.first, Time(b.first)), max(t.last, Time(b.last))
	}
}
