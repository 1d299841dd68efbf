package framework_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/framework"
)

// own is a server that nobody knows.
func own() framework.Framework {
	re := regexp.MustCompile(`^tick (\d+) (\w+) of (\d+)$`)
	return framework.Framework{
		Name: "Own Server", Keys: []string{"ownserver"}, Aliases: []string{"os"},
		Roots: []string{"ownserver/"}, KernelRoots: []string{"own_kernels/"}, ModelRoots: []string{"own_models/"},
		Ops: []string{"own::"}, RankLabels: []string{"shard"},
		Step: func(name string) (framework.Step, bool) {
			m := re.FindStringSubmatch(name)
			if m == nil {
				return framework.Step{}, false
			}
			st := framework.NewStep("own")
			st.Index, st.Stage, st.Batch = framework.Count(m[1]), framework.StageNamed(m[2]), int(framework.Count(m[3]))
			return st, true
		},
	}
}

// TestOwnFramework passes a framework as a value: everything that takes a list
// knows it, and the list that is built in does not.
func TestOwnFramework(t *testing.T) {
	list := append(framework.All(), own())
	f, st, ok := framework.ReadStep(list, "tick 7 context of 3")
	if want := (framework.Step{Dialect: "own", Index: 7, Stage: framework.Prefill, Batch: 3, Tokens: -1,
		ContextRequests: -1, ContextTokens: -1, GenerationRequests: -1, GenerationTokens: -1,
		Context:    framework.Sums{SQ: -1, SK: -1, SQSQ: -1, SQSK: -1},
		Generation: framework.Sums{SQ: -1, SK: -1, SQSQ: -1, SQSK: -1}}); !ok || f.Name != "Own Server" || st != want {
		t.Errorf("ReadStep = %+v, %v, want %+v", st, ok, want)
	}
	for _, s := range []string{"own-server", "OS", "Own Server"} {
		if f, ok := framework.ByName(list, s); !ok || f.Name != "Own Server" {
			t.Errorf("ByName(%q) = %q, %v", s, f.Name, ok)
		}
	}
	if f, ok := framework.InPath(list, "runs/ownserver-3/x.json"); !ok || f.Key() != "ownserver" {
		t.Errorf("InPath = %q, %v", f.Name, ok)
	}
	if got := framework.ReadFileName(list, "runs/x-shard4.json"); got != (framework.FileName{Rank: 4, Label: "shard"}) {
		t.Errorf("ReadFileName = %+v", got)
	}
	code, kernels := framework.ServerRoots(list)
	if code[len(code)-1] != "ownserver/" || kernels[len(kernels)-1] != "own_kernels/" {
		t.Errorf("ServerRoots = %q, %q", code, kernels)
	}
	if roots := framework.ModelRoots(list); roots[len(roots)-1] != "own_models/" {
		t.Errorf("ModelRoots = %q", roots)
	}
	if s := own(); !s.OwnsOp("own::mm") || s.OwnsOp("aten::mm") || !s.OwnsFile("/x/ownserver/a.py") ||
		s.OwnsFile("myownserver/a.py") {
		t.Error("OwnsOp or OwnsFile is wrong about its own names")
	}
	if _, _, ok := framework.ReadStep(framework.All(), "tick 7 context of 3"); ok {
		t.Error("the list that is built in knows the made-up server")
	}
}

// TestSpellings: what people and old command lines write.
func TestSpellings(t *testing.T) {
	for s, want := range map[string]string{
		"sglang": "SGLang", "SGL": "SGLang", "vLLM": "vLLM", "v-llm": "vLLM",
		"trtllm": "TensorRT-LLM", "tllm": "TensorRT-LLM", "TensorRT-LLM": "TensorRT-LLM",
		"tensorrt_llm": "TensorRT-LLM", "trt llm": "TensorRT-LLM",
		"ts": "TokenSpeed", "token-speed": "TokenSpeed", "TokenSpeed": "TokenSpeed", "pytorch": "PyTorch",
		"diffusers": "Diffusers",
		"":          "", "-": "", "x": "",
	} {
		if f, ok := framework.ByName(framework.All(), s); f.Name != want || ok != (want != "") {
			t.Errorf("ByName(%q) = %q, %v, want %q", s, f.Name, ok, want)
		}
	}
}

// TestSpellingsAreOneFrameworksEach: a spelling means one framework, and one
// that is searched for in paths is no part of a usual word.
func TestSpellingsAreOneFrameworksEach(t *testing.T) {
	seen := map[string]string{}
	for _, f := range framework.All() {
		if f.Name == "" || f.Key() == "" {
			t.Errorf("%+v has no name or no key", f)
		}
		for _, k := range append(append([]string{}, f.Keys...), f.Aliases...) {
			if k != strings.ToLower(k) || seen[k] != "" {
				t.Errorf("%q is a spelling of %s and %s, or not lower case", k, f.Name, seen[k])
			}
			seen[k] = f.Name
		}
	}
	for _, path := range []string{"a/b.json", "results/test-torts.json", "artifacts/dev-llm/x.json", "trt/x.json",
		"pytorch/x.json"} {
		if f, ok := framework.InPath(framework.All(), path); ok {
			t.Errorf("InPath(%q) = %s, want no server", path, f.Name)
		}
	}
	for path, want := range map[string]string{"runs/vllm/a.json": "vLLM", "sglang-x/vllm-y.json": "vLLM",
		`a\TensorRT-LLM\b.json`: "TensorRT-LLM"} {
		if f, _ := framework.InPath(framework.All(), path); f.Name != want {
			t.Errorf("InPath(%q) = %q, want %q", path, f.Name, want)
		}
	}
}

