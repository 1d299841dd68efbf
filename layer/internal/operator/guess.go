package operator

import (
	"regexp"
	"slices"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/stat"
)

// guess makes a layout from the kernels alone: for each layer what its kernels
// show it to be made of. Every alternative a decoder may have is in the steps as
// optional; what is certain is only that attention is between products.
func (w *work) guess(latent bool) *Layout {
	pass, reads := w.pass, w.reads
	units := w.units(func(*Kernel) bool { return true })
	n := pass.First + pass.Layers
	seen := make([]shape, n)
	all := shape{}
	products := make([]int, n)
	for i := range pass.Kernels {
		l := pass.Kernels[i].Layer
		if l < 0 || int(l) >= n {
			continue
		}
		if reads[i].acts[0] == classify.RoleProduct {
			products[l]++
			seen[l].feeds = products[l] > 2
		}
		for _, a := range reads[i].acts {
			seen[l].add(a, reads[i].latent)
			all.add(a, reads[i].latent)
		}
	}
	denseRows(pass, reads, seen)
	rank, ranked := inputsOf(pass, units, seen)
	complete(seen, w.p.Halves)
	after, ends := normsOfSums(units, pass.Layers)
	after = after || normsAfter(pass, reads)
	out := &Layout{LayerKinds: make([]int, n)}
	index := map[shape]int{}
	for l := range seen {
		s := seen[l]
		// of the model, not of a layer
		s.hc, s.mla, s.latent, s.after, s.ends, s.plain = all.hc, all.mla, latent, after, ends, w.plain
		s.rank, s.ranked = rank, ranked
		if l < pass.First {
			s = seen[pass.First]
		}
		k, ok := index[s]
		if !ok {
			k = len(out.Kinds)
			index[s] = k
			out.Kinds = append(out.Kinds, s.steps())
		}
		out.LayerKinds[l] = k
	}
	out.Before = []Step{opt(opname.Prepare), must(opname.Embed)}
	out.After = []Step{opt(opname.ResidualAdd), must(opname.FinalNorm)}
	if !language(reads) {
		out.Before = append(out.Before, Step{Op: opname.Embed, Optional: true, Product: true})
	} else {
		out.After = append(out.After, must(opname.LMHead), opt(opname.LogitsGather))
		if slices.ContainsFunc(reads, func(r reading) bool { return slices.Contains(r.acts, classify.RoleSample) }) {
			out.After = append(out.After, opt(opname.Sampling))
		}
	}
	return out
}

// plainFeed reports feed-forward parts without a gate: of the activations between two products of layers some show
// that none multiplies what they leave, and no other shows a gate. A gate shows in a name, in a product of elements
// that the second product reads, and in shapes: the first product then makes twice what the second reads, or two equal
// ones precede it. known: something shows a gate or its absence.
func plainFeed(pass *Pass, reads []reading) (isPlain, known bool) {
	rows := map[int32][]int{} // of each stream: what serves no other
	for i := range pass.Kernels {
		if !aux(reads[i].acts[0]) {
			rows[pass.Kernels[i].Stream] = append(rows[pass.Kernels[i].Stream], i)
		}
	}
	plain, gates := 0, 0
	for _, row := range rows {
		act := func(j int) classify.Role {
			if j < 0 || j >= len(row) {
				return classify.RoleOther
			}
			return reads[row[j]].acts[0]
		}
		for j := 1; j < len(row)-1; j++ {
			if pass.Kernels[row[j]].Layer < 0 || act(j) != classify.RoleActivation {
				continue
			}
			if single, known := widthsAround(pass, reads, row, j); known {
				if single && !reads[row[j]].gated {
					plain++
				} else {
					gates++
				}
				continue
			}
			if act(j-1) != classify.RoleProduct {
				continue
			}
			up := &pass.Kernels[row[j-1]]
			twice := act(j-2) == classify.RoleProduct && up.K > 0 && pass.Kernels[row[j-2]].K == up.K &&
				pass.Kernels[row[j-2]].N == up.N && up.N > up.K
			fed := act(j+1) == classify.RoleProduct
			switch {
			case reads[row[j]].gated || act(j+1) == classify.RoleElementwise || twice ||
				fed && multiplies(reads, row, j+2):
				gates++
			case fed && reads[row[j]].ungated:
				plain++
			}
		}
	}
	// of experts, whose neighbours have one name together, nothing is asked
	experts := slices.ContainsFunc(reads, func(r reading) bool { return r.acts[0] == classify.RoleExperts })
	return plain > 0 && gates == 0, plain+gates > 0 || experts
}

// multiplies reports a product of elements that a product reads: what scales the output of one is added to something.
func multiplies(reads []reading, row []int, j int) bool {
	return j+1 < len(row) && reads[row[j]].tag == classify.RoleMultiply &&
		reads[row[j+1]].acts[0] == classify.RoleProduct
}

