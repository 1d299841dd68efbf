package strata_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/nsys"
)

// FuzzBytes reads any bytes as a trace and takes what came of it through every
// accessor, every analysis and the writers of copies. Most seeds are a few
// events, of which many variants can be tried.
func FuzzBytes(f *testing.F) {
	w := newWhole(f)
	f.Add(tiny(gen.Eager, gen.NVIDIA))
	for _, s := range []string{
		`{"traceEvents":[` + kernel(1, 10, "gemm") + `,` + kernel(2, 20, "norm") + `,` + launch(1, 5) + `,` + launch(2, 6) + `]}`,
		`[` + kernel(1, 10, "a") + `,` + kernel(1, 10, "a") + `,` + launch(1, 5), // cut
		`{"deviceProperties":[{"id":0,"name":"x"}],"distributedInfo":{"rank":0},"traceEvents":[` + kernel(1, 1e15, "k") + `,` +
			`{"ph":"X","cat":"user_annotation","name":"step[DECODE bs=2]","pid":1,"tid":1,"ts":0,"dur":9e15},` +
			`{"ph":"X","cat":"python_function","name":"nn.Module: A_0","pid":1,"tid":1,"ts":1,"dur":50,"args":{"Python id":1}},` + launch(1, 7) + `],"traceName":"x"}`,
		`{"traceEvents":[{"ph":"B","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1},{"ph":"E","pid":0,"tid":7,"ts":2},{"ph":"M","name":"thread_name","args":{"name":"stream 7"}}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w.text(t, data)
	})
}

// kernel and launch are events of a hand-written trace.
func kernel(correlation int, ts float64, name string) string {
	return fmt.Sprintf(`{"ph":"X","cat":"kernel","name":%q,"pid":0,"tid":7,"ts":%g,"dur":4.5,"args":{"device":0,"stream":7,"correlation":%d,"grid":[1,1,1]}}`, name, ts, correlation)
}

func launch(correlation int, ts float64) string {
	return fmt.Sprintf(`{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":%g,"dur":1,"args":{"correlation":%d}}`, ts, correlation)
}

// whole is the whole way of one input of a fuzz target.
type whole struct{ dir string }

// newWhole prepares a target: what one input leaves to the garbage collector is
// little, so it may wait, and all inputs write the same files.
func newWhole(f *testing.F) whole {
	f.Helper()
	debug.SetGCPercent(800)
	return whole{f.TempDir()}
}

// fuzzing reports whether inputs are made up, not only those kept tried.
func fuzzing() bool {
	for _, name := range []string{"test.fuzz", "test.fuzzworker"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" && f.Value.String() != "false" {
			return true
		}
	}
	return false
}

// share calls do for one of n numbers when fuzzing, which the input's bytes
// choose, so that many inputs are tried a second and all numbers get theirs; an
// input that is kept tries all of them whenever the tests run.
func share(input []byte, n int, do func(int)) {
	if fuzzing() {
		do(int(crc32.ChecksumIEEE(input) % uint32(n)))
		return
	}
	for i := range n {
		do(i)
	}
}

// text reads bytes as a trace.
func (w whole) text(t testing.TB, data []byte) {
	t.Helper()
	tr, err := trace.Read(t.Context(), bytes.NewReader(data), trace.Options{Args: trace.Kinds(trace.KindKernel, trace.KindOp)})
	if err != nil {
		refused(t, "read", err)
		return
	}
	walk(t, tr)
	l := newLab(t, tr)
	var c *copier
	share(data, len(trials)+len(writers), func(i int) {
		if i < len(trials) {
			l.try(t, i)
			return
		}
		if c == nil {
			c = newCopier(t, tr, data, w.dir)
		}
		writers[i-len(trials)](t, c)
	})
}

// loaded takes a trace made of an input through the analyses.
func (w whole) loaded(t testing.TB, tr *trace.Trace, input []byte) {
	t.Helper()
	walk(t, tr)
	l := newLab(t, tr)
	share(input, len(trials), func(i int) { l.try(t, i) })
}

// small returns a trace of two passes through two layers, each kernel launched
// from a stack of frames.
func small(mode gen.Mode, vendor gen.Vendor) []byte {
	return generated(gen.Config{
		Seed: 1, Vendor: vendor, Arch: gen.Arch{Layers: gen.Uniform(2, gen.Layer{FFN: gen.MoE})},
		Passes:  []gen.Pass{{Mode: gen.Eager, Prefills: 1, Tokens: 64}, {Mode: mode, Decodes: 2, Context: 64}, {Mode: mode, Decodes: 2, Context: 64}},
		Dialect: gen.SGLang, Stacks: true, Modules: true, TP: 2, GraphIDs: true,
	})
}

// tiny is the least trace that has all parts: a seed of which many variants can
// be tried in a second.
func tiny(mode gen.Mode, vendor gen.Vendor) []byte {
	passes := []gen.Pass{{Mode: mode, Decodes: 2, Context: 64}}
	if mode != gen.Eager { // replays have few events
		passes = append(passes, passes[0])
	}
	return generated(gen.Config{
		Seed: 1, Vendor: vendor, Arch: gen.Arch{Layers: gen.Uniform(2, gen.Layer{FFN: gen.Dense})},
		Passes: passes, Dialect: gen.SGLang, Modules: true, GraphIDs: true,
	})
}

func generated(cfg gen.Config) []byte {
	var b bytes.Buffer
	if err := gen.Write(&b, cfg); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// FuzzEdits takes a good trace and edits whole events and numbers in it: what
// comes out is still a trace, so that the analyses get far with it.
func FuzzEdits(f *testing.F) {
	w := newWhole(f)
	good := map[byte][]byte{}
	for mode := range byte(3) {
		for vendor := range byte(2) {
			good[mode|vendor<<4] = tiny(gen.Mode(mode), gen.Vendor(vendor))
		}
	}
	f.Add(byte(0), []byte{0, 10, 1, 1, 20, 2, 2, 30, 3, 3, 40, 4, 4, 50, 5, 5, 60, 0})
	f.Add(byte(1), []byte{3, 10, 0, 3, 90, 1, 3, 91, 2, 3, 92, 3, 3, 93, 4, 3, 94, 5, 3, 95, 6})
	f.Add(byte(0x12), []byte{6, 10, 200, 6, 90, 100, 1, 0, 0, 5, 3, 99, 4, 200, 17})
	f.Fuzz(func(t *testing.T, which byte, edits []byte) {
		w.text(t, edit(good[which%3|which>>4%2<<4], edits))
	})
}

// hostileNumbers stand in for times, durations and ids.
var hostileNumbers = []string{
	"0", "-1", "1e18", "-9223372036854775.808", "9223372036854775.807", "18446744073709551615", "1e400", "-5.-123", "NaN", "Infinity",
	`"12.5"`, "null", "0.0001", "4294967295", "{}", "[1]", "1e-400", "9007199254740993", "-0", "true",
}

// edit applies edits of three bytes (operation, position, value) to the lines of a trace.
func edit(text, edits []byte) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	for ; len(edits) >= 3 && len(lines) > 0; edits = edits[3:] {
		// Positions are spread over the file; a prime step reaches every line.
		at := (int(edits[1])*257 + int(edits[2])) % len(lines)
		other := (int(edits[2])*131 + int(edits[1])) % len(lines)
		switch edits[0] % 7 {
		case 0: // drop
			lines[at] = nil
		case 1: // repeat
			lines[at] = bytes.Repeat(lines[at], 1+int(edits[2])%4)
		case 2: // move
			lines[at], lines[other] = lines[other], lines[at]
		case 3: // another number
			lines[at] = renumber(lines[at], int(edits[2]))
		case 4: // cut
			lines[at] = lines[at][:len(lines[at])*int(edits[2])/256]
		case 5: // one byte
			if n := len(lines[at]); n > 0 {
				lines[at] = bytes.Clone(lines[at])
				lines[at][int(edits[2])%n] ^= edits[1] | 1
			}
		case 6: // truncate the file
			if len(edits) == 3 {
				lines = lines[:at]
			}
		}
	}
	return bytes.Join(lines, nil)
}

// renumber replaces one number after a colon by a hostile one.
func renumber(line []byte, pick int) []byte {
	var starts []int
	for i := 1; i+1 < len(line); i++ {
		if line[i] == ':' && line[i-1] == '"' {
			starts = append(starts, i+1)
		}
	}
	if len(starts) == 0 {
		return line
	}
	from := starts[pick/len(hostileNumbers)%len(starts)]
	to := from
	for to < len(line) && line[to] != ',' && line[to] != '}' && line[to] != '\n' {
		to++
	}
	return append(append(append([]byte{}, line[:from]...), hostileNumbers[pick%len(hostileNumbers)]...), line[to:]...)
}

// FuzzEvents builds traces event by event, as a reader of another format would:
// any order, any times, any ids.
func FuzzEvents(f *testing.F) {
	w := newWhole(f)
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 30, 4, 5, 6, 7, 8, 1, 2, 60, 4, 5, 6, 7, 8})
	f.Add(bytes.Repeat([]byte{0, 1, 10, 3, 0, 1, 1, 1, 4, 3, 9, 3, 1, 0, 1, 1, 6, 5, 8, 4, 1, 0, 0, 1}, 20))
	f.Add(bytes.Repeat([]byte{0, 7, 250, 13, 2, 9, 200, 1, 0, 8, 251, 14, 2, 9, 200, 1}, 8))
	f.Fuzz(func(t *testing.T, data []byte) {
		w.loaded(t, build(data), data)
	})
}

