package triage

import (
	"context"
	"strings"
	"time"

	"github.com/llmstrata/strata/hostoverhead/replay"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
)

// Edit is one kernel in place of each occurrence of the chains that have a name, or, where none has, have it in
// theirs.
func (r *Report) Edit(name string) replay.Edit {
	has := func(is func(pattern, name string) bool) (out []replay.Fused) {
		for i := range r.Stages {
			for j := range r.Stages[i].Fuse {
				if f := &r.Stages[i].Fuse[j]; is(f.Pattern, name) {
					out = append(out, f.fused()...)
				}
			}
		}
		return out
	}
	at := has(func(pattern, name string) bool { return pattern == name })
	if at == nil {
		at = has(strings.Contains)
	}
	return replay.Edit{Kind: replay.Chain, Name: name}.With(at)
}

// Edits lists the edits that a report leads to: each chain in one kernel for which there is something to do.
func (r *Report) Edits() (out []replay.Edit) {
	seen := map[string]bool{}
	for i := range r.Stages {
		for j := range r.Stages[i].Fuse {
			f := &r.Stages[i].Fuse[j]
			if f.State.Asks() && f.Gain.Launches > 0 && !seen[f.Pattern] && len(out) < replay.MostEdits {
				seen[f.Pattern] = true
				out = append(out, r.Edit(f.Pattern))
			}
		}
	}
	return out
}

// Replay adds to the chains of a report of these traces, and to their findings, what a step would take with one
// kernel in place of each, as far as the replay of the first GPU of a trace answers; models may be nil. The error is
// ctx's.
func (r *Report) Replay(ctx context.Context, list []*layer.Analysis, models *replay.Models) error {
	edits := r.Edits()
	for _, a := range list {
		if len(edits) == 0 || len(a.Devices) == 0 {
			continue
		}
		gains, err := models.Analyze(ctx, &a.Devices[0], edits)
		if err != nil {
			return err
		}
		for n := range gains {
			if gains[n].Refused != "" {
				continue
			}
			for i := range r.Stages {
				for j := range r.Stages[i].Fuse {
					if f := &r.Stages[i].Fuse[j]; f.Pattern == edits[n].Name && f.Replayed == nil {
						f.Replayed = &gains[n].Gain
					}
				}
			}
			for i := range r.Findings { // rows without a gain have none
				if f := &r.Findings[i]; f.Kind == finding.Fusion && f.Code == edits[n].Name {
					f.Gains = append(f.Gains, gains[n].Gain)
				}
			}
		}
	}
	return nil
}

// fused lists the occurrences that the row's gain counts; none for rows without one.
func (f *FuseRow) fused() (out []replay.Fused) {
	for i := range f.at {
		o := &f.at[i]
		one := replay.Fused{Trace: o.Trace.Trace}
		var took int64
		for _, act := range o.Acts {
			a := &o.Trace.Acts[act]
			one.Kernels = append(one.Kernels, o.Trace.Event(a).ID())
			took += a.End - a.Start
		}
		price := o.Price
		one.Least, one.Most = time.Duration(took-price.High), time.Duration(took-price.Low)
		out = append(out, one)
	}
	return out
}
