package capture

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/llmstrata/strata/internal/vocabulary"
)

// State says what a server's profiler may be doing, judged by what was really sent to it and not by what it answered:
// until it is known to be off it counts as on.
type State string

// The states.
const (
	StateOff      State = "off"      // no start request was sent, or none counted, or the server is gone
	StateArmed    State = "armed"    // a start request was sent, a stop request was not
	StateStopping State = "stopping" // the stop request was sent, and it is not known whether it was carried out
	StateStopped  State = "stopped"  // the stop request was answered as carried out
)

// UnmarshalText refuses unknown words: a profiler may be on.
func (s *State) UnmarshalText(text []byte) error {
	return vocabulary.Set(s, "state", text, StateOff, StateArmed, StateStopping, StateStopped)
}

// stopTries bounds how often a stop request is sent that did not reach the server, which is as if it had not been sent.
const stopTries = 3

// window is one engine's profiler window. open is called once, shut any number of times: of all its calls, one sends a
// request. No server is asked to start twice or, unless it is known to take that, to stop twice.
type window struct {
	t     *target
	limit *Timeouts
	state State
	// save notes each state before the request that leads to it is sent; what it fails at ends the window before it
	// opens.
	save func() error
	// warnings are answers to a stop request that may be harmless, aside one that usually is.
	warnings []string
	aside    string
	// started is the start request: a cancelled run may not have waited for its answer.
	started *sent
	// detached is set when a cancelled run left the server to finish a stop.
	detached bool
}

// set changes the state and notes it. A failure to note it matters only before the profiler is armed.
func (w *window) set(s State) error {
	noteMutex.Lock() // the note of another window that closes holds this state, too
	w.state = s
	noteMutex.Unlock()
	if w.save == nil {
		return nil
	}
	return w.save()
}

// in reports whether the window is in one of the states.
func (w *window) in(states ...State) bool { return slices.Contains(states, w.state) }

// open arms the profiler by a start request. Where err is not nil the profiler may be on all the same: shut is always
// to be called.
func (w *window) open(ctx context.Context, start func(context.Context, *target) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := w.set(StateArmed); err != nil {
		w.state = StateOff // nothing was sent
		return err
	}
	w.started = send(ctx, func(ctx context.Context) error { return start(ctx, w.t) })
	answered, err := w.started.wait(ctx, w.limit.Detach)
	if !answered {
		return err
	}
	return join(context.Cause(ctx), w.judgeStart(err))
}

// sent is a request with a context of its own: one that is given up half way may count or not.
type sent struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error // once done is closed
}

// send begins a request.
func send(ctx context.Context, request func(context.Context) error) *sent {
	s := &sent{done: make(chan struct{})}
	ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(s.done)
		s.err = request(ctx)
	}()
	return s
}

// wait returns the answer. When ctx ends it waits a little longer, since most servers answer at once and knowing is
// better than guessing, and gives up waiting then: the request goes on.
func (s *sent) wait(ctx context.Context, longer time.Duration) (answered bool, err error) {
	select {
	case <-s.done:
		return true, s.err
	case <-ctx.Done():
	}
	select {
	case <-s.done:
		return true, s.err
	case <-time.After(longer):
		return false, context.Cause(ctx)
	}
}

// end ends the request, if it is under way.
func (s *sent) end() {
	s.cancel()
	<-s.done
}

// judgeStart decides from the answer to a start request whether there may be a window to close. Only what shows that
// the server did nothing makes it off.
func (w *window) judgeStart(err error) error {
	if err == nil {
		return nil
	}
	code, off, kind, hint := status(err), true, ErrRefused, w.t.con.howToLaunch()
	switch {
	case code == http.StatusConflict, says(err, "already in progress", "already running"):
		// Somebody else's window: closing it is not ours to do.
		hint = "another capture is running, or one was left open: capture stop --url " + w.t.c.base + " closes it"
	case neverSent(err):
		kind = nil
	case errors.Is(err, errNotDone):
	case code == http.StatusRequestTimeout, code == 499:
		off, kind = false, nil // a proxy's words; the server may have got the request
	case noRoute(err):
		kind = ErrNoRoute
	case code/100 == 3, code/100 == 4:
	case code == http.StatusInternalServerError, errors.Is(err, errPartial):
		off = false
	default:
		off, kind = false, nil
	}
	if off {
		_ = w.set(StateOff) // the note is removed later all the same
	}
	if err = withHint(err, hint); kind != nil {
		err = marked{err, kind}
	}
	return err
}

