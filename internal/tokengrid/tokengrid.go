package tokengrid

import (
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/classify"
)

// Kind says what the rows of a family are.
type Kind uint8

// The kinds.
const (
	// Run are the rows that the model runs, padding included: norms, activations, rotary embeddings.
	Run Kind = iota
	// Written are the rows that enter the key-value cache: real tokens only, where the server leaves padding out.
	Written
)

// A Family is a group of kernels whose grid counts rows along one axis.
type Family struct {
	Name string
	Kind Kind
	axis int
}

// family is one entry of the table.
type family struct {
	function string
	scope    string // a namespace that the name must have; "" for any
	argument string // a template argument that the name must have; "" for any
	Family
}

var families = []family{
	{"rms_norm_kernel", "vllm", "", Family{"norm", Run, 0}},
	{"fused_add_rms_norm_kernel", "vllm", "", Family{"norm", Run, 0}},
	// The same kernel norms queries and keys with 64 threads a row, one row for each head.
	{"add_rmsnorm_quant_kernel", "aiter", "256", Family{"norm", Run, 0}},
	{"rotary_embedding_kernel", "", "", Family{"rope", Run, 0}},
	{"act_and_mul_kernel", "vllm", "", Family{"activation", Run, 0}},
	{"act_and_mul_kernel", "sgl_hip", "", Family{"activation", Run, 0}},
	{"scaled_fp8_quant_kernel_strided", "", "", Family{"quant", Run, 0}},
	{"finalizeKernelVecLoad", "", "", Family{"experts", Run, 0}},
	{"finalizeKernel", "", "", Family{"experts", Run, 1}},
	{"reshape_and_cache_kernel", "vllm", "", Family{"cache write", Written, 0}},
	{"reshape_and_cache_flash_kernel", "vllm", "", Family{"cache write", Written, 0}},
	{"store_kvcache", "", "", Family{"cache write", Written, 0}},
}

// Of returns the family that a kernel's name belongs to.
func Of(name string) (Family, bool) {
	n := classify.Parse(name)
	for i := range families {
		f := &families[i]
		if n.Function == f.function && (f.scope == "" || slices.Contains(n.Namespaces, f.scope)) && (f.argument == "" || hasArgument(n.TemplateArgs, f.argument)) {
			return f.Family, true
		}
	}
	return Family{}, false
}

// hasArgument finds a template argument, with or without the suffix of its type.
func hasArgument(args []string, want string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return strings.TrimRight(strings.TrimSpace(a), "uUlL") == want })
}

// Rows reads the rows of a launch, "gx,gy,gz|bx,by,bz"; 0 where it does not tell them.
func (f Family) Rows(launch string) int64 {
	grid, _, _ := strings.Cut(launch, "|")
	for axis := range strings.SplitSeq(grid, ",") {
		if f.axis == 0 {
			n, err := strconv.ParseInt(axis, 10, 64)
			if err != nil || n < 0 {
				return 0
			}
			return n
		}
		f.axis--
	}
	return 0
}

// Tally counts the rows of the kernels of one pass. The zero Tally is empty.
type Tally struct {
	counts map[vote]int
}

// vote is a family and the rows that one of its kernels has.
type vote struct {
	family string
	kind   Kind
	rows   int64
}

// Add counts a kernel of a family.
func (t *Tally) Add(f Family, launch string) {
	rows := f.Rows(launch)
	if rows <= 0 {
		return
	}
	if t.counts == nil {
		t.counts = map[vote]int{}
	}
	t.counts[vote{f.Name, f.Kind, rows}]++
}

// Run is the number of rows on which two different families of that kind agree; 0 where none do, or on several. A family says what most of its
// kernels do.
func (t *Tally) Run() int64 { return t.agreed(func(k Kind) bool { return k == Run }) }

// Any is the number of rows on which two different families of any kind agree; 0 where none do, or on several.
func (t *Tally) Any() int64 { return t.agreed(func(Kind) bool { return true }) }

// Written is the number of rows that most kernels write into the cache; 0 where none does.
func (t *Tally) Written() int64 {
	return t.most(func(k Kind) bool { return k == Written })["cache write"]
}

// most is what most kernels of each family say, the larger number of two that as many say.
func (t *Tally) most(of func(Kind) bool) map[string]int64 {
	best := map[string]vote{}
	for v, n := range t.counts {
		b, ok := best[v.family]
		if of(v.kind) && (!ok || n > t.counts[b] || n == t.counts[b] && v.rows > b.rows) {
			best[v.family] = v
		}
	}
	out := map[string]int64{}
	for name, v := range best {
		out[name] = v.rows
	}
	return out
}

func (t *Tally) agreed(of func(Kind) bool) int64 {
	families := map[int64]int{}
	for _, rows := range t.most(of) {
		families[rows]++
	}
	found := int64(0)
	for rows, n := range families {
		if n < 2 {
			continue
		}
		if found != 0 {
			return 0
		}
		found = rows
	}
	return found
}
