package fusion

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/table"
)

// Requirements are the conditions under which a path is taken, as far as a trace, a config and the server's arguments
// can show. The zero value asks for nothing.
type Requirements struct {
	// Platforms are "cuda" and "rocm", Archs architectures ("sm90", "sm10*", "cdna3").
	Platforms []string `json:"platforms,omitempty"`
	Archs     []string `json:"archs,omitempty"`
	// Models are those whose code has the path, as words of a model's name, type or file.
	Models []string `json:"models,omitempty"`
	// MinTP is the least number of tensor-parallel ranks, NotTP are numbers for which there is no path.
	MinTP int   `json:"min_tp,omitempty"`
	NotTP []int `json:"not_tp,omitempty"`
	// MaxTokens is the largest step in tokens.
	MaxTokens int64 `json:"max_tokens,omitempty"`
	// MaxMB is the size in MiB of what one collective of a step exchanges, by architecture and number of ranks, above
	// which the path is not taken; of an architecture that it names, other numbers of ranks have no path. AnyMaxMB
	// holds for all.
	MaxMB    map[string]map[string]float64 `json:"max_mb,omitempty"`
	AnyMaxMB float64                       `json:"any_max_mb,omitempty"`
	// MinMBPerRank is the size in MiB of that, divided by the ranks, below which the path is not taken, by
	// architecture.
	MinMBPerRank map[string]float64 `json:"min_mb_per_rank,omitempty"`
	// MinHidden and MaxHidden bound the hidden size, Hidden lists the only ones, HeadDims those of a head.
	MinHidden int   `json:"min_hidden,omitempty"`
	MaxHidden int   `json:"max_hidden,omitempty"`
	Hidden    []int `json:"hidden,omitempty"`
	HeadDims  []int `json:"head_dims,omitempty"`
}

// Setting is what is known of a run; zero values are not known.
type Setting struct {
	Platform, Arch string
	Model          string // name, type and model file
	TP             int
	Exchanges      bool  // collectives run: there are two ranks at least
	Tokens         int64 // of a step
	Hidden         int
	HeadDim        int
}

// collectiveBytes is the size of an element of what ranks exchange: activations are of 16 bits.
const collectiveBytes = 2

// message is what one collective of a step exchanges in bytes, 0 where it is not known: a row of the hidden size a
// token.
func (s *Setting) message() int64 { return s.Tokens * int64(s.Hidden) * collectiveBytes }

// Outcome is whether a condition holds.
type Outcome uint8

// The outcomes.
const (
	Unknown Outcome = iota // cannot be known from what is given
	Holds
	Fails
)

// Subject is what a condition is about.
type Subject uint8

// The subjects.
const (
	OfPlatform Subject = iota
	OfModel
	OfSize
)

// A Judged condition has a text that says what is asked for and what is the case.
type Judged struct {
	Subject Subject
	Outcome Outcome
	Text    string
}

