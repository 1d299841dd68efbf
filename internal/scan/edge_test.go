package scan_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/llmstrata/strata/internal/scan"
)

func ev(name string, more ...string) string {
	return fmt.Sprintf(`{"ph": "X", "cat": "cpu_op", "name": %q, "pid": 1, "tid": 2, "ts": 10.5, "dur": 1.25%s}`, name,
		strings.Join(more, ""))
}

func doc(events ...string) string {
	return `{"schemaVersion": 1, "traceEvents": [` + strings.Join(events, ",\n") + `], "traceName": "x"}`
}

// names returns the names of the events that a scan of in gives, and its losses
// as "reason@offset".
func names(tb testing.TB, in string, cfg scan.Config) (names, losses []string, res *scan.Result, err error) {
	tb.Helper()
	s := scan.NewScanner(strings.NewReader(in), cfg)
	for {
		e, err := s.Next()
		if err != nil {
			for _, l := range s.Result().Losses.First {
				losses = append(losses, fmt.Sprintf("%s@%d", l.Reason, l.Offset))
			}
			if err == io.EOF {
				err = nil
			}
			return names, losses, s.Result(), err
		}
		names = append(names, string(scan.AppendText(nil, e.Name)))
	}
}

func TestDamageCostsOnlyTheDamagedEvent(t *testing.T) {
	a, b := ev("a"), ev("b")
	tests := []struct {
		name   string
		in     string
		events string // names, space separated
		losses []scan.Reason
	}{
		{"whole", doc(a, b), "a b", nil},
		{"unescaped-quote-in-name", doc(a, ev("q", "")[:30]+`"x", `+a[30:], b), "a b", []scan.Reason{scan.LostSyntax}},
		{"unescaped-quote-in-args", doc(a, ev("q", `, "args": {"co": "<string "x">", "n": 1}`), b), "a b",
			[]scan.Reason{scan.LostSyntax}},
		{"unescaped-quote-in-last-event", doc(a, ev("q", `, "args": {"co": "<string "x">", "n": 1}`)), "a",
			[]scan.Reason{scan.LostSyntax}},
		{"control-characters", doc(a, ev("x\x01")[:0]+strings.Replace(a, `"a"`, "\"x\x00\ty\"", 1), b), "a x\x00\ty b",
			nil},
		{"invalid-utf8", doc(strings.Replace(a, `"a"`, "\"\xff\xfe\"", 1), b), "\uFFFD\uFFFD b", nil},
		{"bad-escape", doc(strings.Replace(a, `"a"`, `"C:\e\users"`, 1), b), `C:\e\users b`, nil},
		{"nan-duration", doc(strings.Replace(a, "1.25", "NaN", 1), b), "a b", []scan.Reason{scan.RepairedDuration}},
		{"quoted-inf-duration", doc(strings.Replace(a, "1.25", `"inf"`, 1), b), "a b",
			[]scan.Reason{scan.RepairedDuration}},
		{"nan-timestamp", doc(strings.Replace(a, "10.5", "nan", 1), b), "b", []scan.Reason{scan.LostTime}},
		{"number-with-two-signs", doc(strings.Replace(a, "1.25", "-5.-123", 1), b), "b",
			[]scan.Reason{scan.LostNumber}},
		{"nan-in-args", doc(ev("n", `, "args": {"occupancy": NaN, "x": -Infinity}`), b), "n b", nil},
		{"trailing-comma-in-array", doc(a, b+","), "a b", []scan.Reason{scan.RepairedComma}},
		{"trailing-comma-in-event", doc(strings.Replace(a, "1.25}", "1.25,}", 1), b), "a b",
			[]scan.Reason{scan.RepairedComma}},
		{"two-commas", doc(a, "", b), "a b", []scan.Reason{scan.RepairedComma}},
		{"missing-comma", doc(a + "\n" + b), "a b", []scan.Reason{scan.RepairedComma}},
		{"empty-event", doc(a, "{}", b), "a b", []scan.Reason{scan.RepairedEmpty}},
		{"null-element", doc(a, "null", b), "a b", []scan.Reason{scan.LostNotObject}},
		{"array-element", doc(a, `["x", {"ph": 1}]`, b), "a b", []scan.Reason{scan.LostNotObject}},
		{"unclosed-array-eats-nothing", doc(`[1, ["x"], {"id": 2}`, a, b), "a b", []scan.Reason{scan.LostNotObject}},
		{"events-in-an-array", doc("["+a+"]", b), "a b", []scan.Reason{scan.LostNotObject, scan.LostMetadata}},
		{"open-object-eats-nothing", doc(a, `{"traceEvents": [`, a, b), "a a b", []scan.Reason{scan.LostSyntax}},
		{"open-object-without-a-name-behind", `{"traceEvents": [` + a + `, {"x": [` + "," + a + "," + b + "]}", "a a b",
			[]scan.Reason{scan.LostSyntax}},
		{"open-array-of-an-event-eats-nothing", doc(a, `{"ph": "X", "name": "open", "ts": 1, "x": [1`, a, b), "a a b",
			[]scan.Reason{scan.LostSyntax}},
		{"open-array-in-args-eats-nothing", `{"data": ` + doc(a, ev("open", `, "args": {"grid": [64`), a, b) + `}`,
			"a a b",
			[]scan.Reason{scan.LostMetadata, scan.LostSyntax, scan.LostGarbage}},
		{"open-arrays-one-after-the-other", doc(a, `{"x": [`, a, `{"y": {"z": [`, b, b), "a a b b",
			[]scan.Reason{scan.LostSyntax, scan.LostSyntax}},
		{"documents-in-an-array", "[" + doc(a) + "," + doc(b) + "]", "a b",
			[]scan.Reason{scan.LostSyntax, scan.LostGarbage, scan.LostGarbage, scan.LostGarbage}},
		{"objects-that-are-no-events-are-args", doc(ev("n",
			`, "args": {"x": [{"ph": 1, "name": "p"}, {"name": "q", "ts": 5}]}`), b), "n b", nil},
		{"event-without-phase", doc(a, `{"name": "p"}`, b), "a b", []scan.Reason{scan.LostNoPhase}},
		{"unclosed-string-eats-nothing", doc(a, `{"ph": "X", "name": "open}`, b), "a b",
			[]scan.Reason{scan.LostSyntax}},
		{"unclosed-event-eats-nothing", doc(a, `{"ph": "X", "args": {"k": [1, 2}}`, b), "a b",
			[]scan.Reason{scan.LostSyntax}},
		{"truncated-in-event", doc(a, b)[:len(doc(a, b))-40], "a", []scan.Reason{scan.LostTruncated}},
		{"truncated-after-comma", `{"traceEvents": [` + a + ",\n", "a", nil},
		{"crlf", strings.ReplaceAll(doc(a, b), "\n", "\r\n"), "a b", nil},
		{"byte-order-mark", "\xef\xbb\xbf" + doc(a), "a", nil},
		{"bare-array", "[" + a + "," + b + "]", "a b", nil},
		{"bare-array-cut", "[" + a + "," + b + ",\n", "a b", nil},
		{"two-documents", doc(a) + "\n" + doc(b), "a b", nil},
		{"garbage-between-documents", doc(a) + "killed\n" + doc(b), "a b", []scan.Reason{scan.LostGarbage}},
		{"empty-array", doc(), "", nil},
		{"log-line-with-quotes", `{"INFO": ["he said "no" and left", "ok"], "traceEvents": [` + a + `]}`, "a",
			[]scan.Reason{scan.RepairedQuote}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, losses, res, err := names(t, tt.in, scan.Config{})
			if err != nil || strings.Join(got, " ") != tt.events {
				t.Errorf("events %q, error %v, want %q", got, err, tt.events)
			}
			var reasons []scan.Reason
			for _, l := range res.Losses.First {
				reasons = append(reasons, l.Reason)
			}
			if d := cmp.Diff(tt.losses, reasons); d != "" {
				t.Errorf("losses %v (-want +got):\n%s", losses, d)
			}
			if wantTrunc := strings.Contains(tt.name, "trunc") ||
				strings.Contains(tt.name, "cut"); res.Truncated != wantTrunc {
				t.Errorf("Truncated = %v, want %v", res.Truncated, wantTrunc)
			}
			// Strict: the first damage is an error; what JSON forbids is damage too.
			_, _, _, err = names(t, tt.in, scan.Config{Strict: true})
			invalid := !json.Valid([]byte(strings.TrimPrefix(tt.in, "\xef\xbb\xbf"))) && tt.name != "two-documents"
			broken := len(tt.losses) > 0 || invalid || strings.Contains(tt.name, "utf8")
			var se *scan.SyntaxError
			if errors.As(err, &se) != broken {
				t.Errorf("strict: %v, want a SyntaxError: %v", err, broken)
			}
		})
	}
}

