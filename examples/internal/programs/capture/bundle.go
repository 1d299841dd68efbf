package capture

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/examples/internal/live"
	"github.com/llmstrata/strata/internal/atomicfile"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/triage"
)

// reportFile is an entry's report, in the entry's folder.
const reportFile = "triage.md"

// bundle collects one report per entry of a matrix.
type bundle struct {
	title   string
	entries []triage.BundleEntry
	files   map[string]string // entry → report
}

// add writes the report of an entry into the entry's folder, also of one that failed: then it says so and no more.
func (b *bundle) add(ctx context.Context, e capture.Entry) error {
	rep, failed := triageEntry(ctx, e)
	if rep == nil {
		rep = &triage.Report{Framework: e.Framework.Title(), Health: []triage.HealthNote{},
			Stages: []triage.StageReport{}}
	}
	rep.Capture = live.Validity(e.Captures...)
	if rep.Capture == nil {
		rep.Capture = &triage.Capture{Facts: []string{}}
	}
	if e.Error != "" || failed != nil || len(rep.Stages) == 0 {
		rep.Capture.Validity = string(capture.Invalid)
	}
	if why := cmp.Or(e.Error, text(failed)); why != "" && len(rep.Capture.Why) == 0 {
		rep.Capture.Why = append(rep.Capture.Why, why)
	}
	for _, c := range e.Captures {
		rep.Model = cmp.Or(rep.Model, c.Info.Model)
	}
	if err := os.MkdirAll(e.Dir, 0o777); err != nil {
		return err
	}
	path := filepath.Join(e.Dir, reportFile)
	if err := atomicfile.Write(path, 0o666, rep.WriteMarkdown); err != nil {
		return err
	}
	name := rep.Framework + " (" + e.Name + ")"
	if rep.Capture.Validity != string(capture.Valid) {
		name += " " + rep.Capture.Validity
	}
	b.entries = append(b.entries, triage.BundleEntry{Label: rep.Model, Path: path, Name: name})
	b.files[e.Name] = path
	if e.Error != "" {
		return nil // it was printed already
	}
	return failed
}

// triageEntry makes the report of one entry: of its single or formal capture,
// read against its mapping capture where there is one.
func triageEntry(ctx context.Context, e capture.Entry) (*triage.Report, error) {
	var formal, mapping *capture.Result
	for _, c := range e.Captures {
		if c.Role == capture.RoleMapping {
			mapping = c
		} else {
			formal = c
		}
	}
	in, err := live.Input(ctx, formal, mapping, nil, layer.Options{})
	if err != nil {
		return nil, err
	}
	return triage.Analyze(ctx, in, triage.Options{Framework: e.Framework.Title()})
}

// text is an error's, "" for none.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// write joins the reports, in the order of the plan. Without any it writes
// nothing: the errors say why.
func (b *bundle) write(w io.Writer) error {
	if len(b.entries) == 0 {
		return nil
	}
	b.nameModels()
	doc := triage.Bundle{Title: b.title, Entries: b.entries, TOC: len(b.entries) > 1}
	return doc.WriteMarkdown(w)
}

// nameModels gives entries whose server did not name its model the model of all others, if that is one, else their
// own name.
func (b *bundle) nameModels() {
	model, several := "", false
	for _, e := range b.entries {
		several = several || model != "" && e.Label != "" && e.Label != model
		model = cmp.Or(model, e.Label)
	}
	for i := range b.entries {
		e := &b.entries[i]
		if e.Label == "" && !several {
			e.Label = model
		}
		e.Label = cmp.Or(e.Label, filepath.Base(filepath.Dir(e.Path)))
	}
}
