package programs

import (
	"bytes"
	"context"
	"flag"
	"io"
	"strings"
	"time"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/triage"
)

// TriageBundle returns the program with fresh flags.
func TriageBundle() app.Program { return triageBundle(time.Now) }

// triageBundle returns the program with fresh flags; now is the generation time.
func triageBundle(now func() time.Time) app.Program {
	var files app.List
	var root, title *string
	var toc *bool
	return app.Program{
		Name:    "triage-bundle",
		Summary: "joins Markdown triage reports into one document, a section per model.",
		Args:    "[FILE|LABEL=FILE...]",
		Examples: []string{
			"triage-bundle --analysis-root runs/ --include-toc",
			"triage-bundle --analysis-file qwen=a.md --analysis-file llama=b.md --output all.md",
		},
		Common:  app.FormatFlag | app.OutputFlag,
		Formats: []app.Format{app.Markdown, app.JSON},
		Flags: func(fs *flag.FlagSet) {
			root = fs.String("analysis-root", "", "`DIR`: take all triage reports (*.md, *.txt) below it")
			fs.Var(&files, "analysis-file", "`[LABEL=]FILE`: take this report; repeatable")
			title = fs.String("title", "Triage Bundle", "`TITLE`: title of the document")
			toc = fs.Bool("include-toc", false, "write a table of contents")
		},
		Obsolete: []app.Obsolete{{Name: "no-include-toc",
			Note: "is the rule here: --include-toc writes a table of contents"}},
		Run: func(ctx context.Context, env *app.Env) error {
			var entries []triage.BundleEntry
			if *root != "" {
				entries = []triage.BundleEntry{{Path: *root}}
			}
			for _, f := range append(files, env.Args...) {
				entries = append(entries, parseBundleEntry(f))
			}
			if len(entries) == 0 {
				return app.Usagef("no report: give --analysis-root or --analysis-file")
			}
			b := &triage.Bundle{Title: *title, Entries: entries, TOC: *toc, Time: now()}
			if !env.Document() {
				return writeBundle(ctx, env.Stdout, b)
			}
			var text strings.Builder
			if err := writeBundle(ctx, &text, b); err != nil {
				return err
			}
			return env.WriteJSON(bundleDocument(b, text.String()))
		},
	}
}

// parseBundleEntry reads "LABEL=PATH", or a path alone.
func parseBundleEntry(s string) triage.BundleEntry {
	if label, path, ok := strings.Cut(s, "="); ok && label != "" && path != "" {
		return triage.BundleEntry{Label: label, Path: path}
	}
	return triage.BundleEntry{Path: s}
}

// writeBundle writes a bundle, and does not wait for it once ctx is done: the opening of a pipe waits for its writer.
func writeBundle(ctx context.Context, w io.Writer, b *triage.Bundle) error {
	var out bytes.Buffer
	done := make(chan error, 1)
	go func() { done <- b.WriteMarkdown(&out) }()
	select {
	case err := <-done:
		if err != nil {
			return err
		}
		_, err = out.WriteTo(w)
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
