package strata_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/whole"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/nsys"
)

// FuzzNsys changes values of a small nsys export where they are, so that SQLite
// still reads it, and analyses what comes out.
func FuzzNsys(f *testing.F) {
	w := whole.New(f)
	cfg := nsysgen.Default(1)
	cfg.Steps, cfg.Layers = 1, 1
	path := filepath.Join(f.TempDir(), "good.sqlite")
	if _, err := nsysgen.Write(path, cfg); err != nil {
		f.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{0x20, 0, 0, 0xff})
	f.Add([]byte{0x00, 0x18, 0, 1, 0x00, 0x60, 0x10, 0x80, 0x01, 0x61, 0x33, 0x81})
	f.Fuzz(func(t *testing.T, edits []byte) {
		data := bytes.Clone(good)
		for ; len(edits) >= 4; edits = edits[4:] {
			at := int(binary.LittleEndian.Uint32(edits)&0xffffff) % len(data)
			data[at] = edits[3]
		}
		path := filepath.Join(w.Dir, "x.sqlite")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		tr, err := trace.Open(context.Background(), path, trace.Options{Formats: nsys.Formats()})
		if err != nil {
			whole.Refused(t, "open", err)
			if errors.Is(err, context.Canceled) {
				t.Error("cancelled by nobody")
			}
			return
		}
		w.Loaded(t, tr, edits)
	})
}
