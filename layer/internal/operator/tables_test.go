package operator

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
)

// fits says by hand which roles fit each operator: exactly; weakly; where a name says nothing. "?" is a kernel of
// which a name says nothing.
const (
	aProduct    = "product; head_product; "
	aNorm       = "norm; head_norm; ? elementwise"
	anExpert    = "experts; product head_product; "
	perHead     = "head_product; product; "
	aReduction  = "collective; gather; "
	activations = "activation; elementwise; ?"
)

var fits = map[string]string{
	opname.Prepare: "prepare; elementwise; ?", opname.Embed: "embed; collective; ",
	opname.HCPre: "mix_in; ; ? elementwise", opname.HCPost: "mix_out; ; ? elementwise",
	opname.ResidualAdd: "add; elementwise; ?", opname.InputNorm: aNorm, opname.PostNorm: aNorm, opname.FinalNorm: aNorm,
	opname.QANorm: aNorm, opname.KVANorm: aNorm,
	opname.GateNorm: aNorm, opname.QKNorm: "norm head_norm; ; ? elementwise", opname.Rope: "rope; ; ? elementwise",
	opname.KVWrite: "cache_write; ; ?",
	opname.QKVProj: aProduct, opname.QProj: aProduct, opname.KProj: aProduct, opname.VProj: aProduct,
	opname.QKVAProj: aProduct, opname.QAProj: aProduct, opname.KVAProj: aProduct,
	opname.QBProj: aProduct, opname.KVBProj: aProduct, opname.OProj: aProduct, opname.InProj: aProduct,
	opname.OutProj: aProduct, opname.GateUpProj: aProduct, opname.GateProj: aProduct,
	opname.UpProj: aProduct, opname.DownProj: aProduct, opname.Router: aProduct, opname.SharedGateUp: aProduct,
	opname.SharedDown: aProduct, opname.LMHead: aProduct,
	opname.KAbsorb: perHead, opname.VAbsorb: perHead, opname.ExpertsGateUp: anExpert, opname.ExpertsDown: anExpert,
	opname.Indexer:     "norm product rope indexer; cache_write elementwise; ?",
	opname.IndexerTopK: "indexer_topk; indexer; ? elementwise",
	opname.Attention:   "attention; softmax prepare; ", opname.Conv1D: "conv; ; ? elementwise",
	opname.LinearAttention: "scan; ; ",
	opname.AttnAllReduce:   aReduction, opname.MLPAllReduce: aReduction, opname.LogitsGather: "gather; collective; ",
	opname.Activation: activations, opname.SharedActivation: activations, opname.ExpertsActivation: activations,
	opname.Routing: "router; softmax finalize elementwise activation; ?", opname.Dispatch: "dispatch; gather; ? elementwise",
	opname.ExpertsCombine: "finalize; router elementwise gather; ?",
	opname.Sampling:       "sample; softmax router elementwise; ?", opname.Modulation: "; ; ? elementwise",
	opname.Other: "; ; ? elementwise",
}

// TestWhichRolesFit holds the table of grades to the one written by hand, operator by operator and role by role.
func TestWhichRolesFit(t *testing.T) {
	for _, op := range opname.All {
		var of [unknown + 1][]string
		for _, r := range classify.Roles() {
			word := r.String()
			if r == classify.RoleOther {
				word = "?"
			}
			g := gradesOf[op][r]
			of[g] = append(of[g], word)
		}
		got := strings.Join(of[exact], " ") + "; " + strings.Join(of[weak], " ") + "; " + strings.Join(of[unknown], " ")
		if got != fits[op] {
			t.Errorf("%s: %q, want %q", op, got, fits[op])
		}
	}
	if len(fits) != len(opname.All) || len(classify.Roles()) > roleRoom {
		t.Errorf("%d operators by hand, %d in all; %d roles, room for %d", len(fits), len(opname.All),
			len(classify.Roles()), roleRoom)
	}
}

