package ladder

import (
	"testing"

	"github.com/llmstrata/strata/classify"
)

// TestRolesHaveAHome: a new role must say what it is to the boundaries of layers.
func TestRolesHaveAHome(t *testing.T) {
	for _, r := range classify.Roles() {
		if _, ok := Structural[r]; !ok {
			t.Errorf("role %q is not in structural", r)
		}
	}
}

// TestSoftmaxStandsForAttention: only where attention is written out.
func TestSoftmaxStandsForAttention(t *testing.T) {
	const softmax, flash = "void softmax_warp_forward<float, float, float, 10, false>(float*)",
		"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128>>(Flash_fwd_params)"
	names := func(list ...string) []classify.Facts {
		var out []classify.Facts
		for _, n := range list {
			out = append(out, FactsOf(n))
		}
		return out
	}
	if got := structuralRoles(names("nvjet_tst_64x8", softmax), nil)[1]; got != RoleMixer {
		t.Errorf("softmax without attention kernels has role %d, want the mixer's", got)
	}
	if got := structuralRoles(names(flash, softmax), nil)[1]; got != RoleOther {
		t.Errorf("softmax beside attention kernels has role %d, want none", got)
	}
	// a convolution mixes tokens beside attention; by itself it may be part of a state space that is written out
	const conv = "void at::native::conv_depthwise2d_forward_kernel<1>(float*)"
	for ran, want := range map[string]Role{"aabaab": RoleMixer, "abbabb": RoleOther, "abababababababababb": RoleOther} {
		var ids []int32
		for _, x := range ran {
			ids = append(ids, x-'a')
		}
		if got := structuralRoles(names(conv, flash), ids)[0]; got != want {
			t.Errorf("a convolution (a) beside attention kernels (b), %s: role %d, want %d", ran, got, want)
		}
	}
	if got := structuralRoles(names(conv, "nvjet_tst_64x8"), []int32{0, 1})[0]; got == RoleMixer {
		t.Errorf("a convolution by itself has the mixer's role")
	}
}
