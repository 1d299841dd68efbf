package operator

import (
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/opname"
)

// TestOutsideLayers: what the modules around a kernel outside the layers leave, by classes of transformers, vLLM,
// SGLang, TensorRT-LLM and diffusers.
func TestOutsideLayers(t *testing.T) {
	for _, c := range []struct {
		modules    string // outermost first
		may, not   string
		tells      string // what the frames name
		anyFurther bool
	}{
		{"BertLMHeadModel_0 BertOnlyMLMHead_0 BertLMPredictionHead_0 Linear_25", "lm_head final_norm",
			"gate_up_proj embed sampling", "lm_head", false},
		{"RobertaForMaskedLM_0 RobertaLMHead_0 Linear_1", "lm_head", "prepare", "lm_head", false},
		{"LogitsProcessor_0", "lm_head logits_gather", "sampling", "lm_head", false},
		{"DeepSeekMTP_0 SharedHead_0 RMSNorm_3", "final_norm", "embed", "final_norm", false},
		{"Sampler_0 TopKTopPSampler_0", "sampling", "lm_head", "sampling", false},
		{"BertModel_0 BertEmbeddings_0 LayerNorm_0", "embed", "final_norm", "embed", false},
		{"Qwen3Model_0 VocabParallelEmbedding_0", "embed", "prepare", "embed", false},
		{"LlamaModel_0 LlamaRotaryEmbedding_0", "", "embed rope prepare", "", false},
		{"Qwen2_5_VLModel_0 Qwen2_5_VisionPatchEmbed_0 Conv3d_0", "", "embed lm_head", "", false},
		{"BertModel_0 BertPooler_0 Linear_9", "", "lm_head embed", "", false},
		{"Qwen2ForCausalLM_0 DispatchPooler_0 EmbeddingPoolerHead_0", "", "embed lm_head", "", false},
		{"RobertaForSequenceClassification_0 RobertaClassificationHead_0 Linear_1", "", "lm_head", "", false},
		{"LlavaForConditionalGeneration_0 LlavaMultiModalProjector_0 Linear_1", "", "lm_head", "", false},
		{"Qwen2VLModel_0 Qwen2VisionPatchMerger_0 LayerNorm_0", "", "final_norm", "", false},
		{"FluxTransformer2DModel_0 CombinedTimestepTextProjEmbeddings_0 Linear_0", "", "embed lm_head", "", false},
		{"FluxTransformer2DModel_0 AdaLayerNormContinuous_0 Linear_0", "", "lm_head final_norm", "", false},
		{"Qwen3ForCausalLM_0 Qwen3Model_0 Qwen3RMSNorm_0", "final_norm residual_add", "lm_head input_norm",
			"final_norm", false},
		{"Qwen3ForCausalLM_0 Linear_7", "lm_head final_norm prepare", "sampling", "", false},
		{"Qwen3ForSequenceClassification_0 Linear_7", "final_norm prepare embed", "lm_head logits_gather sampling", "",
			false},
		{"BertForQuestionAnswering_0 Linear_7", "final_norm", "lm_head", "", false},
		{"Qwen2ForRewardModel_0 Linear_7", "final_norm", "lm_head", "", false},
		{"CLIPTextModel_0 CLIPTextTransformer_0", "lm_head", "sampling", "", false},
		{"BlipQFormer_0 Former_0 Linear_0", "lm_head", "sampling", "", false},
		{"", "lm_head sampling prepare", "", "", true},
	} {
		h := outsideLayers(strings.Fields(c.modules))
		for _, op := range strings.Fields(c.may) {
			if !h.allows(op, -1) {
				t.Errorf("%s: %s is excluded", c.modules, op)
			}
		}
		for _, op := range strings.Fields(c.not) {
			if h.allows(op, -1) {
				t.Errorf("%s: may be %s", c.modules, op)
			}
		}
		for _, op := range opname.All {
			if h.allows(op, 0) || h.names(op) != (c.tells != "" && slices.Contains(h.ops, op)) {
				t.Errorf("%s: %s in a layer %v, told %v", c.modules, op, h.allows(op, 0), h.names(op))
			}
		}
		if c.tells != "" && !h.names(c.tells) || (h.ops == nil) != c.anyFurther {
			t.Errorf("%s: %+v, want to tell %q", c.modules, h, c.tells)
		}
	}
}

