package whole

import (
	"bytes"
	"flag"
	"hash/crc32"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// Way is the whole way of one input of a fuzz target.
type Way struct {
	Dir string // for files, which all inputs share
}

// New prepares a target: what one input leaves to the garbage collector is
// little, so it may wait, and all inputs write the same files.
func New(f *testing.F) Way {
	f.Helper()
	debug.SetGCPercent(800)
	if given("test.fuzzworker") {
		runtime.GOMAXPROCS(1) // each core has a worker; without others' turns an input reaches the same code each time
	}
	return Way{f.TempDir()}
}

// given reports whether a flag has another value than its default.
func given(name string) bool {
	f := flag.Lookup(name)
	return f != nil && f.Value.String() != f.DefValue
}

// Share calls do for one of n numbers when fuzzing, which the input's bytes
// choose, so that many inputs are tried a second and all numbers get theirs; an
// input that is kept tries all of them whenever the tests run.
func Share(input []byte, n int, do func(int)) {
	if given("test.fuzz") || given("test.fuzzworker") { // inputs are made up, not only those kept tried
		do(int(crc32.ChecksumIEEE(input) % uint32(n)))
		return
	}
	for i := range n {
		do(i)
	}
}

// Text reads bytes as a trace.
func (w Way) Text(t testing.TB, data []byte) {
	t.Helper()
	tr, err := trace.Read(t.Context(), bytes.NewReader(data), trace.Options{Args: []event.Kind{event.Kernel, event.Op}})
	if err != nil {
		Refused(t, "read", err)
		return
	}
	Walk(t, tr)
	l := newLab(t, tr)
	var c *copier
	Share(data, len(trials)+len(writers), func(i int) {
		if i < len(trials) {
			l.try(t, i)
			return
		}
		if c == nil {
			c = newCopier(t, tr, data, w.Dir)
		}
		writers[i-len(trials)](t, c)
	})
}

// Loaded takes a trace made of an input through the analyses.
func (w Way) Loaded(t testing.TB, tr *trace.Trace, input []byte) {
	t.Helper()
	Walk(t, tr)
	l := newLab(t, tr)
	Share(input, len(trials), func(i int) { l.try(t, i) })
}

// Small returns a trace of two passes through two layers, each kernel launched
// from a stack of frames.
func Small(mode gen.Mode, vendor gen.Vendor) []byte {
	return generated(gen.Config{
		Seed: 1, Vendor: vendor, Arch: gen.Arch{Layers: gen.Uniform(2, gen.Layer{FFN: gen.MoE})},
		Passes: []gen.Pass{{Mode: gen.Eager, Prefills: 1, Tokens: 64}, {Mode: mode, Decodes: 2, Context: 64},
			{Mode: mode, Decodes: 2, Context: 64}},
		Dialect: gen.SGLang, Stacks: true, Modules: true, TP: 2, GraphIDs: true,
	})
}

// Tiny is the least trace that has all parts: a seed from which many variants can
// be tried in a second.
func Tiny(mode gen.Mode, vendor gen.Vendor) []byte {
	passes := []gen.Pass{{Mode: mode, Decodes: 2, Context: 64}}
	if mode != gen.Eager { // replays have few events
		passes = append(passes, passes[0])
	}
	return generated(gen.Config{
		Seed: 1, Vendor: vendor, Arch: gen.Arch{Layers: gen.Uniform(1, gen.Layer{FFN: gen.Dense})},
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
