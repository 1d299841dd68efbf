package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

// ReportSchema names the document that a [Report] is in JSON.
const ReportSchema = "strata.fleet/1"

// Options change what a [Report] holds. The zero value bounds it.
type Options struct {
	// Full keeps every rank, run and step. Otherwise a report of any number of ranks stays below two megabytes.
	Full bool
}

// Report is the result for all ranks of one or several recordings. It does not say where they were read, so that
// the same digests give the same bytes everywhere.
type Report struct {
	Schema string `json:"schema"` // name and version of the document
	// Files were found, Ranks of them read and counted once, Bad could not be read.
	Files  int                `json:"files"`
	Ranks  int                `json:"ranks"`
	Bad    int                `json:"bad"`
	Health trace.HealthStatus `json:"health"`
	// Verdict is one sentence.
	Verdict string `json:"verdict"`
	// Findings are those of all runs, ranked; Runs are by name. LeftOut counts findings and runs that Options.Full
	// would keep.
	Findings []finding.Finding `json:"findings"`
	Runs     []Run             `json:"runs"`
	LeftOut  int               `json:"left_out"`
}

// What is kept of a report that is not full: some 1.5 MB at most.
const (
	mostRuns     = 200
	mostGroups   = 8
	mostFindings = 100
	mostRows     = 8
	mostSkew     = 32
	mostFiles    = 8
	mostAbsent   = 256
	mostListed   = 64 // ranks of a group that are listed one by one
)

// Combine makes the report of runs, each of [OfRun]. The order of the runs does not matter.
func Combine(runs []Run, o Options) *Report {
	r := &Report{Schema: ReportSchema, Health: trace.HealthOK, Findings: []finding.Finding{}, Runs: slices.Clone(runs)}
	if r.Runs == nil {
		r.Runs = []Run{}
	}
	slices.SortFunc(r.Runs, func(a, b Run) int { return cmp.Compare(a.Run, b.Run) })
	for i := range r.Runs {
		run := &r.Runs[i]
		r.Files, r.Ranks, r.Bad, r.Health = r.Files+run.Files, r.Ranks+run.Ranks, r.Bad+len(run.Bad),
			worse(r.Health, run.Health)
		r.Findings = append(r.Findings, run.Findings...)
	}
	finding.Rank(r.Findings)
	r.Verdict = r.sentence()
	if !o.Full {
		r.bound()
	}
	return r
}

// bound cuts what grows with the number of ranks.
func (r *Report) bound() {
	found, runs := len(r.Findings), len(r.Runs)
	r.Findings = first(r.Findings, mostFindings)
	if runs > mostRuns {
		// Those with findings, then the first by name; by name again.
		order := slices.Clone(r.Runs)
		none := func(r *Run) int { return stat.Int(len(r.Findings) == 0) }
		slices.SortStableFunc(order, func(a, b Run) int { return cmp.Compare(none(&a), none(&b)) })
		r.Runs = order[:mostRuns]
		slices.SortFunc(r.Runs, func(a, b Run) int { return cmp.Compare(a.Run, b.Run) })
	}
	r.LeftOut += found + runs - len(r.Findings) - len(r.Runs)
	few := 1
	if len(r.Runs) < mostGroups {
		few = 4 // of few runs more is kept
	}
	for i := range r.Runs {
		run := &r.Runs[i]
		run.Bad, run.Twice = first(run.Bad, mostFiles*few), first(run.Twice, mostFiles*few)
		run.Missing, run.Shared, run.Findings = first(run.Missing, mostAbsent*few), first(run.Shared, mostRows*few),
			first(run.Findings, mostRows*few)
		run.Groups = slices.Clone(run.Groups)
		slices.SortStableFunc(run.Groups, func(a, b Group) int {
			return cmp.Or(cmp.Compare(stat.Int(b.Late != nil), stat.Int(a.Late != nil)),
				cmp.Compare(b.Wait.Median, a.Wait.Median))
		})
		run.Groups = first(run.Groups, mostGroups*few)
		for k := range run.Groups {
			g := &run.Groups[k]
			g.Skew, g.Differs = first(g.Skew, mostSkew), first(g.Differs, mostRows)
			if few == 1 || len(g.Rows) > mostListed {
				g.Rows = nil
			}
		}
	}
}

func first[T any](list []T, n int) []T { return list[:min(n, len(list))] }

// Shared is a finding that ranks have each by itself. The finding is that of the rank with the median size.
type Shared struct {
	finding.Finding
	Ranks   int    `json:"ranks"`    // ranks that have it
	Of      int    `json:"of"`       // ranks of the recording
	PerRank Spread `json:"per_rank"` // its time on each rank
}

