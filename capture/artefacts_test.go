package capture_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/capture"
)

// later runs steps after the profiler was stopped, each when the one before
// has been seen by at least a few looks at the folder.
func later(t *testing.T, s *fake, steps ...func(dir, pattern string)) {
	var started bool
	s.write = func(dir, pattern string) {
		if started {
			return
		}
		started = true
		done := make(chan struct{})
		go func() {
			defer close(done)
			for _, step := range steps {
				time.Sleep(8 * time.Millisecond)
				step(dir, pattern)
			}
		}()
		t.Cleanup(func() { <-done })
	}
}

// decodeOnly is a run of one stage with short waits.
func decodeOnly(s *fake, dir string, traces time.Duration) capture.Options {
	o := quick(s, dir)
	o.Workload = capture.WorkloadDecode
	o.Timeouts.Traces = traces
	return o
}

// TestLateTraces: only complete traces are accepted, however they are written.
func TestLateTraces(t *testing.T) {
	text := traceText(1, 0)
	gz := packed("x.gz", text)
	put := func(name string, data []byte) func(string, string) {
		return func(dir, _ string) {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
				t.Error(err)
			}
		}
	}
	add := func(name string, data []byte) func(string, string) {
		return func(dir, _ string) {
			f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o666)
			if err != nil {
				t.Error(err)
				return
			}
			f.Write(data)
			f.Close()
		}
	}
	pause := func(string, string) { time.Sleep(40 * time.Millisecond) }
	rename := func(from, to string) func(string, string) {
		return func(dir, _ string) {
			if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
				t.Error(err)
			}
		}
	}
	const name, plain = "17.5-TP-0.trace.json.gz", "17.5-TP-0.trace.json"
	for _, c := range []struct {
		name  string
		steps []func(string, string)
		file  string
		want  []byte
	}{
		{"slow flush", []func(string, string){pause, pause, put(name, gz)}, name, gz},
		{"growing", []func(string, string){put(name, nil), add(name, gz[:20]), add(name, gz[20:40]),
			add(name, gz[40:])}, name, gz},
		// Longer than StableFor without a byte: only the missing end keeps it out.
		{"stalled", []func(string, string){put(name, gz[:len(gz)-4]), pause, pause, add(name, gz[len(gz)-4:])}, name,
			gz},
		{"stalled plain", []func(string, string){put(plain, text[:len(text)-4]), pause, pause,
			add(plain, text[len(text)-4:])}, plain, text},
		// Cut right after an event's bracket.
		{"stalled at a bracket", []func(string, string){put(plain,
			text[:bytes.LastIndexByte(text[:len(text)-4], '}')+1]), pause, put(plain, text)}, plain, text},
		{"renamed", []func(string, string){put(name+".tmp", gz[:30]), pause, put(name+".tmp", gz), pause,
			rename(name+".tmp", name)}, name, gz},
		{"renamed, other style", []func(string, string){put("17.5-TP-0.trace.json.tmp.gz", gz), pause,
			rename("17.5-TP-0.trace.json.tmp.gz", name)}, name, gz},
		{"written twice", []func(string, string){put(name, []byte("{}}")), pause, put(name, gz)}, name, gz},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := outDir(t)
			s := newFake(t, capture.FrameworkSGLang, "")
			later(t, s, c.steps...)
			res, err := run(t, context.Background(), s, decodeOnly(s, dir, 20*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{filepath.Join(dir, "decode", c.file)}, res.Files()); d != "" {
				t.Fatalf("files (-want +got):\n%s", d)
			}
			got, err := os.ReadFile(res.Files()[0])
			if err != nil || !bytes.Equal(got, c.want) {
				t.Errorf("accepted %d bytes, want %d (%v)", len(got), len(c.want), err)
			}
		})
	}
}

