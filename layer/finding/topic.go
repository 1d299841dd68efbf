package finding

import "slices"

// Topic explains one identifier that results carry: a kind of finding, a cause, a doubt, a remark on a recording. Each
// analysis lists the topics of its own identifiers; strata explain and docs/findings.md print them.
type Topic struct {
	// ID is the identifier in documents. It is unique within a Section.
	ID string `json:"id"`
	// Section is the heading that the topic is under.
	Section Section `json:"section"`
	// Title is the problem in at most ten words.
	Title string `json:"title"`
	// Means says what it is.
	Means string `json:"means"`
	// Found says how it is found.
	Found string `json:"found,omitempty"`
	// Limits says what it cannot know.
	Limits string `json:"limits,omitempty"`
	Advice
	// Page is the page below docs/ that says more, "" for none.
	Page string `json:"page,omitempty"`
}

// Section is a heading of the catalogue.
type Section string

// The sections, in the order of the catalogue.
const (
	SectionFindings  Section = "Findings"
	SectionCauses    Section = "Causes of idle time"
	SectionDoubts    Section = "Doubts about a host verdict"
	SectionCompare   Section = "Doubts about a comparison"
	SectionRecording Section = "Remarks on a recording"
	SectionRules     Section = "Rules of kernel categories"
)

// depth is what the longer explanation adds to the row of a kind or cause.
type depth struct{ found, limits, page string }

const (
	hostPage    = "host-verdict.md"
	comparePage = "compare.md"
	lightPage   = "speed-of-light.md"
	triagePage  = "triage.md"
	fleetPage   = "fleet.md"
	steadyLimit = "Two runs of one program differ by about 1%. Smaller changes need several runs a side."
)

var kindDepths = map[Kind]depth{
	Health: {"The reader counts every event that it had to drop, repair or could not link.",
		"Damage that leaves a valid file, such as a profiler that never wrote an event, is invisible.",
		"reliability.md"},
	Coverage: {"The time of kernels in forward passes, divided by the time of all GPU activities; below 90%.",
		"Work outside passes may be another model, a warm-up, or passes that were not recognised.", "segmentation.md"},
	ServingPath: {"The server's arguments or its framework's defaults, compared with the graphs and compiled code in " +
		"the window.", "Arguments that the server changed at run time are not in server_args.json.", hostPage},
	OtherModel: {"The layers of the config, compared with how often kernels repeat in a pass.",
		"Another model with as many layers looks the same where no sizes were recorded.", "speed-of-light.md"},
	Doubt: {"Each doubt has a code of its own; `strata explain CODE` explains it.", "", hostPage},
	IdleTime: {"Gaps between the activities of one GPU, each cut at the calls of the thread that launches next.",
		"The gain is an upper bound: work that no longer waits may wait for something else.", hostPage},
	ExposedCommunication: {"Time in which only communication kernels run on the GPU.",
		"The trace of one rank cannot separate transfer from waiting for other ranks. Pass every rank's file.",
		triagePage},
	ExposedCopies: {"Time in which a copy or set runs and no kernel does.",
		"Copies that a later kernel depends on cannot be hidden.", hostPage},
	Fusion: {"Chains of kernels linked by data flow, compared with a catalogue of fused paths and their conditions.",
		"The fused kernel was not run: its time is estimated from the bytes that it saves.", triagePage},
	AboveFloor: {"Measured time, compared with the time at peak for the operator's FLOPs and bytes " +
		"(from config, shapes, tokens).",
		"Peaks are data-sheet figures. No kernel reaches them; 85–95% of peak is good.", lightPage},
	SmallKernels: {"Kernels that take less than the GPU needs to start and drain one.",
		"Some of them may already overlap others on a second stream.", lightPage},
	NoFloor: {"Operators whose sizes are not known, with at least 10% of the step together.",
		"Their size alone is no defect: they may be as fast as the GPU allows.", lightPage},
	LargestOperator: {"The operator with most kernel time in the steps, at least 10%.",
		"Size alone is no defect.", lightPage},
	OperatorChanged: {"Kernel time of the operator in passes of the same kind, with an interval at 95%.", steadyLimit,
		comparePage},
	OperatorNew: {"The operator has kernels in the new run only.",
		"A renamed kernel that is not recognised looks like this, too.", comparePage},
	OperatorRemoved: {"The operator has kernels in the old run only.",
		"A renamed kernel that is not recognised looks like this, too.", comparePage},
	StepChanged: {"The step's wall time grew beyond noise, and no operator's did.", steadyLimit, comparePage},
	UniformChange: {"Kernels of all operators changed by nearly the same factor.",
		"Clock, power cap and driver are rarely in a trace.", comparePage},
	WaitChanged: {"Collectives whose time changed while their shortest instance did not.",
		"Without all ranks the late one is unknown.", comparePage},
	PathChanged:   {"The share of kernels in graph replays and in compiled code, compared.", "", comparePage},
	KernelRenamed: {"An old and a new kernel at the same place, as often and as long.", "", comparePage},
	HostChanged: {"Inclusive time of host ranges and calls per step, with a 95% interval. " +
		"Nested ranges each count in full.", steadyLimit, hostPage},
	HostNew:     {"The range or call is in the new run only.", "", hostPage},
	HostRemoved: {"The range or call is in the old run only.", "", hostPage},
	HostRenamed: {"An old and a new operation at the same place, as often and as long.", "", hostPage},
	RankWait:    {page: lightPage},
	LateRank: {"The rank whose kernel of a collective is the shortest arrived last.",
		"Only durations are compared, as clocks of ranks need not agree.", fleetPage},
	RanksWait: {"Time in collectives beyond that of the last rank.",
		"Only durations are compared, as clocks of ranks need not agree.", fleetPage},
	RankDiffers: {"Kernel time of the rank against the median of all ranks.",
		"Ranks may differ by design, as pipeline stages do.", fleetPage},
	IncompleteRun: {"Files of a run, compared with the parallel size that it states.", "", fleetPage},
}

