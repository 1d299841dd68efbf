package capture

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/framework"
)

// Check is one thing that a capture was checked for.
type Check struct {
	Name    CheckName `json:"name"`    // what was checked
	Outcome Outcome   `json:"outcome"` // what the check found
	// Detail is one sentence with the numbers.
	Detail string `json:"detail"`
	// Fix says what to change where it Fail, "" where nothing is known to help.
	Fix string `json:"fix,omitempty"`
}

// The numbers that decide.
const (
	// cachedShare is the most of the prompts' tokens that may come from the prefix cache. A chat template's fixed
	// beginning is some tens of tokens and at most a few hundred; of the 4090 of a default prompt that is under 1% as
	// a rule. From 5% on the passes are measurably shorter.
	cachedShare = 0.05
	// promptPasses is how many of the steps asked for may be the pass over the prompt that opens a decode window:
	// SGLang before sgl-project/sglang#30215 counts it as one of them.
	promptPasses = 1
	// clockSlack is how far two clocks may differ that were compared by the Date of an HTTP answer, whole seconds on
	// both sides.
	clockSlack = 2 * time.Second
	// clockRange is how far apart recording and capture may lie for the two clocks to be comparable at all. What is
	// older was not written by a profiler that is only late; its clock is wrong, or it is a replay.
	clockRange = 24 * time.Hour
)

// foreign reports whether a recording that ended at end cannot be of a window that opened at opened: it was over
// before, by this machine's clock and by that of whoever answered, which is ahead of it. Behind a proxy the second is
// not the recording machine's, so both have to say so.
func foreign(end, opened time.Time, ahead time.Duration) bool {
	before := opened.Sub(end) + min(ahead, 0)
	return !end.IsZero() && before > clockSlack && before < clockRange
}

// cacheOutcome judges how many of the prompts' tokens were cached.
func cacheOutcome(cached, prompt int) Outcome {
	switch {
	case cached < 0 || prompt <= 0:
		return Unknown
	case float64(cached) > cachedShare*float64(prompt):
		return Fail
	}
	return Pass
}

// stageOutcome judges whether a window holds steps passes of its stage.
func stageOutcome(stage Stage, steps int, found map[string]int) Outcome {
	of := found[framework.Mixed]
	switch stage {
	case StagePrefill:
		of += found[framework.Prefill]
	case StageDecode:
		of += found[framework.Decode] + found[framework.Verify]
		steps -= promptPasses
	default:
		return Pass
	}
	named := 0
	for name, n := range found {
		if name != framework.Unknown && name != "" {
			named += n
		}
	}
	switch {
	case of >= max(steps, 1):
		return Pass
	case named == 0:
		return Unknown
	}
	return Fail
}

func (s *StageResult) check(name CheckName, outcome Outcome, format string, args ...any) {
	s.Checks = append(s.Checks, Check{Name: name, Outcome: outcome, Detail: fmt.Sprintf(format, args...)})
}

// fail adds a failed check.
func (s *StageResult) fail(name CheckName, detail string) { s.check(name, Fail, "%s", detail) }

// ranked are the traces of the ranks: not the merged one, nor a front end's.
func (s *StageResult) ranked() []Trace {
	return slices.DeleteFunc(slices.Clone(s.Traces), func(t Trace) bool { return t.Merged || t.Frontend })
}

// judge makes all checks of a stage whose traces are complete.
func (s *stageRun) judge() {
	o := &s.out
	s.judgeRanks()
	o.Verdict = Unchecked
	if s.o.Inspect == nil {
		return
	}
	s.judgeReading()
	s.judgeSteps()
	s.judgeCache()
	o.Verdict = Valid
	for i := range o.Checks {
		c := &o.Checks[i]
		switch {
		case c.Outcome == Fail:
			c.Fix = s.fix(c.Name)
			o.Verdict = Invalid
		case c.Outcome == Unknown && c.Name.decides() && o.Verdict == Valid:
			o.Verdict = Unchecked
		}
	}
}