// TestRanksArriveOneByOne: every expected rank is waited for.
func TestRanksArriveOneByOne(t *testing.T) {
	for _, f := range []capture.Framework{capture.FrameworkSGLang, capture.FrameworkVLLM} {
		dir := outDir(t)
		s := newFake(t, f, dir)
		s.ranks = 3
		one := func(r int) func(string, string) {
			return func(dir, pattern string) {
				time.Sleep(30 * time.Millisecond) // longer than SettleFor
				writeTrace(t, filepath.Join(dir, rankName(pattern, r)), traceText(1, r))
			}
		}
		later(t, s, one(2), one(0), one(1))
		o := decodeOnly(s, dir, 20*time.Second)
		if f == capture.FrameworkVLLM {
			o.ExpectRanks = 3
		}
		res, err := run(t, context.Background(), s, o)
		if err != nil || len(res.Files()) != 3 || res.Stages[0].Expected != 3 {
			t.Errorf("%s: %v, %v", f, res.Files(), err)
		}
	}
}

// TestIncomplete: traces that stay incomplete are named, rank by rank.
func TestIncomplete(t *testing.T) {
	gz := packed("x.gz", traceText(1, 0))
	for _, c := range []struct {
		name  string
		write func(dir string)
		parts []string
	}{
		{"nothing", func(string) {}, []string{"no decode trace from", "missing: TP-0, TP-1",
			"the server was asked to write to", "--server-output-dir"}},
		{"missing rank", func(d string) { writeTrace(t, filepath.Join(d, "a-TP-0.trace.json.gz"), traceText(1, 0)) },
			[]string{"incomplete decode traces", "1 complete of 2 expected", "missing: TP-1"}},
		{"truncated gzip", func(d string) {
			writeTrace(t, filepath.Join(d, "a-TP-0.trace.json.gz"), traceText(1, 0))
			os.WriteFile(filepath.Join(d, "a-TP-1.trace.json.gz"), gz[:len(gz)-9], 0o666)
		}, []string{"missing: TP-1", "a-TP-1.trace.json.gz", "gzip stream ends early"}},
		{"corrupt gzip", func(d string) {
			writeTrace(t, filepath.Join(d, "a-TP-0.trace.json.gz"), traceText(1, 0))
			bad := bytes.Clone(gz)
			bad[len(bad)-5] ^= 0xff
			os.WriteFile(filepath.Join(d, "a-TP-1.trace.json.gz"), bad, 0o666)
		}, []string{"a-TP-1.trace.json.gz", "gzip: "}},
		{"never renamed", func(d string) {
			writeTrace(t, filepath.Join(d, "a-TP-0.trace.json.gz"), traceText(1, 0))
			os.WriteFile(filepath.Join(d, "a-TP-1.trace.json.gz.tmp"), gz, 0o666)
		}, []string{"missing: TP-1", "a-TP-1.trace.json.gz.tmp", "not yet renamed"}},
		{"empty", func(d string) { os.WriteFile(filepath.Join(d, "a-TP-0.trace.json"), nil, 0o666) },
			[]string{"0 complete of 2 expected", "a-TP-0.trace.json (0 bytes): not complete: empty"}},
		{"not JSON", func(d string) { os.WriteFile(filepath.Join(d, "a-TP-0.trace.json"), []byte("traceback"), 0o666) },
			[]string{"not a JSON object or array"}},
		{"documents", func(d string) {
			for _, n := range []string{"server_args.json", "metadata.json", "config.json", "capture.json",
				".hidden.trace.json", "profiler_out_0.txt", "execution_trace_0.json"} {
				os.WriteFile(filepath.Join(d, n), []byte("{}"), 0o666)
			}
		}, []string{"no decode trace"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := outDir(t)
			s := newFake(t, capture.FrameworkSGLang, "")
			s.ranks = 2
			s.write = func(dir, _ string) { c.write(dir) }
			res, err := run(t, context.Background(), s, decodeOnly(s, dir, 150*time.Millisecond))
			wantError(t, err, capture.ErrIncomplete, append(c.parts, s.URL, filepath.Join(dir, "decode"))...)
			if st := res.Stages[0]; st.Expected != 2 || st.Stage != capture.StageDecode || st.Verdict != capture.Invalid {
				t.Errorf("%+v", st)
			}
		})
	}
}