// TestMissingSteps: what it costs that a step of each kind is missing.
func TestMissingSteps(t *testing.T) {
	w := &work{p: &Params{SkipProduct: 100, SkipSmall: 10, SkipOptional: 1}}
	for ops, want := range map[string]float64{
		"qkv_proj q_proj k_proj v_proj o_proj qkv_a_proj q_a_proj kv_a_proj q_b_proj kv_b_proj in_proj out_proj gate_up_proj gate_proj up_proj down_proj router " +
			"shared_gate_up shared_down experts_gate_up experts_down lm_head k_absorb v_absorb attention linear_attention": 100,
		"input_norm post_norm final_norm q_a_norm kv_a_norm gate_norm qk_norm activation shared_activation hc_post hc_pre conv1d":                                                 10,
		"rope kv_write residual_add routing dispatch experts_combine attn_all_reduce mlp_all_reduce indexer indexer_topk sampling prepare embed logits_gather experts_activation": 1,
	} {
		for _, op := range strings.Fields(ops) {
			if got := w.skipCost(Step{Op: op}); got != want {
				t.Errorf("%s costs %v, want %v", op, got, want)
			}
			if got := w.skipCost(Step{Op: op, Optional: true}); got != 1 {
				t.Errorf("%s, optional, costs %v, want 1", op, got)
			}
		}
	}
	for _, op := range []string{opname.Dispatch, opname.ExpertsCombine} {
		if got := w.skipCost(Step{Op: op, Product: true}); got != 100 {
			t.Errorf("%s as a product costs %v, want 100", op, got)
		}
	}
}

// TestRolesThatServe: which roles have no step of their own, and which are never invented.
func TestRolesThatServe(t *testing.T) {
	serve, weigh := "", ""
	for _, r := range classify.Roles() {
		if aux(r) {
			serve += r.String() + " "
		}
		if heavy(r) {
			weigh += r.String() + " "
		}
	}
	if want := "copy quantize scan_input product_reduce attention_reduce "; serve != want {
		t.Errorf("serve others: %s, want %s", serve, want)
	}
	if want := "attention scan product experts collective head_product "; weigh != want {
		t.Errorf("weigh: %s, want %s", weigh, want)
	}
}

// TestReadings: operations of a kernel as its operators are found by them; what serves others is left out where it
// does something else, too.
func TestReadings(t *testing.T) {
	for name, want := range map[string]string{
		"triton_per_fused_add_native_layer_norm_4":                                                                     "add norm",
		"void aiter::add_rmsnorm_quant_kernel<__hip_bfloat16, 256, 16, true>(P)":                                       "add norm",
		"void vllm::act_and_mul_quant_kernel<X>(P)":                                                                    "activation",
		"void moe::topk_softmax<8>(float*)":                                                                            "router",
		"moe_align_block_size_kernel":                                                                                  "router",
		"void deep_ep::internode_ll::combine<true>(void*)":                                                             "finalize",
		"Memcpy HtoD (Pinned -> Device)":                                                                               "copy transfer",
		"void at::native::vectorized_elementwise_kernel<4, MulFunctor>":                                                "elementwise multiply",
		"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>":                        "add add",
		"void (anonymous namespace)::softmax_warp_forward<float, float, float, 9, false, false>":                       "softmax softmax",
		"_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu":                                                          "experts activation first",
		"void ck::kernel_moe_gemm_stage2<X>(P)":                                                                        "experts second",
		"void flash_fwd_splitkv_mla_kernel<X>(P)":                                                                      "attention latent",
		"per_token_group_quant_8bit_kernel":                                                                            "quantize",
		"void tensorrt_llm::kernels::ar_fusion::moe::moereduce_allreduce_fusion_kernel_oneshot_lamport<__nv_bfloat16>": "finalize collective add norm",
	} {
		f := classify.Default().Facts(name)
		r := read(&f)
		var got []string
		for _, a := range r.acts {
			got = append(got, a.String())
		}
		for word, is := range map[string]bool{"first": r.first, "second": r.second, "latent": r.latent,
			"transfer": r.transfer, "softmax": r.softmax} {
			if is {
				got = append(got, word)
			}
		}
		if r.tag != classify.RoleOther && r.tag != classify.RoleCopy {
			got = append(got, r.tag.String())
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %q, want %q", name, s, want)
		}
	}
}

// denoiserRow is a pass of a diffusion transformer with width 8. A product is KxN, with shapes; p is one without.
func denoiserRow(t *testing.T, row string) *work {
	letters := map[string]classify.Role{"p": classify.RoleProduct, "n": classify.RoleNorm, "h": classify.RoleHeadNorm,
		"a": classify.RoleActivation, "t": classify.RoleAttention,
		"x": classify.RoleElementwise, "+": classify.RoleAdd, "r": classify.RoleRope, "w": classify.RoleCacheWrite,
		"e": classify.RoleEmbed, "s": classify.RoleNorm}
	p := &Pass{Layers: 1}
	var reads []reading
	for _, word := range strings.Fields(row) {
		k := Kernel{}
		role, ok := letters[word]
		if !ok {
			role = classify.RoleProduct
			if _, err := fmt.Sscanf(word, "%dx%d", &k.K, &k.N); err != nil {
				t.Fatal(word, err)
			}
		}
		p.Kernels, reads = append(p.Kernels, k), append(reads, reading{acts: []classify.Role{role}})
		if word == "s" { // a norm that sums
			reads[len(reads)-1].acts = []classify.Role{classify.RoleAdd, classify.RoleNorm}
		}
	}
	params := Defaults()
	return &work{p: &params, pass: p, reads: reads, found: make([]Found, len(reads)),
		placed: make([]bool, len(reads))}
}

