// Package schema holds the JSON Schemas (2020-12) of all JSON documents of the programs. They are generated from the
// Go types of the documents, by `go test ./examples/internal/documents -update`.
package schema
