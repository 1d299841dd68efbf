package triage

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage/internal/activity"
	"github.com/llmstrata/strata/triage/internal/chain"
)

func TestSharesAreRounded(t *testing.T) {
	for _, c := range []struct {
		part, whole int64
		percent     float64
	}{{1, 3, 33.3333}, {2, 3, 66.6667}, {0, 3, 0}, {3, 0, 0}, {1, 1, 100}, {1, 1_000_000, 0.0001}, {3, 1, 300}} {
		if got := percent(c.part, c.whole); got != c.percent {
			t.Errorf("%d of %d: %v%%, want %v", c.part, c.whole, got, c.percent)
		}
	}
	if got := micros(1500); got != 1.5 {
		t.Errorf("1500 ns are %v µs", got)
	}
	if got := part(0.123) + " " + pct(12.34) + " " + clock(1_234_567); got != "12.3% 12.3% 1.235 ms" {
		t.Errorf("%q", got)
	}
}

// sites has a pool with source lines l1 … l4 after those that are none, ops o1 and o2, operators p1 and p2, and a
// row of them.
func sites(list ...activity.SiteTime) (*activity.Pool, *row) {
	p := activity.NewPool()
	for i := 1; i <= 4; i++ {
		p.Sites.ID(fmt.Sprint("l", i))
	}
	p.Ops.ID("o1")
	p.Ops.ID("o2")
	p.Operators.ID("p1")
	p.Operators.ID("p2")
	return p, &row{sites: list}
}

func TestPlacesOfARow(t *testing.T) {
	line := activity.SiteFromPrefill
	for _, c := range []struct {
		name     string
		sites    []activity.SiteTime
		operator int32
		want     string
	}{
		{"two at most", []activity.SiteTime{{Site: line + 1, Ns: 50}, {Site: line + 2, Ns: 30},
			{Site: line + 3, Ns: 20}}, anyOperator, "l1 50 , l2 30 "},
		{"by time, then name", []activity.SiteTime{{Site: line + 2, Ns: 50}, {Site: line + 1, Ns: 50}}, anyOperator,
			"l1 50 , l2 50 "},
		{"one percent is reported", []activity.SiteTime{{Site: line + 1, Ns: 99}, {Site: line + 2, Ns: 1}}, anyOperator,
			"l1 99 , l2 1 "},
		{"less is not", []activity.SiteTime{{Site: line + 1, Ns: 991}, {Site: line + 2, Ns: 9}}, anyOperator,
			"l1 99.1 "},
		{"the only one always", []activity.SiteTime{{Site: line + 1, Ns: 0}}, anyOperator, "l1 0 "},
		{"unknown behind known", []activity.SiteTime{{Site: line + 1, Ns: 50}, {Site: activity.SiteUnresolved, Ns: 30},
			{Site: line + 2, Ns: 20}}, anyOperator, "l1 50 , l2 20 "},
		{"unknown first where it is most", []activity.SiteTime{{Site: activity.SiteUnresolved, Ns: 50},
			{Site: line + 1, Ns: 30}, {Site: line + 2, Ns: 20}}, anyOperator, "unresolved 50 , l1 30 "},
		{"a known one of less than a percent is not in front",
			[]activity.SiteTime{{Site: line + 1, Ns: 600}, {Site: activity.SiteUnresolved, Ns: 391},
				{Site: line + 2, Ns: 9}}, anyOperator, "l1 60 , unresolved 39.1 "},
		{"from a prefill is not known", []activity.SiteTime{{Site: line + 1, Ns: 50},
			{Site: activity.SiteFromPrefill, Ns: 30}, {Site: line + 2, Ns: 20}}, anyOperator, "l1 50 , l2 20 "},
		{"most frequent op", []activity.SiteTime{{Site: line + 1, Op: 1, Ns: 50, Launches: 1},
			{Site: line + 1, Op: 2, Ns: 10, Launches: 2}}, anyOperator, "l1 100 o2"},
		{"ops of equals by name", []activity.SiteTime{{Site: line + 1, Op: 2, Ns: 50, Launches: 2},
			{Site: line + 1, Op: 1, Ns: 10, Launches: 2}}, anyOperator, "l1 100 o1"},
		{"an op's launches add up", []activity.SiteTime{{Site: line + 1, Op: 2, Launches: 3},
			{Site: line + 1, Op: 1, Launches: 2, Ns: 1}, {Site: line + 1, Op: 1, Operator: 1, Launches: 2}},
			anyOperator, "l1 100 o1"},
		{"the first op's, too", []activity.SiteTime{{Site: line + 1, Op: 1, Launches: 2},
			{Site: line + 1, Op: 2, Launches: 3, Ns: 1}, {Site: line + 1, Op: 1, Operator: 1, Launches: 2}},
			anyOperator, "l1 100 o1"},
		{"of one operator", []activity.SiteTime{{Site: line + 1, Operator: 1, Ns: 50},
			{Site: line + 2, Operator: 2, Ns: 30}}, 2, "l2 100 "},
	} {
		p, r := sites(c.sites...)
		locations, ops := r.places(p, c.operator)
		var got []string
		for i, l := range locations {
			got = append(got, fmt.Sprint(l.Location, " ", l.SharePct, " ", ops[i]))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: %q, want %q", c.name, s, c.want)
		}
	}
}

