package roofline

import "github.com/llmstrata/strata/internal/vocabulary"

// Basis is what a floor rests on, or why there is none.
type Basis uint8

// The bases.
const (
	BasisNone          Basis = iota // nothing is known of the work, or of the GPU
	BasisWeights                    // the config's weights, read once: at least one token ran
	BasisAnnotation                 // config, and tokens from the step's annotation
	BasisGrids                      // config, and tokens from grids
	BasisOption                     // config, and tokens that the user gave
	BasisRows                       // config, and the rows that kernels ran, padding included
	BasisShapes                     // recorded inputs of ops
	BasisConfigShapes               // config, and tokens from recorded inputs
	BasisShortest                   // of a collective: the shortest of the same in the pass
	BasisCache                      // none: less than its time, as what it moves fits into a cache
	BasisContradiction              // none: the row is faster than the GPU can be
	// none: too much of the pass is faster than the GPU can be, or the records are scrambled
	BasisWithheld
	BasisFewer // none: there was less to do than the bound that sums over requests give
)

var basisWords = vocabulary.New[Basis]("basis", "", "weights only", "tokens from annotation", "tokens from grids",
	"tokens given", "tokens from rows", "shapes", "tokens from shapes", "shortest of the same", "cache", "contradiction",
	"withheld", "at most")

// String returns the basis in words, "" for none.
func (b Basis) String() string { return basisWords.Word(b) }

// MarshalText returns the words of [Basis.String].
func (b Basis) MarshalText() ([]byte, error) { return basisWords.Text(b) }

// UnmarshalText sets b to the basis of these words; others are an error.
func (b *Basis) UnmarshalText(text []byte) error { return basisWords.Read(b, text) }

// Bases lists all bases.
func Bases() []Basis { return basisWords.All(BasisNone) }
