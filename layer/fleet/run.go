package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

// Numbers that decide what is said.
const (
	// lateBy is the greatest probability that a rank that is last no more often than by the toss of a coin is called
	// late. Of three and more ranks that are alike none is last at half of the collectives, so that chance is much
	// less.
	lateBy = 0.01
	// leastShare of a step is reported: less is lost among the differences between runs of one server.
	leastShare = 0.01
	// alikeShare of a step is what ranks may differ by and be alike: what leastShare is for a time.
	alikeShare = 0.01
	// unlikeBy is how many times the typical difference a rank must differ by: noise differs on every rank.
	unlikeBy = 3
	// causeShare is the part of a rank's lateness that its largest cause must explain to be named.
	causeShare = 0.5
	// tokenShare is from how many more tokens than its peers a rank's longer kernels are put down to them, and what is
	// called uneven.
	tokenShare = 0.05
)

// Run is the result for the ranks of one recording. Times are nanoseconds per step unless said otherwise.
type Run struct {
	Run string `json:"run"` // name of the recording
	// Files were found, Ranks of them read and counted once.
	Files int `json:"files"`
	Ranks int `json:"ranks"`
	// World is the number of ranks of the job, 0 unknown. NumMissing of them are in no file, Missing the first of these.
	World      int   `json:"world_size,omitempty"`
	NumMissing int   `json:"num_missing"`
	Missing    []int `json:"missing"`
	// Bad files could not be read. Twice are files that hold a rank once more.
	Bad    []Duplicate        `json:"bad"`
	Twice  []Duplicate        `json:"twice"`
	Health trace.HealthStatus `json:"health"`
	GPUs   []string           `json:"gpus"`
	Models []string           `json:"models"`
	Commit string             `json:"commit,omitempty"`
	Date   string             `json:"date,omitempty"`
	// Step is the wall time of steps by rank, the mean over its steps; Wait the part spent waiting for other ranks.
	Step   Spread  `json:"step"`
	Wait   Spread  `json:"wait"`
	Groups []Group `json:"groups"`
	// Findings are those of this run; Shared are those that its ranks have each by itself, once for all of them.
	Findings []finding.Finding `json:"findings"`
	Shared   []Shared          `json:"shared"`
}

// Why a file is left out although it could be read.
const (
	sameContent = "the same content"
	sameRank    = "the same rank"
)

// Duplicate is a file that is left out. Of is the one that counts instead, "" for none.
type Duplicate struct {
	File string `json:"file"`         // file that was left out
	Of   string `json:"of,omitempty"` // file that says the same
	Why  string `json:"why"`          // how they were found to be equal
}

// Spread says how values of ranks differ. Worst are the three largest, none where no rank has a value.
type Spread struct {
	Min    int64   `json:"min_ns"`    // smallest
	Median int64   `json:"median_ns"` // median
	Max    int64   `json:"max_ns"`    // largest
	Worst  []Value `json:"worst"`     // the ranks of the largest values
}

// Known reports whether a rank has a value.
func (s *Spread) Known() bool { return len(s.Worst) > 0 }

// Value is that of one rank.
type Value struct {
	Rank string `json:"rank"` // name of the rank
	NS   int64  `json:"ns"`   // the time
}

// spreadOf sorts values in place.
func spreadOf(values []Value) Spread {
	s := Spread{Worst: []Value{}}
	if len(values) == 0 {
		return s
	}
	slices.SortStableFunc(values, func(a, b Value) int { return cmp.Compare(b.NS, a.NS) })
	n := len(values)
	s.Max, s.Median, s.Min = values[0].NS, (values[(n-1)/2].NS+values[n/2].NS)/2, values[n-1].NS
	s.Worst = append(s.Worst, values[:min(3, len(values))]...)
	return s
}

