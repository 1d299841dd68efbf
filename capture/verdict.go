package capture

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llmstrata/strata/capture/internal/judge"
	"github.com/llmstrata/strata/capture/internal/label"
)

// The verdicts on a capture: "VALID" where every check that decides has passed,
// "INVALID" where one has failed, "UNCHECKED" where nothing has failed and something that decides is not known, or nobody
// looked ([Options].Inspect is not set).
const (
	valid     string = "VALID"
	invalid   string = "INVALID"
	unchecked string = "UNCHECKED"
)

// Check is one thing that a capture was checked for.
type Check struct {
	// Name is a stable word: ranks, run, read, gpu, steps, stages, cache, stop.
	Name string `json:"name"`
	// Outcome is pass, fail or unknown.
	Outcome string `json:"outcome"`
	// Detail is one sentence with the numbers.
	Detail string `json:"detail"`
}

// The outcomes and names of checks.
const (
	pass    = judge.Pass
	failed  = judge.Fail
	unknown = judge.Unknown

	checkRanks  = "ranks"
	checkRun    = "run"
	checkRead   = "read"
	checkGPU    = "gpu"
	checkSteps  = "steps"
	checkStages = "stages"
	checkCache  = "cache"
	checkStop   = "stop"
)

func (s *StageResult) check(name, outcome, format string, args ...any) {
	s.Checks = append(s.Checks, Check{name, outcome, fmt.Sprintf(format, args...)})
}

// fail adds a failed check.
func (s *StageResult) fail(name, detail string) { s.check(name, failed, "%s", detail) }

// judge makes all checks of a stage whose traces are complete.
func (s *stageRun) judge() {
	o := &s.out
	s.judgeRanks()
	if s.o.Inspect == nil {
		o.Verdict = unchecked
		return
	}
	s.judgeReading()
	s.judgeSteps()
	s.judgeCache()
	o.Verdict = valid
	for _, c := range o.Checks {
		switch {
		case c.Outcome == failed:
			o.Verdict = invalid
			return
		// That prompts are new is known from how they are made.
		case c.Outcome == unknown && c.Name != checkCache:
			o.Verdict = unchecked
		}
	}
}

// judgeRanks checks that each rank has one trace, and that it is of this run.
func (s *stageRun) judgeRanks() {
	o := &s.out
	count, twice := 0, []string{}
	seen := map[string]int{}
	for _, t := range o.Traces {
		if t.Merged || t.Frontend {
			continue
		}
		count++
		key := t.Rank
		if s.byStage {
			key += label.Half(t.Path)
		}
		if seen[key]++; seen[key] == 2 && t.Rank != "" {
			twice = append(twice, t.Rank)
		}
	}
	switch {
	case o.Expected == 0:
		o.check(checkRanks, unknown, "%d traces; neither the server nor the traces say how many there should be (--ranks)", count)
	case count < o.Expected:
		o.check(checkRanks, failed, "%d of %d traces", count, o.Expected)
	default:
		o.check(checkRanks, pass, "%d of %d traces (%s)", count, o.Expected, o.ExpectedFrom)
	}
	switch {
	case len(twice) > 0:
		o.check(checkRun, failed, "two traces of %s: one is of another run, and nothing tells which", strings.Join(twice, ", "))
	default:
		o.check(checkRun, pass, "new since the profiler was armed, one per rank; %d of another run left out", len(o.Rejected))
	}
	if !s.envOnly {
		o.check(checkStop, map[bool]string{true: pass, false: unknown}[s.win == nil || s.win.state == stateStopped], "the profiler was stopped")
	}
}

// judgeReading checks that the traces can be read and hold GPU work.
func (s *stageRun) judgeReading() {
	o := &s.out
	var bad, idle []string
	gpu := int64(0)
	for _, t := range o.Traces {
		switch {
		case t.Merged || t.Frontend:
		case t.Found == nil:
			bad = append(bad, t.name()+" cannot be read")
		case t.Found.GPUEvents == 0:
			idle = append(idle, t.name())
		default:
			gpu += t.Found.GPUEvents
		}
	}
	o.check(checkRead, map[bool]string{true: pass, false: failed}[len(bad) == 0], "%s", orText(strings.Join(bad, "; "), "all traces can be read"))
	switch {
	case !slices.Contains(s.o.Activities, "GPU"):
		return // nobody asked for any
	case gpu == 0:
		o.check(checkGPU, failed, "no GPU event in any trace")
	case len(idle) > 0 && s.res.Info.DP <= 1:
		o.check(checkGPU, failed, "no GPU event in %s", strings.Join(idle, ", "))
	default:
		o.check(checkGPU, pass, "%d GPU events", gpu)
	}
}

