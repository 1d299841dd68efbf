package hostoverhead

import (
	"encoding/json"
	"math"

	"github.com/llmstrata/strata/internal/published"
	"github.com/llmstrata/strata/internal/vocabulary"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

// schema names the document that a [Verdict] is in JSON.
const schema = "strata.host/4"

// Answer says whether the host costs a clear share of the steps.
type Answer string

// The answers. A report without kernels has none, "".
const (
	Yes          Answer = "YES"          // it does
	No           Answer = "NO"           // it does not, even if all that is unknown is its doing
	Inconclusive Answer = "INCONCLUSIVE" // what is unknown decides
)

// Answers lists all answers.
func Answers() []Answer { return []Answer{Yes, No, Inconclusive} }

// String returns the answer's word.
func (a Answer) String() string { return string(a) }

// MarshalText returns the answer's word, "" for none. It refuses unknown words.
func (a Answer) MarshalText() ([]byte, error) {
	if a == "" {
		return nil, nil
	}
	return []byte(a), vocabulary.Check("answer", Answers(), a)
}

// UnmarshalText accepts the word of an answer, or none.
func (a *Answer) UnmarshalText(text []byte) error {
	return vocabulary.Set(a, "answer", text, append(Answers(), "")...)
}

// Doubts are findings without a size: reasons not to believe a verdict, or not to believe that the window shows what
// the server does. Code is a [DoubtCode], Confidence the best that the verdict can have with the doubt; it is unknown
// where the doubt does not speak of the verdict.
//
// A document has them in full among its findings, and in short, as code, weight and message, in a list of their own.
type Doubts []finding.Finding

// MarshalJSON writes the short form.
func (d Doubts) MarshalJSON() ([]byte, error) {
	type short struct {
		Code    string       `json:"code"`
		Weight  finding.Band `json:"weight,omitempty"`
		Message string       `json:"message"`
	}
	list := make([]short, 0, len(d))
	for i := range d {
		list = append(list, short{d[i].Code, d[i].Confidence, d[i].Evidence})
	}
	return json.Marshal(list)
}

// Headroom says how much faster something could be if the host cost nothing. WallNS = BusyNS + IdleNS + LostNS, and
// IdleNS = HostNS + UnknownNS + what has other causes.
type Headroom struct {
	// of the steps, from the end of the one before; of the window without pauses where no steps are known
	WallNS    int64 `json:"wall_ns"`
	BusyNS    int64 `json:"busy_ns"`    // part in which at least one kernel runs
	IdleNS    int64 `json:"idle_ns"`    // part in which none does
	HostNS    int64 `json:"host_ns"`    // part of IdleNS in which the host works or waits
	UnknownNS int64 `json:"unknown_ns"` // part of IdleNS with an unknown cause
	// LostNS is the part without records: see [layer.Device.Damage].
	LostNS int64 `json:"not_recorded_ns,omitempty"`
	// Share is HostNS / WallNS.
	Share float64 `json:"host_share"`
	// AtMost is the bound: so many times faster if the host cost nothing, 1 for not at all. WithUnknown is the bound
	// if all that is unknown were the host's, too.
	AtMost      float64 `json:"at_most"`
	WithUnknown float64 `json:"at_most_with_unknown"`
}

// IdleCause is the idle time of one cause. Every nanosecond of idle time has exactly one.
type IdleCause struct {
	// Group is the row of the headroom that the cause counts for. Host says that the host costs this time.
	Group   finding.Group `json:"group"`
	Host    bool          `json:"host"`
	Cause   finding.Cause `json:"cause"`
	NS      int64         `json:"ns"`       // in the window
	StepsNS int64         `json:"steps_ns"` // part inside steps
	Share   float64       `json:"share"`    // of StepsNS in the time of the steps
	Names   []IdleName    `json:"names"`    // what ran, most time first; they add up to NS
}

// IdleName is idle time while one thing ran.
type IdleName struct {
	Cause   finding.Cause `json:"cause,omitempty"` // in lists of several causes, see [IdleCause]
	Name    string        `json:"name"`            // range, frame or call; a sentence where nothing is recorded
	Where   string        `json:"where,omitempty"` // of calls: the frame, op or range they were made in
	NS      int64         `json:"ns"`              // idle time in the window
	StepsNS int64         `json:"steps_ns"`        // part inside steps
	Count   int           `json:"count"`           // pieces
}

// Path is the work that reached the device in one way: by "graph" replays, or "eager", launched one by one; "unknown"
// where the launch is not in the trace.
type Path struct {
	Path      string  `json:"path"`       // graph, eager or unknown
	Kernels   int     `json:"kernels"`    // kernels launched this way
	Share     float64 `json:"share"`      // of the kernels
	TimeNS    int64   `json:"time_ns"`    // of its kernels
	TimeShare float64 `json:"time_share"` // of the time of all kernels
	ExposedNS int64   `json:"exposed_ns"` // idle time in its launch calls and on the way from them
	Exposed   float64 `json:"exposed"`    // of the steps' time
}

// StageVerdict is the answer for the steps of one stage.
type StageVerdict struct {
	Stage    layer.Stage   `json:"stage"`         // stage of the steps
	Steps    int           `json:"steps"`         // number of steps
	Verdict  Answer        `json:"verdict"`       // the answer for the stage
	Headroom Headroom      `json:"headroom"`      // what the steps of the stage lose
	Largest  finding.Cause `json:"largest_cause"` // of the host's time; "" for none
	Paths    []Path        `json:"paths"`         // kernels by how they were launched
}

// PassSpread says how the host's time spreads over passes, per pass.
type PassSpread struct {
	P50NS int64 `json:"host_p50_ns"` // median host time of a pass
	P90NS int64 `json:"host_p90_ns"` // 90th percentile of the host time of a pass
	MaxNS int64 `json:"host_max_ns"` // most host time of a pass
	// ShareP50, ShareP90 and ShareMax are of the pass's own time.
	ShareP50 float64 `json:"share_p50"`
	ShareP90 float64 `json:"share_p90"`
	ShareMax float64 `json:"share_max"`
}

// PassHeadroom is one pass.
type PassHeadroom struct {
	Pass    int         `json:"pass"`     // index of the pass
	Stage   layer.Stage `json:"stage"`    // what the pass does
	StartNS int64       `json:"start_ns"` // since the trace's first event, from the end of the pass before
	EndNS   int64       `json:"end_ns"`   // end since the trace's first event
	// StartNS and EndNS on the clock of the file: visStart and visEnd of a Perfetto link
	VisStart int64         `json:"vis_start_ns"`
	VisEnd   int64         `json:"vis_end_ns"`    // end on the clock of the file
	Headroom Headroom      `json:"headroom"`      // what the steps lose
	Largest  finding.Cause `json:"largest_cause"` // cause of most of the host's time
}

// StepMean is the mean step of the model that loses most to the host.
type StepMean struct {
	Model  string `json:"model,omitempty"` // where the device runs several, drafts aside
	HostNS int64  `json:"host_ns"`         // idle time that the host causes
	WallNS int64  `json:"wall_ns"`         // of the step, with those of its drafts
}

// RankVerdict is the answer for one device of one rank.
type RankVerdict struct {
	Rank          string         `json:"rank"`           // of the file, or its place; "" for a single file
	File          int            `json:"file"`           // place among the traces given
	Path          string         `json:"path,omitempty"` // file of the rank
	Device        trace.DeviceID `json:"device"`         // number of the GPU
	GPU           string         `json:"gpu,omitempty"`  // the device's name, "" unknown
	CompleteSteps float64        `json:"complete_steps"` // steps, one that the window cuts as the part that it is
	Mean          StepMean       `json:"mean_step"`      // zero without steps
	// Ignored is set for a device with so few kernels that it does not decide.
	Ignored  bool     `json:"ignored,omitempty"`
	Verdict  Answer   `json:"verdict"`
	Kernels  int      `json:"kernels"`
	Steps    int      `json:"steps"`
	WindowNS int64    `json:"window_ns"`                 // from the first kernel's start to the last one's end
	BusyNS   int64    `json:"busy_ns"`                   // part in which a kernel runs
	LostNS   int64    `json:"not_recorded_ns,omitempty"` // part without records
	Exchange float64  `json:"exchange_ratio"`            // kernels that exchange data between GPUs / busy
	Alone    float64  `json:"exchange_only_ratio"`       // time in which only they run / busy
	Headroom Headroom `json:"headroom"`

	// Idle holds every nanosecond of WindowNS − BusyNS − LostNS once, by cause.
	Idle []IdleCause `json:"idle"`
	// Transfers is the part of BusyNS in which only copies and sets run; left out where there is none.
	Transfers *IdleCause `json:"transfers,omitempty"`
	// Findings are the idle time in the steps, one a cause, with the fix.
	Findings []finding.Finding `json:"findings"`
	Stages   []StageVerdict    `json:"stages"`
	Paths    []Path            `json:"paths"`
	// Drains is host work between steps that nothing could hide because a call, the name, had emptied the queue.
	Drains []IdleName     `json:"drains"`
	Passes PassSpread     `json:"passes"`
	Worst  []PassHeadroom `json:"worst_passes"` // most host time first
	Gaps   []GapBucket    `json:"gaps"`         // no stream busy
	Top    []Gap          `json:"top_gaps"`

	Coverage Coverage `json:"coverage"` // how much of the host's work the trace shows

	DependsOn string `json:"depends_on,omitempty"` // the activity that decides the answer by itself, "" for none

	// ColdStart says how the only step begins on an idle GPU with less work for the host than for the GPU; "" elsewhere.
	ColdStart string `json:"cold_start,omitempty"`
	// IdleUnknown is [trace.IdleUnknown] of its trace: no gate rests on the verdict then.
	IdleUnknown string `json:"-"`
	// Captures says that the window captures graphs: all of its steps do, or most of what the host costs is capturing.
	Captures bool `json:"captures,omitempty"`
}

// Action is advice with what it rests on.
type Action struct {
	// Code is GRAPH_SPLIT, GRAPH_EXPAND, CUSTOM_OP, SYNC+HOIST or ALLOC in [Coverage.Hints], else "".
	Code string `json:"code,omitempty"`
	finding.Advice
	Why string `json:"why"` // the figures that it rests on
	// NS is the time that it is about: idle time in the steps, or, with a code, what Count kernels take or idle time
	// of Count pieces; 0: not about any.
	NS    int64 `json:"ns"`
	Count int   `json:"count,omitempty"`
}

// Verdict says how much faster a run could be at most if the host cost nothing, where the idle time goes, and what to
// do.
//
// Its figures are those of the deciding device, Ranks[Deciding]: the one with the largest share of host-caused time.
type Verdict struct {
	Schema  string `json:"schema"`  // name and version of the document
	Verdict Answer `json:"verdict"` // whether the host is the bottleneck
	// Confidence is the least weight of the doubts.
	Confidence finding.Band `json:"confidence"`
	Summary    string       `json:"summary"` // the verdict as one sentence
	// Basis says what the shares are of.
	Basis     finding.Basis `json:"basis"`
	Threshold float64       `json:"threshold"` // the share of the host from which it is YES
	Headroom  Headroom      `json:"headroom"`
	// Idle is that of the deciding device.
	Idle []IdleCause `json:"idle"`
	// Findings are what makes the window or the verdict doubtful, then those of the deciding device.
	Findings []finding.Finding `json:"findings"`
	// Published is the document of the published detector: M1–M5 of the window, with all GPUs merged, and of the
	// phases that it knows; null where it sees no kernels. Disagreement is why its answer is another one, "" where it
	// is the same.
	Published    json.RawMessage `json:"published"`
	Disagreement string          `json:"disagreement,omitempty"`
	Doubts       Doubts          `json:"doubts"` // by weight, then code
	Next         []Action        `json:"next_steps"`
	Serving      Doubts          `json:"serving"` // where the window does not show what the server does
	Deciding     int             `json:"deciding"`
	Ranks        []RankVerdict   `json:"ranks"`                // by file, then by number of the GPU
	Stragglers   *Stragglers     `json:"stragglers,omitempty"` // left out for one device, or without collectives

	Health trace.HealthStatus `json:"health"` // health of the worst trace

	published *published.HostReport // what the document is of; nil without, and where the verdict was read
}

// decides is the deciding device, an empty one where the verdict is about none.
func (v *Verdict) decides() *RankVerdict {
	if v.Deciding >= len(v.Ranks) {
		return &RankVerdict{}
	}
	return &v.Ranks[v.Deciding]
}

// shareUnits cuts shares in a verdict to six decimals: the precision of a trace of minutes.
const shareUnits = 1e6

// ratio is a share for a verdict: one of 0 is 0.
func ratio(num, den int64) float64 { return math.Round(part(num, den)*shareUnits) / shareUnits }

// part is a share to decide by.
func part(num, den int64) float64 {
	if den <= 0 {
		return 0
	}
	return float64(num) / float64(den)
}

// without is what is left without some idle time.
func (h *Headroom) without(idle *causeSums) Headroom {
	return Headroom{WallNS: h.WallNS - idle.total(), HostNS: max(0, h.HostNS-idle.host()),
		UnknownNS: max(0, h.UnknownNS-idle.of(finding.UnknownGroup))}
}

// share is that of the host, to decide by.
func (h *Headroom) share() float64 { return part(h.HostNS, h.WallNS) }
