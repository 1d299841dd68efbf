package view_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/view"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// nameless writes a trace again with kernel names that say nothing.
func nameless(t *testing.T, data []byte) []byte {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	for _, x := range doc["traceEvents"].([]any) {
		if e := x.(map[string]any); e["cat"] == "kernel" {
			name := e["name"].(string)
			e["name"] = fmt.Sprintf("k%d_%x", len(name), name[len(name)/2:len(name)/2+2])
		}
	}
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTablesByOperatorNeedOperators: the tables appear only where nearly all of the layers' time has an operator.
func TestTablesByOperatorNeedOperators(t *testing.T) {
	cfg := gen.Config{Seed: 3, Dialect: gen.SGLang, Arch: gen.Arch{Layers: gen.Uniform(8, gen.Layer{})}}
	for i := range 3 {
		cfg.Passes = append(cfg.Passes, gen.Pass{Decodes: 8, Context: 500 + i})
	}
	for _, hide := range []bool{false, true} {
		var b bytes.Buffer
		if err := gen.Write(&b, cfg); err != nil {
			t.Fatal(err)
		}
		data := b.Bytes()
		if hide {
			data = nameless(t, data)
		}
		tr, err := trace.Read(t.Context(), bytes.NewReader(data), trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		a, err := layer.Analyze(t.Context(), tr, layer.Options{NumLayers: 8})
		if err != nil {
			t.Fatal(err)
		}
		d := &a.Devices[0]
		tl, err := view.NewTimeline(d, trace.None)
		if err != nil {
			t.Fatal(err)
		}
		detail, err := view.NewDetail(d, tl.FwdPass, 2)
		if err != nil {
			t.Fatal(err)
		}
		var text, rows bytes.Buffer
		if err := errors.Join(tl.WriteText(&text, view.TextOptions{}), detail.WriteText(&rows)); err != nil {
			t.Fatal(err)
		}
		if len(tl.Operators) == 0 || (len(tl.Operators[0].Rows) == 0) != hide ||
			strings.Contains(text.String(), "No operator is known") != hide ||
			strings.Contains(rows.String(), "Operator") == hide {
			t.Errorf("names hidden %v: tables %v", hide, tl.Operators)
		}
	}
}