// share puts the findings of ranks together that say the same.
func share(all []*member) []Shared {
	type key struct {
		kind  finding.Kind
		cause finding.Cause
		code  string
		text  string
		stage finding.Stage
		part  string
	}
	type one struct {
		f    finding.Finding
		rank string
	}
	groups := map[key][]one{}
	total := map[string]int{}
	for _, m := range all {
		total[m.Part]++
		for _, f := range m.Findings {
			k := key{f.Kind, f.Cause, f.Code, f.Text, f.Stage, m.Part}
			groups[k] = append(groups[k], one{f, m.label})
		}
	}
	out := []Shared{}
	for k, list := range groups {
		slices.SortStableFunc(list, func(a, b one) int { return cmp.Compare(b.f.PerStep, a.f.PerStep) })
		values := make([]Value, len(list))
		for i, o := range list {
			values[i] = Value{o.rank, int64(o.f.PerStep)}
		}
		out = append(out, Shared{Finding: list[len(list)/2].f, Ranks: len(list), Of: total[k.part],
			PerRank: spreadOf(values)})
	}
	slices.SortFunc(out, func(a, b Shared) int {
		return cmp.Or(cmp.Compare(b.Kind.Info().Doubt, a.Kind.Info().Doubt),
			cmp.Compare(b.PerRank.Median*int64(b.Ranks), a.PerRank.Median*int64(a.Ranks)),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.Text, b.Text), cmp.Compare(a.Stage, b.Stage))
	})
	return out
}

// findings are those of the ranks of a run.
func (run *Run) findings() {
	add := func(f finding.Finding) {
		if f.Do == "" {
			f.Advice = f.Kind.Info().Advice
		}
		f.Place.Trace = run.Run
		run.Findings = append(run.Findings, f)
	}
	run.addIncomplete(add)
	for i := range run.Groups {
		g := &run.Groups[i]
		size := func(ns int64) finding.Size {
			return finding.SizeOf(finding.Recoverable, finding.OfStep, time.Duration(ns)*time.Duration(g.Steps),
				float64(g.Steps), time.Duration(g.Step)*time.Duration(g.Steps))
		}
		where := "ranks " + g.Name
		if g.Part != "" {
			where += " (" + g.Part + ")"
		}
		if l := g.Late; l != nil {
			f := finding.Finding{Kind: finding.LateRank, Code: l.Rank, Text: "The other ranks wait for " + l.Rank,
				Size: size(l.PerStep), Where: where,
				Evidence: "It " + l.arrives() + "."}
			if l.Cause != finding.NoCause {
				f.Advice = l.Cause.Info().Advice
			}
			add(f)
			continue
		}
		if wait := g.meanWait; g.Step > 0 && float64(wait) >= leastShare*float64(g.Step) {
			add(finding.Finding{Kind: finding.RanksWait, Code: g.Name,
				Text: "Ranks wait for one another, for no single one", Size: size(wait), Where: where,
				Evidence: "They " + g.wait() + "."})
		}
	}
	for i := range run.Groups {
		for _, d := range first(run.Groups[i].Differs, 3) {
			if l := run.Groups[i].Late; d.NS <= 0 || l != nil && l.Rank == d.Rank {
				continue
			}
			g := &run.Groups[i]
			size := finding.SizeOf(finding.Taken, finding.OfStep, time.Duration(d.NS)*time.Duration(g.Steps), float64(g.Steps),
				time.Duration(g.Step)*time.Duration(g.Steps))
			add(finding.Finding{Kind: finding.RankDiffers, Code: d.Rank,
				Text: d.Rank + " is unlike the ranks beside it", Size: size, Where: "ranks " + g.Name,
				Evidence: fmt.Sprintf("%s takes %s more per step than on the median rank; %s alike.", d.What,
					ns(d.NS), table.Counted(g.Alike, "rank is", "ranks are"))})
		}
	}
}