// bert is a pass of an encoder with norms after its parts: an embedding with its norm, layers, a head for masked
// tokens that looks like a feed-forward part. without leaves out frames.
func bert(layers int, frames bool) Pass {
	p := Pass{Layers: layers}
	add := func(layer int32, module, names string) {
		for _, n := range strings.Fields(names) {
			k := Kernel{Name: n, Layer: layer, Framed: frames}
			if frames {
				k.Modules = strings.Fields(module)
			}
			p.Kernels = append(p.Kernels, k)
		}
	}
	add(-1, "BertLMHeadModel_0 BertEmbeddings_0", "indexselect layer_norm_kernel")
	for l := range int32(layers) {
		add(l, "BertLMHeadModel_0 BertLayer_1 BertAttention_0",
			"gemm gemm gemm flash_fwd gemm CUDAFunctor_add_elementwise_kernel layer_norm_kernel")
		add(l, "BertLMHeadModel_0 BertLayer_1 BertIntermediate_0",
			"gemm GeluCUDAKernelImpl gemm CUDAFunctor_add_elementwise_kernel layer_norm_kernel")
	}
	add(-1, "BertLMHeadModel_0 BertLMPredictionHead_0 BertPredictionHeadTransform_0",
		"gemm GeluCUDAKernelImpl layer_norm_kernel")
	add(-1, "BertLMHeadModel_0 BertLMPredictionHead_0", "gemm")
	return p
}

func told(found []Found) string {
	var out []string
	for _, f := range found {
		out = append(out, f.Operator)
	}
	return strings.Join(out, " ")
}

// TestHeadLikeALayer: a head that looks like a feed-forward part is no part of a layer, with frames and without; with
// frames its last product is known.
func TestHeadLikeALayer(t *testing.T) {
	p := bert(4, true)
	found := NewFinder(nil, Defaults()).Find(p)
	n := len(found)
	if got, want := told(found[:2])+" … "+told(found[n-9:]),
		"embed embed … gate_up_proj|up_proj activation down_proj residual_add post_norm other other final_norm lm_head"; got != want {
		t.Errorf("with frames: %s, want %s", got, want)
	}
	if f := found[n-1]; f.Evidence != Module || f.Layer != -1 {
		t.Errorf("the head's product: %+v", f)
	}
	p = bert(4, false)
	p.CutEnd = true // nothing shows where the pass ends
	found = NewFinder(nil, Defaults()).Find(p)
	if got, want := told(found[n-4:]), "other other other other"; got != want {
		t.Errorf("without: %s, want %s", got, want)
	}
	// The same kernels, which the labels of the last layer leave out, are a part of it.
	p.Kernels = p.Kernels[:n-4]
	for i := range p.Kernels[n-9:] {
		p.Kernels[n-9+i].Layer = -1
	}
	found = NewFinder(nil, Defaults()).Find(p)
	if got, want := told(found[n-9:n-6]), "gate_up_proj|up_proj activation down_proj"; got != want {
		t.Errorf("labels that are off: %s, want %s", got, want)
	}
}

// TestPrologueLikeALayer: products before the first layer are none of its, however many of them there are.
func TestPrologueLikeALayer(t *testing.T) {
	for _, front := range []string{"gemm silu gemm", "gemm silu gemm gemm silu gemm gemm silu gemm silu gemm gemm"} {
		p := Pass{Layers: 5}
		for _, n := range strings.Fields(front) {
			p.Kernels = append(p.Kernels, Kernel{Name: n, Layer: -1})
		}
		for l := range int32(5) {
			for _, n := range strings.Fields("fused_add_rms_norm gemm flash_fwd gemm fused_add_rms_norm gemm silu gemm") {
				p.Kernels = append(p.Kernels, Kernel{Name: n, Layer: l})
			}
		}
		found := NewFinder(nil, Defaults()).Find(p)
		n := len(strings.Fields(front))
		if got, want := told(found[n:n+8]), "residual_add+input_norm qkv_proj attention o_proj residual_add+post_norm gate_up_proj|up_proj activation down_proj"; got != want {
			t.Errorf("%s: the first layer is %s, want %s", front, got, want)
		}
		for _, f := range found[:n] {
			if f.Layer >= 0 {
				t.Errorf("%s: %s of layer %d", front, f.Operator, f.Layer)
			}
		}
	}
}

