package trace_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// allLanesBut are all lanes but one.
func allLanesBut(not event.Lane) (lanes []event.Lane) {
	for l := event.LaneGPU; l <= event.LaneCounter; l++ {
		if l != not {
			lanes = append(lanes, l)
		}
	}
	return lanes
}

// dump is a trace as text: every event of every lane through its accessors.
func dump(t *trace.Trace) string {
	var b strings.Builder
	fmt.Fprintf(&b, "meta %+v\norigin %d\nhealth %+v\ncounts %v\n", t.Meta(), t.Raw(0), t.Health(), t.Meta().Counts)
	for l := event.LaneGPU; int(l) <= int(event.LaneOther); l++ {
		for e := range t.Events(l) {
			dims, config := e.Shape(), ""
			if l == event.LaneGPU {
				dims, config = config, dims
			}
			fmt.Fprintf(&b, "%d %v %v %q %q %d+%d th%d d%d s%d c%d x%d g%d/%d %q %q b%d launch=%d op=%d frame=%d parent=%d args=%s\n", e.ID(), l, e.Kind(), e.Data().Category, e.Name(),
				e.Start(), e.Duration(), e.Thread(), e.Device(), e.Stream(), e.Data().Correlation, e.Data().ExternalID,
				e.Data().GraphID, e.Data().GraphNode,
				dims, config, e.Data().Bytes, e.Launch().ID(), e.Op().ID(), e.Frame().ID(), e.Parent().ID(),
				e.Data().Args)
		}
	}
	for _, th := range t.Threads() {
		fmt.Fprintf(&b, "thread %+v\n", th)
	}
	return b.String()
}

func read(t *testing.T, r io.Reader, opts ...trace.Options) *trace.Trace {
	t.Helper()
	tr, err := trace.Read(context.Background(), r, slices.Concat(opts, []trace.Options{{}})[0])
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func torchFiles(t *testing.T) []string {
	files, err := filepath.Glob(filepath.Join(testdata.Shared(t, "traces/torch"), "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	if !testdata.Long() {
		files = slices.DeleteFunc(files, func(f string) bool {
			info, err := os.Stat(f)
			return err != nil || info.Size() > 150_000
		})
	}
	return files
}

// jsonEvent is what encoding/json makes of an event.
type jsonEvent struct {
	Ph   string          `json:"ph"`
	Cat  string          `json:"cat"`
	Name any             `json:"name"`
	TS   json.RawMessage `json:"ts"`
	Dur  json.RawMessage `json:"dur"`
}

// ns converts decimal microseconds with big rationals.
func ns(t *testing.T, raw json.RawMessage) int64 {
	r, ok := new(big.Rat).SetString(strings.Trim(string(raw), `"`))
	if !ok {
		t.Fatalf("time %q", raw)
	}
	r.Mul(r, big.NewRat(1000, 1))
	if !r.IsInt() {
		t.Fatalf("time %q has more than three decimals", raw)
	}
	return r.Num().Int64()
}

// TestRealFilesAgainstEncodingJSON: counts by phase and category, and the exact
// start and duration of every stored event, equal an independent reading.
func TestRealFilesAgainstEncodingJSON(t *testing.T) {
	testdata.ManyInputs(t)
	for _, path := range testdata.Spread(t, torchFiles(t)) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			var doc struct{ TraceEvents []jsonEvent }
			if err := json.Unmarshal(testdata.ReadFile(t, path), &doc); err != nil {
				t.Fatal(err)
			}
			counts := map[string]int64{}
			var want []string
			for _, e := range doc.TraceEvents {
				counts[e.Ph+" "+e.Cat]++
				if e.Ph == "X" && ns(t, e.TS)|ns(t, e.Dur) != 0 {
					want = append(want, fmt.Sprintf("%s %v %d %d", e.Cat, e.Name, ns(t, e.TS), ns(t, e.Dur)))
				}
			}
			tr, err := trace.Open(t.Context(), path, trace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int64{}
			for phase, categories := range tr.Meta().Counts {
				for category, n := range categories {
					got[phase+" "+category] += n
				}
			}
			if d := cmp.Diff(counts, got); d != "" {
				t.Errorf("counts (-encoding/json +trace):\n%s", d)
			}
			var stored []string
			for l := event.LaneGPU; l <= event.LaneOther; l++ {
				for e := range tr.Events(l) {
					stored = append(stored, fmt.Sprintf("%s %s %d %d", e.Data().Category, e.Name(), tr.Raw(e.Start()),
						e.Duration()))
				}
			}
			sort.Strings(want)
			sort.Strings(stored)
			if !slices.Equal(want, stored) {
				t.Errorf("events (-encoding/json +trace):\n%.2000s", cmp.Diff(want, stored))
			}
			if l := tr.Health().Losses; len(l) != 0 {
				t.Errorf("losses in a clean file: %+v", l)
			}
			if _, err := trace.Open(t.Context(), path, trace.Options{Strict: true}); err != nil {
				t.Errorf("strict: %v", err)
			}
		})
	}
}

