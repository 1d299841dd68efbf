package hostoverhead

import (
	"slices"

	"github.com/llmstrata/strata/internal/vocabulary"
	"github.com/llmstrata/strata/layer/finding"
)

// DoubtCode says in a word why a verdict may be wrong, or why its window may not show what the server does.
type DoubtCode string

// The codes of doubts; [Topics] says what each means.
const (
	DoubtFewKernels                  DoubtCode = "few-kernels"
	DoubtFewSteps                    DoubtCode = "few-steps"
	DoubtColdStart                   DoubtCode = "cold-start"
	DoubtNoSteps                     DoubtCode = "no-steps"
	DoubtGraphCapture                DoubtCode = "graph-capture"
	DoubtNoLaunchCalls               DoubtCode = "no-launch-calls"
	DoubtLaunchesMissing             DoubtCode = "launches-missing"
	DoubtHostWorkUnnamed             DoubtCode = "host-work-unnamed"
	DoubtGraphKernelsHidden          DoubtCode = "graph-kernels-hidden"
	DoubtGraphLaunchesWithoutKernels DoubtCode = "graph-launches-without-kernels"
	DoubtOneRow                      DoubtCode = "one-row"
	DoubtPythonTracing               DoubtCode = "python-tracing"
	DoubtOneLongGap                  DoubtCode = "one-long-gap"
	DoubtWindowIsNotSteady           DoubtCode = "window-is-not-steady"
	DoubtProcessesShareDevice        DoubtCode = "processes-share-device"
	DoubtBusyWithCommunication       DoubtCode = "busy-with-communication"
	DoubtTraceIncomplete             DoubtCode = "trace-incomplete"
	DoubtNoGraphs                    DoubtCode = "no-graphs"
	DoubtUnexpectedGraphs            DoubtCode = "unexpected-graphs"
	DoubtNoCompiledCode              DoubtCode = "no-compiled-code"
	DoubtUnexpectedCompiledCode      DoubtCode = "unexpected-compiled-code"
)

// topic is the row of a code.
type topic struct {
	code             DoubtCode
	title, means, do string
}

// topics has one row for each code.
var topics = []topic{
	{DoubtFewKernels, "Few kernels", "The window holds fewer than 100 kernels: hardly a running server.",
		"Record under load."},
	{DoubtFewSteps, "Few steps", "The window holds fewer than 3 steps, too few to compare with each other.",
		"Record more steps."},
	{DoubtColdStart, "One step from a cold start",
		"The only step begins on an idle GPU, and launches all its work in less time than the GPU needs for it. In a " +
			"steady run the host may be ahead.", "Record more steps."},
	{DoubtNoSteps, "No steps", "No forward pass was found. Shares are of the window, which includes start-up and pauses.",
		"Record with step annotations."},
	{DoubtGraphCapture, "Only graph capture", "Every step captures graphs: a server's start, not how it serves.",
		"Record after the server has started."},
	{DoubtNoLaunchCalls, "No launch calls", "No API calls were recorded. Whether work was queued during a gap is unknown.",
		"Record the calls of the GPU's runtime, too."},
	{DoubtLaunchesMissing, "Launches missing", "Over 10% of the kernels have no launch call. Causes of the gaps before " +
		"them are guesses.", "Start the profiler before the steps of interest."},
	{DoubtHostWorkUnnamed, "Unattributed host time",
		"Over half of the host's time has no name. It may be a wait that was not recorded.",
		"Record Python stacks or NVTX ranges."},
	{DoubtGraphKernelsHidden, "Graph kernels hidden",
		"nsys recorded graph replays as a whole. Gaps inside them are invisible.",
		"Record with nsys --cuda-graph-trace=node."},
	{DoubtGraphLaunchesWithoutKernels, "Graph launches without kernels",
		"Replays left no activity on the GPU. Idle time is overstated.",
		"Record the trace again; some profiler versions lose graph kernels."},
	{DoubtOneRow, "Depends on one row", "One activity decides the answer. If it is a profiler error, the answer is " +
		"another one.", "Record the trace again."},
	{DoubtPythonTracing, "Python frames recorded", "Recording Python frames about doubles the time of host code.",
		"Record once without stacks and compare."},
	{DoubtOneLongGap, "One long gap", "One gap makes up over 30% of the time: start-up, or no requests.",
		"Record a window of steady load."},
	{DoubtWindowIsNotSteady, "Not steady", "The steady steps alone give another answer: warm-up is in the window.",
		"Record after warm-up."},
	{DoubtProcessesShareDevice, "Processes share a GPU",
		"Several processes launch on one GPU number. They may be different GPUs that the profiler merged.",
		"Record one process at a time, or check CUDA_VISIBLE_DEVICES."},
	{DoubtBusyWithCommunication, "Busy with communication",
		"For over 20% of busy time only communication runs; some may be waiting for other ranks.",
		"Pass every rank's file (`--trace DIRECTORY`)."},
	{DoubtTraceIncomplete, "Trace incomplete", "The recording lost events that idle time depends on.",
		"Record a shorter window, or raise the profiler's buffer size."},
	{DoubtNoGraphs, "No graphs",
		"The server is configured to replay graphs in decode, but no decode step of this window does.",
		"Record a window of the path that serves requests."},
	{DoubtUnexpectedGraphs, "Unexpected graphs", "The server is configured without graphs, but the window replays some.",
		"Check that server_args.json belongs to this run."},
	{DoubtNoCompiledCode, "No compiled code", "The server compiles the model, but the window runs no compiled kernel.",
		"Record a window of the path that serves requests."},
	{DoubtUnexpectedCompiledCode, "Unexpected compiled code",
		"The server does not compile the model, but the window runs compiled kernels.",
		"Check that server_args.json belongs to this run."},
}

// DoubtCodes lists them.
func DoubtCodes() []DoubtCode {
	var out []DoubtCode
	for _, t := range topics {
		out = append(out, t.code)
	}
	return out
}

// String returns the word.
func (c DoubtCode) String() string { return string(c) }

// UnmarshalText refuses words that are no code.
func (c *DoubtCode) UnmarshalText(text []byte) error {
	return vocabulary.Set(c, "doubt", text, DoubtCodes()...)
}

// topic is the row of a code.
func (c DoubtCode) topic() *topic {
	return &topics[slices.IndexFunc(topics, func(t topic) bool { return t.code == c })]
}

// Topics explains the codes of all doubts about a verdict.
func Topics() []finding.Topic {
	out := make([]finding.Topic, 0, len(topics))
	for _, t := range topics {
		out = append(out, finding.Topic{ID: t.code.String(), Section: finding.SectionDoubts, Title: t.title, Means: t.means,
			Advice: finding.Advice{Do: t.do, Next: "strata host FILE"}, Page: "host-verdict.md"})
	}
	return out
}
