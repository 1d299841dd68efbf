package segment

import "strings"

// Doubts are what speaks against a cut.
type Doubts struct {
	Unlike    float64 // share of the layers' kernels in layers that no neighbour is like, or that lack the mixer that most have
	Outside   float64 // share of the mixers outside layers
	Rest      float64 // share of the kernels that are outside layers and have names that layers run
	Single    float64 // share of the layers' kernels in layers that occur once, by base names
	Uneven    float64 // unevenness of the layers
	Unstarted float64 // share of layers that do not begin with a norm
	Parts     bool    // layers are a mixer or a feed-forward part each
	Bare      bool    // a layer has no mixer where nearly all have one
	// BareInside says that such a layer is neither the first nor the last, which the window may cut; Looked that a few layers embed or sample.
	BareInside, Looked bool
	Nameless           bool // hardly a mixer is known
	Unplaced           bool // the boundary does not stand at the norm in front of the mixer
	Several            bool // there is more than one norm, and structure leaves the boundary open
	Front              bool // no embedding in front, and what stands there is like layers: the window may cut layers off
	Foreign            bool // read by a whole pass whose layers are unlike these
	// Miscounted says that more layers were counted than a pass between two others has.
	Miscounted bool
	Guessed    bool // the number of layers was read from the passes
}

// Doubt collects what speaks against c. With guessed the number of layers was read from names.
func (p *Params) Doubt(s *Sequence, c *Cut, guessed bool) Doubts {
	n, starts := c.Layers(), c.Starts
	inside := starts[n] - starts[0]
	d := Doubts{Guessed: guessed, Uneven: unevenness(starts), Single: 1 - p.repeated(s, c)}
	if inside > 0 {
		d.Unlike = max(1-float64(p.Explained(s, c))/float64(inside), float64(p.doubled(s, starts))/float64(inside))
	}
	d.Rest = 1 - float64(inside+p.foreign(s, starts))/float64(s.Len())
	all, _ := Mixers(s, 0, s.Len())
	in, _ := Mixers(s, starts[0], starts[n])
	d.Nameless = all < n/p.Turns
	if all > 0 {
		d.Outside = float64(all-in) / float64(all)
	}
	share, known := p.mixerShareOfLayers(s, starts)
	if known && share >= p.MixerShare {
		d.Bare, d.BareInside = p.bare(s, starts)
	}
	d.Looked = lookedUp(s, starts)
	d.Parts = known && share < p.MixerShare
	input := inputNorm(c.unit)
	d.Unplaced = input < 0 || c.At%c.Period() != input
	d.Several = c.Lo != c.Hi && c.unit.s.Slice(c.unit.from, c.unit.to).Count(norm) > 1
	d.Front = !s.Slice(0, starts[0]).has(embed) && p.ComesFrom(s, starts)
	begin := 0
	for l := range n {
		if starts[l] < s.Len() && s.Role[starts[l]] == norm {
			begin++
		}
	}
	d.Unstarted = float64(n-begin) / float64(n)
	return d
}

// doubled counts the kernels of layers with more mixers than most have, or than layers have, each behind a norm of its own: whether such a block ends a layer
// or begins the next one cannot be seen.
func (p *Params) doubled(s *Sequence, starts []int) int {
	blocks := make([]int, len(starts)-1)
	count := map[int]int{}
	usual := 0
	for l := range blocks {
		blocks[l] = mixerBlocks(s, starts[l], starts[l+1])
		if count[blocks[l]]++; count[blocks[l]] > count[usual] || count[blocks[l]] == count[usual] && blocks[l] < usual {
			usual = blocks[l]
		}
	}
	n := 0
	for l, b := range blocks {
		if b > max(1, min(usual, p.LayerMixers)) {
			n += starts[l+1] - starts[l]
		}
	}
	return n
}

// mixerBlocks counts the mixers of [from, to), those with no norm between them as one.
func mixerBlocks(s *Sequence, from, to int) int {
	blocks, fresh := 0, true
	for _, r := range s.Role[from:to] {
		switch {
		case r == norm:
			fresh = true
		case r == mixer && fresh:
			blocks++
			fresh = false
		}
	}
	return blocks
}

// foreign counts the kernels outside layers that layers do not run.
func (p *Params) foreign(s *Sequence, starts []int) int {
	from, to := starts[0], starts[len(starts)-1]
	inside := setOf(s.Base[from:to])
	return strange(s.Base[:from], inside) + strange(s.Base[to:], inside)
}

