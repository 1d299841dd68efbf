package perfetto_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// everything hides all that can be hidden.
var everything = perfetto.Redaction{Paths: true, Names: true, Shapes: true, ModelFiles: true}

// planter makes a trace in which every field of every type of event holds a
// secret of its own.
type planter struct {
	n      int
	events []map[string]any
}

func (p *planter) secret() string {
	p.n++
	return fmt.Sprintf("SECRET%dTERCES", p.n)
}

// add appends an event and one like it for each of its fields, with a secret
// there, and with a secret in an arg that nobody knows.
func (p *planter) add(e map[string]any) {
	p.events = append(p.events, e)
	for _, field := range []string{"name", "cat", "pid", "tid", "id", "bp", "s", "ts", "dur", "tts", "cname", "scope",
		"ph"} {
		c := clone(e)
		c[field] = p.secret()
		p.events = append(p.events, c)
	}
	args, _ := e["args"].(map[string]any)
	for key := range args {
		for _, v := range []any{p.secret(), []any{1, p.secret()}, map[string]any{"x": p.secret()}} {
			c := clone(e)
			a := clone(args)
			a[key] = v
			c["args"] = a
			p.events = append(p.events, c)
		}
	}
	c := clone(e)
	a := clone(args)
	a["prompt"], a[p.secret()], a["path"] = p.secret(), 1, []any{p.secret()}
	c["args"] = a
	p.events = append(p.events, c)
}

func clone(m map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		out[k] = v
	}
	return out
}

