package segment

// Params are the numbers that decide. Shares and similarities lie between 0 and 1. Where a field says "one in", it is a
// whole number and the rule compares products, so that no rounding decides.
//
// "Seen" means: in the real and generated traces of this repository's tests.
type Params struct {
	// A comb is one kernel per layer, at every first to MaxStride-th occurrence of a name: Gemma has four norms of one name
	// in a layer. It may leave out MaxSurplus occurrences: final norms and logits outside the layers.
	MaxStride, MaxSurplus int
	// What a comb loses for every occurrence it skips within a layer, for every one it leaves out (up to MaxSurplus), for
	// resting on base names, and for the share of the sequence that it does not span: unevenness decides, these break
	// ties, but a vision tower in front of the language model has even combs of its own and spans half.
	StrideCost, SurplusCost, BaseCost, SpanCost float64
	// Combs that are tried for a cut, and for one of up to FewTried layers: two positions are always even.
	MaxCombs, CombsOfFew, FewTried int
	// MaxUneven is the unevenness of a comb above which nothing repeats; real stacks of mixed layers stay below 0.3.
	MaxUneven float64

	// MinSimilarity is the least mean similarity of neighbouring units that counts as a repeat. Dense and expert layers in
	// turns share their attention half and reach 0.5; unrelated stretches of kernels stay below 0.2.
	MinSimilarity float64
	// FewLayers is up to how many layers evenness says nothing; they must be FewSimilarity alike. The layers of small
	// models reach 0.9, the two halves of some other loop 0.2.
	// A unit of more than LongUnit kernels is no layer when there are that few: it is a pass. Layers seen have 5 to 300 kernels.
	FewLayers, LongUnit int
	FewSimilarity       float64

	// Of the counts of names, the MaxGuesses best supported ones are tried, down to GuessSupport of the best support.
	MaxGuesses   int
	GuessSupport float64
	// LongCount is from which count on a name may occur once more than a multiple says; with several passes in the
	// sequence, once per PassLayers occurrences.
	LongCount, PassLayers int
	// MixerShare is the share of units that must hold a mixer where mixers are known: all, but one or two whose mixer has
	// a name nobody knows.
	MixerShare float64
	// A unit without a mixer has one of a name nobody knows where one with a mixer has SameLength of its length, or the
	// other way round, and SameKernels of its kernels: lightning and softmax attention before equal experts have 0.7. The
	// halves of a layer of transformers have 0.65 of the kernels and half the length.
	SameLength, SameKernels float64
	// GuessSimilarity is the least similarity of units of more than two layers of a guess: halves of layers have 0.2 to
	// 0.6, full layers of two kinds 0.5.
	GuessSimilarity float64
	// Without mixers a count needs NamelessSupport of the best support, or NamelessLess of it where units are
	// NamelessSimilarity alike: one full layer in four gives 0.75, the halves of an unfused layer 0.61, of DeepSeek-V4 0.52.
	NamelessSupport, NamelessLess, NamelessSimilarity float64
	// Surplus is the similarity of the first or last of N+1 layers with its neighbour below which it is none: dense and
	// expert layers have 0.6, the embedding of a BERT and its layers 0.36.
	Surplus float64
	// A comb is ragged when an outer gap is off its median by RaggedOff of it and the next gap is not.
	RaggedOff float64
	// A stack covers MinCovered of its sequence, with units of MinUnit kernels and MinSupport of the names.
	MinCovered, MinSupport float64
	MinUnit                float64
	// Where mixers are known, NearSupport of the names will do that lack LostShare of a multiple at most: of a pass with one kernel in a
	// hundred lost hardly a name has its whole number, and nine in ten kernels have one that is near.
	NearSupport, LostShare float64
	// StackLayers layers are a stack where mixers are known; fewer need SmallSupport, and units of SmallUnit kernels.
	StackLayers             int
	SmallSupport, SmallUnit float64
	// Where one in RolesKnown kernels has a role and none is a mixer, a stack has OddLayers layers with OddSupport; where
	// hardly a name is known, StackLayers with HashedSupport. Five iterations of a training loop are no stack.
	RolesKnown    int
	OddLayers     int
	OddSupport    float64
	HashedSupport float64
	// TrainingShare: one in so many kernels of a training run has a name that says that it computes gradients or updates
	// weights. In the training traces seen 2.4 to 8.7% have, in those of servers none.
	TrainingShare int
	// ForcedUneven is the unevenness from which on a number of layers that somebody gave is doubted: forced upon cut
	// passes it is 0.18 and more, of hybrids 0.05 at most.
	ForcedUneven float64

	// Weights for up to FewTried layers: what the layers cover, what the cost of their comb takes, what mixers count,
	// against a similarity of 1. Behind a tower of unknown names mixers make 171 of 198 passes right instead of 76.
	FewCovers, FewUneven, FewMixers float64

	// A gap of DoubleGap medians may hold two units: it does where it is TwoSimilarity alike with two usual neighbouring ones,
	// whose gaps are off the median by UsualOff of it at most. Two kinds of layers differ by half at most in what was seen.
	DoubleGap, UsualOff, TwoSimilarity float64
	// Leading is how many layers of another kind may stand in front of a comb: models have up to three dense ones. They are
	// LeadLength times as long as the usual one at most; dense ones are shorter.
	Leading    int
	LeadLength float64
	// WholeUnit is the share of the unit that must follow the last layer to be one.
	WholeUnit float64
	// Missing is the share of the layers that a comb may lack: nine of ten kernels of a name were recorded.
	Missing float64
	// Turns is how many kinds may take turns; Parts how many parts of a layer may look like units. Fewer than TurnsLeast units
	// show no pattern: models of a mixer or a feed-forward part a layer have 50 and more.
	Turns, Parts, TurnsLeast int
	// TurnsSimilarity is how alike units in turns must be, and TurnsMixers how many of them must hold a mixer.
	TurnsSimilarity, TurnsMixers float64

	// Scores of an alignment: names match, roles match, neither does, one is missing. A match of names outweighs a
	// mismatch, so that an extension survives one foreign kernel when a known one follows, but does not run into a
	// prologue that shares an occasional kernel. Drop is the loss against the best at which it is given up: four foreign
	// kernels in a row.
	ScoreName, ScoreRole, ScoreMismatch, ScoreGap, Drop int
	// Band bounds the insertions or deletions of an alignment, Slack those beyond the difference in length. Units of one
	// model differ by 12 kernels at most in what was seen.
	Band, Slack int

	// Sequences are read again as layers of MaxKinds kinds at most; less than KindApart alike are two, more one of which kernels were lost:
	// with three in a hundred lost a layer of 20 keeps 0.97 of its kernels, dense and expert layers have 0.75 in common. ReadCells bounds
	// what reading takes, kernels times kernels of kinds.
	// Of two readings one that explains ReadClose of the other's kernels is as good.
	MaxKinds, ReadCells  int
	KindApart, ReadClose float64

	// What speaks for a phase: layers begin as layers under module frames do, each holds a mixer, head and tail of the
	// pass leave the place open (or contradict each other there), a norm stands first, and it is the one in front of the
	// mixer. Only their order matters.
	WeightBegins, WeightMixer, WeightOpen, WeightTorn, WeightNorm, WeightInput float64
	// HeadLeast is how many kernels of a first layer of another kind must run as the unit begins: a norm, a product, and
	// what a mixer needs.
	HeadLeast int
	// InFront is how many kernels must stand in front of what repeats for the last of them to be the first of the layers: the embedding, and
	// a norm that has no residual to add yet.
	InFront int
	// Lookups is how many embeddings a pass looks up whose norms stand behind the halves of layers: BERT and what descends from it have three,
	// models with norms in front have one, or two with positions.
	Lookups int

	// RareUnits: a name that is in less than one unit of so many is foreign to the layers. One full layer in four is not
	// rare; what a pass runs once is.
	RareUnits int
	// A break between passes has BreakLeast foreign kernels (one stray copy is none), and one BreakShare-th of what the
	// fullest has; breaks within BreakNear units are one. RegularOff is the share of the median that a regular distance
	// may be off, RegularShare the share of distances that must be regular.
	BreakLeast, BreakShare, BreakNear int
	RegularOff, RegularShare          float64
	// CombUneven is the unevenness up to which a given number of layers makes a comb where no name count does.
	CombUneven float64
	// MarkGap: kernels of a role that stand closer belong together, as a word and a position embedding do. Marks by name
	// are at most one in MarkRare kernels; MarkGroups groups are tried, of MarkMembers names beside the first.
	MarkGap, MarkRare, MarkGroups, MarkMembers int
	// MarkShare is the share of pieces between marks that must hold the layers; with runs of a draft model in between,
	// DraftShare of the kernels must. MarkUneven is how even a given number of layers must lie in a piece.
	MarkShare, DraftShare, MarkUneven float64
	// An idle pass has the layers of the others where they are IdleSimilarity alike and IdleUneven uneven at most.
	IdleSimilarity, IdleUneven float64
	// GraphLayers is how many layers make the kernels of a stretch a pass; piecewise graphs hold one each.
	GraphLayers int

	// A clear vote against a number of layers that somebody gave: of VotePasses passes all are VoteSimilarity alike,
	// VoteUneven uneven at most, and have VoteSupport of the names and VoteCovered of the pass. Whole uniform passes have
	// 0.97 and more, 0 to 0.04; a vision tower covers half. VoteApart layers more are next-token layers.
	VotePasses, VoteApart                               int
	VoteSimilarity, VoteUneven, VoteSupport, VoteCovers float64
	// A strong vote contradicts where nothing else was found.
	StrongSimilarity, StrongSupport float64
	// EndKernels behind the last layer show the end of a pass: final norm and logits.
	EndKernels int
	// ForeignShare is the share of kernels foreign to the layers up to which what follows them is another layer.
	ForeignShare float64
	// BehindShare: layers behind the sampling are another model's where they have one in so many of the mixers in front of it.
	BehindShare int
	// BeginShare: one in so many layers under module frames must begin with a pair for it to count; a stray launch at a
	// layer's edge is no beginning.
	BeginShare int

	// A stream is beside the main one when more than one in BesideShare of its kernels overlaps it: streams that take turns
	// overlap by launch jitter only. A name beside it belongs to layers when it occurs once in SideRecurs layers.
	BesideShare, SideRecurs int
	// A second half of the batch is one in HalfShare of the kernels of the first and has HalfNames of its names: halves
	// have all, shared experts and collectives have no mixer.
	HalfShare int
	HalfNames float64

	// Doubts, and what they leave of the confidence. All are read off the battery of generated cases: below the first number
	// nearly all cases are right, above it the share that the second says. CapFront is for passes that may begin anywhere.
	// DoubtForeign: of the layers of a pass that a whole one reads, 0.95 and more are in layers of that one in the battery; those of a decoder read by its
	// encoder 0.8.
	DoubtForeign, DoubtUnlike, DoubtOutside, DoubtRest, DoubtSingle, DoubtSome, DoubtUneven, DoubtUnstarted                                                                                         float64
	CapFront, CapUnlike, CapForeign, CapOutside, CapSingle, CapGuess, CapUneven, CapBare, CapNameless, CapUnstarted, CapDamaged, CapUnplaced, CapLost, CapBack, CapParts, CapSeveral, CapMiscounted float64
	// Layers begin with a norm, or none does: of a decoder that is read as halves every second one does, and where three kernels in a hundred were
	// lost three in a hundred do not. In between some do: more than DoubtMixed, less than all but that.
	DoubtMixed float64
	// LayerMixers: no layer is known that mixes tokens more often than a decoder's does, within itself and with its encoder; six layers of Mamba and
	// the attention that a model shares among them are seven.
	LayerMixers int

	// What a rung of the ladder is worth, before anything contradicts it.
	ConfidenceWhole, ConfidenceOneStack, ConfidenceStructure, ConfidenceGraph float64 // passes
	ConfidenceLoose, ConfidenceProfilerStep                                   float64
	ConfidenceAnchor                                                          float64 // layers
	ConfidenceRepeat, ConfidenceAlike, ConfidenceOpen                         float64 // least, most more by likeness, less by an open boundary
	ConfidenceReference, ConfidenceBothEnds, ConfidenceFragment               float64 // of cut passes
}