// Group is ranks that exchange data with one another.
type Group struct {
	// Name lists its ranks: "0–7". Part is the stage that the files' names say.
	Name  string `json:"name"`
	Part  string `json:"part,omitempty"`
	Ranks int    `json:"ranks"`
	Steps int    `json:"steps"`
	// Collectives were matched. At Tied of them the last ranks arrive together; Unmatched are those of single ranks.
	Collectives int `json:"collectives"`
	Tied        int `json:"tied"`
	Unmatched   int `json:"unmatched"`
	// Step is the median rank's wall time per step. Wait is by rank. Transfer is the time in which all ranks exchange.
	Step     int64  `json:"step_ns"`
	Wait     Spread `json:"wait"`
	Transfer int64  `json:"transfer_ns"`
	// Late is the rank that the others wait for, nil for none.
	Late *Late `json:"late,omitempty"`
	// Skew is the longest wait of a rank in each step, in order.
	Skew []int64 `json:"skew_ns"`
	// Rows are the ranks, each by itself.
	Rows []Row `json:"rank_rows,omitempty"`
	// Alike counts ranks whose own work and idle time differ by at most Within of a step from the median's; Differs
	// are the others, the most different first.
	Alike   int       `json:"alike"`
	Within  float64   `json:"within"`
	Differs []Differs `json:"differs"`
	// Imbalance is what one rank has a larger share of than the mean.
	Imbalance []Imbalance `json:"imbalance"`

	meanWait int64
}

// Row is one rank of a group.
type Row struct {
	Rank   string `json:"rank"`           // name of the rank
	File   string `json:"file"`           // file of the rank
	Device int    `json:"device"`         // GPU's index in the file
	Host   string `json:"host,omitempty"` // machine that it was recorded on
	Steps  int    `json:"steps"`          // number of steps
	Wall   int64  `json:"step_ns"`        // mean step
	Busy   int64  `json:"busy_ns"`        // time of the steps in which a kernel runs
	Wait   int64  `json:"wait_ns"`        // time of the steps in which it waits for other ranks
	Waited int64  `json:"wait_total_ns"`  // in all matched collectives
	Last   int    `json:"last"`           // collectives at which it alone arrives last
	Tokens int64  `json:"tokens"`         // −1 unknown
	// Clock is how far its clock is ahead of the first rank's.
	Clock int64 `json:"clock_ns"`
}

// Differs says in what a rank differs from the others of its group.
type Differs struct {
	Rank string `json:"rank"` // name of the rank
	// What is an operator or a cause of idle time; NS is per step, more than the median rank.
	What  string  `json:"what"`
	NS    int64   `json:"ns"`
	Share float64 `json:"share"`
}

// Load is what ranks divide among them.
type Load string

// The loads: tokens and requests of a step, and the time that routed experts take.
const (
	Tokens   Load = "tokens"
	Requests Load = "requests"
	Experts  Load = "experts"
)

// Imbalance is what one rank has more of than the others.
type Imbalance struct {
	What  Load    `json:"what"`  // of it
	Rank  string  `json:"rank"`  // with most
	Most  int64   `json:"most"`  // what that has per step; of experts nanoseconds
	Mean  int64   `json:"mean"`  // of the ranks
	Ratio float64 `json:"ratio"` // Most by Mean
}

// Late is the rank that the others wait for.
type Late struct {
	Rank string `json:"rank"` // name of the rank
	// Last of Decided collectives it arrives last at, alone.
	Last    int `json:"last"`
	Decided int `json:"decided"`
	// Least of Steps it waits least in, alone.
	Least int `json:"least"`
	Steps int `json:"steps"`
	// PerStep is how much less it waits than the median of the others; Share is that of a step.
	PerStep int64   `json:"ns"`
	Share   float64 `json:"share"`
	// Since is the number, or place, of the first step from which on it is late; Always that it is so in the full
	// window.
	Since  int64 `json:"since_step"`
	Always bool  `json:"always"`
	// Cause is why it is idle where it is late by idle time, Operator which one takes longer, Tokens and Requests how
	// many more it has than the median of the others where it has more. Excess is what that explains, Name what ran
	// meanwhile.
	Cause    finding.Cause `json:"cause,omitempty"`
	Operator string        `json:"operator,omitempty"`
	Tokens   int64         `json:"more_tokens,omitempty"`
	Requests int64         `json:"more_requests,omitempty"`
	Excess   int64         `json:"excess_ns"`
	Name     string        `json:"name,omitempty"`
}

// byCollectives says whether it arrives last at more collectives than chance explains.
func (l *Late) byCollectives() bool { return stat.SignTest(l.Last, l.Decided) <= lateBy }

