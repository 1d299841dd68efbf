package schema

import (
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

//go:embed data/*.json
var files embed.FS

// Schema is the schema of one document.
type Schema struct {
	// Name is that of the document without its version: "strata.report".
	Name string
	// Version is that of the document: 2 of "strata.report/2".
	Version string
	// Description says which command writes the document.
	Description string
	// Text is the JSON Schema.
	Text []byte
}

// ID is what a document of the schema says in its field schema: "strata.report/2".
func (s *Schema) ID() string { return s.Name + "/" + s.Version }

// All returns all schemas by name.
func All() []Schema {
	entries, err := files.ReadDir("data")
	if err != nil {
		panic(err) // embedded
	}
	var out []Schema
	for _, e := range entries {
		text, err := files.ReadFile(path.Join("data", e.Name()))
		if err != nil {
			panic(err)
		}
		var head struct{ Title, Description string }
		if err := json.Unmarshal(text, &head); err != nil {
			panic(fmt.Sprintf("%s: %v", e.Name(), err))
		}
		name, version, _ := strings.Cut(head.Title, "/")
		out = append(out, Schema{name, version, head.Description, text})
	}
	slices.SortFunc(out, func(a, b Schema) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Find returns the schema of that name: "report", "strata.report" and "strata.report/2" name the same. It is nil
// where there is none.
func Find(name string) *Schema {
	base, version, versioned := strings.Cut(name, "/")
	base = strings.TrimPrefix(base, "strata.")
	for _, s := range All() {
		if strings.TrimPrefix(s.Name, "strata.") == base && (!versioned || version == s.Version) {
			return &s
		}
	}
	return nil
}
