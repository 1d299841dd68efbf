package finding

import "github.com/llmstrata/strata/internal/vocabulary"

// Kind is what sort of thing a finding is. Its word is stable.
type Kind uint8

// The kinds. More may be added.
const (
	NoKind Kind = iota

	// What puts figures in doubt.
	Health      // the recording is damaged or incomplete
	Coverage    // much of the GPU time is in no pass
	ServingPath // the window does not run what the server is configured to run
	OtherModel  // what was said of the model is not of the trace
	Doubt       // a reason not to believe a verdict

	// Where time is lost, or spent.
	IdleTime             // the GPU is idle, for one cause
	ExposedCommunication // communication that no compute overlaps
	RankWait             // a collective waits for ranks that arrive later
	ExposedCopies        // copies run and no kernel does
	Fusion               // a known fused path is not used
	AboveFloor           // an operator takes longer than the GPU needs for it
	SmallKernels         // many kernels too short to fill the GPU
	NoFloor              // operators that take much; how long they should take is not known
	LargestOperator      // the operators that take most

	// What changed between two runs.
	OperatorChanged // an operator became slower or faster
	OperatorNew     // an operator that the old run does not have
	OperatorRemoved // an operator that the new run does not have
	StepChanged     // a step became slower, and no operator clearly did
	UniformChange   // all kernels changed by one factor
	WaitChanged     // an exchange waits longer or shorter for other ranks
	PathChanged     // one run replays graphs, or runs compiled code, and the other does not
	KernelRenamed   // an operator runs a kernel of another name, as often and as long
	HostChanged     // a host operation became slower or faster
	HostNew         // a host operation that the old run does not have
	HostRemoved     // a host operation that the new run does not have
	HostRenamed     // a host operation has another name, as often and as long

	// Kinds that need several ranks.
	LateRank      // the other ranks wait for one
	RanksWait     // ranks wait for one another, and not for one of them
	RankDiffers   // a rank does something that the ranks beside it do not
	IncompleteRun // ranks are missing, damaged, there twice, or of two runs

	numKinds
)

// KindInfo is the row of a kind: all that consumers show of it.
type KindInfo struct {
	// Title is a noun phrase for headings and for gates.
	Title string
	// Help is the line of the documentation.
	Help string
	// Doubt is positive for kinds that put figures in doubt. They come before all others, the largest Doubt first.
	Doubt int
	// Program is the command that shows more.
	Program string
	// Advice helps against every finding of the kind that has no advice of its own.
	Advice Advice
}

