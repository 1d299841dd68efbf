package ladder

import (
	"cmp"
	"slices"

	"github.com/llmstrata/strata/layer/internal/segment"
)

// A ModelKey separates the models of a GPU: by the class of their outermost module frames, and where one class, or
// none, runs several stacks of layers, by what they run.
type ModelKey struct {
	Class    string
	Instance int
}

// Key identifies the model of a pass.
func (r *Result) Key() ModelKey { return ModelKey{r.Model, r.instance} }

// An instance is one model: its variants run the same layers.
type instance struct {
	n        int // layers, 0 where none were found
	variants []*variant
	kernels  int // of all passes
}

const (
	// akin: variants of one model have at least this part of the shorter one's kernels in common: a prefill and a
	// decode step differ in their attention.
	akin = .3
	// alike: a single pass with this part in common is of the same model, however many layers it shows.
	alike                    = .8
	nearlyAll                = .95 // of a draft's kernels are its target's
	ownKernels               = 20  // one in so many kernels is enough for a model of its own
	draftShare, draftKernels = .8, .4
)

// findInstances finds the model of each pass.
func (w *Work) findInstances(results []*Result) {
	groups := map[string][]*variant{}
	var order []string
	kernels := map[*variant]int{}
	total := 0
	for _, r := range results {
		v := r.variant
		if v == nil {
			continue
		}
		total += len(r.Kernels)
		if kernels[v] == 0 {
			if groups[r.Model] == nil {
				order = append(order, r.Model)
			}
			groups[r.Model] = append(groups[r.Model], v)
		}
		kernels[v] += len(r.Kernels)
	}
	for _, name := range order {
		all := groups[name]
		if len(all) < 2 {
			continue
		}
		weight := func(v *variant) int64 {
			if v.Members > 1 {
				return int64(kernels[v]) + 1<<40
			}
			return int64(kernels[v])
		}
		slices.SortStableFunc(all, func(a, b *variant) int { return cmp.Compare(weight(b), weight(a)) })
		for _, v := range all {
			if w.Ended() != nil {
				return
			}
			v.n = segment.Number(v.lead.Seq)
		}
		var found []*instance
		for _, v := range all {
			if w.Ended() != nil {
				return
			}
			if v.n == 0 && v.Members > 1 {
				v.n = v.layersLike(all)
			}
			in := w.instanceOf(v, found, ownKernels*kernels[v] >= total)
			if in == nil {
				in = &instance{n: v.n}
				found = append(found, in)
			}
			in.variants = append(in.variants, v)
			in.kernels += kernels[v]
		}
		slices.SortStableFunc(found, func(a, b *instance) int { return cmp.Compare(b.kernels, a.kernels) })
		for k, in := range found {
			for _, v := range in.variants {
				v.instance = k
			}
		}
		w.findDrafts(results, name, found)
	}
	for _, r := range results {
		if r.variant != nil {
			r.instance, r.Draft = r.variant.instance, r.Draft || r.variant.draft
			r.variant.lead.instance = r.instance
		}
	}
}

// instanceOf returns the model that a variant is of, nil where it is one of its own. large says that it has kernels
// enough to be one.
func (w *Work) instanceOf(v *variant, found []*instance, large bool) *instance {
	var best *instance
	most, sameN := 0.0, false
	s := v.lead.Seq
	inside := !v.lead.atStart && !v.lead.atEnd
	length := 0.0 // how near to its own that of the best is
	for _, in := range found {
		if in.variants[0].lead.Tower != v.lead.Tower {
			continue
		}
		for _, o := range in.variants {
			like, same := kin(s, o.lead.Seq), in.n == v.n && v.n > 0
			near := float64(min(s.Len(), o.lead.Seq.Len())) / float64(max(s.Len(), o.lead.Seq.Len()))
			better := like > most
			if inside { // the window does not cut it: a pass of a model is about as long as its others
				better = like*near > most*length
			}
			if like >= akin && same && !sameN || better && same == sameN {
				best, most, length, sameN = in, like, near, same
			}
		}
	}
	recurs := v.Members > 1
	if best == nil || most < akin {
		if recurs || large || v.lead.Tower || len(found) == 0 {
			return nil
		}
		return found[0]
	}
	if !recurs || v.n == best.n && v.n > 0 {
		if !recurs && v.n > 0 && best.n > 0 && (v.encodes(best) ||
			most < alike && (v.n > best.n || v.n < best.n && inside)) {
			return nil // a part of a pass at the edge of the window has fewer layers, not more
		}
		return best
	}
	if v.n == 0 || best.n == 0 {
		if 2*s.Len() < best.variants[0].lead.Seq.Len() {
			return nil // a layer or two
		}
		return best
	}
	return nil
}