func TestOperatorsOfRows(t *testing.T) {
	p, r := sites(activity.SiteTime{Operator: 1, Ns: 10, Launches: 1, Sure: 0.9},
		activity.SiteTime{Operator: 2, Ns: 30, Launches: 2, Sure: 0.75},
		activity.SiteTime{Operator: 1, Ns: 20, Launches: 4, Sure: 0.6})
	s := &stageWork{ns: 120, rows: []row{*r, {sites: []activity.SiteTime{{Operator: 2, Ns: 60, Launches: 8, Sure: 1}}}}}
	var got []string
	for _, o := range s.operators(p) {
		got = append(got, fmt.Sprint(o.Operator, " ", o.Confidence, " ", o.GPUTimeNS, " ", o.SharePct, " ", o.Launches))
	}
	if text, want := strings.Join(got, ", "), "p2 0.75 90 75 10, p1 0.6 30 25 5"; text != want {
		t.Errorf("%s, want %s", text, want)
	}
	for operator, want := range map[int32]int{0: 0, 1: 1} { // nothing but unknown operators is no table
		_, r := sites(activity.SiteTime{Operator: operator, Ns: 10})
		if got := (&stageWork{ns: 10, rows: []row{*r}}).operators(p); len(got) != want {
			t.Errorf("operator %d: %v", operator, got)
		}
	}
	s.replays[activity.FromMapping], s.replays[activity.FromAlignment] = 25, 75
	got = nil
	for _, l := range s.replaySources() {
		got = append(got, fmt.Sprint(l.From, " ", l.SharePct))
	}
	if text := strings.Join(got, ", "); text != "alignment 75, mapping 25" {
		t.Errorf("lines of replays: %s", text)
	}
	s.replays = [len(s.replays)]int64{activity.FromMapping: 1}
	if got := s.replaySources(); len(got) != 1 || got[0].SharePct != 100 {
		t.Errorf("one nanosecond of a mapping: %+v", got)
	}
}

func TestStepsOfStages(t *testing.T) {
	for _, c := range []struct {
		counts       []activity.StepCount
		steps, batch int
	}{
		{nil, 0, 0},
		{[]activity.StepCount{{Steps: 2, Batch: 8}}, 2, 8},
		{[]activity.StepCount{{Steps: 2, Batch: 8}, {Steps: 3, Batch: 8}}, 5, 8},
		{[]activity.StepCount{{Steps: 2, Batch: 8}, {Steps: 3, Batch: 4}}, 5, 0},
		{[]activity.StepCount{{Batch: 3}, {Steps: 1, Batch: 1}}, 1, 1},
	} {
		s := &stageWork{}
		for _, n := range c.counts {
			s.parts = append(s.parts, &activity.Trace{Steps: []activity.StepCount{n}})
		}
		if steps, batch := s.steps(); steps != c.steps || batch != c.batch {
			t.Errorf("%v: %d steps of %d, want %d of %d", c.counts, steps, batch, c.steps, c.batch)
		}
	}
}

