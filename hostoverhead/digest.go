package hostoverhead

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/trace"
)

// Digest is what each GPU of a trace leaves for answers about many ranks: one [fleet.Rank] a GPU with kernels, one
// that says so where the trace has none. run names the recording, file is the trace as it was found.
func Digest(ctx context.Context, run string, file trace.File, a *layer.Analysis) ([]fleet.Rank, error) {
	base := fleet.Rank{Schema: fleet.RankSchema, Run: run, Part: file.Stage, Rank: a.Trace().Meta().Rank,
		NameRank: file.Rank, Host: hostOf(file.Path), File: filepath.Base(file.Path)}
	describe(&base, a)
	if len(a.Devices) == 0 {
		base.Bad = "no GPU activity"
		return []fleet.Rank{base}, nil
	}
	w, accounts, err := accountsOf(ctx, a, &Options{}, false)
	if err != nil && !errors.Is(err, layer.ErrNoKernels) {
		return nil, fmt.Errorf("%s: %w", file.Path, err)
	}
	var out []fleet.Rank
	for i := range a.Devices {
		d := &a.Devices[i]
		r := base
		r.Device, r.GPU = int(d.ID), d.GPU
		r.Record(d)
		for k, acc := range accounts {
			if w.devices[k].id == d.ID {
				acc.digestIdle(&r)
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// describe fills in what a trace is of.
func describe(r *fleet.Rank, a *layer.Analysis) {
	t := a.Trace()
	r.World, r.Framework, r.Health = t.Meta().WorldSize, a.Framework(), a.Health.Status
	if c := a.Config; c != nil {
		r.Model = c.Summary().Model
	}
	if at, ok := t.Epoch(); ok {
		r.Clock = at.UnixNano()
	}
}

// BadRank is the digest of a file that could not be read.
func BadRank(run string, file trace.File, why error) fleet.Rank {
	text := why.Error()
	if i := strings.Index(text, file.Path+": "); i >= 0 { // the file is named beside it
		text = text[i+len(file.Path)+2:]
	}
	return fleet.Rank{Schema: fleet.RankSchema, Run: run, Part: file.Stage, Rank: file.Rank, NameRank: file.Rank,
		File: filepath.Base(file.Path), Bad: table.Clean(strings.TrimPrefix(text, "trace: "))}
}

// processFile is a file as torch's tensorboard handler names it: host_process.time.pt.trace.json.
var processFile = regexp.MustCompile(`^(.+)_\d+\.\d{13,}\.pt\.trace`)

// hostOf is the machine that a file's name says, "" for none.
func hostOf(path string) string {
	if m := processFile.FindStringSubmatch(filepath.Base(path)); m != nil {
		return m[1]
	}
	return ""
}

// digestIdle fills in the causes of idle time.
func (a *account) digestIdle(r *fleet.Rank) {
	for i := range a.steps {
		s := &a.steps[i]
		if s.step == nil {
			continue
		}
		for c, ns := range s.idle {
			if ns > 0 {
				at := &r.Steps[s.step.Index].Idle
				*at = append(*at, fleet.CauseTime{Cause: finding.Cause(c), NS: ns})
			}
		}
	}
	for _, c := range a.idleCauses(0) {
		most := slices.MaxFunc(c.Names, func(x, y IdleName) int { return cmp.Compare(x.StepsNS, y.StepsNS) })
		r.Names = append(r.Names, fleet.IdleName{Cause: c.Cause, Name: table.Clean(most.Name), NS: most.StepsNS})
	}
}
