package hostoverhead

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/hostoverhead/internal/settings"
)

// advice is what the ledger supports, most time first, and what would make the answer surer.
func (a *account) advice(v *Verdict, p *params) []Advice {
	out := []Advice{}
	byCause := map[string]*IdleCause{}
	for i := range v.Idle {
		byCause[v.Idle[i].Cause] = &v.Idle[i]
	}
	least := max(1, int64(p.AdviceShare*float64(v.Headroom.WallNS)))
	add := func(c string, s settings.Setting, why string) {
		if x := byCause[c]; x != nil && x.StepsNS >= least {
			largest := ""
			if n := x.Names[0]; n.Name != "" {
				largest = x.mostOf(names.Short(n.Name, wideName))
			}
			out = append(out, Advice{Do: s.Do, Why: fmt.Sprintf("%s of the %s %s (%s)%s", percent(x.Share), v.Basis, why, microseconds(x.StepsNS), largest), Source: s.Source, NS: x.StepsNS})
		}
	}
	f := a.l.w.server()
	d := f.Key()
	a.launchAdvice(v, d, byCause, least, &out)
	for _, x := range settings.ByCause {
		add(x.Cause, x.Setting, x.Why)
	}
	slices.SortStableFunc(out, func(x, y Advice) int { return cmp.Compare(y.NS, x.NS) })
	return append(out, a.recordAdvice(v)...)
}

// launchAdvice rests on exposed launch time alone: launch calls that hide behind GPU work cost nothing.
func (a *account) launchAdvice(v *Verdict, dialect string, byCause map[string]*IdleCause, least int64, out *[]Advice) {
	if x := byCause[causeLaunch]; x != nil && x.StepsNS >= least {
		s := launchSetting(&v.Ranks[v.Deciding], dialect)
		*out = append(*out, Advice{Do: s.Do, Source: s.Source, NS: x.StepsNS,
			Why: fmt.Sprintf("launch calls that nothing hides take %s of the %s (%s)", percent(x.Share), v.Basis, microseconds(x.StepsNS))})
	}
	if x := byCause[causeGraphLaunch]; x != nil && x.StepsNS >= least {
		*out = append(*out, Advice{Do: "make fewer, larger graphs, and launch the next one before the device is done", Source: settings.TorchCUDA + "#cuda-graphs", NS: x.StepsNS,
			Why: fmt.Sprintf("launches of graphs that nothing hides take %s of the %s (%s)", percent(x.Share), v.Basis, microseconds(x.StepsNS))})
	}
	for _, d := range v.Ranks[v.Deciding].Drains {
		if d.StepsNS >= least {
			s := settings.Of(settings.OverlapSteps, dialect)
			*out = append(*out, Advice{Do: s.Do, Source: s.Source, NS: d.StepsNS,
				Why: fmt.Sprintf("%s of host work follows %s, which had emptied the queue between two steps", microseconds(d.StepsNS), d.Name)})
		}
	}
}

// launchSetting is what helps against exposed launches, in the stage that has most of them: graphs of that kind of step, or
// wider ones where most of its kernel time is replayed already.
func launchSetting(r *RankVerdict, dialect string) settings.Setting {
	single := func(list []Path) (exposed int64) {
		for _, p := range list {
			if p.Path != pathNames[pathGraph] {
				exposed += p.ExposedNS
			}
		}
		return exposed
	}
	phase, paths, most := names.Generation, r.Paths, int64(-1)
	for i := range r.Stages {
		if s := &r.Stages[i]; single(s.Paths) > most {
			phase, paths, most = names.Phase(s.Stage), s.Paths, single(s.Paths)
		}
	}
	var replayed, rest int64
	for _, p := range paths {
		if p.Path == pathNames[pathGraph] {
			replayed += p.TimeNS
		} else {
			rest += p.TimeNS
		}
	}
	switch {
	case replayed > rest:
		return settings.BesideGraph
	case phase == names.Context:
		return settings.Of(settings.PrefillGraphs, dialect)
	}
	return settings.Of(settings.CaptureGraphs, dialect)
}

// recordAdvice says what to record to be surer.
func (a *account) recordAdvice(v *Verdict) []Advice {
	var out []Advice
	add := func(do, why string) {
		if !slices.ContainsFunc(out, func(x Advice) bool { return x.Do == do }) {
			out = append(out, Advice{Do: do, Why: why})
		}
	}
	nsys := a.l.w.t.Meta().Source == "nsys"
	for _, d := range v.Doubts {
		switch d.Code {
		case "graph-kernels-hidden", "graph-launches-without-kernels":
			add("record again with nsys profile --cuda-graph-trace=node to see the kernels inside graph replays", d.Message)
		case "host-work-unnamed":
			if nsys {
				add("record again with nsys profile --trace=cuda,nvtx,osrt and ranges in the host code, to name it", d.Message)
			} else {
				add("record again with annotations (record_function) or with_stack=True, to name the host code", d.Message)
			}
		case "python-tracing":
			add("record once more without Python stacks to see how much it really is; this recording tells the names", d.Message)
		case "one-long-gap", "window-is-not-steady", "few-kernels", "few-steps", "no-steps", "graph-capture":
			add("record a window of more steps inside the steady run, after warm-up and under load", d.Message)
		}
	}
	if v.Verdict == answerUnclear && !slices.ContainsFunc(out, func(x Advice) bool { return strings.Contains(x.Do, "to name") }) {
		add("record launch calls and what the host does (nsys --trace=cuda,nvtx,osrt; torch.profiler: activities CPU and CUDA, with_stack=True)",
			fmt.Sprintf("%s of idle time is unexplained", microseconds(v.Headroom.UnknownNS)))
	}
	if v.Verdict == answerNo && v.Confidence != confidenceLow {
		add("look at the kernels instead: triage and speed of light say what they could save", "the host costs "+percent(v.Headroom.Share)+" of the "+v.Basis)
	}
	return out
}
