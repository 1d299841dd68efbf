package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"github.com/llmstrata/strata/examples/internal/programs"
	"github.com/llmstrata/strata/internal/gen/ranks"
)

func TestMain(m *testing.M) {
	flag.Parse()
	beam.Init()
	os.Exit(m.Run())
}

// TestSameBytesOnPrism: the pipeline on Beam's own runner writes what strata fleet writes, of the 25 replicas with an
// unreadable file among them.
func TestSameBytesOnPrism(t *testing.T) {
	dir := t.TempDir()
	if _, err := ranks.Fleet25(1).Write(func(f ranks.File) error {
		return os.WriteFile(filepath.Join(dir, f.Name),
			f.Data, 0o666)
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "1760000003-TP-4.trace.json"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, full := range []bool{false, true} {
		out := filepath.Join(t.TempDir(), "report.json")
		p, err := pipeline(t.Context(), dir, out, full)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := prism.Execute(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		args := []string{dir, "--format", "json"}
		if full {
			args = append(args, "--full")
		}
		var want bytes.Buffer
		strataFleet, rest := programs.ChooseFleet(args)
		if code := strataFleet.Exec(t.Context(), rest, strings.NewReader(""), &want, io.Discard); code != 0 {
			t.Fatalf("strata fleet: exit code %d", code)
		}
		if !bytes.Equal(got, want.Bytes()) {
			t.Errorf("full %t: %d bytes on Beam, %d bytes of strata fleet, and they differ", full, len(got), want.Len())
		}
	}
}