func TestBoundsAreDivided(t *testing.T) {
	for _, c := range []struct {
		compute int64
		parts   map[int32]int64
		want    string
	}{
		{10, map[int32]int64{1: 20}, "1:10"},
		{10, map[int32]int64{1: 5, 2: 15}, "1:2 2:8"},
		{0, map[int32]int64{1: 5, 2: 15}, "1:0 2:0"},
		{9, map[int32]int64{1: 3, 2: 3, 3: 3}, "1:3 2:3 3:3"},
		{10, map[int32]int64{1: 3, 2: 3, 3: 3}, "1:3 2:3 3:3"},
		{8, map[int32]int64{1: 3, 2: 3, 3: 3}, "1:2 2:2 3:4"},
		{8, map[int32]int64{1: 0}, "1:0"}, {8, map[int32]int64{1: 1}, "1:1"},
	} {
		sums := exposureSums{byKernel: map[int32]*exchange{},
			alone: map[layerKey]*layerAlone{{}: {compute: c.compute, exchanged: c.parts}}}
		for id := range c.parts {
			sums.byKernel[id] = &exchange{}
		}
		sums.bound()
		var got []string
		for id, x := range sums.byKernel {
			got = append(got, fmt.Sprint(id, ":", x.bound))
		}
		slices.Sort(got)
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%d of compute beside %v: %s, want %s", c.compute, c.parts, s, c.want)
		}
	}
}

// TestLongestStretch: the earlier of equals.
func TestLongestStretch(t *testing.T) {
	var c categorySums
	for _, r := range [][2]trace.Time{{0, 5}, {10, 20}, {30, 35}, {40, 50}, {50, 58}, {60, 60}} {
		c.open = Place{StartNS: r[0], EndNS: r[1], Kernel: "k"}
		c.close()
	}
	want := Place{StartNS: 10, EndNS: 20, Kernel: "k"}
	if c.longest == nil || *c.longest != want {
		t.Errorf("%v, want %v", c.longest, want)
	}
	if c.open != (Place{}) {
		t.Errorf("%v is still open", c.open)
	}
}

