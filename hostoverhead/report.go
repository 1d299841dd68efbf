package hostoverhead

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer/finding"
)

// groupSum is the idle time of a group of causes.
type groupSum struct {
	group     finding.Group
	ns, steps int64
}

// groupSums adds causes up by group, most time in the steps first.
func groupSums(idle []IdleCause) []groupSum {
	var out []groupSum
	for _, g := range finding.Groups() {
		out = append(out, groupSum{group: g})
	}
	for _, c := range idle {
		s := &out[slices.IndexFunc(out, func(s groupSum) bool { return s.group == c.Group })]
		s.ns += c.NS
		s.steps += c.StepsNS
	}
	slices.SortStableFunc(out, func(a, b groupSum) int {
		return cmp.Or(cmp.Compare(b.steps, a.steps),
			cmp.Compare(b.ns, a.ns))
	})
	return out
}

// idle is the idle time of the window.
func (r *RankVerdict) idle() int64 { return r.WindowNS - r.BusyNS - r.LostNS }

// outside names the largest cause of idle time outside of the steps, if the GPU is idle longer there than within them;
// "" otherwise.
func (r *RankVerdict) outside() string {
	idle := r.idle()
	out := idle - r.Headroom.IdleNS
	if len(r.Stages) == 0 || out <= r.Headroom.IdleNS {
		return ""
	}
	most, name := int64(0), ""
	for i := range r.Idle {
		c := &r.Idle[i]
		if c.NS-c.StepsNS <= most {
			continue
		}
		most, name = c.NS-c.StepsNS, c.Cause.String()
		for _, n := range c.Names {
			if n.Name != "" && 2*(n.NS-n.StepsNS) > most {
				name += ", mostly " + cut(n.Name)
			}
		}
	}
	return fmt.Sprintf("outside the steps the GPU is idle for %s of %s (largest cause: %s, %s); in the steps, ",
		nanos(out), nanos(r.WindowNS), name, nanos(most))
}

// answer is what the verdict says of the steps.
func (v *Verdict) answer() string {
	h := &v.Headroom
	largest := v.largestName()
	switch on := v.decides().DependsOn; {
	case on != "":
		return fmt.Sprintf("depends on one row: %s; as recorded the host causes %s of %s", on,
			percentOf(h.HostNS, h.WallNS), v.Basis.Span())
	case v.decides().ColdStart != "":
		return fmt.Sprintf("%s; in a steady run it may be ahead. As recorded the host causes %s of %s",
			v.decides().ColdStart, percentOf(h.HostNS, h.WallNS), v.Basis.Span())
	case v.decides().Captures:
		return fmt.Sprintf("the window captures graphs and shows no serving; capturing takes the host %s of %s",
			nanos(h.HostNS), nanos(h.WallNS))
	case v.Verdict == Inconclusive:
		return fmt.Sprintf("host overhead is %s–%s %s (at most %s), depending on who causes the unexplained idle time",
			percentOf(h.HostNS, h.WallNS), percentOf(h.HostNS+h.UnknownNS, h.WallNS), v.Basis.Title(),
			table.WithArticle(between(h.AtMost, h.WithUnknown))+" speedup"+ofWindow(h.WithUnknown))
	case v.Verdict == No:
		return fmt.Sprintf("host overhead is %s %s (at most %s)", percentOf(h.HostNS, h.WallNS), v.Basis.Title(),
			table.WithArticle(speedup(h.AtMost)))
	}
	var words []string
	for _, s := range v.decides().Stages {
		if s.Verdict == Yes {
			words = append(words, fmt.Sprintf("%s at most %s", s.Stage, times(s.Headroom.AtMost)))
		}
	}
	r, each := v.decides(), v.Basis.Title()
	host, wall, atMost, all := h.HostNS, h.WallNS, h.AtMost, ""
	if m := &r.Mean; m.WallNS > 0 {
		host, wall, each = m.HostNS, m.WallNS, v.Basis.EachOf("")+finding.OfModel(m.Model)
		if m.Model != "" {
			atMost, all = bound(m.WallNS, m.HostNS), "; "+times(h.AtMost)+" of all models"
		}
	}
	out := fmt.Sprintf("host overhead: %s of %s %s (at most %s%s)%s", nanos(host), nanos(wall), each,
		table.WithArticle(speedup(atMost)), all, largest)
	if len(words) > 0 && len(r.Stages) > 1 {
		out += "; by stage: " + strings.Join(words, ", ")
	}
	return out
}

