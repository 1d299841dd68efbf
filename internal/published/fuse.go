package published

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"

	"github.com/goccy/go-json"
)

//go:embed patterns.json
var patternData []byte

// pattern is one entry of the registry that the published rule came with, and of what was added for it.
type pattern struct {
	Pattern        string
	Origin         string
	Frameworks     []string
	CandidatePaths []string `json:"candidate_paths"`
	Rationale      string
	ModelInclude   []string   `json:"model_include"`
	ModelExclude   []string   `json:"model_exclude"`
	RequireTP      bool       `json:"require_tp"`
	MinTPSize      int        `json:"min_tp_size"`
	MinSharePct    float64    `json:"min_share_pct"`
	LikelySharePct float64    `json:"likely_share_pct"`
	Priority       int        // of two patterns with kernels in common the higher one stays
	Subsumes       []string   // patterns that go when this one stays
	Active         []string   // words; one is enough
	Split          [][]string // one word of each is needed
}

func patterns() []pattern {
	var out []pattern
	if err := json.Unmarshal(patternData, &out); err != nil {
		panic(err) // the embedded file is checked by a test
	}
	return out
}

// FuseRow is one kernel of a stage. Rows are sorted by time, the longest first.
type FuseRow struct {
	Kernel   string
	Texts    []string // its source lines and CPU ops
	TimeUS   float64  // of all launches
	Launches int
}

// FuseOptions says what was run.
type FuseOptions struct {
	Framework   string // "SGLang", "vLLM", "TensorRT-LLM", "TokenSpeed"; others have no patterns
	Model       string
	TPSize      int     // 0 unknown: patterns that need tensor parallelism are left out
	MinSharePct float64 // of the stage's GPU time, below which neither patterns nor kernels are named
}

// FuseMatch is a pattern that was found.
type FuseMatch struct {
	Pattern, Origin, Rationale string
	CandidatePaths             []string
	Active                     bool    // the fused kernel runs; else the parts it would replace do
	Confirmed                  bool    // active, or of a typical share
	TimeUS                     float64 // of its kernels
	SharePct                   float64
	Occurrences                int   // most launches of one of its kernels
	Evidence                   []int // rows, at most three
}

// maxEvidence is how many kernels a match names.
const maxEvidence = 3

// Fuse finds the patterns in a stage, of GPU time totalUS, by priority, number of groups, of kernels and time. A
// kernel is in one match at most.
func Fuse(rows []FuseRow, totalUS float64, o FuseOptions) []FuseMatch {
	f := fuser{FuseOptions: o, rows: rows, total: totalUS}
	for i := range rows {
		text := []string{compact(rows[i].Kernel)}
		for _, t := range rows[i].Texts {
			text = append(text, compact(t))
		}
		f.texts = append(f.texts, strings.Join(text, " "))
	}
	var found []candidate
	all := patterns()
	for i := range all {
		p := &all[i]
		if !o.applies(p) {
			continue
		}
		if c, ok := f.look(p); ok && f.share(c.us) >= max(p.MinSharePct, o.MinSharePct) {
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(y.p.Priority, x.p.Priority), cmp.Compare(y.groups, x.groups),
			cmp.Compare(len(y.rows), len(x.rows)), cmp.Compare(y.us, x.us), cmp.Compare(x.p.Pattern, y.p.Pattern))
	})
	out := []FuseMatch{}
	used, gone := map[int]bool{}, map[string]bool{}
	for _, c := range found {
		if gone[c.p.Pattern] || slices.ContainsFunc(c.rows, func(r int) bool { return used[r] }) {
			continue
		}
		for _, r := range c.rows {
			used[r] = true
		}
		for _, name := range c.p.Subsumes {
			gone[name] = true
		}
		out = append(out, f.match(c))
	}
	return out
}

// applies says whether the pattern is looked for in such a run.
func (o *FuseOptions) applies(p *pattern) bool {
	model := strings.ToLower(o.Model)
	named := func(list []string) bool {
		return slices.ContainsFunc(list, func(w string) bool { return strings.Contains(model, strings.ToLower(w)) })
	}
	key := strings.ReplaceAll(strings.ToLower(o.Framework), "tensorrt-llm", "trtllm")
	return slices.Contains(p.Frameworks, key) && (len(p.ModelInclude) == 0 || named(p.ModelInclude)) &&
		!named(p.ModelExclude) &&
		(!p.RequireTP || o.TPSize >= p.MinTPSize)
}

// fuser is the state of one search.
type fuser struct {
	FuseOptions
	rows  []FuseRow
	texts []string // of rows, compact
	total float64
}

// candidate is a pattern whose words occur.
type candidate struct {
	p      *pattern
	rows   []int // in the order of the groups, then by time
	us     float64
	groups int // found, at least 1
	active bool
}

func (f *fuser) share(us float64) float64 {
	if f.total == 0 {
		return 0
	}
	return 100 * us / f.total
}

// having are the rows whose text holds one of the words.
func (f *fuser) having(words []string) (out []int) {
	for r, text := range f.texts {
		if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, compact(w)) }) {
			out = append(out, r)
		}
	}
	return out
}

func (f *fuser) look(p *pattern) (candidate, bool) {
	c := candidate{p: p, groups: 1}
	add := func(rows []int) {
		for _, r := range rows {
			if !slices.Contains(c.rows, r) {
				c.rows = append(c.rows, r)
				c.us += f.rows[r].TimeUS
			}
		}
	}
	active := f.having(p.Active)
	add(active)
	c.active = len(active) > 0
	groups := make([][]int, len(p.Split))
	for i, words := range p.Split {
		if groups[i] = f.having(words); len(groups[i]) == 0 {
			return c, c.active
		}
	}
	for _, g := range groups {
		add(g)
	}
	c.groups = max(1, len(groups))
	return c, len(c.rows) > 0
}

func (f *fuser) match(c candidate) FuseMatch {
	m := FuseMatch{Pattern: c.p.Pattern, Origin: c.p.Origin, Rationale: c.p.Rationale, CandidatePaths: c.p.CandidatePaths,
		Active: c.active, TimeUS: c.us, SharePct: f.share(c.us)}
	m.Confirmed = m.Active || m.SharePct >= c.p.LikelySharePct
	for _, r := range c.rows {
		m.Occurrences = max(m.Occurrences, f.rows[r].Launches)
		if f.share(f.rows[r].TimeUS) >= f.MinSharePct && len(m.Evidence) < maxEvidence {
			m.Evidence = append(m.Evidence, r)
		}
	}
	return m
}

// compact lowers s and drops all but letters and digits.
func compact(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case 'A' <= c && c <= 'Z':
			b.WriteByte(c + 'a' - 'A')
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			b.WriteByte(c)
		}
	}
	return b.String()
}
