package segment

import "strings"

// Doubts are what speaks against a cut.
type Doubts struct {
	// share of the layers' kernels in layers that no neighbour is like, or that lack the mixer that most have
	Unlike    float64
	Outside   float64 // share of the mixers outside layers
	Rest      float64 // share of the kernels that are outside layers and have names that layers run
	Single    float64 // share of the layers' kernels in layers that occur once, by base names
	Uneven    float64 // unevenness of the layers
	Unstarted float64 // share of layers that do not begin with a norm
	Parts     bool    // layers are a mixer or a feed-forward part each
	Nameless  bool    // hardly a mixer is known
	Unplaced  bool    // the boundary is not at the norm before the mixer
	Several   bool    // there is more than one norm, and structure leaves the boundary open
	Front     bool    // no embedding before them, and what is there is like layers: the window may cut layers off
	Foreign   bool    // read by a whole pass whose layers are unlike these
	// Miscounted says that more layers were counted than a pass between two others has.
	Miscounted bool
	Guessed    bool // the number of layers was read from the passes
}

// Doubt collects what speaks against c. With guessed the number of layers was read from names.
func Doubt(s *Sequence, c *Cut, guessed bool) Doubts {
	n, starts := c.Layers(), c.Starts
	inside := starts[n] - starts[0]
	d := Doubts{Guessed: guessed, Uneven: unevenness(starts), Single: 1 - repeatedShare(s, c)}
	if inside > 0 {
		d.Unlike = max(1-float64(Explained(s, c))/float64(inside), float64(doubled(s, starts))/float64(inside))
	}
	d.Rest = 1 - float64(inside+foreignOutside(s, starts))/float64(s.Len())
	all, _ := Mixers(s, 0, s.Len())
	in, _ := Mixers(s, starts[0], starts[n])
	d.Nameless = all < n/maxTurns
	if all > 0 {
		d.Outside = float64(all-in) / float64(all)
	}
	share, known := mixerShareOfLayers(s, starts)
	d.Parts = known && share < mixersLeast
	input := inputOf(c.unit)
	d.Unplaced = input < 0 || c.At%c.Period() != input
	d.Several = c.Lo != c.Hi && c.unit.s.Slice(c.unit.from, c.unit.to).Count(norm) > 1
	d.Front = MissingEnds(s, starts).Start
	begin := 0
	for l := range n {
		if starts[l] < s.Len() && s.opens(starts[l]) {
			begin++
		}
	}
	d.Unstarted = float64(n-begin) / float64(n)
	return d
}

// doubled counts the kernels of layers with more mixers than most have, or than layers have, each after a norm of
// its own: whether such a block ends a layer or begins the next one cannot be seen.
func doubled(s *Sequence, starts []int) int {
	blocks := make([]int, len(starts)-1)
	count := map[int]int{}
	usual := 0
	for l := range blocks {
		blocks[l] = mixerBlocks(s, starts[l], starts[l+1])
		if count[blocks[l]]++; count[blocks[l]] > count[usual] || count[blocks[l]] == count[usual] &&
			blocks[l] < usual {
			usual = blocks[l]
		}
	}
	n := 0
	for l, b := range blocks {
		if b > max(1, min(usual, layerMixers)) {
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
func foreignOutside(s *Sequence, starts []int) int {
	from, to := starts[0], starts[len(starts)-1]
	inside := setOf(s.Base[from:to])
	return strange(s.Base[:from], inside) + strange(s.Base[to:], inside)
}

// Judge lowers a confidence to what layers with such doubts deserve.
func Judge(conf float64, d Doubts) float64 {
	for _, c := range capsOf(d) {
		if c.holds {
			conf = min(conf, c.most)
		}
	}
	return conf
}

// Words says what is in doubt, "" for nothing.
func Words(d Doubts) string {
	var words []string
	for _, c := range capsOf(d) {
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

func capsOf(d Doubts) []limit {
	none := d.Unstarted > 1-doubtMixed
	return []limit{
		{d.Front, capFront, "nothing shows where the pass begins"},
		{d.Unlike > doubtUnlike, capUnlike, "layers unlike the others"},
		{d.Foreign, capForeign, "layers unlike those of the whole pass that they were read by"},
		{d.Miscounted, capMiscounted, "more layers than a pass between two others has"},
		{d.Outside > doubtOutside || d.Rest > doubtRest, capOutside, "kernels like those of layers outside of them"},
		{d.Single > doubtSingle, capSingle, "many layers that no other is equal to"},
		{d.Single > doubtSingle && d.Guessed, capGuess, "and their number is read from them"},
		{d.Uneven > DoubtUneven && d.Unstarted > doubtUnstarted, CapUneven, "layers of uneven length and beginning"},
		{d.Parts && d.Guessed, capParts, "a mixer or a feed-forward part is a layer each, and their number is read from them"},
		{d.Unplaced && d.Several, capSeveral, "several norms that layers may begin with"},
		{d.Nameless, capNameless, "no kernel is known to mix tokens"},
		{none && d.Single > doubtSome, capDamaged, "some layers that no other is equal to, and no norm to begin them with"},
		{none, capUnstarted, "layers that do not begin with a norm"},
		{!none && d.Unstarted > doubtMixed, capDamaged, "some layers begin with a norm, others do not"},
		{d.Unplaced, capUnplaced, "no norm before the mixer to begin layers with"},
	}
}

// repeated is the share of kernels in layers whose sequence of base names occurs at least twice in the pass.
func repeatedShare(s *Sequence, c *Cut) float64 {
	kinds, _ := kindsOf(s.Base, c.Starts)
	shared := 0
	for _, k := range kinds {
		if k.count > 1 {
			shared += k.count * (k.to - k.from)
		}
	}
	return float64(shared) / float64(max(1, c.Starts[c.Layers()]-c.Starts[0]))
}
