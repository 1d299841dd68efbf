package operator

// Params are the numbers that decide. Costs are in units of a well-matched
// kernel: 0 is a perfect match, and an alignment is preferred to another when
// its sum is lower. They were set on the traces that docs/operators.md names;
// none is fine-tuned: see the tests, which hold a case on either side of each.
type Params struct {
	// SkipProduct is the cost of a product or an attention core that the plan has
	// and the kernels do not: rarer than one extra kernel, since a layer without
	// one of its products is no layer.
	SkipProduct float64
	// SkipSmall is the cost of a missing norm or another small step that every
	// server runs as a kernel, unless it is fused.
	SkipSmall float64
	// SkipOptional is the cost of missing what is often fused or absent: small, so
	// that it decides only between otherwise equal places.
	SkipOptional float64
	// ExtraProduct is the cost of a product, attention core or collective that no
	// step explains. Above SkipProduct, so that a wrong plan bends before a kernel
	// is given up.
	ExtraProduct float64
	// ExtraSmall is the cost of any other kernel that no step explains.
	ExtraSmall float64
	// Weak is the cost of a place that a kernel's name allows but does not say: a
	// generic element-wise kernel as an activation.
	Weak float64
	// Unknown is the cost of a place for a kernel whose name says nothing. Less
	// than ExtraSmall plus SkipSmall, so that the only small step of a gap is
	// filled; more than ExtraSmall alone, so that an optional one is not.
	Unknown float64
	// Again is the cost of a second kernel for the step that the one before it
	// had: two norms for queries and keys, one part of a split attention.
	Again float64
	// AgainProduct is the same for products and collectives, which are rarely run
	// in two parts.
	AgainProduct float64
	// Back is the cost of a step that the plan has earlier: servers differ in the
	// order of neighbours. Less than ExtraSmall, so that a small kernel out of order
	// is placed. MaxBack is how many steps back it may lie: past an indexer.
	Back    float64
	MaxBack int
	// BackProduct is the same for products and attention cores, whose order hardly
	// differs: as much as a product in two parts.
	BackProduct float64
	// Miss is the cost of a step that the kernel's module frames exclude.
	Miss float64
	// Shape is the cost of a product step whose sizes differ from those of the op
	// that launched it while another step's agree.
	Shape float64
	// Band is how many layers before and after its label a kernel may lie: labels
	// are off by some kernels, not by layers.
	Band int
	// Taken is the cost of a step that a kernel of the main stream has, for a
	// kernel of another stream.
	Taken float64
	// Votes is the share of the equal layers that must agree before the others are
	// overruled.
	Votes float64
	// Halves is how many layers must show one half only, a mixer or a feed-forward
	// part, to be a kind of their own where no config shows them: labels that are off cut
	// one layer short at each end.
	Halves int
	// Streams is the share of the pass's layers whose attention a stream must run
	// to be aligned by itself, as half of a batch is.
	Streams float64

	// Confidence by evidence: shares of right answers measured on traces with
	// truth, rounded down.
	ByModule, ByShape, ByPlan, ByOrder, ByWeak float32
}

// Defaults are the parameters everything uses.
func Defaults() Params {
	return Params{
		SkipProduct: 2, SkipSmall: 0.8, SkipOptional: 0.1,
		ExtraProduct: 3, ExtraSmall: 1,
		Weak: 0.5, Unknown: 1.3, Again: 0.2, AgainProduct: 2.5,
		Back: 0.8, MaxBack: 9, BackProduct: 2.5, Miss: 6, Shape: 2, Band: 1, Taken: 2,
		Votes: 0.6, Halves: 3, Streams: 0.5,
		ByModule: 0.99, ByShape: 0.97, ByPlan: 0.95, ByOrder: 0.9, ByWeak: 0.6,
	}
}
