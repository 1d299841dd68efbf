package answer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/view"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// tableRows is how many rows a table of the answer has: what a reader looks at. What is left out is counted.
const tableRows = 10

// Options say what is asked, and how.
type Options struct {
	// Question is what is asked; "" for [Slow].
	Question Question
	// Report are the options of the analyses.
	Report strata.ReportOptions
	// TP and EP are the parallel sizes that the user gave, 0 for none.
	TP, EP int
}

// Make runs the analyses on a recording and fills in the checklist. A recording without GPU work is no error: the
// answer says so.
func Make(ctx context.Context, rec *strata.Recording, o Options) (*Answer, error) {
	r, err := strata.Analyze(ctx, rec, o.Report)
	if err != nil {
		return nil, err
	}
	m := &maker{r: r, of: r.Analyses(),
		Answer: &Answer{Schema: schema, Question: cmp.Or(o.Question, Slow), Traces: r.Traces, Notes: r.Notes}}
	m.validity(rec)
	m.model()
	if err := m.environment(o); err != nil {
		return nil, err
	}
	m.passes()
	if err := m.layers(); err != nil {
		return nil, err
	}
	m.tables()
	m.host()
	m.light()
	m.ranks()
	m.compared(o.Report.Against != nil)
	m.findings()
	m.conclude()
	return m.Answer, nil
}

// maker fills in an answer.
type maker struct {
	*Answer
	r  *strata.Report
	of strata.Analyses
}