var kinds = [numKinds]row[KindInfo]{
	NoKind: {"", KindInfo{Title: "Nothing", Help: "No finding."}},
	Health: {"health", KindInfo{"Damaged recording",
		"The trace lacks events or holds wrong ones. Figures that rest on them are doubtful.", 3, "layers",
		Advice{Do: "Record the trace again."}}},
	Coverage: {"coverage", KindInfo{"GPU time outside passes",
		"Much GPU time belongs to no forward pass. Figures per pass leave it out.", 1, "layers",
		Advice{Do: "Record with step annotations."}}},
	ServingPath: {"serving-path", KindInfo{"Unexpected serving path",
		"The window does not run what the server is configured to run.", 1, "host",
		Advice{Do: "Record a window of the path that serves requests."}}},
	OtherModel: {"other-model", KindInfo{"Config or number of layers of another model",
		"The config, or the number of layers that was given, contradicts the trace, and was left out.", 2, "layers",
		Advice{Do: "Pass that of this model, or none."}}},
	Doubt: {"doubt", KindInfo{"Doubt", "A reason not to believe a verdict.", 0, "host",
		Advice{Do: "Record a longer window of the steady run."}}},

	IdleTime: {"host-idle", KindInfo{"Idle GPU", "The GPU runs no kernel. Each cause has its own advice.", 0, "host",
		Advice{Do: "Run `strata host` to see what the host does meanwhile."}}},
	ExposedCommunication: {"exposed-communication", KindInfo{"Exposed communication",
		"GPUs exchange data and no compute overlaps it.", 0, "triage",
		Advice{Do: "Overlap communication with compute."}}},
	RankWait: {"rank-wait", KindInfo{"Waiting for ranks",
		"A collective waits for ranks that arrive later, before data moves.", 0, "light",
		Advice{Do: "Find the late rank (`strata light` on all ranks) and even out the work or its host."}}},
	ExposedCopies: {"exposed-copies", KindInfo{"Exposed copies", "Copies or sets run and no kernel does.", 0, "host",
		Advice{Do: "Overlap the copies with kernels on another stream."}}},
	Fusion: {"fusion", KindInfo{"Unused fused path",
		"Kernels run one by one for which a fused kernel is known.", 0, "triage",
		Advice{Do: "Run `strata triage` for the flag that enables the fused path."}}},
	AboveFloor: {"above-floor", KindInfo{"Operator above its floor",
		"An operator takes longer than the GPU needs for its work.", 0, "light",
		Advice{Do: "Try another kernel or backend for this operator."}}},
	SmallKernels: {"small-kernels", KindInfo{"Many small kernels", "Kernels are too short to fill the GPU.", 0,
		"light",
		Advice{Do: "Fuse the kernels."}}},
	NoFloor: {"no-floor", KindInfo{"Operators without a floor",
		"Operators take much of a step, and their minimum time is unknown.", 0, "light",
		Advice{Do: "Pass `--config config.json` to compare with the GPU's peak."}}},
	LargestOperator: {"largest-operator", KindInfo{"Largest operator",
		"The operator that takes most time. Nothing says how long it should take.", 0, "light",
		Advice{Do: "Pass `--config config.json` to compare with the GPU's peak."}}},

	OperatorChanged: {"operator", KindInfo{"Changed operator",
		"An operator takes longer or shorter than before.", 0, "compare", Advice{}}},
	OperatorNew: {"new", KindInfo{"New operator", "An operator that the old run does not have.", 0,
		"compare", Advice{}}},
	OperatorRemoved: {"removed", KindInfo{"Removed operator", "An operator that the new run does not have.", 0,
		"compare", Advice{}}},
	StepChanged: {"step", KindInfo{"Slower step",
		"A step takes longer than before, and no operator changed beyond noise.",
		0, "compare", Advice{Do: "Record more passes, or several runs a side."}}},
	UniformChange: {"uniform", KindInfo{"Uniform change",
		"All kernels changed by one factor: a clock, a power cap or a driver.", 0, "compare",
		Advice{Do: "Lock the GPU clocks and compare several runs a side."}}},
	WaitChanged: {"waiting", KindInfo{"Changed wait", "An exchange waits longer or shorter for other ranks.", 0,
		"compare", Advice{}}},
	PathChanged: {"path", KindInfo{"Changed launch path",
		"One run replays graphs or runs compiled code, and the other does not.", 0, "compare", Advice{}}},
	KernelRenamed: {"rename", KindInfo{"Renamed kernel",
		"An operator runs a kernel of another name, as often and as long.", 0, "compare",
		Advice{}}},
	HostChanged: {"host", KindInfo{"Changed host operation",
		"A host operation takes longer or shorter than before.", 0, "host-compare", Advice{}}},
	HostNew: {"host-new", KindInfo{"New host operation", "A host operation that the old run does not have.",
		0, "host-compare", Advice{}}},
	HostRemoved: {"host-removed", KindInfo{"Removed host operation",
		"A host operation that the new run does not have.", 0, "host-compare", Advice{}}},
	HostRenamed: {"host-renamed", KindInfo{"Renamed host operation",
		"A host operation has another name, as often and as long.", 0, "host-compare",
		Advice{}}},

	LateRank: {"late-rank", KindInfo{"Late rank", "The other ranks wait in collectives for one that arrives last.", 0,
		"fleet", Advice{Do: "Look for what only the late rank does before its collectives."}}},
	RanksWait: {"ranks-wait", KindInfo{"Ranks wait for one another",
		"Ranks wait in collectives, and no single rank is the last one.", 0, "fleet",
		Advice{Do: "Balance the work of the ranks, and pin their host threads to cores."}}},
	RankDiffers: {"rank-differs", KindInfo{"Rank unlike the others",
		"A rank spends more time on something than the median rank.", 0, "fleet",
		Advice{Do: "Compare its tokens, clocks and host threads with those of the others."}}},
	IncompleteRun: {"incomplete-run", KindInfo{"Incomplete run",
		"Ranks are missing, damaged, recorded twice, or of different runs.", 2, "fleet",
		Advice{Do: "Record all ranks of one run at the same time."}}},
}

var kindWords = wordsOf[Kind]("kind of finding", kinds[:])

// Kinds lists all kinds but NoKind, in the order of the documentation.
func Kinds() []Kind { return kindWords.All(NoKind + 1) }

// ByKernel reports whether findings of the kind rest on the times of single kernels.
func (k Kind) ByKernel() bool {
	switch k {
	case Fusion, AboveFloor, SmallKernels, NoFloor, ExposedCommunication, ExposedCopies:
		return true
	}
	return false
}

// Info returns the kind's row.
func (k Kind) Info() KindInfo { return infoOf(kinds[:], k) }

// String returns the kind's word.
func (k Kind) String() string { return kindWords.Word(k) }

// MarshalText returns the kind's word.
func (k Kind) MarshalText() ([]byte, error) { return kindWords.Text(k) }

// UnmarshalText accepts the word of a kind.
func (k *Kind) UnmarshalText(text []byte) error { return kindWords.Read(k, text) }

// row is what is known of a value of a set.
type row[I any] struct {
	word string
	info I
}

func wordsOf[T ~uint8, I any](set string, rows []row[I]) vocabulary.Words[T] {
	words := make([]string, len(rows))
	for i := range rows {
		words[i] = rows[i].word
	}
	return vocabulary.New[T](set, words...)
}

// infoOf is that of a value, of the first one for what is none of the set.
func infoOf[T ~uint8, I any](rows []row[I], v T) I {
	if int(v) < len(rows) {
		return rows[v].info
	}
	return rows[0].info
}
