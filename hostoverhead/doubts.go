package hostoverhead

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// doubtIf is a doubt where something holds, none elsewhere. One without a weight speaks of the server.
func doubtIf(holds bool, code DoubtCode, weight finding.Band, format string, args ...any) finding.Finding {
	if !holds {
		return finding.Finding{}
	}
	kind := finding.Doubt
	if weight == finding.BandUnknown {
		kind = finding.ServingPath
	}
	t := code.topic()
	return finding.Finding{Kind: kind, Code: code.String(), Text: t.title, Evidence: fmt.Sprintf(format, args...),
		Confidence: weight, Advice: finding.Advice{Do: t.do}}
}

// certain leaves out the doubts that do not hold.
func certain(list Doubts) Doubts {
	return slices.DeleteFunc(list, func(d finding.Finding) bool { return d.Kind == finding.NoKind })
}

// doubts lists what speaks against the verdict.
func (a *account) doubts(v *Verdict, p *params) Doubts {
	w, r, h := a.l.w, v.decides(), a.l.w.t.Health()
	calls := w.t.Len(event.LaneLaunch) > 0
	list := certain(Doubts{
		// Recordings of little work. Whole graph replays are many kernels each.
		doubtIf(r.Kernels < p.FewKernels && a.d.rows == 0, DoubtFewKernels, finding.Low,
			"the window has only %s; a running server has more", table.Counted(r.Kernels, "kernel", "kernels")),
		doubtIf(r.Captures, DoubtGraphCapture, finding.Low,
			"the window captures graphs: it shows a server's start-up, not serving"),
		doubtIf(v.Basis == finding.OfWindow, DoubtNoSteps, finding.Medium,
			"no steps were found: shares are of the window, which includes start-up and pauses"),
		doubtIf(v.Basis != finding.OfWindow && r.Steps < p.FewSteps && r.ColdStart == "", DoubtFewSteps, finding.Medium,
			"the window has only %s; other steps may differ",
			table.Counted(r.Steps, "step", "steps")),
		// Recordings that lack what causes rest on, or hide what graph replays ran.
		doubtIf(!calls, DoubtNoLaunchCalls, finding.Medium,
			"no API calls were recorded: whether work was queued while the GPU was idle is unknown"),
		doubtIf(calls && float64(h.Orphans) > p.OrphanShare*float64(h.Activities), DoubtLaunchesMissing, finding.Medium,
			"%d of %d GPU activities have no launch call in the trace: the causes of the gaps before them are a guess, or "+
				"unknown", h.Orphans, h.Activities),
		a.unnamed(v, p),
		doubtIf(a.d.rows > 0, DoubtGraphKernelsHidden, finding.Medium,
			"%s recorded as a whole: they count as busy from end to end, gaps between their kernels are not seen",
			table.Counted(a.d.rows, "graph replay", "graph replays")),
		doubtIf(h.EmptyGraphs > 0, DoubtGraphLaunchesWithoutKernels,
			map[bool]finding.Band{true: finding.Medium, false: finding.Low}[slices.Contains(a.d.path, pathGraph)],
			"%s no kernels in the trace: idle time is overstated",
			table.Counted(h.EmptyGraphs, "graph launch has", "graph launches have")),
		doubtIf(r.DependsOn != "", DoubtOneRow, finding.Low,
			"the verdict depends on one row: %s; without it the verdict or the step time changes",
			r.DependsOn),
		doubtIf(r.ColdStart != "", DoubtColdStart, finding.Low, "%s", r.ColdStart),
		a.tracing(v, p), a.pause(v, p), a.warmUp(v, p), a.processes(r, p),
		doubtIf(r.Alone > p.CommunicationShare, DoubtBusyWithCommunication, finding.Medium,
			"only communication kernels run for %s of the busy time; waiting for other GPUs counts as busy", percent(r.Alone)),
	})
	for _, f := range w.layers.Health.Findings {
		if f.Severity != trace.HealthOK && incomplete(f) {
			list = append(list, doubtIf(true, DoubtTraceIncomplete, finding.Medium, "%s", f.Message))
		}
	}
	slices.SortStableFunc(list, func(a, b finding.Finding) int {
		return cmp.Or(cmp.Compare(a.Confidence, b.Confidence), cmp.Compare(a.Code, b.Code))
	})
	return list
}

