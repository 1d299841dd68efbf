package segment

import (
	"math"
	"testing"
)

// TestDoubts: each doubt says what is wrong with the layers of a pass, and how much of it; a pass as it should be, of however few layers, leaves none.
func TestDoubts(t *testing.T) {
	p := DefaultParams()
	for n := 2; n <= 12; n++ {
		s := layersOf(n)
		c := &Cut{Starts: startsOf(n), unit: unit{s, 1, 9}}
		if d := p.Doubt(s, c, false); d != (Doubts{}) {
			t.Errorf("%d layers: %+v", n, d)
		}
		if got := p.Explained(s, c); got != 8*n {
			t.Errorf("of %d layers %d kernels are explained, want all %d", n, got, 8*n)
		}
	}
	const layers = 8
	rename := func(s *Sequence, from, to int, id int32) {
		for i := from; i < to; i++ {
			s.Base[i], s.ID[i] = id+int32(i), id+int32(i)
		}
	}
	for _, c := range []struct {
		name   string
		change func(s *Sequence, c *Cut)
		get    func(d Doubts) float64
		want   float64
	}{
		{"one layer of other kernels", func(s *Sequence, c *Cut) { rename(s, c.Starts[3], c.Starts[4], 100) }, func(d Doubts) float64 { return d.Unlike }, 1.0 / layers},
		{"it occurs once, too", func(s *Sequence, c *Cut) { rename(s, c.Starts[3], c.Starts[4], 100) }, func(d Doubts) float64 { return d.Single }, 1.0 / layers},
		{"two of other kernels", func(s *Sequence, c *Cut) { rename(s, c.Starts[3], c.Starts[5], 100) }, func(d Doubts) float64 { return d.Single }, 2.0 / layers},
		{"two equal ones of other kernels", func(s *Sequence, c *Cut) {
			rename(s, c.Starts[3], c.Starts[4], 100)
			rename(s, c.Starts[4], c.Starts[5], 92)
		}, func(d Doubts) float64 { return d.Single }, 0},
		{"a layer outside, in front", func(_ *Sequence, c *Cut) { c.Starts = c.Starts[1:] }, func(d Doubts) float64 { return d.Outside }, 1.0 / layers},
		{"a layer outside, behind", func(_ *Sequence, c *Cut) { c.Starts = c.Starts[:layers] }, func(d Doubts) float64 { return d.Outside }, 1.0 / layers},
		{"a mixer as the first kernel", func(s *Sequence, _ *Cut) { s.Role[0] = mixer }, func(d Doubts) float64 { return d.Outside }, 1.0 / (layers + 1)},
		{"a mixer as the last kernel", func(s *Sequence, _ *Cut) { s.Role[66] = mixer }, func(d Doubts) float64 { return d.Outside }, 1.0 / (layers + 1)},
		{"the only mixer outside", func(s *Sequence, _ *Cut) { mixersAt(s, 0) }, func(d Doubts) float64 { return d.Outside }, 1},
		{"its kernels are those of layers", func(_ *Sequence, c *Cut) { c.Starts = c.Starts[:layers] }, func(d Doubts) float64 { return d.Rest }, 8.0 / 67},
		{"a kernel of layers in front", func(s *Sequence, _ *Cut) { s.Base[0] = 3 }, func(d Doubts) float64 { return d.Rest }, 1.0 / 67},
		{"the last kernel is one", func(s *Sequence, _ *Cut) { s.Base[66] = 3 }, func(d Doubts) float64 { return d.Rest }, 1.0 / 67},
		{"the last layer of other kernels", func(s *Sequence, c *Cut) { rename(s, c.Starts[layers-1], c.Starts[layers], 100) }, func(d Doubts) float64 { return d.Rest }, 0},
		{"one begins with another kernel", func(s *Sequence, c *Cut) { s.Role[c.Starts[2]] = other }, func(d Doubts) float64 { return d.Unstarted }, 1.0 / layers},
		{"none begins with a norm", func(s *Sequence, c *Cut) {
			for _, at := range c.Starts[:layers] {
				s.Role[at] = other
			}
		}, func(d Doubts) float64 { return d.Unstarted }, 1},
		{"a longer layer", func(_ *Sequence, c *Cut) { c.Starts[4] += 2 }, func(d Doubts) float64 { return d.Uneven }, 4.0 / 64},
		{"a second block with a norm of its own", func(s *Sequence, c *Cut) { s.Role[c.Starts[3]+5] = mixer }, func(d Doubts) float64 { return d.Unlike }, 1.0 / layers},
		{"a second mixer without one", func(s *Sequence, c *Cut) { s.Role[c.Starts[3]+3] = mixer }, func(d Doubts) float64 { return d.Unlike }, 0},
	} {
		s := layersOf(layers)
		cut := &Cut{Starts: startsOf(layers), unit: unit{layersOf(layers), 1, 9}}
		c.change(s, cut)
		if got := c.get(p.Doubt(s, cut, false)); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %.4f, want %.4f", c.name, got, c.want)
		}
	}
	for _, c := range []struct {
		name   string
		change func(s *Sequence, c *Cut)
		get    func(d Doubts) bool
		want   bool
	}{
		{"the boundary at the mixer's norm", nil, func(d Doubts) bool { return d.Unplaced }, false},
		{"the boundary elsewhere", func(_ *Sequence, c *Cut) { c.At = 4 }, func(d Doubts) bool { return d.Unplaced }, true},
		{"the boundary a unit later", func(_ *Sequence, c *Cut) { c.At = 8 }, func(d Doubts) bool { return d.Unplaced }, false},
		{"no norm known", func(_ *Sequence, c *Cut) { c.unit = unit{stack(2, 8), 0, 8} }, func(d Doubts) bool { return d.Unplaced }, true},
		{"boundary open by a kernel, two norms", func(_ *Sequence, c *Cut) { c.Hi = 1 }, func(d Doubts) bool { return d.Several }, true},
		{"boundary open by a kernel, one norm", func(_ *Sequence, c *Cut) { c.Hi, c.unit.s.Role[5] = 1, other }, func(d Doubts) bool { return d.Several }, false},
		{"an embedding in front", nil, func(d Doubts) bool { return d.Front }, false},
		{"part of a layer in front", func(s *Sequence, _ *Cut) { s.Role[0], s.Base[0] = other, 7 }, func(d Doubts) bool { return d.Front }, true},
		{"something else in front", func(s *Sequence, _ *Cut) { s.Role[0] = other }, func(d Doubts) bool { return d.Front }, false},
		{"one mixer in eight layers", func(s *Sequence, _ *Cut) { mixersAt(s, 3) }, func(d Doubts) bool { return d.Nameless }, true},
		{"two mixers in eight layers", func(s *Sequence, _ *Cut) { mixersAt(s, 3, 11) }, func(d Doubts) bool { return d.Nameless }, false},
		{"an embedding in one layer", func(s *Sequence, c *Cut) { s.Role[c.Starts[3]+5] = embed }, func(d Doubts) bool { return d.Looked }, true},
		{"sampling in three of eight", func(s *Sequence, c *Cut) { sampleIn(s, c, 3) }, func(d Doubts) bool { return d.Looked }, true},
		{"sampling in half of the layers", func(s *Sequence, c *Cut) { sampleIn(s, c, 4) }, func(d Doubts) bool { return d.Looked }, false},
		{"sampling behind them", func(s *Sequence, c *Cut) { s.Role[c.Starts[layers]] = sample }, func(d Doubts) bool { return d.Looked }, false},
		{"one in nine without a mixer", func(s *Sequence, c *Cut) { unlike(s, c, 3) }, func(d Doubts) bool { return d.Parts }, true},
	} {
		s := layersOf(layers)
		cut := &Cut{Starts: startsOf(layers), unit: unit{layersOf(layers), 1, 9}}
		if c.change != nil {
			c.change(s, cut)
		}
		if got := c.get(p.Doubt(s, cut, false)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// sampleIn lets the first n layers sample.
func sampleIn(s *Sequence, c *Cut, n int) {
	for _, at := range c.Starts[:n] {
		s.Role[at+5] = sample
	}
}

// mixersAt makes the kernels at some places the only mixers.
func mixersAt(s *Sequence, at ...int) {
	for i, r := range s.Role {
		if r == mixer {
			s.Role[i] = other
		}
	}
	for _, i := range at {
		s.Role[i] = mixer
	}
}

// unlike makes a layer one of other kernels, without a mixer.
func unlike(s *Sequence, c *Cut, l int) {
	for i := c.Starts[l]; i < c.Starts[l+1]; i++ {
		s.Base[i], s.ID[i], s.Role[i] = int32(100+i), int32(100+i), other
	}
}

// TestBare: of ten layers and more one that has no mixer is in doubt, unless it has the kernels of those with one: its mixer has a name that nobody knows.
func TestBare(t *testing.T) {
	p := DefaultParams()
	const layers = 12
	for _, c := range []struct {
		name   string
		layer  int
		unlike bool
		want   bool
	}{{"all with a mixer", -1, false, false}, {"the first of other kernels", 0, true, true}, {"one of other kernels", 5, true, true}, {"the last of other kernels", layers - 1, true, true}, {"one of the same kernels", 5, false, false}, {"the second of the same kernels", 1, false, false}} {
		s := layersOf(layers)
		cut := &Cut{Starts: startsOf(layers), unit: unit{s, 1, 9}}
		if c.layer >= 0 {
			s.Role[cut.Starts[c.layer]+2] = other
			if c.unlike {
				unlike(s, cut, c.layer)
			}
		}
		d := p.Doubt(s, cut, false)
		if d.Bare != c.want {
			t.Errorf("%s: %v, want %v", c.name, d.Bare, c.want)
		}
		if want := c.want && c.layer > 0 && c.layer < layers-1; d.BareInside != want {
			t.Errorf("%s: inside %v, want %v: the window may cut the first and the last", c.name, d.BareInside, want)
		}
	}
}

// TestDoubtsAtTheirNumbers: what is as much as a number leaves no doubt, the least more does.
func TestDoubtsAtTheirNumbers(t *testing.T) {
	p := DefaultParams()
	for _, c := range []struct {
		name string
		d    func(x float64) Doubts
		at   float64
	}{
		{"unlike", func(x float64) Doubts { return Doubts{Unlike: x} }, p.DoubtUnlike},
		{"outside", func(x float64) Doubts { return Doubts{Outside: x} }, p.DoubtOutside},
		{"rest", func(x float64) Doubts { return Doubts{Rest: x} }, p.DoubtRest},
		{"single", func(x float64) Doubts { return Doubts{Single: x} }, p.DoubtSingle},
		{"single, guessed", func(x float64) Doubts { return Doubts{Single: x, Guessed: true} }, p.DoubtSingle},
		{"uneven", func(x float64) Doubts { return Doubts{Uneven: x, Unstarted: 0.2} }, p.DoubtUneven},
		{"uneven and unstarted", func(x float64) Doubts { return Doubts{Uneven: 0.3, Unstarted: x} }, p.DoubtUnstarted},
		{"unstarted", func(x float64) Doubts { return Doubts{Unstarted: x} }, p.DoubtMixed},
		{"unstarted, some single", func(x float64) Doubts { return Doubts{Unstarted: x, Single: 0.1} }, p.DoubtMixed},
	} {
		if got := p.Words(c.d(c.at)); got != "" {
			t.Errorf("%s, exactly %v: %s", c.name, c.at, got)
		}
		if got := p.Words(c.d(math.Nextafter(c.at, 9))); got == "" || p.Judge(1, c.d(math.Nextafter(c.at, 9))) == 1 {
			t.Errorf("%s, more than %v: no doubt", c.name, c.at)
		}
	}
	for _, c := range []struct {
		name  string
		holds bool
	}{
		{"alike at its number", p.Alike(cutOf(p.MinSimilarity, 0))}, {"idle at its number", p.Idle(cutOf(p.IdleSimilarity, 0))}, {"even enough at its number", p.Repeats(stack(2, 4), cutOf(1, p.MaxUneven), 2)},
		{"like enough at its number", p.Repeats(stack(3, 4), cutOf(p.MinSimilarity, 0), 3)}, {"two layers need no likeness", p.Repeats(stack(2, 4), cutOf(0, 0), 2)}, {"three do", !p.Repeats(stack(3, 4), cutOf(0, 0), 3)},
		{"as uneven as idle layers are not", !p.Idle(cutOf(1, p.IdleUneven))}, {"as like as the reference", !p.Foreign(p.DoubtForeign)},
	} {
		if !c.holds {
			t.Errorf("%s: does not hold", c.name)
		}
	}
}

// TestConfidenceOfCuts: layers of which each is equal to another one are worth most; what is open costs something, unless a role decides.
func TestConfidenceOfCuts(t *testing.T) {
	p := DefaultParams()
	s := layersOf(4)
	for _, c := range []struct {
		name string
		cut  Cut
		want float64
	}{
		{"certain", Cut{Starts: startsOf(4), Lo: 2, Hi: 2}, 0.995}, {"open", Cut{Starts: startsOf(4), Lo: 2, Hi: 3}, 0.895}, {"contradicting", Cut{Starts: startsOf(4), Lo: 3, Hi: 2}, 0.995}, {"open, by a role", Cut{Starts: startsOf(4), Lo: 2, Hi: 3, ByRole: true}, 0.995},
	} {
		if got := p.Confidence(s, &c.cut); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestInputNorms: layers begin with the norm in front of their mixer; where no mixer tells, with the only norm.
func TestInputNorms(t *testing.T) {
	for unit, want := range map[string]int{
		"npmpnpap": 0, "apnpmpnp": 2, "pnpp": 1, "nppp": 0, "pnpn": -1, "pppp": -1, "pmpnpapn": 7, "nnpmpnpap": 1, "pnmpa": 1, "npmp": 0, "npmnp": 0, "nmpnpap": 0, "npnp": -1,
	} {
		s := kernelsOf(unit)
		if got := inputNorm(struct {
			s        *Sequence
			from, to int
		}{s, 0, s.Len()}); got != want {
			t.Errorf("%s: %d, want %d", unit, got, want)
		}
	}
}

// TestForcedLayers: more layers than a sequence holds are forced on it where fewer are more even and more alike, and do not divide them; where halves of layers are as even, or as like each other, nothing says so.
func TestForcedLayers(t *testing.T) {
	p := DefaultParams()
	s := layersOf(6)
	for i, r := range s.Role {
		if r == activation {
			s.Role[i] = mixer
		}
	}
	pos := []int{1, 5, 10, 14, 20, 25, 30, 36, 42}
	for _, c := range []struct {
		name             string
		cost, similarity float64
		n                int
		want             bool
	}{
		{"uneven and less alike", 0.2, 0.5, 9, true}, {"as even", 0, 0.5, 9, false}, {"as uneven as is doubted", p.ForcedUneven, 0.5, 9, true}, {"as much alike", 0.2, 1, 9, false}, {"as few as evenness says nothing about", 0.2, 0.5, 3, false}, {"as many as it holds", 0.2, 0.5, 6, false}, {"twice as many with mixers", 0.2, 0.5, 12, false},
	} {
		if got := p.Overcounts(s, &Cut{Comb: Comb{Pos: pos, Cost: c.cost}, Similarity: c.similarity}, c.n); got != c.want {
			t.Errorf("%s: forced %v, want %v", c.name, got, c.want)
		}
	}
}
