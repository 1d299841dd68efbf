package strata_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/internal/whole"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/nsys"
	"github.com/llmstrata/strata/triage"
)

// countdown is a context that is cancelled when it has been asked a number of
// times whether it is. That finds calls that never ask, without a clock.
type countdown struct {
	context.Context
	cancel context.CancelFunc
	left   atomic.Int64
	asked  atomic.Int64
}

// newCountdown returns a context that says n times that all is well.
func newCountdown(n int64) *countdown {
	c := &countdown{}
	c.Context, c.cancel = context.WithCancel(context.Background())
	c.left.Store(n)
	return c
}

func (c *countdown) tick() {
	c.asked.Add(1)
	if c.left.Add(-1) < 0 {
		c.cancel()
	}
}

func (c *countdown) Err() error {
	c.tick()
	return c.Context.Err()
}

func (c *countdown) Done() <-chan struct{} {
	c.tick()
	return c.Context.Done()
}

// nothing wants no result beside an error.
func nothing[T any](result *T, err error) error {
	if err != nil && result != nil {
		return fmt.Errorf("a result came with the error %v", err)
	}
	return err
}

// A cancellable is a call that works on a complete trace.
type cancellable struct {
	name string
	run  func(context.Context) error
}

// cancellables are the calls that may take long once a trace is loaded. The trace's text must be at path; what they
// write goes beside it.
func cancellables(tr *trace.Trace, path string) []cancellable {
	var keep []trace.EventID
	for e := range tr.Events(event.LaneGPU) {
		keep = append(keep, e.ID())
	}
	a, err := layer.Analyze(context.Background(), tr, layer.Options{})
	if err != nil {
		panic(err)
	}
	tracks := perfetto.Tracks(&a.Devices[0], 0)
	return []cancellable{
		{"layer.Analyze", func(ctx context.Context) error { return nothing(layer.Analyze(ctx, tr, layer.Options{})) }},
		{"layer.Analyze with a mapping", func(ctx context.Context) error { // aligns, too
			return nothing(layer.Analyze(ctx, tr, layer.Options{Mapping: a}))
		}},
		{"triage.NewInput", func(ctx context.Context) error {
			_, err := triage.NewInput(ctx, []triage.Source{{Trace: tr}}, []triage.Source{{Trace: tr}}, layer.Options{})
			return err
		}},
		{"triage.Analyze", func(ctx context.Context) error {
			a, err := layer.Analyze(context.Background(), tr, layer.Options{}) // a new one: alignments are made once
			if err != nil {
				return err
			}
			return nothing(triage.Analyze(ctx, triage.Input{Formal: []*layer.Analysis{a},
				Mapping: []*layer.Analysis{a}}, triage.Options{}))
		}},
		{"hostoverhead.Analyze", func(ctx context.Context) error {
			return nothing(hostoverhead.Analyze(ctx, []*layer.Analysis{a, a}, hostoverhead.Options{}))
		}},
		{"hostoverhead.Breakdown", func(ctx context.Context) error {
			return nothing(hostoverhead.Breakdown(ctx, a, hostoverhead.BreakdownOptions{}))
		}},
		{"hostoverhead.Compare", func(ctx context.Context) error {
			return nothing(hostoverhead.Compare(ctx, a, a, hostoverhead.BreakdownOptions{}))
		}},
		{"perfetto.Annotate", func(ctx context.Context) error {
			_, err := perfetto.Annotate(ctx, tr, path, path+".annotated", tracks, perfetto.CopyOptions{})
			return err
		}},
		{"perfetto.Slice", func(ctx context.Context) error {
			_, err := perfetto.Slice(ctx, tr, keep, path, path+".slice", perfetto.CopyOptions{})
			return err
		}},
	}
}