// fix says what to change where a check failed.
func (s *stageRun) fix(name CheckName) string {
	n := s.out.StepsAsked
	switch name {
	case CheckSteps, CheckStages:
		switch s.out.Stage {
		case StageDecode:
			return fmt.Sprintf("%d decode steps need max_tokens ≥ %d: --decode-output-len %d or more, and --ignore-eos where "+
				"the model stops by itself", n, n+1, n+1)
		case StagePrefill:
			return fmt.Sprintf("%d prefill passes need %d requests with new prompts, each within one chunk: --probe-requests "+
				"%d, --prefill-input-len below the chunk", n, n, n)
		}
		return fmt.Sprintf("%d steps need longer traffic: --attach TIME, or more --probe-requests", n)
	case CheckCache:
		return "send prompts that the prefix cache does not know: leave out --first-index, or flush the cache"
	case CheckGPU:
		fix := "profile every engine that serves the requests, and record GPU activity: --activities CPU,GPU; another " +
			"profiler may hold CUPTI"
		if s.out.Empty && (s.w.earlier() > 0 || len(s.res.Stages) > 0) {
			fix += "; restart the server: some releases record only the first window of its life (vllm-project/vllm#45987)"
		}
		return fix
	case CheckRun:
		return "capture into an empty folder, with no other capture of this server under way"
	case CheckRead:
		return "see the warning for the file; a trace cut off by a full disk cannot be read"
	}
	return ""
}

// judgeRanks checks that each rank has one trace, and that it is of this run.
func (s *stageRun) judgeRanks() {
	o := &s.out
	twice, seen := []string{}, map[labelled]bool{}
	for i, t := range o.Traces {
		k := labelled{rank: parseRank(s.placed[i])}
		if len(s.wins) > 1 {
			k.dir = path.Dir(s.placed[i])
		}
		if s.ByStage {
			k.half = halfOf(t.Path)
		}
		if k.rank == noRank || t.Merged || t.Frontend {
			continue
		}
		if seen[k] && !slices.Contains(twice, t.Rank) {
			twice = append(twice, t.Rank)
		}
		seen[k] = true
	}
	switch count := len(o.ranked()); {
	case o.Expected == 0:
		o.check(CheckRanks, Unknown, "%d traces; neither the server nor the traces say how many there should be (--ranks)",
			count)
	case count < o.Expected:
		o.check(CheckRanks, Fail, "%d of %d traces", count, o.Expected)
	default:
		o.check(CheckRanks, Pass, "%d of %d traces (%s)", count, o.Expected, o.ExpectedFrom)
	}
	if len(twice) > 0 {
		o.check(CheckRun, Fail, "two traces of %s: one is from another run", strings.Join(twice, ", "))
	} else {
		o.check(CheckRun, Pass, "new since the profiler was armed, one per rank; %d of another run left out",
			len(o.Rejected))
	}
	switch {
	case s.envOnly:
	case s.wins.in(StateOff, StateArmed, StateStopping):
		o.check(CheckStop, Unknown, "the profiler was stopped")
	default:
		o.check(CheckStop, Pass, "the profiler was stopped")
	}
}

// judgeReading checks that the traces can be read and hold GPU work, and counts their passes.
func (s *stageRun) judgeReading() {
	o := &s.out
	var bad, idle []string
	gpu, cpu := int64(0), int64(0)
	o.StageMix = map[string]int{}
	for _, t := range o.ranked() {
		if t.Found == nil {
			bad = append(bad, t.name()+" cannot be read")
			continue
		}
		if t.Found.GPUEvents == 0 {
			idle = append(idle, t.name())
		}
		gpu, cpu, o.StepsFound = gpu+t.Found.GPUEvents, cpu+t.Found.CPUEvents, max(o.StepsFound, t.Found.Steps)
		for st, n := range t.Found.Stages {
			o.StageMix[st] = max(o.StageMix[st], n)
		}
	}
	if len(bad) > 0 {
		o.fail(CheckRead, strings.Join(bad, "; "))
	} else {
		o.check(CheckRead, Pass, "all traces can be read")
	}
	switch {
	case !slices.Contains(s.o.Activities, "GPU") && !s.o.Nsys: // nobody asked for any
	case gpu == 0:
		o.Empty = len(idle) > 0
		o.check(CheckGPU, Fail, "no GPU event and %d host events in the traces", cpu)
	case len(idle) > 0 && s.res.Info.DP <= 1 && len(s.wins) <= 1:
		o.check(CheckGPU, Fail, "no GPU event in %s", strings.Join(idle, ", "))
	default:
		o.check(CheckGPU, Pass, "%d GPU events", gpu)
	}
}

