package trace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// gauge is a reader that notes the largest heap, without garbage, while it is read.
type gauge struct {
	io.Reader
	read, next int64
	base, peak uint64
}

func newGauge(r io.Reader) *gauge {
	g := &gauge{Reader: r}
	g.look()
	g.base = g.peak
	return g
}

func (g *gauge) Read(p []byte) (int, error) {
	n, err := g.Reader.Read(p)
	if g.read += int64(n); g.read >= g.next {
		g.next = g.read + 1 + g.read/2 // seldom enough to cost nothing
		g.look()
	}
	return n, err
}

func (g *gauge) look() {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	g.peak = max(g.peak, m.HeapAlloc)
}

// wantBelow checks how far the heap has grown.
func (g *gauge) wantBelow(t *testing.T, limit uint64) {
	t.Helper()
	g.look()
	if grown := g.peak - min(g.base, g.peak); grown > limit {
		t.Errorf("the heap grew by %d MB after %d MB of input, want at most %d", grown>>20, g.read>>20, limit>>20)
	}
}

// TestDevicesAreLimited: what costs by device must not cost by event.
func TestDevicesAreLimited(t *testing.T) {
	for devices, want := range map[int]error{1024: nil, 1025: trace.ErrLimit} {
		var b strings.Builder
		b.WriteString("[")
		for i := range devices {
			fmt.Fprintf(&b, `{"ph":"X","cat":"kernel","name":"k","ts":%d,"dur":1,"args":{"device":%d,"stream":7}},`, i,
				i)
		}
		if _, err := trace.Read(t.Context(), strings.NewReader(b.String()), trace.Options{}); !errors.Is(err, want) {
			t.Errorf("%d devices: %v, want %v", devices, err, want)
		}
	}
}

// repeat is one text over and over, some n bytes in all.
func repeat(text string, n int64) io.Reader {
	n -= n % int64(len(text))
	block := []byte(strings.Repeat(text, 1+(1<<16)/len(text)))
	return io.LimitReader(&cycle{block: block}, n)
}

type cycle struct {
	block []byte
	at    int
}

func (c *cycle) Read(p []byte) (int, error) {
	n := copy(p, c.block[c.at:])
	if c.at += n; c.at == len(c.block) {
		c.at = 0
	}
	return n, nil
}

// counted is n lines, each made of its number.
func counted(n int, line func(b []byte, i int) []byte) io.Reader {
	return &lines{n: n, line: line}
}

type lines struct {
	n, i int
	line func(b []byte, i int) []byte
	buf  []byte
	rest []byte
}

func (l *lines) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		if l.i == l.n {
			return 0, io.EOF
		}
		l.buf = l.buf[:0]
		for len(l.buf) < 1<<16 && l.i < l.n {
			l.buf = l.line(l.buf, l.i)
			l.i++
		}
		l.rest = l.buf
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func text(parts ...any) io.Reader {
	var rs []io.Reader
	for _, p := range parts {
		if s, ok := p.(string); ok {
			rs = append(rs, strings.NewReader(s))
		} else {
			rs = append(rs, p.(io.Reader))
		}
	}
	return io.MultiReader(rs...)
}

// huge is how large hostile strings are: 2 GB, or less where that takes too long.
func huge() int64 {
	if !testdata.Long() {
		return 100e6
	}
	return 2e9
}

// TestHugeStringCostsOneEvent: whatever holds a string of 2 GB is given up with
// the memory of one event, and the events around it are kept.
func TestHugeStringCostsOneEvent(t *testing.T) {
	in := text(`{"traceEvents": [`, record(`"id":1`), `, {"ph":"X","name":"`, repeat("a", huge()), `"}, `,
		record(`"id":2`), `]}`)
	g := newGauge(in)
	tr := read(t, g)
	if l := tr.Health().Losses; tr.Len() != 2 || len(l) != 1 || l[0].Reason != event.Limit || l[0].Bytes < huge() {
		t.Errorf("%d events, losses %+v, want 2 and one of more than %d bytes by limit", tr.Len(), l, huge())
	}
	g.wantBelow(t, 320<<20)
}