// TestSameTraceHoweverItArrives: compression, chunks and goroutines change nothing.
func TestSameTraceHoweverItArrives(t *testing.T) {
	for _, name := range []string{"sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz",
		"hf-bert-small-eager-h100.json.gz", "synthetic-deepseek-v4-flash-TP-0.trace.json.gz"} {
		data := testdata.ReadFile(t, testdata.Shared(t, "traces/torch/"+name))
		if !testdata.Long() && len(data) > 2e6 {
			continue
		}
		want := dump(read(t, bytes.NewReader(data), trace.Options{Concurrency: 1}))
		var gz, zs bytes.Buffer
		half := len(data) / 2
		for _, part := range [][]byte{data[:half], data[half:]} { // two members
			z := gzip.NewWriter(&gz)
			z.Write(part)
			z.Close()
		}
		enc, err := zstd.NewWriter(&zs)
		if err != nil {
			t.Fatal(err)
		}
		enc.Write(data)
		enc.Close()
		for how, r := range map[string]io.Reader{
			"plain": bytes.NewReader(data), "one-byte": iotest.OneByteReader(bytes.NewReader(data)),
			"halves": iotest.HalfReader(bytes.NewReader(data)), "data-err": iotest.DataErrReader(bytes.NewReader(data)),
			"gzip-members": &gz, "zstd": &zs,
		} {
			got := dump(read(t, r, trace.Options{Concurrency: 4}))
			if got != want {
				t.Errorf("%s %s: (-plain, one goroutine +this)\n%.2000s", name, how,
					cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
			}
		}
	}
}

func TestOtherFilesAreRefusedWithWhatTheySeemToBe(t *testing.T) {
	var dir string
	for name, want := range map[string]string{
		"not-a-trace-execution-trace.json.gz": "execution trace",
		"not-a-trace-memory-timeline.json.gz": "memory timeline",
	} {
		dir = testdata.Shared(t, "traces/other")
		_, err := trace.Open(t.Context(), filepath.Join(dir, name), trace.Options{})
		if !errors.Is(err, trace.ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want ErrFormat and %q", name, err, want)
		}
	}
	for in, want := range map[string]string{
		"": "empty", "<html>": "HTML", "SQLite format 3\x00": "trace/nsys", `{"model_type": "x"}`: "config.json",
		`{"a": 1}`: "without traceEvents", "oops": "not JSON", `[{"a": 1}]`: "without trace events",
	} {
		if _, err := trace.Read(t.Context(), strings.NewReader(in), trace.Options{}); !errors.Is(err,
			trace.ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want ErrFormat and %q", in, err, want)
		}
	}
}

// TestTruncationNeverLosesAWholeEvent cuts a small trace at every byte, plain and gzipped.
func TestTruncationNeverLosesAWholeEvent(t *testing.T) {
	testdata.ManyInputs(t)
	var ends []int64
	r := trace.Reader{Input: strings.NewReader(small)}
	for rec, err := range r.Records(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Phase == 'X' {
			ends = append(ends, rec.Offset+int64(len(rec.Raw)))
		}
	}
	if len(ends) != 8 {
		t.Fatalf("%d complete events, want 8", len(ends))
	}
	for n := 20; n < len(small); n++ {
		want := 0
		for _, end := range ends {
			if end <= int64(n) {
				want++
			}
		}
		tr, err := trace.Read(t.Context(), strings.NewReader(small[:n]), trace.Options{})
		if err != nil {
			if want > 0 || !errors.Is(err, trace.ErrFormat) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("cut at %d: %v", n, err)
			}
			continue
		}
		if tr.Len() != want {
			t.Fatalf("cut at %d: %d events, want %d", n, tr.Len(), want)
		}
		if l := tr.Health().Losses; len(l) == 0 || l[0].Reason != event.Truncated {
			t.Fatalf("cut at %d: losses %+v, want truncated", n, l)
		}
		if n%4 != 0 && !testdata.Long() {
			continue
		}
		if _, err := trace.Read(t.Context(), strings.NewReader(small[:n]), trace.Options{Strict: true}); !errors.Is(err,
			trace.ErrDamaged) || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d: strict error %v", n, err)
		}
	}
}