// planted builds the trace.
func planted() []byte {
	p := &planter{}
	at := func(ph, cat, name string, ts, dur float64, args map[string]any) map[string]any {
		return map[string]any{"ph": ph, "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur,
			"args": args}
	}
	gpu := func(cat, name string, ts float64, corr int, more map[string]any) map[string]any {
		args := map[string]any{"device": 0, "stream": 7, "correlation": corr, "External id": corr,
			"grid": []any{1, 1, 1}, "block": []any{1, 1, 1}}
		for k, v := range more {
			args[k] = v
		}
		e := at("X", cat, name, ts, 5, args)
		e["pid"], e["tid"] = 0, 7
		return e
	}
	for _, name := range []string{"process_name", "process_labels", "process_sort_index", "thread_name",
		"thread_sort_index"} {
		p.add(at("M", "", name, 1, 0, map[string]any{"name": "python", "labels": "CPU", "sort_index": 5}))
	}
	for _, f := range []string{"/home/%s/%s.py(3): %s", "vllm/model_executor/models/%s.py(7): %[1]s",
		"sglang/srt/%s/%s.py(9): %s", "torch/nn/modules/module.py(3): %s", "<built-in method %s of %s object at 0x1>",
		"<built-in method item of %s object at 0x1>", "<built-in function %s>", "nn.Module: %sDecoderLayer_3", "%s"} {
		var secrets []any
		for range strings.Count(f, "%s") + strings.Count(f, "%[1]s")/2 {
			secrets = append(secrets, p.secret())
		}
		p.add(at("X", "python_function", fmt.Sprintf(f, secrets...), 11, 80,
			map[string]any{"Python id": 1, "Python parent id": nil, "Python module id": 2}))
	}
	for _, name := range []string{"step[DECODE bs=2 toks=2] " + p.secret(), "step[DECODE bs=2 " + p.secret() + "=3]",
		"execute_1_context_1(" + p.secret() + ")_generation_1(3)", "execute_" + p.secret() + "_context_1", p.secret()} {
		p.add(at("X", "user_annotation", name, 12.5, 60, map[string]any{"Record function id": 0, "note": p.secret()}))
		p.add(gpu("gpu_user_annotation", name, 29, 8, nil))
	}
	p.add(at("X", "cpu_op", "aten::mm", 20, 10, map[string]any{"External id": 5, "Input Dims": []any{[]any{2, 3}},
		"Input type": []any{"float"}, "Concrete Inputs": []any{"x"}, "Collective name": "allreduce",
		"dtype": "BFloat16", "Process Group Name": "0", "Process Group Description": "default_pg",
		"Process Group Ranks": "[0, 1]", "In msg nelems": 4, "Backend": "nccl"}))
	p.add(at("X", "cpu_op", "mycorp::"+p.secret(), 20, 10, nil))
	p.add(at("X", "cuda_runtime", "cudaLaunchKernel", 21, 2,
		map[string]any{"correlation": 10, "cbid": 211, "kernel": "gemm_kernel", "stream": "0x7f", "ptr": "0x1"}))
	p.add(at("X", "cuda_driver", "cuLaunchKernel", 21, 2, map[string]any{"correlation": 10}))
	p.add(gpu("kernel", "void cutlass::device_kernel<gemm_universal>", 30, 9,
		map[string]any{"Collective name": "allreduce", "dtype": "BFloat16", "Process Group Name": "tp",
			"est. achieved occupancy %": 3, "kind": "Dispatch Kernel"}))
	p.add(gpu("kernel", p.secret()+"_op", 40, 10, nil))
	p.add(gpu("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 50, 11,
		map[string]any{"bytes": 4, "memory bandwidth (GB/s)": 1.5, "src": "a", "dst": "b"}))
	p.add(gpu("gpu_memset", "Memset (Device)", 60, 12, map[string]any{"bytes": 4}))
	p.add(gpu("cuda_sync", "Stream Synchronize", 65, 13, map[string]any{"cuda_sync_kind": "Stream Sync"}))
	p.add(at("X", "overhead", "Buffer Flush", 22, 1, nil))
	p.add(at("i", "cpu_instant_event", "[memory]", 22, 0, map[string]any{"Total Allocated": 3, "Addr": 4}))
	p.add(at("C", "counter", "power", 23, 0, map[string]any{"value": 3}))
	p.add(at("X", "Trace", "PyTorch Profiler (0)", 1, 90, map[string]any{"Op count": 0}))
	p.add(map[string]any{"ph": "i", "name": "Iteration Start: PyTorch Profiler", "pid": "Traces",
		"tid": "Trace PyTorch Profiler", "ts": 1, "s": "g"})
	for _, ph := range []string{"s", "f", "t"} {
		p.add(map[string]any{"ph": ph, "id": 9, "pid": 1, "tid": 1, "ts": 21, "cat": "ac2g", "name": "ac2g", "bp": "e",
			"args": map[string]any{"x": 1}})
	}
	for _, ph := range []string{"B", "E", "b", "n", "e", "i", "I", "N", "O", "D", "v", "V", "P"} {
		for _, cat := range []string{"cpu_op", "user_annotation", "python_function", "ac2g"} {
			e := at(ph, cat, "aten::mm", 24, 1, map[string]any{"External id": 5, "Input type": []any{"float"}})
			e["id"], e["scope"] = 5, "x"
			p.add(e)
		}
	}
	// The launch that counts is a plain one, so that what is around it is kept.
	p.events = append(p.events, at("X", "cuda_runtime", "cudaLaunchKernel", 21, 2, map[string]any{"correlation": 9}))
	doc := map[string]any{
		"schemaVersion": 1, "traceName": p.secret(), "host_name": p.secret(), p.secret(): p.secret(),
		"record_shapes": p.secret(), "displayTimeUnit": p.secret(), "nccl_version": p.secret(),
		"deviceProperties": []any{map[string]any{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132,
			"uuid": p.secret()}, map[string]any{"id": 1, "name": p.secret(), "numSms": p.secret()}},
		"distributedInfo": map[string]any{"backend": "nccl", "rank": 0, "world_size": 2, "hostname": p.secret(),
			"nccl_version": p.secret(), "pg_config": []any{
				map[string]any{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": []any{0, 1}},
				map[string]any{"pg_name": p.secret(), "pg_desc": p.secret(), "ranks": []any{p.secret()},
					"backend_config": p.secret()}}},
		"traceEvents": p.events,
	}
	b, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	return b
}

// TestNoSecretIsLeft: with everything hidden no planted secret remains, in
// whatever field of whatever event, nor in the list of names; and the slice can
// still be analysed.
func TestNoSecretIsLeft(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "t.json"), filepath.Join(dir, "o.json")
	if err := os.WriteFile(src, planted(), 0o644); err != nil {
		t.Fatal(err)
	}
	tr := open(t, src)
	var keep []trace.EventID
	for e := range tr.Events(event.LaneGPU) {
		keep = append(keep, e.ID())
	}
	stats, err := perfetto.Slice(context.Background(), tr, keep, src, dst, perfetto.CopyOptions{Redact: everything})
	if err != nil {
		t.Fatal(err)
	}
	out := testdata.ReadFile(t, dst)
	secret := regexp.MustCompile(`.{0,90}(?i:SECRET|TERCES).{0,60}`)
	for i, found := range secret.FindAll(out, -1) {
		if i == 20 {
			t.Fatal("and more")
		}
		t.Errorf("left: %s", found)
	}
	for _, n := range stats.Names {
		if secret.MatchString(n) {
			t.Errorf("the list of names has %s", n)
		}
	}
	for _, want := range []string{"aten::mm", "cudaLaunchKernel", "void cutlass::device_kernel<gemm_universal>",
		"step[DECODE bs=2]"} {
		if !slices.Contains(stats.Names, want) && !slices.ContainsFunc(stats.Names,
			func(n string) bool { return strings.HasPrefix(n, strings.TrimSuffix(want, "]")) }) {
			t.Errorf("%s is not among the names that remain: %q", want, stats.Names)
		}
	}
	for _, cat := range []string{"python_function", "user_annotation", "gpu_user_annotation", "cpu_op", "cuda_runtime",
		"cuda_driver", "kernel", "gpu_memcpy", "gpu_memset", "cuda_sync", "overhead", "cpu_instant_event", "ac2g"} {
		if !bytes.Contains(out, []byte(`"cat":"`+cat+`"`)) {
			t.Errorf("no event of category %s is in the slice: it shows nothing", cat)
		}
	}
	for _, want := range []string{`"grid":[1,1,1]`, `"Collective name":"allreduce"`, `"NVIDIA H100 80GB HBM3"`,
		`"world_size":2`, `"pg_desc":"default_pg"`} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("the slice lacks %s, which is harmless", want)
		}
	}
	if _, err := layer.Analyze(context.Background(), open(t, dst), layer.Options{}); err != nil {
		t.Errorf("the slice cannot be analysed: %v", err)
	}
}

