package segment

import (
	"cmp"
	"slices"
)

// apartNames is how many kernels that layers do not run are between two stacks: a final norm and a product are those
// of layers, and so may one copy be.
const apartNames = 2

// longestPass is how many times as long as a stack a pass may be that runs it, so that the distances between mixers
// that are tried as periods do not become more with the pass.
const longestPass = 200

// A run is a stretch in which a period of kernels repeats.
type run struct {
	Stack
	period int
}

// Apart returns the stacks of layers that a pass runs one after another, nil for a single one: an encoder of images and
// the decoder that draws them again, a vision tower and what reads it. Layers of a stack run the same kernels; what is
// between two stacks is no layer: it mixes nothing, as each layer does, and runs kernels that layers do not. Stacks
// that cover little of the pass are none.
func Apart(s *Sequence) []Stack {
	if s.Count(mixer) < 2*StackLayers {
		return nil
	}
	var out []Stack
	var last run
	covered := 0
	for _, b := range runsOf(s) {
		covered += b.To - max(b.From, last.To)
		if len(out) > 0 && !isApart(s, last, b) {
			out[len(out)-1].To, out[len(out)-1].N = b.To, out[len(out)-1].N+b.N
		} else {
			out = append(out, b.Stack)
		}
		last = b
	}
	if len(out) < 2 || !AtLeast(covered, minCovered, s.Len()) {
		return nil
	}
	return out
}

// isApart says whether no layer is between two runs, but what layers do not run.
func isApart(s *Sequence, a, b run) bool {
	between := s.Slice(a.To, max(a.To, b.From))
	units := slices.Concat(s.Base[a.From:a.From+a.period], s.Base[b.From:b.From+b.period])
	if between.has(mixer) || strange(between.Base, setOf(units)) < apartNames {
		return false
	}
	// a layer whose mixer nobody knows runs what others run beside it, or in the place of it
	from, to := a.To-1, b.From
	for s.Role[from] != mixer {
		from--
	}
	for s.Role[to] != mixer {
		to++
	}
	more := Both(s.Base[from:to], units) - len(units)/2
	if a.period == b.period {
		more = abs(more)
	}
	return float64(more) < surplusAlike*float64(min(a.period, b.period))
}

// periodsOf returns the distances between mixers of one name that recur as they do in a stack of layers, which may come
// in turns.
func periodsOf(s *Sequence) (out []int) {
	seen, periods := map[int32][]int{}, map[int]int{} // mixers by name, and distances that follow equal ones
	for i, r := range s.Role {
		if r != mixer {
			continue
		}
		at := append(seen[s.Base[i]], i)
		n := len(at) - 1
		for lag := 1; lag <= maxTurns && lag < n; lag++ {
			if p := i - at[n-lag]; p == at[n-1]-at[n-1-lag] {
				periods[p]++
			}
		}
		seen[s.Base[i]] = at
	}
	for p, often := range periods {
		if layers := often + 2; layers >= StackLayers && longestPass*layers*p >= s.Len() {
			out = append(out, p)
		}
	}
	return out
}

// runsOf returns the stretches in which a period of kernels that mix repeats, StackLayers times or more, in order.
// Of two that overlap the longer one counts, and of equals that of the shorter period.
func runsOf(s *Sequence) (out []run) {
	var all []run
	for _, p := range periodsOf(s) {
		for from, i := p, p; i <= s.Len(); i++ {
			if i < s.Len() && s.Base[i] == s.Base[i-p] {
				continue
			}
			if n := (i-from)/p + 1; n >= StackLayers && s.Slice(from, from+p).has(mixer) {
				all = append(all, run{Stack{from - p, i, n}, p})
			}
			from = i + 1
		}
	}
	slices.SortFunc(all, func(a, b run) int {
		return cmp.Or(cmp.Compare(b.To-b.From, a.To-a.From), cmp.Compare(a.period, b.period), cmp.Compare(a.From, b.From))
	})
	for _, r := range all {
		if !slices.ContainsFunc(out, func(o run) bool { return r.From < o.To-r.period && o.From < r.To-r.period }) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b run) int { return a.From - b.From })
	return out
}
