package classify

import (
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/wordmatch"
)

// labelParams are the numbers that decide about labels.
type labelParams struct {
	// long is the length from which a generated name of a matrix product is cut after its tile: what follows
	// (stages, clusters, epilogue) says little to a reader. The generated names of cuBLAS and TensorRT-LLM in the
	// sample traces have 85 to 160 letters, 45 to 60 of them up to the tile; those of nvjet, which are left alone, at
	// most 48.
	long int
	// apart is how many words at most are added to make labels unique; labels that are still equal get a number.
	apart int
	// words is how many words of a name are looked at for that.
	words int
}

var labels = labelParams{long: 56, apart: 6, words: 512}

// describing are wrappers that say how the operation they run is applied, so that labels show both:
// reduce_kernel[MeanOps].
var describing = map[string]bool{"reduce_kernel": true, "multi_tensor_apply_kernel": true, "trampoline_kernel": true}

// label returns the name that tables show: the function, or what a generic kernel runs, without scopes and arguments.
// Generated names of matrix products keep their types and their tile. Names of different kernels may have one label;
// [Labels] makes them unique.
func (n *Name) label() string {
	switch {
	case n.Operation == "":
		return n.shortFunction(n.Function)
	case describing[n.Function]:
		return n.Function + "[" + n.Operation + "]"
	}
	return n.shortFunction(n.Operation)
}

// shortFunction shortens the names that generators write.
func (n *Name) shortFunction(fn string) string {
	if n.Family == familyTensile {
		if s, ok := tensileLabel(fn); ok {
			return s
		}
	}
	// Kernels of the CuTe DSL: module and class in one word, then the types of their arguments.
	if s, _, ok := strings.Cut(fn, "_object_at_"); ok {
		fn = strings.TrimPrefix(s, "kernel_cutlass_kernel_")
	}
	if t := tile(n); t != "" && len(fn) >= labels.long {
		if before, _, ok := strings.Cut(fn, t); ok {
			return before + t
		}
	}
	return fn
}

// tensileLabel keeps the index letters and types of a Tensile name, and its macro tile:
// Cijk_Alik_Bljk_BBS_…_MT128x256x32_….
func tensileLabel(fn string) (string, bool) {
	parts := strings.Split(fn, "_")
	const head = 4 // three index words and the types
	mt := slices.IndexFunc(parts, func(p string) bool { return len(p) > 2 && p[:2] == "MT" && wordmatch.IsDigit(p[2]) })
	if mt < head {
		return "", false
	}
	return strings.Join(append(parts[:head:head], parts[mt]), "_"), true
}

// Labels returns a label for each name, different ones for different names: its short name, and where that is the
// same for several names, the scope around it or the words that only some of them have, as in
// add_rmsnorm_quant_kernel<256, 16, true>. The labels depend on the set of names, not on their order.
func Labels(names []string) []string {
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	type labelled struct{ label, raw string }
	all := make([]labelled, len(sorted))
	for i, raw := range sorted {
		n := Parse(raw)
		all[i] = labelled{n.label(), raw}
	}
	slices.SortStableFunc(all, func(a, b labelled) int { return strings.Compare(a.label, b.label) })
	of := make(map[string]string, len(sorted))
	for i := 0; i < len(all); {
		first := i
		var group []string
		for ; i < len(all) && all[i].label == all[first].label; i++ {
			group = append(group, all[i].raw)
		}
		tellApart(all[first].label, group, of)
	}
	unique(sorted, of)
	out := make([]string, len(names))
	for i, raw := range names {
		out[i] = of[raw]
	}
	return out
}

// tellApart gives the names of one label labels of their own.
func tellApart(label string, group []string, of map[string]string) {
	if len(group) == 1 {
		of[group[0]] = label
		return
	}
	parsed := make(map[string]*Name, len(group))
	for _, raw := range group {
		n := Parse(raw)
		parsed[raw] = &n
	}
	try := func(label func(raw string) string) bool {
		seen := make(map[string]bool, len(group))
		for _, raw := range group {
			of[raw] = label(raw)
			seen[of[raw]] = true
		}
		return len(seen) == len(group)
	}
	if try(func(raw string) string {
		if ns := parsed[raw].Namespaces; len(ns) > 0 {
			return ns[len(ns)-1] + "::" + label
		}
		return label
	}) {
		return
	}
	telling := tellingWords(group, parsed)
	for k := 1; k <= labels.apart; k++ {
		if try(func(raw string) string {
			if w := telling[raw]; len(w) > 0 {
				return label + "<" + strings.Join(w[:min(k, len(w))], ", ") + ">"
			}
			return label
		}) {
			return
		}
	}
}

// tellingWords are, of each name, the words that not all names of the group have as often, in order.
func tellingWords(group []string, parsed map[string]*Name) map[string][]string {
	words := make(map[string][]string, len(group))
	most, least := map[string]int{}, map[string]int{}
	for g, raw := range group {
		words[raw] = labelWords(parsed[raw])
		count := map[string]int{}
		for _, w := range words[raw] {
			count[w]++
		}
		for w, c := range count {
			if g == 0 {
				least[w] = c
			}
			least[w] = min(least[w], c) // 0 for words that are new
			most[w] = max(most[w], c)
		}
		for w := range least {
			least[w] = min(least[w], count[w])
		}
	}
	out := make(map[string][]string, len(group))
	for _, raw := range group {
		seen := map[string]int{}
		for _, w := range words[raw] {
			if seen[w]++; seen[w] > least[w] && most[w] > least[w] {
				out[raw] = append(out[raw], w)
			}
		}
	}
	return out
}

// labelWords splits a name at what is no letter or digit; a name that is one word, at its underscores.
func labelWords(n *Name) []string {
	split := func(s string, part func(byte) bool) (out []string) {
		for i := 0; i < len(s) && len(out) < labels.words; {
			j := i
			for j < len(s) && part(s[j]) {
				j++
			}
			if j > i {
				out = append(out, s[i:j])
			}
			i = j + 1
		}
		return out
	}
	if w := split(n.Demangled, isWordByte); len(w) > 1 {
		return w
	}
	return split(n.Demangled, wordmatch.IsAlnum)
}

// unique numbers labels that are still used twice, in the order of the names.
func unique(sorted []string, of map[string]string) {
	used := make(map[string]int, len(sorted))
	for _, raw := range sorted {
		used[of[raw]]++
	}
	next := map[string]int{}
	for _, raw := range sorted {
		l := of[raw]
		if used[l] < 2 {
			continue
		}
		for {
			next[l]++
			if s := l + " #" + strconv.Itoa(next[l]); used[s] == 0 {
				used[s]++
				of[raw] = s
				break
			}
		}
	}
}
