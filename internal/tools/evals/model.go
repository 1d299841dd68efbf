package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/gen/ranks"
	"github.com/llmstrata/strata/internal/opname"
)

// passes is how many passes a run of a model has.
const passes = 8

// model is a run of a model of 8 layers, of passes of one sort.
func model(p gen.Pass, f gen.Fault) gen.Config {
	c := gen.Config{Seed: 7, Arch: gen.Arch{Layers: gen.Uniform(8, gen.Layer{}), Hidden: 8192}, Dialect: gen.SGLang,
		NoShapes: true, Fault: f}
	for range passes {
		c.Passes = append(c.Passes, p)
	}
	return c
}

var (
	prefill = gen.Pass{Prefills: 2, Tokens: 4096}
	decode  = gen.Pass{Decodes: 64, Context: 2048}
	graph   = gen.Pass{Mode: gen.FullGraph, Decodes: 64, Context: 2048}
)

// write writes a run into a folder.
func write(c gen.Config) func(string) ([]string, error) {
	return func(dir string) ([]string, error) {
		var b bytes.Buffer
		err := gen.Write(&b, c)
		path := filepath.Join(dir, "run.json")
		if err == nil {
			err = os.WriteFile(path, b.Bytes(), 0o666)
		}
		return []string{path}, err
	}
}

// operatorTime is what an operator of a run takes in a pass, by the truth about its kernels.
func operatorTime(c gen.Config, is func(t *gen.Truth) bool) (time.Duration, error) {
	var ns int64
	all, err := gen.Truths(c)
	for i := range all {
		if is(&all[i]) {
			ns += all[i].Duration
		}
	}
	return time.Duration(ns / passes), err
}

// modelCases are runs of the generator of models.
func modelCases() ([]eval, error) {
	var out []eval
	framed := append(slices.Clone(eager), "python-tracing") // these runs record Python frames
	for _, f := range []struct {
		kind, name string
		fault      gen.FaultKind
		pass       gen.Pass
		times      [2]int // µs
	}{
		{"host-code", "the next batch is prepared", gen.HostCode, prefill, [2]int{1500, 2500}},
		{"allocation", "memory is allocated", gen.Allocation, prefill, [2]int{700, 1500}},
		{"module-load", "a module is loaded", gen.ModuleLoad, prefill, [2]int{700, 1500}},
		{"lock", "a lock is waited for", gen.LockWait, prefill, [2]int{700, 1500}},
		{"system-call", "a file is flushed", gen.SystemCall, prefill, [2]int{700, 1500}},
		{"other-ranks", "objects are gathered", gen.ObjectGather, prefill, [2]int{700, 1500}},
		{"synchronisation", "a size is read", gen.SizeOnHost, prefill, [2]int{300, 700}},
		{"synchronisation", "a value is read", gen.ValueOnHost, prefill, [2]int{300, 700}},
		{"transfer", "data is uploaded", gen.Upload, prefill, [2]int{700, 1500}},
		{"dependency", "an event is late", gen.LateEvent, prefill, [2]int{700, 1500}},
		{"launch-call", "launch calls of", gen.SlowLaunches, decode, [2]int{60, 90}},
		{"graph-launch", "a long graph launch", gen.SlowGraphCall, graph, [2]int{700, 1500}},
		{"gpu-dispatch", "gaps in graphs", gen.SlowNodes, graph, [2]int{1000, 1500}},
	} {
		for _, us := range f.times {
			c := model(f.pass, gen.Fault{Kind: f.fault, For: time.Duration(us) * time.Microsecond})
			lost, err := gen.WritePlanted(io.Discard, c)
			if err != nil {
				return nil, err
			}
			e := eval{kind: f.kind, name: fmt.Sprintf("%s, %d µs", f.name, us), files: write(c),
				codes: []string{f.kind}, perStep: lost, doubts: framed}
			if f.fault == gen.Upload {
				e.codes = append(e.codes, "copies")
			}
			out = append(out, e)
		}
	}
	for _, tokens := range []int{2048, 4096} {
		c := model(gen.Pass{Prefills: 2, Tokens: tokens}, gen.Fault{})
		c.TP = 2
		took, err := operatorTime(c, func(t *gen.Truth) bool { return t.Category == "communication" })
		if err != nil {
			return nil, err
		}
		out = append(out, eval{kind: "exposed all-reduce", name: fmt.Sprintf("%d tokens", tokens), files: write(c),
			codes: []string{"communication"}, perStep: took})
	}
	for _, context := range []int{3072, 4096} {
		slow := graph
		slow.Context = context
		before, after := model(graph, gen.Fault{}), model(slow, gen.Fault{})
		var took [2]time.Duration
		for i, c := range []gen.Config{before, after} {
			var err error
			took[i], err = operatorTime(c, func(t *gen.Truth) bool { return t.Operator == opname.Attention })
			if err != nil {
				return nil, err
			}
		}
		out = append(out, eval{kind: "regression in one operator", name: fmt.Sprintf("context of %d, not 2048", context),
			question: "regress", files: twice(write(before), write(after)), codes: []string{"attention"},
			perStep: took[1] - took[0]})
	}
	for seed := range 2 {
		c := model(prefill, gen.Fault{})
		c.Seed = uint64(100 + seed)
		out = append(out, eval{kind: "healthy", name: fmt.Sprintf("prefills, seed %d", c.Seed), files: write(c),
			abstain: true})
		d := model(decode, gen.Fault{})
		d.Seed = c.Seed
		out = append(out, eval{kind: "missing graph", name: fmt.Sprintf("decodes, seed %d", c.Seed), files: write(d),
			codes: []string{"no-graphs"}})
	}
	late, err := lateOf(8)
	if err != nil {
		return nil, err
	}
	bad := model(prefill, gen.Fault{Kind: gen.Allocation, For: time.Millisecond})
	out = append(out, late,
		eval{kind: "damaged", name: "cut before the GPU", abstain: true, files: edit(write(bad),
			func(s []byte) []byte { return s[:bytes.Index(s, []byte(`"cat": "kernel"`))] })},
		eval{kind: "wrong stage", name: "a capture of decodes that holds prefills", abstain: true,
			files: captured("INVALID", write(bad))})
	for i := range out {
		out[i].from = byModel
	}
	return out, nil
}

// lateOf is a replica of so many ranks, with one host late before each layer.
func lateOf(size int) (eval, error) {
	const straggler = 3
	c := ranks.Config{Seed: 5, Size: size, Replicas: []ranks.Replica{{Late: straggler, Cause: ranks.HostGap,
		LateBy: 60_000, Numbered: true}}}
	groups, err := c.Write(func(ranks.File) error { return nil })
	if err != nil {
		return eval{}, err
	}
	var most int64
	for _, ns := range groups[0].Waits {
		most = max(most, ns)
	}
	return eval{kind: "late rank", name: fmt.Sprintf("one of %d ranks", size), question: "ranks",
		codes: []string{"communication", "late-rank"}, straggler: strconv.Itoa(straggler), waiting: time.Duration(most),
		doubts: eager, files: func(dir string) ([]string, error) {
			_, err := c.Write(func(f ranks.File) error {
				return os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o666)
			})
			return []string{dir}, err
		}}, nil
}