// widthsAround compares the products around an activation, where nothing but operations on elements is between. known:
// the shapes of both are recorded. single: the second reads just what the first makes; no product of the first one's
// shape is before it, and no product of elements between the second and a third, as of a gate.
func widthsAround(pass *Pass, reads []reading, row []int, j int) (single, known bool) {
	toProduct := func(at, by int) int {
		for at += by; at >= 0 && at < len(row); at += by {
			switch reads[row[at]].acts[0] {
			case classify.RoleProduct:
				return at
			case classify.RoleActivation, classify.RoleElementwise, classify.RoleAdd, classify.RoleOther:
			default:
				return -1
			}
		}
		return -1
	}
	p, q := toProduct(j, -1), toProduct(j, 1)
	if p < 0 || q < 0 {
		return false, false
	}
	up, down := &pass.Kernels[row[p]], &pass.Kernels[row[q]]
	if up.K == 0 || down.K == 0 {
		return false, false
	}
	if twin := toProduct(p, -1); twin >= 0 && up.N > up.K && pass.Kernels[row[twin]].K == up.K &&
		pass.Kernels[row[twin]].N == up.N {
		return false, true
	}
	return up.N == down.K && !multiplies(reads, row, q+1), true
}

// language reports that something runs which only a model of language has: a lookup of tokens, a cache, experts, a
// scan, sampling. What ends an encoder of images or a denoiser is no head with a vocabulary.
func language(reads []reading) bool {
	for i := range reads {
		for _, a := range reads[i].acts {
			switch a {
			case classify.RoleEmbed, classify.RoleCacheWrite, classify.RoleSample, classify.RoleExperts,
				classify.RoleRouter, classify.RoleScan, classify.RoleGather:
				return true
			}
		}
	}
	return false
}

// denseRows finds the layers where a plain product, an activation and a plain product are in a row, on the stream
// of the experts or on another.
func denseRows(pass *Pass, reads []reading, seen []shape) {
	row := map[int32]int{} // how much of one is there so far, by stream
	experts, rows := make([]int32, len(seen)), make([]int32, len(seen))
	for i := range pass.Kernels {
		l := pass.Kernels[i].Layer
		if l < 0 || int(l) >= len(seen) {
			continue
		}
		switch a, s := reads[i].acts[0], pass.Kernels[i].Stream; {
		case a == classify.RoleProduct && row[s] == 2:
			seen[l].dense, rows[l], row[s] = true, s, 1
		case a == classify.RoleProduct:
			row[s] = 1
		case a == classify.RoleActivation && row[s] == 1:
			row[s] = 2
		case !aux(a):
			row[s] = 0
			if a == classify.RoleExperts {
				experts[l] = s
			}
		}
	}
	for l := range seen {
		seen[l].beside = seen[l].dense && seen[l].experts && experts[l] != rows[l]
	}
}

// inputsOf reads what leads to the attention of each layer. rank: keys and values come from a product of low rank,
// whose norm is between two products: queries are made before, and after a norm of their own if they are ranked, too.
// A layer whose second attention follows the first with nothing but products between attends to what another stack
// made.
func inputsOf(pass *Pass, units []unit, seen []shape) (rank, ranked bool) {
	cores, low, lower := 0, 0, 0
	type line struct {
		row   []byte // p: a product, q: one directly after another, n: a norm directly after one
		layer int32
		last  classify.Role
		mixed bool
	}
	lines := map[int32]*line{} // by stream
	for i := range units {
		u := &units[i]
		if u.label < 0 || int(u.label) >= len(seen) {
			continue
		}
		stream := pass.Kernels[u.kernels[0]].Stream
		if lines[stream] == nil {
			lines[stream] = &line{}
		}
		l := lines[stream]
		if u.label != l.layer {
			l.layer, l.mixed = u.label, false
		}
		follows := l.last == classify.RoleProduct
		l.last = u.acts[len(u.acts)-1]
		switch a := u.acts[0]; {
		case a == classify.RoleProduct && follows:
			l.row = append(l.row, 'q')
		case a == classify.RoleProduct:
			l.row = append(l.row, 'p')
		case a == classify.RoleNorm && follows:
			l.row = append(l.row, 'n')
		case a == classify.RoleAttention:
			low += stat.Int(lowRank.Match(l.row))
			lower += stat.Int(rankedQuery.Match(l.row))
			cores += stat.Int(len(l.row) > 0)
			seen[l.layer].crossed = seen[l.layer].crossed || l.mixed && len(l.row) > 0
			l.row, l.mixed = l.row[:0], true
		case a == classify.RoleActivation, a == classify.RoleExperts, a == classify.RoleRouter,
			a == classify.RoleScan:
			l.row, l.mixed = l.row[:0], false
		}
	}
	return 2*low > cores, 2*lower > cores
}

