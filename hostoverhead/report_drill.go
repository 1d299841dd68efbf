package hostoverhead

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/table"
)

// Lengths of the lists of a drill-down in text.
const (
	listedNames   = 15
	listedEager   = 10
	listedPattern = 60
	listedRanks   = 64 // eight hosts of eight GPUs; further rows are not read
)

// write writes who the others wait for.
func (s *Stragglers) write(b *bufio.Writer) {
	fmt.Fprintf(b, "\nStragglers: %d collectives on all ranks, %d without a clear last one. %s\n", s.Collectives, s.Tied, s.Note)
	t := table.New(table.Text("rank"), table.Number("last"), table.Number("share"), table.Number("waited"), table.Number("kernels"), table.Number("host time"))
	for _, r := range s.listed() {
		t.Row(r.Rank, fmt.Sprint(r.Last), percent(r.LastShare), microseconds(r.WaitNS), table.Count(int64(r.Kernels)), microseconds(r.HostNS))
	}
	t.WriteText(b)
	more(b, len(s.Ranks)-listedRanks)
	for _, e := range s.Extra {
		fmt.Fprintf(b, "  only or more on %s: %s\n", s.Straggler, table.Clean(e))
	}
}

// listed is what ranks the table has: all, or, of too many, those that were last most often.
func (s *Stragglers) listed() []RankArrival {
	if len(s.Ranks) <= listedRanks {
		return s.Ranks
	}
	worst := slices.Clone(s.Ranks)
	slices.SortStableFunc(worst, func(x, y RankArrival) int { return cmp.Compare(y.Last, x.Last) })
	return worst[:listedRanks]
}

// writeDrill writes what ran during the idle time, the gaps, the graph coverage and the repeating pattern.
func (d *RankVerdict) writeDrill(b *bufio.Writer) {
	type named struct {
		IdleName
		cause Cause
	}
	var names []named
	for _, c := range d.Idle {
		for _, n := range c.Names {
			names = append(names, named{n, c.Cause})
		}
	}
	slices.SortStableFunc(names, func(x, y named) int { return cmp.Compare(y.NS, x.NS) })
	idle := d.WindowNS - d.BusyNS
	fmt.Fprintf(b, "\nGap ledger, %s: idle %s of %s, by what ran\n", d.name(), microseconds(idle), microseconds(d.WindowNS))
	t := table.New(table.Text("cause"), table.Text("range, frame or call").Limit(90), table.Number("idle"), table.Number("share"), table.Number("pieces"))
	for _, n := range names[:min(len(names), listedNames)] {
		t.Row(string(n.cause), shortPath(withWhere(n.IdleName), 90), microseconds(n.NS), percent(ratio(n.NS, idle)), table.Count(int64(n.Count)))
	}
	t.WriteText(b)
	more(b, len(names)-listedNames)
	d.writeGaps(b)
	d.writeCoverage(b)
	d.writePattern(b)
}

func (d *RankVerdict) writeGaps(b *bufio.Writer) {
	fmt.Fprintf(b, "\nGaps of the device (no stream busy):\n")
	t := table.New(table.Text("length"), table.Number("count"), table.Number("total"), table.Number("share"), table.Text("largest cause"))
	for _, g := range d.Gaps {
		if g.Count > 0 {
			t.Row(g.Title, table.Count(int64(g.Count)), microseconds(g.TotalNS), percent(g.Share), strings.TrimSpace(fmt.Sprintf("%s %s", g.Largest, percent(g.LargestShare))))
		}
	}
	t.WriteText(b)
	if len(d.Top) == 0 {
		return
	}
	fmt.Fprintf(b, "\nLongest gaps:\n")
	for i, g := range d.Top {
		fmt.Fprintf(b, "%3d. %s at %s\n     after  %s\n     before %s\n", i+1, microseconds(g.NS), microseconds(g.StartNS), table.Cut(table.Clean(g.Before), 90), table.Cut(table.Clean(g.After), 90))
		var parts []string
		for _, c := range g.Causes[:min(len(g.Causes), 3)] {
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s %s", percent(ratio(c.NS, g.NS)), c.Cause, table.Cut(table.Clean(shortPath(c.Name, 60)), 60))))
		}
		fmt.Fprintf(b, "     %s\n", strings.Join(parts, "; "))
		if len(g.APIs) > 0 {
			fmt.Fprintf(b, "     calls: %s\n", table.Cut(table.Clean(strings.Join(g.APIs, ", ")), 120))
		}
	}
}

func (d *RankVerdict) writeCoverage(b *bufio.Writer) {
	c := &d.Coverage
	fmt.Fprintf(b, "\nCUDA graph coverage: %s of %s kernels (%s of kernel time); %s eager, %s with unknown launch\n",
		percent(c.Ratio), table.Count(int64(c.Kernels)), percent(c.TimeRatio), table.Count(int64(c.Eager)), table.Count(int64(c.Unknown)))
	if len(c.EagerKernels) > 0 {
		t := table.New(table.Text("eager kernel").Limit(60), table.Number("count"), table.Number("total"), table.Number("in graphs"), table.Text("suspect"), table.Text("source").Limit(60))
		for _, k := range c.EagerKernels[:min(len(c.EagerKernels), listedEager)] {
			suspect := ""
			if k.Suspect {
				suspect = "yes"
			}
			t.Row(k.Name, table.Count(int64(k.Count)), microseconds(k.TotalNS), table.Count(int64(k.Replayed)), suspect, shortPath(k.Source, 60))
		}
		t.WriteText(b)
		more(b, len(c.EagerKernels)-listedEager)
	}
	for _, h := range c.Hints {
		fmt.Fprintf(b, "  %s: %s\n", h.Code, h.Message)
	}
}

func (d *RankVerdict) writePattern(b *bufio.Writer) {
	p := d.Pattern
	if p == nil {
		return
	}
	fmt.Fprintf(b, "\nRepeating pattern: %d kernels, %d repetitions (layers from %s)\n", len(p.Kernels), p.Repetitions, p.Source)
	t := table.New(table.Number("#"), table.Text("kernel").Limit(70), table.Text("group"), table.Number("µs"), table.Number("gap before µs"))
	for _, k := range p.Kernels[:min(len(p.Kernels), listedPattern)] {
		t.Row(fmt.Sprint(k.Index), k.Name, k.Group, table.Fixed(k.AvgUS, 2), table.Fixed(k.GapAvgUS, 2))
	}
	t.WriteText(b)
	more(b, len(p.Kernels)-listedPattern)
	fmt.Fprintf(b, "\ngroups by gap:\n")
	t = table.New(table.Text("group"), table.Number("kernels"), table.Number("busy µs"), table.Number("gap µs"), table.Number("gap × repetitions µs"))
	for _, g := range p.Groups {
		t.Row(g.Group, fmt.Sprint(g.Kernels), table.Fixed(g.BusyUS, 2), table.Fixed(g.GapUS, 2), table.Fixed(g.TotalGapUS, 1))
	}
	t.WriteText(b)
}