// ratio is a share of a time, 0 where there is none.
func ratio(a, b time.Duration) float64 {
	if b <= 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// fact is a value with its source, or the reason why it is not known.
func fact(value, from, missing string) Fact {
	if value == "" {
		return Fact{From: missing}
	}
	return Fact{value, from}
}

// number is a fact of a number, 0 for unknown.
func number(n int, from, missing string) Fact {
	if n == 0 {
		return Fact{From: missing}
	}
	return Fact{strconv.Itoa(n), from}
}

func (m *maker) validity(rec *strata.Recording) {
	v := &m.Validity
	r := m.r
	v.Health, v.InPasses, v.InLayers, v.WithOperator = r.Health, ratio(r.InPasses, r.GPUTime),
		ratio(r.InLayers, r.GPUTime), ratio(r.WithOperator, r.GPUTime)
	for _, n := range r.HealthNotes {
		for _, f := range n.Findings {
			v.Remarks = append(v.Remarks, Remark{n.Trace, f.Code, f.Severity, f.Message})
		}
	}
	slices.SortStableFunc(v.Remarks, func(a, b Remark) int { return b.Severity.Compare(a.Severity) })
	for _, n := range rec.NotRead {
		v.NotRead = append(v.NotRead, n.Shown()+" ("+n.Why+")")
	}
	v.Capture.From = "no capture.json beside the traces: recorded by something else, or moved"
	for _, p := range rec.Parts {
		st, path := capture.StageOf(p.Path)
		if st == nil {
			if path != "" {
				v.Capture.From = path + " cannot be read: whether the capture is valid is not known"
			}
			continue
		}
		if v.Capture.Value == "" || worse(st.Verdict, capture.Verdict(v.Capture.Value)) {
			v.Capture = Fact{string(st.Verdict), path}
		}
		for _, c := range st.Checks {
			if c.Outcome != capture.Pass {
				v.Problems = append(v.Problems, strings.TrimSpace(fmt.Sprintf("%s: %s: %s %s", st.Stage, c.Name,
					c.Detail, c.Fix)))
			}
		}
	}
}

// worse reports whether a capture is less valid than another one.
func worse(a, b capture.Verdict) bool {
	order := []capture.Verdict{capture.Valid, capture.Unchecked, capture.Invalid}
	return slices.Index(order, a) > slices.Index(order, b)
}

func (m *maker) model() {
	missing := m.noConfig() + ": pass --config"
	m.Model.Name = fact(m.r.Model, "config.json, or what the server said",
		"neither a config.json nor the server's arguments name it: pass --config")
	if m.r.Model == "" && m.r.AssumedModel != "" {
		m.Model.Name = Fact{m.r.AssumedModel, "assumed: no other known model has the recording's sizes; pass --config"}
	}
	m.Model.Config.From, m.Model.Layers.From = missing, "no layers were found"
	if len(m.of.All) == 0 {
		m.Model.Item = unknown("no trace was read")
		return
	}
	m.Model.Item = known
	for _, a := range m.of.All {
		if c := a.Config; c != nil && m.Model.Architecture == nil {
			s := c.Summary()
			m.Model.Architecture, m.Model.Config = &s, fact(cmp.Or(c.Path, s.Model), "found beside the trace, or given",
				missing)
		}
	}
	if d := m.of.Main; d != nil {
		m.Model.Layers = number(d.NumLayers, string(d.LayerSource), "no layers were found")
	}
	if m.Model.Name.Value == "" && m.Model.Architecture == nil && m.Model.Layers.Value == "" {
		m.Model.Item = unknown("the traces do not show the model: pass --config")
	}
}

// noConfig says why the config of the model is not known.
func (m *maker) noConfig() string {
	other := func(a *layer.Analysis) bool { return errors.Is(a.Refused, layer.ErrContradiction) }
	if slices.ContainsFunc(m.of.All, other) {
		return "the config or number of layers that was given contradicts the trace"
	}
	return "no config.json was found"
}

func (m *maker) environment(o Options) error {
	e := &m.Environment
	e.Framework = fact(m.r.Framework, "names in the trace, or the server's arguments",
		"no annotation, file name or source line of a known server")
	e.GPU = fact(m.r.GPU, "the trace", "the trace does not name the device: pass --gpu")
	if l := m.of.Light; l != nil && l.GPU != nil && m.r.GPU != "" && l.GPU.ID == m.r.GPU { // the trace names none
		e.GPU.From = l.GPUWhy
	}
	for _, a := range m.of.All {
		e.GPUs += len(a.Devices)
	}
	e.Item = known
	if len(m.of.All) == 0 || e.GPUs == 0 {
		e.Item = unknown("the traces hold no GPU activity")
	}
	hints := profile.ParallelHints{TP: o.TP, EP: o.EP}
	if len(m.r.Traces) > 0 && len(m.of.All) > 0 {
		meta := m.of.All[0].Trace().Meta()
		hints.TracePath, hints.Distributed, hints.WorldSize, hints.Divided = m.r.Traces[0], meta.Distributed,
			meta.WorldSize, m.of.All[0].Divided()
	}
	p, err := profile.InferParallelism(hints)
	if err != nil {
		return err
	}
	e.TP, e.EP = number(p.TP.N, p.TP.Source, p.TP.Source), number(p.EP.N, p.EP.Source, p.EP.Source)
	return nil
}

// stageKey separates passes whose times are not comparable.
type stageKey struct {
	trace int
	stage layer.Stage
	model string
}

func (m *maker) passes() {
	if len(m.r.Passes) == 0 {
		m.Passes.Item = unknown("no forward pass was found")
		return
	}
	m.Passes.Item = known
	groups := map[stageKey][]*strata.ReportPass{}
	var order []stageKey
	for i := range m.r.Passes {
		p := &m.r.Passes[i]
		k := stageKey{p.Trace, p.Stage, p.Model}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], p)
	}
	total := map[stageKey]time.Duration{}
	for _, k := range order {
		m.Passes.Stages = append(m.Passes.Stages, m.stage(k, groups[k]))
		for _, p := range groups[k] {
			total[k] += p.Wall
		}
	}
	slices.SortStableFunc(m.Passes.Stages, func(a, b StagePasses) int {
		return cmp.Compare(total[stageKey{b.Trace, b.Stage, b.Model}], total[stageKey{a.Trace, a.Stage, a.Model}])
	})
}

// stage sums up the passes of one kind.
func (m *maker) stage(k stageKey, list []*strata.ReportPass) StagePasses {
	s := StagePasses{Stage: k.stage, Model: k.model, Trace: k.trace, Count: len(list), Steady: trace.None, Batch: -1,
		Tokens:    -1,
		SteadyWhy: "no pass of the stage is typical"}
	var walls []time.Duration
	var idle time.Duration
	var steps float64
	for _, p := range list {
		idle, steps = idle+p.Idle, steps+p.StepShare
		whole := p.Partial == ""
		if whole {
			s.Whole++
		}
		switch {
		case p.Cold:
			s.Cold = append(s.Cold, ColdPass{p.Index, p.Wall, p.Note})
		case whole:
			walls = append(walls, p.Wall)
		}
		if p.Chosen {
			s.Steady, s.SteadyWall, s.Batch, s.Tokens, s.Confidence = p.Index, p.Wall, p.Batch, p.Tokens, p.Confidence
			s.SteadyWhy = "the complete pass of median time of the stage"
			if d := m.of.All[k.trace]; len(d.Devices) > 0 && m.of.Main != nil && p.Device == m.of.Main.ID &&
				p.Index == m.of.Main.Steady.Pass {
				s.SteadyWhy = m.of.Main.Steady.Reason
			}
		}
	}
	if s.Steady >= 0 && len(list) == 1 {
		s.SteadyWhy = "the only pass"
	}
	s.Idle = time.Duration(float64(idle) / cmp.Or(steps, float64(len(list))))
	slices.Sort(walls)
	if n := len(walls); n > 0 {
		s.Least, s.Median, s.Most = &walls[0], &walls[n/2], &walls[n-1]
	}
	return s
}

