package fleet

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/table"
)

// Text says how a report is written.
type Text struct {
	// Width is how many columns tables may have, 0 for any number. Markdown writes Markdown.
	Width    int
	Markdown bool
	// Brief leaves out what a report around it says: title, verdict and findings.
	Brief bool
}

// Limits of the text of a report: fewer than 200 lines, however many ranks there are.
const (
	linesFindings = 12
	linesRuns     = 40
	linesGroups   = 12
	linesShared   = 15
	fewRuns       = 2 // of more the groups are not shown
)

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer, o Text) error {
	t := writer{table.NewWriter(w), o}
	if !o.Brief {
		t.say(title, "strata fleet of "+table.Counted(len(r.Runs), "recording", "recordings"))
		t.say(line, r.Verdict)
	}
	t.say(line, fmt.Sprintf("Read %s of %s: %s in %s. Health: %s.", table.Count(int64(r.Files-r.Bad)),
		table.Counted(r.Files, "file", "files"), table.Counted(r.Ranks, "rank", "ranks"),
		table.Counted(len(r.Runs), "recording", "recordings"), r.Health))
	if !o.Brief {
		t.findings(r)
	}
	if len(r.Runs) > 1 {
		t.runs(r)
	}
	for i := range r.Runs {
		if len(r.Runs) > fewRuns {
			break // their groups are in the JSON
		}
		t.groups(&r.Runs[i])
		t.shared(&r.Runs[i])
	}
	if r.LeftOut > 0 {
		t.say(line, fmt.Sprintf("%d findings and recordings are left out (use `--full --format json`).", r.LeftOut))
	}
	return t.w.Flush()
}

// writer writes the parts of a report.
type writer struct {
	w *table.Writer
	o Text
}

// The levels of what is said.
const (
	line = iota
	title
	heading
)

// say writes a line, the title, or a heading.
func (t *writer) say(level int, s string) {
	if t.o.Markdown {
		fmt.Fprintf(t.w, "%s%s\n\n", [...]string{"", "# ", "## "}[level], table.EscapeMarkdown(s))
		return
	}
	fmt.Fprintf(t.w, [...]string{"%s\n", "%s\n\n", "\n%s\n"}[level], table.Clean(s))
}

func (t *writer) table(rows *table.Table, more int) {
	if t.o.Markdown {
		rows.WriteMarkdown(t.w)
	} else {
		rows.WriteFit(t.w, t.o.Width)
	}
	if more > 0 {
		t.say(line, fmt.Sprintf("… %d more", more))
	}
}

func (t *writer) findings(r *Report) {
	if len(r.Findings) == 0 {
		return
	}
	t.say(heading, "Findings")
	for i, f := range first(r.Findings, linesFindings) {
		size := ""
		if f.Total != 0 {
			size = fmt.Sprintf(": %s per step (%s)", table.Duration(f.PerStep), table.Pct(100*f.Share, 1))
		}
		in := ""
		if len(r.Runs) > 1 {
			in = " [" + f.Place.Trace + "]"
		}
		t.say(line, fmt.Sprintf("%2d. %s%s%s", i+1, f.Text, size, in))
		t.say(line, "    "+f.Evidence)
		t.say(line, "    "+f.Do)
	}
	if n := len(r.Findings) - linesFindings; n > 0 {
		t.say(line, fmt.Sprintf("… %d more", n))
	}
}

func (t *writer) runs(r *Report) {
	t.say(heading, "Recordings")
	rows := table.New(table.Text("Recording"), table.Number("Ranks"), table.Number("Missing"), table.Number("Step"),
		table.Number("Slowest"), table.Number("Waiting"),
		table.Number("Most"), table.Text("Late rank"), table.Text("Why"))
	for i := range first(r.Runs, linesRuns) {
		run := &r.Runs[i]
		late, why := "-", ""
		for k := range run.Groups {
			if l := run.Groups[k].Late; l != nil && late == "-" {
				late, why = l.Rank, l.Why()
			}
		}
		rows.Row(run.Run, table.Count(int64(run.Ranks)), table.Count(int64(run.NumMissing)), ns(run.Step.Median),
			ns(run.Step.Max), ns(run.Wait.Median), ns(run.Wait.Max), late, why)
	}
	t.table(rows, len(r.Runs)-linesRuns)
}

func (t *writer) groups(run *Run) {
	if len(run.Groups) == 0 {
		return
	}
	t.say(heading, "Groups of "+run.Run)
	rows := table.New(table.Text("Ranks"), table.Number("Steps"), table.Number("Collectives"), table.Number("Step"),
		table.Number("Transfer"),
		table.Number("Wait min"), table.Number("Median"), table.Number("Max"), table.Text("Waits most"), table.Text("Alike"))
	for i := range first(run.Groups, linesGroups) {
		g := &run.Groups[i]
		name := g.Name
		if g.Part != "" {
			name += " " + g.Part
		}
		var most []string
		for _, v := range g.Wait.Worst {
			most = append(most, strings.TrimPrefix(v.Rank, "rank "))
		}
		alike := fmt.Sprintf("%s of %s within %s", table.Count(int64(g.Alike)), table.Count(int64(g.Ranks)),
			table.Pct(100*g.Within, 1))
		if len(g.Differs) > 0 {
			d := g.Differs[0]
			alike += fmt.Sprintf("; %s differs: %s %s", d.Rank, d.What, table.Change(time.Duration(d.NS)))
		}
		rows.Row(name, fmt.Sprint(g.Steps), table.Count(int64(g.Collectives)), ns(g.Step), ns(g.Transfer),
			ns(g.Wait.Min), ns(g.Wait.Median), ns(g.Wait.Max), strings.Join(most, ", "), alike)
	}
	t.table(rows, len(run.Groups)-linesGroups)
	for i := range first(run.Groups, linesGroups) {
		for _, u := range run.Groups[i].Imbalance {
			t.say(line, u.sentence()+" (ranks "+run.Groups[i].Name+").")
		}
	}
}

// sentence says which rank has more than its share.
func (i *Imbalance) sentence() string {
	if i.What == Experts {
		return fmt.Sprintf("%s spends %s per step in experts, %s the mean", i.Rank, ns(i.Most), table.Times(i.Ratio, 2))
	}
	return fmt.Sprintf("%s has %s %s per step, %s the mean", i.Rank, table.Count(i.Most), i.What, table.Times(i.Ratio, 2))
}

// shared are the findings that ranks have each by itself.
func (t *writer) shared(run *Run) {
	if len(run.Shared) == 0 {
		return
	}
	t.say(heading, "Findings of ranks by themselves")
	rows := table.New(table.Text("Finding"), table.Text("Ranks"), table.Number("Min"), table.Number("Median"),
		table.Number("Max"), table.Text("Worst"))
	for i := range first(run.Shared, linesShared) {
		s := &run.Shared[i]
		var worst []string
		for _, v := range s.PerRank.Worst {
			worst = append(worst, strings.TrimPrefix(v.Rank, "rank "))
		}
		rows.Row(s.Text, fmt.Sprintf("on %d of %d", s.Ranks, s.Of), ns(s.PerRank.Min), ns(s.PerRank.Median),
			ns(s.PerRank.Max), strings.Join(worst, ", "))
	}
	t.table(rows, len(run.Shared)-linesShared)
}
