package operator

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
)

// cheapest is what the cheapest alignment costs, by trying all: of the units from i on, behind so many steps.
func cheapest(w *work, units []unit, steps []step, bands []band, i, pos int) float64 {
	skipped := func(from, to int) (sum float64) {
		for _, s := range steps[from:to] {
			sum += s.skip
		}
		return sum
	}
	if i == len(units) {
		if w.pass.CutEnd {
			return 0
		}
		return skipped(pos, len(steps))
	}
	u := &units[i]
	best := math.Inf(1)
	if pos >= bands[i].lo && pos <= bands[i].hi {
		best = w.extraCost(u) + cheapest(w, units, steps, bands, i+1, pos)
	}
	for a := max(0, bands[i].lo-1); a < len(steps); a++ {
		end, cost, ok := w.emit(u, steps, a, nil)
		if !ok || end+1 > bands[i].hi {
			continue
		}
		enter := math.Inf(1)
		switch {
		case i == 0 && (w.pass.CutStart || w.pass.First > 0):
			enter = 0
		case pos <= a:
			enter = skipped(pos, a)
		case pos == a+1:
			enter = w.againCost(u, steps[a].Op)
		case steps[a].add && len(u.acts) == 1 && pos > a+2: // a sum is not far behind
		case pos <= a+1+w.p.MaxBack && steps[a].layer >= 0 && steps[a].layer == steps[pos-1].layer && heavy(u.acts[0]):
			enter = w.p.BackProduct
		case pos <= a+1+w.p.MaxBack && steps[a].layer >= 0 && steps[a].layer == steps[pos-1].layer:
			enter = w.p.Back
		}
		best = min(best, enter+cost+cheapest(w, units, steps, bands, i+1, end+1))
	}
	return best
}

// TestAlignmentIsTheCheapest: of few units and steps no way of giving one to the other costs less than the one that
// is found, whatever the window cuts.
func TestAlignmentIsTheCheapest(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	ops := []string{opname.InputNorm, opname.QKVProj, opname.Rope, opname.Attention, opname.OProj, opname.ResidualAdd,
		opname.PostNorm, opname.GateUpProj, opname.Activation, opname.DownProj, opname.AttnAllReduce, opname.Indexer}
	acts := [][]classify.Role{{classify.RoleNorm}, {classify.RoleProduct}, {classify.RoleRope},
		{classify.RoleAttention}, {classify.RoleAdd}, {classify.RoleAdd, classify.RoleNorm},
		{classify.RoleNorm, classify.RoleRope}, {classify.RoleOther}, {classify.RoleElementwise},
		{classify.RoleCollective}, {classify.RoleActivation},
		{classify.RoleCollective, classify.RoleAdd, classify.RoleNorm}}
	for n := range 1500 {
		p := Defaults()
		p.MaxBack = r.Intn(4)
		w := &work{p: &p, pass: &Pass{Layers: 4, CutStart: r.Intn(4) == 0, CutEnd: r.Intn(3) == 0, First: r.Intn(2)}}
		var steps []step
		for k := range 1 + r.Intn(8) {
			s := Step{Op: ops[r.Intn(len(ops))], Optional: r.Intn(3) == 0}
			steps = append(steps, newStep(&s, int32(k/2), w.skipCost(s)))
		}
		if r.Intn(3) == 0 {
			steps[0].layer = -1
		}
		var units []unit
		for k := range 1 + r.Intn(4) {
			units = append(units, unit{kernels: []int{k}, acts: acts[r.Intn(len(acts))], label: int32(r.Intn(6) - 2)})
		}
		path, cost := w.align(units, steps, nil, infinite)
		if want := cheapest(w, units, steps, w.bands(units, steps), 0, 0); math.Abs(cost-want) > 1e-9 && cost != want {
			t.Fatalf("%d: alignment costs %v, the cheapest %v: %+v with %+v", n, cost, want, units, steps)
		}
		if math.IsInf(cost, 1) {
			continue
		}
		if again, below := w.align(units, steps, nil, cost+rounding); below != cost || !slices.Equal(again, path) {
			t.Fatalf("%d: costs %v, and %v where only what is cheaper than %v counts", n, cost, below, cost+rounding)
		}
		if _, given := w.align(units, steps, nil, cost); given < cost {
			t.Fatalf("%d: costs %v, and %v where that is too much", n, cost, given)
		}
		if _, given := w.align(units, steps, nil, 0); !math.IsInf(given, 1) {
			t.Fatalf("%d: costs %v where everything is too much", n, given)
		}
		if len(path) != len(units) {
			t.Fatalf("%d: %d places for %d units", n, len(path), len(units))
		}
		pos := 0
		for i, at := range path {
			if at.start >= 0 {
				if end, _, ok := w.emit(&units[i], steps, at.start, nil); !ok || end != at.end {
					t.Fatalf("%d: unit %d takes steps %d to %d, want to %d", n, i, at.start, at.end, end)
				}
				pos = at.end + 1
			} else if at.end+1 != pos {
				t.Fatalf("%d: unit %d takes nothing and stands behind step %d, want %d", n, i, at.end, pos-1)
			}
		}
	}
}

