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
	*stageRun
	others []string // new files that a profiler of another kind has left
	before map[string]seenFile
	taken  time.Time // when before was
	files  map[string]*watched
	last   time.Time // last change of anything
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
	seenFile
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

// remember makes a watch of the files that are there.
func (s *stageRun) remember() error {
	s.w = &watch{stageRun: s, files: map[string]*watched{}, before: map[string]seenFile{}}
	list, err := s.f.look(s.From, s.skip())
	s.w.taken = time.Now()
	for name, info := range list {
		s.w.before[name] = seenFile{info.Size(), info.ModTime(), info}
	}
	return err
}

// skip are the folders of the stages, which are not looked into where all
// traces land in one; a server may be set to write into this stage's.
func (s *stageRun) skip() []string {
	if s.From == s.Dir {
		return nil
	}
	return slices.DeleteFunc([]string{string(StagePrefill), string(StageDecode)}, func(d string) bool {
		return d == s.Dir && s.con().Rewrites
	})
}

// wants reports whether a file could be what is waited for: a trace, or a report of Nsight Systems.
func (w *watch) wants(name string) bool {
	if w.o.Nsys {
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
		// Written anew. A file that an earlier run is still writing was written to right before the profiler was armed.
		return w.con().Rewrites && !old.same(info) && (old.info != nil && !os.SameFile(old.info, info) ||
			w.taken.Sub(old.ModTime) >= w.o.Timeouts.Stable)
	}
	// An earlier run's .tmp that is renamed now, or an old trace moved.
	for oldName, old := range w.before {
		if old.info == nil && old.same(info) && path.Base(oldName) == path.Base(name) ||
			old.info != nil && os.SameFile(old.info, info) && (isPartial(oldName) || old.same(info)) {
			return false
		}
	}
	return true
}

