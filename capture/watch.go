package capture

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// watch waits for the traces of one window.
//
// Before the profiler is armed, it remembers every file in the folder. Later a file counts as this run's when its name
// is new and it is not one of the remembered ones renamed; where the server writes to a fixed name, also when the
// remembered file has been replaced.
type watch struct {
	f        *folder
	dir      string   // below f, "." for f itself
	skip     []string // folders below dir that are not looked into
	rewrites bool
	nsys     bool     // reports of Nsight Systems are waited for, not traces
	others   []string // new files that a profiler of another kind has left
	poll     Timeouts
	before   map[string]seenFile
	taken    time.Time // when before was
	files    map[string]*watched
	last     time.Time // last change of anything
}

// seenFile is what is remembered of a file that was there before.
type seenFile struct {
	Bytes   int64     `json:"bytes"`
	ModTime time.Time `json:"mod_time"`
	// info recognises the file under another name; nil in a watch that was taken up again from a session file.
	info fs.FileInfo
}

// same reports whether a file has the mark's size and time.
func (m seenFile) same(info fs.FileInfo) bool {
	return m.Bytes == info.Size() && m.ModTime.Equal(info.ModTime())
}

// watched is one new file.
type watched struct {
	info    fs.FileInfo
	since   time.Time // when it last changed
	partial bool
	// reason says why it is not accepted, "" once it is.
	reason  string
	checked bool // reason is of this size and time
	// found is what Inspect saw in it.
	found  *Found
	looked bool
	// foreign: it is of another run, and neither waited for nor taken.
	foreign bool
}

func newWatch(f *folder, dir string, skip []string, rewrites bool, poll Timeouts) (*watch, error) {
	w := &watch{f: f, dir: dir, skip: skip, rewrites: rewrites, poll: poll, files: map[string]*watched{}}
	list, err := f.look(dir, skip)
	w.before, w.taken = make(map[string]seenFile, len(list)), time.Now()
	for name, info := range list {
		w.before[name] = seenFile{info.Size(), info.ModTime(), info}
	}
	return w, err
}

// wants reports whether a file could be what is waited for.
func (w *watch) wants(name string) bool {
	if w.nsys {
		return kindOf(name) == KindCUDA
	}
	return isTrace(name)
}