// TestGapShowsMissingRank: without a known number of ranks, ranks 0 and 2 show
// that 1 is missing.
func TestGapShowsMissingRank(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkVLLM, dir)
	s.write = func(dir, _ string) {
		for _, r := range []string{"0", "2"} {
			writeTrace(t, filepath.Join(dir, "rank"+r+".17.pt.trace.json.gz"), traceText(1, 0))
		}
		writeTrace(t, filepath.Join(dir, "host_12.async_llm.17.pt.trace.json.gz"), traceText(1, 0))
	}
	_, err := run(t, context.Background(), s, decodeOnly(s, dir, 150*time.Millisecond))
	wantError(t, err, capture.ErrIncomplete, "missing: rank 1")
}

// TestOldTraces: what lay there before is never taken, not even when an
// earlier run renames, moves or finishes it now.
func TestOldTraces(t *testing.T) {
	for _, f := range all {
		dir := outDir(t)
		s := newFake(t, f, dir)
		// The folder the server writes into.
		at := dir
		if f == capture.FrameworkSGLang || f == capture.FrameworkTokenSpeed {
			at = filepath.Join(dir, "decode")
		}
		writeTrace(t, filepath.Join(at, "old-TP-0.trace.json.gz"), traceText(7, 0))
		writeTrace(t, filepath.Join(at, "moved-TP-0.trace.json.gz"), traceText(7, 1))
		gz := packed("x.gz", traceText(7, 2))
		slow := filepath.Join(at, "slow-TP-0.trace.json.gz")
		if err := os.WriteFile(slow+".tmp", gz[:10], 0o666); err != nil {
			t.Fatal(err)
		}
		open, err := os.OpenFile(slow+".tmp", os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		s.write = func(string, string) {
			open.Write(gz[10:])
			open.Close()
			os.Rename(slow+".tmp", slow)
			os.Rename(filepath.Join(at, "moved-TP-0.trace.json.gz"), filepath.Join(at, "renamed-TP-0.trace.json.gz"))
		}
		_, err = run(t, context.Background(), s, decodeOnly(s, dir, 150*time.Millisecond))
		wantError(t, err, capture.ErrIncomplete, "no decode trace", "2 earlier traces in the folder were left out",
			"vllm-project/vllm#45987")

		// And with a new one among them.
		s.write = nil
		res, err := run(t, context.Background(), s, decodeOnly(s, dir, 20*time.Second))
		if err != nil || len(res.Files()) != 1 {
			t.Errorf("%s: %v, %v", f, res, err)
			continue
		}
		if got, _ := os.ReadFile(res.Files()[0]); !bytes.Equal(got, packed(res.Files()[0], traceText(2, 0))) {
			t.Errorf("%s: took %s, which is not the second window's", f, res.Files()[0])
		}
	}
}

// TestOldTraceStillGrowing: under a fixed name, a file that an earlier run is
// still writing to is not this run's.
func TestOldTraceStillGrowing(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkTensorRT, dir)
	old := filepath.Join(dir, "trace.json")
	writeTrace(t, old, traceText(7, 0)[:40])
	s.write = func(string, string) { writeTrace(t, old, traceText(7, 0)) }
	o := decodeOnly(s, dir, 80*time.Millisecond)
	o.Timeouts.Stable = time.Hour // written to less than this before
	_, err := run(t, context.Background(), s, o)
	wantError(t, err, capture.ErrIncomplete, "no decode trace")
}

// TestSecondCaptureWritesNothing is vLLM #45987: the first window of a
// server's life works, the next leaves no file and no error.
func TestSecondCaptureWritesNothing(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkVLLM, dir)
	first := true
	s.write = func(dir, pattern string) {
		if first {
			writeTrace(t, filepath.Join(dir, rankName(pattern, 0)), traceText(1, 0))
		}
		first = false
	}
	o := quick(s, dir)
	o.Timeouts.Traces = 150 * time.Millisecond
	res, err := run(t, context.Background(), s, o)
	wantError(t, err, capture.ErrIncomplete, "no decode trace", "only the first one of a server's life",
		"restart the server")
	if res == nil || len(res.Stages) != 2 || len(res.Stages[0].Traces) != 1 ||
		res.Stages[1].Verdict != capture.Invalid {
		t.Errorf("the result has not the prefill stage whole and the decode stage as it is: %+v", res)
	}
}

