package segment

import (
	"slices"
	"strings"
)

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
	Twice      bool // the pass runs what another one runs, and once more
	Guessed    bool // the number of layers was read from the passes
	Drafts     bool // a layer looks up an embedding, or samples, as runs of a draft model do
	Ragged     bool // some layers equal no other, their lengths differ, or the window cuts one
	Endless    bool // nothing shows where the only pass ends
	FromEnd    bool // the window cuts off the first layers of the only pass
	Lost       bool // nothing shows where the only pass begins or ends
	Scrambled  bool // names and times of its records do not belong together
	Moved      bool // kernels of a stream end before earlier ones do: their times are wrong
	Unsure     bool // how many records are missing is open
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
	within := s.Slice(starts[0], starts[n])
	d.Drafts = within.has(embed) || within.has(sample)
	d.Ragged = d.Single > doubtSome || d.Uneven > DoubtUneven
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

// Twice says whether s alone of all runs the kernels of another one twice, and returns that one: a pass runs its model
// once. Where several do they are of another model, as a target of twice the layers of its draft is.
func Twice(s *Sequence, all []*Sequence) (t *Sequence, ok bool) {
	t = slices.MinFunc(all, func(a, b *Sequence) int { return abs(2*a.Len()-s.Len()) - abs(2*b.Len()-s.Len()) })
	if !runs(s, t, 2) {
		return t, false
	}
	alike := 0
	for _, o := range all {
		if runs(s, o, 1) {
			if alike++; alike > 1 {
				return t, false
			}
		}
	}
	return t, true
}

// runs says whether s runs the kernels of t so many times, in any order, but for less than a tenth.
func runs(s, t *Sequence, times int) bool {
	if AtLeast(abs(s.Len()-times*t.Len()), regularOff, s.Len()) {
		return false
	}
	off := map[int32]int{}
	for _, id := range s.Base {
		off[id]++
	}
	for _, id := range t.Base {
		off[id] -= times
	}
	sum := 0
	for _, n := range off {
		sum += abs(n)
	}
	return !AtLeast(sum, regularOff, s.Len())
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
	for _, c := range Limits {
		if c.holds(&d) {
			return min(conf, c.Most)
		}
	}
	return conf
}

// Words says what is in doubt, the gravest first, "" for nothing.
func Words(d Doubts) string {
	var words []string
	for _, c := range Limits {
		if c.holds(&d) {
			words = append(words, c.Word)
		}
	}
	return strings.Join(words, ", ")
}

// A Limit is the most that a confidence is with a doubt.
type Limit struct {
	Most  float64
	Word  string
	holds func(*Doubts) bool
}

// Scrambled is what is left where names and times do not belong together: half of the kernels of the one real trace
// are in another layer than the one they ran in.
const Scrambled = 0.5

// Contradicted is what is left where layers are not what layers of every run are, and with doubts where one answer
// in twenty, or more, is below 90% right.
const Contradicted = 0.795

// mostlyRight bounds answers where one in a hundred, or more, is below 90% right.
const mostlyRight = 0.949

// Limits has a row for each doubt, the gravest first. A limit is the share of right answers among those of the
// battery's families that have no graver doubt: of four draws, each family weighs the same, and five weigh the
// number before. Where fewer than ten families, or twenty answers, have the doubt, the number before stays. The
// command that prints the shares of the first draw is
//
//	go test ./layer -run Calibration -v -battery
var Limits = []Limit{
	{0.1, "nothing shows where the pass begins or ends: there may be more layers",
		func(d *Doubts) bool { return d.Lost }},
	{Scrambled, "records are scrambled: names and times of kernels do not belong together",
		func(d *Doubts) bool { return d.Scrambled }},
	{Scrambled, "kernels of a stream end before earlier ones do: their times are wrong",
		func(d *Doubts) bool { return d.Moved }},
	{0.75, "nothing shows where the pass begins", func(d *Doubts) bool { return d.Front }},
	{Contradicted, "how many layers lost their records", func(d *Doubts) bool { return d.Unsure }},
	{Contradicted, "layers of uneven length and beginning",
		func(d *Doubts) bool { return d.Uneven > DoubtUneven && (d.Unstarted > doubtUnstarted || d.Endless) }},
	{Contradicted, "layers unlike the others", func(d *Doubts) bool { return d.Unlike > doubtUnlike }},
	{Contradicted, "layers unlike those of the whole pass that they were read by",
		func(d *Doubts) bool { return d.Foreign }},
	{Contradicted, "more layers than a pass between two others has", func(d *Doubts) bool { return d.Miscounted }},
	{Contradicted, "the kernels of another pass twice: the boundary between two may be missing",
		func(d *Doubts) bool { return d.Twice }},
	{Contradicted, "layers that look up an embedding or sample, as runs of a draft model do",
		func(d *Doubts) bool { return d.Drafts }},
	{Contradicted, "each mixer or feed-forward part read as a layer",
		func(d *Doubts) bool { return d.Parts && d.Guessed }},
	{Contradicted, "several norms that uneven or cut layers may begin with",
		func(d *Doubts) bool { return d.Unplaced && d.Several && d.Ragged }},
	{Contradicted, "uneven layers that do not begin with a norm",
		func(d *Doubts) bool { return d.noNorm() && d.Single > doubtSome }},
	{Contradicted, "some layers begin with a norm",
		func(d *Doubts) bool { return !d.noNorm() && d.Unstarted > doubtMixed }},
	{Contradicted, "no kernel is known to mix tokens", func(d *Doubts) bool { return d.Nameless }},
	{0.899, "no norm before the mixer to begin layers with",
		func(d *Doubts) bool { return d.Unplaced && !d.Several && !d.noNorm() }},
	{mostlyRight, "layers that do not begin with a norm",
		func(d *Doubts) bool { return d.noNorm() && d.Single <= doubtSome }},
	{mostlyRight, "a number of layers that is read from many that no other is equal to",
		func(d *Doubts) bool { return d.Single > doubtSingle && d.Guessed }},
	{0.98, "kernels like those of layers outside of them",
		func(d *Doubts) bool { return d.Outside > doubtOutside || d.Rest > doubtRest }},
	{0.98, "several norms that layers may begin with",
		func(d *Doubts) bool { return d.Unplaced && d.Several && !d.Ragged }},
	{CapBack, "nothing shows where the pass ends: there may be more layers",
		func(d *Doubts) bool { return d.Endless }},
	{CapBack, "the window cuts off the first layers: they count from the end",
		func(d *Doubts) bool { return d.FromEnd }},
	{0.995, "many layers that no other is equal to", func(d *Doubts) bool { return d.Single > doubtSingle }},
}

// noNorm says that layers do not begin with a norm.
func (d *Doubts) noNorm() bool { return d.Unstarted > 1-doubtMixed }

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
