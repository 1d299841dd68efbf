package profile_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/profile"
)

// TestInferParallelism: the first file is the trace, the others lie beside it.
func TestInferParallelism(t *testing.T) {
	ranks := func(format string, n int) (files []string) {
		for i := range n {
			files = append(files, fmt.Sprintf(format, i))
		}
		return files
	}
	for _, tt := range []struct {
		name       string
		files      []string
		serverArgs string
		hints      profile.ParallelHints
		tp, ep     int
		source     string // in the source of TP
	}{
		{name: "nothing", files: []string{"trace.json.gz"}, source: "not in the trace"},
		{name: "flags win", files: ranks("1-TP-%d.trace.json.gz", 4), hints: profile.ParallelHints{TP: 2, EP: 1}, tp: 2,
			ep: 1, source: "flag"},
		{name: "SGLang files", files: ranks("1700000000-TP-%d.trace.json.gz", 4), tp: 4, source: "tp 0…3"},
		{name: "SGLang files beat the world size of two stages", files: ranks("1-TP-%d.trace.json.gz", 4),
			hints: profile.ParallelHints{Distributed: []byte(`{"world_size": 8}`)}, tp: 4, source: "tp 0…3"},
		{name: "SGLang files with expert ranks", files: ranks("x-TP-%[1]d-EP-%[1]d.trace.json.gz", 2), tp: 2, ep: 2,
			source: "tp 0…1"},
		{name: "one SGLang file and its world", files: []string{"1-TP-0.trace.json.gz"},
			hints: profile.ParallelHints{Distributed: []byte(`{"world_size": 8}`)},
			tp:    8, source: "tensor-parallel ranks only"},
		{name: "one SGLang file of two stages and its world", files: []string{"1-TP-0-PP-1.trace.json.gz"},
			hints:  profile.ParallelHints{Distributed: []byte(`{"world_size": 8}`)},
			source: "8 ranks in all"},
		{name: "one SGLang file with an expert rank and its world", files: []string{"1-TP-0-EP-1.trace.json.gz"},
			hints:  profile.ParallelHints{Distributed: []byte(`{"world_size": 8}`)},
			source: "8 ranks in all"},
		{name: "vLLM files", files: []string{
			"dp0_pp0_tp0_dcp0_ep0_rank0.host_12345.1769000000000000000.pt.trace.json.gz",
			"dp0_pp0_tp1_dcp0_ep1_rank1.host_12346.1769000000000000007.pt.trace.json.gz",
		}, tp: 2, ep: 2, source: "tp 0…1"},
		{name: "rank files may be of any kind", files: ranks("rank%d.json", 3), source: "3 ranks in all"},
		{name: "two ranks of a larger world", files: ranks("job-rank-%d.json.gz", 2),
			hints:  profile.ParallelHints{Distributed: []byte(`{"rank": 0, "world_size": 128}`)},
			source: "128 ranks in all"},
		{name: "one rank tells no size", files: []string{"x-TP-0.json.gz"}, source: "not in the trace"},
		{name: "a high rank tells no size", files: []string{"x-rank-34.json.gz"}, source: "not in the trace"},
		{name: "another run beside it", files: []string{"a-TP-0.json.gz", "b-TP-1.json.gz"},
			source: "not in the trace"},
		{name: "a gap in the ranks", files: []string{"a-TP-0.json.gz", "a-TP-2.json.gz"}, source: "not in the trace"},
		{name: "a label of a size", files: []string{"llama-tp4-bs32.json.gz"}, tp: 4, source: "tp4 taken as a size"},
		{name: "a glued rank of vLLM", files: []string{"dp0_tp4_rank4.json"}, source: "not in the trace"},
		{name: "server args beside the trace", files: []string{"x.json"}, serverArgs: `{"tp_size": 4, "ep_size": 2}`,
			tp: 4, ep: 2, source: "server_args.json"},
		{name: "server args beat the world size", files: []string{"x.json"}, serverArgs: `{"tp_size": 4}`,
			hints: profile.ParallelHints{WorldSize: 16}, tp: 4, source: "server_args.json"},
		{name: "given server args", files: []string{"x.json"},
			hints: profile.ParallelHints{ServerArgs: &profile.ServerArgs{TPSize: 3}}, tp: 3,
			source: "tp_size of server_args"},
		{name: "hints that cannot be read are none", files: []string{"x.json"}, serverArgs: `{"tp_size": "x"}`,
			hints: profile.ParallelHints{Distributed: []byte(`{"world_size": "8"}`)}, source: "not in the trace"},
		{name: "one GPU", files: []string{"x.json"},
			hints: profile.ParallelHints{Distributed: []byte(`{"world_size": 1}`)}, tp: 1, ep: 1, source: "world_size"},
		{name: "groups of a device mesh", files: []string{"x.json"}, hints: profile.ParallelHints{Distributed: []byte(
			`{"world_size": 16, "pg_config": [{"pg_desc": "default_pg", "pg_size": 16}, {"pg_desc": "mesh_tp", "pg_size": 4}, {"pg_desc": "mesh_dp", "pg_size": 2}]}`)},
			tp: 4, source: "process groups"},
		{name: "groups of Megatron", files: []string{"x.json"}, hints: profile.ParallelHints{Distributed: []byte(
			`{"world_size": 64, "pg_config": [{"pg_desc": "TENSOR_MODEL_PARALLEL_GROUP", "pg_size": 2}, {"pg_desc": "EXPERT_MODEL_PARALLEL_GROUP", "ranks": [0, 1, 2, 3, 4, 5, 6, 7]},
			{"pg_desc": "EXPERT_TENSOR_PARALLEL_GROUP", "pg_size": 16}, {"pg_desc": "TENSOR_AND_DATA_PARALLEL_GROUP", "pg_size": 32}]}`)},
			tp: 2, ep: 8, source: "process groups"},
		{name: "groups without names", files: []string{"x.json"}, hints: profile.ParallelHints{Distributed: []byte(
			`{"world_size": 4, "pg_config": [{"pg_desc": "default_pg", "pg_size": 4}, {"pg_desc": "undefined", "pg_size": 4}, {"pg_desc": "undefined", "pg_size": 1}]}`)},
			source: "4 ranks in all"},
		{name: "divided layers, groups of one size", files: []string{"x.json"},
			hints: profile.ParallelHints{Divided: true, Distributed: []byte(
				`{"world_size": 4, "pg_config": [{"pg_desc": "default_pg", "pg_size": 4}, {"pg_desc": "undefined", "pg_size": 4}, {"pg_desc": "undefined", "pg_size": 1}]}`)},
			tp: 4, source: "groups of one size"},
		{name: "divided layers, groups of two sizes", files: []string{"x.json"},
			hints: profile.ParallelHints{Divided: true, Distributed: []byte(
				`{"world_size": 8, "pg_config": [{"pg_desc": "default_pg", "pg_size": 8}, {"pg_desc": "undefined", "pg_size": 4}]}`)}, source: "8 ranks in all"},
		{name: "divided layers of two ranks", files: ranks("rank%d.json", 2),
			hints: profile.ParallelHints{Divided: true}, tp: 2, source: "groups of one size"},
		{name: "divided layers of four ranks", files: ranks("rank%d.json", 4),
			hints: profile.ParallelHints{Divided: true}, source: "4 ranks in all"},
		{name: "groups of one kind in two sizes", files: []string{"x.json"},
			hints: profile.ParallelHints{Distributed: []byte(
				`{"world_size": 8, "pg_config": [{"pg_desc": "tp", "pg_size": 4}, {"pg_desc": "tp", "pg_size": 2}]}`)},
			source: "8 ranks in all"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, f := range tt.files {
				write(t, filepath.Join(dir, f), "x")
			}
			if tt.serverArgs != "" {
				write(t, filepath.Join(dir, "server_args.json"), tt.serverArgs)
			}
			h := tt.hints
			h.TracePath = filepath.Join(dir, tt.files[0])
			got, err := profile.InferParallelism(h)
			if err != nil {
				t.Fatal(err)
			}
			if got.TP.N != tt.tp || got.EP.N != tt.ep || !strings.Contains(got.TP.Source, tt.source) {
				t.Errorf("InferParallelism = %v; want TP %d (%s), EP %d", got, tt.tp, tt.source, tt.ep)
			}
			if shown := got.TP.String(); strings.HasPrefix(shown, "unknown") != (tt.tp == 0) {
				t.Errorf("TP %d is shown as %q", tt.tp, shown)
			}
		})
	}
}