// between is a range of bounds for people: "1.00–1.63×".
func between(low, high float64) string {
	if a := times(low); a != times(high) {
		return strings.TrimSuffix(a, "×") + "–" + times(high)
	}
	return times(high)
}

// farBound is a bound from which on it says more about a window than about a server.
const farBound = 10

// times is a bound for people.
func times(v float64) string { return table.Times(v, 2) }

// speedup is a bound in a sentence.
func speedup(v float64) string { return times(v) + " speedup" + ofWindow(v) }

// ofWindow says that a bound is far.
func ofWindow(v float64) string {
	if v > farBound {
		return " of this window"
	}
	return ""
}

// largestName says what most of the host's time is.
func (v *Verdict) largestName() string {
	var best *IdleCause
	for i := range v.Idle {
		if c := &v.Idle[i]; c.Host && (best == nil || c.StepsNS > best.StepsNS) {
			best = c
		}
	}
	if best == nil || best.StepsNS == 0 {
		return ""
	}
	return fmt.Sprintf("; largest cause: %s (%s)", best.Cause, percentOf(best.StepsNS, v.Headroom.HostNS)) +
		best.mostOf(cut(best.Names[0].Name))
}

// mostOf names what ran in most of a cause's time, with its share where that is less than half.
func (c *IdleCause) mostOf(name string) string {
	if n := c.Names[0].StepsNS; 2*n < c.StepsNS {
		return fmt.Sprintf(", led by %s (%s)", name, percentOf(n, c.StepsNS))
	}
	return ", mostly " + name
}

// WriteText writes the report for people: the answer with its bound, where the idle time goes, stages and passes,
// what the published metrics say, the doubts, what to do, and the drill-down into the deciding device.
func (v *Verdict) WriteText(w io.Writer) error {
	b := table.NewWriter(w)
	if len(v.Ranks) == 0 {
		b.Say("No GPU was judged.")
		return b.Flush()
	}
	r := v.decides()
	confidence := ""
	if v.Confidence != finding.BandUnknown {
		confidence = fmt.Sprintf(" (confidence %s)", v.Confidence)
	}
	b.Heading(1, "Host bound: %s%s", v.Verdict, confidence)
	b.Say("%s.", table.UpperFirst(v.Summary))
	where := r.name()
	if len(v.Ranks) > 1 {
		where += fmt.Sprintf(" (of %d GPUs, the one that loses most to the host)", len(v.Ranks))
	}
	steps := "no steps"
	if r.Steps > 0 {
		steps = table.Steps(r.Steps, r.CompleteSteps)
	}
	b.Say("%s: %s, %s; threshold: host share ≥ %s", table.UpperFirst(where), steps,
		table.Counted(r.Kernels, "kernel", "kernels"), table.Pct(100*v.Threshold, 0))
	for _, s := range v.Serving {
		b.Item("%s", s.Evidence)
	}
	v.writeIdle(b, r)
	writeStages(b, r)
	r.writePasses(b)
	v.writeRanks(b)
	v.writePublished(b)
	if len(v.Doubts) > 0 {
		b.Heading(2, "Doubts")
		for _, d := range v.Doubts {
			b.Item("[%s, %s] %s", d.Code, d.Confidence, d.Evidence)
		}
	}
	b.Heading(2, "Next steps")
	for _, s := range v.Next {
		b.Item("%s", s.Do)
		b.Below("because %s", s.Why)
		if s.Source != "" {
			b.Below("see %s", s.Source)
		}
		for i := range r.Findings {
			for _, g := range r.Findings[i].Gains {
				if r.Findings[i].Do == s.Do {
					b.Below("%s", g.String())
				}
			}
		}
	}
	r.writeDrill(b)
	return b.Flush()
}

