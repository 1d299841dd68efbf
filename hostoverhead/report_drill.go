package hostoverhead

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/llmstrata/strata/internal/table"
)

// Lengths of the lists of a drill-down in text.
const (
	listedNames   = 15
	listedEager   = 10
	listedPattern = 60
)

// WriteText writes the ledger, the gaps, the graph coverage, the repeating
// pattern and the stragglers.
func (d *DrillDown) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	for i := range d.Devices {
		d.Devices[i].write(b)
	}
	if s := d.Stragglers; s != nil {
		fmt.Fprintf(b, "\nStragglers: %d collectives on all ranks, %d without a clear last one. %s\n", s.Collectives, s.Tied, s.Note)
		t := table.New(table.Text("rank"), table.Number("last"), table.Number("share"), table.Number("waited"), table.Number("kernels"), table.Number("host time"))
		for _, r := range s.Ranks {
			t.Row(r.Rank, fmt.Sprint(r.Last), percent(r.LastShare), microseconds(r.WaitNS), table.Count(int64(r.Kernels)), microseconds(r.HostNS))
		}
		t.WriteText(b)
		for _, e := range s.Extra {
			fmt.Fprintf(b, "  only or more on %s: %s\n", s.Straggler, table.Clean(e))
		}
	}
	return b.Flush()
}

func (d *DeviceDrill) write(b *bufio.Writer) {
	l := &d.Ledger
	name := fmt.Sprintf("device %d", l.Device)
	if l.Device < 0 {
		name = "all devices merged"
	}
	fmt.Fprintf(b, "\nGap ledger, %s: idle %s of %s\n", name, microseconds(l.IdleNS), microseconds(l.WindowNS))
	t := table.New(table.Text("cause"), table.Number("idle"), table.Number("share"), table.Number("pieces"))
	for _, c := range l.Causes {
		t.Row(string(c.Cause), microseconds(c.TotalNS), percent(c.Share), table.Count(int64(c.Count)))
	}
	t.WriteText(b)
	if len(l.Names) > 0 {
		fmt.Fprintf(b, "\nby what ran:\n")
		t = table.New(table.Text("cause"), table.Text("range, frame or call").Limit(70), table.Number("idle"), table.Number("share"))
		for _, c := range l.Names[:min(len(l.Names), listedNames)] {
			t.Row(string(c.Cause), shortPath(c.Name, 70), microseconds(c.TotalNS), percent(c.Share))
		}
		t.WriteText(b)
		more(b, len(l.Names)-listedNames)
	}
	d.writeGaps(b)
	d.writeCoverage(b)
	d.writePattern(b)
}

func (d *DeviceDrill) writeGaps(b *bufio.Writer) {
	fmt.Fprintf(b, "\nGaps of the device (no stream busy):\n")
	t := table.New(table.Text("length"), table.Number("count"), table.Number("total"), table.Number("share"), table.Text("usual cause"))
	for _, g := range d.Gaps {
		if g.Count > 0 {
			t.Row(g.Title, table.Count(int64(g.Count)), microseconds(g.TotalNS), percent(g.Share), g.Causes)
		}
	}
	t.WriteText(b)
	if len(d.TopGaps) == 0 {
		return
	}
	fmt.Fprintf(b, "\nLongest gaps:\n")
	for i, g := range d.TopGaps {
		fmt.Fprintf(b, "%3d. %s at %s\n     after  %s\n     before %s\n", i+1, microseconds(g.NS), microseconds(g.StartNS), table.Cut(table.Clean(g.Before), 90), table.Cut(table.Clean(g.After), 90))
		var parts []string
		for _, c := range g.Causes[:min(len(g.Causes), 3)] {
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s %s", percent(c.Share), c.Cause, table.Cut(table.Clean(shortPath(c.Name, 60)), 60))))
		}
		fmt.Fprintf(b, "     %s\n", strings.Join(parts, "; "))
		if len(g.APIs) > 0 {
			fmt.Fprintf(b, "     calls: %s\n", table.Cut(table.Clean(strings.Join(g.APIs, ", ")), 120))
		}
	}
}

func (d *DeviceDrill) writeCoverage(b *bufio.Writer) {
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

func (d *DeviceDrill) writePattern(b *bufio.Writer) {
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
