package capture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"path/filepath"
	"time"
)

// Run captures one server: per stage of the workload it warms up, arms the
// profiler, sends the requests, disarms, and waits for complete traces.
//
// On an error the result is what had been captured before, and may be nil when
// nothing had. A cancelled context returns its error after the profiler was
// asked to stop.
func Run(ctx context.Context, o Options) (*Result, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	defer c.close()
	for _, log := range o.ServerLogs {
		if err := CheckServerLog(log); err != nil {
			return nil, err
		}
	}
	r := &run{o: o, c: c, begin: time.Now()}
	if err := r.connect(ctx); err != nil {
		return nil, err
	}
	r.f, err = openFolder(o.OutputDir)
	if err != nil {
		return nil, err
	}
	defer r.f.close()
	r.res.OutputDir = r.f.path
	if r.o.ServerOutputDir == "" {
		r.o.ServerOutputDir = r.f.path
	}
	err = r.stages(ctx)
	r.res.ElapsedS = seconds(time.Since(r.begin))
	return &r.res, err
}

// run is one Run.
type run struct {
	o     Options
	c     *client
	d     driver
	f     *folder
	res   Result
	num   counter
	begin time.Time
}

// connect finds out who answers and whether it can do what is asked.
func (r *run) connect(ctx context.Context) error {
	det := Detection{r.o.Framework, "given"}
	if r.o.Framework == FrameworkAuto {
		r.say("", "detect", time.Now(), "asking "+r.c.base+" what it is")
		var err error
		if det, err = detect(ctx, r.c, r.o); err != nil {
			return err
		}
	}
	d, err := newDriver(det.Framework, r.c, r.o)
	if err != nil {
		return err
	}
	notes, err := d.check(r.o)
	if err != nil {
		return err
	}
	r.say("", "info", time.Now(), fmt.Sprintf("%s (%s)", det.Framework.Title(), det.Evidence))
	info, err := d.info(ctx)
	if err != nil {
		return withHint(err, "is "+det.Framework.Title()+" running there?")
	}
	if r.o.Model != "" {
		info.Model = r.o.Model
	}
	if info.Note != "" {
		notes = append(notes, info.Note)
	}
	r.d, r.num.next = d, r.o.FirstIndex
	r.res = Result{
		Server: r.c.base, Framework: det.Framework, Evidence: det.Evidence, Workload: r.o.Workload,
		Info: info, StartedAt: r.begin.UTC().Truncate(time.Second), Notes: notes,
	}
	return nil
}

// stages captures one after the other; a failed one ends the run.
func (r *run) stages(ctx context.Context) error {
	for _, st := range r.o.Workload.stages() {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		s := &stageRun{run: r, plan: plan(st, r.o, &r.num)}
		err := s.capture(ctx)
		if err != nil {
			return err
		}
		r.res.Stages = append(r.res.Stages, s.out)
	}
	r.say("", "done", r.begin, fmt.Sprintf("%d traces in %s", len(r.res.Files()), r.f.path))
	return nil
}

// say reports progress.
func (r *run) say(stage Stage, phase string, since time.Time, msg string) {
	if r.o.Progress != nil {
		r.o.Progress(Progress{Stage: stage, Phase: phase, Message: msg, Elapsed: time.Since(since)})
	}
}

// stageRun is one window.
//
// The profiler counts as armed from the moment the start request is about to
// be sent, because from then on nobody here can know, until a stop request has
// been answered or the server has said that it never started.
type stageRun struct {
	*run
	plan      stagePlan
	out       StageResult
	armed     bool
	startLate bool
	envOnly   bool // TensorRT-LLM without /start_profile
}

