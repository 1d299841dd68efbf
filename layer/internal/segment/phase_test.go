package segment

import "testing"

// TestDisplaced: where no norm is known, layers begin with the kernel that stands in the first one for what closes each repeat. Behind the
// embedding alone nothing stands for it.
func TestDisplaced(t *testing.T) {
	for front, want := range []bool{false, false, true, true} {
		if got := displaced(DefaultParams(), front); got != want {
			t.Errorf("behind %d kernels: layers begin one earlier: %v, want %v", front, got, want)
		}
	}
}
