package layer_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

type event = map[string]any

// rewritten generates cfg, passes every event through edit (nil result drops it) and reads the result.
func rewritten(t testing.TB, cfg gen.Config, edit func(event) event) (*trace.Trace, []gen.Truth) {
	t.Helper()
	var truths []gen.Truth
	cfg.Truth = func(tr gen.Truth) { truths = append(truths, tr) }
	var b bytes.Buffer
	if err := gen.Write(&b, cfg); err != nil {
		t.Fatal(err)
	}
	return reread(t, b.Bytes(), edit), truths
}

func reread(t testing.TB, data []byte, edit func(event) event) *trace.Trace {
	t.Helper()
	var doc map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	var kept []any
	for _, e := range doc["traceEvents"].([]any) {
		if e := edit(e.(event)); e != nil {
			kept = append(kept, e)
		}
	}
	doc["traceEvents"] = kept
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := trace.Read(context.Background(), bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func isGPU(e event) bool {
	c, _ := e["cat"].(string)
	return c == "kernel" || c == "gpu_memcpy" || c == "gpu_memset"
}

func hashName(s string) string {
	h := sha256.Sum256([]byte(s))
	return "k" + hex.EncodeToString(h[:8])
}

func TestScratchAdv(t *testing.T) {
	edits := map[string]func(event) event{
		"gpuonly": func(e event) event {
			if isGPU(e) || e["ph"] == "M" { return e }
			return nil
		},
		"nolaunch": func(e event) event {
			if c, _ := e["cat"].(string); c == "cuda_runtime" || c == "cuda_driver" { return nil }
			return e
		},
		"hash": func(e event) event {
			if isGPU(e) { e["name"] = hashName(e["name"].(string)) }
			return e
		},
		"hash-gpuonly": func(e event) event {
			if isGPU(e) { e["name"] = hashName(e["name"].(string)); return e }
			return nil
		},
		"nomod": func(e event) event { return e },
	}
	only := os.Getenv("ADV")
	var names []string
	for an := range archs { names = append(names, an) }
	sort.Strings(names)
	for _, an := range names {
		arch := archs[an]
		for pn, passes := range passSets {
			for en, edit := range edits {
				for _, cut := range []string{"", "orphans", "end"} {
					if only != "" && !strings.Contains(en+"/"+cut, only) { continue }
					for _, d := range []gen.Dialect{gen.SGLang, gen.NoAnnotations} {
						cfg := gen.Config{Seed: 7, Arch: arch, Passes: passes, Dialect: d, TP: 2}
						if cut == "orphans" { cfg.Orphans = 100 }
						if cut == "end" { cfg.CutAtEnd = 0.45 }
						tr, truths := rewritten(t, cfg, edit)
						for i := range truths { if strings.HasPrefix(en, "hash") { truths[i].Name = hashName(truths[i].Name) } }
						for _, n := range []int{len(arch.Layers), 0} {
							a, err := layer.Analyze(context.Background(), tr, layer.Options{NumLayers: n, Boundaries: layer.BoundariesRepeats})
							id := fmt.Sprintf("%s/%s/%s/%s/%d/n=%d", en, cut, an, pn, d, n)
							if err != nil { fmt.Println("ADV ERR", id, err); continue }
							s, wrong := share(a, truths)
							if s < 0.99 {
								fmt.Printf("ADV %.3f %s N=%d passes=%d want %d\n", s, id, a.NumLayers, len(a.Passes), len(passes))
								for _, w := range wrong[:min(3, len(wrong))] { fmt.Println("    ", w) }
								for _, e := range a.Evidence { fmt.Println("     ", e.For, e.Kind, strings.TrimSpace(e.Detail)) }
							}
						}
					}
				}
			}
		}
	}
}
