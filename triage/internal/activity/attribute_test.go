package activity

import (
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/trace/event"
)

// TestDeal spreads launches over the sites of a kernel as their time does.
func TestDeal(t *testing.T) {
	sites := []SiteTime{{Site: 3, Ns: 60}, {Site: 2, Ns: 30}, {Site: 4, Ns: 10}}
	got := map[int32]int64{}
	for given := int64(0); given < 1000; given += 10 {
		got[deal(sites, given).Site] += 10
	}
	for _, s := range sites {
		if got[s.Site] != 10*s.Ns {
			t.Errorf("site %d got %d of 1000, want %d", s.Site, got[s.Site], 10*s.Ns)
		}
	}
	if s := deal([]SiteTime{{Site: 5}}, 7); s.Site != 5 {
		t.Errorf("a site without time: %+v", s)
	}
}

// TestNameLikeness: how kernels of two runs are told to be the same.
func TestNameLikeness(t *testing.T) {
	p := NewPool()
	fact := func(name string) *Kernel {
		id := p.kernel(name, event.Kernel, classify.Default().Facts(name).Category)
		f := p.Facts[id]
		return &f
	}
	long := "void at::native::vectorized_elementwise_kernel_with_a_very_long_name_that_goes_on_and_on_and_on<4, at::native::"
	for _, tt := range []struct {
		a, b string
		near bool
	}{
		{"fused_add_rmsnorm_kernel", "fused_add_rmsnorm_kernel_v2", true},
		{"fused_add_rmsnorm_kernel", "acme_fused_add_rmsnorm_kernel", true},
		{"merge", "merge_state", false},
		{long + "A>", long + "B>", true},
		{"flash_fwd_splitkv_combine_kernel", "flash_fwd_kernel", true},
		{"gemm_128x128", "rmsnorm_kernel_of_hidden_size", false},
	} {
		if got := nameLikeness(fact(tt.a), fact(tt.b)); got > 0 != tt.near {
			t.Errorf("nameLikeness(%q, %q) = %d, near %v", tt.a, tt.b, got, tt.near)
		}
		if got, back := nameLikeness(fact(tt.a), fact(tt.b)), nameLikeness(fact(tt.b), fact(tt.a)); got != back {
			t.Errorf("nameLikeness(%q, %q) = %d, the other way round %d", tt.a, tt.b, got, back)
		}
	}
}
