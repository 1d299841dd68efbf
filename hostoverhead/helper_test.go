package hostoverhead_test

import (
	"bytes"
	"testing"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

// analyzed finds the passes of a trace.
func analyzed(tb testing.TB, t *trace.Trace) *layer.Analysis {
	tb.Helper()
	a, err := layer.Analyze(tb.Context(), t, layer.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// judged is the verdict about a trace.
func judged(tb testing.TB, t *trace.Trace, change ...func(*hostoverhead.Options)) *hostoverhead.Verdict {
	tb.Helper()
	var o hostoverhead.Options
	for _, f := range change {
		f(&o)
	}
	v, err := hostoverhead.Analyze(tb.Context(), []*layer.Analysis{analyzed(tb, t)}, o)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// decider is the device that decides.
func decider(v *hostoverhead.Verdict) *hostoverhead.RankVerdict { return &v.Ranks[v.Deciding] }

// stage is the answer for one stage of the deciding device, nil where it has none.
func stage(v *hostoverhead.Verdict, s layer.Stage) *hostoverhead.StageVerdict {
	r := decider(v)
	for i := range r.Stages {
		if r.Stages[i].Stage == s {
			return &r.Stages[i]
		}
	}
	return nil
}

// causesOf is the time without a kernel of the deciding device by cause, in µs: idle time, and that in which only
// copies run.
func causesOf(v *hostoverhead.Verdict) map[finding.Cause]int64 {
	out := map[finding.Cause]int64{}
	for _, c := range v.Idle {
		out[c.Cause] = c.NS / 1000
	}
	if c := v.Ranks[v.Deciding].Transfers; c != nil {
		out[c.Cause] = c.NS / 1000
	}
	return out
}

func doubt(v *hostoverhead.Verdict, code hostoverhead.DoubtCode) *finding.Finding {
	for i := range v.Doubts {
		if v.Doubts[i].Code == code.String() {
			return &v.Doubts[i]
		}
	}
	return nil
}

// generated writes a trace and reads it.
func generated(tb testing.TB, cfg gen.Config) *trace.Trace {
	tb.Helper()
	var b bytes.Buffer
	if err := gen.Write(&b, cfg); err != nil {
		tb.Fatal(err)
	}
	tr, err := trace.Read(tb.Context(), &b, trace.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return tr
}