// TestNormsAfter: norms follow the parts where most layers that frames show have them there only.
func TestNormsAfter(t *testing.T) {
	for layers, want := range map[string]bool{
		"ptpnpapn": true, "nptpnpap": false, "nptpnpapn": false, "ptpnpap": false, "ptpnpapn nptpnpap": false,
		"ptpnpapn nptpnpap ptpnpapn": true, "pap": false, "n": false, "ppn": true, "npp": false, "": false,
	} {
		for _, framed := range []bool{true, false} {
			p, row := &Pass{}, ""
			for l, names := range strings.Fields(layers) {
				for range names {
					p.Kernels = append(p.Kernels, Kernel{Layer: int32(l), Framed: framed})
				}
				row += names
			}
			if got := normsAfter(p, readsOf(row)); got != (want && framed) {
				t.Errorf("%q, framed %v: %v", layers, framed, got)
			}
		}
	}
	p := &Pass{Kernels: []Kernel{{Layer: -1, Framed: true}, {Layer: -1, Framed: true}}}
	if normsAfter(p, readsOf("pn")) {
		t.Error("what stands outside the layers has no say")
	}
}

// TestFramesThatNameNone: where frames leave many operators, a name that says nothing has low confidence.
func TestFramesThatNameNone(t *testing.T) {
	p := Defaults()
	layout := &Layout{Given: true, Kinds: [][]Step{{must(opname.QKVProj), must(opname.Activation),
		must(opname.Attention)}}, LayerKinds: []int{0}}
	for module, want := range map[string]float32{"SiLU_0": p.ByModule, "A_MoE_0": p.ByWeak} {
		pass := Pass{Layers: 1, Kernels: []Kernel{{Name: "gemm"},
			{Name: "elementwise_kernel", Modules: []string{module}}, {Name: "flash_fwd"}}}
		if module != "SiLU_0" {
			layout.Kinds[0][1].Op = opname.ExpertsActivation
		}
		if f := NewFinder(layout, p).Find(pass)[1]; f.Operator != opname.Activation &&
			f.Operator != opname.ExpertsActivation || f.Confidence != want || f.Evidence != Module {
			t.Errorf("%s: %+v, want %v", module, f, want)
		}
		layout.Kinds[0][1].Op = opname.Activation
	}
}

// TestStrays: kernels outside the labels are kept out of a layer that has the operator within its labels, and more of
// it than any layer has there.
func TestStrays(t *testing.T) {
	// operators with their layers, in capitals those outside the labels, and the strays
	for _, c := range []struct{ row, want string }{
		{"a0 a1 A1", "..x"}, {"A0 a0 a1", "x.."}, {"a0 A0 a1", ".x."}, {"a0 a1", ".."},
		{"a0 A1", ".."},         // the labels are off
		{"a0 a0 a1 A1", "...."}, // as many as another layer has
		{"a0 a0 a1 A1 A1", "...xx"},
		{"a0 B0 B0 a1", "...."}, // none of it within the labels: a layer of another kind
		{"a0 a1 A9", "..."},     // around the layers
		{"a0 r+a1 r+A1", "..x"}, {"a0 r+a1 a2 r+A1", "...x"}, {"a+r0 a+r1 a+R1", "..x"},
		{"B0 A0 C0 a0 a1", "xx..."}, {"a0 a1 B1 A1 C1", "...xx"}, // with all that is outside of them
		{"a0 B0 A0 C0 a1", "..x.."},
		{"B0 a0 a1", "..."}, {"A0 a0 A1 a1 B1", "x.x.."}, {"a0 a1 A1 b1 B1", "..x.x"},
	} {
		words := strings.Fields(c.row)
		w := &work{pass: &Pass{}, found: make([]Found, len(words)), placed: slices.Repeat([]bool{true}, len(words))}
		for i, word := range words {
			op, layer := word[:len(word)-1], int32(word[len(word)-1]-'0')
			if layer == 9 {
				layer = -1
			}
			w.pass.Kernels = append(w.pass.Kernels, Kernel{Layer: layer})
			w.found[i] = Found{Operator: strings.ToLower(op), Layer: layer}
			if op != strings.ToLower(op) {
				w.pass.Kernels[i].Layer = -1
			}
		}
		any := w.strays()
		got := []byte(strings.Repeat(".", len(words)))
		for i := range w.hints {
			if w.hints[i].outside {
				got[i] = 'x'
			}
		}
		if string(got) != c.want || any != strings.Contains(c.want, "x") {
			t.Errorf("%s: %s, %v; want %s", c.row, got, any, c.want)
		}
	}
}
