package trace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/scan"
	"github.com/llmstrata/strata/trace/event"
)

// TestGoroutinesOfALoad: as many as are asked for, and never more than eight.
func TestGoroutinesOfALoad(t *testing.T) {
	for asked, want := range map[int]int{1: 1, 2: 2, 8: 8, 9: 8, 100: 8, 0: min(runtime.GOMAXPROCS(0), 8),
		-1: min(runtime.GOMAXPROCS(0), 8)} {
		if c := newConfig(&Options{Concurrency: asked}); c.procs != want || len(c.workers) <= want {
			t.Errorf("asked for %d: %d goroutines with %d workers, want %d", asked, c.procs, len(c.workers), want)
		}
	}
}

// TestMemoryOfALoad: a budget is enough or not by one byte; columns, texts with 64 bytes each, and sorting count.
func TestMemoryOfALoad(t *testing.T) {
	b := NewBuilder(Options{})
	empty := b.loadBytes()
	b.intern(strings.Repeat("x", 100))
	if text := b.loadBytes() - empty; text != 164 {
		t.Errorf("a text of 100 bytes needs %d, want 164", text)
	}
	b.Grow(laneCount, 1) // no lane, so nothing is made room in
	before := b.loadBytes()
	add := func(lane event.Kind) {
		b.Add(EventData{Kind: lane, Name: "", Start: 5, Duration: 1, Device: None, Stream: None})
	}
	add(event.Op)
	row := b.loadBytes() - before
	if columns := int64(8 + 8 + 4 + 1 + 4); row != columns+16 {
		t.Errorf("a row needs %d, want its columns' %d and 16 to sort", row, columns)
	}
	add(event.Frame) // of another lane, which is sorted by itself
	if next := b.loadBytes() - before - row; next != row-16 {
		t.Errorf("a row of another lane needs %d, want %d", next, row-16)
	}
	for _, c := range []struct {
		spare, done, total int64
		want               string // "" where it fits
	}{
		{0, 1, 2, ""},
		{-1, 0, 2, "0 MB (keep"},
		{-1, 2, 2, "0 MB (keep"},
		{1 - b.loadBytes(), 0, 2, "0 MB (keep"}, // a byte is a budget
		{-1, 1, 1e6, "; the whole file would need about 294 MB (keep"},
	} {
		k := newSink(&config{limits: defaultLimits(), budget: b.loadBytes() + c.spare}, b, 1,
			func() (int64, int64) { return c.done, c.total })
		err := k.checkLimits()
		if (err == nil) != (c.want == "") || err != nil &&
			(!errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c, err)
		}
		var budget *budgetError
		if errors.As(err, &budget) && budget.MemoryBudget() != b.loadBytes()+c.spare {
			t.Errorf("the error says %d", budget.MemoryBudget())
		}
	}
	k := newSink(&config{limits: defaultLimits(), budget: 0}, b, 1, nil)
	if err := k.checkLimits(); err != nil {
		t.Errorf("without a budget: %v", err)
	}
}

