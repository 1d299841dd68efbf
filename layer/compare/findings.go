package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// findings lists what is beyond noise.
func (c *comparison) findings(r *Report) {
	add := func(kind, operator, text string, delta time.Duration) {
		r.Findings = append(r.Findings, Finding{Kind: kind, Operator: operator, Text: text, Delta: delta, StartA: r.A.Start, StartB: r.B.Start})
	}
	if c.kinds.uniform {
		add("uniform", "", fmt.Sprintf("all kernels take %+.1f %% (a clock, a power cap, a driver: one run a side does not say which)", 100*(math.Exp(c.kinds.shift)-1)),
			time.Duration(c.sums[0]*(math.Exp(c.kinds.shift)-1)))
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		if !row.Significant {
			if c.sameGPU && row.Judged && row.A >= c.least() && c.otherKernel(row) {
				add("rename", row.Operator, fmt.Sprintf("%s runs %s instead of %s, as often and as long", row.Operator, short(row.KernelsB[0]), short(row.KernelsA[0])), row.Delta)
			}
			continue
		}
		kind := "operator"
		switch {
		case row.Status != "":
			kind = row.Status
		case c.classOf(row.Operator) == waiting:
			kind = "waiting"
		}
		add(kind, row.Operator, row.Text, row.Delta)
	}
	c.path(r, add)
}

// otherKernel reports whether a row runs a kernel of another name, as often as before.
func (c *comparison) otherKernel(r *Row) bool {
	return len(r.KernelsA) > 0 && len(r.KernelsB) > 0 && r.KernelsA[0] != r.KernelsB[0] && abs(r.Delta) < c.least() &&
		math.Abs(r.LaunchesA-r.LaunchesB) <= c.p.RenameCount*r.LaunchesA
}

func (c *comparison) classOf(name string) class {
	return c.series[slices.Index(c.names, name)].class
}

// sentence says what a row's difference is.
func (r *Row) sentence() string {
	switch r.Status {
	case "new":
		return fmt.Sprintf("%s is new: %s a pass", r.Operator, micros(r.B))
	case "removed":
		return fmt.Sprintf("%s is gone: %s a pass before", r.Operator, micros(r.A))
	}
	s := fmt.Sprintf("%s %s → %s, %s", r.Operator, micros(r.A), micros(r.B), signed(r.Delta))
	if r.A > 0 {
		s += fmt.Sprintf(" (%+.1f %%)", 100*float64(r.Delta)/float64(r.A))
	}
	if len(r.KernelsA) > 0 && len(r.KernelsB) > 0 && r.KernelsA[0] != r.KernelsB[0] {
		s += fmt.Sprintf("; %s instead of %s", short(r.KernelsB[0]), short(r.KernelsA[0]))
	}
	return s
}

// paths are the shares of a side's kernels that graph replays launch, and that a compiler wrote.
func paths(s *Side, ch *chosen) (graph, compiled float64) {
	n := float64(max(ch.count(), 1))
	for i, passes := range ch.passes {
		for _, p := range passes {
			graph += s.Runs[i].Passes[p].Graph / n
			compiled += s.Runs[i].Passes[p].Compiled / n
		}
	}
	return graph, compiled
}

// path says where one side replays graphs, or runs compiled code, and the other does not.
func (c *comparison) path(r *Report, add func(kind, operator, text string, delta time.Duration)) {
	if a, b := r.A.Graph, r.B.Graph; math.Abs(a-b) > c.p.OtherPath {
		add("path", "", fmt.Sprintf("A launches %.0f %% of its kernels by graph replays, B %.0f %%: the two do not take the same path", 100*a, 100*b), 0)
	}
	if a, b := r.A.Compiled, r.B.Compiled; math.Abs(a-b) > c.p.OtherCompiled {
		add("path", "", fmt.Sprintf("a compiler wrote %.0f %% of A's kernels and %.0f %% of B's: the two do not take the same path", 100*a, 100*b), 0)
	}
}

// least is the smallest finding.
func (c *comparison) least() time.Duration { return time.Duration(c.p.MinShare * c.pass) }

// hostFindings judges what the host does in the steps of the compared passes.
func (c *comparison) hostFindings(r *Report, o *Options) {
	a, b := hosts(c.a, c.ca), hosts(c.b, c.cb)
	if len(a) == 0 || len(b) == 0 {
		return
	}
	own := *o
	if own.Floor == 0 {
		own.Floor = c.noise.common
	}
	r.Host = CompareHost(a, b, own)
	if o.HostApart {
		return
	}
	for i := range r.Host.Rows {
		row := &r.Host.Rows[i]
		kind := "host"
		switch {
		case row.Status == "renamed" && row.B >= r.Host.Least:
		case !row.Significant:
			continue
		}
		if row.Status != "" {
			kind += "-" + row.Status
		}
		r.Findings = append(r.Findings, Finding{Kind: kind, Operator: row.Name, Text: row.sentence(), Delta: row.Delta, StartA: r.A.Start, StartB: r.B.Start})
	}
}

// ofHost reports whether a finding is about what the host does.
func (f *Finding) ofHost() bool { return strings.HasPrefix(f.Kind, "host") }

