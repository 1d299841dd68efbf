package triage

import (
	"cmp"
	"slices"
	"strings"
)

// keywordEvidence is how many kernels a keyword row names.
const keywordEvidence = 3

// keywordRow is one kernel row as the keyword rule sees it.
type keywordRow struct {
	row  *row
	text string // name, sites and ops: lower case, letters and digits only
}

// compact lowers s and drops all but letters and digits. This is how the
// reference compares, and why it finds "rope" in ck::tensor_operation.
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

// keywordFuse builds the fuse table by the substring rule of the reference.
func (a *Analysis) keywordFuse(s *stageWork) []FuseRow {
	rows := make([]keywordRow, len(s.rows))
	for i := range s.rows {
		r := &s.rows[i]
		text := []string{compact(a.pool.names.texts[r.kernel])}
		for n, st := range r.bySite(a.pool) {
			if n == maxLocations {
				break
			}
			text = append(text, compact(a.pool.sites.texts[st.site]), compact(a.pool.ops.texts[st.op]))
		}
		for site := range r.replayAt {
			text = append(text, compact(a.pool.sites.texts[site]))
		}
		rows[i] = keywordRow{r, strings.Join(text, " ")}
	}
	var found []keywordMatch
	for i := range a.registry.Patterns {
		p := &a.registry.Patterns[i]
		if len(p.Keyword.Active)+len(p.Keyword.Split) == 0 || !a.applies(p, false) {
			continue
		}
		if m, ok := p.byKeyword(rows); ok && s.share(m.ns) >= max(p.MinSharePct, a.minShare) {
			found = append(found, m)
		}
	}
	slices.SortStableFunc(found, func(x, y keywordMatch) int {
		return cmp.Or(cmp.Compare(y.p.Priority, x.p.Priority), cmp.Compare(y.span, x.span),
			cmp.Compare(len(y.rows), len(x.rows)), cmp.Compare(y.ns, x.ns), cmp.Compare(x.p.Pattern, y.p.Pattern))
	})
	out := []FuseRow{}
	used := map[*row]bool{}
	gone := map[string]bool{}
	for _, m := range found {
		if gone[m.p.Pattern] || slices.ContainsFunc(m.rows, func(r *row) bool { return used[r] }) {
			continue
		}
		for _, r := range m.rows {
			used[r] = true
		}
		for _, name := range m.p.Subsumes {
			gone[name] = true
		}
		out = append(out, a.keywordFuseRow(s, m))
	}
	return out
}

// keywordMatch is a pattern that the keyword rule found.
type keywordMatch struct {
	p      *FusePattern
	rows   []*row // in the order of the groups, then by time
	ns     int64
	span   int // groups found, at least 1
	active bool
}

func (p *FusePattern) byKeyword(rows []keywordRow) (keywordMatch, bool) {
	m := keywordMatch{p: p, span: 1}
	seen := map[*row]bool{}
	add := func(words []string) (any bool) {
		for _, r := range rows {
			for _, w := range words {
				if !strings.Contains(r.text, compact(w)) {
					continue
				}
				any = true
				if !seen[r.row] {
					seen[r.row] = true
					m.rows = append(m.rows, r.row)
					m.ns += r.row.ns
				}
				break
			}
		}
		return any
	}
	m.active = add(p.Keyword.Active)
	groups := 0
	for _, g := range p.Keyword.Split {
		if slices.ContainsFunc(rows, func(r keywordRow) bool {
			return slices.ContainsFunc(g, func(w string) bool { return strings.Contains(r.text, compact(w)) })
		}) {
			groups++
		}
	}
	if groups == len(p.Keyword.Split) && groups > 0 {
		m.span = groups
		for _, g := range p.Keyword.Split {
			add(g)
		}
	} else if !m.active {
		return m, false
	}
	return m, len(m.rows) > 0
}

func (a *Analysis) keywordFuseRow(s *stageWork, m keywordMatch) FuseRow {
	out := FuseRow{Pattern: m.p.Pattern, Kind: FuseSplit, Confidence: confidenceCandidate, RelatedUS: micros(m.ns), SharePct: s.share(m.ns),
		Origin: m.p.Origin, CandidatePaths: slices.Clone(m.p.CandidatePaths), Rationale: "Substring match as the reference does it; not evidence. " + m.p.Rationale,
		Evidence: []EvidenceRow{}, ExampleKernels: []int{}, CurrentLocations: []string{}}
	if m.active {
		out.Kind = FuseActive
	}
	if m.active || out.SharePct >= m.p.LikelySharePct {
		out.Confidence = confidenceConfirmed
	}
	for _, r := range m.rows {
		out.Occurrences = max(out.Occurrences, r.launches)
		if share := s.share(r.ns); share >= a.minShare && len(out.Evidence) < keywordEvidence {
			out.Evidence = append(out.Evidence, EvidenceRow{a.pool.names.texts[r.kernel], micros(r.ns), share, r.launches})
			if loc := a.pool.sites.texts[r.bySite(a.pool)[0].site]; !slices.Contains(out.CurrentLocations, loc) {
				out.CurrentLocations = append(out.CurrentLocations, loc)
			}
		}
	}
	return out
}