// Judge evaluates each condition.
func (r *Requirements) Judge(s *Setting) (out []Judged) {
	add := func(of Subject, known, ok bool, format string, args ...any) {
		j := Judged{of, Unknown, fmt.Sprintf(format, args...)}
		switch {
		case known && ok:
			j.Outcome = Holds
		case known:
			j.Outcome = Fails
		}
		out = append(out, j)
	}
	if len(r.Platforms) > 0 {
		add(OfPlatform, s.Platform != "", slices.Contains(r.Platforms, s.Platform), "only on %s",
			strings.NewReplacer("cuda", "CUDA", "rocm", "ROCm").Replace(strings.Join(r.Platforms, " or ")))
	}
	if len(r.Archs) > 0 && !(s.Platform != "" && len(r.Platforms) > 0 && !slices.Contains(r.Platforms, s.Platform)) {
		has := slices.ContainsFunc(r.Archs, func(a string) bool { return archIs(a, s.Arch) })
		add(OfPlatform, s.Arch != "", has, "only on %s", strings.Join(r.Archs, ", "))
	}
	if len(r.Models) > 0 {
		model := foldModel(s.Model)
		has := slices.ContainsFunc(r.Models, func(w string) bool { return strings.Contains(model, foldModel(w)) })
		add(OfModel, s.Model != "", has, "only in the code of %s", strings.Join(r.Models, ", "))
	}
	if r.MinTP > 0 {
		add(OfSize, s.TP > 0 || s.Exchanges && r.MinTP <= 2, s.TP == 0 || s.TP >= r.MinTP, "%d ranks at least", r.MinTP)
	}
	for _, n := range r.NotTP {
		add(OfSize, s.TP > 0, s.TP != n, "not with %d ranks", n)
	}
	if r.MaxTokens > 0 {
		add(OfSize, s.Tokens > 0, s.Tokens <= r.MaxTokens, "%s tokens a step at most%s", table.Count(r.MaxTokens),
			here(s.Tokens > 0, table.Count(s.Tokens)))
	}
	if mb, named := r.limit(s); named {
		switch {
		case mb < 0:
			add(OfSize, s.TP > 0, false, "no path for %d ranks on %s", s.TP, s.Arch)
		case s.TP == 0 && mb == 0:
			add(OfSize, false, false, "a size of messages that depends on the number of ranks")
		default:
			add(OfSize, s.message() > 0, s.message() <= mebibytes(mb), "messages of %s at most on this GPU%s",
				table.Bytes(mebibytes(mb)), here(s.message() > 0, table.Bytes(s.message())))
		}
	}
	if least, ok := perArch(r.MinMBPerRank, s.Arch); ok {
		whole := mebibytes(least * float64(max(1, s.TP)))
		add(OfSize, s.message() > 0 && s.TP > 0, s.message() >= whole, "messages of %s at least%s", table.Bytes(whole),
			here(s.message() > 0, table.Bytes(s.message())))
	}
	hidden := here(s.Hidden > 0, strconv.Itoa(s.Hidden))
	if r.MinHidden > 0 {
		add(OfSize, s.Hidden > 0, s.Hidden >= r.MinHidden, "hidden size of %d at least%s", r.MinHidden, hidden)
	}
	if r.MaxHidden > 0 {
		add(OfSize, s.Hidden > 0, s.Hidden <= r.MaxHidden, "hidden size of %d at most%s", r.MaxHidden, hidden)
	}
	if len(r.Hidden) > 0 {
		add(OfModel, s.Hidden > 0, slices.Contains(r.Hidden, s.Hidden), "hidden size %s%s", list(r.Hidden), hidden)
	}
	if len(r.HeadDims) > 0 {
		add(OfModel, s.HeadDim > 0, slices.Contains(r.HeadDims, s.HeadDim), "head size %s%s", list(r.HeadDims),
			here(s.HeadDim > 0, strconv.Itoa(s.HeadDim)))
	}
	return out
}

// Worst is the outcome that decides: one that fails, else one that is not known. The texts are those of this outcome.
func Worst(list []Judged) (o Outcome, of Subject, texts []string) {
	o = Holds
	for _, want := range []Outcome{Fails, Unknown} {
		for _, j := range list {
			if j.Outcome == want {
				if len(texts) == 0 {
					o, of = want, j.Subject
				}
				of = min(of, j.Subject)
				texts = append(texts, j.Text)
			}
		}
		if len(texts) > 0 {
			return o, of, texts
		}
	}
	return o, of, nil
}

// archIs reports whether an architecture is one that is written "sm90" or "sm10*".
func archIs(pattern, arch string) bool {
	stem, any := strings.CutSuffix(pattern, "*")
	return pattern == arch || any && strings.HasPrefix(arch, stem)
}

// perArch is the entry of an architecture.
func perArch[T any](m map[string]T, arch string) (v T, ok bool) {
	for pattern, x := range m {
		if archIs(pattern, arch) {
			return x, true
		}
	}
	return v, false
}

// limit is the largest message in MiB for a GPU and its ranks; −1 where they have no path, 0 where the ranks are not
// known.
func (r *Requirements) limit(s *Setting) (mb float64, ok bool) {
	sizes, ok := perArch(r.MaxMB, s.Arch)
	switch {
	case !ok:
		return r.AnyMaxMB, r.AnyMaxMB > 0
	case s.TP == 0:
		return 0, true
	}
	if mb, ok = sizes[strconv.Itoa(s.TP)]; !ok {
		return -1, true
	}
	return mb, true
}

// Tokens is the largest step that the conditions on its size allow, 0 for any, −1 for none.
func (r *Requirements) Tokens(s *Setting) int64 {
	mb, named := r.limit(s)
	if !named || mb == 0 || s.Hidden == 0 {
		return r.MaxTokens
	}
	if mb < 0 {
		return -1
	}
	n := max(1, mebibytes(mb)/int64(s.Hidden*collectiveBytes))
	if r.MaxTokens > 0 {
		n = min(n, r.MaxTokens)
	}
	return n
}

// foldModel is a model's name as it is compared: qwen3_moe, qwen3-moe and Qwen3Moe are one.
func foldModel(name string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name))
}

func mebibytes(mb float64) int64 { return int64(mb * (1 << 20)) }

// here says what is the case, after what is asked for.
func here(known bool, value string) string {
	if !known {
		return ""
	}
	return ", here " + value
}

// list joins numbers: "64, 128 or 256".
func list(numbers []int) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(n)
	}
	return table.Join(words, "or")
}
