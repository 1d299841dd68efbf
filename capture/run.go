package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/table"
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
	if r.f, err = openFolder(r.o.OutputDir); err != nil {
		return nil, err
	}
	defer r.f.close()
	if err := r.checkLeftOver(ctx); err != nil {
		return nil, err
	}
	r.res.OutputDir = r.f.path
	r.o.ServerOutputDir = cmp.Or(r.o.ServerOutputDir, r.f.path)
	return r.finish(r.stages(ctx))
}

// run is one Run.
type run struct {
	o     Options
	d     *deployment
	f     *folder
	res   Result
	next  int // number of the next prompt
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

// close ends the heartbeat; a message under way is waited for.
func (r *run) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.beat != nil {
		r.beat.Stop()
		r.beat = nil
	}
}

// adopt begins the result with what was discovered.
func (r *run) adopt() error {
	t := r.d.targets[0]
	f := t.con.Framework
	r.o.Framework = f
	r.say("", "info", time.Now(), fmt.Sprintf("%s (%s)", f.Title(), t.evidence))
	notes, err := t.unsupported(&r.o)
	if err != nil {
		return err
	}
	notes = append(notes, r.d.notes...)
	if t.info.Note != "" {
		notes = append(notes, t.info.Note)
	}
	if t.info.Nodes > 1 {
		notes = append(notes, fmt.Sprintf("nnodes=%d: the server spans %d hosts, and each writes its ranks' traces to its "+
			"own disk; the folder must be shared by all", t.info.Nodes, t.info.Nodes))
	}
	r.next = r.o.FirstIndex
	r.res = Result{
		Schema: "strata.capture/1", Server: shownURL(r.o.URL), Framework: f, Evidence: t.evidence,
		Contract: t.con.Name, Workload: r.o.Workload, Options: r.o.provenance(), Info: t.info,
		FirstIndex: r.o.FirstIndex, StartedAt: r.begin.UTC().Truncate(time.Second), Stages: []StageResult{}, Notes: notes,
	}
	r.o.Concurrency = max(r.o.Concurrency, len(r.d.targets)) // a request for each engine
	if len(r.d.targets) > 1 || r.d.gateway != "" {
		for _, t := range r.d.targets {
			r.res.Workers = append(r.res.Workers, Worker{URL: t.c.base, Role: t.role, Contract: t.con.Name})
		}
	}
	return nil
}

// finish settles the verdict, writes the manifest and makes the error of a capture that is not valid.
func (r *run) finish(err error) (*Result, error) {
	r.res.ElapsedS = seconds(time.Since(r.begin))
	r.res.settle(err)
	if err != nil {
		r.res.Error = err.Error()
		for _, t := range r.d.targets {
			r.res.Error = t.c.secrets.Scrub(r.res.Error)
		}
	}
	err = join(err, r.f.writeJSON(manifestFile, r.res))
	if err == nil && r.res.Verdict == Invalid {
		err = fmt.Errorf("%w: %s", ErrInvalid, r.res.firstFailure())
	}
	return &r.res, err
}

// stages captures one after the other; a failed one ends the run.
func (r *run) stages(ctx context.Context) error {
	for _, st := range r.o.Workload.stages() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := r.stage(ctx, st); err != nil {
			return err
		}
	}
	r.say("", "done", r.begin, fmt.Sprintf("%d traces in %s", len(r.res.Files()), r.f.path))
	return nil
}

// stage captures one stage, and once more when what was wrong can be removed.
func (r *run) stage(ctx context.Context, st Stage) error {
	s := r.newStage(st, r.o.NumSteps, false)
	err := s.capture(ctx)
	why, moreSteps, ignoreEOS := s.out.remedy()
	if err == nil && s.out.Verdict == Invalid && why != "" && !r.o.NoRetry && !s.envOnly && ctx.Err() == nil {
		r.say(st, "retry", time.Now(), "not valid: "+why+"; once more")
		if rejected, rerr := s.reject(); rerr != nil {
			s.warn(rerr.Error())
		} else {
			s = r.newStage(st, r.o.NumSteps+moreSteps, ignoreEOS)
			s.out.StepsAsked, s.out.Tries, s.out.Rejected = r.o.NumSteps, 2, rejected
			s.warn("the first try was not valid: " + why)
			err = s.capture(ctx)
		}
	}
	if err == nil || len(s.out.Traces) > 0 || s.out.Load.Requests > 0 {
		r.res.Stages = append(r.res.Stages, s.out)
	}
	return err
}