func TestStrictErrorSaysWhere(t *testing.T) {
	a := ev("a")
	bad := strings.Replace(ev("b"), "10.5", "1x", 1)
	in := doc(a, bad)
	_, _, _, err := names(t, in, scan.Config{Strict: true})
	var se *scan.SyntaxError
	if !errors.As(err, &se) {
		t.Fatalf("got %v, want a SyntaxError", err)
	}
	if want := int64(strings.Index(in, "1x")); se.Path != "/traceEvents/1/ts" || se.Offset != want {
		t.Errorf("got %s at %d, want /traceEvents/1/ts at %d", se.Path, se.Offset, want)
	}
}

func TestFieldsOfAnEvent(t *testing.T) {
	in := doc(`{"args": {"External id": 7, "device": "3", "stream": 615352160, "correlation": 18446744073709551615, "graph id": 1,
		"graph node id": 2, "grid": [1, 2, 3], "block": [4,5,6], "bytes": "1024", "Input Dims": [[1, 2], []], "finished": "false",
		"other": {"stream": 9}}, "dur": "2.5", "tid": "stream 7", "pid": "42", "ts": "1712195495505582.988", "name": "n\u00e9\"",
		"cat": "kernel", "ph": "X", "id": 5, "s": "g"}`)
	s := scan.NewScanner(strings.NewReader(in), scan.Config{})
	e, err := s.Next()
	if err != nil {
		t.Fatal(err)
	}
	type fields struct {
		Name, Cat, Scope, TID                string
		PID, TS, Dur, Ext, Dev, Stream, Corr int64
		Graph, Node, Bytes, ID               int64
		Grid, Block, Dims                    string
		Unfinished                           bool
	}
	got := fields{string(scan.AppendText(nil, e.Name)), string(e.Cat), string(e.Scope), string(e.TID.Text), e.PID.Num,
		e.TS, e.Dur,
		e.ExternalID, e.Device, e.Stream, e.Correlation, e.GraphID, e.GraphNode, e.Bytes, e.ID.Num, string(e.Grid),
		string(e.Block),
		string(e.Dims), e.Has&scan.HasUnfinished != 0}
	want := fields{"né\"", "kernel", "g", "stream 7", 42, 1712195495505582988, 2500, 7, 3, 615352160, -1, 1, 2, 1024, 5,
		"[1, 2, 3]", "[4,5,6]", "[[1, 2], []]", true}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestLowerCaseExternalID(t *testing.T) {
	s := scan.NewScanner(strings.NewReader(doc(ev("k", `, "args": {"external id": 9}`))), scan.Config{})
	if e, err := s.Next(); err != nil || e.Has&scan.HasExternalID == 0 || e.ExternalID != 9 {
		t.Errorf("got %v, %v", e, err)
	}
}

func TestMetadataBeforeAndAfterEvents(t *testing.T) {
	in := `{"b": {"x": [1, "]"]}, "n": 5 , "traceEvents": [` + ev("a") + `], "s": "t\"", "z": null}`
	_, _, res, err := names(t, in, scan.Config{})
	var got []string
	for _, m := range res.Metas {
		got = append(got, m.Key+"="+string(m.Value))
	}
	want := []string{`b={"x": [1, "]"]}`, "n=5", `s="t\""`, "z=null"}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

func TestLimits(t *testing.T) {
	big := ev("big", `, "args": {"x": "`+strings.Repeat("y", 5000)+`"}`)
	got, losses, _, _ := names(t, doc(ev("a"), big, ev("b")), scan.Config{MaxEvent: 1000, Segment: 100})
	if strings.Join(got, " ") != "a b" || len(losses) != 1 || !strings.HasPrefix(losses[0], "event too large") {
		t.Errorf("large event: %v, %v", got, losses)
	}
	got, losses, _, _ = names(t, doc(ev("a"), big, ev("b")), scan.Config{Segment: 100})
	if strings.Join(got, " ") != "a big b" || losses != nil {
		t.Errorf("event larger than a segment: %v, %v", got, losses)
	}
	deep := ev("deep", `, "args": {"x": `+strings.Repeat("[", 100)+strings.Repeat("]", 100)+`}`)
	got, losses, _, _ = names(t, doc(ev("a"), deep, ev("b")), scan.Config{})
	if strings.Join(got, " ") != "a b" || len(losses) != 1 || !strings.HasPrefix(losses[0], "nested too deeply") {
		t.Errorf("deep event: %v, %v", got, losses)
	}
	got, losses, _, _ = names(t, doc(ev(strings.Repeat("n", 50))), scan.Config{MaxName: 10})
	if strings.Join(got, " ") != "nnnnnnnnnn" || len(losses) != 1 {
		t.Errorf("long name: %v, %v", got, losses)
	}
	meta := `{"big": "` + strings.Repeat("m", 5000) + `", "small": 1, "traceEvents": [` + ev("a") + `]}`
	got, losses, res, _ := names(t, meta, scan.Config{MaxMeta: 100, Segment: 64})
	if len(got) != 1 || len(losses) != 1 || len(res.Metas) != 1 {
		t.Errorf("large metadata: %v, %v, %d values", got, losses, len(res.Metas))
	}
}

// small is a short trace with every kind of thing in it.
var small = "\xef\xbb\xbf" + `{"schemaVersion": 1, "d": [{"id": 0, "name": "G\"PU"}], "traceEvents": [` + "\r\n" +
	strings.Join([]string{
		ev("a", `, "args": {"External id": 7, "Input Dims": [[1, 2], [], [{"name": 1}, {"name": 2}]], "s": "x},{\"ph\": \"q"}`),
		strings.Replace(ev("b"), `"b"`, `"b"b"`, 1),
		`{"ph": "M", "name": "process_name", "pid": "Spans", "tid": -5, "args": {"name": "python"}}`,
		"{}", "3",
		strings.Replace(ev("c"), "1.25", "NaN", 1),
		`{"ph": "s", "id": 4, "pid": 1, "tid": 2, "ts": 1e3, "cat": "ac2g", "name": "ac2g"}`,
		`{"name": "r` + "\xff" + `", "ph": "i"}`,
	}, ",\n  ") + ",\n]" + `, "baseTimeNanoseconds": 5, "traceName": "t"}` + "\n" + `{"traceEvents": [` + ev("z") + "]}"

func TestChunksOfAnySizeGiveTheSame(t *testing.T) {
	for _, strict := range []bool{false, true} {
		for _, maxEvent := range []int{0, 90} {
			cfg := scan.Config{Strict: strict, MaxEvent: maxEvent}
			want := pull(strings.NewReader(small), cfg)
			if !strict && (len(want.Events) < 4 || want.Losses.Total() == 0) {
				t.Fatalf("the small trace is too dull: %+v", want)
			}
			boom := errors.New("boom")
			for size := 1; size <= len(small)+1; size++ {
				cfg.Segment = size
				for name, got := range map[string]outcome{
					"pull":     pull(strings.NewReader(small), cfg),
					"one-byte": pull(iotest.OneByteReader(strings.NewReader(small)), cfg),
					"halves":   pull(iotest.HalfReader(strings.NewReader(small)), cfg),
					"data-err": pull(iotest.DataErrReader(strings.NewReader(small)), cfg),
					"push-1":   push(strings.NewReader(small), cfg),
					"push-3": push(strings.NewReader(small),
						scan.Config{Strict: strict, MaxEvent: maxEvent, Segment: size, Workers: 3}),
				} {
					if strict { // how much was scanned ahead of the error is not part of the result
						got.Bytes = want.Bytes
					}
					if d := cmp.Diff(want, got); d != "" {
						t.Fatalf("strict=%v max=%d %s in segments of %d (-whole +segments):\n%s", strict, maxEvent,
							name, size, clip(d))
					}
				}
			}
			for n := 0; n < len(small); n += 7 {
				faulty := func() io.Reader {
					return io.MultiReader(strings.NewReader(small[:n]),
						iotest.ErrReader(boom))
				}
				cfg.Segment = 50
				want := pull(faulty(), cfg)
				cfg.Workers = 2
				if got := push(iotest.OneByteReader(faulty()), cfg); cmp.Diff(want, got) != "" {
					t.Fatalf("reader failing at %d: (-pull +push)\n%s", n, cmp.Diff(want, got))
				}
				if !strict && want.Err != "boom" {
					t.Fatalf("reader failing at %d: error %q", n, want.Err)
				}
			}
		}
	}
}

func TestTruncationAtEveryByteKeepsEveryWholeEvent(t *testing.T) {
	var ends []int // where each event of a clean trace ends
	in := doc(ev("a"), ev("b", `, "args": {"x": [{"name": "}"}, {"name": 1}], "y": "},\n{\"ph\": 1"}`), ev("c"),
		ev("d"))
	s := scan.NewScanner(strings.NewReader(in), scan.Config{})
	for {
		e, err := s.Next()
		if err != nil {
			break
		}
		ends = append(ends, int(e.Offset)+len(e.Raw))
	}
	if len(ends) != 4 {
		t.Fatalf("%d events", len(ends))
	}
	for n := range len(in) {
		want := 0
		for _, end := range ends {
			if end <= n {
				want++
			}
		}
		for _, size := range []int{1, 64, 1 << 20} {
			got, _, res, err := names(t, in[:n], scan.Config{Segment: size})
			if err != nil || len(got) != want {
				t.Fatalf("cut at %d: events %v, error %v, want %d events", n, got, err, want)
			}
			if n > 0 && !res.Truncated {
				t.Fatalf("cut at %d: not reported as truncated", n)
			}
		}
		if _, _, _, err := names(t, in[:n], scan.Config{Strict: true}); n > 0 && !errors.Is(err, scan.ErrTruncated) {
			t.Fatalf("cut at %d: strict error %v", n, err)
		}
	}
}

func TestScannerDoesNotAllocatePerEvent(t *testing.T) {
	data := []byte(doc(strings.Split(strings.Repeat(ev("a", `, "args": {"External id": 7}`)+"\n", 2000),
		"\n")[:2000]...))
	s := scan.NewScanner(bytes.NewReader(data), scan.Config{})
	for range 10 {
		if _, err := s.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := s.Next(); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations an event, want 0", n)
	}
}

func TestSniff(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{"a": 1}`, ""}, {"\xef\xbb\xbf [ {", ""}, {"[]", ""},
		{"", "empty"}, {" \n", "blank"}, {"<!DOCTYPE html>", "HTML"}, {"SQLite format 3\x00", "trace/nsys"},
		{"[[1, 2]]", "memory timeline"}, {"hello", "not JSON"}, {"\x00\x01\x02", "nsys-rep"}, {"PK\x03\x04", "zip"},
		{"{broken", "not JSON"},
	}
	for _, tt := range tests {
		if got := scan.Sniff([]byte(tt.in)); !strings.Contains(got, tt.want) || (tt.want == "") != (got == "") {
			t.Errorf("Sniff(%q) = %q, want %q in it", tt.in, got, tt.want)
		}
	}
}