// kinds and names that built events take.
var (
	kinds = []trace.Kind{
		trace.KindKernel, trace.KindMemcpy, trace.KindMemset, trace.KindGraph, trace.KindRuntime, trace.KindDriver, trace.KindOp,
		trace.KindFrame, trace.KindModule, trace.KindAnnotation, trace.KindGPUAnnotation, trace.KindRange, trace.KindMark,
		trace.KindSync, trace.KindOverhead, trace.KindOther, trace.KindInvalid, trace.Kind(200),
	}
	names = []string{
		"", "cudaLaunchKernel", "cudaGraphLaunch", "void gemm<float, 128>(Params)", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
		"flash_fwd_kernel", "rms_norm_kernel", "aten::mm", "nn.Module: DecoderLayer_0", "nn.Module: DecoderLayer_1",
		"nn.Module: LlamaForCausalLM_0", "step[DECODE bs=8]", "step[EXTEND bs=1 toks=512]", "execute_8_context_0(sq0)_generation_8(sq8)",
		"ProfilerStep#1", "[Executor] _forward_step 12: 3 ctx reqs, 5 gen reqs", "model.py(12): forward", "topk", "\x00\xff", "Memcpy HtoD",
	}
	extremes = []int64{0, 1, -1, 1000, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1000, math.MaxInt32, math.MinInt32, 1 << 40, -1 << 62, 1 << 62}
)

