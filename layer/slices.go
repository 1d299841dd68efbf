package layer

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

// Slice is a stretch of a device's time during which one kernel runs, or none.
type Slice struct {
	Start trace.Time // inclusive
	End   trace.Time // exclusive
	// Pass is the pass of the kernel that runs, or of the one that ends the idle time; None outside of passes.
	Pass int
	// Kernel is the number of the kernel that runs: of several at the same time the one that started first. None: idle,
	// or not recorded.
	Kernel int32
	// Next is the number of the kernel that ends the time in which none runs; None where one runs.
	Next int32
	// Lost says that kernels ran here whose records are missing: see [Device.Damage].
	Lost bool
}

// Idle reports whether nothing runs. Where records are missing, something did.
func (s Slice) Idle() bool { return s.Kernel == trace.None && !s.Lost }

// Timeline iterates over the time from the start of the device's first activity to the end of its last, in slices
// that hold each nanosecond once, by start. Activities that take no time, and those that others cover, have no slice.
func (d *Device) Timeline() iter.Seq[Slice] {
	return func(yield func(Slice) bool) {
		var at trace.Time // up to here the time is given out
		for i := range d.columns.pass {
			e := d.event(int32(i))
			start, end, pass := e.Start(), e.End(), int(d.columns.pass[i])
			if i == 0 {
				at = start
			}
			if start > at {
				if !yield(Slice{Start: at, End: start, Pass: pass, Kernel: trace.None, Next: int32(i),
					Lost: d.IsLost(TimeSpan{at, start})}) {
					return
				}
				at = start
			}
			if end > at {
				if !yield(Slice{Start: at, End: end, Pass: pass, Kernel: int32(i), Next: trace.None}) {
					return
				}
				at = end
			}
		}
	}
}

// Edges goes over the starts and ends of a device's activities by time. Of those at one time, starts come first.
type Edges struct {
	d           *Device
	next, ended int     // activities that have started, and that have ended
	ends        []int32 // all, by their ends
}

// Edges returns the starts and ends of all activities of the device.
func (d *Device) Edges() *Edges {
	e := &Edges{d: d, ends: make([]int32, d.NumKernels())}
	for i := range e.ends {
		e.ends[i] = int32(i)
	}
	slices.SortFunc(e.ends, func(x, y int32) int { return cmp.Compare(d.event(x).End(), d.event(y).End()) })
	return e
}

// When is the time of the next edge, the latest that there is after the last one.
func (e *Edges) When() trace.Time {
	if e.ended == len(e.ends) {
		return math.MaxInt64
	}
	end := e.d.event(e.ends[e.ended]).End()
	if e.next < len(e.ends) {
		return min(end, e.d.event(int32(e.next)).Start())
	}
	return end
}

// Next passes the next edge, and returns the number of its activity and whether that starts there; [trace.None] after
// the last one.
func (e *Edges) Next() (kernel int32, starts bool) {
	if e.next < len(e.ends) && e.d.event(int32(e.next)).Start() <= e.d.event(e.ends[e.ended]).End() {
		e.next++
		return int32(e.next - 1), true
	}
	if e.ended == len(e.ends) {
		return trace.None, false
	}
	e.ended++
	return e.ends[e.ended-1], false
}

// Basis is what the device's passes are: steps, or the window where none was found.
func (d *Device) Basis() finding.Basis {
	if len(d.Passes) == 0 {
		return finding.OfWindow
	}
	return d.Passes[0].Basis()
}

// StepEnd is where the step of pass p ends: where the next pass starts, or where a pause begins between the two (see
// [Device.Waits]). What the host does after a pause for the next pass is part of the step, too: see [Device.Steps].
func (d *Device) StepEnd(p int) trace.Time {
	if d.stepEnds == nil { // not of an analysis
		return d.StepSpan(p).End
	}
	for w := range d.pausesIn(TimeSpan{d.Passes[p].End, d.stepEnds[p]}) {
		return w.Start
	}
	return d.stepEnds[p]
}

// StepTime is how long the step of pass p takes: from its start to that of the next pass, without the pauses in
// between.
func (d *Device) StepTime(p int) time.Duration {
	span := d.StepSpan(p)
	out := time.Duration(span.End - span.Start)
	for w := range d.pausesIn(span) {
		out -= time.Duration(w.End - w.Start)
	}
	return out
}

// StepShare is how much of a step pass p is: 1, or, where the window cuts it, its time over the mean time of the
// complete passes of its stage and model, where there are any. The mean step of some passes, the sum of their
// [Device.StepTime] over the sum of their shares, is that of the complete ones. It is 0 of a draft's pass that is part
// of the step of its target, and of a pass without kernels.
func (d *Device) StepShare(p int) float64 {
	if d.stepShares == nil { // not of an analysis
		return 1
	}
	return d.stepShares[p]
}

// findStepShares says how much of a step each pass is.
func (d *Device) findStepShares() {
	type kind struct {
		stage Stage
		model int
	}
	type sum struct {
		time   time.Duration
		passes int
	}
	complete := map[kind]sum{}
	for p := range d.Passes {
		if f := &d.Passes[p]; f.Partial == whole && f.Kernels > 0 {
			s := complete[kind{f.Stage, f.Model}]
			complete[kind{f.Stage, f.Model}] = sum{s.time + d.StepTime(p), s.passes + 1}
		}
	}
	d.stepShares = make([]float64, len(d.Passes))
	for p := range d.Passes {
		f := &d.Passes[p]
		if d.StepOf(p) != p || f.Kernels == 0 {
			continue
		}
		d.stepShares[p] = 1
		if s := complete[kind{f.Stage, f.Model}]; f.Partial != whole && s.time > 0 {
			d.stepShares[p] = float64(d.StepTime(p)) * float64(s.passes) / float64(s.time)
		}
	}
}