// TestLimitsAreExact: as many as a limit says are read, and one more is not.
func TestLimitsAreExact(t *testing.T) {
	for _, c := range []struct {
		name   string
		set    func(*Limits, int64)
		grow   func(*sink)
		before int64 // there without it
	}{
		{"events", func(l *Limits, n int64) { l.Events = n }, func(k *sink) { k.rows++ }, 0},
		{"names", func(l *Limits, n int64) { l.Names = n }, func(k *sink) { k.b.intern(fmt.Sprint(len(k.b.t.names))) },
			1},
		{"a worker's names", func(l *Limits, n int64) { l.Names = n }, func(k *sink) { k.workerNames++ }, 0},
		{"bytes", func(l *Limits, n int64) { l.TextBytes = n }, func(k *sink) { k.b.textBytes++ }, 0},
		{"a worker's bytes", func(l *Limits, n int64) { l.TextBytes = n }, func(k *sink) { k.workerText++ }, 0},
		{"devices", func(l *Limits, n int64) { l.Devices = n },
			func(k *sink) { k.b.queue(queue{device: DeviceID(len(k.b.devices))}) }, 0},
		{"streams", func(l *Limits, n int64) { l.Tracks = n },
			func(k *sink) { k.b.queue(queue{stream: StreamID(len(k.b.t.queues))}) }, 0},
		{"threads", func(l *Limits, n int64) { l.Tracks = n },
			func(k *sink) { k.b.thread(threadKey{tid: int64(len(k.b.t.threads))}) }, 0},
		{"categories", func(l *Limits, n int64) { l.Tracks = n },
			func(k *sink) { k.b.counts[[2]string{"X", fmt.Sprint(len(k.b.counts))}] = 1 }, 0},
		{"processes", func(l *Limits, n int64) { l.Tracks = n },
			func(k *sink) { k.b.Name(Thread{Process: int64(len(k.b.procs)), ProcessName: "p"}) }, 0},
		{"labels", func(l *Limits, n int64) { l.Tracks = n },
			func(k *sink) { k.b.Name(Thread{ID: int64(len(k.b.threads)), Name: "t"}) }, 0},
		{"a worker's tracks", func(l *Limits, n int64) { l.Tracks = n }, func(k *sink) { k.workerTracks++ }, 0},
	} {
		const limit = 3
		l := defaultLimits()
		c.set(&l, limit)
		k := newSink(&config{limits: l}, NewBuilder(Options{}), 1, nil)
		for range limit - c.before {
			c.grow(k)
		}
		if err := k.checkLimits(); err != nil {
			t.Errorf("%s: as many as allowed: %v", c.name, err)
		}
		c.grow(k)
		if err := k.checkLimits(); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "more than 3 ") {
			t.Errorf("%s: one more: %v", c.name, err)
		}
	}
}

// TestOpenPairs: begin events wait for their ends up to a bound, and give back what they take.
func TestOpenPairs(t *testing.T) {
	at := func(begin bool, at int64, args string) *half {
		return &half{begin, at, EventData{Kind: event.Op, Name: "a", Start: at, Args: []byte(args), Device: None,
			Stream: None}}
	}
	newPairs := func() *sink {
		cfg := newConfig(&Options{})
		return newSink(&cfg, NewBuilder(Options{}), 1, nil)
	}
	k := newPairs()
	k.openN = 1<<20 - 1
	k.pair(at(true, 1, ""))
	k.pair(at(true, 2, "")) // one too many
	if l := k.b.losses.list; len(l) != 1 || l[0].Reason != event.Limit || l[0].Count != 1 || l[0].Offsets[0] != 2 {
		t.Errorf("at the limit of open events: %+v", l)
	}
	k = newPairs()
	k.openArgs = 64<<20 - 1
	k.pair(at(true, 1, "ab"))
	k.pair(at(true, 2, "ab"))
	if l := k.b.losses.list; len(l) != 1 || l[0].Reason != event.Limit || l[0].Offsets[0] != 2 {
		t.Errorf("at the limit of their args: %+v", l)
	}
	k = newPairs()
	for _, p := range []*half{at(true, 5, "abc"), at(true, 6, "d"), at(false, 6, ""), at(false, 4, ""),
		at(false, 9, ""), at(true, 20, "")} {
		k.pair(p)
	}
	if k.openN != 1 || k.openArgs != 0 || k.rows != 1 {
		t.Errorf("%d open, with %d bytes of args, %d stored; want 1, 0 and 1", k.openN, k.openArgs, k.rows)
	}
	k.finish()
	got := map[event.Loss]Loss{}
	for _, l := range k.b.losses.list {
		got[l.Reason] = l
	}
	// The outer one ended before it began, one end had no begin, one begin no end.
	if got["negative-duration"].Offsets[0] != 5 || got["unmatched"].Count != 2 || got["unmatched"].Offsets[0] != 9 ||
		len(got) != 2 {
		t.Errorf("losses %+v", got)
	}
}

