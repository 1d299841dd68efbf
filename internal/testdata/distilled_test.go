package testdata_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
)

// maxDistilled bounds what the distilled traces add to a clone.
const maxDistilled = 1_500_000

func TestDistilledTracesAreDescribedAndSmall(t *testing.T) {
	described := map[string]bool{}
	for _, k := range testdata.DistilledTraces(t) {
		described[k.Name] = true
		if len(k.Devices) == 0 || k.Why == "" || k.Passes >= 0 && len(k.Stages) != k.Passes {
			t.Errorf("%s: devices, the reason or the stages of its %d passes are missing", k.Name, k.Passes)
		}
	}
	dir := filepath.Join(testdata.Root(t), "testdata", "distilled")
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var total int64
	for _, e := range list {
		if filepath.Ext(e.Name()) == ".zst" && !described[e.Name()] {
			t.Errorf("%s: truth.json does not describe it", e.Name())
		}
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > maxDistilled {
		t.Errorf("%s holds %d bytes, want at most %d", dir, total, maxDistilled)
	}
}

func TestDistilledUnpacksExports(t *testing.T) {
	data, err := os.ReadFile(testdata.Distilled(t, "nsys-torchrun-2gpu.sqlite.zst"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(data[:15]), "SQLite format 3"; got != want {
		t.Errorf("the unpacked export begins %q, want %q", got, want)
	}
}

// TestSharedStandsInWhereItCan runs in a made-up module without shared data, of
// which the distilled traces are part.
func TestSharedStandsInWhereItCan(t *testing.T) {
	root := testdata.Root(t)
	dir := filepath.Join(t.TempDir(), "module")
	if err := os.CopyFS(filepath.Join(dir, "testdata", "distilled"),
		os.DirFS(filepath.Join(root, "testdata", "distilled"))); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "go.mod"), "module "+testdata.Module+"\n")
	t.Chdir(dir)
	path := testdata.Shared(t, "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(path) != "sglang-qwen3-8b-decode-graph-mi300.json.gz" || data[0] != 0x1f || data[1] != 0x8b {
		t.Errorf("Shared = %s beginning %x, want a gzip file of the original's name", path, data[:2])
	}
}
