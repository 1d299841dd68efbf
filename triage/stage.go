package triage

import (
	"strconv"
	"strings"

	"github.com/llmstrata/strata/trace"
)

// step is what the name of a server's step annotation says.
type step struct {
	stage string // "" when the name is not that of a step
	batch int    // requests, 0 when not told
}

// parseStep reads the step annotations of the servers:
//
//	SGLang        step[DECODE bs=32], step[EXTEND bs=15 toks=15360]
//	vLLM          execute_32_context_0(…)_generation_32(…)
//	              execute_context_2(1024)_generation_5(5)
//	TensorRT-LLM  [Executor] _forward_step 12: 2 ctx reqs, 5 gen reqs
func parseStep(name string) step {
	switch {
	case strings.HasPrefix(name, "step["):
		body := strings.TrimSuffix(name[len("step["):], "]")
		mode, rest, _ := strings.Cut(body, " ")
		st := step{stage: stageOfMode(mode)}
		for f := range strings.FieldsSeq(rest) {
			if v, ok := strings.CutPrefix(f, "bs="); ok {
				st.batch, _ = strconv.Atoi(v)
			}
		}
		return st
	case strings.HasPrefix(name, "execute_"):
		ctx, ok1 := numberAfter(name, "context_")
		gen, ok2 := numberAfter(name, "generation_")
		if ok1 && ok2 {
			return stepOf(ctx, gen)
		}
	case strings.HasPrefix(name, "[Executor] _forward_step"):
		ctx, ok1 := numberBefore(name, " ctx req")
		gen, ok2 := numberBefore(name, " gen req")
		if ok1 || ok2 {
			return stepOf(ctx, gen)
		}
	}
	return step{}
}

func stepOf(ctx, gen int) step {
	switch {
	case ctx > 0 && gen > 0:
		return step{StageMixed, ctx + gen}
	case ctx > 0:
		return step{StageExtend, ctx}
	case gen > 0:
		return step{StageDecode, gen}
	}
	return step{}
}

func stageOfMode(mode string) string {
	switch strings.ToUpper(mode) {
	case "EXTEND", "PREFILL", "DRAFT_EXTEND", "SPLIT_PREFILL":
		return StageExtend
	case "DECODE", "TARGET_VERIFY", "DRAFT_DECODE":
		return StageDecode
	case "MIXED":
		return StageMixed
	}
	return ""
}

func numberAfter(s, key string) (int, bool) {
	i := strings.Index(s, key)
	if i < 0 {
		return 0, false
	}
	j := i + len(key)
	k := j
	for k < len(s) && s[k] >= '0' && s[k] <= '9' {
		k++
	}
	n, err := strconv.Atoi(s[j:k])
	return n, err == nil
}

func numberBefore(s, key string) (int, bool) {
	j := strings.Index(s, key)
	if j < 0 {
		return 0, false
	}
	i := j
	for i > 0 && s[i-1] >= '0' && s[i-1] <= '9' {
		i--
	}
	n, err := strconv.Atoi(s[i:j])
	return n, err == nil
}

// stages tells the stage of each activity of one trace from its annotations.
type stages struct {
	t      *trace.Trace
	byName map[trace.NameID]step
	launch []int8 // per launch: index of its stage + 1, 0 not asked yet, -1 none
}

var stageOrder = []string{StageExtend, StageDecode, StageMixed, StageAll}

func newStages(t *trace.Trace) *stages {
	return &stages{t: t, byName: map[trace.NameID]step{}, launch: make([]int8, t.LaneLen(trace.LaneLaunch))}
}

func (s *stages) stepOf(e trace.Event) step {
	id := e.NameID()
	st, ok := s.byName[id]
	if !ok {
		st = parseStep(s.t.Name(id))
		s.byName[id] = st
	}
	return st
}

// of returns the index in stageOrder of the step around an activity's launch,
// −1 where there is none.
func (s *stages) of(act trace.Event) int {
	l := act.Launch()
	if !l.Valid() {
		return -1
	}
	c := &s.launch[l.Index()]
	if *c == 0 {
		*c = -1
		for a := s.t.AnnotationAt(l.Thread(), l.Start()); a.Valid(); a = a.Parent() {
			if st := s.stepOf(a); st.stage != "" {
				*c = int8(stageIndex(st.stage)) + 1
				break
			}
		}
	}
	if *c < 0 {
		return -1
	}
	return int(*c) - 1
}

func stageIndex(name string) int {
	for i, s := range stageOrder {
		if s == name {
			return i
		}
	}
	return len(stageOrder) - 1
}

// stepCount is the annotated steps of one stage.
type stepCount struct {
	steps int
	batch int // −1 when steps disagree
}

// count returns the annotated steps of each stage. Servers may put two
// annotations around one step; nested ones count once.
func (s *stages) count() map[string]stepCount {
	out := map[string]stepCount{}
	for a := range s.t.Events(trace.LaneAnnotation) {
		if a.Kind() == trace.KindGPUAnnotation {
			continue
		}
		st := s.stepOf(a)
		if st.stage == "" {
			continue
		}
		nested := false
		for p := a.Parent(); p.Valid(); p = p.Parent() {
			if s.stepOf(p).stage != "" {
				nested = true
				break
			}
		}
		if nested {
			continue
		}
		c := out[st.stage]
		c.steps++
		switch {
		case c.steps == 1:
			c.batch = st.batch
		case c.batch != st.batch:
			c.batch = -1
		}
		out[st.stage] = c
	}
	return out
}
