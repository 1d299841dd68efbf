package roofline

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/llmstrata/strata/layer"
)

// Bucket adds up the complete passes of one stage with about as many requests: 1, 2, 3–4, 5–8 and so on.
type Bucket struct {
	Stage layer.Stage `json:"stage"` // stage of the passes
	// From and To are the fewest and most requests of the bucket; −1 where the requests of its passes are not known.
	From int64 `json:"requests_from"`
	To   int64 `json:"requests_to"`
	// Passes counts the passes, Tokens and Requests add up theirs where they are known, else they are −1.
	Passes   int   `json:"passes"`
	Tokens   int64 `json:"tokens"`
	Requests int64 `json:"requests"`
	// Wall adds up the times of the passes, each up to the start of the next one; PerToken and PerRequest divide it,
	// absent in JSON where Tokens and Requests are not known.
	Wall       time.Duration `json:"wall_ns"`
	PerToken   time.Duration `json:"per_token_ns,omitempty"`
	PerRequest time.Duration `json:"per_request_ns,omitempty"`
	// Floored and Floor are the parts of Wall and of the floors in passes that have one; Floor is absent for none.
	Floored time.Duration `json:"floored_wall_ns"`
	Floor   time.Duration `json:"floor_ns,omitempty"`
	// Rows are the rows that kernels ran for Asked tokens, over passes where both are known; their difference is
	// padding.
	Rows  int64 `json:"rows"`
	Asked int64 `json:"rows_asked"`
	// Tax is what the Taxed mixed passes took longer than decode passes with as many generating requests: what those
	// waited for prefills.
	Tax   time.Duration `json:"prefill_tax_ns"`
	Taxed int           `json:"taxed_passes"`
}

// economy sums up the complete passes of a report by stage and bucket.
func economy(passes []Pass) []Bucket {
	out := []Bucket{}
	decode := map[int][]time.Duration{} // by bucket
	for i := range passes {
		p := &passes[i]
		if p.partial || p.Wall == 0 {
			continue
		}
		n := bucketOf(p.Batch)
		from, to := bounds(n)
		at := slices.IndexFunc(out, func(b Bucket) bool { return b.Stage == p.Stage && b.From == from })
		if at < 0 {
			at = len(out)
			out = append(out, Bucket{Stage: p.Stage, From: from, To: to})
		}
		out[at].add(p)
		if p.Stage == layer.StageDecode && p.Batch > 0 {
			decode[n] = append(decode[n], p.Wall)
		}
	}
	for n := range decode {
		slices.Sort(decode[n])
	}
	for i := range passes {
		p := &passes[i]
		alone := decode[bucketOf(p.generating)]
		if p.partial || p.Stage != layer.StageMixed || p.generating <= 0 || len(alone) == 0 {
			continue
		}
		from, _ := bounds(bucketOf(p.Batch))
		b := &out[slices.IndexFunc(out, func(b Bucket) bool { return b.Stage == p.Stage && b.From == from })]
		b.Tax += p.Wall - alone[len(alone)/2]
		b.Taxed++
	}
	for i := range out {
		out[i].divide()
	}
	slices.SortFunc(out, func(a, b Bucket) int {
		return cmp.Or(cmp.Compare(stageRank(a.Stage), stageRank(b.Stage)), cmp.Compare(a.From, b.From))
	})
	return out
}

// add counts one pass. A pass without tokens makes those of the bucket unknown.
func (b *Bucket) add(p *Pass) {
	b.Passes++
	b.Wall += p.Wall
	if b.Tokens >= 0 && p.Tokens >= 0 {
		b.Tokens += p.Tokens
	} else {
		b.Tokens = -1
	}
	if b.Requests >= 0 && p.Batch >= 0 {
		b.Requests += p.Batch
	} else {
		b.Requests = -1
	}
	if p.Floor > 0 {
		b.Floor += p.Floor
		b.Floored += p.Wall
	}
	if p.Rows > 0 && p.Tokens > 0 {
		b.Rows += p.Rows
		b.Asked += p.Tokens
	}
}

func (b *Bucket) divide() {
	if b.Tokens > 0 {
		b.PerToken = b.Wall / time.Duration(b.Tokens)
	}
	if b.Requests > 0 {
		b.PerRequest = b.Wall / time.Duration(b.Requests)
	}
}

// bucketOf numbers buckets of requests: 0 for 1, 1 for 2, 2 for up to 4; −1 where they are not known.
func bucketOf(requests int64) int {
	if requests <= 0 {
		return -1
	}
	return bits.Len64(uint64(requests - 1))
}

// bounds are the fewest and most requests of a bucket.
func bounds(n int) (from, to int64) {
	if n < 0 {
		return -1, -1
	}
	return 1<<n>>1 + 1, 1 << n
}

// stageRank orders stages as tables do.
func stageRank(s layer.Stage) int {
	order := []layer.Stage{layer.StagePrefill, layer.StageMixed, layer.StageDecode, layer.StageVerify, layer.StageDraft,
		layer.StageIdle, layer.StageCapture}
	if i := slices.Index(order, s); i >= 0 {
		return i
	}
	return len(order)
}
