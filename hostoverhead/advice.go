package hostoverhead

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// advice is what the ledger supports, most time first, and what would make the answer surer.
func (a *account) advice(v *Verdict, p *params) []Action {
	out, server, r := []Action{}, a.l.w.server(), v.decides()
	dialect := server.Key()
	if r.loads() {
		dialect = "" // a loader is no server's
	}
	if r.Captures {
		return a.recordAdvice(v)
	}
	least := int64(p.AdviceShare * float64(v.Headroom.WallNS))
	add := func(ns int64, s finding.Advice, why string) {
		if ns >= least {
			out = append(out, Action{Advice: s, Why: why, NS: ns})
		}
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		c := r.causeOf(f)
		largest := ""
		if n := f.Place.Name; n != "" && !c.saysItself() {
			largest = c.mostOf(names.Short(n, wideName))
		}
		add(int64(f.Total), f.Advice, fmt.Sprintf("for %s %s (%s) %s%s", percent(c.Share), v.Basis.Title(),
			nanos(c.StepsNS), c.Cause.Info().Why, largest))
	}
	for _, d := range r.Drains {
		if r.loads() {
			break // what follows is the loader: see above
		}
		add(d.StepsNS, adviceFor(overlapSteps, dialect),
			fmt.Sprintf("%s of host work follows %s, after it drained the queue between two steps", nanos(d.StepsNS),
				d.Name))
	}
	slices.SortStableFunc(out, func(x, y Action) int { return cmp.Compare(y.NS, x.NS) })
	for _, x := range a.recordAdvice(v) {
		if !advises(out, x.Do) {
			out = append(out, x)
		}
	}
	return out
}

// advises reports whether a list has this advice.
func advises(list []Action, do string) bool {
	return slices.ContainsFunc(list, func(x Action) bool { return x.Do == do })
}

// transferShare is the share of the steps in which only copies and sets run.
func (r *RankVerdict) transferShare() float64 {
	if r.Transfers == nil {
		return 0
	}
	return r.Transfers.Share
}

// causeOf is the row that a finding is about.
func (r *RankVerdict) causeOf(f *finding.Finding) *IdleCause {
	if f.Kind == finding.ExposedCopies {
		return r.Transfers
	}
	return &r.Idle[slices.IndexFunc(r.Idle, func(c IdleCause) bool { return c.Cause == f.Cause })]
}

// loads reports whether most of the host's time goes into loading data.
func (r *RankVerdict) loads() bool {
	var loading int64
	for i := range r.Idle {
		if c := &r.Idle[i]; c.Host {
			loading += c.within(ofLoader)
		}
	}
	return 2*loading > r.Headroom.HostNS
}

// within is the part of the time in the steps that is spent in what one of names says, or where it says so.
func (c *IdleCause) within(says func(name string) bool) (ns int64) {
	for _, n := range c.Names {
		if says(n.Name) || says(n.Where) {
			ns += n.StepsNS
		}
	}
	return ns
}

// adviceOn is the advice on idle time of a cause, with the flags of the server where they are known; record is what
// to record where the cause is unknown.
func adviceOn(c finding.Cause, r *RankVerdict, dialect, record string) finding.Advice {
	for i := range r.Idle {
		x := &r.Idle[i]
		if x.Cause != c || !x.Host || x.StepsNS == 0 {
			continue
		}
		if 2*x.within(ofLoader) > x.StepsNS {
			return loadAhead
		}
		if c == finding.HostCode && 2*x.within(names.Operator) > x.StepsNS {
			return launchSetting(r, dialect) // the code is that of starting operators one by one
		}
	}
	if c == finding.LaunchCall {
		return launchSetting(r, dialect)
	}
	advice := c.Info().Advice
	if c == finding.UnknownCause {
		advice.Do = record
	}
	return advice
}

// launchSetting is the setting against exposed launches, in the stage that has most of them: graphs of that kind of
// step, or wider ones where most of its kernel time is replayed already.
func launchSetting(r *RankVerdict, dialect string) finding.Advice {
	// byPath is the time of kernels from graphs, that of others, and what of launching those is exposed.
	byPath := func(list []Path) (replayed, rest, exposed int64) {
		for _, p := range list {
			if p.Path == pathNames[pathGraph] {
				replayed += p.TimeNS
			} else {
				rest, exposed = rest+p.TimeNS, exposed+p.ExposedNS
			}
		}
		return replayed, rest, exposed
	}
	phase, most := names.Generation, int64(-1)
	replayed, rest, _ := byPath(r.Paths)
	for _, s := range r.Stages {
		if x, y, exposed := byPath(s.Paths); exposed > most {
			phase, most, replayed, rest = names.Phase(s.Stage), exposed, x, y
		}
	}
	switch {
	case replayed > rest:
		return besideGraph
	case phase == names.Context:
		return adviceFor(prefillGraphs, dialect)
	}
	return adviceFor(captureGraphs, dialect)
}

// source is the program that recorded the trace.
func (a *account) source() trace.Source { return a.l.w.t.Meta().Source }

// recordLaunches is how to record what unexplained idle time lacks: launch calls, or, where the trace has most of them,
// those of the first kernels, or names of what the host does.
func (a *account) recordLaunches() string {
	t := a.l.w.t
	switch h := t.Health(); {
	case t.Len(event.LaneLaunch) == 0 || 2*h.Orphans > h.Activities:
		return "Record launch calls and what the host does: " + a.source().Record(trace.WantLaunches) + "."
	case float64(h.Orphans) > a.l.p.OrphanShare*float64(h.Activities):
		return DoubtLaunchesMissing.topic().do
	}
	return "Record what the host does between its launch calls: " + a.source().Record(trace.WantNames) + "."
}

// recordAdvice says what to record to be surer.
func (a *account) recordAdvice(v *Verdict) []Action {
	var out []Action
	add := func(do, why string) {
		if !advises(out, do) {
			out = append(out, Action{Advice: finding.Advice{Do: do}, Why: why})
		}
	}
	launches := a.recordLaunches()
	unnamed := false
	for _, d := range v.Doubts {
		switch code := DoubtCode(d.Code); {
		case code == DoubtHostWorkUnnamed:
			unnamed = true
			add("Record again to name the host code: "+a.source().Record(trace.WantNames)+".", d.Evidence)
		case code == DoubtNoLaunchCalls:
			add(launches, d.Evidence)
		case code != DoubtBusyWithCommunication || len(v.Ranks) == 1:
			add(d.Do, d.Evidence)
		}
	}
	switch {
	case v.Verdict == Inconclusive && !unnamed && v.Headroom.UnknownNS > 0 && !v.decides().Captures:
		add(launches, nanos(v.Headroom.UnknownNS)+" of idle time is unexplained")
	case v.Verdict == No && v.Confidence != finding.Low && v.decides().transferShare() < v.Threshold:
		add("Look at the kernels: run `strata triage` and `strata light`.",
			"the host costs "+percent(v.Headroom.Share)+" "+v.Basis.Title())
	}
	return out
}