// Why says in a clause what the rank does before it arrives.
func (l *Late) Why() string {
	switch {
	case l.Cause != finding.NoCause && l.Name != "":
		return fmt.Sprintf("%s (%s)", l.Cause.Info().Why, l.Name)
	case l.Cause != finding.NoCause:
		return l.Cause.Info().Why
	case l.Operator != "" && l.Tokens > 0:
		return fmt.Sprintf("it has %d more tokens per step, mostly in %s", l.Tokens, l.Operator)
	case l.Operator != "" && l.Requests > 0:
		return fmt.Sprintf("it has %d more requests per step, mostly in %s", l.Requests, l.Operator)
	case l.Operator != "":
		return "its " + l.Operator + " takes longer"
	}
	return "its digest does not show why"
}

// OfRun combines the digests of one recording. The order of the digests does not matter.
func OfRun(ranks []Rank) Run {
	var set Set
	for _, r := range ranks {
		set.Add(r)
	}
	sorted := set.Ranks()
	files := map[string]bool{} // a file may hold several GPUs
	for i := range sorted {
		files[sorted[i].File] = true
	}
	run := Run{Files: len(files), Missing: []int{}, Bad: []Duplicate{}, Twice: []Duplicate{}, Health: trace.HealthOK,
		GPUs: []string{}, Models: []string{}, Groups: []Group{}, Findings: []finding.Finding{}, Shared: []Shared{}}
	parts := map[string][]*Rank{}
	var names []string
	for i := range sorted {
		r := &sorted[i]
		run.Run, run.Commit, run.Date = r.Run, cmp.Or(run.Commit, r.Commit), cmp.Or(run.Date, r.Date)
		if r.Bad != "" {
			run.Bad, run.Health = append(run.Bad, Duplicate{File: r.File, Why: r.Bad}),
				worse(run.Health, trace.HealthDegraded)
			continue
		}
		if parts[r.Part] == nil {
			names = append(names, r.Part)
		}
		parts[r.Part] = append(parts[r.Part], r)
	}
	var all []*member
	ids := map[string]bool{}
	for _, part := range names {
		members, twice := identify(parts[part])
		run.Twice = append(run.Twice, twice...)
		for _, m := range members {
			all = append(all, m)
			ids[m.label] = true
			run.World, run.Health = max(run.World, m.World), worse(run.Health, m.Health)
			run.GPUs, run.Models = include(run.GPUs, m.GPU), include(run.Models, m.Model)
		}
		for _, g := range groupsOf(members) {
			run.Groups = append(run.Groups, g.measure(part))
		}
	}
	run.Ranks = len(ids)
	run.findMissing(all)
	run.sumUp(all)
	run.findings()
	run.Shared = share(all)
	return run
}

func worse(a, b trace.HealthStatus) trace.HealthStatus {
	if b.Compare(a) > 0 {
		return b
	}
	return a
}

func include(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	list = append(list, s)
	slices.Sort(list)
	return list
}

// mostMissing is how many missing ranks are listed; a job's size is what a file says.
const mostMissing = 4096

// findMissing lists ranks that the job has, the groups name, or that lie between others, and no file holds. GPUs whose
// ranks are not known have no gaps.
func (run *Run) findMissing(all []*member) {
	have, last := map[int]bool{}, trace.None
	for _, m := range all {
		if !m.numbered {
			continue
		}
		have[m.id] = true
		last = max(last, m.id)
		for _, g := range m.Groups {
			for _, r := range g.Ranks {
				last = max(last, r)
			}
		}
	}
	if last == trace.None {
		return
	}
	for n := range min(max(run.World, last+1), len(have)+mostMissing) {
		if !have[n] {
			run.Missing = append(run.Missing, n)
		}
	}
	run.NumMissing = len(run.Missing)
}

// sumUp measures the steps of ranks over all groups.
func (run *Run) sumUp(all []*member) {
	waits := map[string]int64{}
	for i := range run.Groups {
		for _, v := range run.Groups[i].waits() {
			waits[v.Rank] += v.NS
		}
	}
	var walls, waiting []Value
	for _, m := range all {
		if m.mean.steps > 0 {
			walls = append(walls, Value{m.label, m.mean.wall})
		}
		if w, ok := waits[m.label]; ok {
			waiting = append(waiting, Value{m.label, w})
			delete(waits, m.label)
		}
	}
	run.Step, run.Wait = spreadOf(walls), spreadOf(waiting)
}

// rowSum is what the ranks of a group do in one step: how long each waits, and at how many collectives it is last.
type rowSum struct {
	waits []int64
	last  []int
	// decided collectives have one last rank.
	decided int
	// least waits least of all, alone; trace.None where no rank does.
	least int
}

