package hostoverhead

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/llmstrata/strata/hostoverhead/internal/steps"
	"github.com/llmstrata/strata/hostoverhead/internal/timeline"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/loss"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// doubter collects what speaks against a verdict.
type doubter struct {
	a    *account
	v    *Verdict
	r    *RankVerdict
	p    *params
	list []Doubt
}

func (d *doubter) add(code string, weight string, format string, args ...any) {
	d.list = append(d.list, Doubt{code, weight, fmt.Sprintf(format, args...)})
}

// doubts lists what speaks against the verdict.
func (a *account) doubts(v *Verdict, p *params) []Doubt {
	d := &doubter{a: a, v: v, r: &v.Ranks[v.Deciding], p: p, list: []Doubt{}}
	d.size()
	d.evidence()
	d.graphs()
	d.tracing()
	d.pause()
	d.warmUp()
	d.processes()
	if d.r.Alone > p.CommunicationShare {
		d.add("busy-with-communication", confidenceMedium, "during %s of the busy time only kernels that exchange data between GPUs run: the device waits for others while it counts as busy", percent(d.r.Alone))
	}
	for _, f := range a.l.w.layers.Health.Findings {
		if f.Severity != trace.HealthOK && incomplete(f) {
			d.add("trace-incomplete", confidenceMedium, "%s", f.Message)
		}
	}
	slices.SortStableFunc(d.list, func(a, b Doubt) int {
		return cmp.Or(cmp.Compare(confidenceRank(a.Weight), confidenceRank(b.Weight)), cmp.Compare(a.Code, b.Code))
	})
	return d.list
}

// incomplete reports whether a finding says that events are missing or wrong that idle time rests on. What graph replays
// hide has doubts of its own, and tables that an export never had are told by what they would hold.
func incomplete(f trace.Finding) bool {
	switch f.Code {
	case "empty-graphs", "graph-rows", "loss-" + loss.MissingTable:
		return false
	}
	return slices.ContainsFunc(f.Affects, func(a string) bool { return a == "idle" || a == "gpu-time" || a == "completeness" })
}

// size doubts recordings of little work. Whole graph replays are many kernels each.
func (d *doubter) size() {
	if d.r.Kernels < d.p.FewKernels && d.a.d.rows == 0 {
		d.add("few-kernels", confidenceLow, "the window holds only %s: this is hardly a running server", counted(d.r.Kernels, "kernel"))
	}
	if st := d.r.Stages; len(st) == 1 && st[0].Stage == layer.StageCapture {
		d.add("graph-capture", confidenceLow, "every step captures graphs: this is a server's start, not how it serves")
	}
	switch {
	case d.v.Basis == "window":
		d.add("no-steps", confidenceMedium, "no steps were found: the shares are of the whole window, in which start-up and pauses count")
	case d.r.Steps < d.p.FewSteps:
		d.add("few-steps", confidenceMedium, "the window holds only %s: the next one may look different", counted(d.r.Steps, "step"))
	}
}

// evidence doubts recordings that lack what causes rest on.
func (d *doubter) evidence() {
	t := d.a.l.w.t
	h := t.Health()
	switch {
	case t.Len(event.LaneLaunch) == 0:
		d.add("no-launch-calls", confidenceMedium, "no API calls were recorded: nothing tells whether work was queued when the device was idle")
	case h.Activities > 0 && float64(h.Orphans) > d.p.OrphanShare*float64(h.Activities):
		d.add("launches-missing", confidenceMedium, "%d of %d GPU activities have no launch call in the trace: the causes of the gaps before them are a guess, or unknown", h.Orphans, h.Activities)
	}
	unnamed := d.a.l.number[causeHostCode]
	var ns int64
	for k, s := range d.a.names {
		if k.cause == unnamed && k.name == 0 {
			ns += s.steps
		}
	}
	if host := d.v.Headroom.HostNS; float64(ns) > d.p.UnnamedShare*float64(host) && d.v.Verdict != answerNo {
		d.add("host-work-unnamed", confidenceMedium, "%s of the host's time is code that no range, op or frame names: it may also be a wait that was not recorded", percentOf(ns, host))
	}
}

