package capture

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Run captures one server, or the engines of one deployment: per stage of the workload it warms up, arms the
// profilers, sends the requests, disarms, waits for complete traces, and judges whether they hold what was asked for
// ([Options].Inspect reads them). A stage that does not is captured once more ([Options].NoRetry).
//
// On an error the result is what had been captured before, ranks of an incomplete stage among it, and nil when
// nothing had been sent. Traces that are complete and still not valid make an error that wraps [ErrInvalid]. A
// cancelled context returns its error after the profiler was asked to stop. Whatever the outcome, the result is also
// in capture.json in the folder.
func Run(ctx context.Context, o Options) (*Result, error) {
	r, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	if err := r.d.check(&r.o); err != nil {
		return nil, err
	}
	if err := r.openOutput(ctx); err != nil {
		return nil, err
	}
	defer r.f.close()
	err = r.stages(ctx)
	return r.finish(err)
}

// run is one Run.
type run struct {
	o     Options
	d     *deployment
	f     *folder
	res   Result
	num   counter
	begin time.Time

	mu    sync.Mutex // of what the heartbeat reads
	last  Progress
	since time.Time   // of the last phase
	beat  *time.Timer // repeats the last message while nothing else is said, so that a hung request shows; nil: ended
}

// open begins a run with the server of the options; the run is to be closed.
func open(ctx context.Context, o Options) (*run, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	r := &run{o: o, begin: time.Now()}
	if o.Progress != nil && o.dry == nil {
		r.mu.Lock()
		r.beat = time.AfterFunc(o.Timeouts.Heartbeat, r.still)
		r.mu.Unlock()
	}
	r.say("", "detect", time.Now(), "asking "+shownURL(r.o.URL)+" what it is")
	var err error
	if r.d, err = discover(ctx, &r.o); err == nil {
		err = r.adopt()
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// close ends the heartbeat and lets go of connections.
func (r *run) close() {
	r.mu.Lock() // a message under way is waited for
	if r.beat != nil {
		r.beat.Stop()
		r.beat = nil
	}
	r.mu.Unlock()
	if r.d != nil {
		r.d.close()
	}
}

// adopt begins the result with what was discovered.
func (r *run) adopt() error {
	t := r.d.targets[0]
	r.o.Framework = t.f
	r.say("", "info", time.Now(), fmt.Sprintf("%s (%s)", t.f.Title(), t.evidence))
	notes, err := t.unsupported(&r.o)
	if err != nil {
		return err
	}
	notes = append(notes, r.d.notes...)
	if t.info.Note != "" {
		notes = append(notes, t.info.Note)
	}
	if t.info.Nodes > 1 {
		notes = append(notes, fmt.Sprintf("nnodes=%d: the server spans %d hosts, and each writes its ranks' traces to its own disk; the folder must be shared by all", t.info.Nodes, t.info.Nodes))
	}
	asked := r.o.provenance()
	r.o.Concurrency = max(r.o.Concurrency, len(r.d.targets)) // a request for each engine
	r.num.next = r.o.FirstIndex
	r.res = Result{
		Schema: "strata.capture/1", Server: shownURL(r.o.URL), Framework: t.f, Evidence: t.evidence,
		Contract: t.con.Name,
		Workload: r.o.Workload, Options: asked, Info: t.info, FirstIndex: r.o.FirstIndex,
		StartedAt: r.begin.UTC().Truncate(time.Second), Stages: []StageResult{}, Notes: notes,
	}
	if len(r.d.targets) > 1 || r.d.gateway != "" {
		for _, t := range r.d.targets {
			r.res.Workers = append(r.res.Workers, Worker{URL: t.c.base, Role: t.role, Contract: t.con.Name})
		}
	}
	return nil
}

// openOutput opens the folder, unless an earlier run has it.
func (r *run) openOutput(ctx context.Context) (err error) {
	if r.f, err = openFolder(r.o.OutputDir); err != nil {
		return err
	}
	if err := r.checkLeftOver(ctx); err != nil {
		r.f.close()
		return err
	}
	r.res.OutputDir = r.f.path
	if r.o.ServerOutputDir == "" {
		r.o.ServerOutputDir = r.f.path
	}
	return nil
}

// finish settles the verdict, writes the manifest and makes the error of a capture that is not valid.
func (r *run) finish(err error) (*Result, error) {
	r.res.ElapsedS = seconds(time.Since(r.begin))
	r.res.settle(err)
	if err != nil {
		text := err.Error()
		for _, t := range r.d.targets {
			text = t.c.secrets.Scrub(text)
		}
		r.res.Error = text
	}
	if werr := r.f.writeJSON(manifestFile, r.res); werr != nil {
		err = join(err, werr)
	}
	if err == nil && r.res.Verdict == Invalid {
		err = fmt.Errorf("%w: %s", ErrInvalid, r.res.firstFailure())
	}
	return &r.res, err
}

// stages captures one after the other; a failed one ends the run.
func (r *run) stages(ctx context.Context) error {
	for _, st := range r.o.Workload.stages() {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := r.stage(ctx, st, r.o.NumSteps); err != nil {
			return err
		}
	}
	r.say("", "done", r.begin, fmt.Sprintf("%d traces in %s", len(r.res.Files()), r.f.path))
	return nil
}

// stage captures one stage, and once more when what was wrong can be removed.
func (r *run) stage(ctx context.Context, st Stage, steps int) error {
	s := r.newStage(st, steps, false)
	err := s.capture(ctx)
	cause := s.out.remedy()
	envOnly := s.envOnly
	if err == nil && s.out.Verdict == Invalid && cause != nil && !r.o.NoRetry && !envOnly && ctx.Err() == nil {
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
func (r *run) say(stage Stage, phase string, since time.Time, msg string) {
	if r.o.Progress == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = Progress{Stage: stage, Phase: phase, Message: msg, Elapsed: time.Since(since)}
	r.since = since
	if r.beat != nil {
		r.beat.Reset(r.o.Timeouts.Heartbeat)
	}
	r.o.Progress(r.last)
}

// still repeats the last message.
func (r *run) still() {
	defer func() { _ = recover() }() // a callback's panic is the run's to meet, in a phase of its own
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.beat == nil {
		return
	}
	r.beat.Reset(r.o.Timeouts.Heartbeat)
	if p := r.last; p.Phase != "" {
		p.Elapsed, p.Still = time.Since(r.since), true
		r.o.Progress(p)
	}
}

// stageRun is one window and what comes of it.
type stageRun struct {
	*run
	span
	plan     stagePlan
	out      StageResult
	wins     windows
	w        *watch
	unopened bool // the start request failed
	envOnly  bool // TensorRT-LLM without /start_profile
	stopErr  error
}

// span is what of a window outlives a run that is cut off.
type span struct {
	// Opened is when the start request was about to be sent, by this machine's clock.
	Opened time.Time `json:"opened"`
	// Dir is the stage's folder, From the one that is watched, below the output folder.
	Dir  string `json:"dir"`
	From string `json:"from"`
	// ID is in the names of the files, where the server takes it.
	ID string `json:"id"`
	// ByStage: the server writes a file for each stage.
	ByStage bool `json:"by_stage"`
	// Expected are the processes that write a trace each, nil when unknown.
	Expected []wanted `json:"expected"`
}

// con is the contract of the engines, which are of one sort.
func (s *stageRun) con() *Contract {
	if len(s.wins) == 0 {
		return contractOf(s.res.Framework, "", nil)
	}
	return s.wins[0].t.con
}

// newStage lays out one try at a stage.
func (r *run) newStage(st Stage, steps int, ignoreEOS bool) *stageRun {
	s := &stageRun{run: r, span: span{Dir: ".", From: ".", ID: windowID(time.Now())}}
	for _, t := range r.d.runs(st) {
		s.wins = append(s.wins, &window{t: t, o: &r.o, state: StateOff, warn: s.warn})
		s.Expected = append(s.Expected, wantRanks(t.info.expected, 0, r.o.ProfileByStage && st == StageLegacy)...)
	}
	c := s.con()
	s.plan = plan(st, r.o, steps, ignoreEOS, c.SelfStop, &r.num)
	s.ByStage = r.o.ProfileByStage && st == StageLegacy
	s.out = StageResult{Stage: st, StepsAsked: steps, StepsFound: -1, Tries: 1, Traces: []Trace{}, Ranks: []string{},
		Checks: []Check{}, Rejected: []string{}}
	if c.SelfStop {
		s.out.StepsSent = steps + c.Extra
	}
	if st != StageLegacy {
		s.Dir = string(st)
	}
	if c.OwnDir {
		s.From = s.Dir
	}
	s.out.Dir = r.f.abs(s.Dir)
	return s
}

func (s *stageRun) say(phase string, since time.Time, msg string) {
	s.run.say(s.plan.stage, phase, since, msg)
}

func (s *stageRun) warn(msg string) { s.out.Warnings = append(s.out.Warnings, msg) }

// capture runs the stage. Steps, in order: folder and its present files,
// warm-up, start, delay, requests, stop, traces, move, server args, inspect.
func (s *stageRun) capture(ctx context.Context) (err error) {
	if s.Dir != "." {
		if err := s.f.mkdir(s.Dir); err != nil {
			return err
		}
	}
	s.out.Warmup, err = s.send(ctx, "warmup", s.plan.warmup, s.o.Timeouts.Request)
	s.out.Timings.WarmupS = s.out.Warmup.ElapsedS
	if err != nil {
		return err
	}
	if err := s.checkRoom(); err != nil {
		return err
	}
	if s.w, err = newWatch(s.f, s.From, s.skip(), s.con().Rewrites, s.o.Timeouts); err != nil {
		return err
	}
	s.w.nsys = s.o.Nsys
	for _, w := range s.wins {
		w.save = s.noteState
	}
	if err := s.window(ctx); err != nil {
		return s.keepNote(err)
	}
	return s.keepNote(s.traces(ctx))
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

// serverDir is the stage's folder as the server of t sees it. Engines that share one get a folder each below it.
func (s *stageRun) serverDir(t *target) string {
	base := s.o.ServerOutputDir
	below := path.Join(s.Dir, t.dir)
	if below == "." {
		return base
	}
	// The server's path need not be one of this machine's kind.
	if filepath.IsAbs(base) {
		return filepath.Join(base, below)
	}
	return path.Join(base, below)
}

// session is what an engine's window is opened with.
func (s *stageRun) session(t *target) session {
	passes := s.plan.steps
	if s.plan.stage == StageDecode {
		passes++ // the pass over the prompt
	}
	return session{stage: s.plan.stage, steps: s.plan.steps, passes: passes, dir: s.serverDir(t), byStage: s.ByStage,
		id: s.ID}
}

// window opens the profilers, sends the requests and closes them. Whatever happens in between, a window that may be
// open is closed before it returns.
func (s *stageRun) window(ctx context.Context) (err error) {
	// Also when a callback panics: the panic goes on after it.
	defer func() { err = s.wins.cleanup(ctx, err, s.f.path) }()

	s.Opened = time.Now()
	s.say("start", s.Opened, "arming the profiler")
	if s.con().Start == "" {
		err = s.withoutStart(fmt.Errorf("capture: %s has no %s: %w; %s", s.res.Server, startPath, ErrNoRoute,
			s.con().howToLaunch()))
	} else if err = s.wins.open(ctx, s.session); err != nil {
		s.unopened = true
		err = s.withoutStart(err)
	}
	s.out.Timings.StartS = seconds(time.Since(s.Opened))
	if err != nil {
		return err
	}
	s.unopened = false

	delay := time.Now()
	if !s.envOnly {
		if err := s.pause(ctx, s.o.ArmDelay, "waiting %v for the profiler to come up"); err != nil {
			return err
		}
	}
	s.out.Timings.ArmDelayS = seconds(time.Since(delay))

	if s.o.Attach > 0 {
		err = s.pause(ctx, s.o.Attach, "profiling the traffic that is there for %v")
	} else {
		s.out.Load, err = s.send(ctx, "requests", s.plan.capture, s.requestLimit())
		s.out.Timings.RequestsS = s.out.Load.ElapsedS
	}
	if err != nil {
		return err
	}
	if n := s.out.Load.Tokens; s.plan.stage == StageDecode && n >= 0 && n < s.plan.steps {
		s.warn(fmt.Sprintf("the model stopped after %d tokens, fewer than the %d steps asked; try --ignore-eos", n,
			s.plan.steps))
	}
	return s.disarm(ctx)
}

// disarm closes the windows in the ordinary way. What goes wrong with that is kept for when it is known whether the
// traces came.
func (s *stageRun) disarm(ctx context.Context) error {
	if s.envOnly {
		return nil
	}
	begin := time.Now()
	s.say("stop", begin, "stopping the profiler (servers write their traces now: this can take minutes)")
	err := s.wins.shut(ctx, s.o.Timeouts.Stop)
	s.out.Timings.StopS = seconds(time.Since(begin))
	switch {
	case s.wins.detached():
		return fmt.Errorf("%w; the profiler was asked to stop and the server may still be writing: capture collect --output-dir %s takes the traces when they are there", err, s.f.path)
	case err != nil:
		s.stopErr = err
		s.warn("stop: " + err.Error())
	}
	return nil
}

// withoutStart judges a start that failed: a server whose environment can open a window, at iterations fixed at launch,
// can do without. That window is the only one.
func (s *stageRun) withoutStart(err error) error {
	if contractOf(s.res.Framework, FrontEnv, nil).Front == FrontEnv && !s.wins.in(StateArmed) && errors.Is(err, ErrNoRoute) &&
		s.o.Workload != WorkloadBoth {
		s.envOnly = true
		s.warn("no /start_profile: relying on TLLM_PROFILE_START_STOP, whose window opens once in the server's life")
		return nil
	}
	return err
}

// pause waits, unless ctx ends.
func (s *stageRun) pause(ctx context.Context, d time.Duration, what string) error {
	if d <= 0 || s.o.dry != nil {
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

// traces waits for complete traces of this window, moves them where they belong and judges them. Also after a failed
// stop: a complete trace says that it was carried out.
func (s *stageRun) traces(ctx context.Context) error {
	begin := time.Now()
	names, err := s.await(ctx)
	s.out.Timings.TracesS = seconds(time.Since(begin))
	if ctx.Err() == nil {
		if cerr := s.collect(ctx, names, err == nil); cerr != nil {
			return join(err, cerr)
		}
	}
	if err != nil {
		err = s.explain(err)
		switch {
		case s.wins.in(StateStopping):
			err = fmt.Errorf("%w, and its traces are not complete: %w; %w", ErrStillRunning, s.stopErr, err)
		case s.stopErr != nil:
			err = join(s.stopErr, err)
		}
		s.out.fail(CheckRanks, shortfall(err, len(names), s.out.Expected))
		s.out.Verdict = Invalid
		return err
	}
	for _, w := range s.wins {
		if w.state == StateStopping {
			_ = w.set(StateStopped) // it has written its traces
		}
	}
	s.judge()
	return nil
}

// collect adds the traces to the result. It moves a complete set into the stage's folder unless the server wrote it
// there, and writes the server's information beside it.
func (s *stageRun) collect(ctx context.Context, names []string, move bool) (err error) {
	s.out.Traces, s.out.Ranks = []Trace{}, []string{}
	for _, n := range names {
		t := Trace{Rank: parseRank(n).String(), Merged: isMerged(n), Frontend: isFrontend(n),
			Bytes: s.w.files[n].info.Size(), Found: s.w.files[n].found}
		at, to := path.Join(s.From, n), s.Dir
		if len(s.wins) > 1 {
			to = path.Join(s.Dir, path.Dir(n)) // engines write to folders of their own
		}
		if move && path.Dir(at) != to && s.From != s.Dir {
			if err := s.f.mkdir(to); err != nil {
				return err
			}
			moved, copied, err := s.f.move(at, to)
			if err != nil {
				return err
			}
			if copied {
				s.warn("copied, not moved (the server owns it): " + s.f.abs(at))
			}
			at = moved
		}
		t.Path = s.f.abs(at)
		if t.SHA256, err = s.f.sha256(ctx, at); err != nil {
			return err
		}
		s.out.Traces = append(s.out.Traces, t)
		if t.Rank != "" {
			s.out.Ranks = append(s.out.Ranks, t.Rank)
		}
	}
	if s.res.Info.document == nil || len(names) == 0 || !move {
		return nil
	}
	at := path.Join(s.Dir, serverArgsFile)
	if err := s.f.writeJSON(at, s.res.Info.document); err != nil {
		s.warn(err.Error())
		return nil
	}
	s.out.ServerArgs = s.f.abs(at)
	return nil
}

// explain adds to an incomplete set what the run knows.
func (s *stageRun) explain(err error) error {
	var ie *incompleteError
	if !errors.As(err, &ie) {
		return err
	}
	con, hint := s.con(), func(format string, args ...any) { ie.Hints = append(ie.Hints, fmt.Sprintf(format, args...)) }
	ie.Server, ie.Stage = s.res.Server, s.plan.stage
	if ie.Stage == "" {
		ie.Stage = s.out.Stage
	}
	nodes := s.res.Info.Nodes
	switch {
	case len(s.w.others) > 0 && len(ie.Complete) == 0:
		ie.Kind = []error{ErrWrongKind}
		hint("the profiler wrote %s, which is of kind %s: %s", s.w.others[0], kindOf(s.w.others[0]),
			kindAdvice(s.o.Nsys))
	case nodes > 1 && (len(ie.Missing) > 0 || len(ie.Complete) < ie.Expected):
		ie.Kind = []error{ErrOtherHost}
		hint("nnodes=%d: the ranks that are missing run on the other hosts and write there; share the folder between them, or copy their files here and run capture collect", nodes)
	case len(ie.Complete) > 0 || len(ie.Incomplete) > 0:
	case s.o.Nsys:
		hint("nsys writes its report when the range ends, with --capture-range-end=repeat when the server ends; capture collect --output-dir %s takes it then", s.f.path)
	case con.OwnDir && len(s.wins) > 0:
		hint("the server was asked to write to %s: if it runs on another machine or in a container, that folder must be shared with this one (--server-output-dir names it as the server sees it)", s.serverDir(s.wins[0].t))
	default:
		hint("the server writes where it was launched to write, and that folder must be visible here as %s: %s",
			s.f.path, con.howToLaunch())
		if s.stopErr == nil && slices.Contains(con.Kinds, KindProton) && s.res.Info.Kind == "" {
			hint("a profiler of kind cuda or proton answers as well and leaves no trace: %s", kindAdvice(false))
		}
	}
	if len(ie.Complete) == 0 && (ie.Earlier > 0 || len(s.res.Stages) > 0) {
		hint("an earlier window did leave traces: some releases record only the first one of a server's life (vllm-project/vllm#45987); restart the server and capture one stage per start")
	}
	ie.Hints = append(ie.Hints, s.out.Warnings...)
	for _, w := range s.wins {
		if w.aside != "" {
			hint("%s", w.aside)
		}
	}
	return ie
}
