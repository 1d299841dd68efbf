package hostoverhead

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

const mostKernels = 20 // names, those with most time

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
	if err != nil && !errors.Is(err, names.ErrNoKernels) {
		return nil, fmt.Errorf("%s: %w", file.Path, err)
	}
	var out []fleet.Rank
	for i := range a.Devices {
		d := &a.Devices[i]
		r := base
		r.Device, r.GPU = int(d.ID), d.GPU
		digestDevice(&r, d)
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
	r.World, r.Framework, r.Health = t.Meta().WorldSize, a.Framework(), t.Health().Status
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
		File: filepath.Base(file.Path),
		Bad:  table.Clean(text)}
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

// digestDevice fills in what ran on one GPU, a step for each forward pass.
func digestDevice(r *fleet.Rank, d *layer.Device) {
	steps := make([]fleet.Step, len(d.Passes))
	operators := make([]map[fleet.Named]int64, len(d.Passes))
	for p := range d.Passes {
		fp := &d.Passes[p]
		steps[p] = fleet.Step{Number: -1, Stage: fp.Stage, Tokens: fp.Tokens, Requests: int64(fp.Batch),
			Partial: fp.Partial != "", Start: int64(fp.Start)}
		if fp.Annotation != nil {
			steps[p].Number = fp.Annotation.Index
		}
		operators[p] = map[fleet.Named]int64{}
	}
	for p, s := range d.Steps() {
		steps[p].Wall += int64(s.End - s.Start)
		if s.Kernel != trace.None {
			steps[p].Busy += int64(s.End - s.Start)
		}
	}
	print := fnv.New128a()
	kernels := map[fleet.Named]int64{}
	groups, calls := map[string]int{}, map[string]int{}
	for k := range d.Kernels() {
		e, facts := k.Event(), k.Facts()
		took := int64(e.Duration())
		var b [16]byte
		binary.LittleEndian.PutUint64(b[:], uint64(e.Start()))
		binary.LittleEndian.PutUint64(b[8:], uint64(took))
		print.Write(b[:])
		if e.Kind() == event.Kernel {
			kernels[fleet.Named{Name: facts.Short, Operator: operatorName(k)}] += took
		}
		p := k.Place().Pass
		if p == trace.None {
			continue
		}
		if facts.Collective != classify.NotCollective {
			s := &steps[p]
			s.Call = append(s.Call, callOf(r, e, facts, groups, calls))
			s.At = append(s.At, int64(e.Start())-s.Start)
			s.Took = append(s.Took, took)
			continue
		}
		operators[p][fleet.Named{Name: operatorName(k)}] += took
	}
	r.Fingerprint = hex.EncodeToString(print.Sum(nil))
	for p := range steps {
		steps[p].Operators = timesOf(operators[p])
	}
	r.Steps, r.Kernels = steps, first(timesOf(kernels), mostKernels)
}

// operatorName is the operator of a kernel, or its category if the operator is unknown.
func operatorName(k layer.Kernel) string {
	if op, _, _ := k.Operator(); op != "" && op != opname.Other {
		return string(op)
	}
	return string(k.Category())
}

// callOf is the index of a collective among those of its rank.
func callOf(r *fleet.Rank, e trace.Event, facts *classify.Facts, groups, calls map[string]int) int {
	c := fleet.Call{Kind: facts.Collective, Group: -1, Kernel: facts.Short}
	if x, ok := e.Exchange(); ok {
		c.Bytes = x.Bytes
		if x.Group != "" || x.Ranks != nil {
			key := fmt.Sprint(x.Group, x.Ranks)
			at, known := groups[key]
			if !known {
				at = len(r.Groups)
				groups[key], r.Groups = at, append(r.Groups, fleet.ProcessGroup{Name: x.Group, Ranks: x.Ranks})
			}
			c.Group = at
		}
	}
	key := fmt.Sprint(c)
	at, known := calls[key]
	if !known {
		at = len(r.Calls)
		calls[key], r.Calls = at, append(r.Calls, c)
	}
	return at
}

// digestIdle fills in the causes of idle time.
func (a *account) digestIdle(r *fleet.Rank) {
	for i := range a.steps {
		s := &a.steps[i]
		if s.step == nil || s.step.Index < 0 || s.step.Index >= len(r.Steps) {
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

// timesOf lists times by name, most first.
func timesOf(times map[fleet.Named]int64) []fleet.Named {
	out := make([]fleet.Named, 0, len(times))
	for of, ns := range times {
		of.NS = ns
		out = append(out, of)
	}
	slices.SortFunc(out, func(a, b fleet.Named) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Operator, b.Operator))
	})
	return out
}

func first[T any](list []T, n int) []T { return list[:min(n, len(list))] }
