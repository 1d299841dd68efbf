package hostoverhead

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

// TestAdviceOnLaunchesFitsTheSteps: the stage with most exposed launches decides, and whether its kernels are
// replayed already.
func TestAdviceOnLaunchesFitsTheSteps(t *testing.T) {
	stage := func(s layer.Stage, replayed, eager, exposed int64) StageVerdict {
		return StageVerdict{Stage: s, Paths: []Path{{Path: "graph", TimeNS: replayed, ExposedNS: 99},
			{Path: "eager", TimeNS: eager, ExposedNS: exposed}}}
	}
	for _, c := range []struct {
		stages []StageVerdict
		want   finding.Advice
	}{
		{[]StageVerdict{stage(layer.StageDecode, 0, 100, 10), stage(layer.StagePrefill, 0, 100, 9)},
			captureGraphs["sglang"]},
		{[]StageVerdict{stage(layer.StageDecode, 0, 100, 9), stage(layer.StagePrefill, 0, 100, 10)},
			prefillGraphs["sglang"]},
		// the first of equals
		{[]StageVerdict{stage(layer.StagePrefill, 0, 100, 10), stage(layer.StageDecode, 0, 100, 10)},
			prefillGraphs["sglang"]},
		{[]StageVerdict{stage(layer.StageDecode, 50, 50, 10)}, captureGraphs["sglang"]},
		{[]StageVerdict{stage(layer.StageDecode, 49, 50, 10)}, captureGraphs["sglang"]},
		{[]StageVerdict{stage(layer.StageDecode, 51, 50, 10)}, besideGraph},
		{[]StageVerdict{stage(layer.StagePrefill, 0, 100, 0)}, prefillGraphs["sglang"]},
		{nil, captureGraphs["sglang"]},
	} {
		if got := launchSetting(&RankVerdict{Stages: c.stages}, "sglang"); got != c.want {
			t.Errorf("%+v: %q, want %q", c.stages, got.Do, c.want.Do)
		}
	}
}

// TestEveryCauseHasAdvice: idle time of any cause that takes much of the steps makes advice.
func TestEveryCauseHasAdvice(t *testing.T) {
	for _, c := range finding.Causes() {
		if x := adviceOn(c, &RankVerdict{}, "", trace.SourceNsys.Record(trace.WantLaunches)); x.Do == "" {
			t.Errorf("%s: no advice", c)
		}
	}
}

// TestAdviceOnOperators: host code that starts operators one by one is helped by graphs, other host code is not.
func TestAdviceOnOperators(t *testing.T) {
	own := finding.HostCode.Info().Advice
	for _, c := range []struct {
		operators, python int64
		want              finding.Advice
	}{{51, 49, captureGraphs["vllm"]}, {50, 50, own}, {0, 100, own}} {
		r := &RankVerdict{Idle: []IdleCause{{Cause: finding.HostCode, Host: true, StepsNS: 100, Names: []IdleName{
			{Name: "aten::addmm", StepsNS: c.operators}, {Name: "server.py: schedule", StepsNS: c.python}}}}}
		if got := adviceOn(finding.HostCode, r, "vllm", ""); got != c.want {
			t.Errorf("%d of 100 in operators: %q, want %q", c.operators, got.Do, c.want.Do)
		}
	}
	for ns, want := range map[int64]finding.Advice{51: loadAhead, 50: own} { // of a loader of data
		r := &RankVerdict{Idle: []IdleCause{{Cause: finding.HostCode, Host: true, StepsNS: 100, Names: []IdleName{
			{Name: "torch/utils/data/dataloader.py: next", StepsNS: ns}}}}}
		if got := adviceOn(finding.HostCode, r, "vllm", ""); got != want {
			t.Errorf("%d of 100 in a loader: %q, want %q", ns, got.Do, want.Do)
		}
	}
	for name, want := range map[string]bool{"aten::_to_copy": true, "sgl_kernel::rmsnorm.default": true,
		"server.py: schedule": false, "at::native::copy_kernel(at::TensorIterator&)": false, "Command Buffer Full": false} {
		if names.Operator(name) != want {
			t.Errorf("%q: an operator is %t, want %t", name, !want, want)
		}
	}
}

