package profile_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/profile"
)

// sharedConfigs holds, for every config in shared/configs, what a reader of the
// file and of deepseek-v4.md expects.
var sharedConfigs = []struct {
	file      string
	profile   string
	layers    int
	nextN     int
	hidden    int
	attention string
	heads     [3]int // heads, KV heads, head dim
	moe       [5]int // experts, top-k, shared, width, layers
	kinds     string
	types     string
}{
	{"deepseek-v3.json", profile.DSV3, 61, 1, 7168, "MLA", [3]int{128, 128, 192}, [5]int{256, 8, 1, 2048, 58},
		"mla+dense 3, mla+moe 58", "FIRST 1, LAYER 59, FINAL 1"},
	{"deepseek-v3.2.json", profile.DSV3, 61, 1, 7168, "sparse MLA (DSA)", [3]int{128, 128, 192},
		[5]int{256, 8, 1, 2048, 58}, "mla+dense 3, mla+moe 58", "FIRST 1, LAYER 59, FINAL 1"},
	{"deepseek-v4-flash.json", profile.DSV4, 43, 1, 4096, "CSA + HCA + sliding window", [3]int{64, 1, 512},
		[5]int{256, 6, 1, 2048, 43}, "sliding+moe 2, csa+moe 21, hca+moe 20",
		"FIRST 1, HASH 2, C128_HEAVY 20, C4_LIGHT 19, FINAL 1"},
	{"deepseek-v4-flash-fp8-sgl.json", profile.DSV4, 43, 1, 4096, "CSA + HCA + sliding window", [3]int{64, 1, 512},
		[5]int{256, 6, 1, 2048, 43}, "sliding+moe 2, csa+moe 21, hca+moe 20",
		"FIRST 1, HASH 2, C128_HEAVY 20, C4_LIGHT 19, FINAL 1"},
	{"deepseek-v4-pro.json", profile.DSV4, 61, 1, 7168, "CSA + HCA", [3]int{128, 1, 512}, [5]int{384, 6, 1, 3072, 61},
		"hca+moe 31, csa+moe 30", "FIRST 1, HASH 2, C128_HEAVY 29, C4_LIGHT 28, FINAL 1"},
	{"deepseek-v4.1-flash.inference.json", profile.DSV4, 40, 3, 5120, "compressed + sliding window", [3]int{64, 0, 512},
		[5]int{384, 6, 1, 2304, 40}, "sliding+moe 2, compressed+moe 38",
		"FIRST 1, FULL_ATTN 1, CR2 18, CR1 19, FINAL 1"},
	{"glm-5.json", profile.DSV3, 78, 1, 6144, "sparse MLA (DSA)", [3]int{64, 64, 64}, [5]int{256, 8, 1, 2048, 75},
		"mla+dense 3, mla+moe 75", "FIRST 1, LAYER 76, FINAL 1"},
	{"gpt-oss-120b.json", profile.Generic, 36, 0, 2880, "GQA + sliding window", [3]int{64, 8, 64},
		[5]int{128, 4, 0, 2880, 36}, "sliding+moe 18, full+moe 18", "FIRST 1, LAYER 34, FINAL 1"},
	{"gpt-oss-20b.json", profile.Generic, 24, 0, 2880, "GQA + sliding window", [3]int{64, 8, 64},
		[5]int{32, 4, 0, 2880, 24}, "sliding+moe 12, full+moe 12", "FIRST 1, LAYER 22, FINAL 1"},
	{"kimi-k2-instruct.json", profile.DSV3, 61, 0, 7168, "MLA", [3]int{64, 64, 192}, [5]int{384, 8, 1, 2048, 60},
		"mla+dense 1, mla+moe 60", "FIRST 1, LAYER 59, FINAL 1"},
	{"llama-3.1-70b.json", profile.Generic, 80, 0, 8192, "GQA", [3]int{64, 8, 128}, [5]int{}, "full+dense 80",
		"FIRST 1, LAYER 78, FINAL 1"},
	{"llama-3.1-8b.json", profile.Generic, 32, 0, 4096, "GQA", [3]int{32, 8, 128}, [5]int{}, "full+dense 32",
		"FIRST 1, LAYER 30, FINAL 1"},
	{"llama-4-maverick.json", profile.Generic, 48, 0, 5120, "GQA + chunked", [3]int{40, 8, 128},
		[5]int{128, 1, 0, 8192, 24}, "chunked+dense 24, chunked+moe 12, full+moe 12", "FIRST 1, LAYER 46, FINAL 1"},
	{"minimax-m2.5.json", profile.Generic, 62, 3, 3072, "GQA", [3]int{48, 8, 128}, [5]int{256, 8, 0, 1536, 62},
		"full+moe 62", "FIRST 1, LAYER 60, FINAL 1"},
	{"mixtral-8x7b.json", profile.Generic, 32, 0, 4096, "GQA", [3]int{32, 8, 128}, [5]int{8, 2, 0, 14336, 32},
		"full+moe 32", "FIRST 1, LAYER 30, FINAL 1"},
	{"nemotron-3-nano-30b-a3b.json", profile.Generic, 52, 0, 2688, "GQA + Mamba", [3]int{32, 2, 128},
		[5]int{128, 6, 1, 1856, 23}, "mamba 23, moe 23, full 6", "FIRST 1, LAYER 50, FINAL 1"},
	{"qwen3-235b-a22b.json", profile.Generic, 94, 0, 4096, "GQA", [3]int{64, 4, 128}, [5]int{128, 8, 0, 1536, 94},
		"full+moe 94", "FIRST 1, LAYER 92, FINAL 1"},
	{"qwen3-30b-a3b.json", profile.Generic, 48, 0, 2048, "GQA", [3]int{32, 4, 128}, [5]int{128, 8, 0, 768, 48},
		"full+moe 48", "FIRST 1, LAYER 46, FINAL 1"},
	{"qwen3-32b.json", profile.Generic, 64, 0, 5120, "GQA", [3]int{64, 8, 128}, [5]int{}, "full+dense 64",
		"FIRST 1, LAYER 62, FINAL 1"},
	{"qwen3-8b.json", profile.Generic, 36, 0, 4096, "GQA", [3]int{32, 8, 128}, [5]int{}, "full+dense 36",
		"FIRST 1, LAYER 34, FINAL 1"},
	{"qwen3.5-397b-a17b.json", profile.Generic, 60, 1, 4096, "GQA + linear attention", [3]int{32, 2, 256},
		[5]int{512, 10, 1, 1024, 60}, "linear+moe 45, full+moe 15", "FIRST 1, LAYER 58, FINAL 1"},
}

