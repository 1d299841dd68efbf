package hostoverhead_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/hosttest"
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
