package answer

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer/finding"
)

// questions are the questions as people ask them.
var questions = map[Question]string{Slow: "Why is it slow?", Regress: "What became slower?",
	Host: "Is the CPU the bottleneck?", Roofline: "How far from the GPU's peak?", Fusion: "Which fused path is not used?",
	Ranks: "Do GPUs wait for each other?"}

// WriteText writes the answer for people. Items that a part of the document lacks are left out.
func (a *Answer) WriteText(w io.Writer) error {
	b := table.NewWriter(w)
	b.Heading(1, "%s", questions[a.Question])
	if a.Text != "" {
		b.Say("%s", a.Text)
	}
	for i, t := range a.Traces {
		b.Fact("Trace "+strconv.Itoa(i), "%s", t)
	}
	a.Validity.write(b)
	list(b, "Findings", a.Findings)
	list(b, "Other findings", a.Other)
	list(b, "Withheld: these rest on times that cannot be trusted", a.Withheld)
	a.environment(b)
	a.Passes.write(b)
	a.Layers.write(b)
	a.Kernels.write(b)
	a.Overlap.write(b)
	a.Fuse.write(b, a.Host.Basis)
	a.Host.write(b)
	a.Light.write(b)
	a.Ranks.write(b)
	a.Compared.write(b)
	next := make([]string, len(a.Next))
	for i, n := range a.Next {
		next[i] = b.Command(n)
	}
	texts(b, "Next commands", next)
	texts(b, "Notes", a.Notes)
	return b.Flush()
}

// list writes findings.
func list(b *table.Writer, heading string, findings []finding.Finding) {
	for i := range findings {
		if i == 0 {
			b.Heading(2, "%s", heading)
		}
		b.Numbered(i+1, "%s", findings[i].Headline())
		for _, l := range findings[i].Lines() {
			b.Below("%s", l)
		}
		if next := findings[i].Next; next != "" {
			b.Below("next: %s", b.Command(next))
		}
	}
	if note := finding.Overlapping(findings); note != "" {
		b.Say("%s", note)
	}
}

// texts writes a list of texts.
func texts(b *table.Writer, heading string, list []string) {
	for i, t := range list {
		if i == 0 {
			b.Heading(2, "%s", heading)
		}
		b.Item("%s", t)
	}
}

// write begins an item of the checklist and reports whether it is known.
func (i *Item) write(b *table.Writer, heading string) bool {
	if !i.Known && i.Why == "" { // not part of the document
		return false
	}
	b.Heading(2, "%s", heading)
	if i.Why != "" {
		b.Say("%s.", table.UpperFirst(strings.TrimSuffix(i.Why, ".")))
	}
	return i.Known
}

// write writes a fact with its source, or the reason why it is not known.
func (f Fact) write(b *table.Writer, name string) {
	switch {
	case f.From == "":
		b.Fact(name, "%s", f.Value)
	case f.Value == "":
		b.Fact(name, "unknown: %s", f.From)
	default:
		b.Fact(name, "%s (%s)", f.Value, f.From)
	}
}

// rows writes a table and how many rows it leaves out.
func (c Cut) rows(b *table.Writer, t *table.Table) {
	if t.Len() > 0 {
		b.Table(t)
	}
	if c.Omitted > 0 {
		b.Say("%s (%s) not listed.", table.Counted(c.Omitted, "more row", "more rows"),
			table.Duration(time.Duration(c.OmittedNS)))
	}
}

func share(v float64) string { return table.Pct(100*v, 1) }

func (v *Validity) write(b *table.Writer) {
	if v.Health == "" {
		return
	}
	b.Heading(2, "Validity")
	b.Fact("Health", "%s", v.Health)
	inside := fmt.Sprintf("%s in layers, %s with a known operator", share(v.InLayers), share(v.WithOperator))
	if v.InLayers == 0 && v.WithOperator == 0 {
		inside = "no layers of a model were found"
	}
	b.Fact("GPU time explained", "%s in passes; %s", share(v.InPasses), inside)
	v.Capture.write(b, "Capture")
	for _, r := range v.Remarks {
		b.Item("[%s, %s] %s", r.Code, r.Severity, r.Text)
	}
	for _, p := range slices.Concat(v.Problems, v.NotRead) {
		b.Item("%s", p)
	}
}