// serves reports whether a pass runs the target on requests.
func (p *ForwardPass) serves() bool {
	return p.Stage != StageDraft && p.Stage != StageIdle && p.Stage != StageCapture
}

// StepOf is the pass whose step pass p is part of: p itself, or, of a draft's pass, that of the target before it, which
// ends when the target runs again. Drafts before the first pass of a target are part of that one's step.
func (d *Device) StepOf(p int) int {
	if d.stepOf == nil { // not of an analysis
		return p
	}
	return d.stepOf[p]
}

// findStepOf finds the step that each pass is part of.
func (d *Device) findStepOf() {
	d.stepOf = make([]int, len(d.Passes))
	target := slices.IndexFunc(d.Passes, func(f ForwardPass) bool { return f.serves() })
	for p := range d.Passes {
		if d.stepOf[p] = p; d.Passes[p].serves() {
			target = p
		} else if d.Passes[p].Stage == StageDraft && target >= 0 {
			d.stepOf[p] = target
		}
	}
}

// TimeSpan is a stretch of time.
type TimeSpan struct {
	Start trace.Time // inclusive
	End   trace.Time // exclusive
}

// StepSpan is the time from the start of pass p to that of the next pass, pauses included; for the last pass, and for
// one that runs beside the next, its own time. It is empty of a pass whose kernels were not recorded.
func (d *Device) StepSpan(p int) TimeSpan {
	if p >= len(d.Passes) {
		return TimeSpan{}
	}
	end := d.Passes[p].End
	if d.stepEnds != nil {
		end = d.stepEnds[p]
	}
	return TimeSpan{d.Passes[p].Start, end}
}

// pausesIn are the parts of the pauses that lie in a span.
func (d *Device) pausesIn(s TimeSpan) iter.Seq[TimeSpan] {
	return func(yield func(TimeSpan) bool) {
		i := sort.Search(len(d.waits), func(i int) bool { return d.waits[i].End > s.Start })
		for ; i < len(d.waits) && d.waits[i].Start < s.End; i++ {
			w := &d.waits[i]
			if w.Pause && !yield(TimeSpan{max(w.Start, s.Start), min(w.End, s.End)}) {
				return
			}
		}
	}
}

// findStepEnds says where each step ends, and which times between two steps are nobody's.
func (d *Device) findStepEnds() {
	d.stepEnds = make([]trace.Time, len(d.Passes))
	for p := range d.Passes {
		f := &d.Passes[p]
		switch d.stepEnds[p] = f.End; {
		case f.Kernels == 0: // none was recorded: how long it took is not known
			d.stepEnds[p] = f.Start
		case p+1 < len(d.Passes):
			d.stepEnds[p] = max(f.End, d.Passes[p+1].Start)
		}
	}
	if d.of != nil && d.of.trace != nil {
		d.findWaits()
	}
	d.findStepOf()
	d.findStepShares()
}

// Steps iterates over the slices of the timeline that lie between the start of a pass and that of the next, each with
// the index of that pass and cut at both. Pauses are left out (see [Device.Waits]): the server had nothing to do. A
// slice's own Pass is another one where a kernel of that runs meanwhile. Time that two steps share is in both: for sums
// over passes see [Device.StepsOnce].
func (d *Device) Steps() iter.Seq2[int, Slice] {
	return func(yield func(int, Slice) bool) {
		first := 0 // passes before it have ended
		for s := range d.Timeline() {
			for first < len(d.Passes) && d.StepSpan(first).End <= s.Start {
				first++
			}
			for p := first; p < len(d.Passes); p++ {
				f := &d.Passes[p]
				if f.Start >= s.End {
					if f.Kernels > 0 {
						break
					}
					continue // one without kernels may be placed later than those after it
				}
				part := s
				part.Start, part.End = max(s.Start, f.Start), min(s.End, d.StepSpan(p).End)
				if !d.withoutPauses(part, func(s Slice) bool { return yield(p, s) }) {
					return
				}
			}
		}
	}
}

// StepsOnce is [Device.Steps] of the passes that keep wants, without the time that the step of an earlier one of them
// has: of passes that run beside each other a sum over it holds each nanosecond once. Slices are in order of time.
func (d *Device) StepsOnce(keep func(pass int) bool) iter.Seq2[int, Slice] {
	return func(yield func(int, Slice) bool) {
		from := make([]trace.Time, len(d.Passes)) // where the steps of the earlier ones end
		end := trace.Time(math.MinInt64)
		for p := range d.Passes {
			if from[p] = end; keep(p) {
				end = max(end, d.StepSpan(p).End)
			}
		}
		for p, s := range d.Steps() {
			s.Start = max(s.Start, from[p])
			if s.Start < s.End && keep(p) && !yield(p, s) {
				return
			}
		}
	}
}

// withoutPauses calls f with the parts of a slice that are no pause, as long as it says true.
func (d *Device) withoutPauses(s Slice, f func(Slice) bool) bool {
	if s.Kernel == trace.None {
		for w := range d.pausesIn(TimeSpan{s.Start, s.End}) {
			part := s
			if part.End = w.Start; part.Start < part.End && !f(part) {
				return false
			}
			s.Start = w.End
		}
	}
	return s.Start >= s.End || f(s)
}
