package trace

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llmstrata/strata/trace/event"
)

// Decisive is a GPU activity that by itself makes much of a trace's GPU time,
// where its peers say that it should not.
type Decisive struct {
	// Event is the activity.
	Event EventID
	// Peers are the other activities of its name, or, where these are too few, of
	// its graph launch, or, where it has its stream to itself, those that run beside
	// it; Median is their median duration.
	Peers  int
	Median time.Duration
	// Share of GPU time that goes where it lasts as long as the median of its peers.
	Share float64
}

const (
	// decisiveShare: an activity is looked at that outweighs all of its peers together. A figure that one of many
	// equal rows moves by more than a tenth says more of that row than of the run. In the real traces at hand no
	// activity moves GPU time by more than 7.5 %.
	decisiveShare = 0.1
	// fewestPeers is how many others it takes to say what is usual.
	fewestPeers = 4
	// launchPeers is how many times as long as the median of its launch an activity
	// without peers of its name must last: kernels of one launch differ by
	// hundreds of times, as a copy of a token and the product of a vocabulary do.
	launchPeers = 1000
)

// Decisive returns the activity that moves GPU time most, where it moves it by
// more than a tenth against the median of its peers; false where none does, or
// where no peers say so.
func (t *Trace) Decisive() (Decisive, bool) { return t.decisive, t.decisive.Peers > 0 }

// findDecisive looks for it: once over all activities, and again over those of the few names that can be meant.
func (t *Trace) findDecisive() (out Decisive) {
	g := &t.lanes[event.LaneGPU]
	longest, count := make([]int32, len(t.names)), make([]int32, len(t.names))
	var all int64
	for i := range g.Start {
		if event.Kind(g.Kind[i]) == event.Graph {
			continue
		}
		n := g.Name[i]
		if count[n]++; count[n] == 1 || g.Dur[i] > g.Dur[longest[n]] {
			longest[n] = int32(i)
		}
		all += g.Dur[i]
	}
	for n, row := range longest {
		if count[n] == 0 || float64(g.Dur[row]) <= decisiveShare*float64(all) {
			continue // at most nine are longer
		}
		same := func(i int) bool { return g.Name[i] == uint32(n) }
		least, fewest := int64(0), fewestPeers
		if launch := t.launchOf[row]; count[n] <= fewestPeers {
			switch {
			case launch >= 0 && t.replays(launch):
				same = func(i int) bool { return t.launchOf[i] == launch }
				least = launchPeers
			case t.alone(row):
				same = func(i int) bool { return t.beside(row, i) }
				fewest = persistentBeside
			default:
				continue
			}
		}
		var peers []int64
		for i := range g.Start {
			if i != int(row) && same(i) {
				peers = append(peers, g.Dur[i])
			}
		}
		if len(peers) < fewest {
			continue
		}
		slices.Sort(peers)
		median := peers[len(peers)/2]
		var together int64
		for _, d := range peers {
			together += d
		}
		if g.Dur[row] <= together {
			continue // times that differ by nature, as those of collectives do
		}
		share := float64(g.Dur[row]-median) / float64(all)
		if share > max(decisiveShare, out.Share) && g.Dur[row] > least*median {
			out = Decisive{t.base[event.LaneGPU] + EventID(row), len(peers), time.Duration(median), share}
		}
	}
	return out
}

// alone reports whether an activity has its stream to itself, as a persistent kernel does.
func (t *Trace) alone(row int32) bool {
	rows := 0
	for _, q := range t.lanes[event.LaneGPU].Queue {
		if q == t.lanes[event.LaneGPU].Queue[row] {
			rows++
		}
	}
	return rows <= persistentAlone
}

// beside reports whether another activity of the GPU, on another stream, begins and ends while the activity runs.
func (t *Trace) beside(row int32, other int) bool {
	g := &t.lanes[event.LaneGPU]
	q, o := g.Queue[row], g.Queue[other]
	return o != q && t.queues[o].device == t.queues[q].device && g.Start[other] > g.Start[row] &&
		g.End(other) < g.End(int(row))
}

// examineDecisive makes a finding of it.
func (t *Trace) examineDecisive(add addFinding) {
	t.decisive = t.findDecisive()
	if d, ok := t.Decisive(); ok {
		e := t.At(d.Event)
		add(CodeOneRow, HealthDegraded, 1, []Area{AffectsGPUTime, AffectsIdle},
			"%.0f%% of GPU time depends on one row: %s, which lasts %v at %v; the median of its %d peers is %v",
			100*d.Share, shortened(e.Name()), e.Duration().Round(time.Microsecond),
			time.Duration(e.Start()).Round(time.Microsecond), d.Peers, d.Median)
	}
}

// shortened is a name as it is in a sentence.
func shortened(name string) string {
	const most = 80
	if r := []rune(name); len(r) > most {
		return string(r[:most]) + "..."
	}
	return name
}

// What makes a kernel persistent: it has its stream to itself, runs for at least
// half of the recording and to its end, while others by the dozen begin and end
// beside it. Communication libraries leave such kernels waiting (NVSHMEM, DeepEP).
// In the real traces at hand there is none.
const (
	persistentShare  = 0.5
	persistentAlone  = 2 // rows of its stream
	persistentBeside = 30
	persistentEnd    = 0.99 // of the recording, counted from its begin
	persistentMost   = 16   // of a recording
)

// dropPersistent leaves persistent kernels out: a GPU on which one spins would
// be busy all the time.
func (b *Builder) dropPersistent(ctx context.Context) {
	g := &b.t.lanes[event.LaneGPU]
	rows := make([]int32, len(b.t.queues))
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for i, q := range g.Queue {
		rows[q]++
		first, last = min(first, g.Start[i]), max(last, g.End(i))
	}
	var gone []int32
	looked := 0
	for i, q := range g.Queue {
		span := float64(last - first)
		if rows[q] > persistentAlone || event.Kind(g.Kind[i]) != event.Kernel ||
			float64(g.Dur[i]) < persistentShare*span || float64(g.End(i)-first) < persistentEnd*span {
			continue
		}
		if looked++; looked > persistentMost {
			break // streams by the dozen that each hold one long kernel are something else
		}
		beside := 0
		for k := range g.Queue {
			if b.t.beside(int32(i), k) {
				beside++
			}
		}
		if beside >= persistentBeside {
			gone = append(gone, int32(i))
		}
	}
	if len(gone) == 0 {
		return
	}
	e := gone[0]
	b.notes = append(b.notes, Remark{Code: CodePersistent, Severity: HealthDegraded, Count: int64(len(gone)),
		Affects: []Area{AffectsGPUTime, AffectsCompleteness},
		Message: fmt.Sprintf("%d kernels wait on streams of their own, beside all others and to the end of the recording, "+
			"first %s for %v: they are left out of all times",
			len(gone), shortened(b.t.names[g.Name[e]]), time.Duration(g.Dur[e]).Round(time.Microsecond))})
	keep := make([]int32, 0, g.Len()-len(gone))
	for i := range int32(g.Len()) {
		if !slices.Contains(gone, i) {
			keep = append(keep, i)
		}
	}
	g.Take(ctx, keep)
	g.Cut(len(keep))
}
