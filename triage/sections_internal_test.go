package triage

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/triage/internal/activity"
	"github.com/llmstrata/strata/triage/internal/chain"
)

// TestSectionsOfAReport: which tables a report has. A capture runs no step: it has kernels alone. Slow kernels are
// listed where there are some.
func TestSectionsOfAReport(t *testing.T) {
	decode := StageReport{PassStage: layer.StageDecode}
	slow := decode
	slow.Slow = make([]SlowRow, 1)
	capture := StageReport{PassStage: layer.StageCapture, Kernels: []KernelRow{{Kernel: "k", GPUTimeNS: 10, SharePct: 1}}}
	const steps = "Kernel Table, Operators, Exposure, Overlap Opportunity Table, Fuse Opportunity Table"
	for _, c := range []struct {
		stages []StageReport
		want   string
	}{
		{nil, steps}, {[]StageReport{decode}, steps}, {[]StageReport{capture}, "Kernel Table"},
		{[]StageReport{capture, capture}, "Kernel Table"}, {[]StageReport{decode, capture}, steps},
		{[]StageReport{slow}, steps + ", Slow Kernels"}, {[]StageReport{decode, slow}, steps + ", Slow Kernels"},
	} {
		var b strings.Builder
		if err := (&Report{Stages: c.stages}).WriteMarkdown(&b); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(b.String(), -1) {
			got = append(got, m[1])
		}
		if text := strings.Join(got, ", "); text != c.want+", Summary" {
			t.Errorf("%d stages: %s, want %s", len(c.stages), text, c.want)
		}
		if len(c.stages) == 0 != strings.Contains(b.String(), "No GPU activity.") {
			t.Errorf("%d stages:\n%s", len(c.stages), b.String())
		}
	}
}

// TestExposureInWords: one kernel at a time, a little and much overlap, lost records, and what exchanges wait.
func TestExposureInWords(t *testing.T) {
	comm := func(by layer.WaitingBy, bound, waiting int64) ExposureRow {
		return ExposureRow{Category: "communication", TotalNS: 300, ExposedNS: 300, ExposedPct: 3, Streams: 1,
			BoundNS: bound, WaitingNS: waiting, WaitingBy: by}
	}
	const alone = "Kernels run one at a time for "
	for _, c := range []struct {
		x    *Exposure
		want []string
	}{
		{nil, []string{"No steps were found, so nothing is said about exposure."}},
		{&Exposure{}, []string{"No steps were found, so nothing is said about exposure."}},
		{&Exposure{WallNS: 1, CompleteSteps: 1}, []string{alone + "1 ns of 1 ns; the GPU is never idle."}},
		{&Exposure{WallNS: 10000, IdleNS: 1}, []string{alone + "10.0 µs of 10.0 µs; the rest is idle."}},
		{&Exposure{WallNS: 10000, IdleNS: 1000, LostNS: 1}, []string{
			alone + "9.00 µs of 10.0 µs; the GPU is idle for 1.00 µs.",
			"Records of kernels are missing for 1 ns of 10.0 µs."}},
		{&Exposure{WallNS: 10000, SharedNS: 1}, []string{"Kernels of several categories overlap for under 1% of the " +
			"window; the GPU is idle for 0 of 10.0 µs."}},
		{&Exposure{WallNS: 10000, SharedNS: 100}, []string{
			"Of 10.0 µs, kernels of several categories share 100 ns; the GPU is idle for 0."}},
		{&Exposure{WallNS: 10000, Rows: []ExposureRow{{Category: "gemm", TotalNS: 700, ExposedNS: 700, ExposedPct: 7,
			Streams: 2, Longest: &Place{StartNS: 5_000_000, EndNS: 5_000_300, Kernel: "k"}}}},
			[]string{alone + "10.0 µs of 10.0 µs; the GPU is never idle.", "gemm 700 ns 700 ns 7.0% 0 2 300 ns 5.000 ms k"}},
		{&Exposure{WallNS: 10000, Rows: []ExposureRow{comm(layer.WaitingByRanks, 1, 100)}}, []string{
			alone + "10.0 µs of 10.0 µs; the GPU is never idle.", "communication 300 ns 300 ns 3.0% 0 1 100 ns 1 ns - -",
			"Exposed communication: 100 ns (1.0% of the window) waiting for other ranks, 200 ns (2.0%) transfer. " +
				"Measured against the arrival of the other ranks."}},
		{&Exposure{WallNS: 10000, Rows: []ExposureRow{comm("", 0, 0)}}, []string{
			alone + "10.0 µs of 10.0 µs; the GPU is never idle.", "communication 300 ns 300 ns 3.0% 0 1 - - - -",
			"Waiting and transfer are not separated: no other rank matches, and only an all-reduce, all-gather or " +
				"reduce-scatter that eight layers repeat can be estimated."}},
	} {
		var b strings.Builder
		(&page{w: &b, text: true}).exposure(nil, &StageReport{Exposure: c.x})
		var got []string
		for line := range strings.Lines(b.String()) {
			if line = strings.Join(strings.Fields(line), " "); line != "" && !strings.HasPrefix(line, "---") &&
				!strings.HasPrefix(line, "Category") {
				got = append(got, line)
			}
		}
		if !slices.Equal(got, c.want) || strings.Contains(b.String(), "\n\n\n") {
			t.Errorf("%+v:\n%q\nwant\n%q\n%s", c.x, got, c.want, b.String())
		}
	}
}

