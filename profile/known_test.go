package profile_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/profile"
)

// TestKnownModelsAreTheirConfigs: the plan of each built-in model is that of its published config.
func TestKnownModelsAreTheirConfigs(t *testing.T) {
	all, err := profile.Known()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, m := range all {
		file := filepath.Join("..", "..", "shared", "configs", m.Name+".json")
		if _, err := os.Stat(file); err != nil {
			t.Logf("SKIPPED, NOT CHECKED: %s: no published config to compare with", m.Name)
			continue
		}
		published, err := profile.LoadConfig(file)
		if err != nil {
			t.Fatal(err)
		}
		want, got := published.Plan(), m.Config.Plan()
		want.Model = got.Model
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-published +built in):\n%s", m.Name, d)
		}
		compared++
	}
	if compared == 0 {
		t.Skip("SKIPPED, NOT CHECKED: no published configs")
	}
}

func TestResolveConfig(t *testing.T) {
	c, err := profile.ResolveConfig("Llama-3.1-70B")
	if err != nil || c.NumLayers != 80 || c.HiddenSize != 8192 || !strings.Contains(c.Path, "huggingface.co") {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err = profile.ResolveConfig("llama-3.1-90b"); err == nil || !strings.Contains(err.Error(), "llama-3.1-70b") {
		t.Errorf("an unknown name: %v", err)
	}
	for _, name := range []string{"DeepSeek-R1-Distill-Llama-70B", "meta-llama/Llama-3.1-70B", "llama_3.1_70b"} {
		if c, err = profile.ResolveConfig(name); err != nil || c.NumLayers != 80 || c.VocabSize != 128256 {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	for _, name := range []string{"/srv/models/qwen3-8b", "./qwen3-8b", "../qwen3-8b", "models/Qwen/Qwen3-8B"} {
		if _, err = profile.ResolveConfig(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is the path of no file: %v", name, err)
		}
	}
	// A quantised model has other floors than the one whose name it has in its own.
	const quantised = `config: "x/Qwen3-8B-AWQ" is no file and no known model; qwen3-8b is known`
	if _, err = profile.ResolveConfig("x/Qwen3-8B-AWQ"); err == nil || err.Error() != quantised {
		t.Errorf("a variant: %v", err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("qwen3-8b", []byte(`{"num_hidden_layers": 7, "hidden_size": 64}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err = profile.ResolveConfig("qwen3-8b"); err != nil || c.NumLayers != 7 {
		t.Errorf("a file of a model's name: %+v, %v", c, err)
	}
}

// TestLike: all three sizes are needed, and an embedding may be divided and padded.
func TestLike(t *testing.T) {
	for _, c := range []struct {
		layers, vocabulary, hidden int
		want                       []string
	}{
		{80, 128256, 8192, []string{"llama-3.1-70b"}},
		{80, 128256 / 4, 8192, []string{"llama-3.1-70b"}},
		{80, 152064 / 8, 8192, []string{"qwen2.5-72b"}},
		{80, 128256 / 16, 8192, []string{"llama-3.1-70b"}},
		{80, 128256 / 32, 8192, nil}, // servers divide by a node or two
		{80, 128320, 8192, nil},      // 64 rows more than any padding gives
		{80, 0, 8192, nil},
		{79, 128256, 8192, nil},
		{80, 128256, 4096, nil},
		{32, 32000, 4096, []string{"llama-2-7b", "mixtral-8x7b"}},
	} {
		var got []string
		for _, m := range profile.Like(c.layers, c.vocabulary, c.hidden) {
			got = append(got, m.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%d layers, vocabulary %d, hidden size %d: %v, want %v", c.layers, c.vocabulary, c.hidden, got,
				c.want)
		}
	}
}

// TestNamedIn: the longest name of a model in a path counts, if the model has the layers that were found.
func TestNamedIn(t *testing.T) {
	for _, c := range []struct {
		path   string
		layers int
		want   string
	}{
		{"/runs/DeepSeek_V3.2/rank0.json", 61, "deepseek-v3.2"}, {"/runs/deepseek-v3/rank0.json", 61, "deepseek-v3"},
		{"gptoss20b.json.gz", 24, "gpt-oss-20b"}, {"gptoss20b.json.gz", 23, ""}, {"gptoss20b.json.gz", 0, ""},
		{"run.json.gz", 24, ""}, {"", 24, ""},
		{"deepseek-r1-distill-llama-8b-TP-0.json", 32, "deepseek-r1-distill-llama-8b"}, {"deepseek-r1.json", 61, "deepseek-r1"},
	} {
		if m, ok := profile.NamedIn(c.path, c.layers); m.Name != c.want || ok != (c.want != "") {
			t.Errorf("%s of %d layers: %q, %v; want %q", c.path, c.layers, m.Name, ok, c.want)
		}
	}
}

// TestParametersOfKnownModels: the products of each built-in plan, with its embedding, have as many weights as the
// model's page says (billions; norms, biases and drafts apart).
func TestParametersOfKnownModels(t *testing.T) {
	published := map[string]float64{
		"deepseek-v3": 671, "deepseek-v3.2": 671, "glm-5": 744, "gpt-oss-120b": 116.8, "gpt-oss-20b": 20.9,
		"kimi-k2-instruct": 1026, "llama-2-13b": 13.0, "llama-2-70b": 69.0, "llama-2-7b": 6.74, "llama-3.1-405b": 405.9,
		"llama-3.1-70b": 70.6, "llama-3.1-8b": 8.03, "llama-3.2-1b": 1.24, "llama-3.2-3b": 3.21, "llama-4-maverick": 400,
		"minimax-m2.5": 229, "mistral-7b-v0.3": 7.25, "mistral-large-2407": 122.6, "mistral-nemo-12b": 12.2,
		"mistral-small-24b": 23.6, "mixtral-8x22b": 140.6, "mixtral-8x7b": 46.7, "nemotron-3-nano-30b-a3b": 31.6,
		"phi-4": 14.7, "qwen1.5-0.5b": 0.464, "qwen2.5-0.5b": 0.494, "qwen2.5-1.5b": 1.54, "qwen2.5-14b": 14.8,
		"qwen2.5-32b": 32.8, "qwen2.5-3b": 3.09, "qwen2.5-72b": 72.7, "qwen2.5-7b": 7.62, "qwen3-0.6b": 0.596,
		"qwen3-1.7b": 1.72, "qwen3-14b": 14.8, "qwen3-235b-a22b": 235.1, "qwen3-30b-a3b": 30.5, "qwen3-32b": 32.8,
		"qwen3-4b": 4.02, "qwen3-8b": 8.19, "qwen3-next-80b-a3b": 79.7, "qwen3.5-397b-a17b": 397,
	}
	all, err := profile.Known()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		weights := func(ops []profile.PlanOp) (sum float64) {
			for _, op := range ops {
				if op.Stage != finding.StageDecode {
					sum += float64(op.K) * float64(op.N) * float64(max(1, op.Groups)) * float64(max(1, op.Experts))
				}
			}
			return sum
		}
		plan, sum := m.Config.Plan(), 0.0
		for _, k := range plan.Kinds {
			sum += float64(k.Layers) * weights(k.Operators)
		}
		if sum += weights(plan.Before); !m.Config.TiedEmbeddings {
			sum += weights(plan.After)
		}
		want, ok := published[m.Name]
		if got := sum / 1e9; !ok || math.Abs(got-want) > .02*want {
			t.Errorf("%s: %.4g billion weights, published %v", m.Name, got, want)
		}
	}
}

// TestWidthsOfActivations: a gated one reads two elements for each that it writes, another one reads as many.
func TestWidthsOfActivations(t *testing.T) {
	for model, want := range map[string][2]int{"qwen3-8b": {24576, 12288}, "nemotron-3-nano-30b-a3b": {3712, 3712}} {
		c, err := profile.ResolveConfig(model)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, k := range c.Plan().Kinds {
			for _, name := range []profile.Operator{opname.Activation, opname.SharedActivation} {
				if op, ok := k.Find(name); ok {
					if found = true; op.Width != want[0] || op.Out != want[1] {
						t.Errorf("%s: %s reads %d and writes %d, want %v", model, name, op.Width, op.Out, want)
					}
				}
			}
		}
		if !found {
			t.Errorf("%s has no activation", model)
		}
	}
}