func TestParallelFlagsOutOfRange(t *testing.T) {
	for _, h := range []profile.ParallelHints{{TP: -1}, {EP: 1 << 30}} {
		if p, err := profile.InferParallelism(h); err == nil {
			t.Errorf("InferParallelism(%+v) = %v, want an error", h, p)
		}
	}
}

// TestParallelismOfSharedTraces: a directory of unrelated traces must not make a
// group out of them.
func TestParallelismOfSharedTraces(t *testing.T) {
	for _, tt := range []struct {
		file string
		info string
		tp   int
	}{
		{"synthetic-deepseek-v4-flash-TP-0.trace.json.gz", `{"backend": "nccl", "rank": 0, "world_size": 8}`, 8},
		{"sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz", `{"backend": "nccl", "rank": 0, "world_size": 1}`, 1},
		{"train-pair-rank-0.json.gz", `{"backend": "nccl", "rank": 0, "world_size": 128}`, 0},
		{"cpu-only-rank-34.pt.trace.json.gz", `{"backend": "gloo", "rank": 34, "world_size": 300}`, 0},
	} {
		got, err := profile.InferParallelism(profile.ParallelHints{
			TracePath: testdata.Shared(t, "traces/torch/"+tt.file), Distributed: []byte(tt.info),
		})
		if err != nil || got.TP.N != tt.tp {
			t.Errorf("%s: %v, %v; want TP %d", tt.file, got, err, tt.tp)
		}
	}
}