// addIncomplete states what is wrong with the files of a run.
func (run *Run) addIncomplete(add func(finding.Finding)) {
	doubt := func(code, text, evidence string) {
		add(finding.Finding{Kind: finding.IncompleteRun, Code: code, Text: text, Evidence: evidence})
	}
	if n := len(run.Missing); n > 0 {
		missing := strings.Join(rangesOf(run.Missing), ", ")
		least, late := int64(maxTime), len(run.Groups) == 0
		for i := range run.Groups {
			late = late || run.Groups[i].Late != nil
			least = min(least, run.Groups[i].Transfer)
		}
		ranks, are := "Ranks", "are"
		if n == 1 {
			ranks, are = "Rank", "is"
		}
		evidence := fmt.Sprintf("%s %s %s in no file", ranks, missing, are)
		if step := run.Step.Median; !late && least > 0 && step > 0 {
			evidence += fmt.Sprintf(", and every rank spends at least %s of step time in collectives: "+
				"the late one may be among them", table.Pct(100*float64(least)/float64(step), 1))
		}
		doubt("missing", fmt.Sprintf("%d of %d ranks %s missing", n, n+run.Ranks, are), evidence+".")
	}
	if n := len(run.Bad); n > 0 {
		doubt("unreadable", fmt.Sprintf("Read %d of %d files", run.Files-n, run.Files), whys(run.Bad))
	}
	if n := len(run.Twice); n > 0 {
		doubt("twice", table.Counted(n, "copy is", "copies are")+" left out", whys(run.Twice))
	}
	for _, mixed := range []struct {
		what string
		list []string
	}{{"models", run.Models}, {"GPUs", run.GPUs}} {
		if len(mixed.list) > 1 {
			doubt("mixed", "The files are of different "+mixed.what, strings.Join(first(mixed.list, mostFiles), ", ")+
				". These seem to be two runs: compare them with `strata compare A B`.")
		}
	}
}

// whys lists the first files that are left out.
func whys(list []Duplicate) string {
	var out []string
	for _, d := range first(list, 3) {
		text := d.File + ": " + d.Why
		if d.Of != "" {
			text += " as " + d.Of
		}
		out = append(out, text)
	}
	if n := len(list) - len(out); n > 0 {
		out = append(out, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(out, "; ") + "."
}

// Waits is a sentence on which rank of the group the others wait for, which the reader knows as late, or that they wait
// for no single one.
func (g *Group) Waits(late string) string {
	if l := g.Late; l != nil {
		return fmt.Sprintf("The other ranks wait for %s: it %s.", late, l.arrives())
	}
	return fmt.Sprintf("Ranks wait for no single one; they %s.", g.wait())
}

// wait is a clause on how long the ranks of the group wait.
func (g *Group) wait() string {
	return fmt.Sprintf("wait %s–%s per step in %s", ns(g.Wait.Min), ns(g.Wait.Max),
		table.Counted(g.Collectives, "collective", "collectives"))
}

// arrives is a clause on when the rank arrives, and why then.
func (l *Late) arrives() string {
	at := fmt.Sprintf("waits least in %s of %s", table.Count(int64(l.Least)), table.Counted(l.Steps, "step", "steps"))
	if l.byCollectives() {
		at = fmt.Sprintf("arrives last at %s of %s", table.Count(int64(l.Last)),
			table.Counted(l.Decided, "collective", "collectives"))
	}
	return fmt.Sprintf("%s, %s; %s", at, since(l), l.Why())
}

func since(l *Late) string {
	switch {
	case l.Always:
		return "in the whole window"
	case l.Since >= 0:
		return fmt.Sprintf("since step %d", l.Since)
	}
	return "in single steps"
}

func ns(d int64) string { return table.Duration(time.Duration(d)) }

// Matched reports whether any collective was found on several ranks, so that waiting is known.
func (r *Report) Matched() bool {
	return slices.ContainsFunc(r.Runs, func(run Run) bool {
		return slices.ContainsFunc(run.Groups, func(g Group) bool { return g.Collectives > 0 })
	})
}

// sentence says what matters most.
func (r *Report) sentence() string {
	late, first := 0, ""
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Kind == finding.LateRank {
			if late++; late == 1 {
				first = fmt.Sprintf("%s for up to %s per step (%s)", f.Text, ns(int64(f.PerStep)),
					table.Pct(100*f.Share, 1))
				if len(r.Runs) > 1 {
					first += " in " + f.Place.Trace
				}
			}
		}
	}
	switch {
	case r.Ranks == 0:
		return "No rank could be read."
	case late > 1:
		return fmt.Sprintf("%d groups wait for a late rank. %s.", late, first)
	case first != "":
		return first + "."
	case r.Ranks == 1 && r.Runs[0].World == 1:
		return "The run has one rank, so no rank waits."
	case r.Ranks == 1:
		return "Only 1 rank was read; waiting needs the traces of all ranks."
	case !r.Matched():
		return "No collectives of different ranks could be matched; waiting is unknown."
	}
	return fmt.Sprintf("No rank makes the others wait for %s of a step or more.", table.Pct(100*leastShare, 0))
}
