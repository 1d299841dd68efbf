package layer_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// TestKeptMemory: an analysis keeps a few columns for each kernel, not a struct.
func TestKeptMemory(t *testing.T) {
	tr, err := trace.Read(t.Context(), bytes.NewReader(decodeSteps(t, 100_000, gen.SGLang)), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	d := analyze(t, tr, layer.Options{})
	kept := float64(heap()-before) / float64(d.NumKernels())
	runtime.KeepAlive(tr)
	const most = 40 // 23 in columns and lists of layers, and the passes and layers themselves
	if t.Logf("%.1f bytes kept a kernel", kept); kept > most {
		t.Errorf("%.1f bytes kept a kernel, want at most %d", kept, most)
	}
}
