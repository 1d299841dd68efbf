package segment

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// A pass that no other one is like has nobody to say what its lost records were, but itself: layers repeat. Where the
// kernels before a pause go on differently everywhere else, and so do those after it, what is missing is what lies
// between two such places that takes about as long as the pause.

// Restore returns the kernels of a sequence with those that are missing put back, as numbers of kernels of the sequence
// that run what they ran, and the sequence read as that; nil where nothing is missing. start is when each kernel
// starts, in ns. lost says whether a pause may hide what runs from one kernel to another one, as it does where calls
// are numbered and as many are missing.
func Restore(s *Sequence, start []int64, lost func(pause, from, to int) bool) (whole []int32, p Pass) {
	holes := holesIn(s, start, lost)
	if len(holes) == 0 {
		return nil, Pass{}
	}
	p.To = s.Len()
	for i := range s.Len() {
		if len(holes) > 0 && holes[0].at == i {
			h := holes[0]
			holes = holes[1:]
			p.Missing = append(p.Missing, Gap{From: len(whole), To: len(whole) + h.to - h.from, Before: i, Unsized: h.unsure})
			for k := h.from; k < h.to; k++ {
				whole = append(whole, int32(k))
			}
		}
		p.Column = append(p.Column, int32(len(whole)))
		whole = append(whole, int32(i))
	}
	return whole, p
}

// ClusterOf makes the cluster of a pass that no other one is like.
func ClusterOf(s Stretch) *Cluster { return &Cluster{Profile: newProfile(s), Members: 1} }

// A hole is what is missing before a kernel: what [from, to) run.
type hole struct {
	at, from, to int
	unsure       bool // another number of kernels takes about as long
}

// A window is the one of some of one length whose ends look most like those of a hole, and what each of them takes.
type window struct {
	hole
	like  int
	takes [][2]int64 // by how far off it is
	far   float64    // that is from what the hole takes, in nats
}

// near is what those of the windows take that are nearest to the hole: the first layers run colder, and clocks change.
func (w *window) near() int64 {
	slices.SortFunc(w.takes, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	near := w.takes[:min(TimedAlike, len(w.takes))]
	slices.SortFunc(near, func(a, b [2]int64) int { return cmp.Compare(a[1], b[1]) })
	return near[len(near)/2][1]
}

// holesIn finds the holes of a stretch, in order.
func holesIn(s *Sequence, start []int64, lost func(pause, from, to int) bool) (out []hole) {
	last := s.Len() - restoreLike
	if last < restoreLike {
		return nil
	}
	around := func(i int) uint64 { return Hash(s.Base[i-restoreLike : i+restoreLike]) }
	least := (fewDropped + 1) * usualStep(start)
	var pauses []int
	seen := map[uint64]int{} // how often kernels around a pause follow each other
	for i := restoreLike; i <= last; i++ {
		if start[i]-start[i-1] >= least {
			pauses = append(pauses, i)
			seen[around(i)] = 0
		}
	}
	if len(pauses) == 0 {
		return nil
	}
	for i := restoreLike; i <= last; i++ {
		if n, ok := seen[around(i)]; ok {
			seen[around(i)] = n + 1
		}
	}
	pauses = slices.DeleteFunc(pauses, func(i int) bool { return seen[around(i)] > 1 })
	slices.SortStableFunc(pauses, func(a, b int) int {
		return cmp.Compare(start[b]-start[b-1], start[a]-start[a-1])
	})
	pauses = pauses[:min(maxPauses, len(pauses))]
	for _, i := range pauses {
		if h, ok := holeAt(s, i, pauses, start, lost); ok {
			out = append(out, h)
		}
	}
	slices.SortFunc(out, func(a, b hole) int { return cmp.Compare(a.at, b.at) })
	return out
}

// usualStep is the median time from one start to the next, of up to restoreSteps of them.
func usualStep(start []int64) int64 {
	var steps []int64
	for i := 1; i < len(start); i += 1 + len(start)/restoreSteps {
		steps = append(steps, start[i]-start[i-1])
	}
	slices.Sort(steps)
	return steps[len(steps)/2]
}

// holeAt finds what is missing before kernel i: of the windows without a pause whose ends look most like the kernels on
// either side, as many kernels as usually take most nearly as long as it is from the kernel before to this one.
func holeAt(s *Sequence, i int, pauses []int, start []int64, lost func(pause, from, to int) bool) (hole, bool) {
	before, after := alikeFrom(s.Base, i-1, -1), alikeFrom(s.Base, i, 1)
	var from, to []int
	for k := range s.Len() {
		if k != i && k > 0 && before[k-1] >= restoreLike && len(from) < maxPlaces {
			from = append(from, k)
		}
		if k != i && after[k] >= restoreLike && len(to) < maxPlaces {
			to = append(to, k)
		}
	}
	windows := map[int]*window{} // by their length
	here := start[i] - start[i-1]
	for _, a := range from {
		end := s.Len()
		for _, p := range pauses {
			if p > a {
				end = min(end, p)
			}
		}
		first, _ := slices.BinarySearch(to, a+fewDropped+1)
		for _, b := range to[first:] {
			takes := start[b] - start[a-1]
			if takes > mostUsual*here || b > end {
				break
			}
			if takes <= 0 || !lost(i, a, b) {
				continue
			}
			w := windows[b-a]
			if w == nil {
				w = new(window)
				windows[b-a] = w
			}
			if w.takes = append(w.takes, [2]int64{int64(abs(a - i)), takes}); before[a-1]+after[b] > w.like {
				w.hole, w.like = hole{at: i, from: a, to: b}, before[a-1]+after[b]
			}
		}
	}
	var best *window
	list := make([]*window, 0, len(windows))
	for _, n := range slices.Sorted(maps.Keys(windows)) {
		w := windows[n]
		if w.far = math.Log(float64(here) / float64(w.near())); w.far < 0 {
			w.far *= -restoreFaster
		}
		if list = append(list, w); w.far <= restoreTime && (best == nil || w.like > best.like ||
			w.like == best.like && w.far < best.far) {
			best = w
		}
	}
	if best == nil {
		return hole{}, false
	}
	best.unsure = slices.ContainsFunc(list, func(w *window) bool {
		return w != best && w.like == best.like && w.far-best.far < restoreMargin
	})
	return best.hole, true
}

// alikeFrom counts for each place how many kernels from it on, in steps of 1 or −1, are those from i on, up to
// restoreFar.
func alikeFrom(base []int32, i, step int) []int {
	out := make([]int, len(base))
	within := func(k int) bool { return k >= 0 && k < len(base) }
	for k := range base {
		n := 0
		for n < restoreFar && within(k+n*step) && within(i+n*step) && base[k+n*step] == base[i+n*step] {
			n++
		}
		out[k] = n
	}
	return out
}