// mostlyLast says whether a rank is the last one at most collectives of the step.
func (s *rowSum) mostlyLast(rank int) bool { return s.decided == 0 || 2*s.last[rank] > s.decided }

// sum measures one step.
func (g *group) sum(row []int, out *Group) rowSum {
	s := rowSum{waits: make([]int64, len(g.lanes)), last: make([]int, len(g.lanes))}
	out.Unmatched += g.each(row, func(m meeting) {
		out.Collectives++
		least := slices.Min(m.took)
		first := slices.Index(m.took, least)
		out.Transfer += least
		for k, lane := range m.lanes {
			s.waits[lane] += m.took[k] - least
		}
		if slices.Contains(m.took[first+1:], least) {
			out.Tied++
			return
		}
		s.last[m.lanes[first]]++
		s.decided++
	})
	s.least = alone(s.waits, row)
	return s
}

// alone is the rank of a row that waits least, trace.None if several do.
func alone(waits []int64, row []int) int {
	rank, tied := trace.None, false
	for k, at := range row {
		switch {
		case at == trace.None:
		case rank == trace.None || waits[k] < waits[rank]:
			rank, tied = k, false
		case waits[k] == waits[rank]:
			tied = true
		}
	}
	if tied {
		return trace.None
	}
	return rank
}

// measure says who waits in a group, and for whom.
func (g *group) measure(part string) Group {
	n := len(g.lanes)
	out := Group{Part: part, Ranks: n, Steps: len(g.rows), Skew: []int64{}, Differs: []Differs{},
		Imbalance: []Imbalance{}}
	sums := make([]rowSum, len(g.rows))
	for i, row := range g.rows {
		sums[i] = g.sum(row, &out)
		out.Skew = append(out.Skew, slices.Max(sums[i].waits))
	}
	out.Transfer = each(out.Transfer, len(g.rows))
	var walls []int64
	var ids []int
	var unnumbered []string
	for k, l := range g.lanes {
		r := Row{Rank: l.label, File: l.File, Device: l.Device, Host: l.Host, Wall: l.mean.wall, Busy: l.mean.busy,
			Tokens: l.mean.tokens, Clock: l.shift}
		for i, row := range g.rows {
			r.Waited, r.Last = r.Waited+sums[i].waits[k], r.Last+sums[i].last[k]
			if row[k] != trace.None {
				r.Steps++
			}
		}
		r.Wait = each(r.Waited, r.Steps)
		out.Rows = append(out.Rows, r)
		walls = append(walls, r.Wall)
		if l.id >= 0 {
			ids = append(ids, l.id)
		} else {
			unnumbered = append(unnumbered, l.label)
		}
		out.meanWait += r.Wait
	}
	out.meanWait = each(out.meanWait, n)
	out.Name = strings.Join(slices.Concat(rangesOf(ids), unnumbered), ", ")
	out.Step, out.Wait = middle(walls), spreadOf(out.waits())
	for _, from := range []int{0, len(g.rows) / 2} { // a rank that is late since lately
		if out.Late = g.late(&out, sums, from); out.Late != nil {
			break
		}
	}
	g.compare(&out)
	return out
}

// waits are how long the ranks wait, none where no collective was matched.
func (g *Group) waits() (out []Value) {
	if g.Collectives == 0 {
		return nil
	}
	for _, r := range g.Rows {
		out = append(out, Value{r.Rank, r.Wait})
	}
	return out
}

