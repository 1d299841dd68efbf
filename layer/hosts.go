package layer

import (
	"cmp"
	"slices"

	"github.com/llmstrata/strata/layer/internal/ladder"
	"github.com/llmstrata/strata/trace"
)

// HostSpan is what the CPU did for a pass: the step annotation around its launches, else the time from its first
// launch to the end of its last one.
type HostSpan = ladder.HostSpan

// numberSteps gives passes of several GPUs that one step of the server launched the same number. They have the same
// annotation, or annotations of the same number, or the same stage and run at the same time. Pipeline ranks run a
// step one after the other: without annotations they are taken for as many steps as run at the same time.
func (a *Analysis) numberSteps() {
	if len(a.Devices) == 0 {
		return
	}
	var steps [][]*ForwardPass // the first pass is that of the first device that ran the step
	for p := range a.Devices[0].Passes {
		steps = append(steps, []*ForwardPass{&a.Devices[0].Passes[p]})
	}
	for d := 1; d < len(a.Devices); d++ {
		if d == 1 {
			slices.SortStableFunc(steps, byStart)
		}
		passes := a.Devices[d].Passes
		known, alone, next := newKnownSteps(steps, passes), make([][]*ForwardPass, 0, len(passes)), 0
		for p := range passes {
			fp := &passes[p]
			if k := known.match(next, fp); k >= 0 {
				steps[k] = append(steps[k], fp)
				next = k + 1
			} else {
				alone = append(alone, []*ForwardPass{fp})
			}
		}
		steps = append(steps, alone...)
		// nearly in order: a step that others ran, too, comes before one that begins with it
		slices.SortStableFunc(steps, byStart)
	}
	for n, passes := range steps {
		for _, fp := range passes {
			fp.Step = n
		}
	}
}

// byStart orders steps by the start of their first pass.
func byStart(x, y []*ForwardPass) int { return cmp.Compare(x[0].Start, y[0].Start) }

// stepKey is what passes of one step have in common: the event of their annotation, or else its number.
type stepKey struct {
	annotation trace.EventID
	dialect    string
	number     int64
}

// stepKeys are those of a pass.
func stepKeys(fp *ForwardPass) (keys []stepKey) {
	if fp.Host.Annotation != trace.None {
		keys = append(keys, stepKey{annotation: fp.Host.Annotation})
	}
	if x := fp.Annotation; x != nil && x.Index >= 0 {
		keys = append(keys, stepKey{annotation: trace.None, dialect: x.Dialect, number: x.Index})
	}
	return keys
}

// knownSteps are the steps of the devices before one, by start, in which its passes are looked up one after the other.
type knownSteps struct {
	steps [][]*ForwardPass
	keys  map[stepKey][]int // of the device's passes: the steps that have them, in order
	open  []int             // steps that have begun and may run at the same time as the next pass
	begun int               // steps before it have begun
}

func newKnownSteps(steps [][]*ForwardPass, passes []ForwardPass) *knownSteps {
	ks := &knownSteps{steps: steps, keys: map[stepKey][]int{}}
	for p := range passes {
		for _, key := range stepKeys(&passes[p]) {
			ks.keys[key] = nil
		}
	}
	for k := range steps {
		for _, key := range stepKeys(steps[k][0]) {
			if at, asked := ks.keys[key]; asked {
				ks.keys[key] = append(at, k)
			}
		}
	}
	return ks
}

// match returns the step from next on that the pass is a part of, −1 for none: the first with a key of the pass, or
// else that of its stage which it overlaps most.
func (ks *knownSteps) match(next int, fp *ForwardPass) int {
	best, most := -1, trace.Time(0)
	for _, key := range stepKeys(fp) {
		at := ks.keys[key]
		if i, _ := slices.BinarySearch(at, next); i < len(at) && (best < 0 || at[i] < best) {
			best = at[i]
		}
	}
	if best >= 0 {
		return best
	}
	for ; ks.begun < len(ks.steps) && ks.steps[ks.begun][0].Start < fp.End; ks.begun++ {
		ks.open = append(ks.open, ks.begun)
	}
	ks.open = slices.DeleteFunc(ks.open, func(k int) bool { return k < next || ks.steps[k][0].End <= fp.Start })
	for _, k := range ks.open {
		q := ks.steps[k][0]
		if x, y := fp.Annotation, q.Annotation; x != nil && y != nil && x.Index >= 0 && y.Index >= 0 &&
			x.Dialect == y.Dialect {
			continue // of other numbers: other steps
		}
		if both := min(q.End, fp.End) - max(q.Start, fp.Start); both > most && q.Stage == fp.Stage {
			best, most = k, both
		}
	}
	return best
}
