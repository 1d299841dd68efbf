package app

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// Load reads the trace that --trace names, or the built-in demo, which it announces. It writes one note for each
// problem of a trace, and notes which files of a directory were read and which were not.
func (e *Env) Load(ctx context.Context, o trace.Options) (*trace.Trace, error) {
	if !e.Demo() {
		return e.LoadFile(ctx, e.Trace, o)
	}
	e.Notef("no --trace: showing the built-in demo trace (a small model's prefill and decode steps); --trace FILE " +
		"reads your own")
	t, err := trace.Read(ctx, bytes.NewReader(demo.Trace()), o)
	if err == nil {
		e.Judging(t.Health().Status)
	}
	return t, err
}

// LoadFile is [Env.Load] for a file that another flag names.
func (e *Env) LoadFile(ctx context.Context, path string, o trace.Options) (*trace.Trace, error) {
	rec, err := e.Open(ctx, path, strata.Options{Trace: o, MaxFiles: 1})
	if err != nil {
		return nil, err
	}
	return rec.Parts[0].Trace, nil
}

// Open reads a file, a directory or the standard input, and writes the same notes as Load.
func (e *Env) Open(ctx context.Context, path string, o strata.Options) (*strata.Recording, error) {
	return e.open(path, o, func(o strata.Options) (*strata.Recording, error) { return strata.Open(ctx, path, o) })
}

// OpenRun reads the files or directories of one run, or the built-in demo where none is named.
func (e *Env) OpenRun(ctx context.Context, paths []string, o strata.Options) (*strata.Recording, error) {
	switch len(paths) {
	case 0:
		t, err := e.Load(ctx, trace.Options{})
		if err != nil {
			return nil, err
		}
		return &strata.Recording{Name: demo.Name, Parts: []strata.Part{{File: trace.File{Rank: -1}, Trace: t}}}, nil
	case 1:
		return e.Open(ctx, paths[0], o)
	}
	return e.open(paths[0], o, func(o strata.Options) (*strata.Recording, error) {
		return strata.OpenFiles(ctx, paths, o)
	})
}

func (e *Env) open(path string, o strata.Options,
	read func(strata.Options) (*strata.Recording, error)) (*strata.Recording, error) {
	memory := e.memoryBudget()
	o.Trace.MemoryBudget, o.Trace.RepairOrder, o.Stdin = memory.bytes, e.RepairOrder, e.Stdin
	o.Progress = func(p string, at trace.Progress) { e.Step("reading "+p, at.Read, at.Size) }
	e.Step("reading "+path, 0, 0)
	rec, err := read(o)
	e.progress.clear()
	if err != nil {
		return nil, memory.explain(err)
	}
	e.noteFiles(rec)
	for _, p := range rec.Parts {
		e.NoteHealth(p.Trace)
		e.Judging(p.Trace.Health().Status)
	}
	return rec, nil
}

// LoadOptions are how the flags want traces to be read, for programs that open them by themselves.
func (e *Env) LoadOptions() strata.Options {
	return strata.Options{Trace: trace.Options{MemoryBudget: e.memoryBudget().bytes, RepairOrder: e.RepairOrder},
		Stdin: e.Stdin}
}

// DigestOptions are [Env.LoadOptions] with these of the layers for digests of ranks, which are counted while they are
// made.
func (e *Env) DigestOptions(layers layer.Options) strata.DigestOptions {
	return strata.DigestOptions{Open: e.LoadOptions(), Layers: layers,
		Progress: func(done, total int) {
			e.Step(fmt.Sprintf("ranks %s of %s", table.Count(int64(done)), table.Count(int64(total))), 0, 0)
		}}
}

// Judging notes the health of what was read.
func (e *Env) Judging(s trace.HealthStatus) {
	if worst := e.worst(); s.Compare(*worst) > 0 {
		*worst = s
	}
}

// worst is the worst health that was noted.
func (e *Env) worst() *trace.HealthStatus {
	if e.health == nil {
		e.health = new(trace.HealthStatus)
	}
	return e.health
}

// unreadNotes is how many files that were not read are named.
const unreadNotes = 3

// noteFiles notes which files of a directory are read, and which are not.
func (e *Env) noteFiles(rec *strata.Recording) {
	if len(rec.Parts) == 1 && len(rec.NotRead) == 0 && rec.Parts[0].Path == rec.Name {
		return
	}
	for _, p := range rec.Parts {
		e.Notef("reading %s", p.Shown())
	}
	left := rec.NotRead
	if e.ReadsRanks {
		left = slices.DeleteFunc(slices.Clone(left), func(u strata.Part) bool { return u.Why == strata.AnotherRank })
	}
	for i, u := range left {
		if i == unreadNotes {
			e.Notef("not read: %d more", len(left)-i)
			break
		}
		e.Notef("not read: %s (%s); name it with --trace", u.Shown(), u.Why)
	}
}

// NoteHealth prints what is wrong with a trace, worst first. Where it is in
// order that is nothing, unless a GPU's clock changed: times then differ for no
// reason that the trace shows.
func (e *Env) NoteHealth(t *trace.Trace) {
	h := t.Health()
	if h.Status == trace.HealthOK {
		for _, f := range h.Findings {
			if f.Code == trace.CodeClockChanged {
				e.Notef("%s", f.Message)
			}
		}
		return
	}
	e.Notef("health: %s", h.Status)
	for _, f := range h.Findings {
		e.Notef("  %s (%s): %s", f.Code, f.Severity, f.Message)
	}
}
