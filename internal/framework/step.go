package framework

import (
	"strconv"
	"strings"
	"time"
)

// Pause is the time between two steps of a server from which it had nothing to
// do: a hundred times what a busy one takes, and what parts two phases of a
// benchmark in the published analysis.
const Pause = 100 * time.Millisecond

// Step is what a step annotation says about its pass. Counts are −1 where it
// does not say.
type Step struct {
	// Dialect names the way of writing, which may be several of one framework.
	Dialect string
	// Index is the step's own number.
	Index int64
	// Stage is one of the stages below.
	Stage string
	// Batch counts requests, Tokens the tokens processed.
	Batch  int
	Tokens int64
	// Requests and tokens of the context (prefill) and generation (decode) phase.
	ContextRequests    int
	ContextTokens      int64
	GenerationRequests int
	GenerationTokens   int64
	// Sums over the requests of each phase, as far as the annotation has them.
	Context    Sums
	Generation Sums
	// Weak annotations count the profiler's steps, not runs of the model: one
	// may hold several passes, or none.
	Weak bool
}

// Sums are over requests: of the tokens that each computes (SQ), of those that its attention sees (SK), of SQ
// squared, and of SQ·SK. A sum that the annotation does not have is −1.
type Sums struct{ SQ, SK, SQSQ, SQSK int64 }

// noSums are unknown ones.
var noSums = Sums{-1, -1, -1, -1}

// The stages of a pass, in the words that all of this module uses. See
// [StageNamed] for the words of others.
const (
	Unknown = "unknown"
	Prefill = "prefill" // context requests only
	Decode  = "decode"  // generation requests only
	Mixed   = "mixed"   // both
	Verify  = "verify"  // the target model checks drafted tokens
	Draft   = "draft"   // a draft model runs
	Idle    = "idle"    // a step without requests
	Capture = "capture" // a graph is being captured
)

// stageWords are the words servers and tools use for the stages, as parts of a
// longer one such as TARGET_VERIFY or DRAFT_EXTEND. The first that occurs
// decides: what a step is for says more than its shape.
var stageWords = []struct{ word, stage string }{
	{"verify", Verify}, {"draft", Draft}, {"mixed", Mixed}, {"decode", Decode}, {"generation", Decode},
	{"prefill", Prefill}, {"extend", Prefill}, {"context", Prefill}, {"idle", Idle}, {"capture", Capture},
}

// stageShort are words that name a stage only if nothing else is beside them.
var stageShort = map[string]string{"gen": Decode, "ctx": Prefill}

// StageNamed returns the stage that a word names, in any case: "EXTEND" and
// "context" are [Prefill]. It is [Unknown] for any other word.
func StageNamed(word string) string {
	l := strings.ToLower(word)
	if s, ok := stageShort[l]; ok {
		return s
	}
	for _, w := range stageWords {
		if strings.Contains(l, w.word) {
			return w.stage
		}
	}
	return Unknown
}

// StageOfFunction is the stage that a function is for, by the words that servers name such functions with:
// forward_extend, forward_decode. It is [Unknown] for all others.
func StageOfFunction(fn string) string {
	l := strings.ToLower(fn)
	switch {
	case strings.Contains(l, "extend"), strings.Contains(l, "prefill"):
		return Prefill
	case strings.Contains(l, "decode"):
		return Decode
	}
	return Unknown
}

// NewStep is a step of a dialect that says nothing.
func NewStep(dialect string) Step {
	return Step{Dialect: dialect, Index: -1, Stage: Unknown, Batch: -1, Tokens: -1,
		ContextRequests: -1, ContextTokens: -1, GenerationRequests: -1, GenerationTokens: -1, Context: noSums,
		Generation: noSums}
}

// ReadStep asks each framework for what an annotation says, and returns the
// first that knows.
func ReadStep(list []Framework, annotation string) (*Framework, Step, bool) {
	for i := range list {
		if list[i].Step == nil {
			continue
		}
		if st, ok := list[i].Step(annotation); ok {
			return &list[i], st, true
		}
	}
	return nil, Step{}, false
}

// Complete derives stage, batch and tokens from the counts of the two phases
// where the annotation did not give them. A step with requests of both is
// mixed.
func (st *Step) Complete() {
	c, g := st.ContextRequests, st.GenerationRequests
	if st.Stage == Unknown && (c >= 0 || g >= 0) {
		switch {
		case c > 0 && g > 0:
			st.Stage = Mixed
		case c > 0:
			st.Stage = Prefill
		case g > 0:
			st.Stage = Decode
		case c == 0 && g == 0:
			st.Stage = Idle
		}
	}
	if st.Batch < 0 && (c >= 0 || g >= 0) {
		st.Batch = max(c, 0) + max(g, 0)
	}
	if st.Tokens < 0 && (st.ContextTokens >= 0 || st.GenerationTokens >= 0) {
		st.Tokens = max(st.ContextTokens, 0) + max(st.GenerationTokens, 0)
	}
}

// Count reads a decimal count, −1 where it does not fit.
func Count(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

func count(s string) int { return int(Count(s)) }