// capture runs the stage. Steps, in order: folder and its present files,
// warm-up, start, delay, requests, stop, traces, move, server args, inspect.
func (s *stageRun) capture(ctx context.Context) (err error) {
	tr := s.d.traits()
	st := s.plan.stage
	dir := "."
	if st != StageLegacy {
		dir = string(st)
		if err := s.f.mkdir(dir); err != nil {
			return err
		}
	}
	watchDir, skip := dir, []string(nil)
	if !tr.ownDir {
		watchDir, skip = ".", []string{string(StagePrefill), string(StageDecode)}
	}
	s.out = StageResult{Stage: st, Dir: s.f.abs(dir), StepsAsked: s.o.NumSteps, StepsFound: -1}
	if tr.selfStop {
		s.out.StepsSent = s.o.NumSteps + 1
	}

	s.out.Warmup, err = s.send(ctx, "warmup", s.plan.warmup)
	s.out.Timings.WarmupS = s.out.Warmup.ElapsedS
	if err != nil {
		return err
	}

	w, err := newWatch(s.f, watchDir, skip, tr.rewrites, s.o.Poll)
	if err != nil {
		return err
	}
	byStage := s.o.ProfileByStage && st == StageLegacy
	if err := s.window(ctx, session{stage: st, dir: s.serverDir(dir), byStage: byStage}, tr); err != nil {
		return err
	}

	begin := time.Now()
	want := wantedTraces(s.res.Info.Expected, s.o.ExpectRanks, byStage)
	s.out.Expected = len(want)
	names, err := w.await(ctx, want, s.o.MergeProfiles, s.o.Timeouts.Traces, func(msg string) { s.say(st, "traces", begin, msg) })
	s.out.Timings.TracesS = seconds(time.Since(begin))
	if err != nil {
		return s.explain(err, w, tr, dir)
	}
	return s.collect(ctx, w, names, watchDir, dir)
}

// serverDir is the stage's folder as the server sees it.
func (s *stageRun) serverDir(dir string) string {
	base := s.o.ServerOutputDir
	if dir == "." {
		return base
	}
	// The server's path need not be one of this machine's kind.
	if filepath.IsAbs(base) {
		return filepath.Join(base, dir)
	}
	return path.Join(base, dir)
}

// window opens the profiler, sends the requests and closes it. Whatever
// happens in between, a window that may be open is closed before it returns.
func (s *stageRun) window(ctx context.Context, ses session, tr traits) (err error) {
	st := s.plan.stage
	defer func() {
		if !s.armed {
			return
		}
		// Not the caller's context: it may be what ended the work.
		cctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.Timeouts.Cleanup)
		defer cancel()
		s.say(st, "stop", time.Now(), "stopping the profiler after an error")
		if serr := s.d.stop(cctx, true); serr != nil {
			err = errors.Join(err, fmt.Errorf("%w: %w", ErrStillRunning, serr))
		}
	}()

	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	begin := time.Now()
	s.say(st, "start", begin, "arming the profiler")
	s.armed = true
	// A start request that is answered late must not outlive the window.
	sctx, cancelStart := context.WithCancel(ctx)
	defer cancelStart()
	started := make(chan error, 1)
	go func() { started <- s.d.start(sctx, ses) }()
	pending, err := s.awaitStart(ctx, started, tr)
	s.out.Timings.StartS = seconds(time.Since(begin))
	if err != nil {
		return err
	}
	s.startLate = pending

	delay := time.Now()
	if !pending { // else the grace period was the delay
		if err := s.delay(ctx); err != nil {
			return err
		}
	}
	s.out.Timings.ArmDelayS = seconds(time.Since(delay))

	if pending && s.plan.stage == StagePrefill {
		// The answer comes once a step more than profiled has run, and the
		// stop request would queue behind it.
		s.plan.capture = append(s.plan.capture, s.num.request(s.plan.inputLen, s.plan.outputLen))
	}
	s.out.Load, err = s.send(ctx, "requests", s.plan.capture)
	s.out.Timings.RequestsS = s.out.Load.ElapsedS
	if err != nil {
		drain(cancelStart, started, pending)
		return err
	}
	s.judgeLoad()

	begin = time.Now()
	err = s.disarm(ctx, tr)
	s.out.Timings.StopS = seconds(time.Since(begin))
	if err != nil {
		drain(cancelStart, started, pending)
		return err
	}
	if pending {
		// The window is closed, so a server that blocks answers now.
		select {
		case err := <-started:
			return s.startFailed(err, tr)
		case <-ctx.Done():
			<-started
			return context.Cause(ctx)
		}
	}
	return nil
}