// TestCancelAtAnyPoint cancels each call at the first, second, third … time it
// asks, and wants context.Canceled and nothing else every time.
func TestCancelAtAnyPoint(t *testing.T) {
	size := int64(8 << 20)
	if !testdata.Long() {
		size = 3 << 20
	}
	tr, path := largeTrace(t, size)
	for _, c := range cancellables(tr, path) {
		t.Run(c.name, func(t *testing.T) {
			whole := newCountdown(1 << 60)
			if err := c.run(whole); err != nil {
				t.Fatal(err)
			}
			asked := whole.asked.Load()
			if asked < 2 {
				t.Errorf("a whole run asked %d times whether it is cancelled, want at least 2", asked)
			}
			// At every point of a short series, at some points of a long one.
			points := int64(16)
			if !testdata.Long() {
				points = 4
			}
			for n := int64(0); n < asked; n += max(1, asked/points) {
				ctx := newCountdown(n)
				if err := c.run(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("cancelled at question %d of %d: %v, want context.Canceled", n, asked, err)
				}
			}
		})
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*.tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("files of cancelled calls are left: %v, %v", left, err)
	}
}

// atBorders are the calls that look at their context between stages only, and how
// many looks there are at least; NewInput hands a context of its own to the
// analyses, which ask that. A stage of hostoverhead is a part of its time, which is
// less than the time that loading the trace takes: of 128 MB, 0.4 s of one core for
// all stages, on a machine of two.
var atBorders = map[string]int64{
	"triage.Analyze": 6, "triage.NewInput": 6,
	"hostoverhead.Analyze": 6, "hostoverhead.Breakdown": 2, "hostoverhead.Compare": 5,
}

// TestCancelledSoon counts how often each call asks on a trace and on one four
// times as long: the longer one must make it ask again for at most every
// eventsPerQuestion events more, so that what one question covers does not grow
// with the trace. On a trace of 833 thousand events (300 MB) the longest stretch
// between two questions of one goroutine took 20 ms of its CPU time.
func TestCancelledSoon(t *testing.T) {
	if !testdata.Long() {
		t.Skip("reads a trace of 32 MB")
	}
	const eventsPerQuestion = 1 << 14
	count := func(size int64) (asked map[string]int64, events int64) {
		tr, path := largeTrace(t, size)
		for l := event.LaneGPU; l <= event.LaneOther; l++ {
			events += int64(tr.Len(l))
		}
		asked = map[string]int64{}
		for _, c := range cancellables(tr, path) {
			ctx := newCountdown(1 << 60)
			if err := c.run(ctx); err != nil {
				t.Fatal(err)
			}
			asked[c.name] = ctx.asked.Load()
		}
		return asked, events
	}
	short, few := count(8 << 20)
	long, many := count(32 << 20)
	for name := range long {
		if n, ok := atBorders[name]; ok {
			if long[name] < n {
				t.Errorf("%s asks %d times, want at least %d", name, long[name], n)
			}
			continue
		}
		more, want := long[name]-short[name], (many-few)/eventsPerQuestion
		t.Logf("%s: %d questions at %d events, %d at %d", name, short[name], few, long[name], many)
		if more < want {
			t.Errorf("%s asks %d times more for %d events more, want at least %d", name, more, many-few, want)
		}
	}
}

// TestCancelWhileReading cancels after every eighth of a file, from within its
// reader: a read that goes on has stopped listening.
func TestCancelWhileReading(t *testing.T) {
	text := large(t)
	const parts = 8
	for part := range parts - 1 { // a file that is read to its end is a trace
		ctx, cancel := context.WithCancel(context.Background())
		r := &cancelling{r: bytes.NewReader(text), left: len(text) * part / parts, cancel: cancel}
		if tr, err := trace.Read(ctx, r, trace.Options{}); !errors.Is(err, context.Canceled) || tr != nil {
			t.Errorf("cancelled after %d of %d eighths: %v, %v, want context.Canceled", part, parts, tr, err)
		}
		cancel()
	}
}

// cancelling is a reader that cancels once it has given some bytes.
type cancelling struct {
	r      io.Reader
	left   int
	cancel context.CancelFunc
}

