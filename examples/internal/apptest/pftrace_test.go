package apptest_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/examples/internal/programs"
	"github.com/llmstrata/strata/examples/internal/programs/triage"
	"github.com/llmstrata/strata/internal/gen/pftracegen"
	"github.com/llmstrata/strata/internal/testdata"
)

// TestPftraceSameDocuments converts every reference trace with GPU work to each
// form of .pftrace and asks six programs about both: their documents differ
// only in what docs/format/pftrace.md lists.
func TestPftraceSameDocuments(t *testing.T) {
	paths, least := testdata.SharedGlob(t, "traces/torch/*.json*"), 15
	if !testdata.Long() {
		paths, least = testdata.Smallest(paths, 6), 1
	}
	compared := 0
	for _, path := range paths {
		doc := testdata.ReadFile(t, path)
		if !strings.Contains(strings.ToLower(string(doc)), `"kernel"`) {
			continue // no GPU work
		}
		compared++
		t.Run(filepath.Base(path), func(t *testing.T) { sameDocuments(t, path, doc) })
	}
	if compared < least {
		t.Errorf("%d traces compared, want at least %d", compared, least)
	}
}

// notCarried are the fields that may differ, by form and program, as paths in the documents. Render stages do not say
// which op an activity without a launch belongs to, and stacks among the raw args are not read. Timestamps are of the
// epoch.
var notCarried = map[pftracegen.Form]map[string][]string{
	pftracegen.Slices:     {"triage": sources, "host-detect": raw, "kernel-export": sources},
	pftracegen.Stages:     {"triage": sources, "host-detect": raw, "kernel-export": sources},
	pftracegen.Categories: {"triage": sources, "host-detect": raw},
}

var (
	sources = []string{".cpu_op", ".cpu_ops", ".locations", ".model_lines[].from", ".replayed_at", ".python_scope",
		".current_locations", ".overlap_note", ".unresolved_pct", ".unresolved_fix"}
	raw = []string{".worst_passes[].vis_start_ns", ".worst_passes[].vis_end_ns"}
)

// sameDocuments compares what the programs say of one trace in all forms.
func sameDocuments(t *testing.T, path string, doc []byte) {
	for _, form := range []pftracegen.Form{pftracegen.Slices, pftracegen.Stages, pftracegen.Categories} {
		if form != pftracegen.Categories && strings.Contains(string(doc), "ProfilerStep") &&
			!strings.Contains(string(doc), `"user_annotation"`) {
			continue // of a PyTorch that called annotations operators; the names alone are better
		}
		packets, err := pftracegen.Encode(doc, form)
		if err != nil {
			t.Fatal(err)
		}
		asJSON := written(t, path, ".json", carried(t, doc, form))
		asPftrace := written(t, path, ".pftrace", slices.Concat(packets...))
		for _, p := range []app.Program{programs.LayerTimeline(), triage.Program(), programs.HostDetect(),
			programs.Report(), programs.SpeedOfLight(), programs.KernelExport()} {
			format := "json"
			if p.Name == programs.KernelExport().Name {
				format = "ndjson"
			}
			want := apptest.Run(t, p, "--trace", asJSON, "--format", format)
			got := apptest.Run(t, p, "--trace", asPftrace, "--format", format)
			if got.Code != want.Code {
				t.Errorf("%s, %v: exit code %d, of JSON %d: %s", p.Name, form, got.Code, want.Code, got.Stderr)
				continue
			}
			if want.Stdout == "" {
				continue
			}
			for _, d := range differences(t, strings.ReplaceAll(want.Stdout, asJSON, "TRACE"),
				strings.ReplaceAll(got.Stdout, asPftrace, "TRACE")) {
				place, _, _ := strings.Cut(d, ": ")
				if !slices.ContainsFunc(notCarried[form][p.Name],
					func(part string) bool { return strings.Contains(place, part) }) {
					t.Errorf("%s, %v: %s", p.Name, form, d)
				}
			}
		}
	}
}

