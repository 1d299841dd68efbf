package fleet

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer/finding"
)

// Limits of the text of a report: fewer than 200 lines, however many ranks there are.
const (
	linesFindings = 12
	linesRuns     = 40
	linesGroups   = 12
	linesShared   = 15
	fewRuns       = 2 // of more the groups are not shown
)

// WriteText writes the report for people; brief leaves out what a report around it says: title, verdict and findings.
func (r *Report) WriteText(w io.Writer, brief bool) error {
	b := table.NewWriter(w)
	if !brief {
		b.Heading(1, "strata fleet of %s", table.Counted(len(r.Runs), "recording", "recordings"))
		b.Say("%s", r.Verdict)
	}
	b.Say("Read %s of %s: %s in %s. Health: %s.", table.Count(int64(r.Files-r.Bad)),
		table.Counted(r.Files, "file", "files"), table.Counted(r.Ranks, "rank", "ranks"),
		table.Counted(len(r.Runs), "recording", "recordings"), r.Health)
	if !brief {
		r.writeFindings(b)
	}
	if len(r.Runs) > 1 {
		r.writeRuns(b)
	}
	for i := range r.Runs {
		if len(r.Runs) > fewRuns {
			break // their groups are in the JSON
		}
		r.Runs[i].writeGroups(b)
		r.Runs[i].writeShared(b)
	}
	if r.LeftOut > 0 {
		b.Say("%s left out (use `--full --format json`).",
			table.Counted(r.LeftOut, "finding or recording is", "findings and recordings are"))
	}
	return b.Flush()
}

func (r *Report) writeFindings(b *table.Writer) {
	for i, f := range first(r.Findings, linesFindings) {
		if i == 0 {
			b.Heading(2, "Findings")
		}
		size, in := "", ""
		if f.Total != 0 {
			size = fmt.Sprintf(": %s per step (%s)", table.Duration(f.PerStep), table.Pct(100*f.Share, 1))
		}
		if len(r.Runs) > 1 {
			in = " [" + f.Place.Trace + "]"
		}
		b.Numbered(i+1, "%s%s%s", f.Text, size, in)
		b.Below("%s", f.Evidence)
		b.Below("%s", f.Do)
	}
	if n := len(r.Findings) - linesFindings; n > 0 {
		b.Say("(%d more)", n)
	}
}

func (r *Report) writeRuns(b *table.Writer) {
	table.List(b, "Recordings", r.Runs, linesRuns, func(run Run) []string {
		late, why := table.None, ""
		for k := range run.Groups {
			if l := run.Groups[k].Late; l != nil && late == table.None {
				late, why = l.Rank, l.Why()
			}
		}
		return []string{run.Run, table.Count(int64(run.Ranks)), table.Count(int64(run.NumMissing)),
			run.Step.show(run.Step.Median), run.Step.show(run.Step.Max), run.Wait.show(run.Wait.Median),
			run.Wait.show(run.Wait.Max), late, why}
	}, table.Text("Recording"), table.Number("Ranks"), table.Number("Missing"), table.Number("Step"),
		table.Number("Slowest"), table.Number("Waiting"), table.Number("Most"), table.Text("Late rank"), table.Text("Why"))
}

func (run *Run) writeGroups(b *table.Writer) {
	title := "Groups"
	if run.Run != "" {
		title += " of " + run.Run
	}
	table.List(b, title, run.Groups, linesGroups, func(g Group) []string {
		name := g.Name
		if g.Part != "" {
			name += " " + g.Part
		}
		alike := fmt.Sprintf("%s of %s within %s", table.Count(int64(g.Alike)), table.Count(int64(g.Ranks)),
			table.Pct(100*g.Within, 1))
		if g.Ranks < 2 {
			alike = table.None
		}
		if len(g.Differs) > 0 {
			d := g.Differs[0]
			alike += fmt.Sprintf("; %s differs: %s %s", d.Rank, d.What, table.Change(time.Duration(d.NS)))
		}
		return []string{name, fmt.Sprint(g.Steps), table.Count(int64(g.Collectives)), ns(g.Step), g.Wait.show(g.Transfer),
			g.Wait.show(g.Wait.Min), g.Wait.show(g.Wait.Median), g.Wait.show(g.Wait.Max), worst(g.Wait), alike}
	}, table.Text("Ranks"), table.Number("Steps"), table.Number("Collectives"), table.Number("Step"),
		table.Number("Transfer"), table.Number("Wait min"), table.Number("Median"), table.Number("Max"),
		table.Text("Waits most"), table.Text("Alike"))
	for i := range first(run.Groups, linesGroups) {
		for _, u := range run.Groups[i].Imbalance {
			b.Say("%s (ranks %s).", u.sentence(), run.Groups[i].Name)
		}
	}
}

// show is a time that is known where the spread is, a dash where not.
func (s *Spread) show(d int64) string {
	if !s.Known() {
		return table.None
	}
	return ns(d)
}

// worst are the ranks with most of something.
func worst(s Spread) string {
	if !s.Known() {
		return table.None
	}
	var most []string
	for _, v := range s.Worst {
		most = append(most, strings.TrimPrefix(v.Rank, "rank "))
	}
	return strings.Join(most, ", ")
}

// sentence says which rank has more than its share.
func (i *Imbalance) sentence() string {
	if i.What == Experts {
		return fmt.Sprintf("%s spends %s per step in experts, %s the mean", i.Rank, ns(i.Most), table.Times(i.Ratio, 2))
	}
	return fmt.Sprintf("%s has %s %s per step, %s the mean", i.Rank, table.Count(i.Most), i.What, table.Times(i.Ratio, 2))
}

// writeShared writes the findings that ranks have each by itself.
func (run *Run) writeShared(b *table.Writer) {
	table.List(b, "Findings of ranks by themselves", run.Shared, linesShared, func(s Shared) []string {
		size := s.PerRank
		if s.Measure == finding.NoMeasure {
			size = Spread{}
		}
		return []string{s.Text, fmt.Sprintf("on %d of %d", s.Ranks, s.Of), size.show(size.Min), size.show(size.Median),
			size.show(size.Max), worst(s.PerRank)}
	}, table.Text("Finding"), table.Text("Ranks"), table.Number("Min"), table.Number("Median"), table.Number("Max"),
		table.Text("Worst"))
}
