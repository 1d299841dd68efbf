package published

import (
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/trace/event"
)

// TestCategoriesHaveABucket: of a new kind of work it must be said how the overlap
// analysis counts it.
func TestCategoriesHaveABucket(t *testing.T) {
	for _, c := range classify.Categories() {
		work := c.Work()
		if _, ok := workBuckets[work]; !ok {
			t.Errorf("work %q of category %q is not in workBuckets", work, c)
		}
	}
	for name, want := range map[string]Bucket{
		"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)": BucketCommunicationStrong,
		"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(RankData*)":         BucketCommunicationWeak,
		"acme_unknown": BucketOther,
	} {
		f := classify.Default().Facts(name)
		if got := BucketOf(event.Kernel, f.Category, f.Library); got != want {
			t.Errorf("%s: bucket %s, want %s", name, got, want)
		}
	}
}
