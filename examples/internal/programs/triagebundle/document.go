package triagebundle

import "github.com/llmstrata/strata/triage"

// Document is the program's JSON document.
type Document struct {
	// Schema is "strata.bundle/1".
	Schema string `json:"schema"`
	// Title is the first heading.
	Title string `json:"title"`
	// Entries are the reports that were asked for.
	Entries []Entry `json:"entries"`
	// Markdown is the document that --format markdown writes.
	Markdown string `json:"markdown"`
}

// Entry is one report, or a directory of them.
type Entry struct {
	// Label heads its section, "" for the report's own model.
	Label string `json:"label"`
	// Path is the file or directory.
	Path string `json:"path"`
}

// document is a bundle whose Markdown is text.
func document(b *triage.Bundle, text string) Document {
	d := Document{Schema: "strata.bundle/1", Title: b.Title, Markdown: text}
	for _, e := range b.Entries {
		d.Entries = append(d.Entries, Entry{e.Label, e.Path})
	}
	return d
}
