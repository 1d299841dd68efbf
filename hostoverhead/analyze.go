package hostoverhead

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/hostoverhead/internal/timeline"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// none is no place in a list.
const none = -1

// worstPasses is how many passes are listed.
const worstPasses = 5

// Analyze says how much faster a run could be at most if the host cost nothing, from the traces of its ranks, one file
// each or one with several GPUs. Clocks of files need not agree. It returns a [layer.ErrNoKernels] where no trace has kernels,
// beside a Verdict that has its schema alone, and ctx's error when cancelled.
func Analyze(ctx context.Context, ranks []*layer.Analysis, o Options) (*Verdict, error) {
	p := o.params()
	v := &Verdict{Schema: schema, Threshold: p.MinShare, Deciding: none, Doubts: []Doubt{}, Next: []Advice{}, Serving: []Doubt{}, Ranks: []RankVerdict{}}
	var works []rankWork
	var accounts []*account
	for i, a := range ranks {
		w, list, err := accountsOf(ctx, a, &o, len(ranks) == 1)
		if errors.Is(err, names.ErrNoKernels) {
			continue
		}
		if err != nil {
			return nil, err
		}
		label := rankLabel(ranks, i, &o)
		for k, d := range w.devices {
			r, err := list[k].verdict(label)
			if err != nil {
				return nil, err
			}
			r.File = i
			v.Ranks = append(v.Ranks, *r)
			works = append(works, rankWork{r.name(), w, d})
		}
		accounts = append(accounts, list...)
	}
	if len(v.Ranks) == 0 {
		return &Verdict{Schema: schema}, names.ErrNoKernels
	}
	return v.finish(ctx, works, accounts, &o)
}

