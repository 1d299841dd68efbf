package testdata

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Known is what is known about a distilled trace, found without this module.
// Numbers that nobody claims are −1.
type Known struct {
	Name string // of the file
	// Of is what it replaces where the reference data is absent: its path below shared; "" where the copy is cut shorter.
	Of        string
	Passes    int      // forward passes
	Layers    int      // decoder layers of a complete pass, 0 where the model has none
	PerLayer  int      `json:"kernels_per_layer"` // of every layer, from how often names repeat; 0: not claimed
	Stages    []string // of each pass: prefill, decode, mixed, unknown
	TP        int      // tensor-parallel size
	Framework string   // sglang, vllm, pytorch, "" where unknown
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
	if strings.HasSuffix(name, ".sqlite.zst") {
		return write(tb, strings.TrimSuffix(name, ".zst"), distilled(tb, name))
	}
	path := distilledPath(tb, name)
	if _, err := os.Stat(path); err != nil {
		tb.Fatalf("testdata: %v", err)
	}
	return path
}

// configs is the folder of models' configs.
const configs = "configs"

// standIn returns the distilled copy of a reference trace under the name and
// compression of the original, or the reduced copy of a model's config; "" where
// there is none.
func standIn(tb testing.TB, rel string) string {
	tb.Helper()
	if path.Dir(rel) == configs {
		reduced := filepath.Join(Root(tb), "testdata", filepath.FromSlash(rel))
		if _, err := os.Stat(reduced); err != nil {
			return ""
		}
		return reduced
	}
	for _, k := range DistilledTraces(tb) {
		if k.Of != rel {
			continue
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write(distilled(tb, k.Name)); err != nil {
			tb.Fatalf("testdata: %v", err)
		}
		if err := z.Close(); err != nil {
			tb.Fatalf("testdata: %v", err)
		}
		return write(tb, path.Base(rel), packed.Bytes())
	}
	return ""
}

func distilledPath(tb testing.TB, name string) string {
	return filepath.Join(Root(tb), "testdata", "distilled", name)
}

// distilled returns the bytes of a distilled trace.
func distilled(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(distilledPath(tb, name))
	if err != nil {
		tb.Fatalf("testdata: %v", err)
	}
	z, err := zstd.NewReader(nil)
	if err != nil {
		tb.Fatalf("testdata: %v", err)
	}
	defer z.Close()
	if data, err = z.DecodeAll(data, nil); err != nil {
		tb.Fatalf("testdata: %s: %v", name, err)
	}
	return data
}

// write writes a file of the test.
func write(tb testing.TB, name string, data []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, data, 0o666); err != nil {
		tb.Fatalf("testdata: %v", err)
	}
	return path
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