// environment writes the model and what it ran on.
func (a *Answer) environment(b *table.Writer) {
	m, e := &a.Model, &a.Environment
	if m.write(b, "Model") {
		m.Name.write(b, "Model")
		m.Config.write(b, "Config")
		m.Layers.write(b, "Layers")
	}
	if e.write(b, "Environment") {
		e.Framework.write(b, "Framework")
		e.GPU.write(b, "GPU")
		b.Fact("GPUs in the traces", "%d", e.GPUs)
		e.TP.write(b, "Tensor parallel")
		e.EP.write(b, "Expert parallel")
	}
}

func (p *Passes) write(b *table.Writer) {
	if !p.Item.write(b, "Passes") {
		return
	}
	t := table.New(table.Text("Stage"), table.Number("Passes"),
		table.Number("Complete"), table.Number("Min"), table.Number("Median"), table.Number("Max"),
		table.Number("Idle per pass"), table.Number("Steady pass"), table.Number("Batch"), table.Number("Tokens"))
	of := func(s *StagePasses) (text string) {
		if s.Model != "" {
			text += " of " + s.Model
		}
		if slices.ContainsFunc(p.Stages, func(o StagePasses) bool { return o.Trace != s.Trace }) {
			text += ", trace " + strconv.Itoa(s.Trace)
		}
		return text
	}
	for i := range p.Stages {
		s := &p.Stages[i]
		t.Row(string(s.Stage)+of(s), strconv.Itoa(s.Count), strconv.Itoa(s.Whole),
			wall(s.Least), wall(s.Median), wall(s.Most), table.Duration(s.Idle),
			count(int64(s.Steady)), count(int64(s.Batch)), count(s.Tokens))
	}
	b.Table(t)
	for i := range p.Stages {
		s := &p.Stages[i]
		pass := strings.TrimPrefix(string(s.Stage)+" pass", string(finding.StageUnknown)+" ") + of(s)
		if s.Steady >= 0 {
			b.Item("Steady %s: %d, %s.", pass, s.Steady, s.SteadyWhy)
		}
		for _, c := range s.Cold {
			b.Item("Cold %s: %d, %s, %s.", pass, c.Pass, table.Duration(c.Wall), c.Note)
		}
	}
}

// wall is the time of a pass, a dash for none.
func wall(d *time.Duration) string {
	if d == nil {
		return table.None
	}
	return table.Duration(*d)
}

// count is a number, unknown below zero.
func count(n int64) string {
	if n < 0 {
		return "?"
	}
	return table.Count(n)
}

func (l *Layers) write(b *table.Writer) {
	if !l.Item.write(b, "Representative layers") {
		return
	}
	t := table.New(table.Text("Type"), table.Number("Layers"), table.Number("Pass"), table.Number("Layer"),
		table.Number("Wall"), table.Text("Bottleneck"), table.Number("Share of kernel time"))
	for _, r := range l.Rows {
		t.Row(r.Type, strconv.Itoa(r.Count), strconv.Itoa(r.Pass), strconv.Itoa(r.Layer), table.Duration(r.Wall),
			r.Bottleneck, share(r.BottleneckShare))
	}
	b.Table(t)
}

func (k *Kernels) write(b *table.Writer) {
	if !k.Item.write(b, "Kernels") {
		return
	}
	t := table.New(table.Text("Stage"), table.Code("Kernel"), table.Text("Category"), table.Text("Operator"),
		table.Number("Time"), table.Number("Share of stage"), table.Number("Launches"), table.Path("Source"))
	for _, r := range k.Rows {
		t.Row(string(r.Stage), r.Kernel, r.Category, r.Operator, table.Duration(r.Time), share(r.Share),
			table.Count(int64(r.Launches)), r.Source)
	}
	k.Cut.rows(b, t)
}