// TestFindingsOfAStage: two steps of 1000 ns. Each figure follows from the rows, down to a nanosecond.
func TestFindingsOfAStage(t *testing.T) {
	comm := func(exposed, waiting, bound int64) ExposureRow {
		return ExposureRow{Category: "communication", ExposedNS: exposed, WaitingNS: waiting, BoundNS: bound,
			WaitingBy: layer.WaitingByFastest}
	}
	fuse := func(kind FuseKind, state FuseState, high int64) FuseRow {
		return FuseRow{Kind: kind, State: state, Pattern: "p", Gain: Gain{StepHighNS: high}, Action: "do"}
	}
	for _, c := range []struct {
		what string
		r    StageReport
		want string
	}{
		{"nothing", StageReport{}, ""},
		{"a nanosecond", StageReport{Exposure: &Exposure{Rows: []ExposureRow{comm(1, 0, 0)}}},
			"exposed-communication 1 0 high []"},
		{"all of it waits", StageReport{Exposure: &Exposure{Rows: []ExposureRow{comm(1, 1, 0)}}},
			"rank-wait 1 0 medium [Estimated: compared with the fastest quarter of the same collective in the same pass.]"},
		{"both", StageReport{Exposure: &Exposure{Rows: []ExposureRow{{Category: "gemm", ExposedNS: 9}, comm(100, 40, 2)}}},
			"rank-wait 40 20 medium [Estimated: compared with the fastest quarter of the same collective in the same pass.]; " +
				"exposed-communication 60 30 high [Compute in the same layers can overlap up to 1 ns.]"},
		{"a bound of a nanosecond", StageReport{Exposure: &Exposure{Rows: []ExposureRow{comm(9, 0, 1)}}},
			"exposed-communication 9 4 high [Compute in the same layers can overlap up to 0.]"},
		{"fused paths", StageReport{Fuse: []FuseRow{fuse(Split, StateAvailable, 1), fuse(Split, StateAvailable, 0),
			fuse(Split, StateActive, 9), fuse(InUse, StateAvailable, 9)}},
			"fusion 2 1 medium [0 kernels, 0 occurrences, 0 in all. .]"},
		{"operators", StageReport{Operators: []OperatorRow{{Operator: "other", GPUTimeNS: 900, Confidence: 1},
			{Operator: "a", GPUTimeNS: 2000, Confidence: .9}, {Operator: "b", GPUTimeNS: 2001, Confidence: 1},
			{Operator: "c", GPUTimeNS: 200, Confidence: .6}, {Operator: "d", GPUTimeNS: 199, Confidence: 1},
			{Operator: "e", GPUTimeNS: 300, Confidence: .59}, {Operator: "f", GPUTimeNS: 300}}},
			"largest-operator 2000 1000 high []; largest-operator 200 100 medium []; largest-operator 300 150 low []; " +
				"largest-operator 300 150  []"},
	} {
		if c.r.Exposure == nil {
			c.r.Exposure = &Exposure{}
		}
		c.r.Devices = 1
		a := &analysis{}
		s := &stageWork{exposure: &Exposure{WallNS: 2000, Steps: 2, CompleteSteps: 2}}
		var got []string
		for _, f := range a.findings(s, &c.r) {
			if f.Do == "" {
				t.Errorf("%s: no advice: %+v", c.what, f)
			}
			got = append(got, fmt.Sprintf("%s %d %d %s [%s]", f.Kind, f.Total, f.PerStep, f.Confidence, f.Evidence))
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s: %s\nwant %s", c.what, text, c.want)
		}
	}
	if p, where := (&ExposureRow{}).place(); p != (finding.Place{}) || where != "" {
		t.Errorf("nowhere is %+v, %q", p, where)
	}
	if _, where := (&ExposureRow{Longest: &Place{StartNS: 1000, EndNS: 1300, Kernel: "k"}}).place(); where !=
		"longest stretch: 300 ns from 0.000001 s, beginning with k" {
		t.Errorf("longest stretch: %q", where)
	}
}