// layersLike returns the number of layers of a variant in which nothing repeats often enough, such as a draft, by the
// kinds of layers of a longer one that runs nearly all of its kernels; 0 for none.
func (v *variant) layersLike(all []*variant) int {
	s := v.lead.Seq
	for _, o := range all {
		of := o.lead.Seq
		if o.n < segment.StackLayers || 2*s.Len() > of.Len() || kin(s, of) < nearlyAll {
			continue
		}
		if whole, ok := segment.Layers(of, o.n); ok {
			if c, ok := segment.ByKinds(s, of, whole); ok && c.Layers() < o.n {
				return c.Layers()
			}
		}
	}
	return 0
}

// encodes says whether a variant is the encoder of a model whose layers mix twice: a whole pass whose layers mix once.
// One with as many mixers as the model may be the model, read as halves of layers.
func (v *variant) encodes(model *instance) bool {
	s, its := v.lead.Seq, model.variants[0].lead.Seq
	return s.Count(RoleMixer) == v.n && v.n != its.Count(RoleMixer) && segment.MixesTwice(its) > 0 &&
		!segment.CutOff(s, v.n, v.lead.atStart, v.lead.atEnd)
}

// kin is the part of the shorter one of two sequences that they have in common, tiles aside.
func kin(a, b *Sequence) float64 {
	return float64(segment.Both(a.Base, b.Base)) / float64(max(1, min(a.Len(), b.Len())))
}

// findDrafts marks the models that draft tokens for another one: they run the same kernels in fewer layers, and run
// before nearly each of its passes. One with more kernels than its target drafts several tokens for each of its
// passes.
func (w *Work) findDrafts(results []*Result, name string, found []*instance) {
	for k, in := range found {
		for t, target := range found {
			if t == k || in.n >= target.n || kin(in.variants[0].lead.Seq, target.variants[0].lead.Seq) < draftKernels {
				continue
			}
			drafts, runs, led := 0, 0, 0
			before := None
			for _, r := range results {
				if r.Model != name || r.variant == nil {
					continue
				}
				switch r.variant.instance {
				case k:
					drafts++
				case t:
					if runs++; before == k {
						led++
					}
				}
				before = r.variant.instance
			}
			if runs > 1 && float64(led) >= draftShare*float64(runs-1) && (t < k || drafts >= 2*runs) {
				for _, v := range in.variants {
					v.draft = true
				}
			}
		}
	}
}

// likelier returns which of the models config or flags are about: the one that shows their number of layers by
// itself, else the one with most GPU time.
func likelier(groups map[ModelKey][]*Result, names []ModelKey, main ModelKey, n int) ModelKey {
	if n == 0 {
		return main
	}
	shows := func(k ModelKey) bool {
		return slices.ContainsFunc(groups[k], func(r *Result) bool { return r.variant != nil && r.variant.n == n })
	}
	if shows(main) {
		return main
	}
	for _, k := range names {
		if shows(k) {
			return k
		}
	}
	return main
}

// SeveralModels says whether passes are of more than one model.
func (w *Work) SeveralModels() bool {
	first := (*Model)(nil)
	for _, m := range w.Models {
		if first != nil && m != first {
			return true
		}
		first = m
	}
	return false
}