// TestNamesThatLeave: links out of the folder are not followed, neither as
// traces nor as the stage's folder nor as the file this package writes.
func TestNamesThatLeave(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkVLLM, dir)
	outside := filepath.Join(filepath.Dir(dir), "neighbour.trace.json")
	s.write = func(dir, pattern string) {
		os.Symlink(outside, filepath.Join(dir, "rank0.evil.pt.trace.json"))
		os.Symlink(filepath.Dir(dir), filepath.Join(dir, "sub"))
		os.Symlink(outside, filepath.Join(dir, "decode", "server_args.json"))
		writeTrace(t, filepath.Join(dir, "..rank0.17.pt.trace.json.gz.."), traceText(1, 0))
		writeTrace(t, filepath.Join(dir, rankName(pattern, 0)), traceText(1, 0))
	}
	res, err := run(t, context.Background(), s, decodeOnly(s, dir, 20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{filepath.Join(dir, "decode", "dp0_pp0_tp0_dcp0_ep0_rank0.175911.pt.trace.json.gz")},
		res.Files()); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	if info, err := os.Lstat(filepath.Join(dir, "decode", "server_args.json")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("server_args.json: %v, %v", info, err)
	}

	// The stage's folder is a link out.
	dir = outDir(t)
	s = newFake(t, capture.FrameworkVLLM, dir)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(dir), filepath.Join(dir, "decode")); err != nil {
		t.Fatal(err)
	}
	_, err = run(t, context.Background(), s, decodeOnly(s, dir, time.Second))
	wantError(t, err, nil, "decode")
	if len(s.saw("/start_profile")) != 0 {
		t.Error("armed all the same")
	}
}

// TestOutputFolderFaults: a file in the folder's place.
func TestOutputFolderFaults(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkVLLM, dir)
	if err := os.WriteFile(dir, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := capture.Run(context.Background(), quick(s, dir))
	wantError(t, err, nil, "output folder", dir)
}

