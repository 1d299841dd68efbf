package capture

import (
	"cmp"
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
	// Result is of the stages before, Stage of this one, as far as it got.
	Result Result      `json:"result"`
	Stage  StageResult `json:"stage"`
	span
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
		Schema: "strata.capture-session/3", PID: os.Getpid(), Host: host, Result: s.res, Stage: s.out, span: s.span,
		Before: s.w.before, Taken: s.w.taken,
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

// running is the error of a note whose process is at work, nil for others.
func (n *note) running(dir string) error {
	host, _ := os.Hostname()
	if n.Host != host || n.PID == os.Getpid() || n.PID <= 0 {
		return nil
	}
	p, err := os.FindProcess(n.PID)
	if err == nil {
		err = p.Signal(syscall.Signal(0))
	}
	if err != nil && !errors.Is(err, os.ErrPermission) {
		return nil
	}
	return fmt.Errorf("capture: process %d captures into %s: %w; interrupt it, it stops the profiler itself", n.PID, dir,
		ErrLeftOver)
}

// in reports whether any engine is in one of the states.
func (n *note) in(states ...State) bool {
	return slices.ContainsFunc(n.Targets, func(t notedTarget) bool { return slices.Contains(states, t.State) })
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
		c, err := newClient(t.URL, o)
		if err != nil || t.State != StateArmed && t.State != StateStopping {
			continue
		}
		now := &target{c: c, f: t.Framework}
		_, err = c.get(ctx, "/health")
		if !gone(err) {
			_ = now.ask(ctx, "") // what it does not say is not known
			now.identify(ctx)
		}
		if gone(err) || t.ID.restarted(now.id, n.Opened) {
			t.State = StateOff
		}
		c.close()
	}
}

// checkLeftOver refuses a folder in which a profiler may be on, and clears a note whose servers are no more.
func (r *run) checkLeftOver(ctx context.Context) error {
	n, err := readNote(r.f)
	if err != nil || n == nil {
		return err
	}
	if err := n.running(r.f.path); err != nil || !n.in(StateArmed, StateStopping) {
		return err
	}
	if n.settle(ctx, &r.o); n.in(StateArmed, StateStopping) {
		return fmt.Errorf("capture: a run into %s was cut off before the profiler of %s was known to be off: %w; capture stop --output-dir %s settles it", r.f.path, n.servers(), ErrLeftOver, r.f.path)
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
	n := &note{}
	if o.OutputDir != "" {
		var err error
		if f, err = openExisting(o.OutputDir); err != nil {
			return err
		}
		defer f.close()
		noted, err := readNote(f)
		if err != nil && o.URL == "" {
			return err
		}
		if noted != nil {
			n = noted
		}
	}
	var err error
	switch {
	case o.URL != "":
		t := notedTarget{URL: o.URL, Framework: cmp.Or(o.Framework, n.Result.Framework), State: StateArmed}
		if err := o.stop(ctx, &t); err != nil || f == nil {
			return err
		}
		for i := range n.Targets {
			if n.Targets[i].URL == shownURL(o.URL) {
				n.Targets[i].State = StateStopped
			}
		}
	case len(n.Targets) == 0:
		return fmt.Errorf("capture: no run has left a profiler on in %s; name the server with --url", o.OutputDir)
	default:
		if err := n.running(f.path); err != nil {
			return err
		}
		n.settle(ctx, &o)
		for i := range n.Targets {
			err = join(err, o.stop(ctx, &n.Targets[i]))
		}
	}
	if !n.in(StateArmed, StateStopping, StateStopped) {
		return f.remove(sessionFile)
	}
	return join(err, f.writeJSON(sessionFile, n))
}

// stop sees to it that one profiler is off, and notes what is known of it then.
func (o *Options) stop(ctx context.Context, t *notedTarget) error {
	if t.State == StateStopping && !t.contract().StopAgain {
		t.State = StateStopped // it has the request; a second one may end it
	}
	if t.State != StateArmed && t.State != StateStopping {
		return nil
	}
	c, err := newClient(t.URL, o)
	if err != nil {
		return err
	}
	defer c.close()
	if t.Framework == FrameworkAuto {
		if t.Framework, _, err = detect(ctx, c, o.OutputDir); err != nil {
			return err
		}
	}
	w := &window{t: &target{c: c, f: t.Framework, con: t.contract()}, o: o, state: StateArmed, warn: func(string) {}}
	err = w.shut(ctx, o.Timeouts.Stop)
	t.State = w.state
	if err != nil && !errors.Is(err, ErrDied) {
		return fmt.Errorf("%w: %w", ErrStillRunning, err)
	}
	return nil
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
	if err != nil {
		return nil, err
	}
	if n == nil {
		return nil, fmt.Errorf("capture: no run has left traces to collect in %s", f.path)
	}
	if err := n.running(f.path); err != nil {
		return nil, err
	}
	if n.in(StateArmed) {
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
	s.out, s.span = n.Stage, n.span
	s.out.Dir = f.abs(s.Dir)
	for i, w := range s.wins {
		w.state = n.Targets[i].State
	}
	if n.in(StateStopping) {
		s.stopErr = errors.New("the answer to the stop request is not known")
	}
	s.w = &watch{f: f, dir: s.From, skip: s.skip(), rewrites: s.con().Rewrites, nsys: o.Nsys, poll: o.Timeouts,
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
