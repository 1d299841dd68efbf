package capture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// sessionFile is the note of a window that is not finished: written before the profiler is armed, removed when its
// traces are collected or there are none to come. A run that was killed leaves it in the folder.
const sessionFile = "capture-session.json"

// note is the content of sessionFile. It holds no secret.
type note struct {
	Schema string `json:"schema"`
	// Targets are the engines and what their profilers may be doing.
	Targets []notedTarget `json:"targets"`
	// PID is of the process that captures, on Host.
	PID  int    `json:"pid"`
	Host string `json:"host"`
	// Opened is when the start request was about to be sent.
	Opened time.Time `json:"opened"`
	// Result is of the stages before, Stage of this one, as far as it got.
	Result Result      `json:"result"`
	Stage  StageResult `json:"stage"`
	// Dir and From are the stage's folder and the one watched, below the output folder.
	Dir     string `json:"dir"`
	From    string `json:"from"`
	ByStage bool   `json:"by_stage"`
	// ID is in the names of the files, where the server takes it.
	ID string `json:"id"`
	// Expected are the processes that write a trace each.
	Expected []wanted `json:"expected"`
	// Before are the files that were there before.
	Before map[string]seenFile `json:"before"`
	Taken  time.Time           `json:"taken"`
}

// notedTarget is one engine in a note.
type notedTarget struct {
	URL       string    `json:"url"`
	Framework Framework `json:"framework"`
	Contract  string    `json:"contract"`
	State     State     `json:"state"`
	ID        identity  `json:"identity"`
}

// noteMutex keeps windows that close at once from writing the note at once, and from changing their states meanwhile.
var noteMutex sync.Mutex

// noteState writes the states down before a request is sent that changes one.
func (s *stageRun) noteState() error {
	noteMutex.Lock()
	defer noteMutex.Unlock()
	if !s.wins.in(StateArmed, StateStopping, StateStopped) {
		return s.f.remove(sessionFile)
	}
	host, _ := os.Hostname() // "" is compared like any other name
	n := note{
		Schema: "strata.capture-session/2", PID: os.Getpid(), Host: host, Opened: s.opened, Result: s.res, Stage: s.out,
		Dir: s.dir, From: s.from, ByStage: s.byStage, ID: s.id, Expected: s.want, Before: s.w.before, Taken: s.w.taken,
	}
	for _, w := range s.wins {
		n.Targets = append(n.Targets, notedTarget{w.t.c.base, w.t.f, w.t.con.Name, w.state, w.t.id})
	}
	return s.f.writeJSON(sessionFile, n)
}

// keepNote removes the note of a window that is finished, or never was, or that no trace can come of. It stays where a
// profiler may be on or traces may still come.
func (s *stageRun) keepNote(err error) error {
	if err == nil || !s.wins.in(StateArmed, StateStopping) && (s.unopened || !s.wins.in(StateStopped)) {
		if rerr := s.f.remove(sessionFile); rerr != nil {
			s.warn(rerr.Error())
		}
	}
	return err
}

