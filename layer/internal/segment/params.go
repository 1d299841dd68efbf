package segment

// The numbers that decide. Shares and similarities lie between 0 and 1. Where a comment says "one in", it is a
// whole number and the rule compares products, so that no rounding decides.
//
// "Seen" means: in the real and generated traces of this repository's tests.
const (
	// A comb is one kernel per layer, at every first to maxStride-th occurrence of a name: Gemma has four norms of
	// one name in a layer. It may leave out maxSurplus occurrences: final norms and logits outside the layers.
	maxStride  = 4
	maxSurplus = 3
	// What a comb loses for every occurrence it skips within a layer, for every one it leaves out (up to maxSurplus),
	// for resting on base names, twice that for norms that are written out, and for the share of the sequence that it
	// does not span: unevenness decides, these break ties, but a vision tower before the language model has even combs
	// of its own and spans half.
	strideCost  = 0.02
	surplusCost = 0.01
	baseCost    = 0.005
	spanCost    = 0.25
	// Combs that are tried for a cut, and for one of up to fewTried layers: two positions are always even.
	maxCombs   = 4
	combsOfFew = 48
	fewTried   = 4
	// maxUneven is the unevenness of a comb above which nothing repeats; real stacks of mixed layers stay below 0.3.
	maxUneven = 0.6

	// MinSimilarity is the least mean similarity of neighbouring units that counts as a repeat. Dense and expert
	// layers in turns share their attention half and reach 0.5; unrelated stretches of kernels stay below 0.2.
	MinSimilarity = 0.3
	// fewLayers is up to how many layers evenness says nothing; they must be fewSimilarity alike. The layers of small
	// models reach 0.9, the two halves of some other loop 0.2.
	fewLayers     = 3
	fewSimilarity = 0.6

	// Of the counts of names, the maxGuesses best supported ones are tried, down to guessSupport of the best support.
	maxGuesses   = 24
	guessSupport = 0.25
	// longCount is from which count on a name may occur once more than a multiple says; with several passes in the
	// sequence, once per passLayers occurrences.
	longCount  = 4
	passLayers = 16
	// mixersLeast is the share of units that must hold a mixer where mixers are known: all, but one or two whose
	// mixer has a name nobody knows.
	mixersLeast = 0.9
	// A unit without a mixer has one of a name nobody knows where one with a mixer has sameLength of its length, or
	// the other way round, and sameKernels of its kernels in their order: lightning and softmax attention before equal
	// experts have 0.75. The halves of a layer that is written out, as Falcon-H1's, have 0.42, and 0.68 in any order.
	sameLength  = 0.7
	sameKernels = 0.65
	// guessSimilarity is the least similarity of units of more than two layers of a guess: halves of layers have 0.2 to
	// 0.6, full layers of two kinds 0.5.
	guessSimilarity = 0.35
	// Without mixers a count needs namelessSupport of the best support, or namelessLess of it where units are
	// namelessSimilarity alike: one full layer in four gives 0.75, the halves of an unfused layer 0.61, of
	// DeepSeek-V4 0.52.
	namelessSupport    = 0.8
	namelessLess       = 0.4
	namelessSimilarity = 0.7
	// surplusAlike is the similarity of the first or last of N+1 layers with its neighbour below which it is none:
	// dense and expert layers have 0.6, the embedding of a BERT and its layers 0.36.
	surplusAlike = 0.45
	// A comb is ragged when an outer gap is off its median by raggedOff of it and the next gap is not.
	raggedOff = 0.4
	// A stack covers minCovered of its sequence, with units of minUnit kernels and minSupport of the names.
	minCovered = 0.4
	minSupport = 0.25
	minUnit    = 3
	// Where mixers are known, nearLeast of the names will do that lack lostShare of a multiple at most: in a
	// pass with one kernel in a hundred lost hardly a name has its full number, and nine in ten kernels have one that
	// is near.
	nearLeast = 0.5
	lostShare = 0.05
	// MaxLayers is how many layers a pass has at most, as many as a config: what repeats more often is no layer.
	MaxLayers = 4096
	// StackLayers layers are a stack where mixers are known, and make the kernels of a stretch a pass, as piecewise
	// graphs hold one each; fewer need smallSupport, and units of smallUnit kernels.
	StackLayers  = 4
	smallSupport = 0.5
	smallUnit    = 6
	// Where one in rolesKnown kernels has a role and none is a mixer, a stack has oddLayers layers with oddSupport;
	// where hardly a name is known, StackLayers with hashedSupport. Five iterations of a training loop are no stack.
	rolesKnown    = 4
	oddLayers     = 8
	oddSupport    = 0.6
	hashedSupport = 0.35
	// trainingShare: one in so many kernels of a training run has a name that says that it computes gradients or
	// updates weights. In the training traces seen 2.4 to 8.7% have, in those of servers none.
	trainingShare = 50
	// forcedUneven is the unevenness from which on a number of layers that somebody gave is doubted: forced upon cut
	// passes it is 0.18 and more, of hybrids 0.05 at most.
	forcedUneven = 0.1

	// Weights for up to fewTried layers: what the layers cover, what the cost of their comb takes, what mixers count,
	// against a similarity of 1. Behind a tower of unknown names mixers make 171 of 198 passes right instead of 76.
	fewCovers = 0.3
	fewUneven = 0.5
	fewMixers = 0.3

	// A gap of doubleGap medians may hold two units: it does where each half is like a usual one, whose gap is off the
	// median by usualOff of it at most. Two kinds of layers differ by half at most in what was seen.
	doubleGap = 1.6
	usualOff  = 0.3
	// maxLeading is how many layers of another kind may come before a comb: models have up to three dense ones.
	// They are leadLength times as long as the usual one at most; dense ones are shorter.
	maxLeading = 4
	leadLength = 1.5
	// wholeUnit is the share of the unit that must follow the last layer to be one.
	wholeUnit = 0.7
	// missingShare is the share of the layers that a comb may lack: nine of ten kernels of a name were recorded.
	missingShare = 0.1
	// maxTurns is how many kinds may take turns; Parts how many parts of a layer may look like units. Fewer than
	// turnsLeast units show no pattern: models of a mixer or a feed-forward part a layer have 50 and more.
	maxTurns   = 4
	maxParts   = 4
	turnsLeast = 24
	// turnsSimilarity is how alike units in turns must be, and neighbours must not be: of Nemotron's they are 0.6, of
	// the parts of Zamba's layers, mostly a state space alone, 0.8. turnsMixers of them must hold a mixer.
	// Layers are no parts where whole ones are as uneven as partsUneven of them: pairs of Nemotron's layers have 0.2 to
	// 0.5 of it, layers of two parts 0.04 to 0.1 where three in a hundred kernels are lost.
	turnsSimilarity = 0.7
	turnsMixers     = 0.4
	partsUneven     = 0.1

	// Scores of an alignment: names match, roles match, neither does, one is missing. A match of names outweighs a
	// mismatch, so that an extension survives one foreign kernel when a known one follows, but does not run into a
	// prologue that shares an occasional kernel. maxDrop is the loss against the best at which it is given up: four
	// foreign kernels in a row.
	scoreName     = 2
	scoreRole     = 1
	scoreMismatch = -2
	scoreGap      = -2
	maxDrop       = 8
	// maxBand bounds the insertions or deletions of an alignment, Slack those beyond the difference in length. Units
	// of one model differ by 12 kernels at most in what was seen.
	maxBand   = 48
	bandSlack = 8

	// Sequences are read again as layers of maxKinds kinds at most; less than kindApart alike are two, more one of
	// which kernels were lost: with three in a hundred lost a layer of 20 keeps 0.97 of its kernels, dense and expert
	// layers have 0.75 in common. readCells bounds what reading takes, kernels times kernels of kinds. Of two
	// readings one that explains ReadClose of the other's kernels is as good. Another model's layers explain readLike
	// of a pass at least.
	maxKinds  = 8
	readCells = 1 << 22
	kindApart = 0.85
	ReadClose = 0.9
	readLike  = 0.5

	// What speaks for a phase: each layer holds a mixer, head and tail of the pass leave the place open, a norm is
	// first, and it is the one before the mixer. Only their order matters.
	weightMixer = 6
	weightOpen  = 2
	weightNorm  = 1
	weightInput = 0.75
	// headLeast is how many kernels of a first layer of another kind must run as the unit begins: a norm, a product,
	// and what a mixer needs.
	headLeast = 4
	// inFront is how many kernels must come before what repeats for the last of them to be the first of the
	// layers: the embedding, and a norm that has no residual to add yet.
	inFront = 2
	// minLookups is the least number of embeddings that a pass looks up whose norms follow the halves of layers: BERT
	// and what descends from it have three, models with norms before them have one, or two with positions.
	minLookups = 2

	// rareUnits: a name that is in less than one unit of so many is foreign to the layers. One full layer in four is
	// not rare; what a pass runs once is.
	rareUnits = 6
	// A break between passes has breakLeast foreign kernels (one stray copy is none), and one breakShare-th of what the
	// fullest has; breaks within breakNear units are one. regularOff is the share of the median that a regular distance
	// may be off, regularShare the share of distances that must be regular.
	breakLeast   = 2
	breakShare   = 2
	breakNear    = 3
	regularOff   = 0.1
	regularShare = 2.0 / 3
	// CombUneven is the unevenness up to which a given number of layers makes a comb where no name count does.
	CombUneven = 0.35
	// markGap: kernels of a role that are closer belong together, as a word and a position embedding do. Marks by
	// name are at most one in markRare kernels; markGroups groups are tried, of markMembers names beside the first.
	markGap     = 6
	markRare    = 8
	markGroups  = 12
	markMembers = 2
	// MarkShare is the share of pieces between marks that must hold the layers; with runs of a draft model in between,
	// DraftShare of the kernels must.
	MarkShare  = 0.8
	DraftShare = 0.6
	// An idle pass has the layers of the others where they are IdleSimilarity alike and IdleUneven uneven at most.
	IdleSimilarity = 0.6
	IdleUneven     = 0.1

	// A clear vote against a number of layers that somebody gave: of votePasses passes all are voteSimilarity alike,
	// voteUneven uneven at most, and have voteSupport of the names and VoteCovered of the pass. Whole uniform passes
	// have 0.97 and more, 0 to 0.04; a vision tower covers half. voteApart layers more are next-token layers.
	votePasses     = 4
	voteApart      = 2
	voteSimilarity = 0.95
	voteUneven     = 0.05
	voteSupport    = 0.6
	voteCovers     = 0.8
	// A strong vote contradicts where nothing else was found.
	strongSimilarity = 0.8
	strongSupport    = 0.6
	// EndKernels after the last layer show the end of a pass: final norm and logits.
	EndKernels = 2
	// foreignShare is the share of kernels foreign to the layers up to which what follows them is another layer.
	foreignShare = 0.2
	// afterShare: layers after the sampling are another model's if they have one in so many of the mixers before it.
	afterShare = 4

	// A second half of the batch is one in HalfShare of the kernels of the first and has HalfNames of its names: halves
	// have all, shared experts and collectives have no mixer.
	HalfShare = 4
	HalfNames = 0.9

	// What is missing from a pass by itself, see [Restore]. Kernels before and after a pause are like those of another
	// place if restoreLike are, which is half a layer or more, and more than restoreFar say no more. restoreTime is how
	// much longer than windows near it, in nats, a pause may be: the GPU may idle in it, too. It is hardly ever shorter,
	// which counts restoreFaster times. Where another number of kernels is less than restoreMargin worse, which of them is
	// missing is open. Profilers lose a buffer or two, so that the maxPauses longest pauses are looked
	// at, and maxPlaces of a kind, and restoreSteps for what is usual, which bounds the time.
	restoreLike   = 6
	restoreFar    = 48
	restoreTime   = .3
	restoreFaster = 2
	restoreMargin = .15
	maxPauses     = 16
	maxPlaces     = 1024
	restoreSteps  = 1024

	// From where on something is doubted, see [Limits]. All are read off the battery of generated cases: below them
	// nearly all cases are right. DoubtForeign: of the layers of a pass that a whole one reads, 0.95 and more are in
	// layers of that one in the battery; those of a decoder read by its encoder 0.8.
	DoubtForeign   = 0.87
	doubtUnlike    = 0.05
	doubtOutside   = 0.02
	doubtRest      = 0.025
	doubtSingle    = 0.2
	doubtSome      = 0.045
	DoubtUneven    = 0.1
	doubtUnstarted = 0.1
	// CapBack is what is left where nothing shows how many layers there are.
	CapBack = 0.993
	// Layers begin with a norm, or none does: of a decoder that is read as halves every second one does, and where
	// three kernels in a hundred were lost three in a hundred do not. In between some do: more than doubtMixed, less
	// than all but that.
	doubtMixed = 0.25
	// layerMixers: no layer is known that mixes tokens more often than a decoder's does, within itself and with its
	// encoder; six layers of Mamba and the attention that a model shares among them are seven.
	layerMixers = 2

	// What a rung of the ladder is worth, before anything contradicts it.
	ConfidenceWhole        = 0.3
	ConfidenceOneStack     = 0.98
	ConfidenceStructure    = 0.995
	ConfidenceLoose        = 0.985
	ConfidenceProfilerStep = 0.9
	ConfidenceAnchor       = 0.97 // layers
	confidenceRepeat       = 0.975
	confidenceAlike        = 0.02
	confidenceOpen         = 0.1 // least, most more by likeness, less by an open boundary
	ConfidenceReference    = 0.985
	ConfidenceBothEnds     = 0.4
	confidenceFragment     = 0.96 // of cut passes
)

// AtLeast compares part with a share of whole without deciding by a rounding in the last place.
func AtLeast[P, W int | float64](part P, share float64, whole W) bool {
	return float64(part) >= share*float64(whole)-1e-9
}