// TestDenoisersByHand: small passes of a diffusion transformer with width 8, and what each kernel is.
func TestDenoisersByHand(t *testing.T) {
	const layer = "modulation modulation input_norm qkv_proj attention o_proj"
	for _, c := range []struct{ row, want string }{
		{"a 8x48 n 8x24 t 8x8 a 8x48 n 8x24 t 8x8", layer + " " + layer}, // a product before a modulation feeds nothing
		{"a 8x48 n 8x24 t 8x8 n 8x8 a 8x48 n 8x24 t 8x8", layer + " input_norm q_proj " + layer},
		{"a 8x48 n 8x8 8x8 8x8 8x8 8x8 8x8 t 8x8", "modulation modulation input_norm q_proj k_proj|v_proj k_proj|v_proj q_proj k_proj|v_proj k_proj|v_proj attention o_proj"},
		{"a 8x48 n 8x8 8x8 8x8 t 8x8 8x32 a 32x8 8x8 8x8 8x8 t", "modulation modulation input_norm q_proj k_proj|v_proj k_proj|v_proj attention o_proj up_proj activation down_proj q_proj k_proj|v_proj k_proj|v_proj attention"},
		{"8x8 8x8 8x8 t 8x8 a 8x48", "q_proj k_proj|v_proj k_proj|v_proj attention o_proj modulation modulation"},
		{"8x8 a 8x48 8x8 8x8 8x8 t", "q_proj modulation modulation q_proj k_proj|v_proj k_proj|v_proj attention"},
		{"8x8 a x x 8x8 8x8 8x8 t a 8x48", "up_proj activation modulation modulation q_proj k_proj|v_proj k_proj|v_proj attention modulation modulation"},
		{"n x + a 8x48 n 8x24 t 8x8", "input_norm modulation modulation " + layer},
		{"a 8x48 n 8x32 a 32x8 n 8x24 t", "modulation modulation post_norm up_proj activation down_proj input_norm qkv_proj attention"},
		{"a 8x48 n 8x8 8x8 n 8x32 a 32x8 t", "modulation modulation input_norm q_proj k_proj|v_proj input_norm up_proj activation down_proj attention"},
		{"a 8x48 n 8x24 t 8x8 s 8x64 a 32x8 +", layer + " residual_add+post_norm gate_up_proj activation down_proj residual_add"},
		{"a 8x48 n 8x24 t 8x8 + n 8x64 a x x 32x8 +", layer + " residual_add post_norm up_proj activation modulation modulation  residual_add"},
		{"+ a p a p n p p p t p", ""}, // of the time, and no modulation
		{"a 8x48 n x + 8x8 8x8 8x8 t 8x8 x + n x + 8x32 a 32x8 x +",
			"modulation modulation input_norm modulation modulation q_proj k_proj|v_proj k_proj|v_proj attention o_proj modulation residual_add post_norm modulation modulation up_proj activation down_proj modulation residual_add"},
		{"a 8x16 n 8x24 t 8x8 + n 8x64 a x 32x8 +", "modulation modulation input_norm qkv_proj attention o_proj residual_add post_norm gate_up_proj activation modulation down_proj residual_add"},
		{"a 8x48 n 8x24 n r t 8x8 + n 8x32 8x32 a x 32x8",
			"modulation modulation input_norm qkv_proj qk_norm rope attention o_proj residual_add post_norm gate_proj|up_proj gate_proj|up_proj activation modulation down_proj"},
		{"a 8x24 n 8x8 8x8 8x8 h t 40x8 +", "modulation modulation input_norm q_proj k_proj|v_proj k_proj|v_proj qk_norm attention o_proj+down_proj residual_add"},
		{"a 8x48 n 8x24 t 8x8 n", "modulation modulation input_norm qkv_proj attention o_proj final_norm"},
		{"+ a p n p p p t p + n p a p +", "residual_add modulation modulation input_norm q_proj k_proj|v_proj k_proj|v_proj attention o_proj residual_add post_norm up_proj activation down_proj residual_add"},
		// No modulation: none of these is one.
		{"n 8x24 t 8x8 n 8x32 a 32x8", ""},
		{"a 8x12 n 8x24 t 8x8", ""},  // not whole vectors
		{"a 8x152 n 8x24 t 8x8", ""}, // nineteen
		{"a 8x48 n 8x24 t 8x8 w", ""}, {"e a 8x48 n 8x24 t 8x8", ""},
		{"a 8x48 n 8x24 t 8x8 n 8x24 t 8x8 n 8x24 t 8x8", ""}, // one for three attentions
		{"a 8x48 n 8x24", ""}, // none at all
	} {
		w := denoiserRow(t, c.row)
		d := w.denoiserOf()
		if (d != nil) != (c.want != "") {
			t.Errorf("%s: a denoiser %v, want %v", c.row, d != nil, c.want != "")
		}
		if d == nil {
			continue
		}
		d.read()
		var got []string
		for i := range w.found {
			got = append(got, w.found[i].Operator)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.row, s, c.want)
		}
	}
}

