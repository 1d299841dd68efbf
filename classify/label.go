package classify

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

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
		return fn[max(0, strings.IndexFunc(fn, unicode.IsUpper)):]
	}
	// AITER's Triton kernels: the function, then the constants that it is compiled with, in capitals.
	if before, after, ok := strings.Cut(fn, constantsAfter); ok && after != "" && wordmatch.IsUpper(after[0]) &&
		strings.Contains(after, "_") { // one word is a variant: NCHW
		return before + constantsAfter[:len(constantsAfter)-1]
	}
	if t := tile(n); t != "" && len(fn) >= labels.long {
		if before, _, ok := strings.Cut(fn, t); ok {
			return before + t
		}
	}
	return fn
}

// constantsAfter is before the constants in the name of a compiled function.
const constantsAfter = "_kernel_"

// macroTile opens the part of a Tensile name that says its tile.
const macroTile = "MT"

// tensileLabel keeps the index letters and types of a Tensile name, and its macro tile:
// Cijk_Alik_Bljk_BBS_…_MT128x256x32_….
func tensileLabel(fn string) (string, bool) {
	parts := strings.Split(fn, "_")
	const head = 4 // three index words and the types
	mt := slices.IndexFunc(parts, func(p string) bool {
		return len(p) > 2 && strings.HasPrefix(p, macroTile) && wordmatch.IsDigit(p[2])
	})
	if mt < head {
		return "", false
	}
	return strings.Join(append(parts[:head:head], parts[mt]), "_"), true
}

// Labels returns a label for each name, different ones for different names: its short name, and where that is the
// same for several names, the scope around it or the words that only some of them have, as in
// add_rmsnorm_quant_kernel<256, 16, true>. The labels depend on the set of names, not on their order. A caller who has
// names in parts, or that of a longer name that begins with one, gives them; the others are nil, or all of them.
func Labels(names []string, parts []*Name) []string {
	order := sorted(len(names), func(i int) string { return names[i] })
	var distinct []textual
	at := make([]int, len(names)) // in distinct
	for k, i := range order {
		if k == 0 || names[i] != names[order[k-1]] {
			var n *Name
			if parts != nil {
				n = parts[i]
			}
			if n == nil {
				parsed := Parse(names[i])
				n = &parsed
			}
			text := n.Demangled
			if strings.HasPrefix(text, names[i]) { // without what the canonical name lacks
				text = names[i]
			}
			distinct = append(distinct, textual{n, text})
		}
		at[i] = len(distinct) - 1
	}
	all := make([]string, len(distinct))
	for i, n := range distinct {
		all[i] = n.label()
	}
	short := slices.Clone(all)
	order, shared := sorted(len(all), func(i int) string { return short[i] }), false
	for i := 0; i < len(order); {
		first := i
		for i < len(order) && short[order[i]] == short[order[first]] {
			i++
		}
		if group := order[first:i]; len(group) > 1 {
			shared = true
			distinguish(distinct, group, all)
		}
	}
	if shared { // else they differ
		unique(all)
	}
	out := make([]string, len(names))
	for i := range names {
		out[i] = all[at[i]]
	}
	return out
}

// textual is a name in parts and the text that its words are taken from.
type textual struct {
	*Name
	text string
}

// sorted is the order of n texts, of equal ones that of their numbers.
func sorted(n int, text func(i int) string) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(text(a), text(b)) })
	return order
}

// distinguish gives the names of a group, which have one label, labels of their own.
func distinguish(names []textual, group []int, labelOf []string) {
	label := labelOf[group[0]]
	try := func(label func(k int) string) bool {
		seen := make(map[string]bool, len(group))
		for k, i := range group {
			labelOf[i] = label(k)
			seen[labelOf[i]] = true
		}
		return len(seen) == len(group)
	}
	if try(func(k int) string {
		if ns := names[group[k]].Namespaces; len(ns) > 0 {
			return ns[len(ns)-1] + "::" + label
		}
		return label
	}) {
		return
	}
	telling := tellingWords(names, group)
	for most := 1; most <= labels.apart; most++ {
		if try(func(k int) string {
			if w := telling[k]; len(w) > 0 {
				return label + "<" + strings.Join(w[:min(most, len(w))], ", ") + ">"
			}
			return label
		}) {
			return
		}
	}
}

// tellingWords are, of each name, the words that not all names of the group have as often, in order.
func tellingWords(names []textual, group []int) [][]string {
	words := make([][]string, len(group))
	// How often a word is in a name: at most, at least, and in how many names it is.
	type counts struct{ most, least, names int }
	of := map[string]*counts{}
	count := map[string]int{}
	for k, i := range group {
		words[k] = labelWords(names[i].text)
		clear(count)
		for _, w := range words[k] {
			count[w]++
		}
		for w, n := range count {
			c := of[w]
			if c == nil {
				c = &counts{n, n, 0}
				of[w] = c
			}
			c.most, c.least, c.names = max(c.most, n), min(c.least, n), c.names+1
		}
	}
	for k, list := range words {
		clear(count)
		telling := list[:0]
		for _, w := range list {
			count[w]++
			c := of[w]
			least := c.least
			if c.names < len(group) {
				least = 0 // some names lack it
			}
			if count[w] > least && c.most > least {
				telling = append(telling, w)
			}
		}
		words[k] = telling
	}
	return words
}

// labelWords splits a name at what is no letter or digit; a name that is one word, at its underscores.
func labelWords(text string) []string {
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
	if w := split(text, isWordByte); len(w) > 1 {
		return w
	}
	return split(text, wordmatch.IsAlnum)
}

// unique numbers labels that are still used twice, in the order of the names.
func unique(labels []string) {
	used := make(map[string]int, len(labels))
	for _, l := range labels {
		used[l]++
	}
	next := map[string]int{}
	for i, l := range labels {
		if used[l] < 2 {
			continue
		}
		for {
			next[l]++
			if s := l + " #" + strconv.Itoa(next[l]); used[s] == 0 {
				used[s]++
				labels[i] = s
				break
			}
		}
	}
}