func TestCutGzipKeepsThePrefix(t *testing.T) {
	var z bytes.Buffer
	w, _ := gzip.NewWriterLevel(&z, gzip.NoCompression)
	w.Write([]byte(small))
	w.Close()
	cut := z.Bytes()[:z.Len()-100]
	tr := read(t, bytes.NewReader(cut))
	if tr.Len() < 5 {
		t.Errorf("%d events", tr.Len())
	}
	got := map[string]bool{}
	for _, l := range tr.Health().Losses {
		got[string(l.Reason)] = true
	}
	if !got["bad-compression"] {
		t.Errorf("losses %v, want bad-compression", got)
	}
	if _, err := trace.Read(t.Context(), bytes.NewReader(cut), trace.Options{Strict: true}); !errors.Is(err,
		trace.ErrDamaged) {
		t.Errorf("strict: %v", err)
	}
}

// event writes an X event with the given fields changed or added.
func record(fields string) string {
	return `{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":5.0,"dur":2.0,"args":{"device":0,"stream":7},` +
		fields + `}`
}

// phases is one event of each phase, a line each.
func phases(letters string) string {
	var lines []string
	for _, c := range letters {
		lines = append(lines, fmt.Sprintf(`{"ph":"%c","ts":1,"dur":1,"name":"a"}`, c))
	}
	return strings.Join(lines, "\n")
}

func document(events ...string) string {
	return `{"traceEvents": [` + strings.Join(events, ",\n") + `]}`
}

