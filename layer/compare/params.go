package compare

// These numbers decide what a comparison reports. They were chosen by simulating pairs of runs with the noise that
// two real decode traces show (see docs/compare.md, and the simulator in simulate_test.go, which repeats the check).
const (
	// alpha is the chance of one false finding or more among all rows of a pair without a difference (Holm's method).
	alpha = 0.01
	// minShare is the smallest finding, as a share of side A's pass.
	minShare = 0.005
	// minShift is the smallest uniform shift of all kernels that is reported.
	minShift = 0.01
	// minWait is the smallest finding about waiting and idle time, as a share of the pass.
	minWait = 0.01
	// waitPasses is how many passes a side needs before waiting and idle time are judged at all: on one real trace
	// the first all-reduce of a pass took 5 to 7433 µs.
	waitPasses = 5
	// priorSD is the relative standard deviation of a row's pass totals that is expected before any is seen; priorDF
	// says for how many observations that expectation counts. Measured medians: 0.31% (H100), 1.4% (MI300X).
	priorSD = 0.005
	priorDF = 4
	// collectivePrior multiplies priorSD for transfers between GPUs.
	collectivePrior = 4
	// waitPriorSD is priorSD for waiting and idle time, as a share of the pass.
	waitPriorSD = 0.02
	// medianCost is how much larger a median's variance is than a mean's.
	medianCost = 1.4
	// effective is how many independent passes one pass counts for: neighbours resemble each other (autocorrelation
	// 0.4).
	effective = 0.43
	// winsorMAD is from how many median absolute deviations on a pass counts as no further away.
	winsorMAD = 3
	// layerSE multiplies the standard error over layers where a side has one pass: layers vary less than passes.
	layerSE = 3
	// singleSD is priorSD of a row with one launch, where a side has one pass.
	singleSD = 0.015
	// floorSameGPU is the relative standard deviation between two runs of the same program on the same kind of GPU,
	// an assumption; floorElsewhere is that between different or unknown GPUs. floorDF says how well they are known.
	floorSameGPU   = 0.0075
	floorElsewhere = 0.02
	floorDF        = 12
	// waitFloor is the relative standard deviation of waiting and idle time between two runs of the same program whose
	// kernels the host launches one by one. Of five runs in a row of one eager decode on an H200, four idled for 17 to
	// 23 ms a step, 12% around their mean, and the first for 29 ms, while their kernels took the same time to 0.1%; the
	// steps of five runs of the same decode by graph replay differed by 0.1%.
	waitFloor = 0.12
	// floorLeast is what a learned floor is at least: runs that were equal so far may still differ. It is the
	// smallest spread between two real runs that was measured (0.22 to 0.26%), halved.
	floorLeast = 0.0012
	// hostFloor is Floor for operations of the host, hostPriorSD their priorSD (measured over eight steps of a
	// server: 2%, 7% and 40% are the quantiles at .1, .5 and .9 of 40 to 50 operations), hostSteps how many steps a
	// side needs before they are judged: of ten, 2.5% of simulated equal pairs showed a difference.
	hostFloor   = 0.05
	hostPriorSD = 0.07
	hostSteps   = 12
	// innerShare is which part of an operation's difference is the one of an operation inside it.
	innerShare = 0.8
	// hostOperations is from how many operations on a pair has its own floor.
	hostOperations = 12
	// hostChange is the share of a step from which on a change of the host makes a conclusion: what two runs of one
	// server differ by.
	hostChange = 0.03
	// hostCorrelation is the largest autocorrelation of steps that an operation of the host is taken to have: that of
	// effective is the smallest.
	hostCorrelation = 0.95
	// renameCount is by which share the occurrences in a step of an operation may differ from those of the one it was
	// before a rename.
	renameCount = 0.05
	// shiftSE is the standard error of the common shift itself. shareCap bounds the weight of one row in it, and
	// shiftRows is how many rows it needs.
	shiftSE   = 0.0025
	shareCap  = 0.05
	shiftRows = 6
	// clockShift is from which relative difference of the GPU's clocks on the two sides differ for no reason of the
	// program's: boost clocks under a steady load move by one or two steps of 15 MHz.
	clockShift = 0.02
	// bimodalRuns is from how many runs a side on they may be of two kinds, each with at least bimodalShare
	// of the runs, and apart by at least bimodalGap: equal runs on an idle machine stay within 2 to 3 %.
	bimodalRuns  = 4
	bimodalShare = 0.25
	bimodalGap   = 0.05
	// bimodalPasses is from how many passes on those of a run may be of two kinds: of fewer, noise parts more.
	bimodalPasses = 6
	// otherPath is how far the shares of kernels that graphs replay may be apart on the same path, otherCompiled
	// those of kernels that a compiler wrote: matrix products are the libraries' in compiled models too, so that a
	// third of the kernels is the rule there.
	otherPath     = 0.5
	otherCompiled = 0.1
	// transferMost is up to how many times the median duration of a collective's launches one launch is transfer; the
	// rest of it is waiting for other ranks.
	transferMost = 1.5
	// presence is in which share of the passes something must occur to be new or removed.
	presence = 0.5
	// equivalent is the share of the pass within which an interval must lie for no difference.
	equivalent = 0.03
	// pooled is the share of their kernels that passes have in common which are the same work: up to a tenth of the
	// records may be lost.
	pooled = 0.9
	// contained is the share of the kernels of a pass at the end of a window that another pass runs, too, where the
	// window cuts it.
	contained = 0.95
	// wholePass is the share of another pass's kernels from which on a pass at the end of a window is complete: the
	// window may cut off its last ones, such as the head and the sampler, which are a hundredth of its kernels and
	// more of its time.
	wholePass = 0.995
	// sizeGap is how much longer some passes of a run take than the others, where their sizes are not known, for them
	// to be of another size.
	sizeGap = 0.1
	// lostRecords is up to which share of a row's launches may be missing in a pass for records to be lost: more are
	// not run.
	lostRecords = 0.25
	// strayWork is how far the sides may be apart in the share of their steps' work that is in no pass.
	strayWork = 0.1
	// leastAlike is the share of their time, launches or names that passes of one model have in common which run
	// other kernels: on another GPU, by another server, or with other graphs. Measured: 0.95 and more between
	// vendors, 0.5 and less between a dense model and one with experts.
	leastAlike = 0.7
	// leastMatched is the share of each side's GPU time that must have a partner before there is a verdict.
	leastMatched = 0.5
)
