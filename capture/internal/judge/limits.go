package judge

import "time"

// The outcomes of a check.
const (
	Pass    = "pass"
	Fail    = "fail"
	Unknown = "unknown"
)

// Limits are the numbers that decide a verdict.
type Limits struct {
	// CachedShare is the most of the prompts' tokens that may come from the
	// prefix cache. A chat template's fixed beginning is some tens of tokens
	// and at most a few hundred; of the 4090 of a default prompt that is under
	// 1 % as a rule. From 5 % on the passes are measurably shorter.
	CachedShare float64
	// PromptPasses is how many of the steps asked for may be the pass over the
	// prompt that opens a decode window: SGLang before
	// sgl-project/sglang#30215 counts it as one of them.
	PromptPasses int
	// ClockSlack is how far two clocks may differ that were compared by the
	// Date of an HTTP answer, whole seconds on both sides.
	ClockSlack time.Duration
	// ClockRange is how far apart recording and capture may lie for the two
	// clocks to be comparable at all. What is older was not written by a
	// profiler that is only late; its clock is wrong, or it is a replay.
	ClockRange time.Duration
}

// Default are the limits that all captures are judged by.
var Default = Limits{CachedShare: 0.05, PromptPasses: 1, ClockSlack: 2 * time.Second, ClockRange: 24 * time.Hour}

// Foreign reports whether a recording that ended at end cannot be of a window
// that opened at opened: it was over before. ahead is how far the clock of the
// recording machine is ahead of this one's.
func (l Limits) Foreign(end, opened time.Time, ahead time.Duration) bool {
	before := opened.Sub(end.Add(-ahead))
	return !end.IsZero() && before > l.ClockSlack && before < l.ClockRange
}

// CacheOutcome judges how many of the prompts' tokens were cached.
func (l Limits) CacheOutcome(cached, prompt int) string {
	switch {
	case cached < 0 || prompt <= 0:
		return Unknown
	case float64(cached) > l.CachedShare*float64(prompt):
		return Fail
	}
	return Pass
}

// StageOutcome judges whether a window holds steps passes of its stage.
func (l Limits) StageOutcome(stage string, steps int, found map[string]int) string {
	var of int
	switch stage {
	case "prefill":
		of = found["prefill"] + found["mixed"]
	case "decode":
		of = found["decode"] + found["verify"] + found["mixed"]
		steps -= l.PromptPasses
	default:
		return Pass
	}
	named := 0
	for name, n := range found {
		if name != Unknown && name != "" {
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