func TestEdgeCases(t *testing.T) {
	op := `{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":3`
	tests := []struct {
		name string
		in   string
		want string // what the query below prints
		ask  func(*trace.Trace) any
	}{
		{"epoch-microseconds-as-floats-stay-exact", document(record(`"ts":1712195495505582.988`)),
			"1712195495505582988", func(t *trace.Trace) any { return t.Raw(0) }},
		{"display-time-unit-is-ignored", `{"displayTimeUnit":"ns","traceEvents":[` + record(`"ts":3.5`) + `]}`, "3500",
			func(t *trace.Trace) any { return t.Raw(0) }},
		{"times-and-ids-as-strings", document(record(`"ts":"4.5","dur":"1.5","pid":"0","tid":"stream 7"`)), "1.5µs 7",
			func(t *trace.Trace) any {
				e := t.LaneAt(event.LaneGPU, 0)
				return fmt.Sprint(e.Duration(), " ", e.Stream())
			}},
		{"old-file-without-device-args", document(`{"ph":"X","cat":"Kernel","name":"k","pid":3,"tid":"stream 9","ts":1,"dur":1}`), "kernel 3 9 Kernel", func(t *trace.Trace) any {
			e := t.LaneAt(event.LaneGPU, 0)
			return fmt.Sprint(e.Kind(), " ", e.Device(), " ", e.Stream(), " ", e.Data().Category)
		}},
		{"metadata-behind-the-events", `{"traceEvents":[` + record(`"id":1`) +
			`],"baseTimeNanoseconds":1759240000000000000,"distributedInfo":{"rank":"3","world_size":8},"with_stack":1}`,
			"1759240000000000000 3 8 true",
			func(t *trace.Trace) any {
				m := t.Meta()
				return fmt.Sprint(m.BaseTime, " ", m.Rank, " ", m.WorldSize, " ", m.WithStack)
			}},
		{"unknown-top-level-keys-are-kept", `{"INFO":["a"],"traceEvents":[],"zzz":{"b":1}}`, `{"b":1} ["a"]`,
			func(t *trace.Trace) any {
				return string(t.Meta().Extra["zzz"]) + " " + string(t.Meta().Extra["INFO"])
			}},
		{"duplicate-device-properties", `{"deviceProperties":[{"id":0,"name":"A"},{"id":0,"name":"A"}],"traceEvents":[]}`,
			"1", func(t *trace.Trace) any { return len(t.Meta().Devices) }},
		{"name-unknown-stays-apart", document(record(`"name":"unknown"`)), "unknown",
			func(t *trace.Trace) any { return t.LaneAt(event.LaneGPU, 0).Name() }},
		{"invalid-utf8-is-repaired-and-counted", document(record("\"name\":\"a\xffb\"")), "a\uFFFDb repaired",
			func(t *trace.Trace) any {
				return t.LaneAt(event.LaneGPU, 0).Name() + " " + string(t.Health().Losses[0].Reason)
			}},
		{"numbers-beyond-int64", document(record(`"args":{"device":0,"stream":18446744073709551615,"Comms Id":18446744073709551614,"Addr":99999999999999999999999}`)), "1", func(t *trace.Trace) any { return t.Len() }},
		{"not-collected-kernel", document(record(`"ts":0,"dur":0`), record(`"ts":7`)), "1 not-collected 7000",
			func(t *trace.Trace) any {
				return fmt.Sprint(t.Len(), " ", t.Health().Losses[0].Reason, " ", t.Raw(0))
			}},
		{"zero-duration-is-kept", document(record(`"dur":0`)), "1", func(t *trace.Trace) any { return t.Len() }},
		{"negative-duration-is-dropped", document(record(`"dur":-1`)), "0 negative-duration",
			func(t *trace.Trace) any { return fmt.Sprint(t.Len(), " ", t.Health().Losses[0].Reason) }},
		{"missing-duration-is-zero-and-noted", document(`{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1}`),
			"1 no-duration", func(t *trace.Trace) any {
				return fmt.Sprint(t.Len(), " ", t.Health().Losses[0].Reason)
			}},
		{"merged-ranks-do-not-share-correlations", document(
			`{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":"[TP00] 5","tid":5,"ts":1,"dur":1,"args":{"correlation":9}}`,
			`{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":"[TP01] 6","tid":6,"ts":1,"dur":1,"args":{"correlation":9}}`,
			`{"ph":"X","cat":"kernel","name":"k","pid":"[TP01] 0","tid":7,"ts":5,"dur":1,"args":{"device":0,"stream":7,"correlation":9}}`), "[TP01] 6", func(t *trace.Trace) any {
			return t.Thread(t.LaneAt(event.LaneGPU, 0).Launch().Thread()).ProcessLabel
		}},
		{"each-of-merged-files-has-its-scope", document(
			`{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":3,"tid":3,"ts":1,"dur":1,"args":{"correlation":9}}`,
			`{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":"[TP00] 5","tid":5,"ts":2,"dur":1,"args":{"correlation":9}}`,
			`{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":"[TP01] 6","tid":6,"ts":3,"dur":1,"args":{"correlation":9}}`,
			`{"ph":"X","cat":"kernel","name":"k","pid":"[TP01] 0","tid":7,"ts":5,"dur":1,"args":{"device":1,"stream":7,"correlation":9}}`,
			`{"ph":"X","cat":"kernel","name":"k","pid":"[TP00] 0","tid":7,"ts":6,"dur":1,"args":{"device":0,"stream":7,"correlation":9}}`,
			`{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":7,"dur":1,"args":{"device":2,"stream":7,"correlation":9}}`), "6 5 3", func(t *trace.Trace) any {
			var threads []string
			for e := range t.Events(event.LaneGPU) {
				threads = append(threads, fmt.Sprint(t.Thread(e.Launch().Thread()).ID))
			}
			return strings.Join(threads, " ")
		}},
		{"what-has-no-name-or-shape-gets-none", document(op+`,"args":{"Input Dims":[[1]]}}`,
			`{"ph":"X","cat":"cpu_op","pid":1,"tid":1,"ts":9,"dur":3}`,
			`{"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":19,"dur":3,"args":{"Input Dims":[[2]]}}`),
			"aten::mm [[1]]   b [[2]]", func(t *trace.Trace) any {
				var out []string
				for e := range t.Events(event.LaneOp) {
					out = append(out, e.Name()+" "+e.Shape())
				}
				return strings.Join(out, " ")
			}},
		{"ids-of-one", document(op+`,"args":{"External id":1}}`,
			record(`"args":{"device":0,"stream":7,"graph node id":1}`),
			record(`"ts":9,"args":{"device":0,"stream":7,"graph node id":0}`)), "aten::mm true false",
			func(t *trace.Trace) any {
				return fmt.Sprint(t.OpByExternalID(1).Name(), " ", t.LaneAt(event.LaneGPU, 0).IsReplay(), " ",
					t.LaneAt(event.LaneGPU, 1).IsReplay())
			}},
		{"a-document-that-is-not-closed", `{"traceEvents": [` + record(`"id":1`) + `]`, "1 truncated 1",
			func(t *trace.Trace) any {
				l := t.Health().Losses
				return fmt.Sprint(len(l), " ", l[0].Reason, " ", l[0].Count)
			}},
		{"phases-are-counted-by-their-letters", `[` +
			strings.Join(strings.Split(phases("XisftMBEbenCINRZ"), "\n"), ",") + `]`,
			"B1 C1 E1 I1 M1 N1 R1 X1 Z1 b1 e1 f1 i1 n1 s1 t1", func(t *trace.Trace) any {
				var out []string
				for phase, categories := range t.Meta().Counts {
					out = append(out, fmt.Sprint(phase, categories[""]))
				}
				slices.Sort(out)
				return strings.Join(out, " ")
			}},
		{"legacy-categories-and-keys", document(`{"ph":"X","cat":"Runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":1,"dur":1,"args":{"correlation":4,"external id":6}}`), "runtime 6", func(t *trace.Trace) any {
			e := t.LaneAt(event.LaneLaunch, 0)
			return fmt.Sprint(e.Kind(), " ", e.Data().ExternalID)
		}},
		{"unknown-category-is-never-a-kernel", document(record(`"cat":"mtia_ccp_events"`)), "0 1",
			func(t *trace.Trace) any {
				return fmt.Sprint(t.Len(event.LaneGPU), " ", t.Len(event.LaneOther))
			}},
		{"bytes-as-string", document(record(`"cat":"gpu_memcpy","args":{"device":0,"stream":1,"bytes":"512"}`)), "512",
			func(t *trace.Trace) any { return t.LaneAt(event.LaneGPU, 0).Data().Bytes }},
		{"sync-stream-minus-one-unsigned", document(record(`"cat":"cuda_sync","args":{"device":0,"stream":4294967295}`)),
			"-1 0", func(t *trace.Trace) any {
				return fmt.Sprint(t.LaneAt(event.LaneSync, 0).Stream(), " ", t.Len(event.LaneGPU))
			}},
		{"small-cpu-pid-is-no-gpu", document(`{"ph":"X","cat":"cpu_op","name":"a","pid":0,"tid":7,"ts":1,"dur":1}`,
			record(`"id":1`)), "1 1", func(t *trace.Trace) any {
			return fmt.Sprint(t.Len(event.LaneOp), " ", t.Len(event.LaneGPU))
		}},
		{"huge-rocm-stream", document(record(`"args":{"device":2,"stream":615352160}`)), "615352160",
			func(t *trace.Trace) any { return t.LaneAt(event.LaneGPU, 0).Stream() }},
		{"stream-on-cpu-op-is-no-gpu", document(op + `,"args":{"stream":7,"grid":[1,1,1]}}`), "op -1",
			func(t *trace.Trace) any {
				e := t.LaneAt(event.LaneOp, 0)
				return fmt.Sprint(e.Kind(), " ", e.Stream())
			}},
		{"python-parent-null", document(`{"ph":"X","cat":"python_function","name":"nn.Module: A_0","pid":1,"tid":1,"ts":1,"dur":9,"args":{"Python parent id":null,"Python id":1}}`), "module", func(t *trace.Trace) any {
			return t.LaneAt(event.LanePython, 0).Kind()
		}},
		{"begin-and-end-are-paired", document(`{"ph":"B","cat":"cpu_op","name":"out","pid":1,"tid":1,"ts":1}`,
			`{"ph":"B","cat":"cpu_op","name":"in","pid":1,"tid":1,"ts":2}`,
			`{"ph":"E","pid":1,"tid":1,"ts":3}`, `{"ph":"E","pid":1,"tid":2,"ts":3}`,
			`{"ph":"E","pid":1,"tid":1,"ts":5}`), "out 4µs in 1µs unmatched", func(t *trace.Trace) any {
			a, b := t.LaneAt(event.LaneOp, 0), t.LaneAt(event.LaneOp, 1)
			return fmt.Sprint(a.Name(), " ", a.Duration(), " ", b.Name(), " ", b.Duration(), " ",
				t.Health().Losses[0].Reason)
		}},
		{"thread-and-process-names", document(`{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"python"}}`,
			`{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"thread 1 (main)"}}`, op+
				"}"), "python/thread 1 (main)",
			func(t *trace.Trace) any { return t.Threads()[0].ProcessName + "/" + t.Threads()[0].Name }},
		{"empty-trace-events", document(), "unusable", func(t *trace.Trace) any { return t.Health().Status }},
		{"two-documents", document(record(`"id":1`)) + "\n" + document(record(`"id":2`)), "2 repaired",
			func(t *trace.Trace) any { return fmt.Sprint(t.Len(), " ", t.Health().Losses[0].Reason) }},
		{"unsorted-events-are-sorted", document(record(`"ts":9`), record(`"ts":3`), record(`"ts":6`)), "0s 3µs 6µs",
			func(t *trace.Trace) any {
				var s []string
				for e := range t.Events(event.LaneGPU) {
					s = append(s, time.Duration(e.Start()-0).String())
				}
				return strings.Join(s, " ")
			}},
		{"graph-ids", document(record(`"args":{"device":0,"stream":7,"graph id":3,"graph node id":12884901890}`)),
			"3 12884901890 true", func(t *trace.Trace) any {
				e := t.LaneAt(event.LaneGPU, 0)
				return fmt.Sprint(e.Data().GraphID, " ", e.Data().GraphNode, " ", e.IsReplay())
			}},
		{"launch-configuration", document(record(`"args":{"device":0,"stream":7,"grid":[1, 2, 3],"block":[4,5,6]}`)),
			"1,2,3|4,5,6", func(t *trace.Trace) any { return t.LaneAt(event.LaneGPU, 0).Shape() }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := fmt.Sprint(tt.ask(read(t, strings.NewReader(tt.in)))); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestOptionsNarrowWhatIsStored(t *testing.T) {
	full := read(t, strings.NewReader(small))
	for name, tt := range map[string]struct {
		opt  trace.Options
		keep func(trace.Event) bool
	}{
		"without-python": {trace.Options{Lanes: allLanesBut(event.LanePython)},
			func(e trace.Event) bool { return e.Kind().Lane() != event.LanePython }},
		"lanes": {trace.Options{Lanes: []event.Lane{event.LaneGPU, event.LaneLaunch}}, func(e trace.Event) bool {
			return e.Kind().Lane() == event.LaneGPU || e.Kind().Lane() == event.LaneLaunch
		}},
		"kinds": {trace.Options{Kinds: []event.Kind{event.Op}},
			func(e trace.Event) bool { return e.Kind() == event.Op }},
	} {
		got := read(t, strings.NewReader(small), tt.opt)
		var want, have []string
		for l := event.LaneGPU; l <= event.LaneOther; l++ {
			for e := range full.Events(l) {
				if tt.keep(e) {
					want = append(want, fmt.Sprint(e.Name(), e.Start()))
				}
			}
			for e := range got.Events(l) {
				have = append(have, fmt.Sprint(e.Name(), e.Start()))
			}
		}
		if d := cmp.Diff(want, have); d != "" || len(want) == full.Len() {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if d := cmp.Diff(full.Meta().Counts, got.Meta().Counts); d != "" {
			t.Errorf("%s: counts differ:\n%s", name, d)
		}
	}
	if got := string(read(t, strings.NewReader(small), trace.Options{Args: []event.Kind{event.Op}}).LaneAt(event.LaneOp,
		0).Data().Args); got != `{"External id":5,"Input Dims":[[2,3],[3,4]]}` {
		t.Errorf("Args() = %s", got)
	}
}

// TestPythonFramesCostNothingWhenNotWanted compares live memory.
func TestPythonFramesCostNothingWhenNotWanted(t *testing.T) {
	frame := `{"ph":"X","cat":"python_function","name":"f.py(%d): f","pid":1,"tid":1,"ts":%d,"dur":1}`
	var few, many strings.Builder
	for b, n := range map[*strings.Builder]int{&few: 10, &many: 200_000} {
		b.WriteString(`{"traceEvents": [`)
		for i := range n {
			fmt.Fprintf(b, frame+",\n", i%5000, i)
		}
		b.WriteString(record(`"id":1`) + "]}")
	}
	live := func(s string) int64 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		tr := read(t, strings.NewReader(s), trace.Options{Lanes: allLanesBut(event.LanePython)})
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(tr)
		return int64(after.HeapAlloc) - int64(before.HeapAlloc)
	}
	live(few.String()) // warm up
	a, b := live(few.String()), live(many.String())
	if b-a > 64<<10 {
		t.Errorf("live memory is %d bytes with 10 frames and %d with 200,000", a, b)
	}
}

func TestLimitsAreErrors(t *testing.T) {
	if _, err := trace.Read(t.Context(), strings.NewReader(small),
		trace.Options{Limits: trace.Limits{Events: 3}}); !errors.Is(err, trace.ErrLimit) {
		t.Errorf("events: %v, want ErrLimit", err)
	}
	if _, err := trace.Read(t.Context(), strings.NewReader(small),
		trace.Options{Limits: trace.Limits{InputBytes: 300}}); !errors.Is(err, trace.ErrLimit) {
		t.Errorf("input: %v, want ErrLimit", err)
	}
	tr := read(t, strings.NewReader(small), trace.Options{Limits: trace.Limits{EventBytes: 100}})
	if l := tr.Health().Losses; len(l) != 1 || l[0].Reason != event.Limit {
		t.Errorf("event size: losses %+v, want limit", l)
	}
}

func TestCancelledContextStopsTheLoad(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := trace.Read(ctx, strings.NewReader(small), trace.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestReaderErrorPassesThrough(t *testing.T) {
	boom := errors.New("boom")
	r := io.MultiReader(strings.NewReader(small[:400]), iotest.ErrReader(boom))
	if _, err := trace.Read(t.Context(), r, trace.Options{}); err != boom {
		t.Errorf("got %v, want the reader's own error", err)
	}
}

// TestReaderGivesTexts as they are, however short, and whichever were seen before.
func TestReaderGivesTexts(t *testing.T) {
	r := trace.Reader{Input: strings.NewReader(`[{"ph":"X","cat":"c","name":"a","ts":1},{"ph":"X","name":"b","pid":"p","tid":"t","ts":2},{"ph":"X","name":"a\n","ts":3},{"ph":"X","cat":"","name":"","ts":4},{"ph":"X","ts":5},{"ph":"X","name":"a","ts":6}]`)}
	var got []string
	for rec, err := range r.Records(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s|%s|%s|%s", rec.Category, rec.Name, rec.PIDLabel, rec.TIDLabel))
	}
	if want := []string{"c|a||", "|b|p|t", "|a\n||", "|||", "|||", "|a||"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestReaderSeesWhatATraceStores: the streaming reader and the columns agree.
func TestReaderSeesWhatATraceStores(t *testing.T) {
	for _, path := range testdata.Spread(t, torchFiles(t)) {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r := trace.Reader{Input: f}
		counts := map[string]int64{}
		for rec, err := range r.Records(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			counts[string(rec.Phase)+" "+rec.Category]++
		}
		tr, err := trace.Open(t.Context(), path, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int64{}
		for phase, categories := range tr.Meta().Counts {
			for category, n := range categories {
				got[phase+" "+category] = n
			}
		}
		if d := cmp.Diff(counts, got); d != "" {
			t.Errorf("%s (-Reader +Trace):\n%s", filepath.Base(path), d)
		}
		if d := cmp.Diff(tr.Meta().BaseTime, r.Meta.BaseTime); d != "" || len(r.Losses) != 0 {
			t.Errorf("%s: %s, losses %v", filepath.Base(path), d, r.Losses)
		}
	}
}

// FuzzRead reads anything, and everything of it through the accessors.
func FuzzRead(f *testing.F) {
	for _, s := range []string{small, document(), document(record(`"ts":1e300`)), "[" + record(`"id":1`), small[:500],
		"{", "\x1f\x8b\x08", "\x28\xb5\x2f\xfd",
		document(record("\"name\":\"\xff\\ud800\"")), `{"deviceProperties":3,"distributedInfo":[],"traceEvents":[]}`,
		document(record(`"ts":-9e15`), record(`"ts":9e15`)), document(record(`"dur":9223372036854775`)),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tr, err := trace.Read(context.Background(), bytes.NewReader(data),
			trace.Options{Args: []event.Kind{event.Kernel}, Concurrency: 2})
		if err != nil {
			return
		}
		if d := dump(tr); len(d) == 0 {
			t.Error("nothing to dump")
		}
		for l := event.LaneGPU; l <= event.LaneOther; l++ {
			last := trace.Event{}
			for e := range tr.Events(l) {
				if e.Duration() < 0 || e.End() < e.Start() {
					t.Errorf("%v: [%d, %d] lasts %d", e.Name(), e.Start(), e.End(), e.Duration())
				}
				if last.Valid() && last.Thread() == e.Thread() && last.Start() > e.Start() {
					t.Errorf("lane %v is not sorted", l)
				}
				last = e
			}
		}
		for _, dev := range tr.Devices() {
			for _, s := range tr.Streams(dev) {
				for e := range tr.OnStream(dev, s) {
					if e.Stream() != s {
						t.Errorf("stream %d holds an event of %d", s, e.Stream())
					}
				}
			}
		}
	})
}

// TestStrictErrorsSayWhere: the offset in the decompressed bytes and the path of
// what is wrong, from a Trace and from a Reader, compressed or not.
func TestStrictErrorsSayWhere(t *testing.T) {
	for _, tt := range []struct {
		name, in, at, path string // at is the text at the offset
	}{
		{"time", document(record(`"id":1`), record(`"ts":"1x"`)), `"1x"`, "/traceEvents/1/ts"},
		{"duration", document(record(`"dur":--1`)), `--1`, "/traceEvents/0/dur"},
		{"syntax", document(record(`"id":1`), `{"ph":"X" "name":1}`), `"name":1}]`, "/traceEvents/1"},
		{"utf-8", document(record("\"name\":\"a\xff\"")), "\xff", "/traceEvents/0"},
		{"comma", document(record(`"id":1`), ""), `]}`, "/traceEvents/1"},
		{"no-phase", document(`{"name":"a"}`), `{"name":"a"}`, "/traceEvents/0"},
		{"metadata", `{"traceEvents": [], "INFO": ["a "b" c"]}`, `b" c"]`, "/INFO"},
	} {
		for _, in := range []string{tt.in, string(gzipped(t, []byte(tt.in)))} {
			_, err := trace.Read(t.Context(), strings.NewReader(in), trace.Options{Strict: true})
			where := fmt.Sprintf(" at %s (offset %d)", tt.path, strings.LastIndex(tt.in, tt.at))
			if !errors.Is(err, trace.ErrDamaged) || !strings.HasSuffix(err.Error(), where) {
				t.Errorf("%s: %v, want %s at %d", tt.name, err, tt.path, strings.LastIndex(tt.in, tt.at))
			}
			if !strings.HasPrefix(fmt.Sprint(err), "trace: ") {
				t.Errorf("%s: the message is %q", tt.name, err)
			}
			r := trace.Reader{Input: strings.NewReader(in), Options: trace.Options{Strict: true}}
			for _, err = range r.Records(t.Context()) {
			}
			if !errors.Is(err, trace.ErrDamaged) || !strings.HasSuffix(err.Error(), where) {
				t.Errorf("%s: Reader: %v, want it%s", tt.name, err, where)
			}
		}
	}
}

// TestWindowIsThatOfAllThreads: the first thread in the file is not the first to work.
func TestWindowIsThatOfAllThreads(t *testing.T) {
	op := `{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":%d,"ts":%d,"dur":%d}`
	tr := read(t, strings.NewReader(document(fmt.Sprintf(op, 1, 100, 900), fmt.Sprintf(op, 2, 50, 1))))
	if start, end := tr.Window(); start != 0 || end != 950_000 {
		t.Errorf("Window() = %d, %d, want 0, 950000", start, end)
	}
}

// TestReaderGivesWholeEventsBeforeDamage: then the damage, as the last pair.
func TestReaderGivesWholeEventsBeforeDamage(t *testing.T) {
	whole := gzipped(t, []byte(document(record(`"id":1`), record(`"id":2`))))
	r := trace.Reader{Input: bytes.NewReader(whole[:len(whole)-6])} // without the checksum
	n := 0
	var err error
	for _, e := range r.Records(t.Context()) {
		if err = e; err == nil {
			n++
		}
	}
	if n != 2 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%d events, then %v, want 2 and io.ErrUnexpectedEOF", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r = trace.Reader{Input: strings.NewReader(small)}
	for _, err := range r.Records(ctx) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
}