// drain ends a pending start request and waits for its goroutine.
func drain(cancel context.CancelFunc, started <-chan error, pending bool) {
	if pending {
		cancel()
		<-started
	}
}

// awaitStart waits for the answer to the start request. For a server that may
// answer at the end only, it gives up after the grace period and reports the
// answer as pending.
func (s *stageRun) awaitStart(ctx context.Context, started <-chan error, tr traits) (pending bool, err error) {
	var grace <-chan time.Time
	if tr.mayBlock {
		t := time.NewTimer(max(s.o.StartGrace, s.o.ArmDelay))
		defer t.Stop()
		grace = t.C
	}
	select {
	case err := <-started:
		return false, s.startFailed(err, tr)
	case <-grace:
		s.say(s.plan.stage, "start", time.Now(), "no answer yet; some releases answer when the window closes")
		return true, nil
	}
}

// startFailed judges the answer to a start request, and whether there is now a
// window to close.
func (s *stageRun) startFailed(err error, tr traits) error {
	if err == nil {
		return nil
	}
	code := status(err)
	switch {
	case alreadyRunning(err):
		// Somebody else's window: closing it is not ours to do.
		s.armed = false
		return withHint(err, "another capture is running, or one was left open: POST /stop_profile, then try again")
	case code == http.StatusNotFound || code == http.StatusMethodNotAllowed:
		s.armed = false
		if t, ok := s.d.(*tensorRT); ok && s.o.Workload != WorkloadBoth {
			// The window opens by itself, at iterations fixed at launch.
			t.envWindow, s.envOnly = true, true
			s.out.Warnings = append(s.out.Warnings, "no /start_profile: relying on TLLM_PROFILE_START_STOP, whose window opens once in the server's life")
			return nil
		}
	case code/100 == 4, code/100 == 2:
		s.armed = false // refused
	case refused(err):
		s.armed = false // never arrived
	}
	return withHint(err, tr.needs)
}