// readNote returns the note in a folder, nil when there is none.
func readNote(f *folder) (*note, error) {
	var n note
	if err := f.readJSON(sessionFile, &n); err != nil {
		return nil, fmt.Errorf("capture: %s cannot be read, so it is not known whether a profiler is on: %w: %w; capture stop --url ADDRESS --output-dir %s settles it", f.abs(sessionFile), ErrLeftOver, err, f.path)
	}
	if len(n.Targets) == 0 {
		return nil, nil
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

// in reports whether any engine is in the state.
func (n *note) in(s State) bool {
	return slices.ContainsFunc(n.Targets, func(t notedTarget) bool { return t.State == s })
}

// servers names the engines.
func (n *note) servers() string {
	var list []string
	for _, t := range n.Targets {
		list = append(list, t.URL)
	}
	return strings.Join(list, ", ")
}

// contract is the row that the note names, or the framework's first.
func (t notedTarget) contract() *Contract {
	for i := range contracts {
		if contracts[i].Name == t.Contract {
			return &contracts[i]
		}
	}
	if c := contractOf(t.Framework, "", nil); c != nil {
		return c
	}
	return &Contract{Start: startPath, Stop: stopPath}
}

// settle asks the engines that a note calls on whether they live on: one that is gone, or that was started after the
// note was written, has its profiler off.
func (n *note) settle(ctx context.Context, o *Options) {
	for i := range n.Targets {
		t := &n.Targets[i]
		if t.State != StateArmed && t.State != StateStopping {
			continue
		}
		c, err := newClient(t.URL, o)
		if err != nil {
			continue
		}
		_, err = c.get(ctx, "/health")
		if err == nil || !gone(err) {
			now := &target{c: c, f: t.Framework}
			if _ = now.ask(ctx, ""); t.ID.restarted(now.id, n.Opened) { // what it does not say is not known
				t.State = StateOff
			}
		} else {
			t.State = StateOff
		}
		c.close()
	}
}

// checkLeftOver refuses a folder in which a profiler may be on, and clears a note whose servers are no more.
func (r *run) checkLeftOver(ctx context.Context) error {
	n, err := readNote(r.f)
	switch {
	case err != nil:
		return err
	case n == nil:
		return nil
	case n.running():
		return fmt.Errorf("capture: process %d captures into %s: %w; interrupt it, it stops the profiler itself", n.PID,
			r.f.path, ErrLeftOver)
	case !n.in(StateArmed) && !n.in(StateStopping):
		return nil
	}
	n.settle(ctx, &r.o)
	switch {
	case n.in(StateArmed):
		return fmt.Errorf("capture: a run into %s was cut off while the profiler of %s was on: %w; capture stop --output-dir %s ends it", r.f.path, n.servers(), ErrLeftOver, r.f.path)
	case n.in(StateStopping):
		return fmt.Errorf("capture: a run into %s was cut off while %s was asked to stop its profiler: %w; capture stop --output-dir %s settles it", r.f.path, n.servers(), ErrLeftOver, r.f.path)
	}
	r.res.Notes = append(r.res.Notes, fmt.Sprintf("an earlier run into this folder was cut off; %s has been started anew since, so its profiler is off", n.servers()))
	return r.f.remove(sessionFile)
}

// Stop sees to it that the profilers are off that a run has left on: the note that the run left in OutputDir says of
// which servers, and whether each was asked to stop already. An engine that is gone or was started anew has none on;
// one that was asked and must not be asked twice counts as stopped. Where URL is given, one request is sent there,
// whatever the note says. A profiler that was not on is no error. Afterwards the folder is free again; [Collect]
// takes traces that the stop has left.
func Stop(ctx context.Context, o Options) error {
	o = o.withDefaults()
	var f *folder
	var n *note
	if o.OutputDir != "" {
		var err error
		if f, err = openExisting(o.OutputDir); err != nil {
			return err
		}
		defer f.close()
		if n, err = readNote(f); err != nil && o.URL == "" {
			return err
		}
	}
	switch {
	case o.URL == "" && n == nil:
		return fmt.Errorf("capture: no run has left a profiler on in %s; name the server with --url", o.OutputDir)
	case o.URL == "" && n.running():
		return fmt.Errorf("capture: process %d captures into %s: %w; interrupt it, it stops the profiler itself", n.PID,
			f.path, ErrLeftOver)
	}
	if o.URL != "" {
		if err := o.stopURL(ctx, n); err != nil {
			return err
		}
		if f == nil {
			return nil
		}
		if n == nil { // there is none, or one that nobody can read
			return f.remove(sessionFile)
		}
		for i := range n.Targets {
			if n.Targets[i].URL == shownURL(o.URL) {
				n.Targets[i].State = StateStopped
			}
		}
	} else if err := o.stopNoted(ctx, n); err != nil {
		return join(err, f.writeJSON(sessionFile, n))
	}
	if !n.in(StateArmed) && !n.in(StateStopping) && !n.in(StateStopped) {
		return f.remove(sessionFile)
	}
	return f.writeJSON(sessionFile, n)
}

// stopURL asks one server to stop.
func (o *Options) stopURL(ctx context.Context, n *note) error {
	c, err := newClient(o.URL, o)
	if err != nil {
		return err
	}
	defer c.close()
	f := o.Framework
	if f == FrameworkAuto && n != nil {
		f = n.Result.Framework
	}
	if f == FrameworkAuto {
		if f, _, err = detect(ctx, c, o.OutputDir); err != nil {
			return err
		}
	}
	return o.stopOne(ctx, c, notedTarget{Framework: f, State: StateArmed}, new(State))
}

// stopOne sends a stop request and says what the profiler does then.
func (o *Options) stopOne(ctx context.Context, c *client, t notedTarget, state *State) error {
	w := &window{t: &target{c: c, f: t.Framework, con: t.contract()}, o: o, state: StateArmed, warn: func(string) {}}
	err := w.shut(ctx, o.Timeouts.Stop)
	*state = w.state
	if err != nil && !errors.Is(err, ErrDied) {
		return fmt.Errorf("%w: %w", ErrStillRunning, err)
	}
	return nil
}

// stopNoted settles every engine of a note.
func (o *Options) stopNoted(ctx context.Context, n *note) error {
	n.settle(ctx, o)
	var errs []error
	for i := range n.Targets {
		t := &n.Targets[i]
		if t.State == StateStopping && !t.contract().StopAgain {
			t.State = StateStopped // it has the request; a second one may end it
		}
		if t.State != StateArmed && t.State != StateStopping {
			continue
		}
		c, err := newClient(t.URL, o)
		if err == nil {
			err = o.stopOne(ctx, c, *t, &t.State)
			c.close()
		}
		errs = append(errs, err)
	}
	return join(errs...)
}

// Collect waits for the traces of a window whose run was cut off after the profiler was asked to stop, and judges and
// files them as [Run] would have. Of the options, OutputDir, Inspect, Export, Progress, ExpectRanks and Timeouts count;
// the rest are the run's.
func Collect(ctx context.Context, o Options) (*Result, error) {
	o = o.withDefaults()
	f, err := openExisting(o.OutputDir)
	if err != nil {
		return nil, err
	}
	defer f.close()
	n, err := readNote(f)
	switch {
	case err != nil:
		return nil, err
	case n == nil:
		return nil, fmt.Errorf("capture: no run has left traces to collect in %s", f.path)
	case n.running():
		return nil, fmt.Errorf("capture: process %d captures into %s: %w", n.PID, f.path, ErrLeftOver)
	case n.in(StateArmed):
		return nil, fmt.Errorf("capture: the profiler of %s may still be on: %w; capture stop --output-dir %s first",
			n.servers(), ErrLeftOver, f.path)
	}
	set := n.Result.Options
	o.Activities, o.MergeProfiles, o.Attach, o.Nsys, o.ServerOutputDir = set.Activities, set.MergeProfiles, set.Attach,
		set.Nsys, f.path
	if o.ExpectRanks == 0 {
		o.ExpectRanks = set.ExpectRanks
	}
	r := &run{o: o, f: f, begin: time.Now(), res: n.Result, d: &deployment{}}
	for _, t := range n.Targets {
		c, err := newClient(t.URL, &o)
		if err != nil {
			return nil, err
		}
		r.d.targets = append(r.d.targets, &target{c: c, f: t.Framework, con: t.contract(), id: t.ID})
	}
	s := r.newStage(n.Stage.Stage, n.Stage.StepsAsked, false)
	s.out, s.dir, s.from, s.byStage, s.opened, s.id, s.want = n.Stage, n.Dir, n.From, n.ByStage, n.Opened, n.ID,
		n.Expected
	s.out.Dir = f.abs(s.dir)
	for i, w := range s.wins {
		w.state = n.Targets[i].State
	}
	if n.in(StateStopping) {
		s.stopErr = errors.New("the answer to the stop request is not known")
	}
	s.w = &watch{f: f, dir: s.from, skip: s.skip(), rewrites: s.con().Rewrites, nsys: o.Nsys, poll: o.Timeouts,
		before: n.Before, taken: n.Taken, files: map[string]*watched{}}
	err = s.traces(ctx)
	if err != nil && ctx.Err() == nil { // they were waited for in full: the folder is free
		for i := range n.Targets {
			n.Targets[i].State = StateStopped
		}
		err = join(err, f.writeJSON(sessionFile, n))
	} else {
		err = s.keepNote(err)
	}
	r.res.Stages = append(r.res.Stages, s.out)
	return r.finish(err)
}
