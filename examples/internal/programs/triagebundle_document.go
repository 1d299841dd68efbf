package programs

import "github.com/llmstrata/strata/triage"

// BundleDocument is the program's JSON document.
type BundleDocument struct {
	// Schema is "strata.bundle/1".
	Schema string `json:"schema"`
	// Title is the first heading.
	Title string `json:"title"`
	// Entries are the reports that were asked for.
	Entries []BundleEntry `json:"entries"`
	// Markdown is the document that --format markdown writes.
	Markdown string `json:"markdown"`
}

// BundleEntry is one report, or a directory of them.
type BundleEntry struct {
	// Label heads its section, "" for the report's own model.
	Label string `json:"label"`
	// Path is the file or directory.
	Path string `json:"path"`
}

// bundleDocument is a bundle whose Markdown is text.
func bundleDocument(b *triage.Bundle, text string) BundleDocument {
	d := BundleDocument{Schema: "strata.bundle/1", Title: b.Title, Markdown: text}
	for _, e := range b.Entries {
		d.Entries = append(d.Entries, BundleEntry{e.Label, e.Path})
	}
	return d
}
