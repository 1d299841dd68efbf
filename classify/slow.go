package classify

import (
	"cmp"
	"regexp"
	"strconv"
)

// alignment and generation read what CUTLASS and cuBLAS write into the names of products: "…_tn_align1>",
// "cutlass_75_…", "volta_…".
var (
	alignment  = regexp.MustCompile(`_align(\d+)\b`)
	generation = regexp.MustCompile(`\bcutlass_(\d\d)_|\b(volta|turing)_[a-z0-9]+gemm`)
)

// Align is how many elements of its operands a product of this name loads at once, 0 where the name does not say: 8
// elements of 16 bits are one load of 16 bytes, 1 is for sizes that nothing divides.
func Align(raw string) int {
	m := alignment.FindStringSubmatch(raw)
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return 0
	}
	return n
}

// capabilities are those of the generations that names spell.
var capabilities = map[string]int{"volta": 70, "turing": 75}

// BuiltFor is the compute capability that a product of this name was written for, such as 75; 0 where the name does
// not say.
func BuiltFor(raw string) int {
	m := generation.FindStringSubmatch(raw)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return cmp.Or(n, capabilities[m[2]])
}