func TestSharedConfigs(t *testing.T) {
	var want []string
	for _, tt := range sharedConfigs {
		want = append(want, tt.file)
		t.Run(tt.file, func(t *testing.T) {
			c, err := profile.LoadConfig(testdata.Shared(t, "configs/"+tt.file))
			if err != nil {
				t.Fatal(err)
			}
			p, reason := profile.Infer(c)
			if p.Name != tt.profile || reason == "" {
				t.Errorf("Infer = %s (%s), want %s and a reason", p.Name, reason, tt.profile)
			}
			s := c.Summary()
			var moe [5]int
			if m := s.MoE; m != nil {
				moe = [5]int{m.Experts, m.TopK, m.Shared, m.IntermediateSize, m.Layers}
			}
			got := fmt.Sprint(s.NumLayers, s.NumNextN, s.HiddenSize, s.Attention, s.NumHeads, s.NumKVHeads, s.HeadDim,
				moe, joined(s.Kinds), joined(s.Types))
			want := fmt.Sprint(tt.layers, tt.nextN, tt.hidden, tt.attention, tt.heads[0], tt.heads[1], tt.heads[2],
				tt.moe, tt.kinds, tt.types)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
			if len(c.Layers) != tt.layers {
				t.Errorf("%d layer infos for %d layers", len(c.Layers), tt.layers)
			}
		})
	}
	var got []string
	for _, path := range testdata.SharedGlob(t, "configs/*.json") {
		got = append(got, filepath.Base(path))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configs covered by the table (-table +shared):\n%s", diff)
	}
}

func joined(list []profile.TypeCount) string {
	var parts []string
	for _, t := range list {
		parts = append(parts, fmt.Sprintf("%s %d", t.Type, t.Count))
	}
	return strings.Join(parts, ", ")
}

