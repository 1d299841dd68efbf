package hostoverhead_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/hosttest"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace/event"
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
		tl.Event(event.Range, "my_server.tick(decode)", 0, 0, at, at+900)
		tl.Event(event.Runtime, "cudaLaunchKernel", 0, i+1, at+1, at+2)
		tl.Event(event.Kernel, "gemm", 0, i+1, at+10, at+500)
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
	v, err := hostoverhead.Analyze(t.Context(), []*layer.Analysis{a}, hostoverhead.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p := stage(v, layer.StageDecode); p == nil || p.Steps != 60 {
		t.Errorf("decode = %+v, want 60 steps", p)
	}
	for tick, x := range map[string]*layer.Analysis{"": a, "my_server.tick(decode)": analyzed(t, tr)} {
		run, err := hostoverhead.Breakdown(t.Context(), x, hostoverhead.BreakdownOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if named := slices.ContainsFunc(run.Operations,
			func(o hostoverhead.Operation) bool { return o.Name == tick }); named != (tick != "" &&
			run.SteadySteps > 0) {
			t.Errorf("operations %+v, %q among them: %v", run.Operations, tick, named)
		}
	}
}

// TestVerdictReadsBack: what a program writes, another reads; shares have six decimals.
func TestVerdictReadsBack(t *testing.T) {
	v := judged(t, hosttest.Generate(t, nsysgen.Default(1)))
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var back hostoverhead.Verdict
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(v, &back, cmpopts.IgnoreUnexported(hostoverhead.Verdict{})); d != "" {
		t.Errorf("read back (-want +got):\n%s", d)
	}
	if s := strconv.FormatFloat(v.Headroom.Share, 'f', -1, 64); v.Headroom.Share == 0 || len(s) > len("0.123456") {
		t.Errorf("a share of %s, want six decimals", s)
	}
}
