package strata

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

// A headline that one of many moves by more than decisiveShare says more of that one than of the run. With fewer than
// fewestPeers others nothing says what is usual.
const (
	decisiveShare = 0.1
	fewestPeers   = 4
)

// crossCheck notes where the mean of a stage depends on one pass, or the largest operator on one row, and where there
// are too few passes to say.
func (r *Report) crossCheck() {
	var few []string
	for _, p := range r.parts {
		if p.d == nil {
			continue
		}
		few = append(few, r.checkMeans(p)...)
		for _, pass := range p.chosen {
			r.checkLargest(p, pass)
		}
	}
	if len(few) > 0 {
		r.note("%s: too few to check the mean", strings.Join(slices.Compact(few), "; "))
	}
}

// checkMeans computes the mean step of each stage again with its most influential pass as long as the median of the
// passes of the same work. It returns the stages with too few passes.
func (r *Report) checkMeans(p *reportPart) (few []string) {
	kinds, byKind := p.kinds()
	for _, k := range kinds {
		byWork := map[int64][]int{}
		var all time.Duration
		n := 0
		for _, i := range byKind[k] {
			if f := &p.d.Passes[i]; f.Partial == "" && !f.Cold && k.stage != layer.StageCapture &&
				f.Basis() == finding.OfStep {
				byWork[f.Tokens] = append(byWork[f.Tokens], i)
				all += p.wall[i]
				n++
			}
		}
		if n <= fewestPeers {
			if n > 0 {
				few = append(few, strings.TrimSuffix(fmt.Sprintf("%s of %s, %s", countedPasses(n), stageName(k.stage),
					p.d.ModelOf(byKind[k][0])), ", "))
			}
			continue
		}
		var pass, peers int
		var usual, moved time.Duration
		for _, same := range byWork {
			slices.SortFunc(same, func(a, b int) int { return cmp.Or(cmp.Compare(p.wall[a], p.wall[b]), a-b) })
			for _, at := range []int{0, len(same) - 1} {
				others := slices.Delete(slices.Clone(same), at, at+1)
				if len(others) < fewestPeers {
					continue
				}
				median := p.wall[others[len(others)/2]]
				by := max(p.wall[same[at]]-median, median-p.wall[same[at]])
				if by > moved || by == moved && same[at] < pass {
					pass, peers, usual, moved = same[at], len(others), median, by
				}
			}
		}
		if float64(moved) > decisiveShare*float64(all) {
			r.note("the mean step (%s) depends on one pass: pass %d takes %s, the median of its %d peers %s",
				stageName(k.stage), pass, table.Duration(p.wall[pass]), peers, table.Duration(usual))
		}
	}
	return few
}

func countedPasses(n int) string {
	if n == 1 {
		return "one pass"
	}
	return table.Counted(n, "pass", "passes")
}

// repeats reports whether a kernel of a pass runs so often that its rows have peers.
func (p *reportPart) repeats(pass int) bool {
	times := make([]int32, p.a.Trace().NumNames())
	for k := range p.d.Kernels() {
		if k.Place().Pass == pass {
			if times[k.Event().NameID()]++; times[k.Event().NameID()] > fewestPeers {
				return true
			}
		}
	}
	return false
}

// checkLargest computes the largest operator of a pass again with its most influential row as long as the median of
// the same kernel in that operator. Collectives wait, so their times differ by nature.
func (r *Report) checkLargest(p *reportPart, pass int) {
	if !p.repeats(pass) {
		return
	}
	key := func(k layer.Kernel) operatorKey {
		op, _, _ := k.Operator()
		if op == "" || op == opname.Other {
			return operatorKey{"", k.Facts().Short}
		}
		return operatorKey{p.layerType(k.Place()), string(op)}
	}
	sums := map[operatorKey]time.Duration{}
	var top operatorKey
	for k := range p.d.Kernels() {
		if k.Place().Pass == pass {
			at := key(k)
			if sums[at] += k.Event().Duration(); sums[at] > sums[top] {
				top = at
			}
		}
	}
	var second time.Duration
	whole := sums[top]
	for at, d := range sums {
		if at != top {
			second = max(second, d)
		}
	}
	rows := map[trace.NameID][]time.Duration{}
	for k := range p.d.Kernels() {
		if k.Place().Pass == pass && key(k) == top && k.Facts().Collective == classify.NotCollective {
			rows[k.Event().NameID()] = append(rows[k.Event().NameID()], k.Event().Duration())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		took := rows[name]
		if len(took) <= fewestPeers {
			continue
		}
		slices.Sort(took)
		n := len(took) - 1
		var others time.Duration
		longest := took[n]
		for _, d := range took[:n] {
			others += d
		}
		moved := longest - took[n/2] // kernels of other names may take more than all rows of this one
		if longest > others && (whole-moved < second || float64(moved) > decisiveShare*float64(whole)) {
			r.note("the largest operator of pass %d, %s, depends on one row: %s takes %s, the median of its %d peers %s",
				pass, top.operator, table.Name(p.a.Trace().Name(name), nameWidth), table.Duration(longest), n,
				table.Duration(took[n/2]))
			return
		}
	}
}
