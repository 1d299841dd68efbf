package capture

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// watch waits for the traces of one window.
//
// Before the profiler is armed, it remembers every file in the folder. Later a
// file counts as this run's when its name is new and it is not one of the
// remembered ones renamed; where the server writes to a fixed name, also when
// the remembered file has been replaced.
type watch struct {
	f        *folder
	dir      string   // below f, "." for f itself
	skip     []string // folders below dir that are not looked into
	rewrites bool
	poll     Poll
	before   map[string]fs.FileInfo
	taken    time.Time // when before was
	files    map[string]*watched
	last     time.Time // last change of anything
}

// watched is one new file.
type watched struct {
	info    fs.FileInfo
	since   time.Time // when it last changed
	partial bool
	// reason says why it is not accepted, "" once it is.
	reason  string
	checked bool // reason is of this size and time
}

func newWatch(f *folder, dir string, skip []string, rewrites bool, poll Poll) (*watch, error) {
	w := &watch{f: f, dir: dir, skip: skip, rewrites: rewrites, poll: poll, files: map[string]*watched{}}
	var err error
	w.before, err = f.look(dir, skip)
	w.taken = time.Now()
	return w, err
}

// earlier counts the traces that were there before.
func (w *watch) earlier() int {
	n := 0
	for name := range w.before {
		if isTraceName(name) {
			n++
		}
	}
	return n
}

// ours reports whether a file is of this run.
func (w *watch) ours(name string, info fs.FileInfo) bool {
	if old, ok := w.before[name]; ok {
		return w.rewrites && w.replaced(old, info)
	}
	// An earlier run's .tmp that is renamed now, or an old trace moved.
	for oldName, old := range w.before {
		if os.SameFile(old, info) && (isPartialName(oldName) || (old.Size() == info.Size() && old.ModTime().Equal(info.ModTime()))) {
			return false
		}
	}
	return true
}

// replaced tells a file written anew from one that an earlier run is still
// writing: the latter had been written to right before the profiler was armed.
func (w *watch) replaced(old, now fs.FileInfo) bool {
	if old.Size() == now.Size() && old.ModTime().Equal(now.ModTime()) {
		return false
	}
	return !os.SameFile(old, now) || w.taken.Sub(old.ModTime()) >= w.poll.StableFor
}

// update takes a look and checks the files that have settled.
func (w *watch) update(ctx context.Context, checking func(name string, bytes int64)) error {
	list, err := w.f.look(w.dir, w.skip)
	if err != nil {
		return err
	}
	now := time.Now()
	for name := range w.files {
		if _, ok := list[name]; !ok {
			delete(w.files, name)
			w.last = now
		}
	}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		info, partial := list[name], isPartialName(name)
		if (!partial && !isTraceName(name)) || !w.ours(name, info) {
			continue
		}
		s := w.files[name]
		if s == nil || s.info.Size() != info.Size() || !s.info.ModTime().Equal(info.ModTime()) {
			w.files[name] = &watched{info: info, since: now, partial: partial, reason: "still being written"}
			w.last = now
			continue
		}
		switch {
		case s.checked || now.Sub(s.since) < w.poll.StableFor:
		case partial:
			s.reason = "not yet renamed"
		default:
			if checking != nil {
				checking(name, info.Size())
			}
			if err := w.check(ctx, name, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// check reads one file to its end.
func (w *watch) check(ctx context.Context, name string, s *watched) error {
	file, err := w.f.root.Open(filepath.Join(filepath.FromSlash(w.dir), filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		s.reason = "vanished"
		return nil
	}
	if err != nil {
		// Another user's file, not readable yet or ever.
		s.reason = "cannot be read: " + err.Error()
		return nil
	}
	defer file.Close()
	err = checkWhole(ctx, file)
	switch {
	case err == nil:
		s.reason = ""
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		s.reason = err.Error()
	}
	s.checked = true
	return nil
}

// complete are the accepted names, sorted.
func (w *watch) complete() []string {
	var names []string
	for name, s := range w.files {
		if s.checked && s.reason == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// pending are the others, sorted.
func (w *watch) pending() []FileState {
	var list []FileState
	for _, name := range slices.Sorted(maps.Keys(w.files)) {
		if s := w.files[name]; !s.checked || s.reason != "" {
			list = append(list, FileState{Path: name, Bytes: s.info.Size(), Reason: s.reason})
		}
	}
	return list
}

// await looks until everything wanted is complete. It returns the names of the
// traces, relative to the folder watched. On a timeout the error is an
// *IncompleteError with what this package can see; the caller adds what it
// knows.
func (w *watch) await(ctx context.Context, want []wanted, merged bool, timeout time.Duration, say func(string)) ([]string, error) {
	begin := time.Now()
	w.last = begin
	tick := time.NewTicker(w.poll.Interval)
	defer tick.Stop()
	for {
		err := w.update(ctx, func(name string, bytes int64) {
			say(fmt.Sprintf("checking %s (%d bytes)", name, bytes))
		})
		if err != nil {
			return nil, err
		}
		done, pending := w.complete(), w.pending()
		lack := missing(done, want)
		if merged && !slices.ContainsFunc(done, isMerged) {
			lack = append(lack, "the merged trace")
		}
		switch {
		case len(done) == 0 || len(lack) > 0:
		case len(want) > 0 && !anyOf(pending, w.files):
			return done, nil
		case len(pending) == 0 && time.Since(w.last) >= w.poll.SettleFor:
			return done, nil
		}
		if time.Since(begin) >= timeout {
			return done, &IncompleteError{
				Dir: w.f.abs(w.dir), Waited: time.Since(begin), Expected: len(want), Complete: done,
				Missing: lack, Incomplete: pending, Earlier: w.earlier(),
			}
		}
		say(waiting(done, pending, want, lack))
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// anyOf reports whether a trace, not a leftover .tmp, is still pending.
func anyOf(pending []FileState, files map[string]*watched) bool {
	return slices.ContainsFunc(pending, func(p FileState) bool { return !files[p.Path].partial })
}

// waiting is the progress line.
func waiting(done []string, pending []FileState, want []wanted, lack []string) string {
	s := fmt.Sprintf("%d complete", len(done))
	if len(want) > 0 {
		s = fmt.Sprintf("%d of %d complete", len(done), len(want))
	}
	if len(pending) > 0 {
		s += fmt.Sprintf(", %s: %s", pending[0].Path, pending[0].Reason)
		if len(pending) > 1 {
			s += fmt.Sprintf(", %d more pending", len(pending)-1)
		}
	} else if len(lack) > 0 {
		s += ", waiting for " + lack[0]
		if len(lack) > 1 {
			s += fmt.Sprintf(" and %d more", len(lack)-1)
		}
	}
	return s
}