// shut sends the stop request if the profiler may be on and none was sent. A server that may have stopped by itself is
// asked anyway: with fewer steps than announced its window is still open. A server that is gone has no profiler.
//
// The request has a context of its own: one that was cancelled before it arrived would leave the profiler on, and a
// second one is out of the question. A cancelled ctx ends the wait for the answer, not the request.
func (w *window) shut(ctx context.Context, timeout time.Duration) error {
	if w.state != StateArmed {
		return nil
	}
	var err error
	for try := range stopTries {
		if try > 0 {
			select {
			case <-time.After(w.limit.Poll):
			case <-ctx.Done():
			}
		}
		_ = w.set(StateStopping) // the request matters more than the note
		err = w.sendStop(ctx, timeout)
		arrived := !neverSent(err)
		if w.detached || arrived && (try > 0 || !w.t.con.StopAgain || !lostOnTheWay(err)) {
			break
		}
		if !arrived { // what was sent decides: no stop was
			_ = w.set(StateArmed)
		}
	}
	if w.detached {
		return err
	}
	if unreachable(err) && lostOnTheWay(err) && !gone(err) {
		// The connection broke. Ask whether the server is gone, too.
		if _, qerr := w.t.c.get(context.WithoutCancel(ctx), "/health"); gone(qerr) {
			err = qerr
		}
	}
	switch {
	case err == nil, says(err, "not in progress", "not running", "not started"): // it had closed by itself
	case gone(err):
		_ = w.set(StateOff)
		return marked{fmt.Errorf("capture: %s went away while it was profiled, and its profiler with it: %w", w.t.c.base,
			err), ErrDied}
	case w.t.con.SelfStop && status(err) == http.StatusInternalServerError:
		// What SGLang answers after it has stopped by itself, its words lost. Of interest only if no traces come.
		w.aside = "the stop request was answered: " + err.Error()
	case errors.Is(err, errPartial):
		// Some or all workers were not profiling: the traces show which.
		w.warnings = append(w.warnings, "stop: "+err.Error())
	default:
		return withHint(err, "see the server's log")
	}
	_ = w.set(StateStopped)
	return nil
}

// sendStop sends one stop request. One that is not waited for to its end has been sent: the server goes on writing.
func (w *window) sendStop(ctx context.Context, timeout time.Duration) error {
	stop := send(ctx, func(ctx context.Context) error { return w.t.c.control(ctx, stopPath, nil, timeout) })
	answered, err := stop.wait(ctx, w.limit.Detach)
	stop.end()
	w.detached = !answered
	return err
}

// windows are those of one stage, one for each engine that runs it.
type windows []*window

// in reports whether any window is in one of the states.
func (ws windows) in(states ...State) bool {
	return slices.ContainsFunc(ws, func(w *window) bool { return w.in(states...) })
}

// shut stops all engines at once: each may take minutes to write.
func (ws windows) shut(ctx context.Context, timeout time.Duration) error {
	errs := make([]error, len(ws))
	var wg sync.WaitGroup
	for i, w := range ws {
		wg.Go(func() { errs[i] = w.shut(ctx, timeout) })
	}
	wg.Wait()
	return join(errs...)
}

// cleanup closes the windows after an error, also after a panic and a cancelled context, and ends what is under way.
// It returns err with what that adds. Nothing of the caller's runs before it: what is to be cleaned up after may be a
// callback's panic.
func (ws windows) cleanup(ctx context.Context, err error, f *folder) error {
	if ws.in(StateArmed) {
		serr := ws.shut(context.WithoutCancel(ctx), ws[0].limit.Cleanup)
		switch {
		case serr == nil:
		case errors.Is(serr, ErrDied) && !ws.in(StateArmed, StateStopping):
			err = join(err, serr)
		case timedOut(serr):
			err = join(err, fmt.Errorf("%w, or be writing its traces: %w; capture collect --output-dir %s takes them when "+
				"they are there", ErrStillRunning, serr, f.path))
		default:
			err = join(err, fmt.Errorf("%w: %w; capture stop --output-dir %s tries again", ErrStillRunning, serr, f.path))
		}
	}
	for _, w := range ws {
		if w.started != nil {
			w.started.end()
		}
	}
	return err
}