// TestDeepSeekV4Facts checks the table of deepseek-v4.md against both configs.
func TestDeepSeekV4Facts(t *testing.T) {
	for _, tt := range []struct {
		file     string
		layers   int
		ratios   map[int]int // ratio → how many layers
		ratioOf  map[int]int // layer → ratio
		lastFour []profile.LayerType
	}{
		{"deepseek-v4-flash.json", 43, map[int]int{0: 2, 4: 21, 128: 20},
			map[int]int{0: 0, 1: 0, 2: 4, 3: 128, 41: 128, 42: 4},
			[]profile.LayerType{"C128_HEAVY", "C4_LIGHT", "C128_HEAVY", "FINAL"}},
		{"deepseek-v4-pro.json", 61, map[int]int{4: 30, 128: 31},
			map[int]int{0: 128, 1: 128, 2: 4, 3: 128, 59: 128, 60: 4},
			[]profile.LayerType{"C128_HEAVY", "C4_LIGHT", "C128_HEAVY", "FINAL"}},
	} {
		c, err := profile.LoadConfig(testdata.Shared(t, "configs/"+tt.file))
		if err != nil {
			t.Fatal(err)
		}
		if len(c.CompressRatios) != tt.layers || !slices.Equal(c.NextNRatios, []int{0}) {
			t.Errorf("%s: %d ratios and tail %v, want %d and [0]", tt.file, len(c.CompressRatios), c.NextNRatios,
				tt.layers)
		}
		got := map[int]int{}
		for i := range tt.layers {
			r := c.CompressRatios[i]
			got[r]++
			if want, ok := tt.ratioOf[i]; ok && r != want {
				t.Errorf("%s: ratio of layer %d is %d, want %d", tt.file, i, r, want)
			}
			// Only ratio-4 layers have an indexer; hash layers are the first three.
			if l := c.Layers[i]; l.Indexer != (r == 4) || l.Hash != (i < 3) || l.FFN != profile.FFNMoE {
				t.Errorf("%s: layer %d (ratio %d) = %+v", tt.file, i, r, l)
			}
		}
		if diff := cmp.Diff(tt.ratios, got); diff != "" {
			t.Errorf("%s ratios (-want +got):\n%s", tt.file, diff)
		}
		types := c.LayerTypes(c.NumLayers)
		if !slices.Equal(types[:3], []profile.LayerType{profile.FirstLayer, profile.HashLayer, profile.HashLayer}) ||
			!slices.Equal(types[tt.layers-4:], tt.lastFour) {
			t.Errorf("%s: types %v … %v", tt.file, types[:3], types[tt.layers-4:])
		}
		c.HashLast = true
		last := c.LayerTypes(c.NumLayers)
		if !slices.Equal(last[tt.layers-3:], []profile.LayerType{profile.HashLayer, profile.HashLayer, profile.HashLayer}) ||
			last[1] == profile.HashLayer {
			t.Errorf("%s: with the last layers as hash layers: %v … %v", tt.file, last[:3], last[tt.layers-3:])
		}
	}
}

// TestMaverickLayers checks Llama-4's two rules: odd layers are MoE, every
// fourth attends in full.
func TestMaverickLayers(t *testing.T) {
	c, err := profile.LoadConfig(testdata.Shared(t, "configs/llama-4-maverick.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range c.Layers[:4] {
		got = append(got, l.String())
	}
	want := []string{"chunked+dense", "chunked+moe", "chunked+dense", "full+moe"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("first four layers (-want +got):\n%s", diff)
	}
	if c.ModelType != "llama4" || c.TextModelType != "llama4_text" {
		t.Errorf("model types %q, %q", c.ModelType, c.TextModelType)
	}
}

func TestSummaryLines(t *testing.T) {
	c, err := profile.LoadConfig(testdata.Shared(t, "configs/deepseek-v4-flash.json"))
	if err != nil {
		t.Fatal(err)
	}
	want := `Model:         DeepseekV4ForCausalLM (deepseek_v4)
Layers:        43 + 1 next-token-prediction
Hidden size:   4096
Heads:         64, KV heads 1, head dim 512
Attention:     CSA + HCA + sliding window, Q LoRA 1024, O LoRA 1024, QK RoPE dim 64, window 128
Indexer:       heads 64, head dim 128, top-k 512, 21 layers
MoE:           experts 256, top-k 6, shared 1, intermediate 2048, 43 of 43 layers
MHC:           streams 4, Sinkhorn iterations 20
Layer types:   FIRST 1, HASH 2, C128_HEAVY 20, C4_LIGHT 19, FINAL 1
Layer kinds:   sliding+moe 2, csa+moe 21, hca+moe 20
Hash layers:   0, 1, 2`
	if diff := cmp.Diff(want, strings.Join(c.Summary().Lines(), "\n")); diff != "" {
		t.Errorf("Lines (-want +got):\n%s", diff)
	}
}