// TestWorthARow: what takes enough of the stage, repeats and saves something, be it a nanosecond.
func TestWorthARow(t *testing.T) {
	one := func(name string, ns, gpu int64, n int) *chain.Candidate {
		c := &chain.Candidate{Name: name, NS: ns, At: make([]chain.Occurrence, n)}
		c.At[0].Price.GPU = gpu
		return c
	}
	a := &analysis{}
	a.MinSharePct = 10
	var got []string
	for _, c := range a.worth(&stageWork{ns: 1000}, []*chain.Candidate{one("kept", 100, 1, 4), one("small", 99, 1, 4),
		one("rare", 100, 1, 3), one("saves nothing", 100, 0, 4)}) {
		got = append(got, c.Name)
	}
	if !slices.Equal(got, []string{"kept"}) {
		t.Errorf("%q", got)
	}
}

// TestPathForAPart: a server's path for the chain that the name of what is fused begins with, if something can be done.
func TestPathForAPart(t *testing.T) {
	for _, c := range []struct {
		p    fusion.Pattern
		want string
	}{
		{fusion.Pattern{Pattern: "P", Chain: "norm and", Switch: "--x"}, " For a part of them it has P: Enable with --x."},
		{fusion.Pattern{Pattern: "P", Chain: "and quant", Switch: "--x"}, ""},
		{fusion.Pattern{Pattern: "P", Switch: "--x"}, ""},
		{fusion.Pattern{Pattern: "P", Chain: "norm and", Switch: "--x", Frameworks: []string{"sglang"}}, ""},
		{fusion.Pattern{Pattern: "P", Chain: "norm and", Requires: fusion.Requirements{Platforms: []string{"rocm"}}}, ""},
	} {
		if c.p.Frameworks == nil {
			c.p.Frameworks = []string{"vllm"}
		}
		a := &analysis{pool: activity.NewPool(), report: &Report{Framework: "vLLM"},
			registry: &fusion.Registry{Patterns: []fusion.Pattern{c.p}}}
		s := &stageWork{parts: []*activity.Trace{{Analysis: &layer.Analysis{}, Cuda: true}}}
		if got := a.partly(s, &chain.Candidate{Name: "Norm and quant"}); got != c.want {
			t.Errorf("%+v: %q, want %q", c.p, got, c.want)
		}
	}
}

// TestWindowOrSteps: a ledger is of the window where all that it counts stands for a trace without steps.
func TestWindowOrSteps(t *testing.T) {
	for _, c := range []struct {
		steps, whole int
		want         bool
	}{{0, 0, false}, {1, 1, true}, {2, 1, false}} {
		x := exposureSums{steps: c.steps, whole: c.whole}
		if got := x.ledger().Whole; got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}