func TestReadFileName(t *testing.T) {
	for path, want := range map[string]framework.FileName{
		"1700000000-TP-0.trace.json.gz":                      {Rank: 0, Label: "tp"},
		"x-TP-3-DECODE.trace.json.gz":                        {Rank: 3, Label: "tp", Stage: framework.Decode},
		"a/dp0_pp0_tp1_dcp0_ep0_rank5.1700.pt.trace.json.gz": {Rank: 5, Label: "rank"},
		"worker2.pt.trace.json":                              {Rank: 2, Label: "worker"},
		"host_rank-34.pt.trace.json":                         {Rank: 34, Label: "rank"},
		"prefill/1700-TP-1.trace.json.gz":                    {Rank: 1, Label: "tp", Stage: framework.Prefill},
		"Decode/run_extend.json":                             {Rank: -1, Stage: framework.Prefill},
		"Rank_12/x.pt.trace.json":                            {Rank: 12, Label: "rank"},
		"rank1/x-TP-2.trace.json":                            {Rank: 2, Label: "tp"},
		"rank1-of-2/x.json":                                  {Rank: -1},
		"tp8/x.json":                                         {Rank: -1},
		"http_42.json":                                       {Rank: -1},
		"decoder.json":                                       {Rank: -1},
		"extended/x.json":                                    {Rank: -1},
		"rank99999999999.json":                               {Rank: -1},
	} {
		if got := framework.ReadFileName(framework.All(), path); got != want {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
	}
}

// TestPlainName: a rank in the ending is put before it.
func TestPlainName(t *testing.T) {
	for name, want := range map[string]string{
		"trace.json-rank-0.gz":           "trace-rank-0.json.gz",
		"a.pt.trace.json-rank-12.gz":     "a-rank-12.pt.trace.json.gz",
		"trace.json-rank-3.zst":          "trace-rank-3.json.zst",
		"trace-rank-0.json":              "trace-rank-0.json",
		"trace-rank-0.json.gz":           "trace-rank-0.json.gz",
		"trace.json-rank-1234567.gz":     "trace.json-rank-1234567.gz",
		"trace.json-rank-0.gz.something": "trace.json-rank-0.gz.something",
	} {
		if got := framework.PlainName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestStageNamed: the words of all servers and reports mean one of the stages.
func TestStageNamed(t *testing.T) {
	for word, want := range map[string]string{
		"extend": framework.Prefill, "context": framework.Prefill, "PREFILL": framework.Prefill,
		"ctx":        framework.Prefill,
		"generation": framework.Decode, "gen": framework.Decode, "decode": framework.Decode, "mixed": framework.Mixed,
		"TARGET_VERIFY": framework.Verify, "DRAFT_EXTEND": framework.Draft, "idle": framework.Idle,
		"capture": framework.Capture,
		"":        framework.Unknown, "all": framework.Unknown, "general": framework.Unknown,
	} {
		if got := framework.StageNamed(word); got != want {
			t.Errorf("StageNamed(%q) = %q, want %q", word, got, want)
		}
	}
}

// TestComplete: the counts of the two phases make the stage.
func TestComplete(t *testing.T) {
	for _, c := range []struct {
		context, generation int
		stage               string
		batch               int
	}{
		{3, 0, framework.Prefill, 3}, {0, 2, framework.Decode, 2}, {1, 2, framework.Mixed, 3},
		{0, 0, framework.Idle, 0}, {-1, -1, framework.Unknown, -1},
	} {
		st := framework.NewStep("x")
		st.ContextRequests, st.GenerationRequests = c.context, c.generation
		st.Complete()
		if st.Stage != c.stage || st.Batch != c.batch {
			t.Errorf("%d context and %d generation requests: %s, batch %d, want %s, %d", c.context, c.generation,
				st.Stage, st.Batch, c.stage, c.batch)
		}
	}
}

func TestSumsOfVLLM(t *testing.T) {
	none := framework.Sums{SQ: -1, SK: -1, SQSQ: -1, SQSK: -1}
	for name, want := range map[string][2]framework.Sums{
		"execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk32785sqsq32sqsk32785)": {{},
			{SQ: 32, SK: 32785, SQSQ: 32, SQSK: 32785}},
		"execute_context_1(888_788544)_generation_0(0)": {{SQ: 888, SK: -1, SQSQ: -1,
			SQSK: 788544}, none},
		"execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk32785sqsq32sqsk327": {{}, none},
		"execute_context_2_generation_0":                                                {none, none},
	} {
		_, st, ok := framework.ReadStep(framework.All(), name)
		if !ok || st.Context != want[0] || st.Generation != want[1] {
			t.Errorf("%s: %v, %+v and %+v, want %+v", name, ok, st.Context, st.Generation, want)
		}
	}
}