// TestHeadsOfFiles: a format sees the first 4096 bytes.
func TestHeadsOfFiles(t *testing.T) {
	mark := []byte("#")
	marked := Format{Name: "marked", Match: func(head []byte) bool { return bytes.Contains(head, mark) },
		Open: func(context.Context, *Input, Options) (*Trace, error) { return finished(NewBuilder(Options{})), nil }}
	for at, want := range map[int]bool{0: true, 4095: true, 4096: false} {
		text := strings.Repeat(" ", at) + "#" + strings.Repeat(" ", 9000)
		_, err := Read(t.Context(), strings.NewReader(text), Options{Formats: []Format{marked}})
		if (err == nil) != want || err != nil && !errors.Is(err, ErrFormat) {
			t.Errorf("a mark at byte %d: %v, want it found: %v", at, err, want)
		}
	}
	named := Format{Name: "named", Suffixes: []string{".x"}, Open: marked.Open}
	for _, c := range []struct {
		file, text string
		want       bool
	}{{"a.x", "#", true}, {"a.x.gz", "#", true}, {"a.y", "#", false}, {"a.x", "", false}} {
		_, err := formatOf([]Format{named}, &Input{Name: c.file, head: []byte(c.text)})
		if (err == nil) != c.want {
			t.Errorf("%s of %d bytes: %v, want it taken: %v", c.file, len(c.text), err, c.want)
		}
	}
}

// TestEventsWithinAFile: a directory's JSON files are looked at as far as metadata goes.
func TestEventsWithinAFile(t *testing.T) {
	dir := t.TempDir()
	for i, c := range []struct {
		text string
		want bool
	}{
		{`{"traceEvents":[]}`, true},
		{`{"a":1}`, false},
		{`[{"ph":"X"}]`, true},
		{"\xef\xbb\xbf\r\n\t [{\"ph\":\"X\"}]", true},
		{`[]`, false},
		{`{"ph":1}`, false},
		{"", false},
		{" \n", false},
		{`{"a":"` + strings.Repeat("x", 1<<20-len(`{"a":"","traceEvents"`)) + `","traceEvents":[]}`, true},
		{`{"a":"` + strings.Repeat("x", 1<<20-len(`{"a":"","traceEvents"`)+1) + `","traceEvents":[]}`, false},
	} {
		path := filepath.Join(dir, fmt.Sprint(i, ".json"))
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := holdsEvents(path); got != c.want {
			t.Errorf("%.40q of %d bytes holds events: %v, want %v", c.text, len(c.text), got, c.want)
		}
	}
	if holdsEvents(filepath.Join(dir, "none")) {
		t.Error("a file that is not there holds events")
	}
}

// TestWallClock: times from 2010 on are of a clock, others relative.
func TestWallClock(t *testing.T) {
	first := time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		origin, base int64
		want         time.Time
	}{
		{first.UnixNano(), 0, first},
		{first.UnixNano() - 1, 0, time.Time{}},
		{5, first.UnixNano(), first.Add(5)},
		{5, first.UnixNano() - 6, time.Time{}},
	} {
		got, ok := (&Trace{origin: c.origin, meta: Meta{BaseTime: c.base}}).Epoch()
		if !got.Equal(c.want) || ok != !c.want.IsZero() {
			t.Errorf("%d after %d: %v, %v, want %v", c.origin, c.base, got, ok, c.want)
		}
	}
}