// TestHugeValuesAreBounded puts large values into every place that is not an event.
func TestHugeValuesAreBounded(t *testing.T) {
	n := huge() / 40
	end := `"x": 1, "traceEvents": [` + record(`"id":1`) + `]}`
	for name, in := range map[string]io.Reader{
		"metadata-string": text(`{"a": "`, repeat("a", n), `", `, end),
		"metadata-key":    text(`{"`, repeat("a", n), `": 1, `, end),
		"metadata-nested": text(`{"a": `, repeat("[", n/2), repeat("]", n/2), `, `, end),
		"metadata-many":   text(`{`, repeat(`"":1,`, n), end),
		"white-space":     text(`{`, repeat(" ", n), end),
		"garbage":         text(`{}`, repeat("x", n), `{`, end),
		"documents":       text(repeat("{}", n), `{`, end),
	} {
		g := newGauge(in)
		tr, err := trace.Read(t.Context(), g, trace.Options{})
		if err != nil || tr.Len() != 1 {
			t.Errorf("%s: %v, want a trace with one event", name, err)
		}
		g.wantBelow(t, 64<<20)
	}
}

// TestDeepNestingCostsOneEvent: also deeper than any stack is.
func TestDeepNestingCostsOneEvent(t *testing.T) {
	n := huge() / 40
	for name, in := range map[string]io.Reader{
		"closed": text(`{"traceEvents": [`, record(`"id":1`), `, {"ph":"X","args":{"x":`, repeat("[", n),
			repeat("]", n), `}}, `, record(`"id":2`), `]}`),
		"open": text(`{"traceEvents": [`, record(`"id":1`), `, {"ph":"X","args":{"x":`, repeat(`{"a":`, n), `}}, `,
			record(`"id":2`), `]}`),
	} {
		g := newGauge(in)
		tr := read(t, g)
		if l := tr.Health().Losses; tr.Len() != 2 || len(l) != 1 || l[0].Reason != event.Limit {
			t.Errorf("%s: %d events, losses %+v, want 2 and one by limit", name, tr.Len(), l)
		}
		g.wantBelow(t, 320<<20)
	}
	three := record(`"args":{"device":0,"stream":7,"x":[[[1]]]}`)
	for depth, want := range map[int]int{2: 1, 3: 2, 1000: 2} {
		if tr := read(t, strings.NewReader(document(record(`"id":1`), three)),
			trace.Options{Limits: trace.Limits{Depth: depth}}); tr.Len() != want {
			t.Errorf("three levels with a limit of %d: %d events, want %d", depth, tr.Len(), want)
		}
	}
}

// TestBillionTinyEventsStopAtTheLimit reads only as much as the limit takes.
func TestBillionTinyEventsStopAtTheLimit(t *testing.T) {
	const limit = 300_000
	tiny := `{"ph":"X","ts":1,"dur":1},`
	g := newGauge(text(`[`, repeat(tiny, 1e9*int64(len(tiny)))))
	_, err := trace.Read(t.Context(), g, trace.Options{Limits: trace.Limits{Events: limit}})
	if !errors.Is(err, trace.ErrLimit) || !strings.Contains(err.Error(), "300000 events") {
		t.Errorf("got %v, want ErrLimit", err)
	}
	if most := int64(limit*len(tiny)) + 32<<20; g.read > most {
		t.Errorf("read %d bytes, want at most %d", g.read, most)
	}
	g.wantBelow(t, 64<<20)
}

// TestThingsThatAreNotEventsAreCountedInConstantMemory: there is no limit to
// these, and they need none.
func TestThingsThatAreNotEventsAreCountedInConstantMemory(t *testing.T) {
	testdata.ManyInputs(t)
	n := huge() / 200
	for name, part := range map[string]string{
		"empty": `{},{},`, "numbers": `{"ph":"M"},1,`, "commas": `,`, "no-phase": `{"a":1},`,
		"flows":   `{"ph":"s","id":1},`,
		"no-time": `{"ph":"X","name":"a"},`, "broken": `{"ph":"X" x},{"ph":"X"},`, "ends": `{"ph":"E","ts":1},`,
		"begins": `{"ph":"B","ts":1},`, "spans": `{"ph":"b","id":1,"ts":1},`, "counters": `{"ph":"C","ts":1},`,
	} {
		g := newGauge(text(`[`, repeat(part, n), record(`"id":1`), `]`))
		tr, err := trace.Read(t.Context(), g, trace.Options{})
		if err != nil || tr.Len(event.LaneGPU) != 1 {
			t.Errorf("%s: %v, want a trace with one activity", name, err)
		}
		limit := uint64(48 << 20)
		switch name {
		case "begins":
			limit = 1 << 30 // a million of them stay open
		case "ends":
			limit = 192 << 20 // what is in flight is larger than its text, some 300 bytes each
		}
		t.Log(name)
		g.wantBelow(t, limit)
	}
}