func (o *Overlap) write(b *table.Writer) {
	if !o.Item.write(b, "Communication that compute could hide") {
		return
	}
	t := table.New(table.Text("Stage"), table.Code("Kernel"), table.Number("Time"), table.Number("Hidden"),
		table.Number("Gain at most"), table.Text("Fix"))
	for _, r := range o.Rows {
		t.Row(string(r.Stage), r.Kernel, table.Duration(r.Time), share(r.Hidden), table.Duration(r.Gain), r.Do)
	}
	o.Cut.rows(b, t)
}

func (f *Fuse) write(b *table.Writer, of finding.Basis) {
	if !f.Item.write(b, "Known fusions") {
		return
	}
	t := table.New(table.Text("Stage"), table.Text("Fusion"), table.Text("State"), table.Number("Chains"),
		table.Number("Time"), table.Number(of.Gain()+" at most"), table.Text("Fix"))
	for _, r := range f.Rows {
		t.Row(string(r.Stage), r.Pattern, string(r.State), table.Count(int64(r.Times)), table.Duration(r.Time),
			table.Duration(r.Gain), r.Do)
	}
	f.Cut.rows(b, t)
}

func (h *HostVerdict) write(b *table.Writer) {
	if !h.Item.write(b, "Host") {
		return
	}
	b.Say("%s: %s. The GPU is idle for %s of %s.", h.Verdict, h.Text, table.Duration(h.Idle), table.Duration(h.Wall))
	of := h.Basis
	table.List(b, "", h.Causes, len(h.Causes), func(c Cause) []string {
		return []string{c.Cause.String(), table.Duration(c.PerStep) + finding.OfModel(c.Model), share(c.Share), c.Name}
	}, table.Text("Cause"), table.Number(of.Each()), table.Number("Share "+of.Title()), table.Text("Largest part"))
}

func (l *Light) write(b *table.Writer) {
	if !l.Item.write(b, "Speed of light") {
		return
	}
	table.List(b, "", l.Passes, len(l.Passes), func(f Floor) []string {
		return []string{string(f.Stage), strconv.Itoa(f.Pass), table.Duration(f.Wall), table.Duration(f.Floor),
			share(f.Share), share(f.Covered), f.Basis}
	}, table.Text("Stage"), table.Number("Pass"), table.Number("Wall"), table.Number("Floor"),
		table.Number("Floor % of wall"), table.Number("Covered"), table.Text("Basis"))
	t := table.New(table.Text("Operator"), table.Text("Layer type"), table.Number("Time"), table.Number("Floor"),
		table.Text("Bound"))
	for _, o := range l.Operators {
		t.Row(o.Operator, o.Layers, table.Duration(o.Time), table.Duration(o.Floor), o.Bound)
	}
	l.Cut.rows(b, t)
}

func (r *RankWaits) write(b *table.Writer) {
	if !r.Item.write(b, "Ranks") {
		return
	}
	b.Say("%s", r.Text)
	table.List(b, "", r.Ranks, len(r.Ranks), func(w RankWait) []string {
		return []string{w.Rank, share(w.Last), table.Duration(w.Waiting)}
	}, table.Text("Rank"), table.Number("Last to arrive"), table.Number("Waits"))
}

func (c *Compared) write(b *table.Writer) {
	if !c.Item.write(b, "Comparison") {
		return
	}
	b.Say("%s", c.Text)
	b.Fact("Step before", "%s", table.Duration(c.Before))
	b.Fact("Step after", "%s", fmt.Sprintf("%s (%s, 95%% interval %s to %s)", table.Duration(c.After),
		table.Change(c.Delta), table.Change(c.Low), table.Change(c.High)))
}