// TestTopLevelValues: of what type they must be to be taken.
func TestTopLevelValues(t *testing.T) {
	for _, c := range []struct {
		key, value string
		want       string
	}{
		{"baseTimeNanoseconds", "7", "7   false false 0 [] 0"},
		{"baseTimeNanoseconds", `"7"`, "7   false false 0 [] 0"},
		{"baseTimeNanoseconds", "7.5", "0   false false 0 [] 1"},
		{"traceName", `"a"`, "0 a  false false 0 [] 0"},
		{"traceName", "5", "0   false false 0 [] 1"},
		{"schemaVersion", "1", "0  1 false false 0 [] 0"},
		{"with_stack", "1", "0   true false 0 [] 0"},
		{"with_stack", "0", "0   false false 0 [] 0"},
		{"with_stack", "2", "0   false false 0 [] 1"},
		{"record_shapes", `"True"`, "0   false true 0 [] 0"},
		{"distributedInfo", `{"rank":0,"world_size":2}`, "0   false false 2 [] 0 rank 0"},
		{"distributedInfo", `{"rank":-1,"world_size":-2}`, "0   false false -2 [] 0 rank -1"},
		{"deviceProperties", `[{"id":0,"numSms":132,"computeMajor":9,"computeMinor":0,"warpSize":32},{"id":0},{"id":1}]`,
			"0   false false 0 [{0  0 132 9 0 32 0 0} {1  0 0 0 0 0 0 0}] 0"},
		{"zzz", "1", "0   false false 0 [] 1"},
	} {
		m, err := kinetoMeta(NewBuilder(Options{}), []scan.Meta{{Key: c.key, Value: []byte(c.value)}}, true)
		if err != nil {
			t.Fatal(err)
		}
		rank := ""
		if c.key == "distributedInfo" {
			rank = fmt.Sprint(" rank ", m.Rank)
		} else if m.Rank != -1 {
			t.Errorf("%s: rank %d, want none", c.key, m.Rank)
		}
		if got := fmt.Sprint(m.BaseTime, " ", m.TraceName, " ", m.Format, " ", m.WithStack, " ", m.RecordShape, " ",
			m.WorldSize, " ", m.Devices, " ", len(m.Extra), rank); got != c.want {
			t.Errorf("%s: %s: %s, want %s", c.key, c.value, got, c.want)
		}
	}
	// Of several documents the first counts; what is broken is left out, or an error.
	values := []scan.Meta{{Key: "traceName", Value: []byte(`"a"`)}, {Key: "traceName", Value: []byte(`"b"`), Doc: 1},
		{Key: "zzz", Value: []byte(`{`), Offset: 7}}
	b := NewBuilder(Options{})
	m, err := kinetoMeta(b, values, false)
	if l := b.losses.list; err != nil || m.TraceName != "a" || len(l) != 1 || l[0].Count != 1 || l[0].Offsets[0] != 7 ||
		l[0].Detail != `top-level value "zzz"` {
		t.Errorf("%+v, losses %+v, %v", m, l, err)
	}
	var syntax *syntaxError
	if _, err := kinetoMeta(NewBuilder(Options{}), values, true); !errors.As(err, &syntax) || syntax.Offset != 7 ||
		syntax.Path != "/zzz" {
		t.Errorf("strict: %v", err)
	}
}

// TestInterruptedReads: a read that the context ends gives no bytes.
func TestInterruptedReads(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	never := make(chan struct{})
	defer close(never)
	r, release := interruptible(ctx, readerFunc(func(p []byte) (int, error) {
		cancel()
		<-never
		return len(p), nil
	}))
	defer release()
	for range 2 {
		if n, err := r.Read(make([]byte, 8)); n != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("%d bytes, %v; want none, and that it was cancelled", n, err)
		}
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestReaderIsStoppedAtOnce: a stream of events ends with its context, before its next event.
func TestReaderIsStoppedAtOnce(t *testing.T) {
	r := Reader{Input: strings.NewReader(`[{"ph":"X","name":"a","ts":1},{"ph":"X","name":"b","ts":2}]`)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n := 0
	for rec, err := range r.Records(ctx) {
		n++
		if rec != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v, want the end", rec, err)
		}
	}
	if n != 1 {
		t.Errorf("%d pairs, want one", n)
	}
}

// TestEverySuspicionHasACode: a new kind without a row would be a finding that no document explains.
func TestEverySuspicionHasACode(t *testing.T) {
	explained := map[Code]bool{}
	for _, c := range Codes() {
		explained[c.Code] = true
	}
	for code, affects := range suspicions {
		if !explained[code] || len(affects) == 0 {
			t.Errorf("suspicion %q is not explained, or touches nothing", code)
		}
	}
}
