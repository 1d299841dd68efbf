package hostoverhead_test

import (
	"path/filepath"
	"testing"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/hosttest"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// wakeRow is an event of a thread beside the one that launches, in one step; times in µs since the launching thread
// began to wait, which it does for 200 µs.
type wakeRow struct {
	kind       event.Kind
	name       string
	process    int64
	thread     int64
	start, end int64
}

// waiting is a run of 200 steps in which the launching thread waits for 200 µs, 160 of them while the GPU is idle.
func waiting(call string, rows ...wakeRow) *trace.Trace {
	b := trace.NewBuilder(trace.Options{})
	for i := range int64(200) {
		at := i * 206
		add := func(r wakeRow, corr int64) {
			b.Add(trace.EventData{Kind: r.kind, Name: r.name, Start: (at + r.start) * 1000,
				Duration: (r.end - r.start) * 1000, Stream: 7,
				Process: int64(1 + r.process), Thread: r.thread, Correlation: uint64(corr)})
		}
		first := len(rows) > 0 && rows[0].thread == 0 // the recorder met that thread first
		for _, r := range rows {
			if first {
				add(r, 0)
			}
		}
		add(wakeRow{event.Runtime, "cudaLaunchKernel", 0, 1, -6, -1}, i+1)
		add(wakeRow{event.Kernel, "gemm", 0, 1, 0, 40}, i+1)
		add(wakeRow{event.OSCall, call, 0, 1, 0, 200}, 0)
		for _, r := range rows {
			if !first {
				add(r, 0)
			}
		}
	}
	return built.Trace(b)
}

// wokenBy is the name that takes most of the waits for other threads, and where.
func wokenBy(v *hostoverhead.Verdict) (name, where string) {
	for _, c := range v.Idle {
		if c.Cause == finding.Lock {
			return c.Names[0].Name, c.Names[0].Where
		}
	}
	return "", ""
}

const wokenName = "tokenize: on the thread whose signal ended the wait"

// TestWaitsAreNamedByTheThreadThatEndsThem: a wait for another thread is named by what the one thread did that ended
// it, and by nothing where more than one may have, or what it signals is something else.
func TestWaitsAreNamedByTheThreadThatEndsThem(t *testing.T) {
	const cond = "pthread_cond_wait"
	tokenize := wakeRow{event.Range, "tokenize", 0, 2, 5, 195}
	signal := func(thread int64, at int64) wakeRow {
		return wakeRow{event.OSCall, "pthread_cond_signal", 0, thread, at, at + 2}
	}
	for _, c := range []struct {
		what, call string
		rows       []wakeRow
		want       string
	}{
		{"one thread signals", cond, []wakeRow{tokenize, signal(2, 197)}, wokenName},
		{"it is the first thread", cond, []wakeRow{{event.Range, "tokenize", 0, 0, 5, 195}, signal(0, 197)}, wokenName},
		{"in an operator", cond, []wakeRow{{event.Op, "tokenize", 0, 2, 5, 195}, signal(2, 197)}, wokenName},
		{"it broadcasts", cond, []wakeRow{tokenize, {event.OSCall, "pthread_cond_broadcast", 0, 2, 197, 199}},
			wokenName},
		{"a semaphore", "sem_wait", []wakeRow{tokenize, {event.OSCall, "sem_post", 0, 2, 197, 199}}, wokenName},
		{"a mutex", "pthread_mutex_lock", []wakeRow{tokenize, {event.OSCall, "pthread_mutex_unlock", 0, 2, 197, 199}},
			wokenName},
		{"two threads signal", cond, []wakeRow{tokenize, signal(2, 197), signal(3, 198)}, cond},
		{"another one signalled long before", cond, []wakeRow{tokenize, signal(2, 197), signal(3, 20)}, wokenName},
		{"it signals all the time", cond, []wakeRow{tokenize, signal(2, 20), signal(2, 80), signal(2, 197)}, cond},
		{"it signals when the wait begins", cond, []wakeRow{tokenize, signal(2, 0), signal(2, 197)}, cond},
		{"it signals when the wait ends", cond, []wakeRow{tokenize, signal(2, 200)}, wokenName},
		{"it signals too early", cond, []wakeRow{tokenize, signal(2, 90)}, cond},
		{"it posts a semaphore", cond, []wakeRow{tokenize, {event.OSCall, "sem_post", 0, 2, 197, 199}}, cond},
		{"of another process", cond, []wakeRow{tokenize, {event.OSCall, "pthread_cond_signal", 1, 2, 197, 199}}, cond},
		{"the launching thread itself", cond, []wakeRow{tokenize, signal(1, 197)}, cond},
		{"it runs nothing with a name", cond, []wakeRow{signal(2, 197)}, cond},
	} {
		v := judged(t, waiting(c.call, c.rows...))
		name, where := wokenBy(v)
		if name != c.want || c.want == wokenName && where != c.call {
			t.Errorf("%s: %q in %q, want %q", c.what, name, where, c.want)
		}
		var idle int64
		for _, x := range v.Idle {
			idle += x.NS
		}
		if lock := 1000 * causesOf(v)[finding.Lock]; float64(lock) < leastOfGap*float64(idle) ||
			v.Verdict != hostoverhead.Yes {
			t.Errorf("%s: lock has %d of %d ns, %s", c.what, lock, idle, v.Verdict)
		}
	}
}

// TestWakersOfExports: the same from an export of Nsight Systems, where two threads launch.
func TestWakersOfExports(t *testing.T) {
	var rows []nsysgen.Row
	for i := range int64(200) {
		at := 1_000_000 + i*300_000
		launcher := 1 + i%2*10 // in turns
		rows = append(rows,
			nsysgen.Row{Kind: nsysgen.RowCall, Name: "cudaLaunchKernel_v7000", Start: at - 6000, End: at - 1000,
				Thread: launcher, Correlation: i + 1},
			nsysgen.Row{Kind: nsysgen.RowKernel, Name: "gemm", Start: at, End: at + 40_000, Correlation: i + 1,
				Stream: 7},
			nsysgen.Row{Kind: nsysgen.RowOS, Name: "pthread_cond_wait", Start: at, End: at + 200_000,
				Thread: 11 - i%2*10},
			nsysgen.Row{Kind: nsysgen.RowRange, Name: "tokenize", Start: at + 1000, End: at + 198_000, Thread: 5},
			nsysgen.Row{Kind: nsysgen.RowOS, Name: "pthread_cond_signal", Start: at + 198_500, End: at + 199_900,
				Thread: 5})
	}
	path := filepath.Join(t.TempDir(), "run.sqlite")
	if err := nsysgen.WriteRows(path, rows); err != nil {
		t.Fatal(err)
	}
	v := judged(t, hosttest.Open(t, path))
	if name, where := wokenBy(v); name != wokenName || where != "pthread_cond_wait" {
		t.Errorf("%q in %q", name, where)
	}
}

// TestTheOnlyWait: a run with one wait and one call that ends it.
func TestTheOnlyWait(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	add := func(kind event.Kind, name string, thread, start, end int64, corr uint64) {
		b.Add(trace.EventData{Kind: kind, Name: name, Start: start * 1000, Duration: (end - start) * 1000, Stream: 7,
			Process: 1, Thread: thread, Correlation: corr})
	}
	add(event.Runtime, "cudaLaunchKernel", 1, 0, 5, 1)
	add(event.Kernel, "gemm", 1, 10, 40, 1)
	add(event.OSCall, "pthread_cond_wait", 1, 30, 230, 0)
	add(event.Range, "tokenize", 2, 20, 228, 0)
	add(event.OSCall, "pthread_cond_signal", 2, 228, 229, 0)
	add(event.Runtime, "cudaLaunchKernel", 1, 232, 237, 2)
	add(event.Kernel, "gemm", 1, 240, 280, 2)
	if name, where := wokenBy(judged(t, built.Trace(b))); name != wokenName || where != "pthread_cond_wait" {
		t.Errorf("%q in %q", name, where)
	}
}
