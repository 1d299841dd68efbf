package tables

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"

	"github.com/llmstrata/strata/examples/internal/programs"
	"github.com/llmstrata/strata/internal/gen/ranks"
)

// made writes the digests of a replica of four ranks, one of them late, into a folder, and returns how long each waits.
func made(t *testing.T, dir string) map[int]int64 {
	t.Helper()
	traces := t.TempDir()
	c := ranks.Config{Seed: 1, Steps: 2, Layers: 6, Size: 4,
		Replicas: []ranks.Replica{{Numbered: true, Recorded: true, Late: 2, Cause: ranks.HostGap, LateBy: 30_000}}}
	truth, err := c.Write(func(f ranks.File) error {
		return os.WriteFile(filepath.Join(traces, f.Name), f.Data, 0o666)
	})
	if err != nil {
		t.Fatal(err)
	}
	if code := programs.Digest().Exec(t.Context(), []string{traces, "--output", filepath.Join(dir, "ranks.ndjson")},
		strings.NewReader(""), io.Discard, os.Stderr); code != 0 {
		t.Fatalf("strata digest: exit code %d", code)
	}
	return truth[0].Waits
}

// rowsOf reads a table.
func rowsOf[T any](t *testing.T, dir, name string) []T {
	t.Helper()
	rows, err := parquet.ReadFile[T](filepath.Join(dir, name+".parquet"))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestTablesHoldWhatTheGeneratorDid: the waits of a replica, computed from the rows of collectives as the recipe of the
// documentation does, are the generator's to the nanosecond; each table has a row for everything.
func TestTablesHoldWhatTheGeneratorDid(t *testing.T) {
	out := t.TempDir()
	truth := made(t, out)
	if err := Write(t.Context(), out, []string{filepath.Join(out, "ranks.ndjson")}); err != nil {
		t.Fatal(err)
	}
	rows := rowsOf[Collective](t, out, "collectives")
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
	for rank, want := range truth {
		if waits[rank] != want {
			t.Errorf("rank %d waits %d ns, want %d", rank, waits[rank], want)
		}
	}
	if runs := rowsOf[Run](t, out, "runs"); len(runs) != 1 || runs[0].Late != "rank 2" || runs[0].Ranks != 4 {
		t.Errorf("runs %+v", runs)
	}
	if n, m := len(rowsOf[Rank](t, out, "ranks")), len(rowsOf[Step](t, out, "steps")); n != 4 || m != 8 ||
		len(rows) != 48 {
		t.Errorf("%d ranks, %d steps, %d collectives", n, m, len(rows))
	}
}

// folder is a driver of the tests: buckets are folders, so that addresses are read as those of object storage are.
type folder string

func (f folder) OpenBucketURL(_ context.Context, u *url.URL) (*blob.Bucket, error) {
	return fileblob.OpenBucket(filepath.Join(string(f), u.Host), &fileblob.Options{Metadata: fileblob.MetadataDontWrite})
}

// TestObjectStorage: digests and tables in buckets, by name, by folder and by pattern; an error stores no table.
func TestObjectStorage(t *testing.T) {
	root, want := t.TempDir(), t.TempDir()
	blob.DefaultURLMux().RegisterBucket("test", folder(root))
	digests := filepath.Join(root, "in", "runs", "a")
	if err := os.MkdirAll(digests, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "out"), 0o777); err != nil {
		t.Fatal(err)
	}
	made(t, digests)
	if err := Write(t.Context(), want, []string{digests}); err != nil {
		t.Fatal(err)
	}
	for i, in := range []string{"test://in/runs/a/ranks.ndjson", "test://in/runs/a", "test://in/runs/*/r*.ndjson"} {
		folder := fmt.Sprintf("tables/%d", i)
		if err := Write(t.Context(), "test://out/"+folder, []string{in}); err != nil {
			t.Fatal(in, err)
		}
		for _, name := range []string{"runs", "ranks", "steps", "operators", "collectives"} {
			a, err := os.ReadFile(filepath.Join(want, name+".parquet"))
			b, err2 := os.ReadFile(filepath.Join(root, "out", folder, name+".parquet"))
			if err != nil || err2 != nil || !bytes.Equal(a, b) {
				t.Errorf("%s: %s has %d bytes, want %d: %v, %v", in, name, len(b), len(a), err, err2)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(digests, "bad.ndjson"), []byte("{}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{"test://in/runs/a", "test://in/none", "test://nowhere/a", "nowhere/ranks.ndjson"} {
		if err := Write(t.Context(), "test://out/bad", []string{in}); err == nil {
			t.Errorf("%s: no error", in)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "out", "bad")); err == nil {
		t.Error("tables of digests that cannot be read")
	}
}

// TestRecipesInDuckDB runs each query of the documentation. That of waits gives the generator's to the nanosecond.
func TestRecipesInDuckDB(t *testing.T) {
	if _, err := os.Stat("../node_modules/@duckdb"); err != nil {
		t.Skip("SKIPPED: run npm ci in examples/fleet-parquet to check the queries of the documentation with DuckDB")
	}
	guide, err := os.ReadFile("../../../docs/fleet.md")
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	truth := made(t, out)
	if err := Write(t.Context(), filepath.Join(out, "tables"), []string{out}); err != nil {
		t.Fatal(err)
	}
	recipes := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllSubmatch(guide, -1)
	if len(recipes) < 2 {
		t.Fatalf("%d queries in the documentation", len(recipes))
	}
	for i, r := range recipes {
		cmd := exec.Command("node", "../duckdb.mjs", out)
		cmd.Stdin = bytes.NewReader(r[1])
		got, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s\n%v\n%s", r[1], err, got)
		}
		var rows []map[string]any
		if err := json.Unmarshal(got, &rows); err != nil || len(rows) == 0 {
			t.Fatalf("%s\n%v: %s", r[1], err, got)
		}
		if i > 0 {
			continue
		}
		for _, row := range rows {
			var rank int
			if _, err := fmt.Sscan(fmt.Sprint(row["rank"]), &rank); err != nil {
				t.Fatal(row, err)
			}
			if fmt.Sprint(row["wait_ns"]) != fmt.Sprint(truth[rank]) {
				t.Errorf("rank %d waits %v ns, want %d", rank, row["wait_ns"], truth[rank])
			}
		}
		if len(rows) != len(truth) || fmt.Sprint(rows[0]["rank"]) != "2" {
			t.Errorf("the first row is not the late rank: %s", got)
		}
	}
}