// TestBandsOfLabels: a unit may take steps of the layer of its label, of the one before and of the one behind; where
// a label is missing, those of its neighbours count.
func TestBandsOfLabels(t *testing.T) {
	p := Defaults()
	var steps []step
	for _, layer := range []int32{-1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, -1} {
		steps = append(steps, newStep(&Step{Op: opname.QKVProj}, layer, 1))
	}
	for _, c := range []struct {
		name   string
		labels []int32
		want   []band
	}{
		{"in the middle", []int32{2}, []band{{3, 9}}},
		{"the first layer", []int32{0}, []band{{0, 5}}},
		{"the second", []int32{1}, []band{{0, 7}}},
		{"the last", []int32{4}, []band{{7, 12}}},
		{"the last but one", []int32{3}, []band{{5, 12}}},
		{"outside", []int32{-1}, []band{{0, 12}}},
		{"behind the first layer", []int32{0, -1}, []band{{0, 5}, {0, 12}}},
		{"in front of the first", []int32{-1, 0}, []band{{0, 5}, {0, 5}}},
		{"in front of the last", []int32{-1, 4}, []band{{0, 12}, {7, 12}}},
		{"behind a layer", []int32{2, -1}, []band{{3, 9}, {3, 12}}},
		{"in front of one", []int32{-1, 2}, []band{{0, 9}, {3, 9}}},
		{"between two", []int32{2, -1, 3}, []band{{3, 9}, {3, 12}, {5, 12}}},
		{"labels that jump", []int32{0, 4}, []band{{0, 5}, {5, 12}}},
		{"and back", []int32{4, 0}, []band{{7, 12}, {0, 5}}},
	} {
		w := &work{p: &p, pass: &Pass{Layers: 5}}
		var units []unit
		for _, l := range c.labels {
			units = append(units, unit{acts: []classify.Role{classify.RoleProduct}, label: l})
		}
		for i, got := range w.bands(units, steps) {
			if got != c.want[i] {
				t.Errorf("%s: unit %d of %v may end in %+v, want %+v", c.name, i, c.labels, got, c.want[i])
			}
		}
	}
}

// TestSameShape: the sizes of a product are those of a step where one is the step's and the other a rank's share of
// it, of at most 64 ranks.
func TestSameShape(t *testing.T) {
	for _, c := range []struct {
		k, n, wholeK, wholeN int
		want                 bool
	}{
		{64, 200, 64, 200, true}, {64, 100, 64, 200, true}, {32, 200, 64, 200, true}, {32, 100, 64, 200, false},
		{64, 201, 64, 200, false}, {64, 400, 64, 200, false}, {200, 64, 64, 200, false},
		{64, 0, 64, 200, false}, {64, 10, 64, 640, true}, {64, 10, 64, 650, false}, {64, 1, 64, 64, true},
	} {
		if got := sameShape(c.k, c.n, c.wholeK, c.wholeN); got != c.want {
			t.Errorf("%d × %d of %d × %d: %v, want %v", c.k, c.n, c.wholeK, c.wholeN, got, c.want)
		}
	}
}

// TestVotesOfEqualLayers: where three in five of the equal layers agree, the others follow; each keeps its number.
func TestVotesOfEqualLayers(t *testing.T) {
	for _, c := range []struct{ answers, want string }{
		{"aaaaa", "aaaaa"}, {"aaabb", "aaaaa"}, {"bbaaa", "aaaaa"}, {"aabbc", "aabbc"}, {"ab", "ab"}, {"abb", "bbb"},
		{"aaabbb", "aaabbb"}, {"a", "a"},
	} {
		p := Defaults()
		w := &work{p: &p, pass: &Pass{Layers: len(c.answers), First: 3}, reads: make([]reading, len(c.answers))}
		for l, a := range c.answers {
			w.pass.Kernels = append(w.pass.Kernels, Kernel{Name: "k", Layer: int32(l + 3)})
			w.found = append(w.found, Found{Operator: string(a), Layer: int32(l + 3)})
		}
		w.vote()
		got := ""
		for l, f := range w.found {
			if got += f.Operator; f.Layer != int32(l+3) {
				t.Errorf("%s: the answer of layer %d is of layer %d", c.answers, l+3, f.Layer)
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.answers, got, c.want)
		}
	}
}

