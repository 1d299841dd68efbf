package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/llmstrata/strata/layer"
)

// like is what two passes must have in common to be compared.
type like struct {
	stage         layer.Stage
	batch, tokens int64
}

func (l like) String() string {
	s := string(l.stage)
	if l.batch >= 0 {
		s += fmt.Sprintf(", batch %d", l.batch)
	}
	if l.tokens >= 0 {
		s += fmt.Sprintf(", %d tokens", l.tokens)
	}
	return s
}

// chosen are the passes of one side that are compared: by run, indices into its Passes.
type chosen struct {
	like   like
	passes [][]int
}

// count is how many passes those are.
func (c *chosen) count() int {
	n := 0
	for _, p := range c.passes {
		n += len(p)
	}
	return n
}

// groupsOf sorts the passes of a side by what they have in common. Passes without a stage are left out where others have one; the first pass
// behind another stage is left out where enough others are left.
func groupsOf(s *Side) map[like]*chosen {
	out := map[like]*chosen{}
	for r := range s.Runs {
		for p := range s.Runs[r].Passes {
			pass := &s.Runs[r].Passes[p]
			if pass.Wall <= 0 {
				continue
			}
			l := like{pass.Stage, pass.Batch, pass.Tokens}
			c := out[l]
			if c == nil {
				c = &chosen{like: l, passes: make([][]int, len(s.Runs))}
				out[l] = c
			}
			c.passes[r] = append(c.passes[r], p)
		}
	}
	for _, c := range out {
		c.dropFirst(s)
	}
	return out
}

// dropFirst leaves out first passes behind a change of stage where two others remain in the run.
func (c *chosen) dropFirst(s *Side) {
	const remain = 2
	for r, passes := range c.passes {
		kept := slices.DeleteFunc(slices.Clone(passes), func(p int) bool { return s.Runs[r].Passes[p].First })
		if len(kept) >= remain {
			c.passes[r] = kept
		}
	}
}

// time is the wall time of a group's passes together.
func (c *chosen) time(s *Side) time.Duration {
	var sum time.Duration
	for r, passes := range c.passes {
		for _, p := range passes {
			sum += s.Runs[r].Passes[p].Wall
		}
	}
	return sum
}

// match finds the passes that both sides have: of the groups that match, the one with most time of side A. What is left out is returned in
// words. It reports false where nothing matches; then the nearest pair is named.
func match(a, b *Side, o *Options) (ca, cb *chosen, left []string, err error) {
	if o.PassA != nil || o.PassB != nil {
		return forced(a, b, o)
	}
	ga, gb := groupsOf(a), groupsOf(b)
	if len(o.Stages) > 0 {
		other := func(l like, _ *chosen) bool { return !slices.Contains(o.Stages, l.stage) }
		maps.DeleteFunc(ga, other)
		maps.DeleteFunc(gb, other)
	}
	var best *chosen
	for _, l := range sorted(ga) {
		if gb[l] == nil {
			continue
		}
		if c := ga[l]; best == nil || c.time(a) > best.time(a) {
			best = c
		}
	}
	if best == nil && o.PerToken {
		return byStage(a, b, ga, gb)
	}
	if best == nil {
		return nil, nil, nil, fmt.Errorf("%w: A has %s, B has %s; force a pair with --pass-a N --pass-b M, or compare time per token", ErrNoMatch, list(ga), list(gb))
	}
	cb = gb[best.like]
	for i, g := range []map[like]*chosen{ga, gb} {
		if delete(g, best.like); len(g) > 0 {
			left = append(left, fmt.Sprintf("%c: %s", "AB"[i], list(g)))
		}
	}
	return best, cb, left, nil
}

// byStage matches groups of one stage and any size, for times per token.
func byStage(a, b *Side, ga, gb map[like]*chosen) (ca, cb *chosen, left []string, err error) {
	for _, la := range sorted(ga) {
		for _, lb := range sorted(gb) {
			if la.stage != lb.stage || la.tokens <= 0 || lb.tokens <= 0 {
				continue
			}
			if ca == nil || ga[la].time(a)+gb[lb].time(b) > ca.time(a)+cb.time(b) {
				ca, cb = ga[la], gb[lb]
			}
		}
	}
	if ca == nil {
		return nil, nil, nil, fmt.Errorf("%w: no stage that both have, with known tokens: A has %s, B has %s", ErrNoMatch, list(ga), list(gb))
	}
	return ca, cb, nil, nil
}

// forced takes the passes that were asked for.
func forced(a, b *Side, o *Options) (ca, cb *chosen, left []string, err error) {
	if o.PassA == nil || o.PassB == nil {
		return nil, nil, nil, fmt.Errorf("%w: --pass-a and --pass-b go together", ErrNoMatch)
	}
	pick := func(s *Side, n int, name string) (*chosen, error) {
		c := &chosen{passes: make([][]int, len(s.Runs))}
		for r := range s.Runs {
			i := slices.IndexFunc(s.Runs[r].Passes, func(p Pass) bool { return p.Index == n })
			if i < 0 {
				return nil, fmt.Errorf("%w: %s has no pass %d", ErrNoMatch, name, n)
			}
			c.passes[r] = []int{i}
			p := &s.Runs[r].Passes[i]
			c.like = like{p.Stage, p.Batch, p.Tokens}
		}
		return c, nil
	}
	if ca, err = pick(a, *o.PassA, "A"); err != nil {
		return nil, nil, nil, err
	}
	cb, err = pick(b, *o.PassB, "B")
	return ca, cb, nil, err
}

func sorted(g map[like]*chosen) []like {
	out := make([]like, 0, len(g))
	for l := range g {
		out = append(out, l)
	}
	slices.SortFunc(out, func(x, y like) int {
		return cmp.Or(cmp.Compare(x.stage, y.stage), cmp.Compare(x.batch, y.batch), cmp.Compare(x.tokens, y.tokens))
	})
	return out
}

func list(g map[like]*chosen) string {
	const most = 4
	if len(g) == 0 {
		return "no passes"
	}
	s := ""
	for i, l := range sorted(g) {
		if i == most {
			return s + ", …"
		}
		if i > 0 {
			s += "; "
		}
		s += fmt.Sprintf("%d × %s", g[l].count(), l)
	}
	return s
}
