package chain

import (
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// made is a registry with these steps and patterns.
func made(t *testing.T, steps, patterns string) *fusion.Registry {
	t.Helper()
	reg, err := fusion.Read([]byte(`{"steps": [` + steps + `], "patterns": [` + patterns + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// written are the steps of a registry, one of each kind of evidence.
const written = `
	{"step": "first", "names": ["never_seen"]},
	{"step": "norm", "names": ["rms_norm"], "without": ["backward"]},
	{"step": "by_op", "ops": ["_scaled_mm"]},
	{"step": "by_category", "categories": ["rope"], "categories_any": ["rope"]},
	{"step": "by_word_of_category", "names": ["rope"], "categories_any": ["norm"]},
	{"step": "by_text", "texts": ["Enum)2"]},
	{"step": "by_template", "names": ["quant_kernel"], "template_only": ["quant_kernel"], "template": [{"name": "quant_kernel", "index": 1, "value": "true"}]}`

// TestStepsOfKernels: which steps a kernel does by its name and its op.
func TestStepsOfKernels(t *testing.T) {
	reg := made(t, written, "")
	for _, c := range []struct {
		name     string
		category classify.Category
		op       string
		want     string
	}{
		{name: "rms_norm", want: "norm"},
		{name: "rms_norm_backward", want: ""},
		{name: "gemm", op: "aten::_scaled_mm", want: "by_op"},
		{name: "nvjet", op: "aten::_scaled_mm", want: "by_op"},
		{name: "gemm", category: classify.CategoryRope, want: "by_category"},
		{name: "rope", category: classify.CategoryRope, want: "by_category"},
		{name: "rope", category: classify.CategoryNorm, want: "by_word_of_category"},
		{name: "norm<(Enum)2>", want: "by_text"},
		{name: "quant_kernel<float, true>", want: "by_template"},
		{name: "quant_kernel<true, false>", want: ""},
		{name: "quant_kernel<float>", want: ""},
	} {
		p := activity.NewPool()
		n := classify.Parse(c.name)
		p.Facts = append(p.Facts, activity.Kernel{Canonical: c.name, Parsed: &n, Words: n.Words(), Facts: &classify.Facts{},
			Shown: activity.Class{Category: c.category}})
		key := sortKey{op: p.Ops.ID(c.op)}
		r := NewRecogniser(reg, p)
		for range 2 { // the second time it remembers
			if got := r.stepsOf(key); got != reg.Set(strings.Fields(c.want)...) {
				t.Errorf("%s of %q by %q: steps %b, want %q", c.name, c.category, c.op, got, c.want)
			}
		}
	}
}

// TestFusedKernelsAreKnown: by their own name or by their op's.
func TestFusedKernelsAreKnown(t *testing.T) {
	const rest = `, "origin": "mainline", "frameworks": ["vllm"], "candidate_paths": ["p"], "rationale": "r"}`
	reg := made(t, written, `{"pattern": "one", "active": ["other"]`+rest+
		`, {"pattern": "two", "active": ["fused_norm"]`+rest)
	p := activity.NewPool()
	for _, name := range []string{"fused_norm", "norm"} {
		n := classify.Parse(name)
		p.Facts = append(p.Facts, activity.Kernel{Canonical: name, Parsed: &n, Words: n.Words(), Facts: &classify.Facts{}})
	}
	op := p.Ops.ID("vllm::fused_norm")
	r := NewRecogniser(reg, p)
	for _, c := range []struct {
		key     sortKey
		pattern int
		want    bool
	}{{sortKey{}, 1, true}, {sortKey{}, 0, false}, {sortKey{kernel: 1}, 1, false},
		{sortKey{kernel: 1, op: op}, 1, true}} {
		if got := r.IsActive(c.pattern, c.key); got != c.want {
			t.Errorf("%+v is the kernel of pattern %d: %v, want %v", c.key, c.pattern, got, c.want)
		}
	}
}

// TestSequencesOfAStage: by stream, the other stages' kernels left out.
func TestSequencesOfAStage(t *testing.T) {
	p := activity.NewPool()
	for _, c := range []classify.Category{classify.CategoryAttention, classify.CategoryGEMM,
		classify.CategoryElementwise} {
		n := classify.Parse(string(c))
		p.Facts = append(p.Facts, activity.Kernel{Parsed: &n, Words: n.Words(),
			Facts: &classify.Facts{}, Shown: activity.Class{Category: c}})
	}
	const attention, product, pointwise = 0, 1, 2
	act := func(queue, kernel int32, stage int8) activity.Activity {
		return activity.Activity{Queue: queue, Kernel: kernel, Stage: stage}
	}
	w := &activity.Trace{Queues: make([]activity.Queue, 3), Acts: []activity.Activity{
		act(0, attention, 1), act(0, attention, 1), act(2, product, 1), act(0, product, 1), act(0, attention, 1),
		act(1, attention, 0), act(2, attention, 1), act(0, pointwise, 1),
	}}
	w.Acts[3].Op = p.Ops.ID("op")
	s := SequencesOf(NewRecogniser(made(t, written, ""), p), []*activity.Trace{w}, 1)
	if len(s.Sorts) != 4 {
		t.Errorf("%d sorts: %+v, want attention, pointwise and the product with and without an op", len(s.Sorts),
			s.Sorts)
	}
	for i, want := range [][]int32{{0, 1, 3, 4, 7}, {2, 6}} {
		var got []int32
		for _, k := range s.List[i].Kernels {
			got = append(got, k.Act)
			if key := s.Sorts[k.Sort]; key.kernel != w.Acts[k.Act].Kernel || key.op != w.Acts[k.Act].Op {
				t.Errorf("activity %d is of sort %+v", k.Act, key)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("stream %d: %v, want %v", i, got, want)
		}
	}
	if len(s.List) != 2 {
		t.Errorf("%d streams, want those with work of the stage", len(s.List))
	}
}

// TestWhatHidesExchanges: of the catalogue what is merged, of the server, and of that kind of exchange.
func TestWhatHidesExchanges(t *testing.T) {
	family := fusion.Family{Pattern: "p", Framework: "vllm", Status: fusion.Mainline,
		Exchanges: []classify.Collective{classify.AllReduce}}
	reduce := &activity.Kernel{Facts: &classify.Facts{Collective: classify.AllReduce}}
	for _, c := range []struct {
		what   string
		server string
		change func(*fusion.Family)
		want   int
	}{
		{"known", "vllm", func(*fusion.Family) {}, 1}, {"another server", "sglang", func(*fusion.Family) {}, 0},
		{"no server", "", func(f *fusion.Family) { f.Framework = "" }, 0},
		{"not merged", "vllm", func(f *fusion.Family) { f.Status = fusion.Inflight }, 0},
		{"another exchange", "vllm", func(f *fusion.Family) { f.Exchanges = []classify.Collective{classify.AllGather} },
			0},
	} {
		f := family
		c.change(&f)
		if here, not := Hiding(&fusion.Registry{Families: []fusion.Family{f}}, c.server, reduce,
			&fusion.Setting{Platform: "rocm"}); len(here)+len(not) != c.want {
			t.Errorf("%s: %v and %v, want %d", c.what, here, not, c.want)
		}
	}
	// AsyncTP where it was recommended and of no use: ROCm, one token, 1049 tokens, a hidden size of 2880; and where
	// it is.
	family.Requires = fusion.Requirements{Platforms: []string{"cuda"}, Archs: []string{"sm90"}, MinTP: 2,
		MinHidden: 8192, MinMBPerRank: map[string]float64{"sm90": 8}}
	family.Switch = "--on"
	reg := &fusion.Registry{Families: []fusion.Family{family}}
	for _, c := range []struct {
		at   fusion.Setting
		want string // "": of no use here
	}{
		{fusion.Setting{Platform: "rocm", Arch: "cdna3", TP: 8, Tokens: 8192, Hidden: 8192}, ""},
		{fusion.Setting{Platform: "cuda", Arch: "sm90", TP: 4, Tokens: 1, Hidden: 8192}, ""},
		{fusion.Setting{Platform: "cuda", Arch: "sm90", TP: 4, Tokens: 1049, Hidden: 8192}, ""},
		{fusion.Setting{Platform: "cuda", Arch: "sm90", TP: 4, Tokens: 8192, Hidden: 2880}, ""},
		{fusion.Setting{Platform: "cuda", Arch: "sm90", TP: 4, Tokens: 2048, Hidden: 8192}, "p, --on"},
		{fusion.Setting{Platform: "cuda", Arch: "sm90", TP: 4, Tokens: 2048},
			"p, --on, if it holds: messages of 33.6 MB at least; hidden size of 8192 at least"},
	} {
		here, not := Hiding(reg, "vllm", reduce, &c.at)
		if strings.Join(here, "") != c.want || len(here)+len(not) != 1 {
			t.Errorf("%+v: %q and %q, want %q", c.at, here, not, c.want)
		}
	}
	if got := Once([]string{"a b", "b"}, strings.Fields); strings.Join(got, ";") != "a;b" {
		t.Errorf("%q", got)
	}
}