// TestFiguresOfAStage: a step, a token, the operator with most time that is known, and what is exposed of communication
// in each complete step.
func TestFiguresOfAStage(t *testing.T) {
	exposure := func(steps float64) *Exposure {
		return &Exposure{CompleteSteps: steps, Rows: []ExposureRow{{Category: "gemm", ExposedNS: 9000},
			{Category: "communication", ExposedNS: 3000, ExposedPct: 12}}}
	}
	operators := []OperatorRow{{Operator: activity.NoOperator, SharePct: 60}, {Operator: "o_proj", SharePct: 20},
		{Operator: "qkv_proj", SharePct: 10}}
	for _, c := range []struct {
		stage StageReport
		want  string
	}{
		{StageReport{StepNS: 8000, TokenNS: 2000, Operators: operators, Exposure: exposure(2)},
			"8.00 µs, 2.00 µs/token, top operator o_proj 20.0%, exposed communication 1.50 µs (12.0%)"},
		{StageReport{StepNS: 1, TokenNS: 1}, "1 ns, 1 ns/token"},
		{StageReport{Exposure: exposure(0)}, "?, exposed communication 3.00 µs (12.0%)"},
		{StageReport{StepNS: 8000, Operators: operators[:1]}, "8.00 µs"},
		{StageReport{Operators: operators[1:]}, "?, top operator o_proj 20.0%"},
		{StageReport{}, ""},
		{StageReport{PassStage: layer.StageCapture, StepNS: 8000}, ""},
	} {
		if got := c.stage.figures(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestPathsOfPlatforms(t *testing.T) {
	for _, c := range []struct {
		at    fusion.Setting
		p     fusion.Pattern
		suits bool
	}{
		{fusion.Setting{}, fusion.Pattern{}, true},
		{fusion.Setting{}, fusion.Pattern{Requires: fusion.Requirements{Platforms: []string{"cuda"}}}, true},
		{fusion.Setting{}, fusion.Pattern{Requires: fusion.Requirements{Archs: []string{"sm90"}}}, true},
		{fusion.Setting{Platform: "cuda"}, fusion.Pattern{Requires: fusion.Requirements{Platforms: []string{"cuda"}}}, true},
		{fusion.Setting{Platform: "rocm"}, fusion.Pattern{Requires: fusion.Requirements{Platforms: []string{"cuda"}}}, false},
		{fusion.Setting{Platform: "rocm"}, fusion.Pattern{}, true},
		{fusion.Setting{Arch: "sm90"}, fusion.Pattern{Requires: fusion.Requirements{Archs: []string{"sm90"}}}, true},
		{fusion.Setting{Arch: "sm90a"}, fusion.Pattern{Requires: fusion.Requirements{Archs: []string{"sm90"}}}, false},
		{fusion.Setting{Arch: "sm90a"}, fusion.Pattern{Requires: fusion.Requirements{Archs: []string{"sm80", "sm9*"}}}, true},
		{fusion.Setting{Arch: "sm80"}, fusion.Pattern{Requires: fusion.Requirements{Archs: []string{"sm9*"}}}, false},
	} {
		if got := suits(c.at, &c.p); got != c.suits {
			t.Errorf("%+v suits %v: %v, want %v", c.p, c.at, got, c.suits)
		}
	}
	for p, want := range map[[2]string]string{
		{"--x", "on"}: "On by default, but not in use here: update the server, or check --x.",
		{"--x", ""}:   "Enable with --x.",
		{"", "on"}:    "On by default, but not in use here: update the server, or check its conditions.",
		{"", ""}:      "No switch is known.",
		{"", "off"}:   "No switch is known.",
	} {
		if got := howTo(&fusion.Pattern{Switch: p[0], Default: fusion.Default(p[1])}); got != want {
			t.Errorf("%q: %s, want %s", p, got, want)
		}
	}
}

// TestLargestStep: a megabyte holds 64 rows of 8192 elements of two bytes.
func TestLargestStep(t *testing.T) {
	for _, c := range []struct {
		name          string
		hidden        []int
		ranks         int
		sizes         map[string]float64
		limit, tokens int64
	}{
		{"a megabyte", []int{8192}, 2, map[string]float64{"2": 1}, 0, 64},
		{"half of one", []int{8192}, 2, map[string]float64{"2": 0.5}, 0, 32},
		{"less than a row", []int{8192}, 2, map[string]float64{"2": 0.01}, 0, 1},
		{"a limit of its own below", []int{8192}, 2, map[string]float64{"2": 1}, 63, 63},
		{"a limit of one", []int{8192}, 2, map[string]float64{"2": 1}, 1, 1},
		{"a limit of its own above", []int{8192}, 2, map[string]float64{"2": 1}, 65, 64},
		{"another number of ranks", []int{8192}, 4, map[string]float64{"2": 1}, 0, chain.NoTokens},
		{"ranks not known", []int{8192}, 0, map[string]float64{"2": 1}, 7, 7},
		{"no sizes", []int{8192}, 2, nil, 7, 7},
		{"size of the model not known", nil, 2, map[string]float64{"2": 1}, 7, 7},
		{"two models", []int{8192, 4096}, 2, map[string]float64{"2": 1}, 0, 0},
		{"no config", []int{0}, 2, map[string]float64{"2": 1}, 0, 0},
		{"two traces of one", []int{8192, 8192}, 2, map[string]float64{"2": 1}, 0, 64},
	} {
		a := &analysis{pool: activity.NewPool(), report: &Report{TPSize: c.ranks}}
		for _, n := range c.hidden {
			in := &layer.Analysis{}
			if n > 0 {
				in.Config = &profile.Config{HiddenSize: n}
			}
			a.in.Formal = append(a.in.Formal, in)
		}
		p := &fusion.Requirements{MaxMB: map[string]map[string]float64{"sm90": c.sizes}, MaxTokens: c.limit}
		if c.sizes == nil {
			p.MaxMB = nil
		}
		if got := p.Tokens(a.setting(fusion.Setting{Arch: "sm90"}, 0)); got != c.tokens {
			t.Errorf("%s: %d tokens, want %d", c.name, got, c.tokens)
		}
	}
}

func TestStatesOfPaths(t *testing.T) {
	for _, c := range []struct {
		server string
		p      fusion.Pattern
		tokens int64
		state  FuseState
		says   string
		sure   bool
	}{
		{"vLLM", fusion.Pattern{Origin: fusion.Inflight}, 0, StateOpen, "", false},
		{"vLLM", fusion.Pattern{Requires: fusion.Requirements{Platforms: []string{"rocm"}}}, 0, StateElsewhere,
			"Not available here: only on ROCm", false},
		{"vLLM", fusion.Pattern{Requires: fusion.Requirements{Models: []string{"x"}}}, 0, StateUnknown, "Pass --model",
			false},
		{"", fusion.Pattern{}, 0, StateUnknown, "No server was recognised", false},
		{"", fusion.Pattern{Frameworks: []string{"vllm", "sglang"}}, 0, StateUnknown, "vLLM and SGLang have it", false},
		{"vLLM", fusion.Pattern{Requires: fusion.Requirements{MaxTokens: 8}}, 9, StateTooLarge,
			"8 tokens a step at most, here 9", false},
		{"vLLM", fusion.Pattern{Requires: fusion.Requirements{MaxTokens: 8}, Default: "on"}, 8, StateAvailable,
			"On by default", true},
		{"vLLM", fusion.Pattern{Requires: fusion.Requirements{MaxTokens: 8}, Default: "on"}, 0, StateAvailable,
			"The trace does not show whether this holds: 8 tokens a step at most", false},
		{"vLLM", fusion.Pattern{Requires: fusion.Requirements{NotTP: []int{2}}}, 0, StateTooLarge, "not with 2 ranks",
			false},
		{"vLLM", fusion.Pattern{Doubtful: true}, 0, StateAvailable, "It was slower", false},
		{"vLLM", fusion.Pattern{}, 0, StateUnknown, "No switch is known.", false},
		{"vLLM", fusion.Pattern{Switch: "--x", Since: "v2", Limits: "fp8"}, 0, StateAvailable,
			"Enable with --x. Requires fp8. Added in v2.", false},
		{"vLLM", fusion.Pattern{Default: "on"}, 0, StateAvailable, "On by default", true},
	} {
		a := &analysis{pool: activity.NewPool(), report: &Report{TPSize: 2, Framework: c.server}}
		state, action, sure := a.state(&c.p, a.setting(fusion.Setting{Platform: "cuda"}, c.tokens))
		if state != c.state || !strings.Contains(action, c.says) || sure != c.sure {
			t.Errorf("%+v: %q, %q, %v, want %q, %q, %v", c.p, state, action, sure, c.state, c.says, c.sure)
		}
	}
}

// TestKernelsOfARow: a row whose occurrences differ names the kernels of half of them and more, or all where there are
// none; those with most time, twelve at most, in their order.
func TestKernelsOfARow(t *testing.T) {
	row := func(state FuseState, launches ...int) (names []string) {
		f := &FuseRow{Kind: Split, State: state, Occurrences: 10}
		for i, n := range launches {
			f.Evidence = append(f.Evidence, Share{Kernel: fmt.Sprint("k", i), Launches: n, GPUTimeUS: float64(i % 7)})
		}
		for _, s := range f.shown() {
			names = append(names, s.Kernel)
		}
		return names
	}
	for _, c := range []struct {
		got, want []string
	}{
		{row(StateAvailable, 5, 4, 9), []string{"k0", "k2"}},
		{row(StateAvailable, 4, 5, 4), []string{"k1"}},
		{row(StateAvailable, 4, 3), []string{"k0", "k1"}},
		{row("", 5, 4), []string{"k0", "k1"}},
		{row(StateAvailable, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9), // k0 and k7 take no time
			[]string{"k1", "k2", "k3", "k4", "k5", "k6", "k8", "k9", "k10", "k11", "k12", "k13"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
