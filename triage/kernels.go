package triage

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/intern"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage/internal/activity"
	"github.com/llmstrata/strata/triage/internal/chain"
)

// maxLocations is how many sites a kernel row shows.
const maxLocations = 2

// minSitePct is the share of a row's time below which a second site is not
// worth a line, and a known site does not come before unknown time.
const minSitePct = 1

// row is a kernel row while it is computed.
type row struct {
	kernel   int32 // pool.names
	ns       int64
	launches int
	replayed int
	sites    []activity.SiteTime // by time after sortSites
	replayAt map[int32]int64
}

// stageWork is all activities of one stage, over the traces that have it.
type stageWork struct {
	index int
	parts []*activity.Trace
	rows  []row   // by time
	rowOf []int32 // per kernel: index in rows, -1 none
	ns    int64
	acts  int

	seqs       *chain.Sequences
	chains     []*chain.Candidate         // that a registry has a path for, worth a row, the best first
	paths      map[*chain.Candidate]*path // of chains
	candidates []*chain.Candidate         // other runs worth a row, most time first
	wholes     []chain.Whole              // attention and experts of one kernel, where no server runs
	exposure   *Exposure
	exchanges  map[int32]*exchange // by kernel
	outside    int                 // activities in no pass
	outsideNS  int64
	stray      int32                            // the kernel of the first
	replays    [len(activity.OriginNames)]int64 // time of replayed activities by how their lines were found
}

// splitStages groups the activities of all formal traces by stage.
func splitStages(p *activity.Pool, works []*activity.Trace) []*stageWork {
	stages := make([]*stageWork, len(stageOrder))
	for i := range stages {
		stages[i] = &stageWork{index: i, rowOf: make([]int32, len(p.Facts))}
		for k := range stages[i].rowOf {
			stages[i].rowOf[k] = -1
		}
	}
	for _, w := range works {
		seen := make([]bool, len(stageOrder))
		for i := range w.Acts {
			a := &w.Acts[i]
			s := stages[a.Stage]
			if !seen[a.Stage] {
				seen[a.Stage] = true
				s.parts = append(s.parts, w)
			}
			s.add(a)
		}
	}
	out := stages[:0]
	for _, s := range stages {
		if s.acts > 0 {
			s.finish(p)
			out = append(out, s)
		}
	}
	return out
}

func (s *stageWork) add(a *activity.Activity) {
	i := s.rowOf[a.Kernel]
	if i < 0 {
		i = int32(len(s.rows))
		s.rowOf[a.Kernel] = i
		s.rows = append(s.rows, row{kernel: a.Kernel})
	}
	r := &s.rows[i]
	ns := a.End - a.Start
	r.ns += ns
	r.launches++
	s.ns += ns
	s.acts++
	if a.Pass == trace.None {
		if s.outside == 0 {
			s.stray = a.Kernel
		}
		s.outside++
		s.outsideNS += ns
	}
	if a.Replay {
		r.replayed++
		s.replays[a.From] += ns
		if a.ReplayedAt != activity.SiteUnresolved {
			if r.replayAt == nil {
				r.replayAt = map[int32]int64{}
			}
			r.replayAt[a.ReplayedAt] += ns
		}
	}
	// Rows have few sites; the last used is first tried. Anything beyond the
	// bound is counted under the last one, which only a hostile trace reaches.
	const mostSites = 4096
	for k := range r.sites {
		if t := &r.sites[k]; t.Site == a.Site && t.Op == a.Op && t.Operator == a.Operator && t.Model == a.Model {
			t.Sure = min(t.Sure, a.Sure)
			t.Ns += ns
			t.Launches++
			if k > 0 {
				r.sites[k], r.sites[k-1] = r.sites[k-1], r.sites[k]
			}
			return
		}
		if k == mostSites {
			r.sites[k].Ns += ns
			r.sites[k].Launches++
			return
		}
	}
	r.sites = append(r.sites, activity.SiteTime{Site: a.Site, Op: a.Op, Operator: a.Operator, Model: a.Model,
		From: a.From, Sure: a.Sure, Ns: ns, Launches: 1})
}

func (s *stageWork) finish(p *activity.Pool) {
	for i := range s.rows {
		r := &s.rows[i]
		slices.SortFunc(r.sites, func(a, b activity.SiteTime) int {
			return cmp.Or(cmp.Compare(b.Ns, a.Ns), cmp.Compare(b.Launches, a.Launches),
				cmp.Compare(p.Sites.Texts[a.Site], p.Sites.Texts[b.Site]),
				cmp.Compare(p.Ops.Texts[a.Op], p.Ops.Texts[b.Op]),
				cmp.Compare(p.Operators.Texts[a.Operator], p.Operators.Texts[b.Operator]),
				cmp.Compare(a.Model, b.Model))
		})
	}
	slices.SortFunc(s.rows, func(a, b row) int {
		if a.ns != b.ns {
			return cmp.Compare(b.ns, a.ns)
		}
		return cmp.Compare(p.Name(a.kernel), p.Name(b.kernel))
	})
	for i, r := range s.rows {
		s.rowOf[r.kernel] = int32(i)
	}
}