// rejectedDir takes the traces of a first try that was not valid.
const rejectedDir = ".rejected"

// reject moves the traces of a try away, and returns where they are.
func (s *stageRun) reject() (moved []string, err error) {
	moved = append([]string{}, s.out.Rejected...)
	dir := path.Join(rejectedDir, string(s.plan.stage))
	if err := s.f.mkdir(dir); err != nil {
		return nil, err
	}
	for _, at := range s.placed {
		to, err := s.f.move(at, dir)
		if err != nil {
			return moved, err
		}
		moved = append(moved, to)
	}
	return moved, nil
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
	unopened bool     // the start request failed
	envOnly  bool     // TensorRT-LLM without /start_profile
	placed   []string // the traces, by their names in the folder
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
	// Expected are the processes that write the traces, one for each, nil when unknown.
	Expected []rank `json:"expected"`
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
	s := &stageRun{run: r, span: span{Dir: here, From: here, ID: windowID(time.Now())}}
	s.ByStage = r.o.ProfileByStage && st == StageLegacy
	for _, t := range r.d.targets {
		if t.role.runs(st) {
			s.wins = append(s.wins, &window{t: t, limit: &r.o.Timeouts, state: StateOff})
			s.Expected = append(s.Expected, t.info.expected...)
		}
	}
	if s.ByStage {
		s.Expected = slices.Concat(s.Expected, s.Expected)
	}
	c := s.con()
	s.plan = r.plan(st, steps, ignoreEOS, c.SelfStop)
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

// here is the folder of the output itself.
const here = "."

// leastFree is the room below which no profiler is armed: what a window of
// five passes of one rank of a large model takes, and some.
const leastFree = 256 << 20

// capture runs the stage. Steps, in order: folder, warm-up, the present files,
// start, delay, requests, stop, traces, move, server args, inspect.
func (s *stageRun) capture(ctx context.Context) (err error) {
	if s.Dir != here {
		if err := s.f.mkdir(s.Dir); err != nil {
			return err
		}
	}
	s.out.Warmup, err = s.send(ctx, "warmup", s.plan.warmup, s.o.Timeouts.Request)
	if err != nil {
		return err
	}
	if free, ok := freeSpace(s.f.path); ok && free < leastFree {
		return fmt.Errorf("capture: %s has %s left, less than %s: %w", s.f.path, table.Bytes(free), table.Bytes(leastFree),
			ErrTooLarge)
	}
	if err := s.remember(); err != nil {
		return err
	}
	for _, w := range s.wins {
		w.save = s.noteState
	}
	if err = s.window(ctx); err == nil {
		err = s.traces(ctx)
	}
	return s.keepNote(err)
}

// window opens the profilers, sends the requests and closes them. Whatever happens in between, a window that may be
// open is closed before it returns.
func (s *stageRun) window(ctx context.Context) (err error) {
	defer func() { // also when a callback panics: the panic goes on after it
		err = s.wins.cleanup(ctx, err, s.f)
		for _, w := range s.wins {
			s.out.Warnings = append(s.out.Warnings, w.warnings...)
		}
	}()
	s.Opened = time.Now()
	s.say("start", s.Opened, "arming the profiler")
	err = s.openAll(ctx)
	s.out.Timings.StartS = seconds(time.Since(s.Opened))
	if err != nil {
		return err
	}
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

// openAll arms one engine after the other. A server whose environment can open a window, at iterations fixed at launch,
// can do without a start request. That window is the only one.
func (s *stageRun) openAll(ctx context.Context) (err error) {
	if s.con().Start == "" {
		err = fmt.Errorf("capture: %s has no %s: %w; %s", s.res.Server, startPath, ErrNoRoute, s.con().howToLaunch())
	} else {
		for _, w := range s.wins {
			if err = w.open(ctx, s.start); err != nil {
				break
			}
		}
	}
	s.envOnly = errors.Is(err, ErrNoRoute) && contractOf(s.res.Framework, FrontEnv, nil).Front == FrontEnv &&
		!s.wins.in(StateArmed) && s.o.Workload != WorkloadBoth
	if s.envOnly {
		s.warn("no /start_profile: relying on TLLM_PROFILE_START_STOP, whose window opens once in the server's life")
		return nil
	}
	s.unopened = err != nil
	return err
}

// start sends the start request. A body that is refused for a field, before anything is done, is sent again with the
// fields that all releases know, and at last without any where the server has a folder of its own.
func (s *stageRun) start(ctx context.Context, t *target) error {
	post := func(body []byte) error { return t.c.control(ctx, t.con.Start, body, s.o.Timeouts.Start) }
	refused := func(err error) bool { return status(err) == 422 }
	body := s.body(t, append(t.con.Fields[:len(t.con.Fields):len(t.con.Fields)], t.con.Listed...))
	err := post(body)
	if fewer := s.body(t, t.con.Fields); refused(err) && string(fewer) != string(body) {
		err = post(fewer)
	}
	if refused(err) && !t.con.OwnDir {
		err = post([]byte("{}"))
	}
	return err
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
	for _, w := range s.wins {
		if w.detached {
			return fmt.Errorf("%w; the profiler was asked to stop and the server may still be writing: capture collect "+
				"--output-dir %s takes the traces when they are there", err, s.f.path)
		}
	}
	if s.stopErr = err; err != nil {
		s.warn("stop: " + err.Error())
	}
	return nil
}

// pause waits, unless ctx ends.
func (s *stageRun) pause(ctx context.Context, d time.Duration, what string) error {
	if d <= 0 || s.o.dry != nil {
		return nil
	}
	s.say("wait", time.Now(), fmt.Sprintf(what, d))
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// traces waits for complete traces of this window, moves them where they belong and judges them. Also after a failed
// stop: a complete trace says that it was carried out.
func (s *stageRun) traces(ctx context.Context) error {
	begin := time.Now()
	names, short, err := s.await(ctx)
	s.out.Timings.TracesS = seconds(time.Since(begin))
	var cerr error
	if ctx.Err() == nil {
		cerr = s.collect(names, err == nil && short == nil)
	}
	detail := fmt.Sprintf("%d traces", len(names))
	if s.out.Expected > 0 {
		detail = fmt.Sprintf("%d of %d traces", len(names), s.out.Expected)
	}
	switch {
	case short != nil && len(short.missing) > 0:
		detail += "; missing: " + firstOf(short.missing)
	case err != nil:
		detail += "; " + err.Error()
	}
	if short != nil {
		err = s.incomplete(names, short)
	}
	switch {
	case cerr != nil:
		return join(err, cerr)
	case err == nil:
		for _, w := range s.wins {
			if w.in(StateStopping) {
				_ = w.set(StateStopped) // it has written its traces
			}
		}
		s.judge()
		return nil
	case s.wins.in(StateStopping):
		err = fmt.Errorf("%w, and its traces are not complete: %w; %w", ErrStillRunning, s.stopErr, err)
	case s.stopErr != nil:
		err = join(s.stopErr, err)
	}
	s.out.fail(CheckRanks, detail)
	s.out.Verdict = Invalid
	return err
}

// collect adds the traces to the result. It moves a complete set into the stage's folder unless the server wrote it
// there, and writes the server's information beside it.
func (s *stageRun) collect(names []string, move bool) (err error) {
	s.out.Traces, s.out.Ranks, s.placed = []Trace{}, []string{}, nil
	for _, n := range names {
		t := Trace{Rank: parseRank(n).String(), Merged: isMerged(n), Frontend: isFrontend(n),
			Bytes: s.w.files[n].Bytes, Found: s.w.files[n].found}
		at, to := path.Join(s.From, n), s.Dir
		if len(s.wins) > 1 {
			to = path.Join(s.Dir, path.Dir(n)) // engines write to folders of their own
		}
		if move && path.Dir(at) != to && s.From != s.Dir {
			if err := s.f.mkdir(to); err != nil {
				return err
			}
			if at, err = s.f.move(at, to); err != nil {
				return err
			}
		}
		t.Path = s.f.abs(at)
		s.out.Traces, s.placed = append(s.out.Traces, t), append(s.placed, at)
		if t.Rank != "" {
			s.out.Ranks = append(s.out.Ranks, t.Rank)
		}
	}
	if s.res.Info.document == nil || len(names) == 0 || !move {
		return nil
	}
	at := path.Join(s.Dir, framework.ServerArgsFile)
	if err := s.f.writeJSON(at, s.res.Info.document); err != nil {
		s.warn(err.Error())
		return nil
	}
	s.out.ServerArgs = s.f.abs(at)
	return nil
}
