package command

import (
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

//go:embed schemas/*.json
var schemaFiles embed.FS

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

// DocumentSchemas returns all schemas by name.
func DocumentSchemas() []Schema {
	entries, err := schemaFiles.ReadDir("schemas")
	if err != nil {
		panic(err) // embedded
	}
	var out []Schema
	for _, e := range entries {
		text, err := schemaFiles.ReadFile(path.Join("schemas", e.Name()))
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

// FindSchema returns the schema of that name: "report", "strata.report" and "strata.report/2" name the same. It is nil
// where there is none.
func FindSchema(name string) *Schema {
	base, version, versioned := strings.Cut(name, "/")
	base = strings.TrimPrefix(base, "strata.")
	for _, s := range DocumentSchemas() {
		if strings.TrimPrefix(s.Name, "strata.") == base && (!versioned || version == s.Version) {
			return &s
		}
	}
	return nil
}