func (m *maker) layers() error {
	d := m.of.Main
	if d == nil || d.Steady.Pass < 0 {
		m.Layers.Item = unknown("no forward pass was found")
		return nil
	}
	t, err := view.NewTimeline(d, d.Steady.Pass)
	if err != nil {
		return err
	}
	if at := t.AtLeast(); at != "" && m.Model.Layers.Value != "" {
		m.Model.Layers.Value = at + m.Model.Layers.Value
	}
	if len(t.Clusters) == 0 {
		m.Layers.Item = unknown("no layers were found in pass %d", d.Steady.Pass)
		return nil
	}
	m.Layers.Item = known
	for c, l := range t.Typical() {
		rep := Representative{Type: view.VariantName(c.Type, c.Variant), Count: c.Count, Pass: d.Steady.Pass,
			Layer: l.Index, Wall: microseconds(1000 * l.WallMS),
			Command: fmt.Sprintf("%s --fwd-pass %d --layer %d", m.r.Command("breakdown"), d.Steady.Pass, l.Index)}
		for _, s := range c.Share {
			const percent = 100
			if s.Value/percent > rep.BottleneckShare {
				rep.Bottleneck, rep.BottleneckShare = s.Key, s.Value/percent
			}
		}
		m.Layers.Rows = append(m.Layers.Rows, rep)
	}
	return nil
}

func microseconds(us float64) time.Duration {
	return time.Duration(math.Round(us * float64(time.Microsecond)))
}

// cut keeps the first rows of a table and counts what is left out.
func cut[T any](rows []T, size func(T) time.Duration) ([]T, Cut) {
	c := Cut{Total: len(rows)}
	if len(rows) > tableRows {
		for _, r := range rows[tableRows:] {
			c.Omitted++
			c.OmittedNS += int64(size(r))
		}
		rows = rows[:tableRows]
	}
	return rows, c
}

func (m *maker) tables() {
	t := m.of.Triage
	if t == nil || m.of.Main == nil {
		none := unknown("the traces hold no GPU activity")
		m.Kernels.Item, m.Overlap.Item, m.Fuse.Item = none, none, none
		return
	}
	m.Kernels.Item, m.Overlap.Item, m.Fuse.Item = known, known, known
	var kernels []KernelRow
	var overlap []OverlapRow
	var fuse []FuseRow
	why := ""
	const percent = 100
	for i := range t.Stages {
		s := &t.Stages[i]
		for _, k := range s.Kernels {
			row := KernelRow{Stage: s.PassStage, Kernel: k.Label, Category: string(k.Category), Operator: k.Operator(),
				Time: time.Duration(k.GPUTimeNS), Share: k.SharePct / percent, Launches: k.Launches}
			if len(k.Locations) > 0 {
				row.Source = k.Locations[0].Location
			}
			kernels = append(kernels, row)
		}
		for _, o := range s.Overlap {
			overlap = append(overlap, OverlapRow{s.PassStage, o.Label, microseconds(o.TotalUS), o.HiddenRatio,
				time.Duration(o.BoundNS) / time.Duration(max(s.Devices, 1)), o.Recommendation})
		}
		for _, f := range s.Fuse {
			fuse = append(fuse, FuseRow{s.PassStage, f.Pattern, f.State, microseconds(f.RelatedUS),
				time.Duration(f.Gain.StepHighNS), f.Occurrences, f.Action})
		}
		why = cmp.Or(why, s.OverlapNote)
	}
	slices.SortStableFunc(kernels, func(a, b KernelRow) int { return cmp.Compare(b.Time, a.Time) })
	slices.SortStableFunc(overlap, func(a, b OverlapRow) int { return cmp.Compare(b.Gain, a.Gain) })
	slices.SortStableFunc(fuse, func(a, b FuseRow) int { return cmp.Compare(b.Gain, a.Gain) })
	m.Kernels.Rows, m.Kernels.Cut = cut(kernels, func(r KernelRow) time.Duration { return r.Time })
	m.Overlap.Rows, m.Overlap.Cut = cut(overlap, func(r OverlapRow) time.Duration { return r.Time })
	m.Fuse.Rows, m.Fuse.Cut = cut(fuse, func(r FuseRow) time.Duration { return r.Time })
	if len(overlap) == 0 {
		m.Overlap.Why = cmp.Or(why, "no communication runs alone")
	}
	if len(fuse) == 0 {
		m.Fuse.Why = "no chain of a known fusion was found"
	}
}

