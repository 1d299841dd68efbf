package roofline

import (
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// loadOf is what a pass processes, and its tokens' source. What attention sees, the user says where the trace does
// not.
func (w *walk) loadOf(p int, o *Options) (*Load, string) {
	l, from := w.tokensOf(p, o)
	if l != nil && !l.KnownSeen && o.Seen > 0 {
		l.see(float64(o.Seen))
	} else if l != nil && !l.KnownSeen {
		l.see(w.seenBy(p))
	}
	return l, from
}

// basisOf is the basis of a floor whose tokens come from a source.
func basisOf(from string) Basis {
	switch from {
	case fromAnnotation:
		return BasisAnnotation
	case fromGrids:
		return BasisGrids
	case fromShapes:
		return BasisConfigShapes
	case fromOption:
		return BasisOption
	case fromRows:
		return BasisRows
	}
	return BasisNone
}

// Sources of the tokens of a pass, for [Pass.TokensFrom].
const (
	fromAnnotation string = "annotation"
	fromGrids      string = "grids"
	fromShapes     string = "shapes"
	fromOption     string = "option"
	fromRows       string = "rows"
)

// seenBy returns how many tokens the attention of a request of a pass sees at least, by what ran before it: a prompt
// sees its own. Requests that decode, each a token, see in their mean the tokens that were prefilled for them and one
// for each step since, where as many requests were prefilled as decode. 0 where others run, or the window begins
// later.
func (w *walk) seenBy(p int) float64 {
	fp := &w.device.Passes[p]
	if fp.Stage == layer.StagePrefill && (fp.Batch > 0 || fp.StageEvidence == layer.StageByKernels &&
		fp.TokenEvidence == fromGrids) {
		return 1 // a prompt sees itself, see [Load.see]; equal prompts have the fewest pairs
	}
	if fp.Stage != layer.StageDecode || fp.Tokens <= 0 || fp.Batch > 0 && int64(fp.Batch) != fp.Tokens {
		return 0
	}
	seen, alive := fp.Tokens, fp.Tokens // of all requests; those whose prompt was not met yet
	for q := p - 1; q >= 0; q-- {
		before := &w.device.Passes[q]
		requests := int64(before.Batch)
		if requests <= 0 && alive == 1 {
			requests = 1
		}
		switch {
		case before.Model != fp.Model:
			continue
		case before.Stage == layer.StageDecode && before.Tokens == alive:
		case before.Stage == layer.StagePrefill && before.Tokens > 0 && requests > 0 && requests <= alive:
			alive -= requests
		default:
			return 0
		}
		if seen += before.Tokens; alive == 0 {
			return float64(seen) / float64(fp.Tokens)
		}
	}
	return 0
}

// see says that each request of a load sees so many tokens, and, where it is prefilled, at least those that it
// computes. Requests are taken to be equal, as no more is known.
func (l *Load) see(tokens float64) {
	if tokens <= 0 {
		return
	}
	requests := float64(max(l.Requests, 1))
	if l.ContextTokens > 0 && l.GenerationTokens > 0 {
		return // how many of the requests are which is not known
	}
	each := l.ContextTokens / requests
	seen := max(tokens, each)
	l.ContextSeen, l.GenerationSeen = 0, 0
	switch {
	case l.ContextTokens > 0:
		l.ContextSeen, l.ContextPairs, l.ContextSquares = requests*seen, l.ContextTokens*seen, l.ContextTokens*each
	case l.GenerationTokens > 0:
		l.GenerationSeen, l.GenerationPairs = requests*seen, l.GenerationTokens*seen
	default:
		return
	}
	l.KnownSeen = true
}

// tokensOf finds the tokens of a pass: best by the annotation of its step, then by grids, by the shapes of its ops,
// by what the user says, by the rows that run.
func (w *walk) tokensOf(p int, o *Options) (*Load, string) {
	fp := &w.device.Passes[p]
	if l := annotated(fp); l != nil {
		return l, fromAnnotation
	}
	if fp.Tokens > 0 {
		if fp.TokenEvidence == fromShapes && w.model != nil {
			if l := w.loadOfShapes(p); l != nil && l.Tokens == fp.Tokens {
				return l, fromShapes
			}
		}
		return loadOfTokens(fp, fp.Tokens), fp.TokenEvidence
	}
	if w.model == nil {
		return nil, ""
	}
	if o.Load != nil && o.Load.Tokens > 0 && (fp.Stage == layer.StageUnknown || fp.Stage == stageOf(o.Load)) {
		l := *o.Load
		return &l, fromOption
	}
	if fp.Rows > 0 { // what runs: padding costs as tokens do
		return loadOfTokens(fp, fp.Rows), fromRows
	}
	return nil, ""
}

// annotated is what the annotation of its step says of a pass, nil for nothing.
func annotated(fp *layer.ForwardPass) *Load {
	if fp.Annotation == nil || fp.TokenEvidence != fromAnnotation {
		return nil
	}
	_, st, ok := framework.ReadStep(framework.All(), fp.Annotation.Name)
	if !ok {
		return nil
	}
	return loadOfStep(&st, fp)
}

// loadOfTokens is what a pass processes if only its number of tokens is known.
func loadOfTokens(fp *layer.ForwardPass, tokens int64) *Load {
	l := &Load{Tokens: tokens, Requests: int64(max(fp.Batch, 0))}
	if fp.Stage == layer.StageDecode && l.Requests == 0 {
		l.Requests = l.Tokens
	}
	l.split(fp.Stage)
	return l
}

// split books all tokens on the phase of the stage.
func (l *Load) split(s layer.Stage) {
	switch {
	case s == layer.StagePrefill:
		l.ContextTokens = float64(l.Tokens)
	case s.Info().Generates:
		l.GenerationTokens = float64(l.Tokens)
	}
}

// loadOfStep reads the sums of a step's annotation.
func loadOfStep(st *framework.Step, fp *layer.ForwardPass) *Load {
	if fp.Tokens <= 0 {
		return nil
	}
	l := &Load{Tokens: fp.Tokens, Requests: int64(max(st.Batch, fp.Batch, 0))}
	c, g := st.Context, st.Generation
	known := func(s framework.Sums, tokens int64) bool {
		return tokens <= 0 || s.SQ >= 0 && s.SK >= 0 && s.SQSQ >= 0 && s.SQSK >= 0
	}
	// one request: its length follows from the product
	if c.SQ > 0 && c.SQSK >= 0 && c.SK < 0 && st.ContextRequests == 1 {
		c.SK, c.SQSQ = c.SQSK/c.SQ, c.SQ*c.SQ
	}
	if c.SQ < 0 && g.SQ < 0 {
		l.split(fp.Stage)
		return l
	}
	l.KnownSeen = known(c, st.ContextTokens) && known(g, st.GenerationTokens)
	l.ContextTokens, l.GenerationTokens = float64(max(st.ContextTokens, 0)), float64(max(st.GenerationTokens, 0))
	if l.KnownSeen {
		l.ContextSeen, l.ContextPairs, l.ContextSquares = float64(max(c.SK, 0)), float64(max(c.SQSK, 0)),
			float64(max(c.SQSQ, 0))
		l.GenerationSeen, l.GenerationPairs = float64(max(g.SK, 0)), float64(max(g.SQSK, 0))
	}
	return l
}

// loadOfShapes reads the tokens of a pass off the shapes that its products were called with: two products of
// different sizes, each with the weights that the plan gives it, must be of as many rows. Nil where none are
// recorded, or they disagree.
func (w *walk) loadOfShapes(p int) *Load {
	type weight struct{ k, n int64 }
	rows := map[int64]map[weight]bool{}
	var attention Work
	for k := range w.kernelsOf(p) {
		operator, part, _ := k.Operator()
		g, place := w.ops.groupOf(k), k.Place()
		if part != layer.PartMain || place.Layer == trace.None || g == nil || !g.known {
			continue
		}
		if g.work.Kind == OpAttention {
			attention = g.work
		}
		if g.work.Kind != OpProduct || g.work.M <= 0 {
			continue
		}
		m, kind := g.work.M, w.kindOf(place.Layer)
		for _, planned := range planned(w.plan, kind, string(operator), false) {
			work := w.model.work(&planned, kind, &Load{Tokens: m, Requests: 1})
			if work.K == g.work.K && work.N == g.work.N {
				if rows[m] == nil {
					rows[m] = map[weight]bool{}
				}
				rows[m][weight{work.K, work.N}] = true
			}
		}
	}
	for m, weights := range rows {
		if len(rows) == 1 && len(weights) > 1 {
			return loadOfAttention(m, &attention)
		}
	}
	return nil
}

// loadOfAttention is a pass of m tokens whose attention was called with so many requests and tokens of queries and
// keys: requests of equal length. Where they do not fit to m, only the tokens are known.
func loadOfAttention(m int64, of *Work) *Load {
	l := Load{Tokens: m}
	if of.Queries == 0 || of.Requests*of.Queries != m || of.Keys < of.Queries {
		return &l
	}
	if of.Queries == 1 && of.Keys > 1 {
		l = Decode(of.Requests, of.Keys)
	} else {
		l = Prefill(of.Requests, of.Queries, of.Keys-of.Queries)
	}
	return &l
}