// late finds the rank that waits least from a step on, and says whether it is last at collectives, or waits least in
// steps, by more than chance; nil where not. Who is late once a step is the last one at few of its collectives.
func (g *group) late(out *Group, sums []rowSum, from int) *Late {
	n := len(g.lanes)
	waits, last, least, in, decided, steps := make([]int64, n), make([]int, n), make([]int, n), make([]int, n), 0, 0
	all := func(row []int) bool { return !slices.Contains(row, trace.None) } // the last of some ranks may be none of all
	complete := slices.ContainsFunc(g.rows[from:], all)
	for i := from; i < len(sums); i++ {
		if complete && !all(g.rows[i]) {
			continue
		}
		decided += sums[i].decided
		if k := sums[i].least; k != trace.None {
			least[k]++
			steps++
		}
		for k, at := range g.rows[i] {
			waits[k], last[k] = waits[k]+sums[i].waits[k], last[k]+sums[i].last[k]
			if at != trace.None {
				in[k]++
			}
		}
	}
	for k := range waits {
		waits[k] = each(waits[k], in[k])
	}
	late := slices.Index(waits, slices.Min(waits))
	l := &Late{Rank: out.Rows[late].Rank, Last: last[late], Decided: decided, Least: least[late], Steps: steps,
		Since: trace.None}
	isLate := func(s *rowSum) bool { return s.mostlyLast(late) }
	if !l.byCollectives() {
		if stat.SignTest(l.Least, l.Steps) > lateBy {
			return nil
		}
		isLate = func(s *rowSum) bool { return s.least == late }
	}
	l.PerStep = middle(slices.Delete(slices.Clone(waits), late, late+1)) - waits[late]
	if out.Step > 0 {
		l.Share = float64(l.PerStep) / float64(out.Step)
	}
	if l.Share < leastShare {
		return nil
	}
	since := len(sums)
	for i := len(sums) - 1; i >= 0 && isLate(&sums[i]); i-- {
		since = i
	}
	if l.Always = since == 0; since < len(sums) {
		l.Since = int64(since)
		if row := g.rows[since]; row[late] != trace.None && g.lanes[late].steps[row[late]].Number != trace.None {
			l.Since = g.lanes[late].steps[row[late]].Number
		}
	}
	g.explain(l, late)
	return l
}

// work is an operator, or what causes idle time.
type work struct {
	operator string
	cause    finding.Cause
}

func (w work) String() string {
	if w.operator == "" {
		return "idle: " + w.cause.String()
	}
	return w.operator
}

// profile is what a lane does per step by itself: time by work, and its part of each of loads, negative unknown.
type profile struct {
	times map[work]int64
	loads [3]int64
}

// loads is what ranks divide among them.
var loads = [3]Load{Tokens, Requests, Experts}

// profile is the mean of the lane's complete steps, or of all if none is complete.
func (l *lane) profile() profile {
	all := !slices.ContainsFunc(l.steps, func(s laneStep) bool { return !s.Partial })
	p := profile{times: map[work]int64{}}
	n := 0
	for i := range l.steps {
		s := &l.steps[i]
		if s.Partial && !all {
			continue
		}
		n++
		for _, o := range s.Operators {
			p.times[work{operator: o.Name}] += o.NS
		}
		for _, c := range s.Idle {
			if !waits(c.Cause) {
				p.times[work{cause: c.Cause}] += c.NS
			}
		}
		for k, count := range [2]int64{s.Tokens, s.Requests} {
			if p.loads[k] += count; count < 0 || p.loads[k] < 0 {
				p.loads[k] = -maxTime // whatever is added, it stays unknown
			}
		}
	}
	for w := range p.times {
		p.times[w] = each(p.times[w], n)
	}
	p.loads[0], p.loads[1] = each(p.loads[0], n), each(p.loads[1], n)
	for _, operator := range []string{opname.ExpertsGateUp, opname.ExpertsActivation, opname.ExpertsDown} {
		p.loads[2] += p.times[work{operator: operator}]
	}
	return p
}

// waits says that idle time of the cause is no rank's own: it waits for others, or has nothing to do.
func waits(c finding.Cause) bool {
	g := c.Group()
	return g == finding.RanksGroup || g == finding.RequestsGroup || g == finding.ProfilerGroup
}

func (g *group) profiles() []profile {
	all := make([]profile, len(g.lanes))
	for k, l := range g.lanes {
		all[k] = l.profile()
	}
	return all
}

// typical is the median profile.
func typical(all []profile) (mid profile) {
	times := map[work][]int64{}
	for k := range all {
		for w, ns := range all[k].times {
			times[w] = append(times[w], ns)
		}
	}
	mid.times = map[work]int64{}
	for w, list := range times {
		mid.times[w] = middle(append(list, make([]int64, len(all)-len(list))...))
	}
	for i := range loads {
		var list []int64
		for k := range all {
			list = append(list, all[k].loads[i])
		}
		mid.loads[i] = middle(list)
	}
	return mid
}

// excess is work that a rank spends another time on than it is typical.
type excess struct {
	work
	ns int64
}

