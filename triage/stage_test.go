package triage

import "testing"

func TestParseStep(t *testing.T) {
	tests := []struct {
		name string
		want step
	}{
		{"step[DECODE bs=32]", step{StageDecode, 32}},
		{"step[EXTEND bs=15 toks=15360]", step{StageExtend, 15}},
		{"step[TARGET_VERIFY bs=4]", step{StageDecode, 4}},
		{"step[MIXED bs=9]", step{StageMixed, 9}},
		{"step[IDLE bs=0]", step{"", 0}},
		{"execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086)", step{StageDecode, 32}},
		{"execute_15360_context_15(sq15360)_generation_0(sq0)", step{StageExtend, 15}},
		{"execute_8192_context_9(sq8155)_generation_37(sq37)", step{StageMixed, 46}},
		{"[Executor] _forward_step 12: 2 ctx reqs, 0 gen reqs", step{StageExtend, 2}},
		{"[Executor] _forward_step 13: 0 ctx reqs, 8 gen reqs", step{StageDecode, 8}},
		{"## decoder fp8 None ##", step{}},
		{"ProfilerStep#3", step{}},
		{"execute_", step{}},
		{"step[", step{}},
	}
	for _, tt := range tests {
		got := parseStep(tt.name)
		if got.stage == "" && tt.want.stage == "" {
			continue
		}
		if got != tt.want {
			t.Errorf("parseStep(%q) = %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// FuzzNames feeds names to everything that takes names apart.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"step[DECODE bs=32]", "execute_1_context_2(x)_generation_3(y)", "a/b.py(12): f", "[Executor] _forward_step 1: 2 ctx reqs, 3 gen reqs", "TP-0_rank3.trace.json.gz"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if st := parseStep(s); st.batch < 0 {
			t.Errorf("parseStep(%q) = %+v", s, st)
		}
		if fr, ok := parseFrame(s); ok {
			if fr.rank() == rankNone || fr.location() == "" {
				t.Errorf("frame %q has no rank or location", s)
			}
		}
		for _, w := range tellingWords(s) {
			if commonWords[w] {
				t.Errorf("tellingWords(%q) has the common word %q", s, w)
			}
		}
	})
}
