package layer_test

import (
	"testing"

	"github.com/llmstrata/strata/layer"
)

// TestStepDialects: what the annotations of each framework say, whole and cut off.
func TestStepDialects(t *testing.T) {
	for _, c := range []struct {
		name    string
		dialect string
		stage   layer.Stage
		batch   int
		tokens  int64
	}{
		{"execute_context_1(888_788544)_generation_0(0)", "vllm", layer.StagePrefill, 1, 888},
		{"execute_context_0(0)_generation_4(4)", "vllm", layer.StageDecode, 4, 4},
		{"execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk32785", "vllm", layer.StageDecode, 32, 32},
		{"execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_generation_37(sq37sk9", "vllm", layer.StageMixed,
			46, 8192},
		{"execute_new_2_cached_5", "vllm", layer.StageMixed, 7, -1},
		{"execute_16_context_3", "vllm", layer.StagePrefill, 3, 16},
		{"step[EXTEND bs=15 toks=15360]", "sglang", layer.StagePrefill, 15, 15360},
		{"step[DECODE bs=32]", "sglang", layer.StageDecode, 32, 32},
		{"step[DECODE bs=3", "sglang", layer.StageDecode, 3, 3},
		{"step[MIXED bs=4 toks=700]", "sglang", layer.StageMixed, 4, 700},
		{"step[TARGET_VERIFY bs=4]", "sglang", layer.StageVerify, 4, -1},
		{"step[DRAFT_EXTEND bs=4]", "sglang", layer.StageDraft, 4, -1},
		{"step[IDLE bs=0]", "sglang", layer.StageIdle, 0, -1},
		{"decode[bs=117/128]", "sglang", layer.StageDecode, 117, 117},
		{"[Executor] _forward_step 12: 3 ctx reqs, 5 gen reqs", "trtllm", layer.StageMixed, 8, -1},
		{"[Executor] _forward_step 12: 0 ctx reqs, 5 gen reqs", "trtllm", layer.StageDecode, 5, -1},
		{"[Executor] _forward_step 12: 0 ctx reqs, 0 gen reqs", "trtllm", layer.StageIdle, 0, -1},
		{"[Executor] _forward_step 12", "trtllm", layer.StageUnknown, -1, -1},
		{"capture_32_DECODE", "capture", layer.StageCapture, 32, -1},
		{"ProfilerStep#6", "profiler", layer.StageUnknown, -1, -1},
	} {
		st, ok := layer.ParseStep(c.name)
		if !ok || st.Dialect != c.dialect || st.Stage != c.stage || st.Batch != c.batch || st.Tokens != c.tokens ||
			st.Name != c.name {
			t.Errorf("%s: %v %+v, want %s %s batch %d tokens %d", c.name, ok, st, c.dialect, c.stage, c.batch, c.tokens)
		}
	}
	for _, name := range []string{"", "execute_", "execute_model", "aten::mm", "step", "forward_step", "ProfilerStep",
		"decode"} {
		if st, ok := layer.ParseStep(name); ok {
			t.Errorf("%q is taken for a step: %+v", name, st)
		}
	}
}

// TestStepCountsDoNotOverflow: names come from files.
func TestStepCountsDoNotOverflow(t *testing.T) {
	st, ok := layer.ParseStep("step[DECODE bs=99999999999999999999999]")
	if !ok || st.Batch != -1 {
		t.Errorf("%v %+v, want an unknown batch", ok, st)
	}
}

func TestParseBoundaries(t *testing.T) {
	for _, b := range []string{"auto", "modules", "repeats", "anchor-closes"} {
		if got, err := layer.ParseBoundaries(b); err != nil || got != b {
			t.Errorf("%s: %s, %v", b, got, err)
		}
	}
	if got, err := layer.ParseBoundaries(""); err != nil || got != "auto" {
		t.Errorf("nothing: %s, %v, want auto", got, err)
	}
	if _, err := layer.ParseBoundaries("anchors"); err == nil {
		t.Error("anchors is accepted")
	}
}