// writeIdle writes wall, busy and idle time by cause.
func (v *Verdict) writeIdle(b *table.Writer, r *RankVerdict) {
	h := &v.Headroom
	var rows [][]string
	for _, g := range groupSums(v.Idle) {
		if g.ns > 0 {
			rows = append(rows, []string{g.group.String(), "", nanos(g.steps), percentOf(g.steps, h.WallNS),
				nanos(g.ns), ""})
		}
		for _, c := range v.Idle {
			if g.ns > 0 && c.Group == g.group {
				rows = append(rows, []string{"", c.Cause.String(), nanos(c.StepsNS), percent(c.Share), nanos(c.NS),
					names.Short(withWhere(c.Names[0]), narrowName)})
			}
		}
	}
	rows = append(rows, []string{"all", "", nanos(h.IdleNS), percentOf(h.IdleNS, h.WallNS),
		nanos(r.idle()), ""})
	title := fmt.Sprintf("Time of %s: %s, busy %s (%s), idle %s", v.Basis.Span(), nanos(h.WallNS), nanos(h.BusyNS),
		percentOf(h.BusyNS, h.WallNS), nanos(h.IdleNS))
	if h.LostNS > 0 {
		title += fmt.Sprintf(", %s %s (%s)", finding.LostGroup, nanos(h.LostNS), percentOf(h.LostNS, h.WallNS))
	}
	columns := []table.Column{table.Text("idle"), table.Text("cause"), table.Number("in " + v.Basis.Span()),
		table.Number(v.Basis.Title()), table.Number("in the window"), table.Text("largest").Limit(narrowName)}
	twice := !slices.ContainsFunc(rows, func(row []string) bool { return row[2] != row[4] })
	if twice { // the steps hold all idle time of the window
		columns = slices.Delete(columns, 4, 5)
		for i := range rows {
			rows[i] = slices.Delete(rows[i], 4, 5)
		}
	}
	table.List(b, title, rows, len(rows), func(row []string) []string { return row }, columns...)
	if c := r.Transfers; c != nil {
		window := ""
		if c.NS != c.StepsNS {
			window = fmt.Sprintf(", and for %s of the window", nanos(c.NS))
		}
		b.Say("Copies and memsets alone keep the GPU busy for %s of %s (%s)%s.", nanos(c.StepsNS), v.Basis.Span(),
			percent(c.Share), window)
	}
	for _, d := range r.Drains {
		b.Say("%s of the host's work follows %s, after it drained the queue between two steps.", nanos(d.StepsNS), d.Name)
	}
}

func withWhere(n IdleName) string {
	if n.Where == "" {
		return n.Name
	}
	return n.Name + " in " + n.Where
}

func writeStages(b *table.Writer, r *RankVerdict) {
	table.List(b, "Stages", r.Stages, len(r.Stages), func(s StageVerdict) []string {
		return append(append([]string{string(s.Stage), fmt.Sprint(s.Steps), s.Verdict.String()}, s.Headroom.cells()...),
			s.Largest.String())
	}, table.Text("stage"), table.Number("steps"), table.Text("verdict"), table.Number("time"), table.Number("idle"),
		table.Number("host"), table.Number("at most"), table.Text("largest cause"))
	type row struct {
		stage string
		Path
	}
	var rows []row
	stages := append([]StageVerdict{{Stage: "all", Paths: r.Paths}}, r.Stages...)
	if len(r.Stages) == 1 && slices.Equal(r.Stages[0].Paths, r.Paths) {
		stages = r.Stages
	}
	for _, s := range stages {
		for _, p := range s.Paths {
			rows = append(rows, row{string(s.Stage), p})
			s.Stage = "" // once is enough
		}
	}
	table.List(b, "How kernels reach the device", rows, len(rows), func(p row) []string {
		return []string{p.stage, p.Path.Path, table.Count(int64(p.Kernels)), percent(p.Share), percent(p.TimeShare),
			nanos(p.ExposedNS), percent(p.Exposed)}
	}, table.Text("stage"), table.Text("path"), table.Number("kernels"), table.Number("share"),
		table.Number("of kernel time"), table.Number("exposed launches"), table.Number("of the time"))
}

// cells are the time, its idle and host shares, and the bound.
func (h *Headroom) cells() []string {
	return []string{nanos(h.WallNS), percentOf(h.IdleNS, h.WallNS), percentOf(h.HostNS, h.WallNS), times(h.AtMost)}
}