// incomplete reports whether a finding says that events for idle time are missing or wrong. What graph
// replays hide has doubts of its own, and tables missing from an export are named by their content.
func incomplete(f trace.Remark) bool {
	switch f.Code {
	case trace.CodeEmptyGraphs, trace.CodeGraphRows, trace.CodeLossMissingTable:
		return false
	}
	return slices.ContainsFunc(f.Affects, func(a trace.Area) bool {
		return a == trace.AffectsIdle || a == trace.AffectsGPUTime || a == trace.AffectsCompleteness
	})
}

// unnamed doubts host time that nothing names.
func (a *account) unnamed(v *Verdict, p *params) finding.Finding {
	var ns int64
	for k, s := range a.names {
		if k.cause == finding.HostCode && k.name == 0 {
			ns += s.steps
		}
	}
	host := v.Headroom.HostNS
	return doubtIf(float64(ns) > p.UnnamedShare*float64(host) && v.Verdict != No, DoubtHostWorkUnnamed, finding.Medium,
		"%s of host time has no range, op or frame; it may include unrecorded waits",
		percentOf(ns, host))
}

// tracing doubts host time that recording Python frames made longer.
func (a *account) tracing(v *Verdict, p *params) finding.Finding {
	all, h := sumOf(a.steps), &v.Headroom
	code := all.idle[finding.HostCode] // calls are no slower for it
	saved := code - int64(float64(code)/p.TracingCost)
	rest, weight := part(h.HostNS-saved, h.WallNS-saved), finding.Medium
	if rest < p.MinShare {
		weight = finding.Low
	}
	return doubtIf(a.l.w.t.Len(event.LanePython) > 0 && v.Verdict == Yes, DoubtPythonTracing, weight,
		"Python stacks slow host code; at a %s speedup without them, host overhead is %s of %s",
		table.Times(p.TracingCost, 0), percent(rest), v.Basis.Span())
}

// pause looks for one gap that makes up much of the steps: start-up, or a server without requests, rather than a slow
// host.
func (a *account) pause(v *Verdict, p *params) finding.Finding {
	if len(a.top) == 0 {
		return finding.Finding{}
	}
	g := slices.MaxFunc(a.top, func(x, y gapAccount) int {
		inX, inY := x.inSteps(), y.inSteps()
		return cmp.Compare(inX.total(), inY.total())
	})
	sums := g.inSteps()
	h, n, weight := &v.Headroom, sums.total(), finding.Medium
	without := h.without(&sums)
	if p.answer(&without) != v.Verdict {
		weight = finding.Low
	}
	return doubtIf(float64(n) > p.DominantGap*float64(h.WallNS), DoubtOneLongGap, weight,
		"one gap of %s makes up %s of the time (start-up, or no requests?); without it the host costs %s", nanos(n),
		percentOf(n, h.WallNS), percent(without.share()))
}

// coldStart says that the host launches the work of a lone step in less time than the GPU takes for it: after another
// step, whose work the GPU still does, the host may be ahead. "" elsewhere.
func (a *account) coldStart() string {
	s := &a.steps[0]
	if len(a.steps) > 1 || s.step == nil {
		return ""
	}
	last := s.span.Start
	for _, e := range a.l.w.kernelsOf(a.d) {
		if l := e.Launch(); l.Valid() && int64(e.Start()) < s.span.End {
			last = max(last, int64(l.End()))
		}
	}
	host := last - s.span.Start
	if host == 0 || host > s.busy {
		return ""
	}
	return fmt.Sprintf("the only step begins on an idle GPU; the host launches its work in %s, and the GPU takes %s "+
		"for it", nanos(host), nanos(s.busy))
}

// warmUp compares the run with its steady steps.
func (a *account) warmUp(v *Verdict, p *params) finding.Finding {
	var found []hostStep
	var accounts, alone []stepAccount
	for _, s := range a.steps {
		if s.step != nil {
			found, accounts = append(found, *s.step), append(accounts, s)
		}
	}
	steady := steadySteps(found)
	for _, i := range steady {
		alone = append(alone, accounts[i])
	}
	sum := sumOf(alone)
	h := sum.headroom()
	return doubtIf(len(steady) < len(found) && p.answer(&h) != v.Verdict, DoubtWindowIsNotSteady, finding.Low,
		"over the %d steady steps alone the host costs %s, over all %s: warm-up or other stages decide the figure",
		len(steady), percentOf(h.HostNS, h.WallNS), percent(v.Headroom.Share))
}