// carried is what a document holds that a form carries: events and names, without the profiler's own row, instants,
// flows, shapes, GPUs and ranks. Copies have no names in render stages. Without categories, a name and what is beside
// it separate an op from an annotation; and slices come category by category, which decides between equal times.
func carried(t *testing.T, doc []byte, form pftracegen.Form) []byte {
	t.Helper()
	var d map[string]json.RawMessage
	var all []map[string]json.RawMessage
	if bytes.HasPrefix(bytes.TrimSpace(doc), []byte("[")) {
		d = map[string]json.RawMessage{"traceEvents": doc}
	} else if err := json.Unmarshal(doc, &d); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(d["traceEvents"], &all); err != nil {
		t.Fatal(err)
	}
	copies := map[string]string{"gpu_memcpy": "Memcpy", "gpu_memset": "Memset"}
	var kept []map[string]json.RawMessage
	var group []int // of each event that is kept
	groups := map[string]int{}
	for _, e := range all {
		ph, cat := text(t, e["ph"]), text(t, e["cat"])
		if cat == "Trace" || ph != "X" && ph != "M" && ph != "C" {
			continue
		}
		if name := copies[cat]; form != pftracegen.Slices && name != "" {
			e["name"] = json.RawMessage(strconv.Quote(name))
		}
		if form != pftracegen.Categories && (cat == "cpu_op" || cat == "user_annotation") {
			e["cat"] = json.RawMessage(strconv.Quote(kindWithout(text(t, e["name"]), string(e["args"]), cat)))
		}
		if bytes.Contains(e["args"], []byte(`"Input `)) { // shapes are raw args
			var args map[string]json.RawMessage
			if err := json.Unmarshal(e["args"], &args); err != nil {
				t.Fatal(err)
			}
			maps.DeleteFunc(args, func(key string, _ json.RawMessage) bool { return strings.HasPrefix(key, "Input ") })
			e["args"] = encoded(t, args)
		}
		if _, ok := groups[cat]; !ok {
			groups[cat] = len(groups)
		}
		kept, group = append(kept, e), append(group, groups[cat])
	}
	if form == pftracegen.Slices {
		order := make([]int, len(kept))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(group[a], group[b]) })
		sorted := make([]map[string]json.RawMessage, len(kept))
		for i, from := range order {
			sorted[i] = kept[from]
		}
		kept = sorted
	}
	return encoded(t, map[string]any{"baseTimeNanoseconds": d["baseTimeNanoseconds"], "traceEvents": kept})
}

// kindWithout is the category that an op or annotation seems to have where the format has none, as
// docs/format/pftrace.md says.
func kindWithout(name, args, category string) string {
	has := func(list ...string) bool {
		return slices.ContainsFunc(list, func(key string) bool { return strings.Contains(args, `"`+key) })
	}
	named := strings.HasPrefix(name, "autograd::") || strings.Contains(name, "::") && !strings.ContainsAny(name, " [(")
	switch {
	case has("Sequence number", "Fwd thread id", "Collective name"), has("Input ", "Concrete Inputs", "External id") &&
		named:
		return "cpu_op"
	case has("Input ", "Concrete Inputs", "External id"):
		return "user_annotation"
	}
	return category
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// text is a JSON text; "" for what is none.
func text(t *testing.T, raw json.RawMessage) (s string) {
	t.Helper()
	if len(raw) > 0 && raw[0] == '"' {
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// written writes a trace under the base name of path, so that its rank is found the same way.
func written(t *testing.T, path, suffix string, data []byte) string {
	t.Helper()
	name, _, _ := strings.Cut(filepath.Base(path), ".json")
	out := filepath.Join(t.TempDir(), name+suffix)
	if err := os.WriteFile(out, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return out
}

// differences lists the places where two documents are not equal.
func differences(t *testing.T, want, got string) []string {
	t.Helper()
	var out []string
	a, b := values(t, want), values(t, got)
	if len(a) != len(b) {
		return []string{fmt.Sprintf("rows: %d, of JSON %d", len(b), len(a))}
	}
	for i := range a {
		walk("", a[i], b[i], &out)
	}
	return out
}

// values are the JSON values of a text, one or one a line.
func values(t *testing.T, text string) (all []any) {
	t.Helper()
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		var v any
		switch err := d.Decode(&v); {
		case err == io.EOF:
			return all
		case err != nil:
			t.Fatal(err)
		}
		all = append(all, v)
	}
}

func walk(at string, a, b any, out *[]string) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			keys := map[string]bool{}
			for k := range x {
				keys[k] = true
			}
			for k := range y {
				keys[k] = true
			}
			for k := range keys {
				walk(at+"."+k, x[k], y[k], out)
			}
			return
		}
	case []any:
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				walk(at+"[]", x[i], y[i], out)
			}
			return
		}
	}
	if !slices.Equal([]string{fmt.Sprint(a)}, []string{fmt.Sprint(b)}) {
		*out = append(*out, fmt.Sprintf("%s: %.200v, of JSON %.200v", at, b, a))
	}
}
