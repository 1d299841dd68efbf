package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/llmstrata/strata/capture"
)

// bundle collects one report per entry of a matrix.
type bundle struct {
	title string
	names []string
	text  map[string]string
	files map[string]string
}

func newBundle(title string) *bundle {
	return &bundle{title: title, text: map[string]string{}, files: map[string]string{}}
}

// add writes the report of an entry into the entry's folder and keeps it.
func (b *bundle) add(ctx context.Context, e capture.Entry) error {
	text, err := entryReport(ctx, e)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(e.Dir, 0o777); err != nil {
		return err
	}
	path := filepath.Join(e.Dir, "triage.md")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		return err
	}
	b.names = append(b.names, e.Name)
	b.text[e.Name], b.files[e.Name] = text, path
	return nil
}

// write joins the reports, in the order of the plan.
func (b *bundle) write(w io.Writer) error {
	title := b.title
	if title == "" {
		title = "Matrix"
	}
	if _, err := fmt.Fprintf(w, "# %s\n", title); err != nil {
		return err
	}
	for _, n := range b.names {
		if _, err := fmt.Fprintf(w, "\n## %s\n\n%s", n, b.text[n]); err != nil {
			return err
		}
	}
	return nil
}