// TestSureDenoisers: what shapes show is surer than what order shows, and least sure is a product without a shape among
// others.
func TestSureDenoisers(t *testing.T) {
	for row, want := range map[string]string{ // d: by dims, o: by order, w: weakly
		"a 8x48 n 8x24 t 8x8":                      "ddodod",
		"a 8x48 n 8x24 t 8x8 n 8x32 a 32x8":        "ddodododod",
		"a 8x48 n 8x24 t 8x8 n 8x32 a 12x8":        "ddodododoo",
		"a 8x48 n 8x24 t 8x8 n 8x32 8x32 a x 32x8": "ddodododdood",
		"a 8x48 n 8x24 t 8x8 n 6x32 a 32x8":        "ddododoood",
		"+ a p n p p p t p":                        "oooowwwoo",
		"+ a p n p p p t p p":                      "oooowwwoow",
	} {
		w := denoiserRow(t, row)
		w.denoiserOf().read()
		got := ""
		for _, f := range w.found {
			switch {
			case f.Evidence == ByDims:
				got += "d"
			case f.Confidence == w.p.ByWeak:
				got += "w"
			default:
				got += "o"
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", row, got, want)
		}
	}
}

// TestGatesOfFeedForwardParts: what shows a gate, what shows that there is none, and what neither. P is a product
// 8x32, Q one 8x64, D one 32x8, p one without shapes; s is an activation of PyTorch, g one that says it multiplies, a
// any other; x a pointwise kernel, 2 a square, m a product of elements, n a norm, c a copy.
func TestGatesOfFeedForwardParts(t *testing.T) {
	single := reading{acts: []classify.Role{classify.RoleActivation}, ungated: true}
	gated := reading{acts: []classify.Role{classify.RoleActivation}, gated: true}
	reads := map[rune]reading{'s': single, 'g': gated}
	for l, r := range map[rune]classify.Role{'p': classify.RoleProduct, 'P': classify.RoleProduct,
		'Q': classify.RoleProduct, 'D': classify.RoleProduct, 'a': classify.RoleActivation,
		'x': classify.RoleElementwise,
		'n': classify.RoleNorm, 'c': classify.RoleCopy, 'q': classify.RoleQuantize} {
		reads[l] = reading{acts: []classify.Role{r}}
	}
	reads['2'] = reading{acts: []classify.Role{classify.RoleElementwise}, tag: classify.RolePower}
	reads['m'] = reading{acts: []classify.Role{classify.RoleElementwise}, tag: classify.RoleMultiply}
	for row, want := range map[string]string{
		"nPaD": "plain", "nPsD": "plain", "npsp": "plain", "npsqp": "plain", "nPaDnPaD": "plain",
		"nQaD": "gate", "npgp": "gate", "npsxp": "gate", "nPPaD": "gate", "npspx": "plain", "npspmp": "gate", "npspmx": "plain",
		"nPaDmp": "gate", "nPaDm": "plain", "nPaDnQaD": "gate", "nPxsmD": "plain", "nQxsmD": "gate", "nPPsmD": "gate", "nPxxaxxD": "plain",
		"npmp": "unsure", "np2p": "unsure", "nPxnsD": "unsure",
		"npap": "unsure", "npaD": "unsure", "nPap": "unsure", "npapnpsp": "plain", "napa": "unsure", "npan": "unsure", "": "unsure",
	} {
		p := &Pass{Layers: 1}
		var list []reading
		for _, l := range row {
			k := map[rune]Kernel{'P': {K: 8, N: 32}, 'Q': {K: 8, N: 64}, 'D': {K: 32, N: 8}}[l]
			p.Kernels, list = append(p.Kernels, k), append(list, reads[l])
		}
		got := "gate"
		switch plain, sure := plainFeed(p, list); {
		case plain:
			got = "plain"
		case !sure:
			got = "unsure"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", row, got, want)
		}
	}
}