func (m *maker) host() {
	h, r := &m.Host, m.r
	switch {
	case r.Host == "":
		h.Item = unknown("no kernels, so nothing can wait for the host")
		return
	case r.Wall == 0:
		h.Item = unknown("no forward pass was found whose time the host could cost")
	default:
		h.Item = known
	}
	of := &m.of.Host.Ranks[m.of.Host.Deciding]
	h.Basis = m.of.Host.Basis
	h.Verdict, h.Text, h.GPU, h.Share = r.Host, r.HostText, int(of.Device), r.HostShare
	h.Idle, h.Wall = time.Duration(of.Headroom.IdleNS), time.Duration(of.Headroom.WallNS)
	for _, f := range of.Findings {
		if f.Kind == finding.IdleTime && len(r.Idle) > 0 { // the report has none where idle time is in doubt
			h.Causes = append(h.Causes, Cause{f.Cause, f.PerStep, f.Model, f.Share, f.Place.Name})
		}
	}
	slices.SortStableFunc(h.Causes, func(a, b Cause) int { return cmp.Compare(b.Share, a.Share) })
}

func (m *maker) light() {
	l := m.of.Light
	if l == nil {
		m.Light.Item = unknown("the traces hold no GPU activity")
		return
	}
	for _, p := range l.Typical() {
		if p.HasFloor() {
			m.Light.Passes = append(m.Light.Passes, Floor{p.Stage, p.Index, p.Wall, p.Floor, ratio(p.Floor, p.Wall),
				p.Covered, p.Basis.String()})
		}
	}
	for _, o := range l.Operators {
		if len(m.Light.Passes) > 0 && o.Floor > 0 && o.Time > 0 {
			m.Light.Operators = append(m.Light.Operators,
				OperatorFloor{o.Operator, o.LayerType, o.Time, o.Floor, o.Bound})
		}
	}
	slices.SortStableFunc(m.Light.Operators, func(a, b OperatorFloor) int {
		return cmp.Compare(b.Time-b.Floor, a.Time-a.Floor)
	})
	m.Light.Operators, m.Light.Cut = cut(m.Light.Operators, func(o OperatorFloor) time.Duration { return o.Time })
	switch {
	case len(m.Light.Passes) > 0:
		m.Light.Item = known
	case l.GPU == nil:
		m.Light.Item = unknown("the GPU is not in the table: pass --gpu or --device-file")
	case l.Model == "":
		m.Light.Item = unknown("%s, and operators with most of the GPU time have no recorded shapes: pass --config",
			m.noConfig())
	default:
		m.Light.Item = unknown("the number of tokens of the passes is not known: pass --tokens and --kv-len")
	}
}

func (m *maker) ranks() {
	v := m.of.Host
	switch {
	case v == nil || len(v.Ranks) == 0:
		m.Ranks.Item = unknown("the traces hold no GPU activity")
		return
	case len(v.Ranks) == 1:
		m.Ranks.Item = unknown("one rank was read: pass the directory of all ranks (and --all-ranks, or --question ranks)")
		return
	case v.Stragglers == nil:
		m.Ranks.Item = unknown("%d GPUs were read, and no collective was found that ends on several of them together",
			len(v.Ranks))
		return
	}
	s := v.Stragglers
	m.Ranks.Item, m.Ranks.Straggler, m.Ranks.Text = known, s.Straggler, s.Note
	for _, r := range s.Ranks {
		m.Ranks.Ranks = append(m.Ranks.Ranks, RankWait{r.Rank, r.LastShare, time.Duration(r.WaitNS)})
	}
}

func (m *maker) compared(asked bool) {
	c := m.r.Against
	switch {
	case c != nil:
		m.Compared = Compared{known, c.Verdict, c.Text, c.A.Wall, c.B.Wall, c.Wall.Delta, c.Wall.Low, c.Wall.High}
	case asked:
		m.Compared.Item = unknown("the runs cannot be compared: see notes")
	default:
		m.Compared.Item = unknown("no older run was named: pass --against")
	}
}

