package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
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
	return n.write(s.f, s.wins)
}

// write replaces the note in a folder by one with the states of the windows.
func (n *note) write(f *folder, ws windows) error {
	n.Targets = nil
	for _, w := range ws {
		n.Targets = append(n.Targets, notedTarget{w.t.c.base, w.t.con.Framework, w.t.con.Name, w.state, w.t.id})
	}
	return f.writeJSON(sessionFile, n)
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

// readNote returns the note in a folder and its windows, none when there is none. A note of a process that is at work
// is an error.
func readNote(f *folder, o *Options) (n note, ws windows, err error) {
	if err = f.readJSON(sessionFile, &n); err != nil {
		return n, nil, fmt.Errorf("capture: %s cannot be read, so it is not known whether a profiler is on: %w: %w; "+
			"capture stop --url ADDRESS --output-dir %s settles it", f.abs(sessionFile), ErrLeftOver, err, f.path)
	}
	for _, t := range n.Targets {
		w, err := o.window(t)
		if err != nil {
			return n, nil, err
		}
		ws = append(ws, w)
	}
	host, _ := os.Hostname()
	if n.Host == host && n.PID != os.Getpid() && n.PID > 0 {
		p, perr := os.FindProcess(n.PID)
		if perr == nil {
			perr = p.Signal(syscall.Signal(0))
		}
		if perr == nil || errors.Is(perr, os.ErrPermission) {
			err = fmt.Errorf("capture: process %d captures into %s: %w; interrupt it, it stops the profiler itself", n.PID,
				f.path, ErrLeftOver)
		}
	}
	return n, ws, err
}

// window is that of an engine, as far as it got.
func (o *Options) window(t notedTarget) (*window, error) {
	c, err := newClient(t.URL, o)
	con := contractOf(t.Framework, "", nil)
	for i, c := range known().Contracts {
		if c.Name == t.Contract {
			con = &known().Contracts[i]
		}
	}
	if con == nil {
		con = &Contract{} // a framework that is to be found out
	}
	return &window{t: &target{c: c, con: con, id: t.ID}, limit: &o.Timeouts, state: t.State}, err
}

// servers names the engines.
func (ws windows) servers() string {
	var list []string
	for _, w := range ws {
		list = append(list, w.t.c.base)
	}
	return strings.Join(list, ", ")
}

// settle asks the engines whose profilers may be on whether they live on: one that is gone, or that was started after
// the window was opened, has its profiler off.
func (ws windows) settle(ctx context.Context, opened time.Time) {
	for _, w := range ws {
		if !w.in(StateArmed, StateStopping) {
			continue
		}
		_, err := w.t.c.get(ctx, "/health")
		now := &target{c: w.t.c, con: w.t.con}
		if !gone(err) {
			_ = now.ask(ctx, "") // what it does not say is not known
			now.identify(ctx)
		}
		if gone(err) || w.t.id.restarted(now.id, opened) {
			w.state = StateOff
		}
	}
}

// checkLeftOver refuses a folder in which a profiler may be on, and clears a note whose servers are no more.
func (r *run) checkLeftOver(ctx context.Context) error {
	n, ws, err := readNote(r.f, &r.o)
	if err != nil || !ws.in(StateArmed, StateStopping) {
		return err
	}
	if ws.settle(ctx, n.Opened); ws.in(StateArmed, StateStopping) {
		return fmt.Errorf("capture: a run into %s was cut off before the profiler of %s was known to be off: %w; capture "+
			"stop --output-dir %s settles it", r.f.path, ws.servers(), ErrLeftOver, r.f.path)
	}
	r.res.Notes = append(r.res.Notes, fmt.Sprintf("an earlier run into this folder was cut off; %s has been started "+
		"anew since, so its profiler is off", ws.servers()))
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
	var n note
	var ws windows
	if o.OutputDir != "" {
		var err error
		if f, err = openExisting(o.OutputDir); err != nil {
			return err
		}
		defer f.close()
		if n, ws, err = readNote(f, &o); err != nil && o.URL == "" {
			return err
		}
	}
	var err error
	switch {
	case o.URL != "":
		t := notedTarget{URL: o.URL, Framework: cmp.Or(o.Framework, n.Result.Framework), State: StateArmed}
		w, err := o.window(t)
		if err == nil && t.Framework == FrameworkAuto {
			t.Framework, _, err = detect(ctx, w.t.c, o.OutputDir)
			w.t.con = contractOf(t.Framework, "", nil)
		}
		if err == nil {
			err = w.stopLeft(ctx)
		}
		if err != nil || f == nil {
			return err
		}
		for _, noted := range ws {
			if noted.t.c.base == w.t.c.base {
				noted.state = StateStopped
			}
		}
	case len(ws) == 0:
		return fmt.Errorf("capture: no run has left a profiler on in %s; name the server with --url", o.OutputDir)
	default:
		ws.settle(ctx, n.Opened)
		for _, w := range ws {
			err = join(err, w.stopLeft(ctx))
		}
	}
	if !ws.in(StateArmed, StateStopping, StateStopped) {
		return f.remove(sessionFile)
	}
	return join(err, n.write(f, ws))
}

// stopLeft sees to it that the profiler is off.
func (w *window) stopLeft(ctx context.Context) error {
	switch {
	case w.in(StateOff, StateStopped):
		return nil
	case w.state == StateStopping && !w.t.con.StopAgain:
		w.state = StateStopped // it has the request; a second one may end it
		return nil
	}
	w.state = StateArmed
	if err := w.shut(ctx, w.limit.Stop); err != nil && !errors.Is(err, ErrDied) {
		return fmt.Errorf("%w: %w", ErrStillRunning, err)
	}
	return nil
}

// Collect waits for the traces of a window whose run was cut off after the profiler was asked to stop, and judges and
// files them as [Run] would have. Of the options, OutputDir, Inspect, Progress, ExpectRanks and Timeouts count; the
// rest are the run's.
func Collect(ctx context.Context, o Options) (*Result, error) {
	o = o.withDefaults()
	f, err := openExisting(o.OutputDir)
	if err != nil {
		return nil, err
	}
	defer f.close()
	n, ws, err := readNote(f, &o)
	switch {
	case err != nil:
		return nil, err
	case len(ws) == 0:
		return nil, fmt.Errorf("capture: no run has left traces to collect in %s", f.path)
	case ws.in(StateArmed):
		return nil, fmt.Errorf("capture: the profiler of %s may still be on: %w; capture stop --output-dir %s first",
			ws.servers(), ErrLeftOver, f.path)
	}
	set := n.Result.Options
	o.Activities, o.MergeProfiles, o.Attach, o.Nsys, o.ServerOutputDir = set.Activities, set.MergeProfiles, set.Attach,
		set.Nsys, f.path
	o.ExpectRanks = cmp.Or(o.ExpectRanks, set.ExpectRanks)
	r := &run{o: o, f: f, begin: time.Now(), res: n.Result, d: &deployment{}}
	s := &stageRun{run: r, span: n.span, plan: stagePlan{stage: n.Stage.Stage}, out: n.Stage, wins: ws}
	s.out.Dir = f.abs(s.Dir)
	for _, w := range ws {
		r.d.targets = append(r.d.targets, w.t)
	}
	if ws.in(StateStopping) {
		s.stopErr = errors.New("the answer to the stop request is not known")
	}
	s.w = &watch{stageRun: s, before: n.Before, taken: n.Taken, files: map[string]*watched{}}
	err = s.traces(ctx)
	if err != nil && ctx.Err() == nil { // they were waited for in full: the folder is free
		for _, w := range ws {
			w.state = StateStopped
		}
		err = join(err, n.write(f, ws))
	} else {
		err = s.keepNote(err)
	}
	r.res.Stages = append(r.res.Stages, s.out)
	return r.finish(err)
}