// earlier counts the traces that were there before.
func (w *watch) earlier() int {
	n := 0
	for name := range w.before {
		if w.wants(name) {
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
		if old.info == nil {
			if old.same(info) && path.Base(oldName) == path.Base(name) {
				return false
			}
			continue
		}
		if os.SameFile(old.info, info) && (isPartial(oldName) || old.same(info)) {
			return false
		}
	}
	return true
}

// replaced reports a file that was written anew. A file that an earlier run is
// still writing was written to right before the profiler was armed.
func (w *watch) replaced(old seenFile, now fs.FileInfo) bool {
	if old.same(now) {
		return false
	}
	return (old.info != nil && !os.SameFile(old.info, now)) || w.taken.Sub(old.ModTime) >= w.poll.Stable
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
		info, partial := list[name], isPartial(name)
		if _, old := w.before[name]; !old && !w.wants(name) && kindOf(name) != "" && !slices.Contains(w.others, name) {
			w.others = append(w.others, name)
		}
		if (!partial && !w.wants(name)) || !w.ours(name, info) {
			continue
		}
		s := w.files[name]
		if s == nil || s.info.Size() != info.Size() || !s.info.ModTime().Equal(info.ModTime()) {
			w.files[name] = &watched{info: info, since: now, partial: partial, reason: "still being written"}
			w.last = now
			continue
		}
		switch {
		case s.checked || now.Sub(s.since) < w.poll.Stable:
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
	if !w.nsys { // a report has no end that could be looked for; its size has settled
		err = checkWhole(ctx, file)
	}
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
		if s.checked && s.reason == "" && !s.foreign {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// pending are the others, sorted, each with what is wrong with it, and whether one of them is more than a leftover .tmp.
func (w *watch) pending() (list []string, late bool) {
	for _, name := range slices.Sorted(maps.Keys(w.files)) {
		if s := w.files[name]; !s.foreign && (!s.checked || s.reason != "") {
			list = append(list, fmt.Sprintf("%s (%d bytes): %s", name, s.info.Size(), s.reason))
			late = late || !s.partial
		}
	}
	return list, late
}

// patience says how long await waits.
type patience struct {
	// until is when it ends in any case.
	until time.Time
	// quiet, when positive, ends it once nothing has changed for so long.
	quiet time.Duration
}

// await looks until everything wanted is complete. It returns the names of the traces, relative to the folder watched.
// On a timeout the error is an *IncompleteError with what this package can see; the caller adds what it knows.
func (w *watch) await(ctx context.Context, want []wanted, merged bool, p patience, say func(string)) ([]string, error) {
	begin := time.Now()
	w.last = begin
	tick := time.NewTicker(w.poll.Poll)
	defer tick.Stop()
	for {
		err := w.update(ctx, func(name string, bytes int64) {
			say(fmt.Sprintf("checking %s (%d bytes)", name, bytes))
		})
		if err != nil {
			return nil, err
		}
		done := w.complete()
		pending, late := w.pending()
		lack := missingRanks(done, want)
		if merged && !slices.ContainsFunc(done, isMerged) {
			lack = append(lack, "the merged trace")
		}
		switch {
		case len(done) == 0 || len(lack) > 0:
		case len(want) > 0 && !late:
			return done, nil
		case len(pending) == 0 && time.Since(w.last) >= w.poll.Settle:
			return done, nil
		}
		if !time.Now().Before(p.until) || p.quiet > 0 && time.Since(w.last) >= p.quiet {
			return done, &incompleteError{
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

// await waits for the traces of the window and reads them. What is of another run is left out and waited past, and
// where the traces say that there are more ranks than were known of, those are waited for too.
func (s *stageRun) await(ctx context.Context) ([]string, error) {
	begin := time.Now()
	say := func(msg string) { s.say("traces", begin, msg) }
	expect, from := s.o.ExpectRanks, "as asked"
	want := wantRanks(nil, expect, s.ByStage)
	if expect == 0 && len(s.Expected) > 0 {
		want, from = s.Expected, "as the server says"
	}
	if s.o.Nsys {
		want = nil // one report for each nsys, however many processes it records
	}
	p := patience{until: begin.Add(s.o.Timeouts.Traces)}
	switch {
	case errors.Is(s.stopErr, ErrDied): // what it had written is there
		p.until = begin.Add(2 * (s.o.Timeouts.Stable + s.o.Timeouts.Settle + s.o.Timeouts.Poll))
	case s.stopErr != nil && !timedOut(s.stopErr), s.stopErr == nil && s.con().Flushed:
		p.quiet = s.o.Timeouts.Quiet
	}
	for {
		if s.out.Expected = len(want); len(want) > 0 {
			s.out.ExpectedFrom = from
		}
		names, err := s.w.await(ctx, want, s.o.MergeProfiles, p, say)
		if ctx.Err() == nil {
			s.read(ctx, names)
		}
		if ctx.Err() != nil {
			return names, context.Cause(ctx)
		}
		if err != nil {
			return names, err
		}
		if s.leaveOut(names) {
			continue
		}
		// Where neither the user nor the server says, the traces may.
		if n := s.worldSize(names) * max(len(s.wins), 1); len(want) == 0 && n > 0 && !s.ByStage && !s.o.Nsys {
			if want, from = wantRanks(nil, n, false), "world_size of the traces"; len(missingRanks(names, want)) > 0 {
				continue
			}
			s.out.Expected, s.out.ExpectedFrom = len(want), from
		}
		return names, nil
	}
}

// read has each new trace inspected, a report of Nsight Systems after it was exported.
func (s *stageRun) read(ctx context.Context, names []string) {
	for _, n := range names {
		f := s.w.files[n]
		if s.o.Inspect == nil || f.looked || isMerged(n) {
			continue
		}
		at := s.f.abs(path.Join(s.From, n))
		s.say("check", time.Now(), "reading "+path.Base(n))
		var err error
		if s.o.Nsys && s.o.Export != nil {
			at, err = s.o.Export(ctx, at)
		}
		var found Found
		if err == nil {
			found, err = s.o.Inspect(ctx, at)
		}
		if ctx.Err() != nil {
			return
		}
		f.looked = true
		if err != nil {
			s.warn(fmt.Sprintf("%s cannot be read: %v", at, err))
			continue
		}
		f.found = &found
	}
}

// ourID reports whether a name holds what was made for this window.
func (s *stageRun) ourID(name string) bool {
	b := path.Base(name)
	return s.ID != "" && (strings.Contains(b, s.ID) || strings.Contains(b, strings.ReplaceAll(s.ID, ".", "-")))
}

// leaveOut marks the traces of another run and reports whether there were any. Whether a file is new was seen in the
// folder; a name that was made for this window settles it; only then does it count when the recording ended.
func (s *stageRun) leaveOut(names []string) bool {
	var ahead time.Duration
	known := false
	if len(s.wins) > 0 {
		ahead, known = s.wins[0].t.c.ahead()
	}
	anyOurs := slices.ContainsFunc(names, s.ourID)
	any := false
	for _, n := range names {
		f := s.w.files[n]
		end, what := started(n), "was begun"
		if f.found != nil && !f.found.End.IsZero() {
			end, what = f.found.End, "ends"
		}
		switch {
		case s.ourID(n):
			continue
		case anyOurs && !isFrontend(n) && !isMerged(n):
			what = "has not the name that this run gave to its traces; it " + what
		case !foreign(end, s.Opened, ahead) || !known && !s.twin(n, names):
			continue
		}
		f.foreign, any = true, true
		s.out.Rejected = append(s.out.Rejected, path.Join(s.From, n))
		s.warn(fmt.Sprintf("%s is of another run: it %s %v before the profiler was armed", n, what,
			s.Opened.Sub(end).Round(time.Second)))
	}
	return any
}

// twin reports whether another file is of the same rank.
func (s *stageRun) twin(name string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		return n != name && parseRank(n) == parseRank(name) && halfOf(n) == halfOf(name)
	})
}

// worldSize is the largest job that a trace says it is of, 0 when none does.
func (s *stageRun) worldSize(names []string) int {
	n := 0
	for _, name := range names {
		if f := s.w.files[name].found; f != nil && f.Ranked && !isFrontend(name) {
			n = max(n, f.WorldSize)
		}
	}
	if n > maxWorld {
		return 0 // no deployment; the field is the file's
	}
	return n
}

// maxWorld is more ranks than any deployment has.
const maxWorld = 4096

// waiting is the progress line.
func waiting(done, pending []string, want []wanted, lack []string) string {
	s := fmt.Sprintf("%d complete", len(done))
	if len(want) > 0 {
		s = fmt.Sprintf("%d of %d complete", len(done), len(want))
	}
	if len(pending) > 0 {
		return s + ", " + firstOf(pending)
	}
	if len(lack) > 0 {
		s += ", waiting for " + firstOf(lack)
	}
	return s
}