// accountsOf accounts for the time of every device of a trace, several at once, and asks the published detector beside
// that where it is the only trace. The error is names.ErrNoKernels, or ctx's.
func accountsOf(ctx context.Context, a *layer.Analysis, o *Options, only bool) (*workload, []*account, error) {
	w, err := newWorkload(ctx, a, o.Steps)
	if err != nil {
		return nil, nil, err
	}
	list := make([]*account, len(w.devices))
	g, ctx := errgroup.WithContext(ctx)
	workers := runtime.GOMAXPROCS(0)
	g.SetLimit(workers)
	ledgers := make(chan *ledger, min(workers, len(w.devices))) // each is of one device at a time
	for range cap(ledgers) {
		ledgers <- newLedger(w, o.params())
	}
	if only {
		g.Go(func() (err error) {
			w.published, err = detectPublished(ctx, w.t, o)
			return err
		})
	}
	for i, d := range w.devices {
		g.Go(func() (err error) {
			if err := ctx.Err(); err != nil {
				return err
			}
			w.findPasses(d)
			w.findPaths(d)
			l := <-ledgers
			list[i], err = l.newAccount(ctx, d, o.gaps())
			ledgers <- l
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	for range cap(ledgers) {
		(<-ledgers).forget()
	}
	return w, list, nil
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
func (v *Verdict) finish(ctx context.Context, works []rankWork, accounts []*account, o *Options) (*Verdict, error) {
	p := o.params()
	v.ignoreSmall(p)
	for i := range v.Ranks {
		r := &v.Ranks[i]
		if !r.Ignored && (v.Deciding == none || r.Headroom.share() > v.Ranks[v.Deciding].Headroom.share()) {
			v.Deciding = i
		}
	}
	r, acc := &v.Ranks[v.Deciding], accounts[v.Deciding]
	v.Verdict, v.Headroom, v.Idle = r.Verdict, r.Headroom, r.Idle
	v.Basis = "steps"
	if acc.steps[0].step == nil {
		v.Basis = "window"
	}
	v.Health = acc.l.w.layers.Health.Status
	var err error
	if v.published = acc.l.w.published; v.published == nil {
		if v.published, err = detectPublished(ctx, acc.l.w.t, o); err != nil {
			return nil, err
		}
	}
	if v.Published, err = v.published.document(); err != nil {
		return nil, err
	}
	if len(works) > 1 {
		v.Stragglers = stragglers(works, p)
	}
	v.Serving = v.servingIssues(acc, o.Server)
	v.Doubts = acc.doubts(v, p)
	v.Confidence = confidenceHigh
	for _, d := range v.Doubts {
		v.Confidence = lesser(v.Confidence, d.Weight)
	}
	v.Disagreement = v.disagreement()
	v.Summary = v.summary()
	v.Next = acc.advice(v, p)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return v, nil
}

// ignoreSmall marks the devices that do not decide.
func (v *Verdict) ignoreSmall(p *params) {
	busiest := 0
	for i := range v.Ranks {
		busiest = max(busiest, v.Ranks[i].Kernels)
	}
	for i := range v.Ranks {
		v.Ranks[i].Ignored = float64(v.Ranks[i].Kernels) < p.MinKernelShare*float64(busiest)
	}
}

// lesser is the lesser of two confidences.
func lesser(a, b string) string {
	if confidenceRank(b) < confidenceRank(a) {
		return b
	}
	return a
}

func confidenceRank(c string) int {
	return slices.Index([]string{confidenceLow, confidenceMedium, confidenceHigh}, c)
}

// verdict is the answer for the account's device.
func (a *account) verdict(label string) (*RankVerdict, error) {
	w, d := a.l.w, a.d
	r := &RankVerdict{Rank: label, Path: w.t.Meta().Path, Device: d.id, GPU: w.gpuName(d.id), Kernels: len(d.kernels), Steps: a.found}
	r.WindowNS, r.BusyNS = d.window().Len(), interval.Total(d.busy)
	r.Exchange, r.Alone = w.exchange(d)
	wall, busy := a.wall()
	r.Headroom = headroom(wall, busy, &a.inSteps)
	r.Idle = a.idleCauses(wall)
	r.Verdict = a.l.p.answer(&r.Headroom)
	r.Stages = a.stages()
	for _, s := range r.Stages {
		if s.Verdict == answerYes && s.Steps >= a.l.p.MinStagePasses {
			r.Verdict = answerYes // a stage that waits for the host is worth knowing even where the others hide it
		}
	}
	var paths pathSums
	for i := range a.steps {
		paths.add(&a.steps[i].paths)
	}
	r.Paths, r.Drains = paths.list(wall), a.drainList()
	r.Passes, r.Worst = spread(a.steps), a.worst()
	r.Gaps, r.Top, r.Streams = a.gapClasses(), a.topGaps(), w.streamGaps(d)
	r.Coverage = w.coverage(d, a.l.p)
	r.Coverage.Hints = append(r.Coverage.Hints, waitHints(r.Idle)...)
	var err error
	r.Pattern, err = w.pattern(d)
	return r, err
}

// answer is YES where the host's share is clear, NO where it is not even with all that is unknown.
func (p *params) answer(h *Headroom) string {
	switch {
	case h.WallNS > 0 && part(h.HostNS, h.WallNS) >= p.MinShare:
		return answerYes
	case float64(h.HostNS+h.UnknownNS) < p.MinShare*float64(h.WallNS):
		return answerNo
	}
	return answerUnclear
}

// headroom is what some time is made of.
func headroom(wall, busy int64, idle *causeSums) Headroom {
	h := Headroom{WallNS: wall, BusyNS: busy, IdleNS: idle.total(), HostNS: idle.host(), UnknownNS: idle.of(groupUnknown)}
	h.Share = ratio(h.HostNS, wall)
	h.AtMost, h.WithUnknown = bound(wall, h.HostNS), bound(wall, h.HostNS+h.UnknownNS)
	return h
}

// bound is how many times faster wall is without some of it, to three decimals.
func bound(wall, without int64) float64 {
	if wall <= without {
		return 1
	}
	return math.Round(1000*float64(wall)/float64(wall-without)) / 1000
}

// exchange is the time of the kernels that exchange data between GPUs, and the time in which only they run, in the busy
// time.
func (w *workload) exchange(d *deviceWork) (all, alone float64) {
	busy := interval.Total(d.busy)
	if !d.exchanges {
		return ratio(0, busy), ratio(0, busy)
	}
	var ns, compute int64 // compute is the time in which others run, up to the end of the last of them
	end := int64(math.MinInt64)
	for _, e := range w.kernelsOf(d) {
		if w.names.Collective(e.NameID()) {
			ns += int64(e.Duration())
			continue
		}
		if s := timeline.SpanOf(e); s.End > end {
			compute += interval.Span{Start: max(s.Start, end), End: s.End}.Len()
			end = s.End
		}
	}
	return ratio(ns, busy), ratio(busy-compute, busy)
}

func (w *workload) gpuName(id trace.DeviceID) string {
	for _, g := range w.t.Meta().Devices {
		if g.ID == id {
			return g.Name
		}
	}
	return ""
}

// idleCauses lists the idle time by cause and name.
func (a *account) idleCauses(wall int64) []IdleCause {
	byCause := make([]IdleCause, numCauses)
	type row struct{ name, where string }
	rows := make([]map[row]*IdleName, numCauses)
	for k, s := range a.names {
		c := &byCause[k.cause]
		c.NS += s.ns
		c.StepsNS += s.steps
		if rows[k.cause] == nil {
			rows[k.cause] = map[row]*IdleName{}
		}
		r := row{a.nameOf(k), a.l.w.names.General(k.where)}
		n := rows[k.cause][r]
		if n == nil {
			n = &IdleName{Name: r.name, Where: r.where}
			rows[k.cause][r] = n
		}
		n.NS, n.StepsNS, n.Count = n.NS+s.ns, n.StepsNS+s.steps, n.Count+s.count
	}
	out := []IdleCause{}
	for i := range byCause {
		c := &byCause[i]
		if c.NS == 0 {
			continue
		}
		c.Cause, c.Group, c.Host, c.Share = causes[i].cause, causes[i].group, hostGroup(causes[i].group), ratio(c.StepsNS, wall)
		for _, n := range rows[i] {
			c.Names = append(c.Names, *n)
		}
		slices.SortFunc(c.Names, func(x, y IdleName) int {
			return cmp.Or(cmp.Compare(y.NS, x.NS), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Where, y.Where))
		})
		out = append(out, *c)
	}
	return out
}

// nameOf is the name that a key is shown under.
func (a *account) nameOf(k nameKey) string {
	switch {
	case k.name == 0:
		if k.detail == detailNone && causes[k.cause].cause == causeTransfer {
			return "copy or set"
		}
		return details[k.detail]
	case k.detail == detailNone:
		return a.l.w.names.General(k.name)
	}
	return a.l.w.names.General(k.name) + ": " + details[k.detail]
}

// stages are the answers by stage, in order of time.
func (a *account) stages() []StageVerdict {
	out := []StageVerdict{}
	by := map[layer.Stage][]stepAccount{}
	var order []layer.Stage
	for _, s := range a.steps {
		if s.step == nil {
			continue
		}
		if by[s.step.Stage] == nil {
			order = append(order, s.step.Stage)
		}
		by[s.step.Stage] = append(by[s.step.Stage], s)
	}
	for _, stage := range order {
		sv := StageVerdict{Stage: stage, Steps: len(by[stage]), Passes: spread(by[stage])}
		var wall, busy int64
		var idle causeSums
		var paths pathSums
		for i := range by[stage] {
			s := &by[stage][i]
			wall, busy = wall+s.span.Len(), busy+s.busy
			idle.add(&s.idle)
			paths.add(&s.paths)
		}
		sv.Headroom = headroom(wall, busy, &idle)
		sv.Verdict, sv.Largest, sv.Paths = a.l.p.answer(&sv.Headroom), idle.largest(), paths.list(wall)
		out = append(out, sv)
	}
	return out
}

// largest is the cause with most of the host's time.
func (c *causeSums) largest() string {
	best := none
	for i, n := range c {
		if hostGroup(causes[i].group) && n > 0 && (best == none || n > c[best]) {
			best = i
		}
	}
	if best == none {
		return ""
	}
	return causes[best].cause
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
			out = append(out, Path{Path: pathNames[i], Kernels: s.kernels, Share: ratio(int64(s.kernels), int64(all.kernels)), TimeNS: s.time,
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
			shares = append(shares, ratio(s.idle.host(), s.span.Len()))
		}
	}
	if len(ns) == 0 {
		return PassSpread{}
	}
	slices.Sort(ns)
	slices.Sort(shares)
	n := len(ns)
	return PassSpread{ns[n/2], ns[n*9/10], ns[n-1], shares[n/2], shares[n*9/10], shares[n-1]}
}

// worst are the passes that lose most to the host.
func (a *account) worst() []PassHeadroom {
	out := []PassHeadroom{}
	for i := range a.steps {
		s := &a.steps[i]
		if s.step == nil || s.idle.host() == 0 {
			continue
		}
		t := a.l.w.t
		out = append(out, PassHeadroom{Pass: s.step.Index, Stage: s.step.Stage, StartNS: s.span.Start, EndNS: s.span.End,
			VisStart: t.Raw(trace.Time(s.span.Start)), VisEnd: t.Raw(trace.Time(s.span.End)),
			Headroom: headroom(s.span.Len(), s.busy, &s.idle), Largest: s.idle.largest(), Paths: s.paths.list(s.span.Len())})
	}
	slices.SortFunc(out, func(x, y PassHeadroom) int {
		return cmp.Or(cmp.Compare(y.Headroom.HostNS, x.Headroom.HostNS), cmp.Compare(x.StartNS, y.StartNS))
	})
	return out[:min(len(out), worstPasses)]
}