// judgeSteps checks how many passes the window holds, and of which stage.
func (s *stageRun) judgeSteps() {
	o := &s.out
	mix := map[string]int{}
	for _, t := range o.Traces {
		if t.Found == nil || t.Merged || t.Frontend {
			continue
		}
		for st, n := range t.Found.Stages {
			mix[st] = max(mix[st], n)
		}
	}
	o.StageMix = mix
	asked, words := o.StepsAsked, o.mixText()
	if s.o.Attach > 0 {
		asked = 1 // as many as the traffic made
	}
	switch {
	case o.StepsFound < 0:
		o.check(checkSteps, unknown, "the passes in the traces could not be counted")
		return
	case o.StepsFound < asked:
		o.check(checkSteps, failed, "%d of %d steps in the window%s", o.StepsFound, asked, words)
		return
	}
	o.check(checkSteps, pass, "%d steps in the window, %d asked%s", o.StepsFound, asked, words)
	o.check(checkStages, judge.Default.StageOutcome(o.Stage, asked, mix), "a %s window%s", o.Stage, words)
}

// mixText is ": 1 prefill, 4 decode".
func (s *StageResult) mixText() string {
	var parts []string
	for _, st := range slices.Sorted(maps.Keys(s.StageMix)) {
		parts = append(parts, fmt.Sprintf("%d %s", s.StageMix[st], st))
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// judgeCache checks that the prompts were computed and not remembered.
func (s *stageRun) judgeCache() {
	o := &s.out
	if o.Stage != stagePrefill {
		return
	}
	l := o.Load
	// What the passes say they computed was not cached.
	if computed := o.prefillTokens(); l.CachedTokens < 0 && computed > 0 && l.PromptTokens > 0 {
		l.CachedTokens = max(l.PromptTokens-int(computed), 0)
	}
	out := judge.Default.CacheOutcome(l.CachedTokens, l.PromptTokens)
	if out == unknown {
		o.check(checkCache, out, "the server does not report cached tokens; the prompts are new")
		return
	}
	o.check(checkCache, out, "%d of %d prompt tokens came from the prefix cache", l.CachedTokens, l.PromptTokens)
}

// prefillTokens is the most that a rank's prefill passes computed.
func (s *StageResult) prefillTokens() int64 {
	n := int64(0)
	for _, t := range s.Traces {
		if t.Found != nil && !t.Merged && !t.Frontend {
			n = max(n, t.Found.PrefillTokens)
		}
	}
	return n
}

// remedy is what a second try does differently.
type remedy struct {
	why, what string
	moreSteps int
	ignoreEOS bool
}

// remedy says what would remove the cause of a verdict, nil where nothing
// would.
func (s *StageResult) remedy() *remedy {
	for _, c := range s.Checks {
		if c.Outcome != failed {
			continue
		}
		switch c.Name {
		case checkCache:
			return &remedy{why: c.Detail, what: "with other prompts"}
		case checkSteps, checkStages:
			r := &remedy{why: c.Detail, what: "with a longer window", moreSteps: max(s.StepsAsked-s.StepsFound, 1)}
			if r.ignoreEOS = s.Load.Tokens >= 0 && s.Load.Tokens < s.Load.MaxTokens; r.ignoreEOS {
				r.what += ", past the end of sequence"
			}
			return r
		}
	}
	return nil
}

// settle makes the verdict of a whole capture.
func (r *Result) settle(err error) {
	r.Verdict = valid
	for i := range r.Stages {
		st := &r.Stages[i]
		if st.Verdict == "" {
			st.Verdict = invalid
		}
		switch {
		case st.Verdict == invalid:
			r.Verdict = invalid
		case st.Verdict == unchecked && r.Verdict == valid:
			r.Verdict = unchecked
		}
	}
	if err != nil || len(r.Stages) == 0 {
		r.Verdict = invalid
	}
}

// firstFailure is "prefill: 3 of 5 steps in the window".
func (r *Result) firstFailure() string {
	for _, s := range r.Stages {
		for _, c := range s.Checks {
			if c.Outcome == failed {
				return fmt.Sprintf("%s: %s: %s", s.Stage, c.Name, c.Detail)
			}
		}
	}
	return "no stage was captured"
}

func orText(s, or string) string {
	if s == "" {
		return or
	}
	return s
}
