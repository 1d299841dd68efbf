package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/llmstrata/strata/internal/table"
)

// Marks around the table in the README.
const (
	costsBegin = "<!-- costs: written by go run -C internal/tools ./perf -readme README.md -->\n"
	costsEnd   = "<!-- end of costs -->\n"
)

// writeCosts puts the table of what a GB of trace costs into a page that has the
// marks for it.
func (p *page) writeCosts(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), costsBegin)
	_, after, closed := strings.Cut(rest, costsEnd)
	if !ok || !closed {
		return fmt.Errorf("%s has no place for the table: a line %q and a line %q", path, costsBegin, costsEnd)
	}
	costs, err := p.costs()
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(before+costsBegin+costs+costsEnd+after), 0o666)
}

// costsOf are the columns of the table, by what was measured: the README has room
// for what most users run, the page of figures for all.
var costsOf = map[string]string{
	decompressOnly + " gz":                  "gunzip alone",
	everything + " gz":                      "load gz",
	everything + " plain":                   "load plain",
	everything + " pftrace":                 "load pftrace",
	"strata report" + wholeProgram + " gz":  "report",
	"strata layers" + wholeProgram + " gz":  "layers",
	"strata triage" + wholeProgram + " gz":  "triage",
	"strata host" + wholeProgram + " gz":    "host",
	"strata compare" + wholeProgram + " gz": "compare (two)",
	"strata export" + wholeProgram + " gz":  "export",
	"Python json.load gz":                   "json.load gz",
}

// costs is the table: of the largest trace on which programs ran, seconds and
// memory for each GB of uncompressed JSON.
func (p *page) costs() (string, error) {
	var r *fileResult
	for i := range p.files {
		if !p.files[i].loadOnly && (r == nil || p.files[i].plainBytes > r.plainBytes) {
			r = &p.files[i]
		}
	}
	if r == nil {
		return "", fmt.Errorf("no trace on which programs ran: -size is empty")
	}
	columns, took, peak := []table.Column{table.Text("each GB")}, []string{"seconds"}, []string{"memory"}
	for _, x := range r.rows {
		name, ok := costsOf[x.name+" "+x.file]
		if !ok {
			continue
		}
		gb := float64(r.plainBytes) / 1e9
		columns = append(columns, table.Number(name))
		took = append(took, table.Fixed(x.took.Seconds()/gb, 2))
		peak = append(peak, table.Fixed(float64(x.peak)/1e6/gb, 0)+" MB")
	}
	t := table.New(columns...)
	t.Row(took...)
	t.Row(peak...)
	var b bytes.Buffer
	err := t.WriteMarkdown(&b)
	return b.String(), err
}
