package testdata

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Known is what is known about a distilled trace, found without this module.
// Numbers that nobody claims are −1.
type Known struct {
	Name      string   // of the file
	Passes    int      // forward passes
	Layers    int      // decoder layers of a whole pass, 0 where the model has none
	PerLayer  int      `json:"kernels_per_layer"` // of every layer, from how often names repeat; 0: not claimed
	Stages    []string // of each pass: prefill, decode, mixed, unknown
	TP        int      // tensor-parallel size
	Framework string   // sglang, vllm, pytorch, "" where nothing tells
	Devices   []KnownDevice
	Why       string // how one sees it in the file
}

// KnownDevice counts the GPU activities of a device.
type KnownDevice struct {
	Device   int
	Kernels  int
	KernelNS int64 `json:"kernel_ns"` // sum of the kernels' durations, overlap counted twice
	Other    int   // copies and memory sets
}

// Distilled returns the path of a distilled trace, a reduced copy of a real one
// that is part of the repository. An nsys export is unpacked for the test, since
// its reader wants a file; the others stay compressed.
func Distilled(tb testing.TB, name string) string {
	tb.Helper()
	path := filepath.Join(Root(tb), "testdata", "distilled", name)
	if !strings.HasSuffix(name, ".sqlite.zst") {
		if _, err := os.Stat(path); err != nil {
			tb.Fatalf("testdata: %v", err)
		}
		return path
	}
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatalf("testdata: %v", err)
	}
	z, err := zstd.NewReader(nil)
	if err != nil {
		tb.Fatalf("testdata: %v", err)
	}
	defer z.Close()
	if data, err = z.DecodeAll(data, nil); err != nil {
		tb.Fatalf("testdata: %s: %v", path, err)
	}
	unpacked := filepath.Join(tb.TempDir(), strings.TrimSuffix(name, ".zst"))
	if err := os.WriteFile(unpacked, data, 0o666); err != nil {
		tb.Fatalf("testdata: %v", err)
	}
	return unpacked
}

// DistilledTraces returns what is known about each distilled trace.
func DistilledTraces(tb testing.TB) []Known {
	tb.Helper()
	path := filepath.Join(Root(tb), "testdata", "distilled", "truth.json")
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatalf("testdata: %v", err)
	}
	var doc struct{ Traces []Known }
	if err := json.Unmarshal(data, &doc); err != nil {
		tb.Fatalf("testdata: %s: %v", path, err)
	}
	if len(doc.Traces) == 0 {
		tb.Fatalf("testdata: %s lists no trace", path)
	}
	return doc.Traces
}