// writePasses writes how passes differ, and the worst of them.
func (r *RankVerdict) writePasses(b *table.Writer) {
	p := &r.Passes
	title := fmt.Sprintf("Host overhead per pass: at most %s (%s of the pass)", nanos(p.MaxNS), percent(p.ShareMax))
	if p.MaxNS != p.P50NS {
		title = fmt.Sprintf("Host overhead per pass: median %s, p90 %s, max %s; share of the pass: median %s, p90 %s, max %s",
			nanos(p.P50NS), nanos(p.P90NS), nanos(p.MaxNS), percent(p.ShareP50), percent(p.ShareP90), percent(p.ShareMax))
	}
	table.List(b, title, r.Worst, len(r.Worst), func(w PassHeadroom) []string {
		return []string{fmt.Sprint(w.Pass), string(w.Stage), nanos(w.Headroom.HostNS), percent(w.Headroom.Share),
			times(w.Headroom.AtMost), w.Largest.String(),
			position(w.StartNS), position(w.EndNS), fmt.Sprint(w.VisStart), fmt.Sprint(w.VisEnd)}
	}, table.Text("worst passes"), table.Text("stage"), table.Number("host"), table.Number("share"),
		table.Number("at most"), table.Text("largest cause"), table.Number("from"), table.Number("to"),
		table.Number("Perfetto visStart"), table.Number("visEnd"))
}

// listed are the devices that the table shows, in the order of Ranks: of many the one that decides and those that
// lose most to the host.
func (v *Verdict) listed() []int {
	order, loss := make([]int, len(v.Ranks)), make([]float64, len(v.Ranks))
	for i := range v.Ranks {
		order[i], loss[i] = i, v.Ranks[i].Headroom.Share
		if v.Ranks[i].Ignored {
			loss[i] = -1
		}
	}
	loss[v.Deciding] = math.Inf(1)
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(loss[y], loss[x]) })
	if len(order) > listedRanks {
		order = order[:worstRanks]
	}
	slices.Sort(order)
	return order
}

// writeRanks writes a row for every device, of many for those that matter most.
func (v *Verdict) writeRanks(b *table.Writer) {
	if len(v.Ranks) < 2 {
		return
	}
	listed := v.listed()
	table.List(b, "Ranks", listed, len(listed), func(i int) []string {
		r := &v.Ranks[i]
		verdict, exchange := r.Verdict.String(), r.Exchange
		if r.Ignored {
			verdict = "too little work"
		}
		if r.BusyNS == 0 {
			exchange = math.NaN()
		}
		steps := fmt.Sprint(r.Steps)
		if v.Basis == finding.OfWindow {
			steps = table.None
		}
		return append(append([]string{r.name(), r.GPU, verdict, steps, table.Count(int64(r.Kernels))},
			r.Headroom.cells()...), percent(exchange))
	}, table.Text("rank"), table.Text("GPU").Limit(gpuName), table.Text("verdict"), table.Number("steps"),
		table.Number("kernels"), table.Number("time"), table.Number("idle"), table.Number("host"),
		table.Number("at most"), table.Number("exchange of busy"))
	if n := len(v.Ranks) - len(listed); n > 0 {
		b.Say("%d more GPUs, which lose no more to the host (use `--format json`).", n)
	}
	if s := v.Stragglers; s != nil {
		b.Say("%s", s.Note)
	}
}

// writePublished writes the published detector's figures beside the verdict.
func (v *Verdict) writePublished(b *table.Writer) {
	if v.published == nil {
		return
	}
	b.Heading(2, "Published metrics (M1–M5): %s", v.published.Verdict)
	if len(v.Ranks) > 1 {
		b.Say("Idle here is the time in which no kernel runs on any GPU; copies count as idle.")
	} else {
		b.Say("Idle here is the time in which no kernel runs; copies count as idle.")
	}
	if v.Disagreement != "" {
		b.Say("%s", v.Disagreement)
	}
	var text strings.Builder
	v.published.WriteText(&text)                        // a Builder does not fail
	_, figures, _ := strings.Cut(text.String(), "\n\n") // the text below its verdict
	figures = strings.ReplaceAll(strings.TrimSpace(figures), "\n\n", "\n")
	for line := range strings.Lines(figures) {
		switch line = strings.TrimRight(line, "\n"); {
		case strings.HasSuffix(line, " n/a"): // not applicable, or not recorded
		case strings.HasPrefix(line, " "):
			b.Item("%s", strings.Join(strings.Fields(line), " "))
		default:
			b.Say("%s", line)
		}
	}
}