// over lists what a rank spends more time on than mid, the largest first.
func (p *profile) over(mid *profile) (out []excess) {
	for w, ns := range p.times {
		out = append(out, excess{w, ns - mid.times[w]})
	}
	for w, ns := range mid.times {
		if _, ok := p.times[w]; !ok {
			out = append(out, excess{w, -ns})
		}
	}
	slices.SortFunc(out, func(a, b excess) int {
		return cmp.Or(cmp.Compare(b.ns, a.ns), cmp.Compare(a.operator, b.operator), cmp.Compare(a.cause, b.cause))
	})
	return out
}

// explain names what the late rank spends more time on than the others.
func (g *group) explain(l *Late, late int) {
	all := g.profiles()
	own := all[late]
	mid := typical(slices.Delete(all, late, late+1))
	list := own.over(&mid)
	if len(list) == 0 || float64(list[0].ns) < causeShare*float64(l.PerStep) {
		// No single cause: whether the host or the GPU causes it, and the largest of that side.
		var host, gpu int64
		for _, e := range list {
			if e.operator == "" {
				host += e.ns
			} else {
				gpu += e.ns
			}
		}
		if float64(max(host, gpu)) < causeShare*float64(l.PerStep) {
			return
		}
		list = slices.DeleteFunc(list, func(e excess) bool { return (e.operator == "") != (host > gpu) })
		list[0].ns = max(host, gpu)
	}
	l.Excess, l.Cause, l.Operator = list[0].ns, list[0].cause, list[0].operator
	if l.Operator == "" {
		for _, n := range g.lanes[late].Names {
			if n.Cause == l.Cause {
				l.Name = n.Name
			}
		}
		return
	}
	for i, more := range []*int64{&l.Tokens, &l.Requests} {
		if by := own.loads[i] - mid.loads[i]; mid.loads[i] > 0 && float64(by) > tokenShare*float64(mid.loads[i]) {
			*more = by
		}
	}
}

// compare separates the ranks that are alike from the others, and says what is divided unevenly among them.
func (g *group) compare(out *Group) {
	if len(g.lanes) < 2 || out.Step <= 0 {
		out.Alike = len(g.lanes)
		return
	}
	all := g.profiles()
	mid := typical(all)
	list := make([]Differs, len(all))
	sizes := make([]int64, len(all))
	for k := range all {
		d := Differs{Rank: g.lanes[k].label}
		if over := all[k].over(&mid); len(over) > 0 {
			most := over[0]
			if last := over[len(over)-1]; abs(last.ns) > abs(most.ns) {
				most = last
			}
			d.What, d.NS = most.String(), most.ns
		}
		d.Share = float64(d.NS) / float64(out.Step)
		list[k], sizes[k] = d, abs(d.NS)
	}
	usual := middle(sizes)
	for _, d := range list {
		if share := max(d.Share, -d.Share); share > alikeShare && abs(d.NS) > unlikeBy*usual {
			out.Differs = append(out.Differs, d)
		} else {
			out.Alike++
			out.Within = max(out.Within, share)
		}
	}
	slices.SortStableFunc(out.Differs, func(a, b Differs) int { return cmp.Compare(abs(b.NS), abs(a.NS)) })
	g.imbalance(out, all)
}

// imbalance says what the ranks have unequal shares of.
func (g *group) imbalance(out *Group, all []profile) {
	for i, load := range loads {
		var of []int64
		var sum int64
		for k := range all {
			of, sum = append(of, all[k].loads[i]), sum+all[k].loads[i]
		}
		most := slices.Index(of, slices.Max(of))
		u := Imbalance{What: load, Rank: g.lanes[most].label, Most: of[most], Mean: each(sum, len(all)),
			Ratio: float64(of[most]) * float64(len(all)) / float64(sum)}
		if slices.Min(of) >= 0 && u.Ratio > 1+tokenShare {
			out.Imbalance = append(out.Imbalance, u)
		}
	}
}

// each is a sum by how many it is of; 0 of none.
func each(sum int64, n int) int64 {
	if n == 0 {
		return 0
	}
	return sum / int64(n)
}

// middle is the median, the upper one of an even number; 0 of none.
func middle(list []int64) int64 {
	if len(list) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(list))[len(list)/2]
}

// rangesOf writes numbers as ranges: "0–3", "8".
func rangesOf(ids []int) []string {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	var out []string
	for i := 0; i < len(ids); {
		j := i
		for j+1 < len(ids) && ids[j+1] == ids[j]+1 {
			j++
		}
		out = append(out, table.Span(int64(ids[i]), int64(ids[j])))
		i = j + 1
	}
	return out
}