// graphs doubts recordings that hide what graph replays ran.
func (d *doubter) graphs() {
	if d.a.d.rows > 0 {
		d.add("graph-kernels-hidden", confidenceMedium, "%s recorded as a whole: they count as busy from end to end, gaps between their kernels are not seen", counted(d.a.d.rows, "graph replay"))
	}
	if n := d.a.l.w.t.Health().EmptyGraphs; n > 0 {
		weight := confidenceLow
		if slices.Contains(d.a.d.path, pathGraph) {
			weight = confidenceMedium
		}
		d.add("graph-launches-without-kernels", weight, "%s no kernels in the trace: idle time is overstated", map[bool]string{true: "1 graph launch has", false: fmt.Sprint(n, " graph launches have")}[n == 1])
	}
}

// tracing doubts host time that recording Python frames made longer.
func (d *doubter) tracing() {
	if d.a.l.w.t.Len(event.LanePython) == 0 || d.v.Verdict != answerYes {
		return
	}
	all := sumOf(d.a.steps)
	work := all.idle.of(groupWork)
	saved := work - int64(float64(work)/d.p.TracingCost)
	h := d.v.Headroom
	rest := part(h.HostNS-saved, h.WallNS-saved)
	weight := confidenceMedium
	if rest < d.p.MinShare {
		weight = confidenceLow
	}
	d.add("python-tracing", weight, "Python frames were recorded, which makes host code slower; if it took 1/%.0f of the time without, the host would cost %s of the %s", d.p.TracingCost, percent(rest), d.v.Basis)
}

// pause looks for one gap that makes up much of the steps: start-up, or a server without requests, rather than a slow host.
func (d *doubter) pause() {
	var g *gapAccount
	for i := range d.a.top {
		if g == nil || d.a.top[i].span.Len() > g.span.Len() {
			g = &d.a.top[i]
		}
	}
	if g == nil || float64(g.span.Len()) <= d.p.DominantGap*float64(d.v.Headroom.WallNS) || g.span.Len() > int64(d.p.Pause) {
		return
	}
	var sums causeSums
	for k, s := range g.names {
		sums[k.cause] += s.ns
	}
	h := d.v.Headroom
	without := Headroom{WallNS: h.WallNS - g.span.Len(), HostNS: max(0, h.HostNS-sums.host()), UnknownNS: max(0, h.UnknownNS-sums.of(groupUnknown))}
	without.Share = ratio(without.HostNS, without.WallNS)
	weight := confidenceMedium
	if d.p.answer(&without) != d.v.Verdict {
		weight = confidenceLow
	}
	d.add("one-long-gap", weight, "one gap of %s makes up %s of the time (start-up, or no requests?); without it the host costs %s", microseconds(g.span.Len()), percentOf(g.span.Len(), h.WallNS), percent(without.Share))
}

// warmUp compares the run with its steady steps.
func (d *doubter) warmUp() {
	var found []steps.Step
	var accounts, alone []stepAccount
	for _, s := range d.a.steps {
		if s.step != nil {
			found, accounts = append(found, *s.step), append(accounts, s)
		}
	}
	steady := steps.Steady(found)
	for _, i := range steady {
		alone = append(alone, accounts[i])
	}
	sum := sumOf(alone)
	if h := sum.headroom(); len(steady) < len(found) && d.p.answer(&h) != d.v.Verdict {
		d.add("window-is-not-steady", confidenceLow, "over the %d steady steps alone the host costs %s, over all %s: warm-up or other stages decide the figure", len(steady), percentOf(h.HostNS, h.WallNS), percent(d.v.Headroom.Share))
	}
}

// processes doubts a device that several processes launch on: they share it, or each has its own of that number.
func (d *doubter) processes() {
	w := d.a.l.w
	threads := w.t.Threads()
	processes := map[int64]bool{}
	for th, devices := range w.drives {
		if slices.Contains(devices, d.r.Device) {
			processes[threads[th].Process] = true
		}
	}
	if len(processes) < 2 {
		return
	}
	spans := map[string][]interval.Span{}
	for _, e := range w.kernelsOf(d.a.d) {
		if l := e.Launch(); l.Valid() && l.Thread() >= 0 {
			t := threads[l.Thread()]
			name := cmp.Or(t.ProcessLabel, fmt.Sprint(t.Process))
			spans[name] = append(spans[name], timeline.SpanOf(e))
		}
	}
	maps.DeleteFunc(spans, func(_ string, s []interval.Span) bool {
		return float64(len(s)) < d.p.MinKernelShare*float64(d.r.Kernels)
	})
	if len(spans) < 2 {
		return
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(spans)) {
		busy := interval.UnionInPlace(spans[name])
		window := interval.Hull(busy).Len()
		words = append(words, fmt.Sprintf("process %s %s", name, percentOf(window-interval.Total(busy), window)))
	}
	d.add("processes-share-device", confidenceLow, "%d processes launch on device %d: if each has a GPU of its own they are merged here by mistake; idle alone: %s; together %s",
		len(spans), d.r.Device, strings.Join(words, ", "), percentOf(d.r.WindowNS-d.r.BusyNS, d.r.WindowNS))
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

// microseconds formats a duration in ns for people: µs, ms or s with three significant decimals.
func microseconds(ns int64) string {
	switch {
	case ns >= 1e9:
		return fmt.Sprintf("%.3f s", float64(ns)/1e9)
	case ns >= 1e6:
		return fmt.Sprintf("%.3f ms", float64(ns)/1e6)
	}
	return fmt.Sprintf("%.3f µs", float64(ns)/1e3)
}

// counted is a number and its noun: "1 step", "2 steps".
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// serving is how a server runs the model.
type serving struct {
	framework string // its name, for messages
	// graphs says that decode steps replay graphs, compile that the model is compiled; nil: not known.
	graphs, compile *bool
	source          string // a file, what was told, or the framework's default
}

// servingIssues compares what the server was told with what the deciding device ran. Codes are "no-graphs",
// "unexpected-graphs", "no-compiled-code" and "unexpected-compiled-code".
func (v *Verdict) servingIssues(a *account, told *profile.ServerArgs) []Doubt {
	out := []Doubt{}
	s := servingOf(told, a.l.w.server())
	add := func(code, format string, args ...any) {
		out = append(out, Doubt{Code: code, Message: fmt.Sprintf(format, args...)})
	}
	decode := a.stepsOf(layer.StageDecode, layer.StageVerify)
	paths, steps := sumOf(decode).paths, len(decode)
	launched := len(slices.DeleteFunc(decode, func(s stepAccount) bool { return s.paths[pathGraph].kernels == 0 }))
	all := 0
	for _, p := range paths {
		all += p.kernels
	}
	empty := a.l.w.t.Health().EmptyGraphs > 0
	who := s.framework
	if who == "" {
		who = "the server"
	}
	if s.graphs != nil && !empty {
		switch {
		case *s.graphs && launched == 0 && 2*paths[pathUnknown].kernels < all:
			add("no-graphs", "%s replays graphs in decode (%s), but none of the %s of this window does: the window does not show what the server does", who, s.source, counted(steps, "decode step"))
		case !*s.graphs && launched > 0:
			add("unexpected-graphs", "%s replays no graphs (%s), but %d of %s of this window do", who, s.source, launched, counted(steps, "decode step"))
		}
	}
	compiled := a.d.compiled
	if s.compile != nil && all > 0 {
		switch {
		case *s.compile && compiled == 0:
			add("no-compiled-code", "%s compiles the model (%s), but no kernel of this window is of compiled code", who, s.source)
		case !*s.compile && compiled > 0:
			add("unexpected-compiled-code", "%s does not compile the model (%s), but %s of this window are of compiled code", who, s.source, counted(compiled, "kernel"))
		}
	}
	return out
}

// servingOf is what a server does, as it was told, else by its defaults: SGLang and TensorRT-LLM replay graphs in decode,
// vLLM does and compiles the model.
func servingOf(told *profile.ServerArgs, f framework.Framework) serving {
	if told != nil {
		return serving{framework: f.Name, graphs: told.Graphs, compile: told.Compile, source: cmp.Or(told.Path, "as told")}
	}
	yes := true
	s := map[string]serving{
		framework.SGLang().Name: {graphs: &yes}, framework.TensorRTLLM().Name: {graphs: &yes}, framework.VLLM().Name: {graphs: &yes, compile: &yes},
	}[f.Name]
	s.framework, s.source = f.Name, "by default"
	return s
}