// Widths of names in text, in letters: alone in a line, and beside other columns.
const (
	wideName   = 90
	narrowName = 60
	gpuName    = 30
)

// cut is a name as text shows it: a frame's file rather than its directories.
func cut(name string) string { return table.Name(names.Short(name, narrowName), narrowName) }

// kernelName is what tables call a kernel.
func kernelName(name string) string {
	return table.Name(classify.Default().Facts(name).Short, narrowName)
}

// Lengths of the lists of a drill-down in text.
const (
	listedCauses = 3 // of a gap
	listedNames  = 15
	listedEager  = 10
	listedRanks  = 64 // eight hosts of eight GPUs: each has a row
	worstRanks   = 8  // of more: nobody reads a thousand rows
)

// writeDrill writes what ran during the idle time, the gaps and the graph coverage.
func (d *RankVerdict) writeDrill(b *table.Writer) {
	var rows []IdleName
	for _, c := range d.Idle {
		for _, n := range c.Names {
			n.Cause = c.Cause
			rows = append(rows, n)
		}
	}
	slices.SortStableFunc(rows, func(x, y IdleName) int { return cmp.Compare(y.NS, x.NS) })
	idle := d.idle()
	title := fmt.Sprintf("Gap ledger, %s: idle %s of %s, by what ran", d.name(), nanos(idle), nanos(d.WindowNS))
	table.List(b, title, rows, listedNames, func(n IdleName) []string {
		return []string{n.Cause.String(), names.Short(withWhere(n), wideName), nanos(n.NS), percentOf(n.NS, idle),
			table.Count(int64(n.Count))}
	}, table.Text("cause"), table.Text("range, frame or call").Limit(wideName), table.Number("idle"),
		table.Number("of idle"), table.Number("pieces"))
	d.writeGaps(b)
	d.writeCoverage(b)
}

func (d *RankVerdict) writeGaps(b *table.Writer) {
	classes := slices.DeleteFunc(slices.Clone(d.Gaps), func(g GapBucket) bool { return g.Count == 0 })
	table.List(b, "Gaps of the device (no stream busy)", classes, len(classes), func(g GapBucket) []string {
		largest := ""
		if g.Largest != finding.NoCause {
			largest = g.Largest.String() + " " + percent(g.LargestShare)
		}
		return []string{g.Title, table.Count(int64(g.Count)), nanos(g.TotalNS), percent(g.Share), largest}
	}, table.Text("length"), table.Number("count"), table.Number("total"), table.Number("of idle"),
		table.Text("largest cause"))
	// the shortest class is no useful advice
	listed := slices.DeleteFunc(slices.Clone(d.Top), func(g Gap) bool { return bucketOf(g.NS) == 0 })
	table.List(b, "Longest gaps", listed, len(listed), func(g Gap) []string {
		var causes []string
		for _, c := range g.Causes[:min(len(g.Causes), listedCauses)] {
			causes = append(causes, strings.TrimSpace(fmt.Sprintf("%s %s %s", percentOf(c.NS, g.NS), c.Cause,
				cut(withWhere(c)))))
		}
		return []string{nanos(g.NS), position(g.StartNS), kernelName(g.Before), kernelName(g.After),
			table.Lines(causes...)}
	}, table.Number("length"), table.Number("at"), table.Code("after"), table.Code("before"), table.Text("largest causes"))
}

func (d *RankVerdict) writeCoverage(b *table.Writer) {
	c := &d.Coverage
	table.List(b, "Kernels outside of the graphs", c.EagerKernels, listedEager, func(k EagerKernel) []string {
		return []string{kernelName(k.Name), table.Count(int64(k.Count)), nanos(k.TotalNS), table.Count(int64(k.Replayed)),
			map[bool]string{true: "yes"}[k.Suspect], names.Short(k.Source, narrowName)}
	}, table.Code("eager kernel").Limit(narrowName), table.Number("count"), table.Number("total"),
		table.Number("in graphs"), table.Text("suspect"), table.Path("source").Limit(narrowName))
	for i, h := range c.Hints {
		if i == 0 {
			b.Heading(2, "Hints on graphs and waits")
		}
		b.Item("%s: %s: %s", h.Code, h.Why, h.Do)
	}
}