// delay gives the profiler time to come up.
func (s *stageRun) delay(ctx context.Context) error {
	if s.o.ArmDelay <= 0 || s.envOnly {
		return nil
	}
	begin := time.Now()
	s.say(s.plan.stage, "wait", begin, fmt.Sprintf("waiting %v for the profiler to come up", s.o.ArmDelay))
	t := time.NewTimer(s.o.ArmDelay)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// disarm sends the stop request. A server that may have stopped by itself is
// told all the same: with fewer steps than announced its window is still open.
// One failure with a status is tried again; a stop that is not answered in
// time is left to the traces to judge.
func (s *stageRun) disarm(ctx context.Context, tr traits) error {
	if s.envOnly {
		return nil
	}
	begin := time.Now()
	s.say(s.plan.stage, "stop", begin, "stopping the profiler (servers write their traces now: this can take minutes)")
	err := s.d.stop(ctx, false)
	if err != nil && ctx.Err() == nil && !timedOut(err) && !(tr.selfStop && status(err) != 0) {
		s.say(s.plan.stage, "stop", begin, "trying again: "+err.Error())
		err = s.d.stop(ctx, false)
	}
	switch {
	case err == nil:
		s.armed = false
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case timedOut(err), tr.selfStop && status(err) != 0:
		s.armed = false // the request has arrived
		s.out.Warnings = append(s.out.Warnings, "stop: "+err.Error())
		return nil
	}
	s.armed = false // asked twice; a third time will not help
	return fmt.Errorf("%w, and its traces are not complete: %w", ErrStillRunning, withHint(err, "see the server's log"))
}

// send sends requests one after the other.
func (s *stageRun) send(ctx context.Context, phase string, reqs []request) (l Load, err error) {
	l = Load{Requests: len(reqs), Tokens: -1, InputWords: s.plan.inputLen}
	if len(reqs) > 0 {
		l.MaxTokens = reqs[0].maxTokens
	}
	begin := time.Now()
	var times []time.Duration
	defer func() { l.Latency, l.ElapsedS = summarise(times), seconds(time.Since(begin)) }()
	for i, q := range reqs {
		s.say(s.plan.stage, phase, begin, fmt.Sprintf("request %d of %d, up to %d tokens", i+1, len(reqs), q.maxTokens))
		t := time.Now()
		a, err := s.d.generate(ctx, q)
		if err != nil {
			if ctx.Err() != nil {
				return l, context.Cause(ctx)
			}
			return l, fmt.Errorf("%s request %d of %d: %w", s.plan.stage, i+1, len(reqs), err)
		}
		times = append(times, time.Since(t))
		if a.Tokens >= 0 && (l.Tokens < 0 || a.Tokens < l.Tokens) {
			l.Tokens = a.Tokens
		}
	}
	return l, nil
}

// judgeLoad warns of a decode that ended before the window was full.
func (s *stageRun) judgeLoad() {
	if n := s.out.Load.Tokens; s.plan.stage == StageDecode && n >= 0 && n < s.o.NumSteps {
		s.out.Warnings = append(s.out.Warnings, fmt.Sprintf("the model stopped after %d tokens, fewer than the %d steps asked; try --ignore-eos", n, s.o.NumSteps))
	}
}

// explain adds to an *IncompleteError what the run knows.
func (s *stageRun) explain(err error, w *watch, tr traits, dir string) error {
	var ie *IncompleteError
	if !errors.As(err, &ie) {
		return err
	}
	ie.Server, ie.Stage = s.c.base, s.plan.stage
	if len(ie.Complete) == 0 && len(ie.Incomplete) == 0 {
		if tr.ownDir {
			ie.ServerDir = s.serverDir(dir)
			ie.Hints = append(ie.Hints, fmt.Sprintf("the server was told to write to %s: if it runs on another machine or in a container, that folder must be shared with this one (--server-output-dir names it as the server sees it)", ie.ServerDir))
		} else {
			ie.Hints = append(ie.Hints, fmt.Sprintf("the server writes where it was launched to write, and that folder must be visible here as %s: %s", w.f.path, tr.needs))
		}
		if ie.Earlier > 0 || len(s.res.Stages) > 0 {
			ie.Hints = append(ie.Hints, "an earlier window did leave traces: some releases record only the first one of a server's life (vllm-project/vllm#45987); restart the server and capture one stage per start")
		}
	}
	ie.Hints = append(ie.Hints, s.out.Warnings...)
	return ie
}

// collect moves the traces into the stage's folder where the server has not
// put them there, writes the server's information beside them and inspects.
func (s *stageRun) collect(ctx context.Context, w *watch, names []string, from, dir string) error {
	st := s.plan.stage
	for _, n := range names {
		t := Trace{Rank: ParseRank(n).String(), Merged: isMerged(n), Bytes: w.files[n].info.Size()}
		at := path.Join(from, n)
		if from != dir {
			to, copied, err := s.f.move(at, dir)
			if err != nil {
				return err
			}
			if copied {
				s.out.Warnings = append(s.out.Warnings, "copied, not moved (the server owns it): "+s.f.abs(at))
			}
			at = to
		}
		t.Path = s.f.abs(at)
		s.out.Traces = append(s.out.Traces, t)
		if t.Rank != "" {
			s.out.Ranks = append(s.out.Ranks, t.Rank)
		}
	}
	if s.res.Info.Document != nil {
		b, err := s.res.Info.file()
		if err == nil {
			err = s.f.write(path.Join(dir, ServerArgsFile), b)
		}
		if err != nil {
			s.out.Warnings = append(s.out.Warnings, err.Error())
		} else {
			s.out.ServerArgs = s.f.abs(path.Join(dir, ServerArgsFile))
		}
	}
	if s.o.Inspect != nil {
		for i := range s.out.Traces {
			t := &s.out.Traces[i]
			s.say(st, "check", time.Now(), "reading "+filepath.Base(t.Path))
			found, err := s.o.Inspect(ctx, t.Path)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				s.out.Warnings = append(s.out.Warnings, fmt.Sprintf("%s cannot be read: %v", t.Path, err))
				continue
			}
			t.Found = &found
		}
		s.out.diagnose(s.startLate, w.earlier() > 0 || len(s.res.Stages) > 0)
	}
	return nil
}

// MarshalSummary renders the result as the JSON document examples print.
func (r *Result) MarshalSummary() ([]byte, error) {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}