// lowRank are the products of queries, of the low rank and of keys and values from its norm; in rankedQuery queries
// come from a norm, too.
var (
	lowRank     = regexp.MustCompile(`[pq]qn[pq]$`)
	rankedQuery = regexp.MustCompile(`[pq]n[pq]qn[pq]$`)
)

// normsAfter says whether norms follow the parts of a layer and none comes before the first, as in BERT and OLMo-2:
// in most of the layers whose kernels module frames show, products come before the first norm and none after the
// last.
func normsAfter(pass *Pass, reads []reading) bool {
	type ends struct{ norm, product [2]int } // the first and the last one, counted from 1
	layers := map[int32]*ends{}
	for i := range pass.Kernels {
		k, r := &pass.Kernels[i], &reads[i]
		if !k.Framed || k.Layer < 0 {
			continue
		}
		e := layers[k.Layer]
		if e == nil {
			e = &ends{}
			layers[k.Layer] = e
		}
		at := &e.product
		switch {
		case r.acts[len(r.acts)-1] == classify.RoleNorm, r.tag == classify.RoleRsqrt:
			at = &e.norm
		case r.acts[0] != classify.RoleProduct:
			continue
		}
		if at[0] == 0 {
			at[0] = i + 1
		}
		at[1] = i + 1
	}
	n := 0
	for _, e := range layers {
		if e.product[0] > 0 && e.norm[0] > e.product[0] && e.norm[1] > e.product[1] {
			n++
		}
	}
	return 2*n > len(layers)
}

// normsOfSums finds norms between what a part leaves and the sum that it goes into, one a layer at least: they are
// after the parts, and where others feed products they end parts that a norm begins.
func normsOfSums(units []unit, layers int) (after, ends bool) {
	sums, inputs := 0, 0
	for i := 1; i+1 < len(units); i++ {
		u, before, next := &units[i], units[i-1].acts, units[i+1].acts[0]
		switch {
		case u.label < 0 || u.acts[0] != classify.RoleNorm:
		case next == classify.RoleAdd && slices.Contains([]classify.Role{classify.RoleProduct, classify.RoleExperts,
			classify.RoleFinalize}, before[len(before)-1]):
			sums++
		case next == classify.RoleProduct && !heavy(before[0]):
			inputs++
		}
	}
	return sums >= layers && inputs < layers, sums >= layers && inputs >= layers
}

// complete gives layers that show one half only the shape of a neighbour, unless
// there are enough of them to be a kind: labels that are off cut the first and the
// last layer short.
func complete(seen []shape, enough int) {
	count := map[shape]int{}
	for _, s := range seen {
		count[s]++
	}
	for _, forward := range []bool{true, false} {
		for k := range seen {
			i, near := k, k-1
			if !forward {
				i = len(seen) - 1 - k
				near = i + 1
			}
			if seen[i].oneHalf() && count[seen[i]] < enough && near >= 0 && near < len(seen) && !seen[near].oneHalf() {
				seen[i] = seen[near]
			}
		}
	}
}

// shape is what a layer's kernels show.
type shape struct {
	attention, scan, experts, activation, indexer, hc, mla bool
	// crossed: a second attention follows the first. rank, ranked: see inputsOf.
	crossed, rank, ranked bool
	// dense: a plain product, an activation and a plain product are in a row.
	// feeds: more than two plain products, so that some are of a feed-forward part.
	dense, feeds bool
	// beside: the row is on another stream than the experts.
	beside bool
	// latent: products lead into the experts' own space and out of it.
	latent bool
	// plain: no gate multiplies what the activation leaves, see plainFeed.
	plain bool
	// Norms follow the parts, see normsAfter; ends: besides those before the parts.
	after, ends bool
}

// oneHalf reports a layer that only mixes tokens, or does not.
func (s shape) oneHalf() bool {
	mixes := s.attention || s.scan
	return !mixes || !s.experts && !s.activation && !s.feeds
}

func (s *shape) add(a classify.Role, latent bool) {
	switch a {
	case classify.RoleAttention:
		s.attention = true
		s.mla = s.mla || latent
	case classify.RoleCacheWrite:
		s.mla = s.mla || latent
	case classify.RoleScan, classify.RoleConv:
		s.scan = true
	case classify.RoleExperts, classify.RoleRouter:
		s.experts = true
	case classify.RoleActivation:
		s.activation = true
	case classify.RoleIndexer, classify.RoleIndexerTopK:
		s.indexer = true
	case classify.RoleMixIn, classify.RoleMixOut:
		s.hc = true
	}
}

func opt(op string) Step { return Step{Op: op, Optional: true} }

