package profile_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	} {
		if m, ok := profile.NamedIn(c.path, c.layers); m.Name != c.want || ok != (c.want != "") {
			t.Errorf("%s of %d layers: %q, %v; want %q", c.path, c.layers, m.Name, ok, c.want)
		}
	}
}
