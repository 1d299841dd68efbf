package published

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// found runs the rule and writes each match as "pattern active|split Confirmed|Candidate".
func found(rows []FuseRow, total float64, o FuseOptions) []string {
	out := []string{}
	for _, m := range Fuse(rows, total, o) {
		out = append(out, fmt.Sprintf("%s active=%v confirmed=%v %.1f%% %d %v", m.Pattern, m.Active, m.Confirmed,
			m.SharePct, m.Occurrences, m.Evidence))
	}
	return out
}

// TestWordsDecide: active by one word, anywhere in the name or after it; not by another server's word; not below the
// share.
func TestWordsDecide(t *testing.T) {
	rows := []FuseRow{
		{Kernel: "void Fused-Add_RMSNorm<x>()", TimeUS: 30, Launches: 7},
		{Kernel: "gemm", TimeUS: 70, Launches: 9},
	}
	sglang := FuseOptions{Framework: "SGLang", MinSharePct: 1}
	const active = "Fused residual add + RMSNorm active=true confirmed=true 30.0% 7 [0]"
	if diff := cmp.Diff([]string{active}, found(rows, 100, sglang)); diff != "" {
		t.Errorf("by the kernel's name (-want +got):\n%s", diff)
	}
	if got := found(rows, 1e4, sglang); len(got) != 0 {
		t.Errorf("at 0.3 %% of the stage: %q, want none", got)
	}
	if got := found(rows, 100, FuseOptions{Framework: "", MinSharePct: 1}); len(got) != 0 {
		t.Errorf("without a server: %q, want none", got)
	}
	rows[0].Kernel, rows[0].Texts = "k", []string{"layernorm.py:12 fused_add_rmsnorm"}
	if diff := cmp.Diff([]string{active}, found(rows, 100, sglang)); diff != "" {
		t.Errorf("by the source line (-want +got):\n%s", diff)
	}
}

// TestSplitNeedsEveryGroup: a kernel for each group, tensor parallelism where the pattern needs it, Confirmed from a
// typical share on; a kernel is in one match only.
func TestSplitNeedsEveryGroup(t *testing.T) {
	rows := []FuseRow{{Kernel: "cross_device_reduce_1stage", TimeUS: 30, Launches: 8},
		{Kernel: "RMSNormKernel", TimeUS: 20, Launches: 9}, {Kernel: "gemm", TimeUS: 50}}
	tp := FuseOptions{Framework: "SGLang", TPSize: 2, MinSharePct: 1}
	const name = "AITER allreduce fusion active=false confirmed="
	for _, c := range []struct {
		what  string
		rows  []FuseRow
		total float64
		o     FuseOptions
		want  []string
	}{
		{"both groups", rows, 100, tp, []string{name + "true 50.0% 9 [0 1]"}},
		{"a share below the typical one", rows, 2000, tp, []string{name + "false 2.5% 9 [0 1]"}},
		{"a share below the pattern's", rows, 1e5, tp, []string{}},
		{"one group", rows[:1], 100, tp, []string{}},
		{"one GPU", rows, 100, FuseOptions{Framework: "SGLang", TPSize: 1, MinSharePct: 1}, []string{}},
		{"a size that is not known", rows, 100, FuseOptions{Framework: "SGLang", MinSharePct: 1}, []string{}},
	} {
		if diff := cmp.Diff(c.want, found(c.rows, c.total, c.o)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
}
