package roofline

import "github.com/llmstrata/strata/layer"

// Load is what a pass processes on one rank. Sums are over requests: sq is how many tokens of a request the pass
// computes, sk how many its attention sees. Context requests are prefilled, generation requests decode.
type Load struct {
	// Tokens are all tokens of the pass, Requests all its requests.
	Tokens   int64
	Requests int64
	// ContextTokens is Σ sq, ContextSeen Σ sk, ContextPairs Σ sq·sk and ContextSquares Σ sq² of context requests.
	ContextTokens, ContextSeen, ContextPairs, ContextSquares float64
	// GenerationTokens, GenerationSeen and GenerationPairs are the same for generation requests.
	GenerationTokens, GenerationSeen, GenerationPairs float64
	// Rows is for how many tokens logits are computed; 0: one a request.
	Rows int64
	// AtLeast says that only as much is known: a pass has a token at least.
	AtLeast bool
	// KnownSeen says that the sums over sk are known; without them attention has no work.
	KnownSeen bool
}

// Decode is a pass of requests that compute one token each and see kvLen tokens.
func Decode(requests, kvLen int64) Load {
	r, l := float64(requests), float64(kvLen)
	return Load{Tokens: requests, Requests: requests, GenerationTokens: r, GenerationSeen: r * l,
		GenerationPairs: r * l, KnownSeen: kvLen > 0}
}

// Prefill is a pass of requests that compute tokens each, after prefix tokens that are cached.
func Prefill(requests, tokens, prefix int64) Load {
	r, q, k := float64(requests), float64(tokens), float64(tokens+prefix)
	return Load{Tokens: requests * tokens, Requests: requests, ContextTokens: r * q, ContextSeen: r * k,
		ContextPairs:   r * q * k,
		ContextSquares: r * q * q, KnownSeen: tokens > 0}
}

// logits is for how many tokens logits are computed.
func (l *Load) logits() int64 {
	if l.Rows > 0 {
		return l.Rows
	}
	return l.Requests
}

// pairs of query and key that causal attention computes. A request's tokens see each other from the diagonal down,
// which Σ sq·sk − Σ sq²/2 counts as half a square.
func (l *Load) pairs() float64 { return l.ContextPairs - l.ContextSquares/2 + l.GenerationPairs }

// pairsWithin bounds them where each token sees w tokens at most. Sums do not show which requests are short, so it is
// an upper bound.
func (l *Load) pairsWithin(w float64) float64 {
	return min(l.ContextPairs-l.ContextSquares/2, l.ContextTokens*w) + min(l.GenerationPairs, l.GenerationTokens*w)
}

// seenWithin bounds the cached tokens that are read where each request sees w tokens at most before those that it
// computes.
func (l *Load) seenWithin(w float64) float64 {
	generation := l.GenerationTokens // requests that decode compute a token each, more when they verify drafts
	if n := float64(l.Requests); n > 0 {
		generation = min(generation, n)
	}
	return min(l.ContextSeen, l.ContextTokens+w*float64(l.Requests)) + min(l.GenerationSeen, w*generation)
}

// stageOf is the stage that a load is.
func stageOf(l *Load) layer.Stage {
	switch {
	case l.ContextTokens > 0 && l.GenerationTokens > 0:
		return layer.StageMixed
	case l.ContextTokens > 0:
		return layer.StagePrefill
	case l.GenerationTokens > 0:
		return layer.StageDecode
	}
	return layer.StageUnknown
}