// findings sorts the findings by whether the question is about them.
func (m *maker) findings() {
	all := m.r.Findings
	if m.Question == Regress {
		m.Other = all
		if c := m.r.Against; c != nil {
			m.Findings = c.Findings
		}
	} else {
		for _, f := range all {
			if m.Question.about(&f) {
				m.Findings = append(m.Findings, f)
			} else {
				m.Other = append(m.Other, f)
			}
		}
	}
	m.withhold()
	for _, f := range slices.Concat(m.Findings, m.Other) {
		if f.Next != "" && !slices.Contains(m.Next, f.Next) {
			m.Next = append(m.Next, f.Next)
		}
	}
	for _, l := range m.Layers.Rows {
		m.Next = append(m.Next, l.Command)
	}
}

// doubted says why the times of single kernels are not to be trusted, "" where they are.
func (m *maker) doubted() string {
	for _, n := range m.r.HealthNotes {
		for _, f := range n.Findings {
			if f.Severity != trace.HealthOK && slices.Contains(f.Affects, trace.AffectsGPUTime) {
				return f.Message
			}
		}
	}
	return ""
}

// withhold takes findings away that rest on times which are not to be trusted.
func (m *maker) withhold() {
	if m.doubted() == "" {
		return
	}
	take := func(list []finding.Finding) (kept []finding.Finding) {
		for _, f := range list {
			if f.Kind.ByKernel() {
				m.Withheld = append(m.Withheld, f)
			} else {
				kept = append(kept, f)
			}
		}
		return kept
	}
	m.Findings, m.Other = take(m.Findings), take(m.Other)
}

// conclude says what the answer comes to.
func (m *maker) conclude() {
	m.Conclusion, m.Why, m.Text = CannotTell, m.cannot(), m.r.Verdict
	switch {
	case m.Why != "":
		m.Text = "Undecided: " + m.Why + "."
		return
	case slices.ContainsFunc(m.Findings, costs):
		m.Conclusion = Found
	default:
		m.Conclusion = Healthy
	}
	switch {
	case m.Question == Regress:
		m.Text = m.Compared.Text
	case m.Question == Host:
		m.Text = m.Host.Text
	case len(m.Withheld) > 0:
		m.Text = "Times of single kernels are not to be trusted: " + m.doubted() + "."
	case m.Conclusion == Healthy && m.Question != Slow:
		m.Text = "Nothing of this takes 1% of step time. " + m.Text
	case m.Conclusion == Healthy:
		m.Text += " No finding above 1% of step time."
	case m.Question != Slow: // the verdict is of all findings
		m.Text = m.Findings[slices.IndexFunc(m.Findings, costs)].Headline() + "."
	}
}

// costs reports whether a finding is about time that can be won, and puts nothing in doubt.
func costs(f finding.Finding) bool {
	return f.Kind.Info().Doubt == 0 && f.Measure != finding.NoMeasure && f.Kind != finding.NoFloor
}

// cannot says why the question cannot be answered from the recording, "" where it can.
func (m *maker) cannot() string {
	r := m.r
	switch {
	case m.of.Main == nil:
		return "the traces hold no GPU activity"
	case m.Validity.Capture.Value == string(capture.Invalid):
		return "the capture is INVALID: " + strings.Join(m.Validity.Problems, "; ")
	case r.Health == trace.HealthUnusable:
		why := "the trace is damaged"
		if len(m.Validity.Remarks) > 0 {
			why += ": " + m.Validity.Remarks[0].Text
		}
		return why
	case len(r.Passes) == 0 || r.Wall == 0:
		return "no forward pass was found"
	case !slices.ContainsFunc(r.Passes, func(p strata.ReportPass) bool { return p.Stage != layer.StageCapture }):
		return "the window holds only passes that capture graphs: record after the server's start"
	}
	if len(m.Withheld) > 0 && !slices.ContainsFunc(m.Findings, costs) {
		return "times of single kernels are not to be trusted: " + m.doubted()
	}
	if r.Health != trace.HealthOK && !slices.ContainsFunc(m.Findings, costs) {
		why := "no finding above 1% of step time, but the recording is " + string(r.Health)
		if len(m.Validity.Remarks) > 0 {
			why += ": " + m.Validity.Remarks[0].Text
		}
		return why
	}
	switch m.Question {
	case Regress:
		return m.Compared.Why
	case Ranks:
		return m.Ranks.Why
	case Roofline:
		return m.Light.Why
	case Host:
		if m.Host.Verdict == hostoverhead.Inconclusive {
			return m.Host.Text
		}
		return m.Host.Why
	}
	return ""
}
