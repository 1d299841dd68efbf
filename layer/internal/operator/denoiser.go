package operator

import (
	"slices"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
)

// A diffusion transformer has no list of steps that holds for all servers: its two streams run one after the other or
// in turns, its feed-forward part is beside its attention or after it. What it has is a modulation: an
// activation that no product feeds, and a product that makes from it the scales, shifts and gates of a layer. Its
// kernels are read by their neighbours and by their shapes.

// denoiser is a pass of such a model being read.
type denoiser struct {
	*work
	units []unit
	// modulates are the units of modulations, by index.
	modulates map[int]bool
	// hidden is the width of the model, 0 if no shape shows it.
	hidden int
}

// Shares of a modulation's product: it makes from two (the last norm's) to eighteen (two streams at once) vectors of
// the width of the model.
const (
	leastModulation = 2
	mostModulation  = 18
)

// denoiserOf reads the pass as that of a diffusion transformer; nil where it is none: at least every second attention
// has a modulation, and nothing that only language models have runs.
func (w *work) denoiserOf() *denoiser {
	d := &denoiser{work: w, units: w.units(func(*Kernel) bool { return true }), modulates: map[int]bool{}}
	cores := 0
	for i := range d.units {
		for _, a := range d.units[i].acts {
			switch a {
			case classify.RoleAttention:
				cores++
			case classify.RoleCacheWrite, classify.RoleSample, classify.RoleEmbed, classify.RoleExperts,
				classify.RoleScan, classify.RoleConv:
				return nil
			}
		}
	}
	width := map[int]int{}
	for i := range d.units {
		if !d.modulation(i) {
			continue
		}
		d.modulates[i-1], d.modulates[i] = true, true
		if k := d.units[i].k; k > 0 {
			width[k]++
			if width[k] > width[d.hidden] {
				d.hidden = k
			}
		}
	}
	if cores == 0 || len(d.modulates) < cores { // two units each
		return nil
	}
	return d
}

// act is the role of the unit so many units from another; RoleOther beyond the ends.
func (d *denoiser) act(i int) classify.Role {
	if i < 0 || i >= len(d.units) {
		return classify.RoleOther
	}
	return d.units[i].acts[0]
}

// modulation reports a product after an activation that makes several vectors of what it reads; without shapes, one
// whose activation no product feeds.
func (d *denoiser) modulation(i int) bool {
	if d.act(i) != classify.RoleProduct || d.act(i-1) != classify.RoleActivation ||
		d.reads[d.units[i].kernels[0]].convolves {
		return false
	}
	if u := &d.units[i]; u.k > 0 && u.n > 0 {
		return u.n%u.k == 0 && u.n/u.k >= leastModulation && u.n/u.k <= mostModulation
	}
	switch d.act(i - 2) {
	case classify.RoleAdd, classify.RoleElementwise, classify.RoleNorm:
		return d.act(i+1) != classify.RoleActivation
	}
	return false
}

// Parts of a layer, as a denoiser is read.
type section uint8

const (
	opening section = iota // before the layer's inputs
	inputsSection
	outputs // after attention
	feeding // the feed-forward part
)

// read gives every unit its operator.
func (d *denoiser) read() {
	begun := false
	at, run := opening, 0 // run: how many equal inputs are in a row
	pointwise := opname.Modulation
	for i := range d.units {
		u := &d.units[i]
		shaped := u.k > 0 && u.n > 0
		begun = begun || d.modulates[i] || u.label >= 0
		square := shaped && d.hidden > 0 && u.k == d.hidden && u.n == d.hidden
		switch a := u.acts[len(u.acts)-1]; {
		case d.modulates[i]:
			d.put(u, opname.Modulation, shaped || a == classify.RoleActivation &&
				d.units[min(i+1, len(d.units)-1)].k > 0)
			run = 0
		case a == classify.RoleAttention:
			d.put(u, opname.Attention, false)
			at, pointwise = outputs, opname.Modulation
		case u.label < 0 && !begun: // what precedes the first modulation has no names here
		case a == classify.RoleRope, a == classify.RoleHeadNorm:
			d.put(u, map[classify.Role]string{classify.RoleRope: opname.Rope, classify.RoleHeadNorm: opname.QKNorm}[a],
				false)
		case a == classify.RoleNorm:
			d.norm(i, at)
			if at != inputsSection || d.next(i) != classify.RoleAttention {
				run, pointwise = 0, opname.Modulation
			}
			if at == outputs {
				at = feeding
			}
		case a == classify.RoleActivation:
			d.put(u, opname.Activation, false)
			run = 0
		case a == classify.RoleProduct:
			pointwise = opname.Modulation
			switch {
			case d.act(i+1) == classify.RoleActivation && !d.modulates[i+1]:
				d.feed(i)
			case d.act(i-1) == classify.RoleActivation, d.fed(i):
				d.put(u, opname.DownProj, shaped && u.k%max(1, u.n) == 0)
				run, at = 0, opening
			case shaped && d.hidden > 0 && u.n == d.hidden && u.k > d.hidden && at == outputs:
				d.put(u, opname.OProj+"+"+opname.DownProj, true) // of a block whose two parts are side by side
			case at == outputs && (square || !shaped):
				d.put(u, opname.OProj, square)
				if !square && d.act(i-1) == classify.RoleProduct {
					d.found[u.kernels[0]].Confidence = d.p.ByWeak
				}
			case shaped && u.n == 3*u.k:
				d.put(u, opname.QKVProj, u.k == d.hidden)
				at = inputsSection
			case square || !shaped && at != outputs:
				at = inputsSection
				run++
				op := keyOrValue
				if run%3 == 1 {
					op = opname.QProj
				}
				d.put(u, op, square)
				if !shaped {
					d.found[u.kernels[0]].Confidence = d.p.ByWeak
				}
			}
		case a == classify.RoleAdd && d.act(i-1) == classify.RoleElementwise && d.afterNorm(i):
			d.put(u, opname.Modulation, false)
		case a == classify.RoleAdd:
			d.put(u, opname.ResidualAdd, false)
		case a == classify.RoleElementwise:
			d.put(u, pointwise, false)
		}
	}
}

