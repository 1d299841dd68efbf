package classify_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// opLabels are the categories of the kernels that ops of PyTorch launch, by the op's name without its library and
// without a closing underscore. An op with several kernels (a reduction after a product, a copy of an operand) has
// several.
var opLabels = map[string]string{
	"mm": "gemm", "addmm": "gemm", "bmm": "gemm", "baddbmm": "gemm", "linear": "gemm", "matmul": "gemm",
	"cudnn_convolution": "gemm memory", "miopen_convolution": "gemm memory",
	"native_layer_norm": "norm", "native_group_norm": "norm", "native_batch_norm": "norm", "cudnn_batch_norm": "norm",
	"miopen_batch_norm": "norm", "rms_norm": "norm",
	"_softmax": "softmax", "_log_softmax": "softmax", "silu": "activation", "gelu": "activation", "relu": "activation",
	"tanh": "activation", "sigmoid": "activation",
	"threshold_backward": "activation", "gelu_backward": "activation", "native_layer_norm_backward": "norm",
	"_flash_attention_forward": "attention", "_efficient_attention_forward": "attention",
	"_scaled_dot_product_flash_attention": "attention", "embedding": "memory", "index_select": "memory",
	"copy": "memory", "cat": "memory", "index": "memory", "gather": "memory",
	"scatter": "memory", "fill": "elementwise memory", "zero": "memory", "add": "elementwise", "sub": "elementwise",
	"mul": "elementwise", "div": "elementwise", "pow": "elementwise",
	"neg": "elementwise", "rsqrt": "elementwise", "cos": "elementwise", "sin": "elementwise", "exp": "elementwise",
	"where": "elementwise", "clamp": "elementwise", "eq": "elementwise",
	"masked_fill": "elementwise", "mean": "reduce_topk", "sum": "reduce_topk", "cumsum": "reduce_topk",
	"topk": "reduce_topk", "sort": "reduce_topk", "argmax": "reduce_topk",
	"max": "reduce_topk", "any": "reduce_topk", "all": "reduce_topk",
}

// TestOpsLabelTheirKernels learns from the sample traces: the op that launches a kernel says what it is. The counts
// are logged; what an op says and the kernel's name denies is listed. At least 99% of the GPU time of such kernels
// must agree.
func TestOpsLabelTheirKernels(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testdata.Shared(t, "traces/torch"), "*.gz"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	type key struct{ op, category string }
	counts, denied := map[key]int{}, map[string]int{}
	names := map[string]bool{}
	var all, agree int64
	for _, path := range files {
		tr, err := trace.Open(t.Context(), path, trace.Options{Lanes: []event.Lane{event.LaneGPU, event.LaneLaunch,
			event.LaneOp}})
		if err != nil {
			continue // not every sample is a trace
		}
		for e := range tr.Events(event.LaneGPU) {
			op := e.Op()
			if e.Kind() != event.Kernel || !op.Valid() {
				continue
			}
			short := strings.TrimSuffix(strings.TrimPrefix(op.Name(), "aten::"), "_")
			want, ok := opLabels[short]
			if !ok || !strings.HasPrefix(op.Name(), "aten::") {
				continue
			}
			f := classify.Default().Facts(e.Name())
			counts[key{short, string(f.Category)}]++
			names[e.Name()] = true
			all += int64(e.Duration())
			if slices.Contains(strings.Fields(want), string(f.Category)) {
				agree += int64(e.Duration())
				continue
			}
			denied[fmt.Sprintf("%s: %s by %s: %.70s", short, f.Category, f.Rule, f.Short)]++
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(counts),
		func(a, b key) int { return strings.Compare(a.op+a.category, b.op+b.category) }) {
		t.Logf("%-24s %-14s %6d", k.op, k.category, counts[k])
	}
	for _, d := range slices.Sorted(maps.Keys(denied)) {
		t.Logf("denied %d times: %s", denied[d], d)
	}
	t.Logf("%d names, %.2f%% of GPU time as the op that launches them says", len(names),
		100*float64(agree)/float64(max(1, all)))
	if len(names) < 100 || float64(agree) < 0.99*float64(all) {
		t.Errorf("%d names, %.2f%% of GPU time agree, want 100 and more, 99%%", len(names),
			100*float64(agree)/float64(max(1, all)))
	}
}
