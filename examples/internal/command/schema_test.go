package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
)

// schemaName is how a document calls itself: a name and a version.
var schemaName = regexp.MustCompile(`^strata\.[a-z-]+/[1-9][0-9]*$`)

// TestEveryDocumentHasASchema: each JSON document of each program says what it is
// in its first field, two commands do not share a name, and no list is null.
func TestEveryDocumentHasASchema(t *testing.T) {
	inputs := sameInputs(t)
	owners := map[string]string{}
	asked := 0
	for _, d := range documents {
		saved := strings.Contains(d.args, "--save OUT.json")
		if d.heavy && !testdata.Long() || !saved && !strings.HasSuffix(d.args, "--format json") {
			continue
		}
		asked++
		command, _, _ := strings.Cut(d.args, " ")
		data := []byte(nil)
		if all := document(t, d.args, inputs); saved {
			data = savedDocument(t, inputs)
		} else {
			data = all[1:]
		}
		var head struct {
			Schema string `json:"schema"`
		}
		dec := json.NewDecoder(strings.NewReader(string(data)))
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			t.Errorf("%s: %v", d.args, err)
			continue
		}
		if err := json.Unmarshal(raw, &head); err != nil {
			t.Errorf("%s: %v", d.args, err)
			continue
		}
		if first := strings.TrimLeft(strings.TrimPrefix(string(raw), "{"),
			" \n"); !schemaName.MatchString(head.Schema) || !strings.HasPrefix(first, `"schema"`) {
			t.Errorf("%s: schema %q, the document begins %.60q", d.args, head.Schema, raw)
		}
		name, _, _ := strings.Cut(head.Schema, "/")
		if saved {
			command += " --save"
		}
		if other, taken := owners[name]; taken && other != command {
			t.Errorf("%s and %s both write %s", other, command, name)
		}
		owners[name] = command
	}
	if asked < 10 {
		t.Errorf("%d documents, want those of all programs", asked)
	}
}

// savedDocument is what the last run wrote.
func savedDocument(t *testing.T, inputs map[string]string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(inputs["DIR"], "out", "out.json"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
