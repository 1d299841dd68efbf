package layer_test

import (
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// TestStepsOfManyPasses: passes that match none of another GPU are not compared
// with all of its passes. Where each is, this test takes an hour, not a second.
func TestStepsOfManyPasses(t *testing.T) {
	n := 200_000
	if !testdata.Long() {
		n = 50_000
	}
	row := func(change func(i int, p *layer.ForwardPass)) []layer.ForwardPass {
		passes := make([]layer.ForwardPass, n)
		for i := range passes {
			p := &passes[i]
			p.Start, p.End, p.Host.Annotation = trace.Time(10*i), trace.Time(10*i+9), trace.None
			change(i, p)
		}
		return passes
	}
	number := func(dialect string, first int) func(int, *layer.ForwardPass) {
		return func(i int, p *layer.ForwardPass) {
			p.Annotation = &layer.Step{Dialect: dialect, Index: int64(first + i)}
		}
	}
	long := func(i int, p *layer.ForwardPass) {
		if i == 0 {
			p.End = trace.Time(10 * n)
		}
		p.Stage = layer.StagePrefill
	}
	plain := func(int, *layer.ForwardPass) {}
	for _, tt := range []struct {
		name        string
		first, next func(int, *layer.ForwardPass)
		steps       int
	}{
		{"equal", plain, plain, n},
		{"other numbers", number("a", 0), number("a", n), 2 * n},
		{"same numbers, other times", number("a", 0),
			func(i int, p *layer.ForwardPass) {
				number("a", 0)(i, p)
				p.Start += trace.Time(10 * n)
				p.End += trace.Time(10 * n)
			}, n},
		{"another stage below a long one", long, func(i int, p *layer.ForwardPass) { p.Stage = layer.StageDecode },
			2 * n},
		{"all at once", func(_ int, p *layer.ForwardPass) { p.Start, p.End = 0, 1 },
			func(_ int, p *layer.ForwardPass) { p.Start, p.End = 1, 2 }, 2 * n},
	} {
		x, y := row(tt.first), row(tt.next)
		layer.NumberSteps(x, y)
		most := 0
		for i := range n {
			most = max(most, x[i].Step, y[i].Step)
		}
		if most+1 != tt.steps {
			t.Errorf("%s: %d steps, want %d", tt.name, most+1, tt.steps)
		}
	}
}
