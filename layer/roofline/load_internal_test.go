package roofline

import (
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
)

// TestLoadOfAStep: sums of a phase count where the annotation has all of them, and a phase without tokens needs none.
func TestLoadOfAStep(t *testing.T) {
	unknown := framework.Sums{SQ: -1, SK: -1, SQSQ: -1, SQSK: -1}
	pass := func(tokens int64, s layer.Stage) *layer.ForwardPass {
		return &layer.ForwardPass{Tokens: tokens, Stage: s}
	}
	for _, c := range []struct {
		name string
		step framework.Step
		pass *layer.ForwardPass
		want Load
	}{
		{"prefill of 3 and 5 tokens, the second after 2 others", framework.Step{Batch: 2, ContextTokens: 8,
			Context: framework.Sums{SQ: 8, SK: 10, SQSQ: 34, SQSK: 44}, Generation: unknown}, pass(8, layer.StagePrefill),
			Load{Tokens: 8, Requests: 2, ContextTokens: 8, ContextSeen: 10, ContextPairs: 44, ContextSquares: 34,
				KnownSeen: true}},
		{"decode of 2 that see 7 and 9", framework.Step{Batch: 2, GenerationTokens: 2, Context: unknown,
			Generation: framework.Sums{SQ: 2, SK: 16, SQSQ: 2, SQSK: 16}}, pass(2, layer.StageDecode),
			Load{Tokens: 2, Requests: 2, GenerationTokens: 2, GenerationSeen: 16, GenerationPairs: 16, KnownSeen: true}},
		{"both, of a prompt of one token too little is known", framework.Step{Batch: 2, ContextTokens: 1,
			GenerationTokens: 1, Context: unknown, Generation: framework.Sums{SQ: 1, SK: 0, SQSQ: 0, SQSK: 0}},
			pass(2, layer.StageMixed), Load{Tokens: 2, Requests: 2, ContextTokens: 1, GenerationTokens: 1}},
		{"both, the sums are zero", framework.Step{Batch: 1, ContextTokens: 1, GenerationTokens: 1,
			Context: framework.Sums{}, Generation: framework.Sums{}}, pass(2, layer.StageMixed),
			Load{Tokens: 2, Requests: 1, ContextTokens: 1, GenerationTokens: 1, KnownSeen: true}},
		{"one request, whose length follows", framework.Step{Batch: 1, ContextRequests: 1, ContextTokens: 4,
			Context: framework.Sums{SQ: 4, SK: -1, SQSQ: -1, SQSK: 24}, Generation: unknown}, pass(4, layer.StagePrefill),
			Load{Tokens: 4, Requests: 1, ContextTokens: 4, ContextSeen: 6, ContextPairs: 24, ContextSquares: 16,
				KnownSeen: true}},
		{"one request of one token", framework.Step{Batch: 1, ContextRequests: 1, ContextTokens: 1,
			Context: framework.Sums{SQ: 1, SK: -1, SQSQ: -1, SQSK: 1}, Generation: unknown}, pass(1, layer.StagePrefill),
			Load{Tokens: 1, Requests: 1, ContextTokens: 1, ContextSeen: 1, ContextPairs: 1, ContextSquares: 1,
				KnownSeen: true}},
		{"two requests, whose lengths do not follow", framework.Step{Batch: 2, ContextRequests: 2, ContextTokens: 4,
			Context: framework.Sums{SQ: 4, SK: -1, SQSQ: -1, SQSK: 24}, Generation: unknown}, pass(4, layer.StagePrefill),
			Load{Tokens: 4, Requests: 2, ContextTokens: 4}},
		{"no sums", framework.Step{Batch: 3, Context: unknown, Generation: unknown}, pass(3, layer.StageDecode),
			Load{Tokens: 3, Requests: 3, GenerationTokens: 3}},
	} {
		if got := loadOfStep(&c.step, c.pass); got == nil || *got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	if got := loadOfStep(&framework.Step{Batch: 1}, pass(0, layer.StageDecode)); got != nil {
		t.Errorf("a pass without tokens: %+v", got)
	}
}

// TestSee: requests see as many tokens as is said, those that are prefilled at least their own.
func TestSee(t *testing.T) {
	for _, c := range []struct {
		name   string
		load   Load
		tokens float64
		want   Load
	}{
		{"decode", Load{Requests: 2, GenerationTokens: 2, ContextSeen: 9}, 7,
			Load{Requests: 2, GenerationTokens: 2, GenerationSeen: 14, GenerationPairs: 14, KnownSeen: true}},
		{"prefill", Load{Requests: 2, ContextTokens: 8, GenerationSeen: 9}, 7,
			Load{Requests: 2, ContextTokens: 8, ContextSeen: 14, ContextPairs: 56, ContextSquares: 32, KnownSeen: true}},
		{"prefill of more than is said", Load{Requests: 2, ContextTokens: 8}, 3,
			Load{Requests: 2, ContextTokens: 8, ContextSeen: 8, ContextPairs: 32, ContextSquares: 32, KnownSeen: true}},
		{"how many requests is unknown", Load{GenerationTokens: 2}, 7,
			Load{GenerationTokens: 2, GenerationSeen: 7, GenerationPairs: 14, KnownSeen: true}},
		{"both", Load{Requests: 2, ContextTokens: 8, GenerationTokens: 1}, 7,
			Load{Requests: 2, ContextTokens: 8, GenerationTokens: 1}},
		{"one token", Load{Requests: 2, GenerationTokens: 2}, 1,
			Load{Requests: 2, GenerationTokens: 2, GenerationSeen: 2, GenerationPairs: 2, KnownSeen: true}},
		{"neither", Load{Requests: 2}, 7, Load{Requests: 2}},
		{"nothing is said", Load{Requests: 2, GenerationTokens: 2}, 0, Load{Requests: 2, GenerationTokens: 2}},
	} {
		got := c.load
		if got.see(c.tokens); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestStageOfALoad: a load is of the stage whose tokens it has.
func TestStageOfALoad(t *testing.T) {
	for want, l := range map[layer.Stage]Load{layer.StageUnknown: {}, layer.StagePrefill: {ContextTokens: 1},
		layer.StageDecode: {GenerationTokens: 1}, layer.StageMixed: {ContextTokens: 1, GenerationTokens: 1}} {
		if got := stageOf(&l); got != want {
			t.Errorf("%+v: %s, want %s", l, got, want)
		}
	}
}

// TestJoinedOps: work and floors are added up. The sizes are those of the first product, and what the sum rests on is
// the shapes of any of its ops.
func TestJoinedOps(t *testing.T) {
	product := opSum{count: 1, work: Work{FLOP: 10, Bytes: 20, MostBytes: 30, M: 1, N: 2, K: 3}, least: 4, most: 5,
		bound: boundCompute, basis: BasisShapes}
	other := opSum{count: 1, work: Work{FLOP: 1, Bytes: 2, M: 7, Queries: 8, Keys: 9}, least: 1, most: 1,
		basis: BasisContradiction, contradicting: true}
	var none *opSum
	sum := none.join(&other).join(&product)
	if w := sum.work; sum.count != 2 || w.FLOP != 11 || w.Bytes != 22 || w.MostFLOP != 11 || w.MostBytes != 32 ||
		w.M != 7 || w.Keys != 9 || sum.least != 5 || sum.most != 6 || !sum.contradicting ||
		sum.basis != BasisShapes || sum.bound != boundCompute {
		t.Errorf("%+v", *sum)
	}
	if sum = none.join(&product).join(&other); sum.basis != BasisShapes || sum.bound != boundCompute ||
		sum.work.M != 1 || sum.work.N != 2 || sum.work.Queries != 8 {
		t.Errorf("%+v", *sum)
	}
	bare := opSum{count: 1}
	if sum = none.join(&bare).join(&other); sum.basis != BasisContradiction {
		t.Errorf("%+v", *sum)
	}
}

// TestItemsHaveAHeading: with the sum of all, however many are listed, and none where there are none.
func TestItemsHaveAHeading(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: "Waits, 2.00 ms in all", mostWins + 1: "Waits, 12.0 ms in all"} {
		var b strings.Builder
		p := printer{table.NewWriter(&b)}
		items := make([]Item, n)
		for i := range items {
			items[i] = Item{What: "gap", Time: 2 * time.Millisecond}
		}
		p.items("Waits", items)
		if err := p.Flush(); err != nil {
			t.Fatal(err)
		}
		if heads := strings.Count(b.String(), "Waits"); !strings.Contains(b.String(), want) || heads != min(n, 1) {
			t.Errorf("%d items: %q, want %q once", n, b.String(), want)
		}
	}
}
