package documents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/examples/internal/command"
	"github.com/llmstrata/strata/internal/testdata"
)

// TestSchemas: the schemas that package command has are those of the Go types, so that nobody changes the name or the
// unit of a field unseen; every field has a comment, and every time is in nanoseconds. go test -update writes them, and
// their table in docs/formats.md.
func TestSchemas(t *testing.T) {
	comments := newComments(t)
	root := testdata.Root(t)
	wrong := map[string]bool{}
	var rows strings.Builder
	for i := range documents {
		d := &documents[i]
		g := &generator{comments, map[string]*node{}, wrong}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", " ")
		if err := enc.Encode(g.schema(d)); err != nil {
			t.Fatal(err)
		}
		name, version, _ := strings.Cut(strings.TrimPrefix(d.id, "strata."), "/")
		apptest.Golden(t, filepath.Join(root, "examples", "internal", "command", "schemas", name+".json"), b.String())
		fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", name, version, d.by)
	}
	if len(wrong) > 0 {
		t.Errorf("%d fields:\n%s", len(wrong), strings.Join(sortedKeys(wrong), "\n"))
	}
	if n := len(command.DocumentSchemas()); n != len(documents) && !apptest.Update() {
		t.Errorf("%d schemas are embedded, want %d", n, len(documents))
	}
	path := filepath.Join(root, "docs", "formats.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, tail, ok := strings.Cut(string(text), "<!-- documents -->\n")
	_, tail, closed := strings.Cut(tail, "<!-- end of documents -->")
	if !ok || !closed {
		t.Fatalf("%s has no table of documents", path)
	}
	apptest.Golden(t, path, head+"<!-- documents -->\n| name | version | written by |\n|---|---|---|\n"+rows.String()+
		"<!-- end of documents -->"+tail)
}
