package capture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/capture/internal/folder"
	"github.com/llmstrata/strata/capture/internal/label"
	"github.com/llmstrata/strata/capture/internal/server"
)

// Run captures one server: per stage of the workload it warms up, arms the
// profiler, sends the requests, disarms, waits for complete traces, and judges
// whether they hold what was asked for ([Options].Inspect reads them). A stage
// that does not is captured once more ([Options].NoRetry).
//
// On an error the result is what had been captured before, ranks of an
// incomplete stage among it, and nil when nothing had been sent. Traces that
// are complete and still not valid make an error that wraps [ErrInvalid]. A
// cancelled context returns its error after the profiler was asked to stop.
// Whatever the outcome, the result is also in capture.json in the folder.
func Run(ctx context.Context, o Options) (res *Result, err error) {
	defer func() { err = export(err) }()
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	for _, log := range o.ServerLogs {
		if err := checkServerLog(log); err != nil {
			return nil, err
		}
	}
	r, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.c.Close()
	if err := r.openOutput(); err != nil {
		return nil, err
	}
	defer r.f.Close()
	err = r.stages(ctx)
	return r.finish(err)
}

// run is one Run.
type run struct {
	o     Options
	c     *server.Client
	d     server.Driver
	f     *folder.Folder
	info  server.Info
	res   Result
	num   counter
	begin time.Time
}

