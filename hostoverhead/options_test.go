package hostoverhead_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/hosttest"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

func TestTopGapsAreAsManyAsAsked(t *testing.T) {
	tr := hosttest.Generate(t, nsysgen.Default(1))
	for _, n := range []int{0, 3} {
		v := judged(t, tr, func(o *hostoverhead.Options) { o.TopGaps = &n })
		if got := len(decider(v).Top); got != n {
			t.Errorf("%d gaps, want %d", got, n)
		}
	}
	if got := len(decider(judged(t, tr)).Top); got != 10 {
		t.Errorf("%d gaps by default, want 10", got)
	}
}

// TestOwnStepPatterns recognises the steps of a server that nobody knows.
func TestOwnStepPatterns(t *testing.T) {
	tl := hosttest.NewTimeline()
	for i := range 60 {
		at := int64(i) * 1000
		tl.Event(trace.KindRange, "my_server.tick(decode)", 0, 0, at, at+900)
		tl.Event(trace.KindRuntime, "cudaLaunchKernel", 0, i+1, at+1, at+2)
		tl.Event(trace.KindKernel, "gemm", 0, i+1, at+10, at+500)
	}
	tr := tl.Finish()
	if v := judged(t, tr); stage(v, layer.StageDecode) != nil {
		t.Errorf("decode steps without the pattern: %+v", decider(v).Stages)
	}
	pattern := layer.StepPattern{Name: "mine", Match: regexp.MustCompile(`^my_server\.tick\((?P<stage>\w+)\)$`)}
	a, err := layer.Analyze(t.Context(), tr, layer.Options{StepPatterns: []layer.StepPattern{pattern}})
	if err != nil {
		t.Fatal(err)
	}
	v, err := hostoverhead.Analyze(t.Context(), []*layer.Analysis{a}, hostoverhead.Options{Steps: []layer.StepPattern{pattern}})
	if err != nil {
		t.Fatal(err)
	}
	if p := stage(v, layer.StageDecode); p == nil || p.Steps != 60 {
		t.Errorf("decode = %+v, want 60 steps", p)
	}
}

func TestRatioReadsBackWhatItWrites(t *testing.T) {
	for _, c := range []struct {
		r    hostoverhead.Ratio
		text string
	}{
		{hostoverhead.Ratio{}, "null"}, {hostoverhead.Ratio{Value: 0.123449, Applicable: true}, "0.1234"},
		{hostoverhead.Ratio{Value: 1, Applicable: true}, "1"}, {hostoverhead.Ratio{Applicable: true}, "0"},
	} {
		data, err := json.Marshal(c.r)
		if err != nil || string(data) != c.text {
			t.Errorf("%v as JSON = %s (%v), want %s", c.r, data, err, c.text)
		}
		var back hostoverhead.Ratio
		if err := json.Unmarshal(data, &back); err != nil || back.String() != c.r.String() {
			t.Errorf("%s read back = %v (%v), want %v", data, back, err, c.r)
		}
	}
	if err := json.Unmarshal([]byte(`"x"`), new(hostoverhead.Ratio)); err == nil {
		t.Error("a text was read as a ratio")
	}
}