// TestTablesAreLimited: each table that input could grow without end has a limit.
func TestTablesAreLimited(t *testing.T) {
	limits := trace.Limits{Names: 1000, Tracks: 1000, TextBytes: 1e6}
	for name, line := range map[string]string{
		"names":      `{"ph":"X","name":"n%d","ts":1,"dur":1,"cat":"cpu_op"},`,
		"shapes":     `{"ph":"X","name":"n","ts":1,"dur":1,"cat":"cpu_op","args":{"Input Dims":[%d]}},`,
		"grids":      `{"ph":"X","name":"n","ts":1,"dur":1,"cat":"kernel","args":{"grid":[%d]}},`,
		"args":       `{"ph":"X","name":"n","ts":1,"dur":1,"cat":"kernel","args":{"x":%d}},`,
		"categories": `{"ph":"X","name":"n","ts":1,"dur":1,"cat":"c%d"},`,
		"flow-cats":  `{"ph":"s","ts":1,"cat":"c%d"},`,
		"threads":    `{"ph":"X","name":"n","ts":1,"dur":1,"cat":"cpu_op","pid":1,"tid":%d},`,
		"pid-texts":  `{"ph":"X","name":"n","ts":1,"dur":1,"cat":"cpu_op","pid":"p%d","tid":1},`,
		"streams":    `{"ph":"X","name":"n","ts":1,"dur":1,"cat":"kernel","args":{"device":0,"stream":%d}},`,
		"processes":  `{"ph":"M","name":"process_name","pid":%d,"args":{"name":"p"}},`,
		"labels":     `{"ph":"M","name":"thread_name","pid":1,"tid":%d,"args":{"name":"p"}},`,
		"begins":     `{"ph":"B","name":"n%d","ts":1,"cat":"cpu_op"},`,
	} {
		in := func(n int) io.Reader {
			return text(`[`, counted(n, func(b []byte, i int) []byte { return fmt.Appendf(b, line, i) }),
				record(`"id":1`), `]`)
		}
		opts := trace.Options{Limits: limits, Args: []event.Kind{event.Kernel}}
		if _, err := trace.Read(t.Context(), in(400), opts); err != nil {
			t.Errorf("%s: 400 of them: %v", name, err)
		}
		if _, err := trace.Read(t.Context(), in(4000), opts); !errors.Is(err, trace.ErrLimit) {
			t.Errorf("%s: 4000 of them: %v, want ErrLimit", name, err)
		}
	}
	long := strings.Repeat("x", 1000)
	in := text(`[`, counted(3000, func(b []byte, i int) []byte {
		return fmt.Appendf(b, `{"ph":"X","name":"%d%s","ts":1,"dur":1,"cat":"cpu_op"},`, i, long)
	}), `{}]`)
	if _, err := trace.Read(t.Context(), in, trace.Options{Limits: trace.Limits{TextBytes: 1e6}}); !errors.Is(err,
		trace.ErrLimit) || !strings.Contains(err.Error(), "bytes of distinct names") {
		t.Errorf("3 MB of names: %v, want ErrLimit", err)
	}
}

// TestLongNamesAreCut keeps the event and says so.
func TestLongNamesAreCut(t *testing.T) {
	tr := read(t, strings.NewReader(document(record(`"name":"abcdefgh"`))),
		trace.Options{Limits: trace.Limits{NameBytes: 3}})
	if l := tr.Health().Losses; tr.Len() != 1 || tr.LaneAt(event.LaneGPU, 0).Name() != "abc" || len(l) != 1 ||
		l[0].Reason != event.Limit {
		t.Errorf("%d events, losses %+v, want one named abc, and a loss by limit", tr.Len(), l)
	}
}

