package hostoverhead

import (
	"time"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
)

// params are the numbers that decide what a report says.
type params struct {
	// MinShare is the share of the steps' time that the host must cause for YES, and below which, with all that is
	// unknown, it is NO. A tenth makes a run 1.11 times faster at most: less is within what two runs of a server differ
	// by. It is the share from which the published detector calls launches an overhead.
	MinShare float64
	// MinStagePasses is how many passes a stage needs to answer for itself: two may both be odd.
	MinStagePasses int
	// QueuedLimit is how long work that was queued may take to start before its dispatch no longer explains it.
	// Back-to-back kernels start within 1–2 µs, the first kernel after an idle time within 5–10 µs of its launch
	// (real exports of Nsight Systems); after more than this the stream waited for an event, another rank or a host
	// callback. It is also how long a kernel may be on its way that was launched while the device was idle: that time
	// is the host's, as an earlier launch would have hidden it. Of 2,707 such kernels on 17 real traces 2,639 start
	// within 21 µs; the others belong to training runs whose streams wait for each other, and to windows that a stray
	// kernel begins.
	QueuedLimit time.Duration
	// LongCopyCall is the duration from which an asynchronous copy call has waited: queueing one takes a few µs.
	LongCopyCall time.Duration
	// BlockedLaunch is the duration from which a launch call did more than launch: while the device is idle its queue
	// is not full, so the call loaded the kernel's module. Of 41,055 launch calls in 25 traces half take less than 6
	// µs, 99% less than 0.3 ms, and 162 more than this.
	BlockedLaunch time.Duration
	// Unnamed is the longest time between two calls of a thread that counts as its own work although nothing was
	// recorded in it: see [layer.Unnamed].
	Unnamed time.Duration

	// FewKernels and FewSteps are the numbers of kernels and steps below which figures say little.
	FewKernels, FewSteps int
	// DominantGap is the share of the window that one gap takes before it is suspected to be a pause.
	DominantGap float64
	// OrphanShare is the share of activities without a launch call from which causes are doubtful.
	OrphanShare float64
	// CommunicationShare is the share of the busy time in which only kernels that exchange data between GPUs run, from
	// which waiting for other ranks may hide in it: the published detector's caveat.
	CommunicationShare float64
	// UnnamedShare is the share of the host's time that nothing names from which that is a doubt.
	UnnamedShare float64
	// TracingCost is how many times longer host code takes while Python frames are recorded. Tracing of Python
	// functions about doubles the time of code that calls much (CPython's own figure for profiling hooks in C).
	TracingCost float64
	// AdviceShare is the share of the steps that a cause must take for advice on it.
	AdviceShare float64
	// MinKernelShare is the share of the busiest device's kernels below which a device does not decide: a rank's file
	// shows a handful of peer copies or set-up kernels on other devices, which are idle by nature.
	MinKernelShare float64
	// SplitRun is up to how many eager kernels between two replays count as a split of the graph without known
	// steps: attention between graph pieces is 1–3 kernels; sampling and preparation run between two steps.
	SplitRun int
}

// defaultParams are the numbers in use.
func defaultParams() params {
	return params{
		MinShare: 0.10, MinStagePasses: 3,
		QueuedLimit: 50 * time.Microsecond, LongCopyCall: 20 * time.Microsecond, BlockedLaunch: time.Millisecond,
		Unnamed:    layer.Unnamed,
		FewKernels: 100, FewSteps: 3, DominantGap: 0.30, OrphanShare: 0.10, CommunicationShare: 0.20,
		UnnamedShare: 0.50, TracingCost: 2,
		AdviceShare: 0.02, MinKernelShare: 0.01, SplitRun: 4,
	}
}

// Options change an analysis. The zero value is the default.
type Options struct {
	// HostShare is the share of the steps' time that the host must cause for YES; 0: a tenth.
	HostShare float64
	// Published are those of the published detector. They do not change the verdict.
	Published PublishedOptions
	// TopGaps is how many of the longest gaps are listed; nil: 10.
	TopGaps *int
	// Server is the server's setting of graphs and compilation; nil: not known, its framework's defaults hold.
	Server *profile.ServerArgs
	// Labels name the ranks, by place; "" and what is missing: the trace's rank.
	Labels []string

	numbers *params // replace those that decide, for tests; nil: defaultParams
}

// topGaps is how many gaps are listed by default.
const topGaps = 10

func (o *Options) params() *params {
	p := defaultParams()
	if o.numbers != nil {
		p = *o.numbers
	}
	if o.HostShare > 0 {
		p.MinShare = o.HostShare
	}
	return &p
}

func (o *Options) gaps() int {
	if o.TopGaps != nil {
		return max(*o.TopGaps, 0)
	}
	return topGaps
}