// update takes a look and checks the files that have settled.
func (w *watch) update(ctx context.Context, begin time.Time) error {
	list, err := w.f.look(w.From, w.skip())
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
		if !partial && !w.wants(name) || !w.ours(name, info) {
			continue
		}
		s := w.files[name]
		switch {
		case s == nil || !s.same(info):
			w.files[name] = &watched{seenFile: seenFile{info.Size(), info.ModTime(), info}, since: now, partial: partial,
				reason: "still being written"}
			w.last = now
		case s.checked || now.Sub(s.since) < w.o.Timeouts.Stable:
		case partial:
			s.reason = "not yet renamed"
		default:
			w.say("traces", begin, fmt.Sprintf("checking %s (%d bytes)", name, s.Bytes))
			if err := w.check(ctx, name, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// check reads one file to its end. A report of Nsight Systems has none that could be looked for; its size has settled.
func (w *watch) check(ctx context.Context, name string, s *watched) error {
	file, err := w.f.root.Open(path.Join(w.From, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.reason = "vanished"
		return nil
	case err != nil: // another user's file, not readable yet or ever
		s.reason = "cannot be read: " + err.Error()
		return nil
	}
	defer file.Close()
	if !w.o.Nsys {
		err = checkWhole(ctx, file)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if s.checked, s.reason = true, ""; err != nil {
		s.reason = err.Error()
	}
	return nil
}

// sorted are the names of the accepted files, and the others, each with what is wrong with it. late: one of those is
// more than a leftover .tmp.
func (w *watch) sorted() (done, pending []string, late bool) {
	for _, name := range slices.Sorted(maps.Keys(w.files)) {
		switch s := w.files[name]; {
		case s.foreign:
		case s.checked && s.reason == "":
			done = append(done, name)
		default:
			pending = append(pending, fmt.Sprintf("%s (%d bytes): %s", name, s.Bytes, s.reason))
			late = late || !s.partial
		}
	}
	return done, pending, late
}

// shortfall is what of a set of traces did not come in time.
type shortfall struct {
	waited  time.Duration
	missing []string // ranks without any file
	pending []string // new files that stayed incomplete, each with what is wrong with it
}

// wait looks until everything wanted is complete. It gives up at a time, and, where quiet is positive, once nothing
// has changed for so long. It returns the names of the traces, relative to the folder watched.
func (w *watch) wait(ctx context.Context, want []rank, until time.Time, quiet time.Duration) ([]string, *shortfall,
	error) {
	begin := time.Now()
	w.last = begin
	tick := time.NewTicker(w.o.Timeouts.Poll)
	defer tick.Stop()
	for {
		if err := w.update(ctx, begin); err != nil {
			return nil, nil, err
		}
		done, pending, late := w.sorted()
		lack := missingRanks(done, want)
		if w.o.MergeProfiles && !slices.ContainsFunc(done, isMerged) {
			lack = append(lack, "the merged trace")
		}
		switch {
		case len(done) == 0 || len(lack) > 0:
		case len(want) > 0 && !late, len(pending) == 0 && time.Since(w.last) >= w.o.Timeouts.Settle:
			return done, nil, nil
		}
		if !time.Now().Before(until) || quiet > 0 && time.Since(w.last) >= quiet {
			return done, &shortfall{time.Since(begin), lack, pending}, nil
		}
		what := fmt.Sprintf("%d complete", len(done))
		if len(want) > 0 {
			what = fmt.Sprintf("%d of %d complete", len(done), len(want))
		}
		if len(pending) > 0 {
			what += ", " + firstOf(pending)
		} else if len(lack) > 0 {
			what += ", waiting for " + firstOf(lack)
		}
		w.say("traces", begin, what)
		select {
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// await waits for the traces of the window and reads them. What is of another run is left out and waited past, and
// where the traces say that there are more ranks than were known of, those are waited for too.
func (s *stageRun) await(ctx context.Context) ([]string, *shortfall, error) {
	want, from := s.Expected, "as the server says"
	if n := s.o.ExpectRanks; n > 0 {
		if want, from = firstRanks(axisGlobal, n), "as asked"; s.ByStage {
			want = slices.Concat(want, want)
		}
	}
	if s.o.Nsys {
		want = nil // one report for each nsys, however many processes it records
	}
	until, quiet := time.Now().Add(s.o.Timeouts.Traces), time.Duration(0)
	switch {
	case errors.Is(s.stopErr, ErrDied): // what it had written is there
		until = time.Now().Add(2 * (s.o.Timeouts.Stable + s.o.Timeouts.Settle + s.o.Timeouts.Poll))
	case s.stopErr != nil && !timedOut(s.stopErr), s.stopErr == nil && s.con().Flushed:
		quiet = s.o.Timeouts.Quiet
	}
	for {
		if s.out.Expected = len(want); len(want) > 0 {
			s.out.ExpectedFrom = from
		}
		names, short, err := s.w.wait(ctx, want, until, quiet)
		if ctx.Err() == nil {
			s.read(ctx, names)
		}
		if ctx.Err() != nil {
			return names, nil, context.Cause(ctx)
		}
		if err != nil || short != nil {
			return names, short, err
		}
		if s.leaveOut(names) {
			continue
		}
		// Where neither the user nor the server says, the traces may.
		n := s.worldSize(names) * max(len(s.wins), 1)
		if len(want) > 0 || n == 0 || s.ByStage || s.o.Nsys {
			return names, nil, nil
		}
		want, from = firstRanks(axisGlobal, n), "world_size of the traces"
		if len(missingRanks(names, want)) == 0 {
			s.out.Expected, s.out.ExpectedFrom = len(want), from
			return names, nil, nil
		}
	}
}

// read has each new trace inspected.
func (s *stageRun) read(ctx context.Context, names []string) {
	for _, n := range names {
		f := s.w.files[n]
		if s.o.Inspect == nil || f.looked || isMerged(n) {
			continue
		}
		at := s.f.abs(path.Join(s.From, n))
		s.say("check", time.Now(), "reading "+path.Base(n))
		found, err := s.o.Inspect(ctx, at)
		if ctx.Err() != nil {
			return
		}
		if f.looked = true; err != nil {
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
	left := len(s.out.Rejected)
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
		case !foreign(end, s.Opened, ahead) || !known && !twin(n, names):
			continue
		}
		f.foreign = true
		s.out.Rejected = append(s.out.Rejected, path.Join(s.From, n))
		s.warn(fmt.Sprintf("%s is of another run: it %s %v before the profiler was armed", n, what,
			s.Opened.Sub(end).Round(time.Second)))
	}
	return len(s.out.Rejected) > left
}

// twin reports whether another file is of the same rank.
func twin(name string, names []string) bool {
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

// incomplete is the error of a set that lacks traces, with what the run knows of the cause.
func (s *stageRun) incomplete(names []string, short *shortfall) error {
	stage, waited, from := "", short.waited.Round(time.Millisecond), s.f.abs(s.From)
	if s.out.Stage != StageLegacy {
		stage = string(s.out.Stage) + " "
	}
	text := fmt.Sprintf("capture: no %strace from %s in %s after %v", stage, s.res.Server, from, waited)
	if len(names) > 0 || len(short.pending) > 0 {
		text = fmt.Sprintf("capture: incomplete %straces from %s in %s after %v: %d complete", stage, s.res.Server, from,
			waited, len(names))
		if s.out.Expected > 0 {
			text += fmt.Sprintf(" of %d expected", s.out.Expected)
		}
	}
	is := []error{ErrIncomplete}
	hint := func(format string, args ...any) { text += "; " + fmt.Sprintf(format, args...) }
	if len(short.missing) > 0 {
		hint("missing: %s", firstOf(short.missing))
	}
	if len(short.pending) > 0 {
		hint("%s", firstOf(short.pending))
	}
	if n := s.w.earlier(); n > 0 {
		hint("%d earlier traces in the folder were left out", n)
	}
	con, nodes := s.con(), s.res.Info.Nodes
	switch {
	case len(s.w.others) > 0 && len(names) == 0:
		is = append(is, ErrWrongKind)
		hint("the profiler wrote %s, which is of kind %s: %s", s.w.others[0], kindOf(s.w.others[0]),
			kindAdvice(s.o.Nsys))
	case nodes > 1 && (len(short.missing) > 0 || len(names) < s.out.Expected):
		is = append(is, ErrOtherHost)
		hint("nnodes=%d: the ranks that are missing run on the other hosts and write there; share the folder between "+
			"them, or copy their files here and run capture collect", nodes)
	case len(names) > 0 || len(short.pending) > 0:
	case s.o.Nsys:
		hint("nsys writes its report when the range ends, with --capture-range-end=repeat when the server ends; capture "+
			"collect --output-dir %s takes it then", s.f.path)
	case con.OwnDir && len(s.wins) > 0:
		hint("the server was asked to write to %s: if it runs on another machine or in a container, that folder must be "+
			"shared with this one (--server-output-dir names it as the server sees it)", s.serverDir(s.wins[0].t))
	default:
		hint("the server writes where it was launched to write, and that folder must be visible here as %s: %s",
			s.f.path, con.howToLaunch())
		if s.stopErr == nil && slices.Contains(con.Kinds, KindProton) && s.res.Info.Kind == "" {
			hint("a profiler of kind cuda or proton answers as well and leaves no trace: %s", kindAdvice(false))
		}
	}
	if len(names) == 0 && (s.w.earlier() > 0 || len(s.res.Stages) > 0) {
		hint("an earlier window did leave traces: some releases record only the first one of a server's life " +
			"(vllm-project/vllm#45987); restart the server and capture one stage per start")
	}
	for _, line := range s.out.Warnings {
		hint("%s", line)
	}
	for _, w := range s.wins {
		if w.aside != "" {
			hint("%s", w.aside)
		}
	}
	return worded{text, is}
}

// serverDir is the stage's folder as the server of t sees it. Engines that share one get a folder each below it.
func (s *stageRun) serverDir(t *target) string {
	base, below := s.o.ServerOutputDir, path.Join(s.Dir, t.dir)
	switch {
	case below == ".":
		return base
	case filepath.IsAbs(base): // else the server's path need not be one of this machine's kind
		return filepath.Join(base, below)
	}
	return path.Join(base, below)
}
