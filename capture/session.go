package capture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/llmstrata/strata/capture/internal/folder"
	"github.com/llmstrata/strata/capture/internal/label"
	"github.com/llmstrata/strata/capture/internal/server"
)

// sessionFile is the note of a window that is not finished: written before the
// profiler is armed, removed when its traces are collected. It is what a run
// that was killed leaves behind.
const sessionFile = "capture-session.json"

// note is the content of sessionFile. It holds no secret.
type note struct {
	Schema string `json:"schema"`
	// State is what the profiler may be doing.
	State armState `json:"state"`
	// PID is of the process that captures, on Host.
	PID  int    `json:"pid"`
	Host string `json:"host"`
	// Opened is when the start request was about to be sent.
	Opened time.Time `json:"opened"`
	// Result is of the stages before, Stage of this one, as far as it got.
	Result Result      `json:"result"`
	Stage  StageResult `json:"stage"`
	// Dir and From are the stage's folder and the one watched, below the
	// output folder.
	Dir     string `json:"dir"`
	From    string `json:"from"`
	ByStage bool   `json:"by_stage"`
	// Expected are the processes that write a trace each.
	Expected []label.Rank `json:"expected"`
	// Before are the files that were there before.
	Before map[string]mark `json:"before"`
	Taken  time.Time       `json:"taken"`
}

// noteState writes the state down before the request that leads to it is sent.
func (s *stageRun) noteState(st armState) error {
	if st == stateOff {
		return s.f.Remove(sessionFile)
	}
	host, _ := os.Hostname() // "" is compared like any other name
	n := note{
		Schema: "strata.capture-session/1", State: st, PID: os.Getpid(), Host: host, Opened: s.opened,
		Result: s.res, Stage: s.out, Dir: s.dir, From: s.from, ByStage: s.byStage,
		Expected: s.info.Expected, Before: s.w.before, Taken: s.w.taken,
	}
	return n.write(s.f)
}

// keepNote removes the note of a window that is finished, or never was. It
// stays where the profiler may be on or traces may still come.
func (s *stageRun) keepNote(err error) error {
	if err == nil || s.win.state == stateOff {
		if rerr := s.f.Remove(sessionFile); rerr != nil {
			s.warn(rerr.Error())
		}
	}
	return err
}

// readNote returns the note in a folder, nil when there is none.
func readNote(f *folder.Folder) (*note, error) {
	text, err := f.Root.ReadFile(sessionFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var n note
	if err == nil {
		err = json.Unmarshal(text, &n)
	}
	if err != nil {
		return nil, fmt.Errorf("capture: %s cannot be read, so it is not known whether a profiler is on (see the server's log, then remove the file): %w: %w", f.Abs(sessionFile), ErrLeftOver, err)
	}
	return &n, nil
}

// running reports whether the process of a note is at work.
func (n *note) running() bool {
	host, _ := os.Hostname()
	if n.Host != host || n.PID == os.Getpid() || n.PID <= 0 {
		return false
	}
	p, err := os.FindProcess(n.PID)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, os.ErrPermission)
}

// checkLeftOver refuses a folder in which a profiler may be on.
func checkLeftOver(f *folder.Folder) error {
	n, err := readNote(f)
	switch {
	case err != nil:
		return err
	case n == nil:
		return nil
	case n.running():
		return fmt.Errorf("capture: process %d captures into %s: %w", n.PID, f.Path, ErrLeftOver)
	case n.State == stateArmed:
		return fmt.Errorf("capture: a run into %s was cut off while the profiler of %s was on: %w; capture stop --output-dir %s ends it", f.Path, n.Result.Server, ErrLeftOver, f.Path)
	case n.State == stateStopping:
		return fmt.Errorf("capture: a run into %s was cut off while %s was told to stop its profiler: %w; capture collect --output-dir %s takes the traces when they are there", f.Path, n.Result.Server, ErrLeftOver, f.Path)
	}
	return nil
}

