package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/llmstrata/strata/internal/demo"
)

func TestRunCountsTheDemo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo.json.gz")
	if err := os.WriteFile(path, demo.Trace(), 0o666); err != nil {
		t.Fatal(err)
	}
	results := map[string]cost{}
	for name, args := range map[string][]string{"all": {path}, "gpu": {"-lanes", "gpu", path},
		"gunzip": {"-gunzip", path}} {
		var out bytes.Buffer
		if err := run(t.Context(), args, &out); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var c cost
		if err := json.Unmarshal(out.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		results[name] = c
	}
	if results["all"].Stored <= results["gpu"].Stored || results["gpu"].Stored == 0 {
		t.Errorf("stored %d of all lanes, %d of the GPU's: want more of all", results["all"].Stored,
			results["gpu"].Stored)
	}
	if results["all"].Events != results["gpu"].Events || results["gunzip"].Events < int64(len(demo.Trace())) {
		t.Errorf("events %d and %d, want the same; %d bytes unpacked", results["all"].Events, results["gpu"].Events,
			results["gunzip"].Events)
	}
	if err := run(t.Context(), []string{filepath.Join(t.TempDir(), "absent")}, &bytes.Buffer{}); err == nil {
		t.Error("an absent file gave no error")
	}
}