// TestNearestOwner: what serves another kernel belongs to the nearest one of its stream that fits, among the next
// twelve.
func TestNearestOwner(t *testing.T) {
	p := Defaults()
	for _, c := range []struct {
		name        string
		at, owner   int // in a row of thirty
		by          int
		other, open bool // what is between is of another stream; the owner was not placed
		want        int
	}{
		{"next", 10, 11, 1, false, false, 11}, {"before", 10, 9, -1, false, false, 9},
		{"twelve on", 10, 22, 1, false, false, 22}, {"thirteen on", 10, 23, 1, false, false, -1},
		{"twelve back", 15, 3, -1, false, false, 3}, {"thirteen back", 15, 2, -1, false, false, -1},
		{"the first", 5, 0, -1, false, false, 0}, {"the last", 25, 29, 1, false, false, 29},
		{"other streams do not count", 10, 28, 1, true, false, 28}, {"without an operator", 10, 11, 1, false, true, -1},
	} {
		w := &work{p: &p, pass: &Pass{}, placed: make([]bool, 30), found: make([]Found, 30), reads: make([]reading, 30)}
		for i := range 30 {
			k := Kernel{Name: "k"}
			if c.other && i != c.at && i != c.owner {
				k.Stream = 9
			}
			w.pass.Kernels = append(w.pass.Kernels, k)
			w.reads[i].acts = []classify.Role{classify.RoleOther}
			w.placed[i] = true
		}
		w.reads[c.owner].acts, w.placed[c.owner] = []classify.Role{classify.RoleProduct}, !c.open
		if got := w.near(c.at, c.by, classify.RoleProduct); got != c.want {
			t.Errorf("%s: kernel %d, want %d", c.name, got, c.want)
		}
	}
}

// TestPairsThatOrderDoesNotTell: keys and values, gates and what they gate are separated by what is between, not
// by their order.
func TestPairsThatOrderDoesNotTell(t *testing.T) {
	const pair = opname.GateProj + "|" + opname.UpProj
	for _, c := range []struct {
		ops  []string // of units one after the other, "" for one without
		want []string
	}{
		{[]string{opname.QProj, opname.KProj, opname.VProj}, []string{"", "k_proj|v_proj", "k_proj|v_proj"}},
		{[]string{opname.KProj, opname.VProj}, []string{"k_proj|v_proj", "k_proj|v_proj"}},
		{[]string{opname.GateProj, opname.UpProj}, []string{pair, pair}},
		{[]string{opname.UpProj, opname.GateProj}, []string{pair, pair}},
		{[]string{opname.GateProj, opname.Activation, opname.UpProj}, []string{"", "", ""}},
		{[]string{opname.GateProj, "", opname.UpProj}, []string{"", "", ""}},
		{[]string{opname.GateProj, opname.GateProj}, []string{"", ""}},
		{[]string{opname.QProj, opname.GateProj, opname.UpProj, opname.DownProj}, []string{"", pair, pair, ""}},
	} {
		var steps []step
		var path []place
		for _, op := range c.ops {
			if op == "" {
				path = append(path, place{-1, len(steps) - 1})
				continue
			}
			path = append(path, place{len(steps), len(steps)})
			steps = append(steps, newStep(&Step{Op: op}, 0, 1))
		}
		for i := range c.ops {
			if path[i].start < 0 {
				continue
			}
			if got := splitPair(steps, path, i, false); got != c.want[i] {
				t.Errorf("%q: kernel %d is %q, want %q", c.ops, i, got, c.want[i])
			}
			want := c.want[i]
			if slices.Contains([]string{opname.QProj, opname.KProj, opname.VProj}, c.ops[i]) {
				want = "q_proj|k_proj|v_proj"
			}
			if got := splitPair(steps, path, i, true); got != want {
				t.Errorf("%q of images: kernel %d is %q, want %q", c.ops, i, got, want)
			}
		}
	}
}
