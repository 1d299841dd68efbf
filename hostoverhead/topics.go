package hostoverhead

import "github.com/llmstrata/strata/layer/finding"

// topics has one row for each code of a doubt: its title, what it means, and what to do.
var topics = []struct{ code, title, means, do string }{
	{"few-kernels", "Few kernels", "The window holds fewer than 100 kernels: hardly a running server.",
		"Record under load."},
	{"few-steps", "Few steps", "The window holds fewer than 3 steps, too few to compare with each other.",
		"Record more steps."},
	{"no-steps", "No steps", "No forward pass was found. Shares are of the window, which includes start-up and pauses.",
		"Record with step annotations, or pass `--config config.json`."},
	{"graph-capture", "Only graph capture", "Every step captures graphs: a server's start, not how it serves.",
		"Record after the server has started."},
	{"no-launch-calls", "No launch calls", "No API calls were recorded. Whether work was queued during a gap is unknown.",
		"Record CUDA API calls (nsys --trace=cuda; torch.profiler with CPU activities)."},
	{"launches-missing", "Launches missing", "Over 10% of the kernels have no launch call. Causes of the gaps before them are guesses.",
		"Start the profiler before the steps of interest."},
	{"host-work-unnamed", "Unattributed host time",
		"Over half of the host's time has no name. It may be a wait that was not recorded.",
		"Record Python stacks or NVTX ranges."},
	{"graph-kernels-hidden", "Graph kernels hidden",
		"nsys recorded graph replays as a whole. Gaps inside them are invisible.",
		"Record with nsys --cuda-graph-trace=node."},
	{"graph-launches-without-kernels", "Graph launches without kernels",
		"Replays left no activity on the GPU. Idle time is overstated.",
		"Record the trace again; some profiler versions lose graph kernels."},
	{"one-row", "Depends on one row", "One activity decides the answer. If it is a profiler error, the answer is another one.", "Record the trace again."},
	{"python-tracing", "Python frames recorded", "Recording Python frames about doubles the time of host code.",
		"Record once without stacks and compare."},
	{"one-long-gap", "One long gap", "One gap makes up over 30% of the time: start-up, or no requests.",
		"Record a window of steady load."},
	{"window-is-not-steady", "Not steady", "The steady steps alone give another answer: warm-up is in the window.",
		"Record after warm-up."},
	{"processes-share-device", "Processes share a GPU",
		"Several processes launch on one GPU number. They may be different GPUs that the profiler merged.",
		"Record one process at a time, or check CUDA_VISIBLE_DEVICES."},
	{"busy-with-communication", "Busy with communication",
		"During over 20% of the busy time only communication runs. The GPU may wait for others meanwhile.",
		"Pass every rank's file (`--trace DIRECTORY`)."},
	{"trace-incomplete", "Trace incomplete", "The recording lost events that idle time depends on.",
		"Record a shorter window, or raise the profiler's buffer size."},
	{"no-graphs", "No graphs", "The server replays graphs in decode, but no decode step of this window does.",
		"Record a window of the path that serves requests."},
	{"unexpected-graphs", "Unexpected graphs", "The server is configured without graphs, but the window replays some.",
		"Check that server_args.json belongs to this run."},
	{"no-compiled-code", "No compiled code", "The server compiles the model, but the window runs no compiled kernel.",
		"Record a window of the path that serves requests."},
	{"unexpected-compiled-code", "Unexpected compiled code",
		"The server does not compile the model, but the window runs compiled kernels.",
		"Check that server_args.json belongs to this run."},
}

// Topics explains the codes of all doubts about a verdict.
func Topics() []finding.Topic {
	out := make([]finding.Topic, 0, len(topics))
	for _, t := range topics {
		out = append(out, finding.Topic{ID: t.code, Section: finding.SectionDoubts, Title: t.title, Means: t.means,
			Advice: finding.Advice{Do: t.do, Next: "strata host FILE"}, Page: "host-verdict.md"})
	}
	return out
}