// worst names the worst clear change of either kind, for First. Idle time is what an operation of the host may have caused, which is named with it.
func (r *Report) worst() Finding {
	var worst, slow *Finding // of all; of the host's
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Delta <= 0 || f.Kind == "path" || f.Kind == "rename" || f.Kind == "host-renamed" {
			continue
		}
		if worst == nil || f.Delta > worst.Delta {
			worst = f
		}
		if f.ofHost() && (slow == nil || f.Delta > slow.Delta) {
			slow = f
		}
	}
	if worst == nil && r.Verdict == slower {
		return Finding{Kind: "pass", Delta: r.Delta, Text: fmt.Sprintf("the pass as a whole, %s: no part of it is told from noise", signed(r.Delta))}
	}
	if worst == nil {
		return Finding{Kind: "none", Text: "no clear change for the worse"}
	}
	t := *worst
	if worst.Kind == "waiting" && slow != nil {
		t.Text += "; meanwhile " + slow.Text
	}
	return t
}

// conclude says what the comparison comes to.
func (c *comparison) conclude(r *Report) {
	var net time.Duration
	found := 0
	for _, f := range r.Findings {
		if f.Kind != "path" && f.Kind != "rename" && !f.ofHost() { // the host's time is not the pass's
			net += f.Delta
			found++
		}
	}
	limit := time.Duration(c.p.Equivalent * c.pass)
	least := c.least()
	percent := 100 * float64(r.Delta) / c.pass
	switch {
	case r.doubtful() != nil:
		r.Verdict = inconclusive
	case found > 0 && net >= least:
		r.Verdict = slower
	case found > 0 && net <= -least:
		r.Verdict = faster
	case r.Work.Low > 0:
		r.Verdict = slower
	case r.Work.High < 0:
		r.Verdict = faster
	case r.Work.Low > -limit && r.Work.High < limit && abs(r.Delta) < limit:
		r.Verdict = noDifference
	default:
		r.Verdict = inconclusive
	}
	wall := fmt.Sprintf("a pass takes %s instead of %s (%+.1f %%)", millis(r.Work.B+r.waitB()), millis(r.Work.A+r.waitA()), percent)
	switch r.Verdict {
	case slower, faster:
		r.Text = fmt.Sprintf("B is %s: %s", r.Verdict, wall)
	case noDifference:
		r.Text = fmt.Sprintf("no significant difference: %s, and GPU work differs by less than %.0f %%", wall, 100*c.p.Equivalent)
	default:
		r.Text = fmt.Sprintf("inconclusive: %s; %s", wall, c.why(r, limit))
	}
	c.notes(r)
}

func (r *Report) waitA() time.Duration { return r.A.Wall - r.Work.A }
func (r *Report) waitB() time.Duration { return r.waitA() + r.Delta - r.Work.Delta }

// why says what keeps a comparison from a conclusion.
func (c *comparison) why(r *Report, limit time.Duration) string {
	if d := r.doubtful(); d != nil {
		return fmt.Sprintf("%s (--allow %s judges in spite of it)", d.Text, d.Code)
	}
	if abs(r.Delta-r.Work.Delta) >= limit {
		return fmt.Sprintf("most of it is waiting or idle time, which needs %d passes a side to be judged", c.p.WaitPasses)
	}
	return fmt.Sprintf("GPU work changed by %s to %s, which is neither clearly something nor clearly nothing", signed(r.Work.Low), signed(r.Work.High))
}

func (c *comparison) notes(r *Report) {
	note := func(format string, args ...any) { r.Notes = append(r.Notes, fmt.Sprintf(format, args...)) }
	note("noise: %d and %d passes, %d and %d runs; between-run floor %.2f %% (%s)", r.A.Passes, r.B.Passes, r.A.Runs, r.B.Runs, 100*r.Floor, r.FloorFrom)
	if !c.runs {
		note("one run a side: offsets between runs cannot be seen; a change of all GPU work below about %s (%.1f %%) cannot be told from them",
			micros(time.Duration(c.work.seen(c.p, 1))), 100*c.work.seen(c.p, 1)/c.pass)
	}
	for _, s := range []*Side{c.a, c.b} {
		for i := range s.Runs {
			if s.Runs[i].Scrambled {
				note("%s: kernels of graph replays carry the times of other kernels, so that operators are not judged; the pass as a whole is (--repair-order)", s.Runs[i].Trace)
			}
			if h := s.Runs[i].Health; h != "" && h != "ok" {
				note("%s: the recording is %s", s.Runs[i].Trace, h)
			}
		}
	}
	if h := r.Host; h != nil && slices.ContainsFunc(h.Rows, func(row HostRow) bool { return row.Class == "host" }) {
		note("host: operations of %d and %d steps; floor %.1f %% (%s); at least %d steps a side are needed", h.StepsA, h.StepsB, 100*h.Floor, h.FloorFrom, c.p.HostSteps)
	}
	if c.scale != 1 {
		note("B is scaled by %.4g to the tokens of A", c.scale)
	}
}

func abs(d time.Duration) time.Duration { return max(d, -d) }

func micros(d time.Duration) string { return fmt.Sprintf("%.1f µs", float64(d)/1e3) }
func millis(d time.Duration) string { return fmt.Sprintf("%.3f ms", float64(d)/1e6) }
func signed(d time.Duration) string { return fmt.Sprintf("%+.1f µs", float64(d)/1e3) }

// short cuts a kernel's name at its arguments and templates.
func short(name string) string {
	name = strings.TrimPrefix(name, "void ")
	if i := strings.IndexAny(name, "<("); i > 0 {
		name = name[:i]
	}
	const most = 60
	if len(name) > most {
		name = name[:most] + "…"
	}
	return name
}
