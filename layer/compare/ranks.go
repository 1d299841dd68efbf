package compare

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
)

// MeasureGPUs is [Measure] for every GPU of an analysis. GPUs of one trace are ranks in the order of their numbers.
func MeasureGPUs(ctx context.Context, a *layer.Analysis) ([]Run, error) {
	if len(a.Devices) < 2 {
		r, err := Measure(ctx, a)
		if err != nil {
			return nil, err
		}
		return []Run{*r}, nil
	}
	order := make([]int, len(a.Devices))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(a.Devices[i].ID, a.Devices[j].ID) })
	var out []Run
	for rank, i := range order {
		one := *a
		one.Devices = a.Devices[i : i+1] // no copy: kernels point into it
		r, err := Measure(ctx, &one)
		if err != nil {
			return nil, err
		}
		r.Rank = rank
		out = append(out, *r)
	}
	return out, nil
}

// NewRun is one run that several files or GPUs show. Those of one rank, such as a file for each stage, are joined, in
// the order of their names; the rank that works longest represents the run, as the others wait for it.
func NewRun(files []Run) Run {
	if len(files) == 0 {
		return Run{Parts: []Part{}, Passes: []Pass{}}
	}
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(x, y Run) int {
		return cmp.Or(cmp.Compare(x.Rank, y.Rank),
			cmp.Compare(x.Trace, y.Trace))
	})
	var ranks []Run
	for i := range files {
		if n := len(ranks); n > 0 && ranks[n-1].Rank == files[i].Rank {
			ranks[n-1].join(&files[i])
			continue
		}
		ranks = append(ranks, files[i])
	}
	slowest := 0
	for i := range ranks {
		if ranks[i].own() > ranks[slowest].own() {
			slowest = i
		}
	}
	out := ranks[slowest]
	out.Ranks = slices.Delete(ranks, slowest, slowest+1)
	for i := range out.Ranks { // operations of the host are those of all ranks of a trace
		out.Ranks[i].Host = nil
	}
	return out
}

// own is what a run's passes take without idle time and collectives, which last until the slowest rank arrives.
func (r *Run) own() time.Duration {
	var sum time.Duration
	for i := range r.Passes {
		for _, t := range r.Passes[i].Parts {
			if c := r.Parts[t.Part].Class; c != Waiting && c != Transfer {
				sum += t.Exclusive
			}
		}
	}
	return sum
}

// join adds the passes of another file of the same rank after the run's own.
func (r *Run) join(of *Run) {
	r.Parts = slices.Clone(r.Parts)
	parts := make([]int, len(of.Parts))
	for i := range of.Parts {
		same := func(x Part) bool {
			return x.Name == of.Parts[i].Name && x.Operator == of.Parts[i].Operator &&
				x.Category == of.Parts[i].Category && x.Class == of.Parts[i].Class
		}
		if parts[i] = slices.IndexFunc(r.Parts, same); parts[i] < 0 {
			parts[i] = len(r.Parts)
			r.Parts = append(r.Parts, of.Parts[i])
		}
	}
	first := 0
	if n := len(r.Passes); n > 0 {
		first = r.Passes[n-1].Index + 1
	}
	r.Passes = slices.Clone(r.Passes)
	for _, p := range of.Passes {
		p.Index, p.Trace, p.Model, p.Parts = p.Index+first, cmp.Or(p.Trace, of.Trace), p.Model+len(r.Models),
			slices.Clone(p.Parts)
		for i := range p.Parts {
			p.Parts[i].Part = parts[p.Parts[i].Part]
		}
		slices.SortFunc(p.Parts, func(x, y PartTime) int { return cmp.Compare(x.Part, y.Part) })
		r.Passes = append(r.Passes, p)
	}
	r.Models = slices.Concat(r.Models, of.Models)
	r.Host = joinHosts(r.Host, of.Host, first)
	r.Outside += of.Outside
	r.Categories, r.Scrambled = r.Categories || of.Categories, r.Scrambled || of.Scrambled
	r.OneRow = cmp.Or(r.OneRow, of.OneRow)
	r.Serving = slices.Concat(r.Serving, of.Serving)
	if of.Health.Compare(r.Health) > 0 {
		r.Health = of.Health
	}
	r.Clock = cmp.Or(r.Clock, of.Clock)
}

// joinHosts puts the steps of another file after those of a host; passes of that file are numbered from first.
func joinHosts(a, b *Host, first int) *Host {
	if a == nil || b == nil {
		return nil // the operations of one file say nothing of the other's steps
	}
	out := &Host{Walls: slices.Concat(a.Walls, b.Walls)}
	at := map[opKey]int{}
	for i, h := range []*Host{a, b} {
		for _, p := range h.Passes {
			if p >= 0 {
				p += i * first
			}
			out.Passes = append(out.Passes, p)
		}
		for _, op := range h.Operations {
			k := opKey{op.Kind, op.Name}
			to, ok := at[k]
			if !ok {
				to = len(out.Operations)
				at[k] = to
				fresh := op
				fresh.Steps, fresh.Count = make([]time.Duration, len(out.Walls)), 0
				if op.Waits != nil {
					fresh.Waits = make([]time.Duration, len(out.Walls))
				}
				out.Operations = append(out.Operations, fresh)
			}
			joined, from := &out.Operations[to], i*len(a.Walls)
			copy(joined.Steps[from:], op.Steps)
			if op.Waits == nil {
				joined.Waits = nil
			} else if joined.Waits != nil {
				copy(joined.Waits[from:], op.Waits)
			}
			joined.Count += op.Count * float64(len(h.Walls)) / float64(max(len(out.Walls), 1))
		}
	}
	return out
}

// compareRanks compares each rank that both sides have, where there are several.
func (r *Report) compareRanks(ctx context.Context, a, b *Side, o *Options) error {
	of := [2]map[int][]Run{{}, {}}
	several := false
	for side, s := range []*Side{a, b} {
		for i := range s.Runs {
			several = several || len(s.Runs[i].Ranks) > 0
			for _, run := range append([]Run{s.Runs[i]}, s.Runs[i].Ranks...) {
				of[side][run.Rank] = append(of[side][run.Rank], run)
			}
		}
	}
	if !several || r.Verdict == NotComparable {
		return nil
	}
	for _, rank := range slices.Sorted(maps.Keys(of[0])) {
		if of[1][rank] == nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		own := Options{Stages: o.Stages, PerToken: o.PerToken, Floor: o.Floor, Allow: o.Allow}
		r.Ranks = append(r.Ranks, otherOf(compareSlowest(&Side{Runs: of[0][rank]}, &Side{Runs: of[1][rank]}, own)))
	}
	var differ []string
	for i := range r.Ranks {
		if x := &r.Ranks[i]; x.Verdict != r.Verdict {
			differ = append(differ, fmt.Sprintf("rank %d: %s (%s)", x.A.Rank, x.Verdict, percentOf(x.Delta, x.A.Wall)))
		}
	}
	note := fmt.Sprintf("%s on both sides; compared is the slowest, rank %d of A and rank %d of B",
		table.Counted(len(r.Ranks), "rank is", "ranks are"), r.A.Rank, r.B.Rank)
	const most = 4
	if n := len(differ); n > most {
		differ = append(differ[:most], fmt.Sprintf("and %d more", n-most))
	}
	if len(differ) > 0 {
		note += "; others differ: " + strings.Join(differ, ", ")
	}
	r.Notes = append(r.Notes, note)
	return nil
}