// judgeSteps checks the number and the stage of the passes in the window.
func (s *stageRun) judgeSteps() {
	o := &s.out
	asked, words, sep := o.StepsAsked, "", ": "
	for _, st := range slices.Sorted(maps.Keys(o.StageMix)) {
		words += fmt.Sprintf("%s%d %s", sep, o.StageMix[st], st)
		sep = ", "
	}
	if s.o.Attach > 0 {
		asked = 1 // as many as the traffic made
	}
	switch {
	case o.StepsFound < 0:
		o.check(CheckSteps, Unknown, "the passes in the traces could not be counted")
	case o.StepsFound < asked:
		o.check(CheckSteps, Fail, "%d of %d steps in the window%s", o.StepsFound, asked, words)
	default:
		o.check(CheckSteps, Pass, "%d steps in the window, %d asked%s", o.StepsFound, asked, words)
		o.check(CheckStages, stageOutcome(o.Stage, asked, o.StageMix), "a %s window%s", o.Stage, words)
	}
}

// judgeCache checks that the prompts were computed and not remembered: what the passes say they computed was not
// cached.
func (s *stageRun) judgeCache() {
	o := &s.out
	if o.Stage != StagePrefill {
		return
	}
	cached, computed := o.Load.CachedTokens, int64(0) // the most of any rank
	for _, t := range o.ranked() {
		if t.Found != nil {
			computed = max(computed, t.Found.PrefillTokens)
		}
	}
	if cached < 0 && computed > 0 && o.Load.PromptTokens > 0 {
		cached = max(o.Load.PromptTokens-int(computed), 0)
	}
	out := cacheOutcome(cached, o.Load.PromptTokens)
	if out == Unknown {
		o.check(CheckCache, out, "the server does not report cached tokens; the prompts are new")
		return
	}
	o.check(CheckCache, out, "%d of %d prompt tokens came from the prefix cache", cached, o.Load.PromptTokens)
}

// remedy is what a second try does differently, and why: where prompts were cached, its own are new; where the window
// was too short, it is longer, past the end of sequence if the model stopped by itself. why is "" where nothing would
// remove the cause of the verdict.
func (s *StageResult) remedy() (why string, moreSteps int, ignoreEOS bool) {
	for _, c := range s.Checks {
		switch {
		case c.Outcome != Fail:
		case c.Name == CheckCache:
			return c.Detail, 0, false
		case c.Name == CheckSteps, c.Name == CheckStages:
			return c.Detail, max(s.StepsAsked-s.StepsFound, 1), s.Load.Tokens >= 0 && s.Load.Tokens < s.Load.MaxTokens
		}
	}
	return "", 0, false
}

// settle computes the verdict of the capture, the worst of its stages'.
func (r *Result) settle(err error) {
	r.Verdict = Valid
	if err != nil || len(r.Stages) == 0 {
		r.Verdict = Invalid
	}
	for i := range r.Stages {
		st := &r.Stages[i]
		switch {
		case st.Verdict == "" || st.Verdict == Invalid:
			st.Verdict, r.Verdict = Invalid, Invalid
		case st.Verdict == Unchecked && r.Verdict == Valid:
			r.Verdict = Unchecked
		}
	}
}

// firstFailure is "prefill: 3 of 5 steps in the window".
func (r *Result) firstFailure() string {
	for _, s := range r.Stages {
		for _, c := range s.Checks {
			if c.Outcome == Fail {
				return strings.TrimSuffix(fmt.Sprintf("%s: %s: %s; %s", s.Stage, c.Name, c.Detail, c.Fix), "; ")
			}
		}
	}
	return "no stage was captured"
}
