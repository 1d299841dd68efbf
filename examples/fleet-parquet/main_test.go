package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	program "github.com/llmstrata/strata/examples/internal/programs/fleet"
	"github.com/llmstrata/strata/internal/gen/ranks"
)

// TestTablesHoldWhatTheGeneratorDid: the waits of a replica, computed from the rows of collectives as the recipe of the
// documentation does, are the generator's to the nanosecond; each table has a row for everything.
func TestTablesHoldWhatTheGeneratorDid(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	c := ranks.Config{Seed: 1, Steps: 2, Layers: 6, Size: 4,
		Replicas: []ranks.Replica{{Numbered: true, Recorded: true, Late: 2, Cause: ranks.HostGap, LateBy: 30_000}}}
	truth, err := c.Write(func(f ranks.File) error { return os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o666) })
	if err != nil {
		t.Fatal(err)
	}
	digests := filepath.Join(out, "ranks.ndjson")
	if code := program.Digest().Exec(t.Context(), []string{dir, "--output", digests}, strings.NewReader(""), io.Discard,
		os.Stderr); code != 0 {
		t.Fatalf("strata digest: exit code %d", code)
	}
	if err := write(out, []string{digests}); err != nil {
		t.Fatal(err)
	}
	rows, err := parquet.ReadFile[Collective](filepath.Join(out, "collectives.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	type key struct{ step, place int64 }
	shortest := map[key]int64{}
	for _, r := range rows {
		k := key{r.Step, r.Place}
		if old, ok := shortest[k]; !ok || r.NS < old {
			shortest[k] = r.NS
		}
		if r.Kind != "all_reduce" || r.Bytes != 65536 || r.Group != "1" {
			t.Fatalf("row %+v", r)
		}
	}
	waits := map[int]int64{}
	for _, r := range rows {
		waits[int(r.Rank)] += r.NS - shortest[key{r.Step, r.Place}]
	}
	for rank, want := range truth[0].Waits {
		if waits[rank] != want {
			t.Errorf("rank %d waits %d ns, want %d", rank, waits[rank], want)
		}
	}
	runs, err := parquet.ReadFile[Run](filepath.Join(out, "runs.parquet"))
	if err != nil || len(runs) != 1 || runs[0].Late != "rank 2" || runs[0].Ranks != 4 {
		t.Errorf("runs %+v, %v", runs, err)
	}
	for name, want := range map[string]int{"ranks": 4, "steps": 8, "collectives": 48} {
		n := 0
		switch name {
		case "ranks":
			list, rerr := parquet.ReadFile[Rank](filepath.Join(out, "ranks.parquet"))
			n, err = len(list), rerr
		case "steps":
			list, rerr := parquet.ReadFile[Step](filepath.Join(out, "steps.parquet"))
			n, err = len(list), rerr
		default:
			n = len(rows)
		}
		if err != nil || n != want {
			t.Errorf("%s: %d rows, want %d: %v", name, n, want, err)
		}
	}
}