// TestRedactedTracesSayTheSame: hiding everything changes neither passes nor
// layers nor the categories of real traces.
func TestRedactedTracesSayTheSame(t *testing.T) {
	testdata.ManyInputs(t)
	for i, name := range []string{"sglang-qwen3-8b-decode-graph-mi300.json.gz",
		"sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz", "vllm-gptoss20b-mixed-piecewise-mi300.json.gz",
		"sglang-qwen3-8b-extend-eager-mi300.json.gz"} {
		if !testdata.Long() && i%2 == 1 {
			continue
		}
		src := testdata.Shared(t, "traces/torch/"+name)
		dst := filepath.Join(t.TempDir(), name)
		tr := open(t, src)
		var keep []trace.EventID
		for e := range tr.Events(event.LaneGPU) {
			keep = append(keep, e.ID())
		}
		if _, err := perfetto.Slice(context.Background(), tr, keep, src, dst,
			perfetto.CopyOptions{Redact: everything}); err != nil {
			t.Fatal(err)
		}
		want, got := shape(t, tr), shape(t, open(t, dst))
		if want != got {
			t.Errorf("%s: redacted it has %s, want %s", name, got, want)
		}
	}
}

// shape says what an analysis found, in short.
func shape(t *testing.T, tr *trace.Trace) string {
	t.Helper()
	a, err := layer.Analyze(context.Background(), tr, layer.Options{})
	if err != nil {
		return err.Error()
	}
	d := &a.Devices[0]
	s := fmt.Sprintf("%d kernels, %d passes of %d layers, %v in layers", d.NumKernels(), len(d.Passes), d.NumLayers,
		d.InLayers)
	for _, p := range d.Passes {
		s += fmt.Sprintf("; %s %d %d", p.Stage, p.Batch, p.Kernels)
	}
	return s
}