// put places a unit.
func (d *denoiser) put(u *unit, op string, shaped bool) {
	f := Found{Operator: op, Evidence: Order, Confidence: d.p.ByOrder}
	if shaped {
		f.Evidence, f.Confidence = ByDims, d.p.ByShape
	}
	for _, k := range u.kernels {
		f.Layer = d.pass.Kernels[k].Layer
		d.found[k], d.placed[k] = f, true
	}
}

// next is the role of the next product or attention.
func (d *denoiser) next(i int) classify.Role {
	for i++; i < len(d.units); i++ {
		if a := d.act(i); heavy(a) {
			return a
		}
	}
	return classify.RoleOther
}

// norm names a norm by what reads it: attention (of queries and keys), the feed-forward part, else the inputs.
func (d *denoiser) norm(i int, at section) {
	u := &d.units[i]
	feeds := false
	for j := i + 1; j < len(d.units); j++ {
		if d.act(j) == classify.RoleProduct {
			if d.gated(j + 1) {
				j++ // the second of two
			}
			feeds = d.act(j+1) == classify.RoleActivation && !d.modulates[j+1]
			break
		}
	}
	switch {
	case at == inputsSection && d.next(i) == classify.RoleAttention:
		d.put(u, opname.QKNorm, false)
	case feeds && at != inputsSection:
		d.put(u, opname.PostNorm, false)
	case !d.mixes(i) && !d.pass.CutEnd:
		d.put(u, opname.FinalNorm, false)
	default:
		d.put(u, opname.InputNorm, false)
	}
	if len(u.acts) > 1 && u.acts[0] == classify.RoleAdd {
		for _, k := range u.kernels {
			d.found[k].Operator = opname.ResidualAdd + "+" + d.found[k].Operator
		}
	}
}

// mixes reports an attention after a unit.
func (d *denoiser) mixes(i int) bool {
	return slices.ContainsFunc(d.units[i:], func(u unit) bool {
		return slices.Contains(u.acts,
			classify.RoleAttention)
	})
}

// feed names the product before an activation: a gate is one of two equal products of one input whose activation
// is multiplied with the other.
func (d *denoiser) feed(i int) {
	u := &d.units[i]
	op := opname.UpProj
	if d.gated(i) {
		op = gateOrUp
		d.put(&d.units[i-1], op, true)
	} else if d.halves(i) {
		op = opname.GateUpProj
	}
	d.put(u, op, u.k > 0 && u.k == d.hidden)
}

// gated reports two equal products, an activation and a product of elements.
func (d *denoiser) gated(i int) bool {
	if d.act(i) != classify.RoleProduct || d.act(i-1) != classify.RoleProduct ||
		d.act(i+2) != classify.RoleElementwise {
		return false
	}
	u, p := &d.units[i], &d.units[i-1]
	return u.k > 0 && u.k == p.k && u.n == p.n && u.n > u.k
}

// halves reports a product that the activation halves: the product after it reads half of what this one
// makes.
func (d *denoiser) halves(i int) bool {
	for j := i + 2; j < len(d.units) && j <= i+3; j++ {
		if u := &d.units[j]; d.act(j) == classify.RoleProduct {
			return u.k > 0 && d.units[i].n == 2*u.k
		}
	}
	return false
}

// fed reports a product after an activation and the product of elements that gates it.
func (d *denoiser) fed(i int) bool {
	return d.act(i-1) == classify.RoleElementwise && d.act(i-2) == classify.RoleActivation
}

// afterNorm reports a unit that follows a norm with nothing between but pointwise kernels.
func (d *denoiser) afterNorm(i int) bool {
	for i--; i >= 0; i-- {
		switch a := d.act(i); {
		case a == classify.RoleNorm:
			return true
		case !slices.Contains([]classify.Role{classify.RoleElementwise, classify.RoleAdd}, a):
			return false
		}
	}
	return false
}
