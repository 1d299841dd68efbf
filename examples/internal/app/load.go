package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/nsys"
)

// sqliteMagic opens every SQLite file, and so every nsys export.
const sqliteMagic = "SQLite format 3\x00"

// Need says what of a trace a program uses; the rest is not kept in memory. The
// zero value keeps every lane and no args.
type Need struct {
	// Lanes to keep; none means all.
	Lanes []trace.Lane
	// Args are the kinds of events whose raw args are kept.
	Args []trace.Kind
}

// Load reads the trace that --trace names, or the built-in demo, which it
// announces. What is wrong with a trace is told by one note each.
func (e *Env) Load(ctx context.Context, need Need) (*trace.Trace, error) {
	t, err := e.load(ctx, need)
	e.progress.clear()
	if err != nil {
		return nil, err
	}
	e.NoteHealth(t)
	return t, nil
}

// load is Load without the notes about health.
func (e *Env) load(ctx context.Context, need Need) (*trace.Trace, error) {
	opts := []trace.Option{trace.WithArgs(need.Args...)}
	if len(need.Lanes) > 0 {
		opts = append(opts, trace.WithLanes(need.Lanes...))
	}
	if e.Demo() {
		e.Notef("no --trace: showing the built-in demo trace (a small model's prefill and decode steps); --trace FILE reads your own")
		return trace.Read(ctx, bytes.NewReader(demo.Trace()), opts...)
	}
	return e.open(ctx, e.Trace, need, opts)
}

// LoadFile is [Env.Load] for a file that another flag names.
func (e *Env) LoadFile(ctx context.Context, path string, need Need) (*trace.Trace, error) {
	opts := []trace.Option{trace.WithArgs(need.Args...)}
	if len(need.Lanes) > 0 {
		opts = append(opts, trace.WithLanes(need.Lanes...))
	}
	t, err := e.open(ctx, path, need, opts)
	e.progress.clear()
	if err != nil {
		return nil, err
	}
	e.NoteHealth(t)
	return t, nil
}

// open reads a file by its content: an nsys export or report, or JSON.
func (e *Env) open(ctx context.Context, path string, need Need, opts []trace.Option) (*trace.Trace, error) {
	path, err := e.resolve(path)
	if err != nil {
		return nil, err
	}
	sqlite, err := isSQLite(path)
	if err != nil {
		return nil, err
	}
	e.Step("reading "+path, 0, 0)
	if sqlite || nsys.IsReport(path) {
		nopts := []nsys.Option{nsys.WithProgress(func(p trace.Progress) { e.Step("reading "+path, p.Read, p.Size) })}
		if len(need.Lanes) > 0 {
			nopts = append(nopts, nsys.WithLanes(need.Lanes...))
		}
		return nsys.Open(ctx, path, nopts...)
	}
	opts = append(opts, trace.WithMemoryBudget(systemMemoryBudget()), trace.WithProgress(func(p trace.Progress) {
		e.Step("reading "+path, p.Read, p.Size)
	}))
	return trace.Open(ctx, path, opts...)
}

// resolve returns the file to read. Of a directory that is the trace that
// [trace.Discover] puts first; which one, and what else there was, is announced.
func (e *Env) resolve(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("trace: %w", err)
	}
	if !info.IsDir() {
		return path, nil
	}
	files, err := trace.Discover(path)
	if err != nil {
		return "", err
	}
	if len(files) == 0 {
		return "", fmt.Errorf("trace %s: no trace file in this directory", path)
	}
	e.Notef("reading %s", files[0].Path)
	for _, f := range files[1:] {
		e.Notef("not read: %s; name it with --trace", f.Path)
	}
	return files[0].Path, nil
}

// NoteHealth prints what is wrong with a trace, worst first, and nothing where
// it is in order.
func (e *Env) NoteHealth(t *trace.Trace) {
	h := t.Health()
	if h.Status == trace.HealthOK {
		return
	}
	e.Notef("health: %s", h.Status)
	for _, f := range h.Findings {
		e.Notef("  %s (%s): %s", f.Code, f.Severity, f.Message)
	}
}

// isSQLite reports whether the file at path is a SQLite database, by its
// content.
func isSQLite(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("trace: %w", err)
	}
	defer f.Close()
	magic := make([]byte, len(sqliteMagic))
	if _, err := io.ReadFull(f, magic); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, fmt.Errorf("trace %s: %w", path, err)
	}
	return string(magic) == sqliteMagic, nil
}