func must(op string) Step { return Step{Op: op} }

// steps are those of a layer of this shape: the mixer's half, if it has one, and
// the feed-forward half, if it has one.
func (s shape) steps() []Step {
	var out []Step
	half := func(norm string, body []Step, reduce string) {
		if s.after {
			out = append(append(out, body...), opt(reduce), opt(opname.ResidualAdd), must(opname.PostNorm),
				opt(opname.ResidualAdd))
			return
		}
		if s.hc {
			out = append(out, must(opname.HCPre))
		} else {
			out = append(out, opt(opname.ResidualAdd))
		}
		out = append(append(append(out, must(norm)), body...), opt(reduce))
		if s.ends {
			out = append(out, must(opname.PostNorm))
		}
		if s.hc {
			out = append(out, must(opname.HCPost))
		}
	}
	mixes := s.attention || s.scan
	feeds := s.experts || s.activation || s.feeds || !mixes
	norm := opname.PostNorm
	if mixes || !s.activation && !s.experts { // a layer that shows nothing is taken for a usual one
		half(opname.InputNorm, s.mixer(), opname.AttnAllReduce)
		if s.crossed {
			half(opname.InputNorm, crossAttention, opname.AttnAllReduce)
		}
	} else {
		norm = opname.InputNorm
	}
	if feeds {
		half(norm, s.feedForward(), opname.MLPAllReduce)
	}
	return out
}

// crossAttention reads keys and values that another stack made: their products run once.
var crossAttention = []Step{{Op: opname.QKVProj, Or: []Step{must(opname.QProj), opt(opname.KProj), opt(opname.VProj)}},
	opt(opname.QKNorm), opt(opname.Rope), opt(opname.KVWrite), must(opname.Attention), must(opname.OProj)}

func (s shape) mixer() []Step {
	var out []Step
	if s.scan {
		// Mamba-1 has two products and norms after its convolution.
		out = append(out, must(opname.InProj), opt(opname.InProj), opt(opname.Conv1D), opt(opname.InProj),
			opt(opname.GateNorm), opt(opname.InProj), must(opname.LinearAttention), opt(opname.GateNorm),
			must(opname.OutProj))
		if !s.attention {
			return out
		}
	}
	if s.rank && !s.mla {
		if s.ranked {
			out = append(out, must(opname.QAProj), must(opname.QANorm), must(opname.QBProj))
		} else {
			out = append(out, must(opname.QProj))
		}
		return append(out, must(opname.KVAProj), must(opname.KVANorm), opt(opname.Rope), opt(opname.KVWrite),
			must(opname.KVBProj), opt(opname.Rope), opt(opname.KVWrite), must(opname.Attention), must(opname.OProj))
	}
	if s.mla {
		out = append(out, Step{Op: opname.QKVAProj, Or: []Step{must(opname.QAProj), must(opname.KVAProj)}},
			opt(opname.QANorm), opt(opname.KVANorm), must(opname.QBProj), opt(opname.Rope))
		if s.indexer {
			out = append(out, opt(opname.Indexer), opt(opname.IndexerTopK))
		}
		return append(out, opt(opname.KAbsorb), opt(opname.KVWrite), opt(opname.KVBProj), must(opname.Attention),
			opt(opname.VAbsorb), must(opname.OProj))
	}
	return append(out, Step{Op: opname.QKVProj, Or: []Step{must(opname.QProj), must(opname.KProj), must(opname.VProj)}},
		opt(opname.QKNorm), opt(opname.Rope), opt(opname.KVWrite), must(opname.Attention), must(opname.OProj))
}

func (s shape) feedForward() []Step {
	if !s.experts && s.plain {
		return []Step{must(opname.UpProj), must(opname.Activation), must(opname.DownProj)}
	}
	if !s.experts {
		return []Step{{Op: opname.GateUpProj, Or: []Step{must(opname.GateProj), must(opname.UpProj)}},
			must(opname.Activation), must(opname.DownProj)}
	}
	out := []Step{must(opname.Router), opt(opname.Routing), opt(opname.Dispatch)}
	if s.latent {
		out = append(out, Step{Op: opname.Dispatch, Product: true})
	}
	out = append(out, must(opname.ExpertsGateUp), opt(opname.ExpertsActivation), must(opname.ExpertsDown),
		opt(opname.ExpertsCombine))
	if s.latent {
		out = append(out, Step{Op: opname.ExpertsCombine, Product: true})
	}
	if s.dense {
		for _, op := range []string{opname.SharedGateUp, opname.SharedActivation, opname.SharedDown} {
			out = append(out, Step{Op: op, Optional: s.beside})
		}
		out = append(out, opt(opname.SharedGateUp), opt(opname.ResidualAdd))
	}
	return out
}
