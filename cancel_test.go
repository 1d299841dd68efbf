package strata_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/trace"
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

// TestCancelAtAnyPoint cancels each call at the first, second, third … time it
// asks, and wants context.Canceled every time. The number of times a whole run
// asks says how long it can go without noticing: the inputs hold some ten
// thousand events, which no call works on for more than milliseconds.
func TestCancelAtAnyPoint(t *testing.T) {
	dir := t.TempDir()
	text := large(t)
	tracePath := filepath.Join(dir, "a.json")
	if err := os.WriteFile(tracePath, text, 0o600); err != nil {
		t.Fatal(err)
	}
	tr, err := trace.Read(context.Background(), bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var keep []trace.EventID
	for e := range tr.Events(trace.LaneGPU) {
		keep = append(keep, e.ID())
	}
	calls := []struct {
		name  string
		polls int64 // times a whole run must ask at least
		run   func(context.Context) error
	}{
		{"layer.Analyze", 4, func(ctx context.Context) error {
			_, err := layer.Analyze(ctx, tr, layer.Options{})
			return err
		}},
		{"triage.Run", 4, func(ctx context.Context) error {
			_, err := triage.Run(ctx, triage.Input{Formal: []triage.Source{{Trace: tr, Path: "a"}}})
			return err
		}},
		{"hostoverhead.Drill", 2, func(ctx context.Context) error {
			_, err := hostoverhead.Drill(ctx, tr)
			return err
		}},
		{"perfetto.Annotate", 2, func(ctx context.Context) error {
			return perfetto.Annotate(ctx, tr, tracePath, filepath.Join(dir, "b.json"), nil)
		}},
		{"perfetto.Slice", 2, func(ctx context.Context) error {
			_, err := perfetto.Slice(ctx, tr, keep, tracePath, filepath.Join(dir, "c.json"), perfetto.SliceOptions{})
			return err
		}},
	}
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			whole := newCountdown(1 << 60)
			if err := c.run(whole); err != nil {
				t.Fatal(err)
			}
			asked := whole.asked.Load()
			t.Logf("asked %d times", asked)
			if asked < c.polls {
				t.Errorf("a whole run asked %d times whether it is cancelled, want at least %d", asked, c.polls)
			}
			// At every point of a short series, at some points of a long one.
			points := int64(16)
			if testing.Short() {
				points = 4
			}
			for n := int64(0); n < asked; n += max(1, asked/points) {
				ctx := newCountdown(n)
				if err := c.run(ctx); !errors.Is(err, context.Canceled) {
					// Goroutines ask in another order each time, so the last
					// questions of a run may not come.
					if n < asked/2 {
						t.Errorf("cancelled at question %d of %d: %v, want context.Canceled", n, asked, err)
					}
				}
			}
		})
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
		if tr, err := trace.Read(ctx, r); !errors.Is(err, context.Canceled) || tr != nil {
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

// TestCancelExport cancels the reading of an nsys export at points spread over
// the time that a whole one takes. SQLite listens to the context by itself and
// cannot be made to ask at a certain row, so a cancellation may come too late;
// what must never come is another error, or a trace beside one.
func TestCancelExport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.sqlite")
	if _, err := nsysgen.Write(path, nsysgen.Default(1)); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if _, err := nsys.Open(context.Background(), path); err != nil {
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
		tr, err := nsys.Open(ctx, path)
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
	_, err := trace.Read(ctx, r)
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
	var b bytes.Buffer
	cfg := gen.Demo()
	cfg.Size = 8 << 20
	cfg.OneBlock = false
	cfg.CutAtEnd = 0
	if err := gen.Write(&b, cfg); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestCancelledBeforeTheStart wants no work done for a context that is over.
func TestCancelledBeforeTheStart(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := &endless{}
	if _, err := trace.Read(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("Read = %v, want context.Canceled", err)
	}
	tr := build(nil)
	if _, err := layer.Analyze(ctx, tr, layer.Options{}); err == nil {
		t.Error("Analyze of nothing, cancelled, gave no error")
	}
	if _, err := hostoverhead.Detect(ctx, tr); !errors.Is(err, context.Canceled) {
		t.Errorf("Detect = %v, want context.Canceled", err)
	}
}