// packed compresses parts of one event that never ends, over and over.
func packed(t *testing.T, format string, part int) io.Reader {
	pack := func(b []byte) []byte {
		var out bytes.Buffer
		var w io.WriteCloser = gzip.NewWriter(&out)
		if format == "zstd" {
			var err error
			if w, err = zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	head, body := pack([]byte(`{"traceEvents":[{"ph":"X","name":"`)), pack(bytes.Repeat([]byte("a"), part))
	return io.MultiReader(bytes.NewReader(head), &cycle{block: body})
}

// TestCompressionBombsAreRefused: a stream that expands a thousandfold is given
// up at 1 GiB, with the memory of one event.
func TestCompressionBombsAreRefused(t *testing.T) {
	testdata.ManyInputs(t)
	for _, format := range []string{"gzip", "zstd"} {
		limits, part := trace.Limits{}, 64<<20
		if !testdata.Long() {
			limits.InputBytes, part = 100e6, 4<<20
		}
		g := newGauge(packed(t, format, part))
		_, err := trace.Read(t.Context(), g, trace.Options{Limits: limits})
		if !errors.Is(err, trace.ErrLimit) || !strings.Contains(err.Error(), format) {
			t.Errorf("%s: %v, want ErrLimit", format, err)
		}
		g.wantBelow(t, 320<<20)

		r := trace.Reader{Input: packed(t, format, 1<<20),
			Options: trace.Options{Limits: trace.Limits{InputBytes: 20e6}}}
		for _, err = range r.Records(t.Context()) {
			break
		}
		if !errors.Is(err, trace.ErrLimit) {
			t.Errorf("Reader, %s: %v, want ErrLimit", format, err)
		}
	}
}

// TestMemoryBudgetFailsBeforeItIsSpent: and a part of the same trace fits.
func TestMemoryBudgetFailsBeforeItIsSpent(t *testing.T) {
	frames := func() io.Reader {
		var b bytes.Buffer
		b.WriteString(`[` + record(`"id":1`))
		for i := range 100_000 {
			fmt.Fprintf(&b, `,{"ph":"X","cat":"python_function","name":"f","pid":1,"tid":1,"ts":%d,"dur":1}`, i)
		}
		b.WriteString("]")
		return bytes.NewReader(b.Bytes())
	}
	_, err := trace.Read(t.Context(), frames(), trace.Options{MemoryBudget: 1e6})
	if !errors.Is(err, trace.ErrLimit) || !strings.Contains(err.Error(), "budget of 1 MB; the whole file would need about") {
		t.Errorf("got %v, want ErrLimit and an estimate", err)
	}
	tr := read(t, frames(), trace.Options{MemoryBudget: 1e6, Lanes: allLanesBut(event.LanePython)})
	if tr.Len() != 1 {
		t.Errorf("%d events without frames, want 1", tr.Len())
	}
	if tr = read(t, frames(), trace.Options{MemoryBudget: 100e6}); tr.Len() != 100_001 {
		t.Errorf("%d events, want all", tr.Len())
	}
}

// TestProgressGrowsToTheWholeInput: calls come one after the other, and the last
// one says that all is read.
func TestProgressGrowsToTheWholeInput(t *testing.T) {
	in := benchTrace(t, 3e6)
	var seen []trace.Progress
	tr := read(t, bytes.NewReader(in), trace.Options{Concurrency: 3,
		Progress: func(p trace.Progress) { seen = append(seen, p) }})
	if len(seen) < 3 {
		t.Fatalf("%d calls, want some", len(seen))
	}
	last := trace.Progress{}
	for _, p := range seen {
		if p.Read < last.Read || p.Events < last.Events || p.Size != int64(len(in)) {
			t.Errorf("%+v after %+v", p, last)
		}
		last = p
	}
	if want := (trace.Progress{Read: int64(len(in)), Size: int64(len(in)), Events: int64(tr.Len())}); last != want {
		t.Errorf("the last call said %+v, want %+v", last, want)
	}
}

// blocked is a reader that gives some bytes and then never returns, as a network
// does, until it is released.
type blocked struct {
	io.Reader
	reached, release chan struct{}
}

func (b *blocked) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		close(b.reached)
		<-b.release
	}
	return n, err
}

// TestCancelWhileTheReaderBlocks: at the first byte, or in the middle of the events.
func TestCancelWhileTheReaderBlocks(t *testing.T) {
	for _, given := range []int{0, len(small) / 2} {
		ctx, cancel := context.WithCancel(t.Context())
		b := &blocked{strings.NewReader(small[:given]), make(chan struct{}), make(chan struct{})}
		done := make(chan error)
		go func() {
			_, err := trace.Read(ctx, b, trace.Options{})
			done <- err
		}()
		<-b.reached
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("blocked after %d bytes: %v, want context.Canceled", given, err)
		}
		close(b.release)
	}
}

// TestCancelAtAnyPartOfTheInput cancels when that much is read.
func TestCancelAtAnyPartOfTheInput(t *testing.T) {
	in := benchTrace(t, 3e6)
	for given := 0; given < len(in); given += len(in) / 10 {
		ctx, cancel := context.WithCancel(t.Context())
		r := io.MultiReader(bytes.NewReader(in[:given]), readFunc(func(p []byte) (int, error) {
			cancel()
			return 0, io.EOF
		}), bytes.NewReader(in[given:]))
		if _, err := trace.Read(ctx, r, trace.Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled after %d bytes: %v, want context.Canceled", given, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := trace.Read(ctx, bytes.NewReader(in), trace.Options{Progress: func(p trace.Progress) {
		if p.Read == p.Size {
			cancel() // what remains is sorting and linking
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled after the input: %v, want context.Canceled", err)
	}
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }
