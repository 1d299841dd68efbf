package hostoverhead

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goccy/go-json"
	"golang.org/x/sync/errgroup"

	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/internal/timeline"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// none is no place in a list.
const none = -1

// worstPasses is how many passes are listed.
const worstPasses = 5

// Analyze says how much faster a run could be at most if the host cost nothing, from the traces of its ranks, one
// file each or one with several GPUs. Clocks of files need not agree. It returns a [layer.ErrNoKernels] where no
// trace has kernels, beside a Verdict that has its schema alone, and ctx's error when cancelled.
func Analyze(ctx context.Context, ranks []*layer.Analysis, o Options) (*Verdict, error) {
	p := o.params()
	v := &Verdict{Schema: schema, Threshold: p.MinShare, Deciding: none, Doubts: Doubts{}, Next: []Action{},
		Serving: Doubts{}, Ranks: []RankVerdict{}}
	var accounts []*account
	for i, a := range ranks {
		w, list, err := accountsOf(ctx, a, &o, len(ranks) == 1)
		if errors.Is(err, layer.ErrNoKernels) {
			continue
		}
		if err != nil {
			return nil, err
		}
		label := rankLabel(ranks, i, &o)
		for k := range w.devices {
			r := list[k].verdict(label)
			r.File = i
			v.Ranks = append(v.Ranks, *r)
		}
		accounts = append(accounts, list...)
	}
	if len(v.Ranks) == 0 {
		err := layer.ErrNoKernels
		if len(ranks) == 1 {
			err = ranks[0].NoKernels()
		}
		return &Verdict{Schema: schema}, err
	}
	if len(accounts) > 1 {
		v.join(runOf(ranks, v.Ranks, accounts), func(row *fleet.Row) int { i, _ := strconv.Atoi(row.File); return i })
	}
	return v.finish(ctx, accounts, &o)
}

// accountsOf accounts for the time of every device of a trace, in parts beside each other, and asks the published
// detector beside that where it is the only trace. The error is layer.ErrNoKernels, or ctx's.
func accountsOf(ctx context.Context, a *layer.Analysis, o *Options, only bool) (*workload, []*account, error) {
	w, err := newWorkload(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	g, ctx := errgroup.WithContext(ctx)
	if only {
		g.Go(func() (err error) {
			w.published, err = detectPublished(ctx, w.t, o)
			return err
		})
	}
	procs, first := runtime.GOMAXPROCS(0), newLedger(w, o.params())
	parts := partsOf(w.devices, procs)
	accounts := make([]*account, len(parts))
	var next atomic.Int64
	for range min(procs, len(parts)) {
		g.Go(func() (err error) {
			l := first.beside() // of one part after the other
			defer l.forget()
			for i := next.Add(1) - 1; i < int64(len(parts)) && err == nil; i = next.Add(1) - 1 {
				accounts[i], err = l.newAccount(ctx, parts[i], o.gaps())
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	return w, joined(accounts), nil
}

// rankLabel names a file of several.
func rankLabel(ranks []*layer.Analysis, i int, o *Options) string {
	if i < len(o.Labels) && o.Labels[i] != "" {
		return o.Labels[i]
	}
	if len(ranks) == 1 {
		return ""
	}
	if n := ranks[i].Trace().Meta().Rank; n >= 0 {
		return fmt.Sprintf("rank %d", n)
	}
	return fmt.Sprintf("file %d", i)
}

// name is how tables call a rank's device.
func (r *RankVerdict) name() string {
	device := fmt.Sprintf("device %d", r.Device)
	if r.Rank == "" {
		return device
	}
	return r.Rank + " " + device
}

// finish decides between the devices and adds what concerns all of them.
func (v *Verdict) finish(ctx context.Context, accounts []*account, o *Options) (*Verdict, error) {
	p := o.params()
	busiest := slices.MaxFunc(v.Ranks, func(x, y RankVerdict) int { return cmp.Compare(x.Kernels, y.Kernels) }).Kernels
	for i := range v.Ranks {
		r := &v.Ranks[i]
		r.Ignored = float64(r.Kernels) < p.MinKernelShare*float64(busiest)
		if !r.Ignored && (v.Deciding == none || r.Headroom.share() > v.decides().Headroom.share()) {
			v.Deciding = i
		}
	}
	r, acc := v.decides(), accounts[v.Deciding]
	v.Verdict, v.Headroom, v.Idle = r.Verdict, r.Headroom, r.Idle
	v.Basis = acc.basis()
	v.Health = acc.l.w.layers.Health.Status
	var err error
	if v.published = acc.l.w.published; v.published == nil {
		if v.published, err = detectPublished(ctx, acc.l.w.t, o); err != nil {
			return nil, err
		}
	}
	if v.published != nil {
		if v.Published, err = json.Marshal(v.published); err != nil {
			return nil, err
		}
	}
	v.Serving = v.servingIssues(acc, o.Server)
	v.Doubts = acc.doubts(v, p)
	v.Confidence = finding.High
	if len(v.Doubts) > 0 { // the worst is first
		v.Confidence = v.Doubts[0].Confidence
	}
	if v.Verdict == Inconclusive {
		v.Confidence = finding.BandUnknown // of no answer
	}
	v.Disagreement = v.disagreement()
	v.Summary = r.outside() + v.answer()
	v.Findings = slices.Concat(v.Serving, v.Doubts, r.Findings)
	v.Next = acc.advice(v, p)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return v, nil
}

// verdict is the answer for the account's device.
func (a *account) verdict(label string) *RankVerdict {
	w, d, all := a.l.w, a.d, sumOf(a.steps)
	busy, kernels := interval.Total(d.busy), interval.Total(d.kernels)
	r := &RankVerdict{Rank: label, Path: w.t.Meta().Shown(), Device: d.id, GPU: d.layers.GPU, Kernels: d.count,
		Steps: a.found, CompleteSteps: a.complete(a.steps), Mean: a.mean(),
		WindowNS: d.window().Len(), BusyNS: busy, LostNS: interval.Total(d.taken()) - busy, Exchange: ratio(d.exchange, busy),
		Alone:    ratio(kernels-d.compute, busy),
		Headroom: all.headroom(), Idle: a.idleCauses(all.wall), Transfers: a.transfers(all), Stages: a.stages(),
		Paths: all.paths.list(all.wall), Drains: a.drainList(),
		Passes: spread(a.steps), Worst: a.worst(), Gaps: a.gapClasses(), Top: a.topGaps(),
		Coverage: w.coverage(d, a.l.p), IdleUnknown: trace.IdleUnknown(w.layers.Health.Findings)}
	r.Verdict = a.l.p.answer(&r.Headroom)
	for _, s := range r.Stages {
		if s.Verdict == Yes && s.Steps >= a.l.p.MinStagePasses {
			r.Verdict = Yes // a stage that waits for the host is worth knowing even where the others hide it
		}
	}
	if r.DependsOn = a.crossCheck(a.l.p.answer(&r.Headroom)); r.DependsOn != "" {
		r.Verdict = Inconclusive
	}
	r.Captures = len(r.Stages) == 1 && r.Stages[0].Stage == layer.StageCapture ||
		2*a.record > r.Headroom.HostNS
	if r.Captures {
		r.Verdict = Inconclusive
	}
	if r.Verdict == Yes {
		if r.ColdStart = a.coldStart(); r.ColdStart != "" {
			r.Verdict = Inconclusive
			for i := range r.Stages {
				r.Stages[i].Verdict = Inconclusive
			}
		}
	}
	r.Coverage.Hints = r.hints(a.l.p)
	r.Findings = a.idleFindings(r)
	return r
}

// answer is YES where the host's share is clear, NO where it is not even with all that is unknown.
func (p *params) answer(h *Headroom) Answer {
	switch {
	case part(h.HostNS, h.WallNS) >= p.MinShare:
		return Yes
	case float64(h.HostNS+h.UnknownNS) < p.MinShare*float64(h.WallNS):
		return No
	}
	return Inconclusive
}

// mean is the mean step of the model that loses most to the host.
func (a *account) mean() StepMean {
	steps, model := a.mostly(func(s *timeSum) int64 { return s.idle.host() })
	n, sum := a.complete(steps), sumOf(steps)
	if n == 0 {
		return StepMean{}
	}
	return StepMean{model, int64(float64(sum.idle.host()) / n), int64(float64(sum.wall) / n)}
}

// headroom is what some time is made of.
func (s *timeSum) headroom() Headroom {
	h := Headroom{WallNS: s.wall, BusyNS: s.busy, LostNS: s.lost, IdleNS: s.idle.total(), HostNS: s.idle.host(),
		UnknownNS: s.idle.of(finding.UnknownGroup)}
	h.Share = ratio(h.HostNS, h.WallNS)
	h.AtMost, h.WithUnknown = bound(h.WallNS, h.HostNS), bound(h.WallNS, h.HostNS+h.UnknownNS)
	return h
}

// bound is how many times faster wall is without some of it, to three decimals.
func bound(wall, without int64) float64 {
	if wall <= without {
		return 1
	}
	return math.Round(1000*float64(wall)/float64(wall-without)) / 1000
}

// listed writes idle time down by cause, name and place, most time first.
func (a *account) listed(sums []keySum) []IdleName {
	rows := make([]IdleName, 0, len(sums))
	for i := range sums {
		s := &sums[i]
		rows = append(rows, IdleName{Cause: s.cause, Name: a.nameOf(s.nameKey), Where: a.l.w.general(s.where), NS: s.ns,
			StepsNS: s.steps, Count: s.count})
	}
	slices.SortFunc(rows, byName)
	out := rows[:0]
	for i := range rows { // several names may be one in general
		if n := len(out); n > 0 && byName(out[n-1], rows[i]) == 0 {
			last, r := &out[n-1], &rows[i]
			last.NS, last.StepsNS, last.Count = last.NS+r.NS, last.StepsNS+r.StepsNS, last.Count+r.Count
		} else {
			out = append(out, rows[i])
		}
	}
	slices.SortStableFunc(out, func(x, y IdleName) int { return cmp.Compare(y.NS, x.NS) })
	return out
}

// byName orders idle time by cause, name and place.
func byName(x, y IdleName) int {
	if x.Cause != y.Cause {
		return cmp.Compare(x.Cause.String(), y.Cause.String())
	}
	return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(x.Where, y.Where))
}

// idleCauses lists the idle time by cause and name.
func (a *account) idleCauses(wall int64) []IdleCause {
	out := make([]IdleCause, finding.NumCauses)
	sums := make([]keySum, 0, len(a.names))
	for k, s := range a.names {
		sums = append(sums, keySum{k, *s})
	}
	for _, n := range a.listed(sums) {
		c := &out[n.Cause]
		c.Cause, c.Group, c.Host = n.Cause, n.Cause.Group(), n.Cause.Group().Host()
		c.NS, c.StepsNS = c.NS+n.NS, c.StepsNS+n.StepsNS
		c.Share = ratio(c.StepsNS, wall)
		n.Cause = finding.NoCause
		c.Names = append(c.Names, n)
	}
	return slices.DeleteFunc(out, func(c IdleCause) bool { return c.NS == 0 })
}

// transfers is the time in which only copies and sets run, nil for none.
func (a *account) transfers(all timeSum) *IdleCause {
	c := &IdleCause{Cause: finding.Transfer, Group: finding.Transfer.Group(),
		NS:      interval.Total(a.d.busy) - interval.Total(a.d.kernels),
		StepsNS: all.busy - all.kernels, Share: ratio(all.busy-all.kernels, all.wall)}
	if c.NS == 0 {
		return nil
	}
	c.Names = a.copyNames()
	return c
}

// copyNames are the copies and sets by name, each with the time in which it runs and no kernel does, nor a copy that
// began before it, most time first.
func (a *account) copyNames() []IdleName {
	sums := map[string]*IdleName{}
	until, step := int64(math.MinInt64), 0
	for _, k := range a.d.acts {
		e := a.l.w.t.LaneAt(event.LaneGPU, int(k))
		if !copies(e) {
			continue
		}
		s := timeline.SpanOf(e)
		s.Start = max(s.Start, until)
		alone := s.Len() - interval.Covered(a.d.kernels, s)
		if alone <= 0 {
			continue
		}
		until = s.End
		n := sums[e.Name()]
		if n == nil {
			n = &IdleName{Name: e.Name()}
			sums[e.Name()] = n
		}
		n.NS, n.Count = n.NS+alone, n.Count+1
		for ; step < len(a.steps) && a.steps[step].span.End <= s.Start; step++ {
		}
		for i := step; i < len(a.steps) && a.steps[i].span.Start < s.End; i++ {
			in := s.Clip(a.steps[i].span)
			n.StepsNS += in.Len() - interval.Covered(a.d.kernels, in)
		}
	}
	out := make([]IdleName, 0, len(sums))
	for _, n := range sums {
		out = append(out, *n)
	}
	slices.SortFunc(out, func(x, y IdleName) int {
		return cmp.Or(cmp.Compare(y.StepsNS, x.StepsNS), cmp.Compare(y.NS, x.NS), cmp.Compare(x.Name, y.Name))
	})
	return out
}

// moved says how much the copies or sets of a name move and how fast, "" where no size of them is recorded.
func (a *account) moved(name string) string {
	var bytes, ns int64
	for _, k := range a.d.acts {
		if e := a.l.w.t.LaneAt(event.LaneGPU, int(k)); copies(e) && e.Name() == name && e.Bytes() > 0 {
			bytes, ns = bytes+e.Bytes(), ns+int64(e.Duration())
		}
	}
	if bytes == 0 || ns == 0 {
		return ""
	}
	return fmt.Sprintf("%s in all at %s/s", table.Bytes(bytes),
		table.Bytes(int64(float64(bytes)/time.Duration(ns).Seconds())))
}

// nameOf is the name that a key is shown under.
func (a *account) nameOf(k nameKey) string {
	switch {
	case k.name == 0:
		return details[k.detail]
	case k.detail == detailNone:
		return a.l.w.general(k.name)
	}
	return a.l.w.general(k.name) + ": " + details[k.detail]
}

// stages are the answers by stage, in order of time.
func (a *account) stages() []StageVerdict {
	out := []StageVerdict{}
	for i := range a.steps {
		st := a.steps[i].step
		if st == nil || slices.ContainsFunc(out, func(v StageVerdict) bool { return v.Stage == st.Stage }) {
			continue
		}
		of := a.stepsOf(st.Stage)
		sum := sumOf(of)
		h := sum.headroom()
		largest, _ := sum.idle.largest(true)
		out = append(out, StageVerdict{Stage: st.Stage, Steps: len(of), Verdict: a.l.p.answer(&h), Headroom: h,
			Largest: largest, Paths: sum.paths.list(sum.wall)})
	}
	return out
}

// stepsOf are the steps of some stages.
func (a *account) stepsOf(stages ...layer.Stage) []stepAccount {
	return slices.DeleteFunc(slices.Clone(a.steps),
		func(s stepAccount) bool { return s.step == nil || !slices.Contains(stages, s.step.Stage) })
}

// largest is the cause with most time, of all or of those that are the host's.
func (c *causeSums) largest(host bool) (cause finding.Cause, ns int64) {
	for i, n := range c {
		if n > ns && (!host || finding.Cause(i).Group().Host()) {
			cause, ns = finding.Cause(i), n
		}
	}
	return cause, ns
}

// list writes path sums down, those with kernels.
func (p *pathSums) list(wall int64) []Path {
	var all pathSum
	for i := range p {
		all.kernels += p[i].kernels
		all.time += p[i].time
	}
	out := []Path{}
	for i, s := range p {
		if s.kernels > 0 {
			out = append(out, Path{Path: pathNames[i], Kernels: s.kernels,
				Share: ratio(int64(s.kernels), int64(all.kernels)), TimeNS: s.time,
				TimeShare: ratio(s.time, all.time), ExposedNS: s.exposed, Exposed: ratio(s.exposed, wall)})
		}
	}
	return out
}

func (a *account) drainList() []IdleName {
	out := []IdleName{}
	for id, s := range a.drains {
		if s.steps > 0 {
			out = append(out, IdleName{Name: a.l.w.t.Name(id), NS: s.ns, StepsNS: s.steps, Count: s.count})
		}
	}
	slices.SortFunc(out, func(x, y IdleName) int {
		return cmp.Or(cmp.Compare(y.StepsNS, x.StepsNS), cmp.Compare(x.Name, y.Name))
	})
	return out
}

// spread is how the host's time spreads over steps.
func spread(steps []stepAccount) PassSpread {
	var ns []int64
	var shares []float64
	for i := range steps {
		if s := &steps[i]; s.step != nil {
			ns = append(ns, s.idle.host())
			shares = append(shares, ratio(s.idle.host(), s.wall))
		}
	}
	n := len(ns)
	if n == 0 {
		return PassSpread{}
	}
	slices.Sort(ns)
	slices.Sort(shares)
	return PassSpread{ns[n/2], ns[n*9/10], ns[n-1], shares[n/2], shares[n*9/10], shares[n-1]}
}

// worst are the passes that lose most to the host.
func (a *account) worst() []PassHeadroom {
	out, t := []PassHeadroom{}, a.l.w.t
	for i := range a.steps {
		s := &a.steps[i]
		if largest, ns := s.idle.largest(true); s.step != nil && ns > 0 {
			out = append(out, PassHeadroom{Pass: s.step.Index, Stage: s.step.Stage, StartNS: s.span.Start,
				EndNS:    s.span.End,
				VisStart: t.Raw(trace.Time(s.span.Start)), VisEnd: t.Raw(trace.Time(s.span.End)),
				Headroom: s.headroom(), Largest: largest})
		}
	}
	slices.SortFunc(out, func(x, y PassHeadroom) int {
		return cmp.Or(cmp.Compare(y.Headroom.HostNS, x.Headroom.HostNS), cmp.Compare(x.StartNS, y.StartNS))
	})
	return out[:min(len(out), worstPasses)]
}