// bare says whether a layer has no mixer and is not of the kind of those that have one, and whether one between the first and the last is.
func (p *Params) bare(s *Sequence, starts []int) (some, inside bool) {
	with, mixes := -1, mixesOf(s, starts)
	for l, m := range mixes {
		if m {
			with = l
		} else if with < 0 || !p.sameLayer(s, starts[l], starts[l+1], starts[with], starts[with+1]) {
			some, inside = true, inside || l > 0 && l < len(mixes)-1
		}
	}
	return some, inside
}

// lookedUp says whether less than half of the layers hold a kernel that embeds or samples: a pass begins or ends in the midst of them.
func lookedUp(s *Sequence, starts []int) bool {
	n := 0
	for l := range len(starts) - 1 {
		if layer := s.Slice(starts[l], starts[l+1]); layer.has(embed) || layer.has(sample) {
			n++
		}
	}
	return n > 0 && 2*n < len(starts)-1
}

// Judge lowers a confidence to what layers with such doubts deserve.
func (p *Params) Judge(conf float64, d Doubts) float64 {
	for _, c := range p.caps(d) {
		if c.holds {
			conf = min(conf, c.most)
		}
	}
	return conf
}

// Words says what is in doubt, "" for nothing.
func (p *Params) Words(d Doubts) string {
	var words []string
	for _, c := range p.caps(d) {
		if c.holds {
			words = append(words, c.word)
		}
	}
	return strings.Join(words, ", ")
}

// A limit is what a doubt leaves of the confidence.
type limit struct {
	holds bool
	most  float64
	word  string
}

func (p *Params) caps(d Doubts) []limit {
	none := d.Unstarted > 1-p.DoubtMixed
	return []limit{
		{d.Front, p.CapFront, "nothing shows where the pass begins"},
		{d.Unlike > p.DoubtUnlike, p.CapUnlike, "layers unlike the others"},
		{d.Foreign, p.CapForeign, "layers unlike those of the whole pass that they were read by"},
		{d.Miscounted, p.CapMiscounted, "more layers than a pass between two others has"},
		{d.Outside > p.DoubtOutside || d.Rest > p.DoubtRest, p.CapOutside, "kernels like those of layers outside of them"},
		{d.Single > p.DoubtSingle, p.CapSingle, "many layers that no other is equal to"},
		{d.Single > p.DoubtSingle && d.Guessed, p.CapGuess, "and their number is read from them"},
		{d.Uneven > p.DoubtUneven && d.Unstarted > p.DoubtUnstarted, p.CapUneven, "layers of uneven length and beginning"},
		{d.Parts && d.Guessed, p.CapParts, "a mixer or a feed-forward part is a layer each, and their number is read from them"},
		{d.Unplaced && d.Several, p.CapSeveral, "several norms that layers may begin with"},
		{d.Bare, p.CapBare, "a layer without a mixer"},
		{d.BareInside && d.Guessed, p.CapParts, "which may be a part of one"},
		{d.Looked, p.CapMiscounted, "layers that embed or sample: more than one pass"},
		{d.Nameless, p.CapNameless, "no kernel is known to mix tokens"},
		{none && d.Single > p.DoubtSome, p.CapDamaged, "some layers that no other is equal to, and no norm to begin them with"},
		{none, p.CapUnstarted, "layers that do not begin with a norm"},
		{!none && d.Unstarted > p.DoubtMixed, p.CapDamaged, "layers of which some begin with a norm"},
		{d.Unplaced, p.CapUnplaced, "no norm in front of the mixer to begin layers with"},
	}
}

// repeated is the share of kernels in layers whose sequence of base names occurs at least twice in the pass.
func (p *Params) repeated(s *Sequence, c *Cut) float64 {
	kinds, _ := kindsOf(s.Base, c.Starts)
	shared := 0
	for _, k := range kinds {
		if k.count > 1 {
			shared += k.count * (k.to - k.from)
		}
	}
	return float64(shared) / float64(max(1, c.Starts[c.Layers()]-c.Starts[0]))
}

// OneKind says whether all layers of a cut are alike, and hold a mixer each.
func (p *Params) OneKind(s *Sequence, c *Cut) bool {
	return likeness(s, c.Starts, 1) >= p.KindApart && p.mixedLayers(s, c.Starts)
}