// causeLimits says what a cause cannot know, where that is more than its help says.
var causeLimits = map[Cause]string{
	HostCode:        "Host code without a range, op or frame has no name. Record with stacks, or add NVTX ranges.",
	LaunchCall:      "A profiler makes launches slower. Compare with a run without it.",
	GraphLaunch:     "A profiler makes launches slower. Compare with a run without it.",
	Synchronisation: "The call is known; who needs its result is not.",
	Lock:            "The holder of the lock is named only if it alone signalled at the end of the wait.",
	GPUDispatch:     "A profiler that serialises kernels makes these gaps longer.",
	Dependency: "The event that the stream waits for is rarely recorded. Lost records of kernels look the same where " +
		"nothing else shows what ran.",
	OtherRanks:   "One rank's trace shows that it waits, not for whom.",
	NoRequests:   "An idle poll and a scheduler that waits for requests look alike.",
	UnknownCause: "The verdict holds only if it holds with this time counted as host time and without it.",
}

// Topics explains all kinds and causes.
func Topics() []Topic {
	var out []Topic
	for _, k := range Kinds() {
		i, d := k.Info(), kindDepths[k]
		advice := withNext(i.Advice, i.Program)
		if k == RankWait {
			advice.Next = "strata " + i.Program + " --trace DIR --all-ranks"
		}
		out = append(out, Topic{ID: k.String(), Section: SectionFindings, Title: i.Title, Means: i.Help, Found: d.found,
			Limits: d.limits, Advice: advice, Page: d.page})
	}
	for _, c := range Causes() {
		i := c.Info()
		out = append(out, Topic{ID: c.String(), Section: SectionCauses, Title: i.Title, Means: i.Help,
			Limits: causeLimits[c],
			Found:  "A gap is cut at the calls of the thread that launches the next kernel; each piece has one cause.",
			Advice: withNext(i.Advice, IdleTime.Info().Program), Page: hostPage})
	}
	return out
}

func withNext(a Advice, program string) Advice {
	files := " FILE"
	switch program {
	case OperatorChanged.Info().Program:
		files = " --a OLD --b NEW"
	case HostChanged.Info().Program:
		files = " --baseline OLD --target NEW"
	case LateRank.Info().Program:
		files = " DIR"
	}
	a.Next = "strata " + program + files
	return a
}

// Lookup returns the topics with that identifier, in their order.
func Lookup(all []Topic, id string) []Topic {
	return slices.DeleteFunc(slices.Clone(all), func(t Topic) bool { return t.ID != id })
}
