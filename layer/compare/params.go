package compare

// params are the numbers that decide what a comparison reports. They were chosen by simulating pairs of runs with the noise that
// two real decode traces show (see docs/compare.md, and the simulator in simulate_test.go, which repeats the check).
type params struct {
	// Alpha is the chance of one false finding or more among all rows of a pair without a difference (Holm's method).
	Alpha float64
	// MinShare is the smallest finding, as a share of side A's pass.
	MinShare float64
	// MinShift is the smallest uniform shift of all kernels that is reported.
	MinShift float64
	// MinWait is the smallest finding about waiting and idle time, as a share of the pass.
	MinWait float64
	// WaitPasses is how many passes a side needs before waiting and idle time are judged at all: on one real trace the first
	// all-reduce of a pass took 5 to 7433 µs.
	WaitPasses int
	// PriorSD is the relative standard deviation of a row's pass totals that is expected before any is seen; PriorDF says for
	// how many observations that expectation counts. Measured medians: 0.31% (H100), 1.4% (MI300X).
	PriorSD float64
	PriorDF float64
	// CollectivePrior multiplies PriorSD for transfers between GPUs.
	CollectivePrior float64
	// WaitPriorSD is PriorSD for waiting and idle time, as a share of the pass.
	WaitPriorSD float64
	// MedianCost is how much larger a median's variance is than a mean's.
	MedianCost float64
	// Effective is how many independent passes one pass counts for: neighbours resemble each other (autocorrelation 0.4).
	Effective float64
	// WinsorMAD is from how many median absolute deviations on a pass counts as no further away.
	WinsorMAD float64
	// LayerSE multiplies the standard error over layers where a side has one pass: layers vary less than passes.
	LayerSE float64
	// SingleSD is PriorSD of a row with one launch, where a side has one pass.
	SingleSD float64
	// Floor is the relative standard deviation between two runs of the same program on the same kind of GPU, an assumption;
	// FloorElsewhere is that between different or unknown GPUs. FloorDF says how well they are known.
	Floor          float64
	FloorElsewhere float64
	FloorDF        float64
	// FloorLeast is what a learned floor is at least: runs that were equal so far may still differ. It is the smallest spread between two real
	// runs that was measured (0.22 to 0.26%), halved.
	FloorLeast float64
	// HostFloor is Floor for operations of the host, HostPriorSD their PriorSD (measured over eight steps of a server: 2%, 7% and 40% are the
	// quantiles at .1, .5 and .9 of 40 to 50 operations), HostSteps how many steps a side needs before they are judged:
	// of ten, 2.5% of simulated equal pairs showed a difference.
	HostFloor   float64
	HostPriorSD float64
	HostSteps   int
	// HostOperations is from how many operations on a pair tells its own floor, and HostFloorDF for how many of them the assumed one counts.
	HostOperations int
	HostFloorDF    float64
	// HostChange is the share of a step from which on a change of the host makes a conclusion: what two runs of one server differ by.
	HostChange float64
	// HostCorrelation bounds the autocorrelation of steps that operations of the host are taken to have, which is measured.
	HostCorrelation float64
	// RenameCount is by which share the occurrences in a step of an operation may differ from those of the one it was before a rename.
	RenameCount float64
	// ShiftSE is the standard error of the common shift itself. ShareCap bounds the weight of one row in it, and ShiftRows is how
	// many rows it needs.
	ShiftSE   float64
	ShareCap  float64
	ShiftRows int
	// ClockShift is from which relative difference of the GPU's clocks on the two sides differ for no reason of the program's: boost clocks under
	// a steady load move by one or two steps of 15 MHz.
	ClockShift float64
	// BimodalRuns is from how many runs a side on they may be of two kinds, of which each has at least BimodalShare of the runs, and which are
	// apart by at least BimodalGap: equal runs on an idle machine stay within 2 to 3 %.
	BimodalRuns  int
	BimodalShare float64
	BimodalGap   float64
	// BimodalPasses is from how many passes on those of a run may be of two kinds: of fewer, noise parts more.
	BimodalPasses int
	// TrendLeast is by how much passes change from the first to the last of a run for that to be said: as much as makes a finding of the whole step.
	TrendLeast float64
	// OtherPath is how far the shares of kernels that graphs replay may be apart on the same path, OtherCompiled those of kernels that a compiler
	// wrote: matrix products are the libraries' in compiled models too, so that a third of the kernels is the rule there.
	OtherPath     float64
	OtherCompiled float64
	// Transfer is up to how many times the median duration of a collective's launches one launch is transfer; the rest of it is
	// waiting for other ranks.
	Transfer float64
	// Presence is in which share of the passes something must occur to be new or removed.
	Presence float64
	// Equivalent is within which share of the pass a whole interval must lie to say that nothing differs.
	Equivalent float64
	// Pooled is the share of their kernels that passes have in common which are the same work: up to a tenth of the records may be lost.
	Pooled float64
	// Contained is the share of the kernels of a pass at the end of a window that another pass runs, too, where the window cuts it.
	Contained float64
	// Whole is the share of another pass's kernels from which on a pass at the end of a window is complete: the window may cut off its last ones, such as
	// the head and the sampler, which are a hundredth of its kernels and more of its time.
	Whole float64
	// SizeGap is how much longer some passes of a run take than the others, where their sizes are not known, for them to be of another size.
	SizeGap float64
	// Lost is up to which share of a row's launches may be missing in a pass for records to be lost: more are not run.
	Lost float64
	// Strays is how far the sides may be apart in the share of their steps' work that is in no pass.
	Strays float64
	// Alike is the share of their time, launches or names that passes of one model have in common which run other kernels: on another GPU, by
	// another server, or with other graphs. Measured: 0.95 and more between vendors, 0.5 and less between a dense model and one with experts.
	Alike float64
	// Matched is the share of each side's GPU time that must have a partner before there is a verdict.
	Matched float64
}

// defaultParams returns the numbers that hold where nothing else is said.
func defaultParams() params {
	return params{
		Alpha: 0.01, MinShare: 0.005, MinShift: 0.01, MinWait: 0.01, WaitPasses: 5,
		PriorSD: 0.005, PriorDF: 4, CollectivePrior: 4, WaitPriorSD: 0.02, MedianCost: 1.4, Effective: 0.43, WinsorMAD: 3,
		LayerSE: 3, SingleSD: 0.015, Floor: 0.0075, FloorElsewhere: 0.02, FloorDF: 12, FloorLeast: 0.0012,
		HostFloor: 0.05, HostPriorSD: 0.07, HostSteps: 12, HostOperations: 12, HostFloorDF: 2, HostChange: 0.03, HostCorrelation: 0.95, RenameCount: 0.05,
		ShiftSE: 0.0025, ShareCap: 0.05, ShiftRows: 6, BimodalRuns: 4, BimodalShare: 0.25, BimodalGap: 0.05, BimodalPasses: 6, TrendLeast: 0.03, OtherPath: 0.5, OtherCompiled: 0.1, ClockShift: 0.02, Transfer: 1.5, Presence: 0.5, Equivalent: 0.03, Pooled: 0.9, Contained: 0.95, Whole: 0.995, SizeGap: 0.1, Lost: 0.25, Strays: 0.1, Alike: 0.7, Matched: 0.5,
	}
}
