package view

import (
	"io"

	"github.com/goccy/go-json"
)

// WriteJSON writes the document, indented by two spaces, and a final newline.
func (d *Detail) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // kernel names are full of < and >
	e.SetIndent("", "  ")
	return e.Encode(d)
}