// share returns ns in percent of the stage's GPU time.
func (s *stageWork) share(ns int64) float64 { return percent(ns, s.ns) }

// percent returns 100·part/whole rounded to four decimals; 0 of 0 is 0.
func percent(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return math.Round(float64(part)/float64(whole)*1e6) / 1e4
}

// micros converts ns to microseconds.
func micros(ns int64) float64 { return float64(ns) / 1e3 }

// kernelRow renders a row as data.
func (s *stageWork) kernelRow(p *activity.Pool, r *row) KernelRow {
	f := &p.Facts[r.kernel]
	out := KernelRow{
		Kernel: f.Canonical, Label: p.Labels[r.kernel], Category: f.Shown.Category,
		Subcategory: f.Shown.Subcategory, Rule: f.Shown.Rule,
		GPUTimeUS: micros(r.ns), GPUTimeNS: r.ns, SharePct: s.share(r.ns), Launches: r.launches, Replayed: r.replayed,
	}
	out.Locations, out.CPUOps = r.places(p, anyOperator)
	out.ModelLines = r.modelLines(p, anyOperator)
	operators := s.operatorsOf(p, r)
	for _, o := range operators {
		row := s.operatorRow(p, o)
		row.Locations, row.ModelLines, row.CPUOps = out.Locations, out.ModelLines, out.CPUOps
		if len(operators) > 1 {
			row.Locations, row.CPUOps = r.places(p, o.Operator)
			row.ModelLines = r.modelLines(p, o.Operator)
		}
		out.Operators = append(out.Operators, row)
	}
	if r.replayAt != nil {
		out.ReplayedAt = p.Sites.Texts[slices.MinFunc(slices.Collect(maps.Keys(r.replayAt)), func(a, b int32) int {
			return cmp.Or(cmp.Compare(r.replayAt[b], r.replayAt[a]), cmp.Compare(p.Sites.Texts[a], p.Sites.Texts[b]))
		})]
	}
	return out
}

// anyOperator means all of a row.
const anyOperator = int32(-1)

// places are where a row's launches of an operator come from, and the op of each place.
func (r *row) places(p *activity.Pool, operator int32) (locations []Location, ops []string) {
	locations, ops = []Location{}, []string{}
	list, ns := r.bySite(p, operator)
	for _, st := range worthLines(list, ns) {
		locations = append(locations, Location{Location: p.Sites.Texts[st.Site], SharePct: percent(st.Ns, ns),
			From: activity.OriginNames[st.From]})
		ops = append(ops, p.Ops.Texts[st.Op])
	}
	return locations, ops
}

// worthLines are the sites of a row that are worth a line: the first, and the second if it takes enough of the whole.
func worthLines(sites []activity.SiteTime, whole int64) []activity.SiteTime {
	if len(sites) > 1 && percent(sites[1].Ns, whole) < minSitePct {
		return sites[:1]
	}
	return sites[:min(len(sites), maxLocations)]
}

// replaySources say how the lines of replayed activities were found.
func (s *stageWork) replaySources() []Location {
	var whole int64
	for _, ns := range s.replays {
		whole += ns
	}
	out := []Location{}
	for from, ns := range s.replays {
		if ns > 0 {
			out = append(out, Location{From: activity.OriginNames[from], SharePct: percent(ns, whole)})
		}
	}
	slices.SortStableFunc(out, func(a, b Location) int { return cmp.Compare(b.SharePct, a.SharePct) })
	return out
}

// modelLines are the lines of the model that a row's launches of an operator come from, by time, what is not known
// left out.
func (r *row) modelLines(p *activity.Pool, operator int32) []Location {
	var by groups[int32, activity.SiteTime]
	var whole int64
	for _, st := range r.sites {
		if operator != anyOperator && st.Operator != operator {
			continue
		}
		if whole += st.Ns; st.Model != 0 {
			by.of(st.Model, activity.SiteTime{Model: st.Model, From: st.From}).Ns += st.Ns
		}
	}
	slices.SortStableFunc(by.list, func(a, b activity.SiteTime) int { return cmp.Compare(b.Ns, a.Ns) })
	out := []Location{}
	for _, st := range worthLines(by.list, whole) {
		m := p.Models[st.Model]
		out = append(out, Location{Location: m.String(), Module: m.Module, SharePct: percent(st.Ns, whole),
			From: activity.OriginNames[st.From]})
	}
	return out
}

// groups are sums by a key, in the order in which the keys come.
type groups[K comparable, T any] struct {
	keys intern.Keys[K]
	list []T
}

// of is the sum of a key, which begins as first.
func (g *groups[K, T]) of(key K, first T) *T {
	i := g.keys.ID(key)
	if i == len(g.list) {
		g.list = append(g.list, first)
	}
	return &g.list[i]
}

