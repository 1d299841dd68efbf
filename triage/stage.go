package triage

import (
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/stop"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// step is what the name of a server's step annotation says.
type step struct {
	stage string // "" when the name is not that of a step
	batch int    // requests, 0 when not told
}

// parseStep reads the step annotations of the servers; see [layer.ParseStep].
// Idle steps and the profiler's own have no stage.
func parseStep(name string) step {
	st, ok := layer.ParseStep(name)
	if !ok {
		return step{}
	}
	return step{stage: reportStages[string(st.Stage)], batch: max(st.Batch, 0)}
}

// reportStages are the words of reports for the stages of passes; reports know
// fewer. The passes of speculative decoding are decode: a server runs them in
// its decode loop.
var reportStages = map[string]string{
	framework.Prefill: StageExtend, framework.Mixed: StageMixed,
	framework.Decode: StageDecode, framework.Verify: StageDecode, framework.Draft: StageDecode,
}

// stageWord is the word of reports for a stage in anybody's words, "all" or ""
// included.
func stageWord(stage string) string {
	if w, ok := reportStages[framework.StageNamed(stage)]; ok {
		return w
	}
	return stage
}

// stages tells the stage of each activity of one trace from its annotations.
type stages struct {
	t      *trace.Trace
	watch  *stop.Watch
	byName map[trace.NameID]step
	launch []int8 // per launch: index of its stage + 1, 0 not asked yet, -1 none
}

var stageOrder = []string{StageExtend, StageDecode, StageMixed, StageAll}

func newStages(watch *stop.Watch, t *trace.Trace) *stages {
	return &stages{t: t, watch: watch, byName: map[trace.NameID]step{}, launch: make([]int8, t.LaneLen(trace.LaneLaunch))}
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
		s.watch.Row()
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
