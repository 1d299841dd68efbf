package command_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/command"
	"github.com/llmstrata/strata/internal/testdata"
)

// TestSchemaCommand: it lists all documents and prints each schema by each of its names.
func TestSchemaCommand(t *testing.T) {
	list := run(t, "", "schema").Stdout
	for _, s := range command.DocumentSchemas() {
		if !strings.Contains(list, s.ID()+" ") {
			t.Errorf("%s is not listed", s.ID())
		}
		for _, n := range []string{s.ID(), s.Name, strings.TrimPrefix(s.Name, "strata.")} {
			if got := run(t, "", "schema", n); got.Stdout != string(s.Text) || got.Code != app.ExitOK ||
				!json.Valid(s.Text) {
				t.Errorf("schema %s: exit code %d, %.80q", n, got.Code, got.Stdout)
			}
		}
	}
	if got := run(t, "", "schema", "-h"); got.Code != app.ExitOK || !strings.HasPrefix(got.Stdout, "usage:") {
		t.Errorf("%+v", got)
	}
	for _, args := range [][]string{{"nothing"}, {"report/9"}, {"a", "b"}, {"--all"}} {
		if got := run(t, "", append([]string{"schema"}, args...)...); got.Code != app.ExitUsage || got.Stdout != "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

// TestDocumentsHaveTheirFields: each document that the programs write has a schema of its name and version, and no
// field that it lacks at its top. internal/tools/validate does so with a validator, at every depth, on every trace.
func TestDocumentsHaveTheirFields(t *testing.T) {
	inputs := sameInputs(t)
	for _, d := range documents {
		if d.heavy && !testdata.Long() || !strings.HasSuffix(d.args, "--format json") {
			continue
		}
		var doc map[string]json.RawMessage
		if err := json.NewDecoder(strings.NewReader(string(document(t, d.args, inputs)[1:]))).Decode(&doc); err != nil {
			t.Errorf("%s: %v", d.args, err)
			continue
		}
		id := strings.Trim(string(doc["schema"]), `"`)
		s := command.FindSchema(id)
		if s == nil {
			t.Errorf("%s: no schema %s", d.args, id)
			continue
		}
		var top struct {
			Ref   string `json:"$ref"`
			AnyOf []struct {
				Ref string `json:"$ref"`
			}
			Defs map[string]struct {
				Properties map[string]struct{ Description string }
				Required   []string
			} `json:"$defs"`
		}
		if err := json.Unmarshal(s.Text, &top); err != nil {
			t.Fatal(err)
		}
		if len(top.AnyOf) > 0 {
			top.Ref = top.AnyOf[0].Ref
		}
		def := top.Defs[strings.TrimPrefix(top.Ref, "#/$defs/")]
		for name := range doc {
			if def.Properties[name].Description == "" {
				t.Errorf("%s: the schema %s does not describe %q", d.args, id, name)
			}
		}
		for _, name := range def.Required {
			if !slices.Contains(keys(doc), name) {
				t.Errorf("%s: the document lacks %q", d.args, name)
			}
		}
	}
}

func keys[V any](m map[string]V) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	return out
}