// open begins a run with the server of the options; the run's client is to be closed.
func open(ctx context.Context, o Options) (*run, error) {
	c, err := server.New(o.serverOptions())
	if err != nil {
		return nil, err
	}
	r := &run{o: o, c: c, begin: time.Now()}
	if err := r.connect(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return r, nil
}

// connect finds out who answers and whether it can do what is asked.
func (r *run) connect(ctx context.Context) error {
	det := detection{r.o.Framework, "given"}
	if r.o.Framework == frameworkAuto {
		r.say("", "detect", time.Now(), "asking "+r.c.Base+" what it is")
		var err error
		if det, err = detect(ctx, r.c, r.o); err != nil {
			return err
		}
	}
	d, err := newDriver(det.Framework, r.c, r.o)
	if err != nil {
		return err
	}
	notes, err := d.Check(r.o.serverOptions())
	if err != nil {
		return err
	}
	r.say("", "info", time.Now(), fmt.Sprintf("%s (%s)", title(det.Framework), det.Evidence))
	info, err := d.Info(ctx)
	if err != nil {
		return server.WithHint(err, "is "+title(det.Framework)+" running there?")
	}
	if r.o.Model != "" {
		info.Model = r.o.Model
	}
	if info.Note != "" {
		notes = append(notes, info.Note)
	}
	r.d, r.info, r.num.next = d, info, r.o.FirstIndex
	r.res = Result{
		Schema: "strata.capture/1", Server: r.c.Base, Framework: det.Framework, Evidence: det.Evidence,
		Workload: r.o.Workload, Options: r.o.provenance(), Info: publicInfo(info), FirstIndex: r.o.FirstIndex,
		StartedAt: r.begin.UTC().Truncate(time.Second), Stages: []StageResult{}, Notes: notes,
	}
	return nil
}

// openOutput opens the folder, unless an earlier run has it.
func (r *run) openOutput() (err error) {
	if r.f, err = folder.Open(r.o.OutputDir); err != nil {
		return err
	}
	if err := checkLeftOver(r.f); err != nil {
		r.f.Close()
		return err
	}
	r.res.OutputDir = r.f.Path
	if r.o.ServerOutputDir == "" {
		r.o.ServerOutputDir = r.f.Path
	}
	return nil
}

// finish settles the verdict, writes the manifest and makes the error of a
// capture that is not valid.
func (r *run) finish(err error) (*Result, error) {
	r.res.ElapsedS = seconds(time.Since(r.begin))
	r.res.settle(err)
	if err != nil {
		r.res.Error = r.c.Secrets.Scrub(err.Error())
	}
	if werr := r.res.write(r.f); werr != nil {
		err = errors.Join(err, werr)
	}
	if err == nil && r.res.Verdict == invalid {
		err = fmt.Errorf("%w: %s", ErrInvalid, r.res.firstFailure())
	}
	return &r.res, err
}

// stages captures one after the other; a failed one ends the run.
func (r *run) stages(ctx context.Context) error {
	for _, st := range stagesOf(r.o.Workload) {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		steps := r.o.NumSteps
		if r.o.MaxSize > 0 || r.o.Calibrate {
			if err := r.calibrate(ctx, st, steps); err != nil {
				return err
			}
		}
		if err := r.stage(ctx, st, steps); err != nil {
			return err
		}
	}
	r.say("", "done", r.begin, fmt.Sprintf("%d traces in %s", len(r.res.Files()), r.f.Path))
	return nil
}

// stage captures one stage, and once more when what was wrong can be removed.
func (r *run) stage(ctx context.Context, st string, steps int) error {
	s := r.newStage(st, steps, false)
	err := s.capture(ctx)
	cause := s.out.remedy()
	envOnly := s.envOnly
	if err == nil && s.out.Verdict == invalid && cause != nil && !r.o.NoRetry && !envOnly && ctx.Err() == nil {
		r.say(st, "retry", time.Now(), "not valid: "+cause.why+"; once more "+cause.what)
		rejected, rerr := s.reject()
		if rerr != nil {
			s.out.Warnings = append(s.out.Warnings, rerr.Error())
		} else {
			again := r.newStage(st, steps+cause.moreSteps, cause.ignoreEOS)
			again.out.StepsAsked = steps
			again.out.Tries = 2
			again.out.Rejected = rejected
			again.out.Warnings = append(again.out.Warnings, "the first try was not valid: "+cause.why)
			err = again.capture(ctx)
			s = again
		}
	}
	if err == nil || len(s.out.Traces) > 0 || s.out.Load.Requests > 0 {
		r.res.Stages = append(r.res.Stages, s.out)
	}
	return err
}

// say reports progress.
func (r *run) say(stage string, phase string, since time.Time, msg string) {
	if r.o.Progress != nil {
		r.o.Progress(Progress{Stage: stage, Phase: phase, Message: msg, Elapsed: time.Since(since)})
	}
}

// stageRun is one window and what comes of it.
type stageRun struct {
	*run
	plan stagePlan
	out  StageResult
	win  *window
	w    *watch
	// dir is the stage's folder, from the one that is watched.
	dir, from string
	byStage   bool
	startLate bool
	envOnly   bool // TensorRT-LLM without /start_profile
	// opened and closed frame the window by this machine's clock.
	opened, closed time.Time
	stopErr        error
}

// newStage lays out one try at a stage.
func (r *run) newStage(st string, steps int, ignoreEOS bool) *stageRun {
	tr := r.d.Traits()
	s := &stageRun{run: r, plan: plan(st, r.o, steps, ignoreEOS, tr.SelfStop, &r.num), dir: ".", from: "."}
	s.byStage = r.o.ProfileByStage && st == stageLegacy
	s.out = StageResult{Stage: st, StepsAsked: steps, StepsFound: -1, Tries: 1, Traces: []Trace{}, Ranks: []string{}, Checks: []Check{}, Rejected: []string{}}
	if tr.SelfStop {
		s.out.StepsSent = steps + 1
	}
	if st != stageLegacy {
		s.dir = st
	}
	if tr.OwnDir {
		s.from = s.dir
	}
	s.out.Dir = r.f.Abs(s.dir)
	s.win = &window{d: r.d, c: r.c, o: &r.o, state: stateOff, warn: s.warn}
	return s
}

func (s *stageRun) say(phase string, since time.Time, msg string) {
	s.run.say(s.plan.stage, phase, since, msg)
}

func (s *stageRun) warn(msg string) { s.out.Warnings = append(s.out.Warnings, msg) }

// capture runs the stage. Steps, in order: folder and its present files,
// warm-up, start, delay, requests, stop, traces, move, server args, inspect.
func (s *stageRun) capture(ctx context.Context) (err error) {
	if s.dir != "." {
		if err := s.f.Mkdir(s.dir); err != nil {
			return err
		}
	}
	s.out.Warmup, err = s.send(ctx, "warmup", s.plan.warmup)
	s.out.Timings.WarmupS = s.out.Warmup.ElapsedS
	if err != nil {
		return err
	}
	if err := s.checkRoom(); err != nil {
		return err
	}
	if s.w, err = newWatch(s.f, s.from, s.skip(), s.d.Traits().Rewrites, s.o.Timeouts); err != nil {
		return err
	}
	s.win.save = s.noteState
	if err := s.window(ctx); err != nil {
		return s.keepNote(err)
	}
	return s.keepNote(s.traces(ctx))
}

// skip are the folders of the stages, which are not looked into where all
// traces land in one; a server may be told to write into this stage's.
func (s *stageRun) skip() []string {
	if s.from == s.dir {
		return nil
	}
	return slices.DeleteFunc([]string{string(stagePrefill), string(stageDecode)}, func(d string) bool {
		return d == s.dir && s.res.Framework == frameworkTensorRT
	})
}

// serverDir is the stage's folder as the server sees it.
func (s *stageRun) serverDir() string {
	base := s.o.ServerOutputDir
	if s.dir == "." {
		return base
	}
	// The server's path need not be one of this machine's kind.
	if filepath.IsAbs(base) {
		return filepath.Join(base, s.dir)
	}
	return path.Join(base, s.dir)
}

// window opens the profiler, sends the requests and closes it. Whatever
// happens in between, a window that may be open is closed before it returns.
func (s *stageRun) window(ctx context.Context) (err error) {
	// Also when a callback panics: the panic goes on after it.
	defer func() { err = s.win.cleanup(ctx, err); s.closed = time.Now() }()

	s.opened = time.Now()
	s.say("start", s.opened, "arming the profiler")
	pending, err := s.win.open(ctx, server.Session{Stage: s.plan.stage, Steps: s.plan.steps, Dir: s.serverDir(), ByStage: s.byStage})
	s.out.Timings.StartS = seconds(time.Since(s.opened))
	if err != nil {
		if err = s.withoutStart(err); err != nil {
			return err
		}
	}
	s.startLate = pending

	delay := time.Now()
	if !pending && !s.envOnly { // else the grace period was the delay
		if err := s.pause(ctx, s.o.ArmDelay, "waiting %v for the profiler to come up"); err != nil {
			return err
		}
	}
	s.out.Timings.ArmDelayS = seconds(time.Since(delay))

	if pending && s.plan.stage == stagePrefill {
		// The answer comes once a step more than profiled has run, and the
		// stop request would queue behind it.
		s.plan.capture = append(s.plan.capture, s.num.request(s.plan.inputLen, s.plan.outputLen))
	}
	if s.o.Attach > 0 {
		err = s.pause(ctx, s.o.Attach, "profiling the traffic that is there for %v")
	} else {
		s.out.Load, err = s.send(ctx, "requests", s.plan.capture)
		s.out.Timings.RequestsS = s.out.Load.ElapsedS
	}
	if err != nil {
		return err
	}
	if n := s.out.Load.Tokens; s.plan.stage == stageDecode && n >= 0 && n < s.plan.steps {
		s.warn(fmt.Sprintf("the model stopped after %d tokens, fewer than the %d steps asked; try --ignore-eos", n, s.plan.steps))
	}
	return s.disarm(ctx)
}

// disarm closes the window in the ordinary way. What goes wrong with that is
// kept for when it is known whether the traces came.
func (s *stageRun) disarm(ctx context.Context) error {
	if s.envOnly {
		return nil
	}
	begin := time.Now()
	s.say("stop", begin, "stopping the profiler (servers write their traces now: this can take minutes)")
	err := s.win.shut(ctx, s.o.Timeouts.Stop)
	s.out.Timings.StopS = seconds(time.Since(begin))
	switch {
	case s.win.detached:
		return fmt.Errorf("%w; the profiler was told to stop and the server may still be writing: capture collect --output-dir %s takes the traces when they are there", err, s.f.Path)
	case err != nil:
		s.stopErr = err
		s.warn("stop: " + err.Error())
	}
	return s.win.late(ctx)
}

// withoutStart judges a start that failed: TensorRT-LLM can do without when
// its window opens by itself, at iterations fixed at launch.
func (s *stageRun) withoutStart(err error) error {
	code := server.Status(err)
	// That window is the only one, and none for a calibration to use up.
	if s.res.Framework == frameworkTensorRT && !strings.HasPrefix(s.dir, calibrationDir) && s.win.state == stateOff && (code == 404 || code == 405) && s.o.Workload != workloadBoth {
		s.envOnly = true
		s.warn("no /start_profile: relying on TLLM_PROFILE_START_STOP, whose window opens once in the server's life")
		return nil
	}
	return err
}

// pause waits, unless ctx ends.
func (s *stageRun) pause(ctx context.Context, d time.Duration, what string) error {
	if d <= 0 {
		return nil
	}
	begin := time.Now()
	s.say("wait", begin, fmt.Sprintf(what, d))
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// traces waits for complete traces of this window, moves them where they
// belong and judges them. Also after a failed stop: a complete trace says that
// it was carried out.
func (s *stageRun) traces(ctx context.Context) error {
	begin := time.Now()
	names, err := s.await(ctx)
	s.out.Timings.TracesS = seconds(time.Since(begin))
	if ctx.Err() == nil {
		if cerr := s.collect(ctx, names, err == nil); cerr != nil {
			return errors.Join(err, cerr)
		}
	}
	if err != nil {
		err = s.explain(err)
		if s.win.state == stateStopping {
			err = fmt.Errorf("%w, and its traces are not complete: %w; %w", ErrStillRunning, s.stopErr, err)
		}
		s.out.fail(checkRanks, shortfall(err, len(names), s.out.Expected))
		s.out.Verdict = invalid
		return err
	}
	if s.win.state == stateStopping {
		_ = s.win.set(stateStopped) // it has written its traces
	}
	s.out.diagnose(slices.Contains(s.o.Activities, "GPU"), s.startLate, s.w.earlier() > 0 || len(s.res.Stages) > 0)
	s.judge()
	return nil
}

// collect takes the traces into the result. Those of a whole set are moved into
// the stage's folder where the server has not put them there, with the
// server's information beside them.
func (s *stageRun) collect(ctx context.Context, names []string, move bool) (err error) {
	s.out.Traces, s.out.Ranks = []Trace{}, []string{}
	for _, n := range names {
		t := Trace{Rank: label.Parse(n).String(), Merged: label.IsMerged(n), Frontend: label.IsFrontend(n), Bytes: s.w.files[n].info.Size(), Found: s.w.files[n].found}
		at := path.Join(s.from, n)
		if move && path.Dir(at) != s.dir && s.from != s.dir {
			to, copied, err := s.f.Move(at, s.dir)
			if err != nil {
				return err
			}
			if copied {
				s.warn("copied, not moved (the server owns it): " + s.f.Abs(at))
			}
			at = to
		}
		t.Path = s.f.Abs(at)
		if t.SHA256, err = s.f.SHA256(ctx, at); err != nil {
			return err
		}
		s.out.Traces = append(s.out.Traces, t)
		if t.Rank != "" {
			s.out.Ranks = append(s.out.Ranks, t.Rank)
		}
	}
	if s.info.Document == nil || len(names) == 0 || !move {
		return nil
	}
	at := path.Join(s.dir, serverArgsFile)
	text, err := json.MarshalIndent(s.info.Document, "", "  ")
	if err == nil {
		err = s.f.Write(at, append(text, '\n'))
	}
	if err != nil {
		s.warn(err.Error())
		return nil
	}
	s.out.ServerArgs = s.f.Abs(at)
	return nil
}

// explain adds to an *IncompleteError what the run knows.
func (s *stageRun) explain(err error) error {
	var ie *incompleteError
	if !errors.As(err, &ie) {
		return err
	}
	tr := s.d.Traits()
	ie.Server, ie.Stage = s.c.Base, s.plan.stage
	if len(ie.Complete) == 0 && len(ie.Incomplete) == 0 {
		if tr.OwnDir {
			ie.ServerDir = s.serverDir()
			ie.Hints = append(ie.Hints, fmt.Sprintf("the server was told to write to %s: if it runs on another machine or in a container, that folder must be shared with this one (--server-output-dir names it as the server sees it)", ie.ServerDir))
		} else {
			ie.Hints = append(ie.Hints, fmt.Sprintf("the server writes where it was launched to write, and that folder must be visible here as %s: %s", s.f.Path, tr.Needs))
		}
		if ie.Earlier > 0 || len(s.res.Stages) > 0 {
			ie.Hints = append(ie.Hints, "an earlier window did leave traces: some releases record only the first one of a server's life (vllm-project/vllm#45987); restart the server and capture one stage per start")
		}
	}
	ie.Hints = append(ie.Hints, s.out.Warnings...)
	if s.win.aside != "" {
		ie.Hints = append(ie.Hints, s.win.aside)
	}
	return ie
}