// processes doubts a device that several processes launch on: they share it, or each has its own of that number.
func (a *account) processes(r *RankVerdict, p *params) finding.Finding {
	w := a.l.w
	threads := w.t.Threads()
	kernels := map[int64]int{}
	for _, e := range w.kernelsOf(a.d) {
		if l := e.Launch(); l.Valid() && l.Thread() >= 0 {
			kernels[threads[l.Thread()].Process]++
		}
	}
	maps.DeleteFunc(kernels, func(_ int64, n int) bool { return float64(n) < p.MinKernelShare*float64(r.Kernels) })
	return doubtIf(len(kernels) > 1, DoubtProcessesShareDevice, finding.Low,
		"%d processes launch on device %d: if each has a GPU of its own they are merged here by mistake", len(kernels),
		r.Device)
}

// percent is a share for people; NaN is one that is not known.
func percent(share float64) string {
	if math.IsNaN(share) {
		return "n/a"
	}
	return table.Pct(100*share, 1)
}

// percentOf is one time as a share of another.
func percentOf(num, den int64) string {
	if den <= 0 {
		return percent(math.NaN())
	}
	return percent(part(num, den))
}

// nanos formats a duration for people.
func nanos(ns int64) string { return table.Duration(time.Duration(ns)) }

// position formats a time since the trace's first event.
func position(ns int64) string { return table.Seconds(time.Duration(ns), 6) + " s" }

// servingIssues compares the server's settings with what the deciding device ran. Codes are DoubtNoGraphs,
// DoubtUnexpectedGraphs, DoubtNoCompiledCode and DoubtUnexpectedCompiledCode.
func (v *Verdict) servingIssues(a *account, args *profile.ServerArgs) Doubts {
	server := a.l.w.server().Name
	if args == nil {
		args = defaultArgs[server]
	}
	if args == nil {
		return Doubts{}
	}
	decode := a.stepsOf(layer.StageDecode, layer.StageVerify)
	paths, steps := sumOf(decode).paths, table.Counted(len(decode), "decode step", "decode steps")
	all := 0
	for _, p := range paths {
		all += p.kernels
	}
	who, source := cmp.Or(server, "the server"), cmp.Or(args.Path, "as given")
	replays, known := paths[pathGraph].kernels, a.l.w.t.Health().EmptyGraphs == 0
	said := func(x *bool, yes bool) bool { return x != nil && *x == yes }
	return certain(Doubts{
		doubtIf(known && said(args.Graphs, true) && replays == 0 && 2*paths[pathUnknown].kernels < all, DoubtNoGraphs,
			finding.BandUnknown,
			"%s replays graphs in decode (%s), but none of the %s of this window does: the window does not show what the "+
				"server does", who, source, steps),
		doubtIf(known && said(args.Graphs, false) && replays > 0, DoubtUnexpectedGraphs, finding.BandUnknown,
			"%s replays no graphs (%s), but graphs run %s of the %s of this window", who, source,
			table.Counted(replays, "kernel", "kernels"), steps),
		doubtIf(all > 0 && said(args.Compile, true) && a.d.compiled == 0, DoubtNoCompiledCode, finding.BandUnknown,
			"%s compiles the model (%s), but no kernel of this window is of compiled code", who, source),
		doubtIf(all > 0 && said(args.Compile, false) && a.d.compiled > 0, DoubtUnexpectedCompiledCode,
			finding.BandUnknown, "%s does not compile the model (%s), but %s of this window are of compiled code", who,
			source, table.Counted(a.d.compiled, "kernel", "kernels")),
	})
}

// defaultArgs are the settings of servers whose arguments are not known: all replay graphs in decode, vLLM compiles the
// model.
var defaultArgs = func() map[string]*profile.ServerArgs {
	yes := true
	graphs := &profile.ServerArgs{Graphs: &yes, Path: "by default"}
	return map[string]*profile.ServerArgs{framework.SGLang().Name: graphs, framework.TensorRTLLM().Name: graphs,
		framework.VLLM().Name: {Graphs: &yes, Compile: &yes, Path: "by default"}}
}()