// TestCheckWhole: only the full text of a trace is complete, no proper prefix.
// This holds for reads of any size, compressed or not.
func TestCheckWhole(t *testing.T) {
	ctx := context.Background()
	for _, text := range [][]byte{traceText(1, 0), []byte(`[{"a": "\\\"]"}]`), []byte("{}"),
		[]byte(" \n[1, [2], {}]\r\n\t")} {
		trimmed := bytes.TrimRight(text, " \n\r\t")
		gz := packed("x.gz", text)
		for _, r := range []io.Reader{bytes.NewReader(text), iotest.OneByteReader(bytes.NewReader(text)),
			bytes.NewReader(gz), iotest.OneByteReader(bytes.NewReader(gz)), iotest.DataErrReader(bytes.NewReader(gz))} {
			if err := capture.CheckWhole(ctx, r); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
		for n := range len(trimmed) {
			if err := capture.CheckWhole(ctx, bytes.NewReader(trimmed[:n])); err == nil {
				t.Errorf("%q is called whole", trimmed[:n])
			}
		}
		for n := range len(gz) {
			if err := capture.CheckWhole(ctx, bytes.NewReader(gz[:n])); err == nil {
				t.Errorf("%d of %d bytes of gzip are called whole", n, len(gz))
			}
		}
	}
	for in, want := range map[string]string{"{}x": "data after", "null": "not a JSON object", "{} {}": "data after",
		"}": "not a JSON"} {
		if err := capture.CheckWhole(ctx, strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
	boom := errors.New("boom")
	if err := capture.CheckWhole(ctx, iotest.ErrReader(boom)); !errors.Is(err, boom) {
		t.Errorf("I/O error came back as %v", err)
	}
	if err := capture.CheckWhole(canceled(), bytes.NewReader(traceText(1, 0))); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// FuzzCheckWhole: no input makes it panic or hang, and a complete trace is
// incomplete once its end is cut.
func FuzzCheckWhole(f *testing.F) {
	f.Add(traceText(1, 0))
	f.Add(packed("x.gz", traceText(1, 0)))
	f.Add([]byte{0x1f, 0x8b, 8})
	f.Add([]byte(`{"a":"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if capture.CheckWhole(context.Background(), bytes.NewReader(data)) != nil ||
			bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
			return
		}
		cut := bytes.TrimRight(data, " \n\r\t")
		if capture.CheckWhole(context.Background(), bytes.NewReader(cut[:len(cut)-1])) == nil {
			t.Errorf("%q is whole without its last byte", cut)
		}
	})
}

// TestParseRank: the labels servers write, and words that are none.
func TestParseRank(t *testing.T) {
	for name, want := range map[string]string{
		"1759.25-TP-0.trace.json.gz":                            "TP-0",
		"exp1-1759.25-TP-3-DP-1-PP-0-EP-3-EXTEND.trace.json.gz": "DP-1 PP-0 TP-3",
		"dp0_pp1_tp2_dcp0_ep0_rank6.175911.pt.trace.json.gz":    "DP-0 PP-1 TP-2 rank 6",
		"rank0.1759.pt.trace.json.gz":                           "rank 0",
		"trace-rank-12.json":                                    "rank 12",
		"host_worker1.trace.json":                               "rank 1",
		"http1-trap2.trace.json":                                "",
		"trace.json":                                            "",
		"tp1234567.json":                                        "",
		"TP-0/plain.json":                                       "",
	} {
		if got := capture.ParseRank(name).String(); got != want {
			t.Errorf("ParseRank(%s) = %q, want %q", name, got, want)
		}
	}
}

// TestMissing: counts, labels, and front ends without either.
func TestMissing(t *testing.T) {
	for _, c := range []struct {
		files  []string
		expect int
		want   []string
	}{
		{nil, 2, []string{"rank 0", "rank 1"}},
		{[]string{"x-TP-1.json"}, 2, []string{"rank 0"}},
		{[]string{"rank0.json", "rank1.json"}, 2, nil},
		{[]string{"a-TP-0.json", "b-TP-0.json"}, 2, []string{"rank 1"}},
		{[]string{"rank0.json", "front.json"}, 2, []string{"rank 1"}},
		{[]string{"a.json", "b.json"}, 2, nil},
		{[]string{"a.json"}, 3, []string{"2 more (the names have no rank)"}},
		{[]string{"dp0_tp0.json", "dp0_tp1.json", "dp1_tp0.json", "dp1_tp1.json"}, 4, nil},
		{[]string{"merged-1.json", "rank0.json"}, 2, []string{"rank 1"}},
		{[]string{"rank1.json"}, 0, []string{"rank 0"}},
		{[]string{"rank0.json", "rank1.json"}, 0, nil},
		{[]string{"a.json"}, 0, nil},
	} {
		if d := cmp.Diff(c.want, capture.Missing(c.files, c.expect)); d != "" {
			t.Errorf("%v of %d (-want +got):\n%s", c.files, c.expect, d)
		}
	}
}

// TestDataParallelRanks: the number of traces SGLang's sizes ask for.
func TestDataParallelRanks(t *testing.T) {
	for info, want := range map[string]int{
		`{"tp_size": 4}`: 4,
		`{"tp_size": 4, "dp_size": 4, "enable_dp_attention": true}`: 4,
		`{"tp_size": 2, "dp_size": 2, "pp_size": 1}`:                4,
		`{"tp_size": 2, "pp_size": 2}`:                              4,
		`{"model_path": "x"}`:                                       0,
		`{"tp_size": 1048576, "dp_size": 1048576}`:                  0,
	} {
		dir := outDir(t)
		s := newFake(t, capture.FrameworkSGLang, "")
		s.fault = answers("/server_info", 200, info, nil)
		s.write = func(dir, _ string) {
			for r := range max(want, 1) {
				writeTrace(t, filepath.Join(dir, rankName("x-DP-%[1]d-PP-%[1]d-TP-%[1]d.trace.json", r)),
					traceText(1, r))
			}
		}
		res, err := run(t, context.Background(), s, decodeOnly(s, dir, 20*time.Second))
		if err != nil || res.Stages[0].Expected != want {
			t.Errorf("%s: %v, want %d traces", info, err, want)
		}
	}
}

// TestSummarise: percentiles by nearest rank, in any order, none of nothing.
func TestSummarise(t *testing.T) {
	var times []time.Duration
	for i := 1; i <= 20; i++ {
		times = append(times, time.Duration(i)*time.Millisecond)
	}
	want := capture.Latency{Count: 20, MeanMs: 10.5, P50Ms: 10, P95Ms: 19, MinMs: 1, MaxMs: 20}
	for range 5 {
		rand.Shuffle(len(times), func(i, j int) { times[i], times[j] = times[j], times[i] })
		if got := capture.Summarise(times); got != want {
			t.Errorf("Summarise = %+v, want %+v", got, want)
		}
	}
	if got := capture.Summarise(times[:1]); got.P50Ms != got.P95Ms || got.Count != 1 {
		t.Errorf("of one: %+v", got)
	}
	if got := capture.Summarise(nil); got != (capture.Latency{}) {
		t.Errorf("of none: %+v", got)
	}
}

// TestStableSize: a complete file that still changes is not accepted yet.
func TestStableSize(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkSGLang, "")
	var steps []func(string, string)
	for n := 1; n <= 5; n++ {
		steps = append(steps, func(dir, _ string) {
			writeTrace(t, filepath.Join(dir, "17.5-TP-0.trace.json"), traceText(1, 7*n*n*n*n*n))
		})
	}
	later(t, s, steps...)
	o := decodeOnly(s, dir, 20*time.Second)
	o.Timeouts.Stable = 300 * time.Millisecond // far more than the 8 ms between the writes
	res, err := run(t, context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(res.Files()[0]); !bytes.Equal(got, traceText(1, 7*5*5*5*5*5)) {
		t.Errorf("accepted the trace while it was being written: %s", got)
	}
}

// TestSettle: without a number of ranks, the set is complete when it has been
// quiet for a while and nothing is left half written.
func TestSettle(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkVLLM, dir)
	put := func(name string, cut int) func(string, string) {
		return func(dir, _ string) {
			text := traceText(1, 0)
			writeTrace(t, filepath.Join(dir, name), text[:len(text)-cut])
		}
	}
	later(t, s, put("rank0.17.pt.trace.json", 0), put("rank1.17.pt.trace.json", 0),
		put("front.17.pt.trace.json", 4), put("prefill/rank2.17.pt.trace.json", 0), put("front.17.pt.trace.json", 0))
	o := decodeOnly(s, dir, 20*time.Second)
	o.Timeouts.Settle = 400 * time.Millisecond // far more than the 8 ms between the files
	res, err := run(t, context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"front.17.pt.trace.json", "rank0.17.pt.trace.json", "rank1.17.pt.trace.json"}
	for i := range want {
		want[i] = filepath.Join(dir, "decode", want[i])
	}
	if d := cmp.Diff(want, res.Files()); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
}

// TestHalfWrittenBeside: every expected rank is there, but one more trace is
// still being written: it belongs to the set.
func TestHalfWrittenBeside(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkSGLang, "")
	text := traceText(1, 0)
	later(t, s, func(dir, _ string) {
		writeTrace(t, filepath.Join(dir, "extra.trace.json"), text[:len(text)-4])
		writeTrace(t, filepath.Join(dir, "17-TP-0.trace.json"), text)
	}, func(string, string) { time.Sleep(80 * time.Millisecond) }, func(dir, _ string) {
		writeTrace(t, filepath.Join(dir, "extra.trace.json"), text)
	})
	res, err := run(t, context.Background(), s, decodeOnly(s, dir, 20*time.Second))
	if err != nil || len(res.Files()) != 2 {
		t.Errorf("%v, %v", res.Files(), err)
	}
}
