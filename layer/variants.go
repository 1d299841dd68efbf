package layer

import (
	"cmp"
	"slices"

	"github.com/llmstrata/strata/profile"
)

const (
	// mostVariants is how many kinds of layers are worth a name: dense, experts, and two kinds of attention.
	mostVariants = 4
	// alike is the share of their kernels that layers of one kind have in common, where there are more kinds than that
	// which run exactly the same: some layers of a kind run a compiled kernel in two pieces, or copy once more.
	alike = 0.9
)

// Variants separates kinds of layers where their type says nothing, as [profile.PlainLayer] does: one name for each of
// the pass's layers (see [ForwardPass.Layers]), "" where there is one kind only. The config's kinds come first, as
// sliding and full attention may run the same kernels: "sliding" and "full". Else it is what they run: layers whose
// kernels have the same base names are of one kind, "A", "B", in order of appearance; where that makes more than four,
// those that have nine kernels in ten in common. Where these are more than four, too, they are tile variants and
// not worth a name.
func (p *ForwardPass) Variants(layers []Layer) []string {
	out := make([]string, len(layers))
	kinds := p.configKinds()
	var runs []layerRun
	for i := range layers {
		switch l := &layers[i]; {
		case l.Type != profile.PlainLayer:
		case kinds != nil && l.Index < len(kinds):
			out[i] = kinds[l.Index]
		case kinds == nil && !l.Partial:
			runs = append(runs, p.of.runOf(i, l))
		}
	}
	for _, least := range []float64{1, alike} {
		groups := groupRuns(runs, least)
		if n := len(groups); n == 1 || n > mostVariants {
			continue
		}
		for k, g := range groups {
			for _, r := range g {
				out[r.at] = string(rune('A' + k))
			}
		}
		break
	}
	return out
}

// layerRun is what a layer runs: the base names of its kernels, which tile variants share, sorted, as streams may
// interleave differently.
type layerRun struct {
	at    int
	names []string
}

func (d *Device) runOf(at int, l *Layer) layerRun {
	r := layerRun{at, make([]string, len(l.Kernels))}
	for k, i := range l.Kernels {
		r.names[k] = d.Kernel(int(i)).Facts().Base
	}
	slices.Sort(r.names)
	return r
}

// groupRuns groups layers that have at least a part of their kernels, 0…1, in common with the first of their group. It
// stops one group above mostVariants.
func groupRuns(runs []layerRun, least float64) (groups [][]layerRun) {
	for _, r := range runs {
		k := slices.IndexFunc(groups, func(g []layerRun) bool { return r.common(g[0]) >= least })
		if k < 0 {
			k, groups = len(groups), append(groups, nil)
		}
		if groups[k] = append(groups[k], r); len(groups) > mostVariants {
			break
		}
	}
	return groups
}

// common is which part of their kernels two layers have in common, 0…1.
func (r layerRun) common(s layerRun) float64 {
	all, n := len(r.names)+len(s.names), 0
	for a, b := r.names, s.names; len(a) > 0 && len(b) > 0; {
		switch c := cmp.Compare(a[0], b[0]); {
		case c < 0:
			a = a[1:]
		case c > 0:
			b = b[1:]
		default:
			a, b, n = a[1:], b[1:], n+2
		}
	}
	if all == 0 {
		return 1
	}
	return float64(n) / float64(all)
}

// configKinds names the kind of every layer by what the config says of it, as short as is unique: "sliding"
// and "full", "dense" and "moe", "linear+moe" where both parts differ. It is nil where the config knows one kind
// only, or is of another number of layers than were found, and where layers count from the end.
func (p *ForwardPass) configKinds() []string {
	if p.of == nil {
		return nil
	}
	c, n := p.of.of.Config, p.of.Models[p.Model].NumLayers
	if c == nil || len(c.Layers) != n || n != p.of.NumLayers || p.FromEnd {
		return nil
	}
	mixers, ffns := map[string]bool{}, map[string]bool{}
	for _, l := range c.Layers {
		mixers[l.Mixer], ffns[l.FFN] = true, true
	}
	if len(mixers) < 2 && len(ffns) < 2 {
		return nil
	}
	names := make([]string, len(c.Layers))
	for i, l := range c.Layers {
		l.Hash = false // has a column of its own
		switch {
		case len(ffns) < 2:
			names[i] = l.Mixer
		case len(mixers) < 2:
			names[i] = l.FFN
		default:
			names[i] = l.String()
		}
	}
	return names
}