// operatorsOf sums the sites of rows by operator, by time.
func (s *stageWork) operatorsOf(p *activity.Pool, rows ...*row) []activity.SiteTime {
	var by groups[int32, activity.SiteTime]
	for _, r := range rows {
		for _, st := range r.sites {
			o := by.of(st.Operator, activity.SiteTime{Operator: st.Operator, Sure: st.Sure})
			o.Ns += st.Ns
			o.Launches += st.Launches
			o.Sure = min(o.Sure, st.Sure)
		}
	}
	slices.SortFunc(by.list, func(a, b activity.SiteTime) int {
		return cmp.Or(cmp.Compare(b.Ns, a.Ns), cmp.Compare(p.Operators.Texts[a.Operator],
			p.Operators.Texts[b.Operator]))
	})
	return by.list
}

// operatorRow renders what was summed of an operator.
func (s *stageWork) operatorRow(p *activity.Pool, o activity.SiteTime) OperatorRow {
	return OperatorRow{Operator: p.Operators.Texts[o.Operator], Confidence: math.Round(float64(o.Sure)*100) / 100,
		GPUTimeNS: o.Ns, SharePct: s.share(o.Ns), Launches: o.Launches}
}

// operators sums the stage by operator; nil where none is known.
func (s *stageWork) operators(p *activity.Pool) []OperatorRow {
	rows := make([]*row, len(s.rows))
	for i := range s.rows {
		rows[i] = &s.rows[i]
	}
	out := []OperatorRow{}
	for _, o := range s.operatorsOf(p, rows...) {
		out = append(out, s.operatorRow(p, o))
	}
	if len(out) == 1 && out[0].Operator == activity.NoOperator {
		return []OperatorRow{}
	}
	return out
}

// bySite joins the parts of a row, or of an operator in it, that share a site, by time, and their sum; the op is the
// most common one of the site. Time without a known source comes after known
// sites unless it is the largest part: what is known says more.
func (r *row) bySite(p *activity.Pool, operator int32) (out []activity.SiteTime, whole int64) {
	var by groups[int32, activity.SiteTime]
	launches := map[[2]int32]int{} // by site and op
	for _, st := range r.sites {
		if operator != anyOperator && st.Operator != operator {
			continue
		}
		whole += st.Ns
		at := by.of(st.Site, activity.SiteTime{Site: st.Site, Op: st.Op, From: st.From})
		at.Ns += st.Ns
		key := [2]int32{st.Site, st.Op}
		launches[key] += st.Launches
		if c := cmp.Compare(launches[key], launches[[2]int32{st.Site, at.Op}]); c > 0 ||
			c == 0 && p.Ops.Texts[st.Op] < p.Ops.Texts[at.Op] {
			at.Op = st.Op
		}
	}
	out = by.list
	slices.SortFunc(out, func(a, b activity.SiteTime) int {
		return cmp.Or(cmp.Compare(b.Ns, a.Ns), cmp.Compare(p.Sites.Texts[a.Site], p.Sites.Texts[b.Site]))
	})
	after := func(st activity.SiteTime) int {
		if st.Site > activity.SiteFromPrefill && percent(st.Ns, whole) >= minSitePct {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(out[min(1, len(out)):], func(a, b activity.SiteTime) int {
		return cmp.Compare(after(a), after(b))
	})
	return out, whole
}

// categories sums the stage's rows by category, by time.
func (s *stageWork) categories(p *activity.Pool) []Share {
	var by groups[classify.Category, row]
	for i := range s.rows {
		r := &s.rows[i]
		c := by.of(p.Facts[r.kernel].Shown.Category, row{kernel: r.kernel})
		c.ns += r.ns
		c.launches += r.launches
	}
	var out []Share
	for _, c := range by.list {
		out = append(out, Share{Category: p.Facts[c.kernel].Shown.Category, Launches: c.launches,
			GPUTimeUS: micros(c.ns), SharePct: s.share(c.ns)})
	}
	slices.SortFunc(out, func(a, b Share) int {
		return cmp.Or(cmp.Compare(b.GPUTimeUS, a.GPUTimeUS), cmp.Compare(a.Category, b.Category))
	})
	return out
}

// steps adds up the annotated steps of the stage.
func (s *stageWork) steps() (steps, batch int) {
	for _, w := range s.parts {
		c := w.Steps[s.index]
		if c.Steps == 0 {
			continue
		}
		switch {
		case steps == 0:
			batch = c.Batch
		case batch != c.Batch:
			batch = 0
		}
		steps += c.Steps
	}
	return steps, batch
}

// devices counts the devices that the stage's work ran on.
func (s *stageWork) devices() int {
	n := 0
	for _, w := range s.parts { // ranks number their GPUs alike
		for _, acts := range w.OfDevice {
			if slices.ContainsFunc(acts, func(a activity.Activity) bool { return int(a.Stage) == s.index }) {
				n++
			}
		}
	}
	return n
}