// TestAdviceIsOfTheFramework: for each cause, stage and server advice names no other server, and no flag of a server
// where none is known.
func TestAdviceIsOfTheFramework(t *testing.T) {
	flag := regexp.MustCompile(`(^|[ (])--[a-z]`)
	named := 0
	for _, of := range append(framework.All(), framework.Framework{}) {
		list := []finding.Advice{adviceFor(overlapSteps, of.Key())}
		for _, c := range finding.Causes() {
			for _, stage := range []layer.Stage{layer.StageDecode, layer.StagePrefill} {
				r := &RankVerdict{Stages: []StageVerdict{{Stage: stage, Paths: []Path{{Path: "eager", ExposedNS: 1}}}}}
				list = append(list, adviceOn(c, r, of.Key(), trace.SourceTorch.Record(trace.WantLaunches)))
			}
		}
		for _, x := range list {
			for _, other := range framework.All() {
				is := strings.Contains(x.Do, other.Name+":")
				if is && other.Key() != of.Key() {
					t.Errorf("%q: %s", of.Name, x.Do)
				}
				if is {
					named++
				}
			}
			if !of.Server() && flag.MatchString(x.Do) {
				t.Errorf("no server is known: %s", x.Do)
			}
		}
	}
	if named < 8 {
		t.Errorf("only %d pieces of advice name a server", named)
	}
}

// TestMostIsAtLeastHalf: what takes less than half of a cause is named with its share.
func TestMostIsAtLeastHalf(t *testing.T) {
	for ns, want := range map[int64]string{49: ", led by f (49.0%)", 50: ", mostly f"} {
		c := IdleCause{StepsNS: 100, Names: []IdleName{{StepsNS: ns}}}
		if got := c.mostOf("f"); got != want {
			t.Errorf("%d of 100: %q, want %q", ns, got, want)
		}
	}
}

// TestMostFrequent: the source that occurs most often, of equals the first by name, none only where there is no other.
func TestMostFrequent(t *testing.T) {
	for want, m := range map[string]map[string]int{
		"":  {"": 5},
		"a": {"": 5, "a": 1},
		"b": {"a": 1, "b": 2},
		"c": {"c": 2, "d": 2, "e": 1},
	} {
		for range 20 { // in whatever order the map has them
			if got := mostFrequent(m); got != want {
				t.Fatalf("%v: %q, want %q", m, got, want)
			}
		}
	}
}

// TestLongestGaps: of many the longest, of equals the first, in order of time.
func TestLongestGaps(t *testing.T) {
	for _, c := range []struct {
		gaps []int64
		n    int
		want []int64 // the places of those that are kept
	}{
		{[]int64{30, 10, 20}, 2, []int64{0, 2}}, {[]int64{10, 30, 20}, 2, []int64{1, 2}},
		{[]int64{30, 20, 10, 20}, 2, []int64{0, 1}}, {[]int64{10, 10, 10}, 2, []int64{0, 1}},
		{[]int64{10, 20}, 5, []int64{0, 1}}, {[]int64{10, 20}, 0, nil}, {[]int64{10, 20}, 1, []int64{1}}, {nil, 3, nil},
		{[]int64{40, 10, 20, 30}, 3, []int64{0, 2, 3}},
	} {
		d, at := &deviceWork{}, int64(0)
		place := map[int64]int64{}
		for i, g := range append(c.gaps, 0) {
			d.busy = append(d.busy, interval.Span{Start: at, End: at + 5})
			place[at+5] = int64(i)
			at += 5 + g
		}
		a := &account{d: d}
		a.findTop(c.n)
		var got []int64
		for _, g := range a.top {
			got = append(got, place[g.span.Start])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("the %d longest of %v: %v, want %v", c.n, c.gaps, got, c.want)
		}
	}
}

// TestDoubtsAreWritten: from the first on.
func TestDoubtsAreWritten(t *testing.T) {
	for n, want := range map[int]bool{0: false, 1: true, 2: true} {
		v := Verdict{Ranks: make([]RankVerdict, 1), Doubts: make(Doubts, n)}
		var b strings.Builder
		if err := v.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "\nDoubts\n"); got != want ||
			strings.Count(b.String(), "  - [, ] ") != n {
			t.Errorf("%d doubts: %v, want %v\n%s", n, got, want, b.String())
		}
	}
}

// TestKernelsAreNextWhereTheHostIsNot: a NO that may be believed says where to look instead.
func TestKernelsAreNextWhereTheHostIsNot(t *testing.T) {
	for _, c := range []struct {
		verdict    Answer
		confidence finding.Band
		copies     float64 // share of the steps
		want       bool
	}{{No, finding.High, 0, true}, {No, finding.Medium, .099, true}, {No, finding.Medium, .1, false},
		{No, finding.Low, 0, false}, {Yes, finding.High, 0, false}, {Inconclusive, finding.High, 0, false}} {
		a := &account{l: &ledger{w: &workload{t: built.Trace(trace.NewBuilder(trace.Options{}))}}}
		got := a.recordAdvice(&Verdict{Verdict: c.verdict, Confidence: c.confidence, Threshold: 0.1,
			Ranks: []RankVerdict{{Transfers: &IdleCause{Share: c.copies}}}})
		if is := len(got) == 1 && strings.HasPrefix(got[0].Do, "Look at the kernels"); is != c.want || len(got) > 1 || !is && len(got) > 0 {
			t.Errorf("%s with confidence %s: %+v, want %v", c.verdict, c.confidence, got, c.want)
		}
	}
}
