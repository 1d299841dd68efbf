package trace

// CodeInfo explains one code of a health finding.
type CodeInfo struct {
	Code Code
	// Title names it, Means says what happened, Do gives the fix.
	Title, Means, Do string
}

const (
	recordAgain   = "Record the trace again."
	recordShorter = "Record a shorter window, or raise the profiler's buffer size."
	stopFirst     = "Stop the profiler before the process ends, and copy the file when it is complete."
)

var codeInfos = []CodeInfo{
	{CodeEmpty, "Empty trace", "The file holds no events.", recordAgain},
	{CodeNoActivity, "No GPU activity", "The file holds CPU events only.",
		"Enable GPU activities in the profiler, and record while the server works."},
	{CodeNoTimes, "GPU activities without times",
		"Every GPU activity has time and duration 0: the profiler could not read the GPU's times.",
		"Record the trace again, with no other profiler at work on the GPU."},
	{CodeNoKernels, "No kernels", "GPU activities were recorded, but no kernel.",
		"Enable kernel activities in the profiler."},
	{CodeOrphans, "Kernels without a launch", "GPU activities have no launch call in the file. Their time counts; " +
		"their source is unknown.", "Start the profiler before the steps of interest."},
	{CodeOneRow, "One activity dominates", "Much of the GPU time is one activity.",
		"Check that activity in the timeline; record the trace again if it is an error."},
	{CodePersistent, "Persistent kernel", "A kernel spins beside others for the life of the process. It is left out of " +
		"GPU time.", "Nothing: this is how the library works."},
	{CodeEmptyGraphs, "Graph launches without kernels", "Graph launches left no activity on the GPU.",
		"Update the driver and the profiler, or record without graphs."},
	{CodeEmptyLaunches, "Launches without kernels", "Calls that launch a kernel left none, though calls before and " +
		"after them did: records of kernels are lost.", recordShorter},
	{CodeGraphRows, "Graph replays as one row", "nsys recorded graph replays without their kernels.",
		"Record with nsys --cuda-graph-trace=node."},
	{CodeAbsurdDuration, "Impossible duration", "An activity has a duration that none can have. It is left out.",
		recordAgain},
	{CodeCappedDuration, "Capped duration", "A duration was cut where its activity cannot have lasted longer.",
		"Nothing, unless there are many."},
	{CodeUnfinished, "Unfinished activity", "An activity was still running at the end of the window.",
		"Nothing, unless there are many."},
	{CodeSameStream, "Overlap on one stream", "Kernels overlap their predecessor on the same stream, on NVIDIA GPUs by " +
		"programmatic dependent launch. Busy time counts the overlap once.", "Nothing: this is a feature of the GPU."},
	{CodeScrambled, "Scrambled records", "Names and times of graph kernels do not belong together.",
		"Pass `--repair-order`, or record the trace again."},
	{CodeOrderRepaired, "Order repaired", "Scrambled records were joined again, as `--repair-order` asks.",
		"Check a few kernels in the timeline."},
	{CodeRankClash, "Two ranks named", "The document and the file name state different ranks.", "Rename the file."},
	{CodeClockChanged, "Clock changed", "The GPU's clock was not constant.",
		"Lock the clocks (nvidia-smi -lgc) before comparing runs."},
	{CodeRecordsMissing, "Records missing", "Passes lack kernels that others of the same kind have.", recordShorter},
	{CodeSharedLaunches, "Shared launches", "Kernels name a launch call that another kernel names, too: correlation " +
		"ids are damaged.", recordAgain},
	{CodeImpossibleOverlap, "Impossible overlap", "Activities of one stream overlap for most of the GPU time, or end " +
		"before earlier ones do.", recordAgain},
	{CodeTimeJump, "Time jump", "No GPU works for nearly all of the recording, or for most of it while work was " +
		"launched. A clock jumped, or the file holds several recordings.", "Record one run, and keep the machine's clock " +
		"as it is."},
	{CodeClocksApart, "Clocks apart", "Activities begin before their launch call, or all of them a second or more " +
		"after it: the clocks of host and GPU differ.", recordAgain},
	{CodeNoDurations, "No durations", "No GPU activity lasts: their ends were not recorded.", stopFirst},
	{CodeTimeScale, "Times in another unit", "Durations are a thousand times too short or too long for a GPU.",
		"Export the trace again, with times in the unit of its format."},
	{CodeSeveralDocuments, "Several documents", "The file holds several JSON documents, as joined files do, which are " +
		"read as one trace.", "Give the files one by one."},
	{CodeProton, "Proton trace", "A trace of Triton's profiler: kernels with their streams and times, without " +
		"launches, operators or steps.", "Record with torch.profiler or Nsight Systems for these."},
	{CodeLossTruncated, "Truncated file", "The file ends in the middle.", stopFirst},
	{CodeLossBadEvent, "Malformed events", "Events could not be read and were dropped.", recordAgain},
	{CodeLossBadTime, "Bad timestamps", "Events without a usable timestamp were dropped.", recordAgain},
	{CodeLossNegativeDuration, "Negative durations", "Events that end before they begin were dropped.", recordAgain},
	{CodeLossNotCollected, "Not collected", "The profiler states that it did not collect some activities.",
		recordShorter},
	{CodeLossNoDuration, "No duration", "Activities without an end were dropped.", stopFirst},
	{CodeLossTwice, "Recorded twice", "GPU activities that the file holds twice were counted once.", recordAgain},
	{CodeLossUnmatched, "Unmatched begin or end", "Begin or end events without their other half were dropped.",
		stopFirst},
	{CodeLossUnknownKind, "Unknown kind", "Rows of a kind that is not known were dropped.",
		"Report the file as an issue."},
	{CodeLossUnread, "Table not read", "Tables with rows are not read; the remark names what they would add.",
		"Nothing, unless you need them."},
	{CodeLossUnknownPhase, "Unknown phase", "Events of a phase that is not known were dropped.",
		"Report the file as an issue."},
	{CodeLossBadCompression, "Damaged compression", "Parts of the compressed input cannot be decompressed.",
		"Copy the file again."},
	{CodeLossRepaired, "Repaired", "Damaged text was repaired; the remark says where.",
		"Check that the figures are plausible."},
	{CodeLossLimit, "Limit reached", "Input beyond a limit was not read.",
		"Raise the limit, or record a shorter window."},
	{CodeLossDropped, "Dropped by the profiler", "The profiler states that it dropped records.", recordShorter},
	{CodeLossMissingTable, "Missing table", "The export lacks a table.",
		"Export again with all tables, or record what it holds."},
	{CodeLinkedByFlow, "Linked by flow arrows", "Activities have no correlation; flow arrows lead to their launches.",
		nothing},
	{CodeLinkedByExternalID, "Linked by External id",
		"Activities have no correlation; the External id of an op leads to their launches.", nothing},
	{CodeLinkedByGraphID, "Linked by graph id", "Activities have no correlation; the graph's id leads to its launch.",
		nothing},
	{CodeLinkedByOpExternalID, "Linked to an op", "Activities have no launch; the External id leads to their CPU op.",
		nothing},
}

// nothing is the advice for notes.
const nothing = "Nothing has to be done."

// Info explains a code, with words for those that are declared.
func (c Code) Info() CodeInfo {
	for _, i := range codeInfos {
		if i.Code == c {
			return i
		}
	}
	return CodeInfo{Code: c}
}

// Codes explains all codes of health findings.
func Codes() []CodeInfo { return append([]CodeInfo(nil), codeInfos...) }
