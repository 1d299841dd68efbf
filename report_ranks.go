package strata

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/trace"
)

// mostDigested is how many findings of a rank by itself its digest keeps.
const mostDigested = 20

// Many reports whether the files are of several ranks, or of one and others that digests hold.
func (r *Ranks) Many() bool {
	ranks := map[[2]string]bool{}
	for i := range r.Recordings {
		for _, f := range r.Recordings[i].Files {
			ranks[[2]string{r.Recordings[i].Name, fmt.Sprint(f.Rank)}] = true
		}
	}
	return len(ranks) > 1
}

// Report reports on all ranks: everything about the lowest one that can be read, with the number of ranks of each
// finding, and the result of the ranks together. It releases each trace before it reads another. If no rank can be
// read, the error is that of the last one.
func (r *Ranks) Report(ctx context.Context, d DigestOptions, o ReportOptions) (*Report, error) {
	if len(r.Recordings) == 0 {
		return nil, fmt.Errorf("strata: %w in %s", trace.ErrNoTrace, r.Name)
	}
	d.Open.archives = r.archives
	one := o
	one.Against, one.Gates = nil, nil
	var newest fleet.Set // digests of the first recording
	var mu sync.Mutex    // of newest and o.ranks
	d.digest = func(ctx context.Context, run string, f trace.File) ([]fleet.Rank, error) {
		p, err := d.Open.open(ctx, f, len(r.Recordings[0].Files))
		if err != nil {
			return nil, err
		}
		rep, err := Analyze(ctx, &Recording{Name: p.Shown(), Parts: []Part{p}}, one)
		if err != nil {
			return nil, err
		}
		if o.Against != nil {
			runs, err := rep.runOf(ctx)
			if err != nil {
				return nil, err
			}
			mu.Lock()
			o.ranks = append(o.ranks, runs...)
			mu.Unlock()
		}
		list, err := hostoverhead.Digest(ctx, run, f, rep.parts[0].a)
		if run == r.Recordings[0].Name {
			mu.Lock()
			newest.Add(list...)
			mu.Unlock()
		}
		for i := range list {
			if d := rep.parts[0].d; d != nil && list[i].Device == int(d.ID) {
				for _, found := range first(rep.Findings, mostDigested) {
					found.Place.Trace, found.Next = "", "" // of the rank, which the digest names
					list[i].Findings = append(list[i].Findings, found)
				}
			}
		}
		return list, err
	}
	many, err := r.Fleet(ctx, d, fleet.Options{})
	if err != nil {
		return nil, err
	}
	list := newest.Ranks()
	if !slices.ContainsFunc(list, func(x fleet.Rank) bool { return x.Part != list[0].Part }) {
		o.Ranks = list
	}
	rep, err := r.representative(ctx, d, o)
	if err != nil {
		return nil, err
	}
	rep.Name, rep.opens, rep.Ranks = r.Name, r.paths, many
	rep.join(many)
	return rep, nil
}

// representative is the report of the lowest rank of the first recording that can be read.
func (r *Ranks) representative(ctx context.Context, d DigestOptions, o ReportOptions) (*Report, error) {
	files := slices.Clone(r.Recordings[0].Files)
	slices.SortStableFunc(files, func(a, b trace.File) int { return cmp.Compare(a.Rank, b.Rank) })
	var last error
	for i := 0; i < len(files); {
		n := i + 1
		for n < len(files) && files[n].Rank == files[i].Rank && files[n].Rank >= 0 {
			n++
		}
		rec, err := d.Open.read(ctx, r.Name, nil, trace.ChooseFiles(filepath.Dir(files[i].Path), files[i:n], true))
		if i = n; err == nil {
			var rep *Report
			if rep, err = Analyze(ctx, rec, o); err == nil && rep.main() != nil {
				return rep, nil
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		last = cmp.Or(err, last)
	}
	return nil, cmp.Or(last, errors.New("strata: no rank holds GPU activity"))
}

// detailed is the file of the rank that all is said of but what says that it is of others.
func (r *Report) detailed() string { return filepath.Base(r.Traces[0]) }

// join adds the number of ranks to each finding, and adds the findings that only several ranks show. Where the ranks
// themselves show who waits, what single ranks say of waiting is left out, and how much transfer they make of it.
func (r *Report) join(many *fleet.Report) {
	waits := func(f finding.Finding) bool { return many.Matched() && f.Kind == finding.RankWait }
	r.Findings, r.found = slices.DeleteFunc(r.Findings, waits), slices.DeleteFunc(r.found, waits)
	if many.Health.Compare(r.Health) > 0 {
		r.Health = many.Health
	}
	for i := range many.Runs {
		for _, s := range many.Runs[i].Shared {
			if waits(s.Finding) {
				continue
			}
			unsure := s.Kind == finding.ExposedCommunication && many.Matched()
			on := fmt.Sprintf("On %d of %d ranks", s.Ranks, s.Of)
			switch least, most := table.Duration(time.Duration(s.PerRank.Min)),
				table.Duration(time.Duration(s.PerRank.Max)); {
			case s.Ranks == 1:
				on = "On " + s.PerRank.Worst[0].Rank + " alone"
			case unsure:
			case s.PerRank.Max > 0 && least != most:
				on += fmt.Sprintf(", %s–%s per step, most on %s", least, most, s.PerRank.Worst[0].Rank)
			case s.PerRank.Max > 0:
				on += ", " + most + " per step"
			}
			on += "."
			same := func(f finding.Finding) bool {
				return f.Kind == s.Kind && f.Cause == s.Cause && f.Code == s.Code && f.Text == s.Text &&
					f.Stage == s.Stage
			}
			if k := slices.IndexFunc(r.Findings, same); k >= 0 && i == 0 {
				f := &r.Findings[k]
				if f.Evidence != "" {
					f.Evidence = strings.TrimSuffix(f.Evidence, ".") + ". "
				}
				f.Evidence += on
			} else if k < 0 {
				s.Finding.Where = cmp.Or(s.Finding.Where, s.PerRank.Worst[0].Rank)
				s.Finding.Evidence, s.Finding.Next = on, r.command(finding.LateRank.Info().Program, nil, r.opens...)
				r.found = append(r.found, s.Finding)
				r.Findings = append(r.Findings, s.Finding)
			}
		}
	}
	for _, f := range many.Findings {
		f.Next = r.command(finding.LateRank.Info().Program, nil, r.opens...)
		r.found = append(r.found, f)
		r.Findings = append(r.Findings, f)
	}
	finding.Rank(r.Findings)
	finding.Rank(r.found)
	r.Verdict = fmt.Sprintf("%s %s: %s", many.Verdict, r.detailed(), r.Verdict)
}
