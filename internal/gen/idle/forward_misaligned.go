package idle

import "fmt"

// Rates of products in operations a microsecond.
//
// On an H100: GEMM.csv of google/owlv2-large-patch14-ensemble in AMD-AGI/TraceLens, tests/traces/h100: 746 TFLOP/s for
// 5185×1024×4096, 662 for 5185×4096×1024, and 66.6 for the kernel of an odd size.
//
// On an RTX 4090: pytorch/pytorch#181718, squares of 2040, 2055, 2057, 2071 and 2073.
const (
	upRate   = 746e6
	downRate = 662e6
	oddRate  = 66.6e6
	evenRate = 155.9e6
)

// oddRates are those of the kernel that cuBLAS takes on an RTX 4090 for a size that nothing divides.
var oddRates = map[int]float64{2055: 115.6e6, 2057: 106.8e6, 2071: 110.9e6, 2073: 112.0e6}

// product is a product without bias at a rate.
func product(rate float64, kernel string, m, k, n int) operator {
	return operatorCall(2*float64(m)*float64(k)*float64(n)/rate, "aten::mm", kernel, []int{m, k}, []int{k, n})
}

// MisalignedRuns returns runs in which products of sizes that nothing divides take a slow kernel.
func MisalignedRuns() []OperatorRun {
	var out []OperatorRun
	for _, m := range []struct {
		name                                     string
		layers, hidden, inner, heads, vocab, row int
	}{
		{"MiniCPM-2B", 40, 2304, 5760, 36, 122753, 2048},
		{"GPT-2 XL", 48, 1600, 6400, 25, 50257, 1024},
		{"InternLM2-1.8B of InternVL2-2B", 24, 2048, 8192, 16, 92553, 4096},
	} {
		out = append(out, scored(m.name, m.layers, m.hidden, m.inner, m.heads, m.vocab, m.row))
	}
	for _, inner := range []int{2055, 2057, 2071, 2073} {
		out = append(out, pruned(inner))
	}
	return out
}

// core is attention in one kernel.
func core(heads, rows, width int, rate float64) operator {
	x := []int{1, rows, heads, width}
	return operatorCall(fused(heads, rows, width, rate), "aten::_flash_attention_forward",
		"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t, pytorch_flash::Flash_kernel_traits<64, 128, 128, 4, cutlass::bfloat16_t> >, false, false, false, false, true, true, false>(pytorch_flash::Flash_fwd_params)",
		x, x, x, nil, nil, nil, nil, nil, nil, nil)
}

// moved is an operator of the speed of TimeSformer's residual sum on an H100: 115.6 MB in 37.2 µs.
func moved(name, kernel string, bytes int, dims ...[]int) operator {
	return operatorCall(float64(bytes)/(115.6e6/37.2), name, kernel, dims...)
}

// scored is a model whose logits of all tokens are asked for, as evaluations do: the size of the vocabulary is odd.
func scored(name string, layers, hidden, inner, heads, vocab, rows int) OperatorRun {
	wide, inside := []int{1, rows, hidden}, []int{1, rows, inner}
	n := moved("aten::native_layer_norm", norm, 4*rows*hidden, wide, nil, []int{hidden}, []int{hidden}, nil)
	sum := moved("aten::add", plus, 6*rows*hidden, wide, wide, nil)
	project := product(downRate, gemm128, rows, hidden, hidden)
	head := product(oddRate, align1tn, rows, hidden, vocab)
	even := product(upRate, gemm128, rows, hidden, vocab)
	return OperatorRun{Name: fmt.Sprintf("%s, vocabulary of %d", name, vocab), gpu: h100,
		layers: layers, PerStep: saved(head.us-even.us, 1),
		layer: []operator{n, project, project, project, core(heads, rows, hidden/heads, flash), project, sum, n,
			product(upRate, gemm128, rows, hidden, inner),
			moved("aten::gelu", gelu, 4*rows*inner, inside, nil),
			product(downRate, gemm128, rows, inner, hidden), sum},
		tail: []operator{n, head},
	}
}

// pruned is a model on an RTX 4090 of whose feed-forward parts single units were taken away.
func pruned(inner int) OperatorRun {
	const rows, hidden, heads, layers = 2040, 2040, 15, 24
	const bandwidth, share = 1008e3 * 0.9, 0.8 // bytes a µs; attention is near its peak, the planted thing is what is slow
	const gemm = "ampere_bf16_s1688gemm_bf16_128x128_ldg8_f2f_stages_32x1_nn"
	wide := []int{1, rows, hidden}
	at := func(name, kernel string, bytes float64, dims ...[]int) operator {
		return operatorCall(bytes/bandwidth, name, kernel, dims...)
	}
	n := at("aten::native_layer_norm", norm, 4*rows*hidden, wide, nil, []int{hidden}, []int{hidden}, nil)
	sum := at("aten::add", plus, 6*rows*hidden, wide, wide, nil)
	project := product(evenRate, gemm, rows, hidden, hidden)
	up, down := product(oddRates[inner], align1nn, rows, hidden, inner),
		product(oddRates[inner], align1nn, rows, inner, hidden)
	return OperatorRun{Name: fmt.Sprintf("pruned to an inner size of %d", inner), gpu: rtx4090, layers: layers,
		PerStep: saved((up.us+down.us)*(1-oddRates[inner]/evenRate), layers),
		layer: []operator{n, project, project, project, core(heads, rows, hidden/heads, share*165.2e6), project, sum, n,
			up, at("aten::gelu", gelu, float64(4*rows*inner), []int{1, rows, inner}, nil), down, sum},
		tail: []operator{n},
	}
}
