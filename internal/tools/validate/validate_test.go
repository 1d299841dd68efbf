// Package validate holds the documents of all programs against their JSON Schemas.
package validate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/sync/errgroup"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/internal/tools/repository"
)

// validator knows all schemas, each made strict: a field that it does not describe is an error.
type validator struct {
	compiled map[string]*jsonschema.Schema // by document, "strata.report/2"
	mu       sync.Mutex
	seen     map[string]int
}

func newValidator(t *testing.T) *validator {
	t.Helper()
	v := &validator{compiled: map[string]*jsonschema.Schema{}, seen: map[string]int{}}
	files, err := filepath.Glob(filepath.Join(testdata.Root(t), "examples/internal/command/schemas/*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no schemas: ", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		strict(doc)
		c := jsonschema.NewCompiler()
		id := doc.(map[string]any)["title"].(string)
		url := "https://test/" + id
		delete(doc.(map[string]any), "$id")
		if err := c.AddResource(url, doc); err != nil {
			t.Fatal(err)
		}
		if v.compiled[id], err = c.Compile(url); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	return v
}

// strict forbids further fields in every object of a schema that lists its fields.
func strict(n any) {
	switch n := n.(type) {
	case map[string]any:
		if n["properties"] != nil && n["additionalProperties"] == nil {
			n["additionalProperties"] = false
		}
		for _, v := range n {
			strict(v)
		}
	case []any:
		for _, v := range n {
			strict(v)
		}
	}
}

// check holds one document against the schema that it names, or against that of id. It returns the document's name.
func (v *validator) check(data []byte, id string) (string, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	if id == "" {
		m, _ := doc.(map[string]any)
		id, _ = m["schema"].(string)
	}
	s := v.compiled[id]
	if s == nil {
		return id, fmt.Errorf("no schema %q", id)
	}
	v.mu.Lock()
	v.seen[id]++
	v.mu.Unlock()
	return id, s.Validate(doc)
}

// commands are the documents that every trace is asked for. TRACE, CONFIG and OUT are files.
var commands = []string{
	"answer TRACE --format json", "answer TRACE --against TRACE --question regress --format json",
	"answer TRACE --format json --limit 2", "report TRACE --format json --budget 60k", "report TRACE --format json",
	"report TRACE --against TRACE --format json", "layers TRACE --format json",
	"breakdown TRACE --layer 1 --format json", "breakdown TRACE --layer 1 --compare-layer 2 --format json",
	"light TRACE --format json", "triage TRACE --min-share 0 --format json",
	"triage TRACE --fuse-mode keyword --overlap-mode published --format json",
	"triage --input TRACE --compare-input TRACE --format json",
	"triage --mapping-input TRACE --formal-input TRACE --format json",
	"host TRACE --format json", "host TRACE --handoff --format json", "host TRACE --comparable --format json",
	"host-compare TRACE --format json",
	"host-compare --baseline TRACE --target TRACE --format json", "compare --a TRACE --b TRACE --format json",
	"compare --b TRACE --save OUT --format json", "export TRACE --format ndjson --stacks --module",
	"perfetto TRACE --format json",
}

// TestEveryDocumentOnEveryTrace runs every command on every reference trace, or on those of this repository where
// there are none.
func TestEveryDocumentOnEveryTrace(t *testing.T) {
	v := newValidator(t)
	if err := repository.Enter(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "strata")
	if out, err := exec.Command("go", "build", "-o", bin, "./examples/strata").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var traces []string
	for _, pattern := range []string{"torch/*.json*", "nsys/*.sqlite", "other/*", "units/*/*.json.gz"} {
		list, err := filepath.Glob(filepath.Join("..", "shared", "traces", filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		traces = append(traces, list...)
	}
	if len(traces) == 0 {
		t.Log("the reference traces are not there: only distilled ones are read")
		for _, k := range testdata.DistilledTraces(t) {
			traces = append(traces, testdata.Distilled(t, k.Name))
		}
	}
	if !testdata.Long() {
		const few = 10 // a minute is saved; the long form reads all
		traces = testdata.Smallest(traces, few)
	}
	config := filepath.Join("testdata", "configs")
	configs, err := filepath.Glob(filepath.Join(config, "*.json"))
	if err != nil || len(configs) == 0 {
		t.Fatalf("no configs: %v", err)
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, trace := range append(slices.Clone(traces), "") {
		g.Go(func() error {
			out := filepath.Join(dir, fmt.Sprintf("%d.json", i))
			for _, c := range commands {
				v.run(t, bin, c, map[string]string{"TRACE": trace, "OUT": out})
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, c := range configs {
		v.run(t, bin, "breakdown --plan --config "+c+" --format json", nil)
		v.run(t, bin, "light --config "+c+" --device H100 --tokens 8 --kv-len 640 --format json", nil)
	}
	t.Logf("%d traces, documents: %v", len(traces), v.seen)
	for _, id := range []string{"strata.answer/1", "strata.report/2", "strata.timeline/1", "strata.breakdown/1",
		"strata.plan/1", "strata.light/2", "strata.triage/2", "strata.triage-compare/2", "strata.host/4",
		"strata.host-published/1", "strata.host-compare/1", "strata.host-run/1", "strata.compare/4",
		"strata.baseline/2", "strata.kernel/1", "strata.perfetto/1"} {
		if v.seen[id] == 0 {
			t.Errorf("no document %s was made", id)
		}
	}
}

// run makes the document of a command and checks it. A command may refuse a trace; then it writes nothing, or a
// document, too.
func (v *validator) run(t *testing.T, bin, line string, files map[string]string) {
	var args []string
	for _, w := range strings.Fields(line) {
		if f, ok := files[w]; ok {
			w = f
		}
		if w != "" {
			args = append(args, w)
		} else if n := len(args) - 1; n > 0 && strings.HasPrefix(args[n], "--") {
			return // needs a file, and this is the built-in trace
		}
	}
	cmd := exec.Command(bin, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Error(err)
		return
	}
	if exit != nil && exit.ExitCode() == 2 {
		t.Errorf("%v: wrong usage: %s", args, &stderr)
		return
	}
	if strings.Contains(line, "ndjson") {
		for row := range bytes.Lines(stdout.Bytes()) {
			if _, err := v.check(row, "strata.kernel/1"); err != nil {
				t.Errorf("%v: %v", args, err)
				return
			}
		}
		return
	}
	documents := [][]byte{stdout.Bytes()}
	if saved, err := os.ReadFile(files["OUT"]); err == nil {
		documents = append(documents, saved)
	}
	for _, d := range documents {
		if len(bytes.TrimSpace(d)) == 0 {
			continue
		}
		if !json.Valid(d) {
			continue // text of a command that was asked for a file only
		}
		if id, err := v.check(d, ""); err != nil {
			t.Errorf("%v: %s: %v", args, id, err)
		}
	}
}

// TestStrict: a field that no schema describes, a null list and a time that is no integer are errors.
func TestStrict(t *testing.T) {
	v := newValidator(t)
	good := `{"schema": "strata.bundle/1", "title": "a", "markdown": "b", "entries": []}`
	if _, err := v.check([]byte(good), ""); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{`"entries": [], "extra": 1`, `"entries": null`, `"entries": "x"`} {
		if _, err := v.check([]byte(strings.Replace(good, `"entries": []`, bad, 1)), ""); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
	if _, err := v.check([]byte(strings.Replace(good, `"title": "a", `, "", 1)), ""); err == nil {
		t.Error("a document that lacks a field is accepted")
	}
}

// TestDocumentsOfTheProgramsTests: whatever document the programs' own tests make, those of capture against test
// servers among them.
func TestDocumentsOfTheProgramsTests(t *testing.T) {
	v := newValidator(t)
	if err := repository.Enter(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command("go", "test", "-count=1", "./examples/internal/programs/...")
	cmd.Env = append(os.Environ(), "STRATA_DOCUMENTS="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	list, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range list {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		if id, err := v.check(data, ""); err != nil {
			t.Errorf("%s: %v\n%.300s", id, err, data)
		}
	}
	t.Logf("%d documents: %v", len(list), v.seen)
	for id := range v.compiled {
		if strings.HasPrefix(id, "strata.capture") && v.seen[id] == 0 {
			t.Errorf("no test makes the document %s", id)
		}
	}
}