func (c *cancelling) Read(p []byte) (int, error) {
	if c.left <= 0 {
		c.cancel()
	}
	n, err := c.r.Read(p)
	c.left -= n
	return n, err
}

// TestCancelExport cancels the reading of an nsys export at points spread over the time of a complete one. SQLite
// checks the context itself, and cannot be made to check at a certain row, so a cancellation may come too late. It must
// never return another error, or a trace beside an error.
func TestCancelExport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.sqlite")
	if _, err := nsysgen.Write(path, nsysgen.Default(1)); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if _, err := trace.Open(context.Background(), path, trace.Options{Formats: nsys.Formats()}); err != nil {
		t.Fatal(err)
	}
	whole := time.Since(begin)
	const points = 16
	for i := range time.Duration(points) {
		ctx, cancel := context.WithCancel(context.Background())
		if i == 0 {
			cancel()
		}
		timer := time.AfterFunc(whole*i/points, cancel)
		tr, err := trace.Open(ctx, path, trace.Options{Formats: nsys.Formats()})
		if (tr == nil) != (err != nil) || err != nil && !errors.Is(err, context.Canceled) || i == 0 && err == nil {
			t.Errorf("cancelled after %d/%d of the time: %v, %v, want a trace or context.Canceled", i, points, tr, err)
		}
		timer.Stop()
		cancel()
	}
}

// TestCancelStopsReading cancels in the middle of an input that never ends.
func TestCancelStopsReading(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := &endless{at: 20 << 20, then: cancel}
	_, err := trace.Read(ctx, r, trace.Options{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Read = %v, want context.Canceled", err)
	}
	// What is in flight may still be read: buffers, not the rest of the input.
	if over := r.n - r.at; over > 64<<20 {
		t.Errorf("%d bytes were read after the cancellation", over)
	}
}

// endless is a trace of equal events without an end, which calls then once.
type endless struct {
	n, at int64
	then  func()
	begun bool
}

func (r *endless) Read(p []byte) (int, error) {
	const event = `{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1.000,"dur":1.000},` + "\n"
	n := 0
	if !r.begun {
		r.begun = true
		n = copy(p, "[")
	}
	for len(p)-n >= len(event) {
		n += copy(p[n:], event)
	}
	if n == 0 {
		return 0, io.ErrShortBuffer
	}
	if r.n += int64(n); r.n >= r.at && r.then != nil {
		r.then()
		r.then = nil
	}
	return n, nil
}

// large returns a trace of some ten thousand events.
func large(t testing.TB) []byte {
	t.Helper()
	return sized(t, 8<<20)
}

// sized returns a trace of about a number of bytes.
func sized(t testing.TB, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	cfg := gen.Demo()
	cfg.Size = size
	cfg.OneBlock = false
	cfg.CutAtEnd = 0
	if err := gen.Write(&b, cfg); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// largeTrace loads a trace of about size bytes, and returns the path of its text.
func largeTrace(t testing.TB, size int64) (tr *trace.Trace, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a.json")
	if err := os.WriteFile(path, sized(t, size), 0o600); err != nil {
		t.Fatal(err)
	}
	tr, err := trace.Open(context.Background(), path, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tr, path
}

// TestCancelledBeforeTheStart wants no work done for a context that is over.
func TestCancelledBeforeTheStart(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := &endless{}
	if _, err := trace.Read(ctx, r, trace.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Read = %v, want context.Canceled", err)
	}
	tr := whole.Build(nil)
	if _, err := layer.Analyze(ctx, tr, layer.Options{}); err == nil {
		t.Error("Analyze of nothing, cancelled, gave no error")
	}
	a, err := layer.Analyze(context.Background(), tr, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hostoverhead.Analyze(ctx, []*layer.Analysis{a}, hostoverhead.Options{}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("Detect = %v, want context.Canceled", err)
	}
}