// Stop sends one stop request to a server whose profiler a run has left on.
// Which server, and whether one was sent already, says the note that the run
// left in OutputDir. Where URL is given, the request is sent there, whatever
// the note says. A profiler that was not on is no error.
func Stop(ctx context.Context, o Options) (err error) {
	defer func() { err = export(err) }()
	o = o.withDefaults()
	var f *folder.Folder
	var n *note
	if o.OutputDir != "" {
		var err error
		if f, err = folder.OpenExisting(o.OutputDir); err != nil {
			return err
		}
		defer f.Close()
		if n, err = readNote(f); err != nil && o.URL == "" {
			return err
		}
	}
	given := o.URL != ""
	switch {
	case given:
	case n == nil:
		return fmt.Errorf("capture: no run has left a profiler on in %s; name the server with --url", o.OutputDir)
	case n.running():
		return fmt.Errorf("capture: process %d captures into %s: %w; interrupt it, it stops the profiler itself", n.PID, f.Path, ErrLeftOver)
	default:
		o.URL = n.Result.Server
	}
	if n != nil && o.Framework == frameworkAuto {
		o.Framework = n.Result.Framework
	}
	c, err := server.New(o.serverOptions())
	if err != nil {
		return err
	}
	defer c.Close()
	if o.Framework == frameworkAuto {
		det, err := detect(ctx, c, o)
		if err != nil {
			return err
		}
		o.Framework = det.Framework
	}
	d, err := newDriver(o.Framework, c, o)
	if err != nil {
		return err
	}
	if !given && n.State != stateArmed && !d.Traits().StopAgain {
		return fmt.Errorf("capture: %s was told to stop already, and a second time may end it (vllm-project/vllm#51676): %w; capture collect --output-dir %s takes the traces, --url %s sends the request all the same", n.Result.Server, ErrLeftOver, f.Path, n.Result.Server)
	}
	w := &window{d: d, c: c, o: &o, state: stateArmed, warn: func(string) {}}
	if n != nil {
		w.save = func(st armState) error { n.State = st; return n.write(f) }
	}
	if err := w.shut(ctx, o.Timeouts.Stop); err != nil {
		return fmt.Errorf("%w: %w", ErrStillRunning, err)
	}
	return nil
}

// write replaces the note.
func (n *note) write(f *folder.Folder) error {
	text, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return fmt.Errorf("capture: session: %w", err)
	}
	return f.Write(sessionFile, append(text, '\n'))
}

// Collect waits for the traces of a window whose run was cut off after the
// profiler was told to stop, and judges and files them as [Run] would have. Of
// the options, OutputDir, Inspect, Progress, ExpectRanks, Timeouts and Poll
// count; the rest are the run's.
func Collect(ctx context.Context, o Options) (res *Result, err error) {
	defer func() { err = export(err) }()
	o = o.withDefaults()
	f, err := folder.OpenExisting(o.OutputDir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	n, err := readNote(f)
	switch {
	case err != nil:
		return nil, err
	case n == nil:
		return nil, fmt.Errorf("capture: no run has left traces to collect in %s", f.Path)
	case n.running():
		return nil, fmt.Errorf("capture: process %d captures into %s: %w", n.PID, f.Path, ErrLeftOver)
	case n.State == stateArmed:
		return nil, fmt.Errorf("capture: the profiler of %s may still be on: %w; capture stop --output-dir %s first", n.Result.Server, ErrLeftOver, f.Path)
	}
	set := n.Result.Options
	o.Activities, o.MergeProfiles, o.Attach, o.ServerOutputDir = set.Activities, set.MergeProfiles, set.Attach, f.Path
	if o.ExpectRanks == 0 {
		o.ExpectRanks = set.ExpectRanks
	}
	r := &run{o: o, f: f, begin: time.Now(), res: n.Result, c: &server.Client{Base: n.Result.Server}}
	r.info.Expected = n.Expected
	if r.d, err = newDriver(n.Result.Framework, r.c, o); err != nil {
		return nil, err
	}
	s := r.newStage(n.Stage.Stage, n.Stage.StepsAsked, false)
	s.out, s.dir, s.from, s.byStage, s.opened = n.Stage, n.Dir, n.From, n.ByStage, n.Opened
	s.out.Dir = f.Abs(s.dir)
	s.win.state = n.State
	if n.State == stateStopping {
		s.stopErr = errors.New("the answer to the stop request is not known")
	}
	s.w = &watch{f: f, dir: s.from, skip: s.skip(), rewrites: r.d.Traits().Rewrites, poll: o.Timeouts, before: n.Before, taken: n.Taken, files: map[string]*watched{}}
	err = s.keepNote(s.traces(ctx))
	r.res.Stages = append(r.res.Stages, s.out)
	return r.finish(err)
}