// build makes a trace of eight bytes an event.
func build(data []byte) *trace.Trace {
	b := trace.NewBuilder()
	var at int64
	for n := 0; len(data) >= 8 && n < 256; n, data = n+1, data[8:] {
		v := data[:8]
		pick := func(x byte, scale int64) int64 {
			if x >= 240 {
				return extremes[int(x)%len(extremes)]
			}
			return int64(x) * scale
		}
		at += pick(v[2], 1000)
		e := trace.EventData{
			Kind: kinds[int(v[0])%len(kinds)], Name: names[int(v[1])%len(names)], Start: at, Duration: pick(v[3], 500),
			Process: trace.ProcessRef{ID: trace.ProcessID(v[4] % 3)}, Thread: trace.ThreadID(v[4] / 3 % 4),
			Device: trace.DeviceID(v[5]%4) - 1, Stream: trace.StreamID(v[5] / 4 % 8),
			Correlation: trace.CorrelationID(pick(v[6], 1)), ExternalID: uint64(pick(v[7], 1)), GraphNode: uint64(v[6] / 200),
		}
		if v[7]%16 == 15 {
			e.Process.Scope, e.Shape, e.Domain, e.Args = "r"+strconv.Itoa(int(v[4])), "[[1, 2], []]", "NCCL", []byte("{")
		}
		b.Add(e)
	}
	return b.Finish()
}

// FuzzNsys changes values of a small nsys export where they are, so that SQLite
// still reads it, and analyses what comes out.
func FuzzNsys(f *testing.F) {
	w := newWhole(f)
	cfg := nsysgen.Default(1)
	cfg.Steps, cfg.Layers = 2, 1
	path := filepath.Join(f.TempDir(), "good.sqlite")
	if _, err := nsysgen.Write(path, cfg); err != nil {
		f.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{0x20, 0, 0, 0xff})
	f.Add([]byte{0x00, 0x18, 0, 1, 0x00, 0x60, 0x10, 0x80, 0x01, 0x61, 0x33, 0x81})
	f.Fuzz(func(t *testing.T, edits []byte) {
		data := bytes.Clone(good)
		for ; len(edits) >= 4; edits = edits[4:] {
			at := int(binary.LittleEndian.Uint32(edits)&0xffffff) % len(data)
			data[at] = edits[3]
		}
		path := filepath.Join(w.dir, "x.sqlite")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		tr, err := nsys.Open(context.Background(), path, trace.Options{})
		if err != nil {
			refused(t, "open", err)
			if errors.Is(err, context.Canceled) {
				t.Error("cancelled by nobody")
			}
			return
		}
		w.loaded(t, tr, edits)
	})
}