// DefaultParams returns the numbers that the documentation and the tests speak of.
func DefaultParams() *Params {
	return &Params{
		MaxStride: 4, MaxSurplus: 3,
		StrideCost: 0.02, SurplusCost: 0.01, BaseCost: 0.005, SpanCost: 0.25,
		MaxCombs: 4, CombsOfFew: 48, FewTried: 4, MaxUneven: 0.6,
		MinSimilarity: 0.3, FewLayers: 3, LongUnit: 400, FewSimilarity: 0.6,
		MaxGuesses: 24, GuessSupport: 0.25, LongCount: 4, PassLayers: 16,
		MixerShare: 0.9, SameLength: 0.7, SameKernels: 0.65, GuessSimilarity: 0.35,
		NamelessSupport: 0.8, NamelessLess: 0.4, NamelessSimilarity: 0.7,
		Surplus: 0.45, RaggedOff: 0.4,
		MinCovered: 0.4, MinSupport: 0.25, MinUnit: 3, NearSupport: 0.5, LostShare: 0.05,
		StackLayers: 4, SmallSupport: 0.5, SmallUnit: 6,
		RolesKnown: 4, OddLayers: 8, OddSupport: 0.6, HashedSupport: 0.35,
		TrainingShare: 50, ForcedUneven: 0.1,
		FewCovers: 0.3, FewUneven: 0.5, FewMixers: 0.3,
		DoubleGap: 1.6, UsualOff: 0.3, TwoSimilarity: 0.75, Leading: 4, LeadLength: 1.5, WholeUnit: 0.7, Missing: 0.1,
		Turns: 4, Parts: 4, TurnsLeast: 24, TurnsSimilarity: 0.7, TurnsMixers: 0.4,
		ScoreName: 2, ScoreRole: 1, ScoreMismatch: -2, ScoreGap: -2, Drop: 8,
		Band: 48, Slack: 8,
		MaxKinds: 8, ReadCells: 1 << 22, KindApart: 0.85, ReadClose: 0.9,
		WeightBegins: 8, WeightMixer: 6, WeightOpen: 2, WeightTorn: 0.5, WeightNorm: 1, WeightInput: 0.75, HeadLeast: 4, InFront: 2, Lookups: 3,
		RareUnits: 6, BreakLeast: 2, BreakShare: 2, BreakNear: 3, RegularOff: 0.1, RegularShare: 2.0 / 3, CombUneven: 0.35,
		MarkGap: 6, MarkRare: 8, MarkGroups: 12, MarkMembers: 2, MarkShare: 0.8, DraftShare: 0.6, MarkUneven: 0.5,
		IdleSimilarity: 0.6, IdleUneven: 0.1, GraphLayers: 4,
		VotePasses: 4, VoteApart: 2, VoteSimilarity: 0.95, VoteUneven: 0.05, VoteSupport: 0.6, VoteCovers: 0.8,
		StrongSimilarity: 0.8, StrongSupport: 0.6, EndKernels: 2, ForeignShare: 0.2, BeginShare: 16, BehindShare: 4,
		BesideShare: 20, SideRecurs: 4, HalfShare: 4, HalfNames: 0.9,
		LayerMixers: 2, DoubtMixed: 0.25, DoubtForeign: 0.87, DoubtUnlike: 0.05, DoubtOutside: 0.02, DoubtRest: 0.025, DoubtSingle: 0.2, DoubtSome: 0.045, DoubtUneven: 0.1, DoubtUnstarted: 0.1,
		CapFront: 0.5, CapUnlike: 0.795, CapForeign: 0.795, CapOutside: 0.75, CapSingle: 0.95, CapGuess: 0.92, CapUneven: 0.6, CapBare: 0.95, CapNameless: 0.799,
		CapUnstarted: 0.899, CapDamaged: 0.795, CapUnplaced: 0.899, CapLost: 0.1, CapBack: 0.97, CapParts: 0.795, CapSeveral: 0.795, CapMiscounted: 0.795,
		ConfidenceWhole: 0.3, ConfidenceOneStack: 0.95, ConfidenceStructure: 0.995, ConfidenceGraph: 0.995,
		ConfidenceLoose: 0.985, ConfidenceProfilerStep: 0.9, ConfidenceAnchor: 0.97,
		ConfidenceRepeat: 0.96, ConfidenceAlike: 0.035, ConfidenceOpen: 0.1,
		ConfidenceReference: 0.985, ConfidenceBothEnds: 0.4, ConfidenceFragment: 0.96,
	}
}

// share compares part with a share of whole without deciding by a rounding in the last place.
func atLeast(part, share, whole float64) bool { return part >= share*whole-1e-9 }
