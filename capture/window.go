package capture

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/llmstrata/strata/capture/internal/server"
)

// armState says what the server's profiler may be doing, judged by what was
// sent to it and not by what it answered: until it is known to be off it
// counts as on.
type armState string

const (
	// stateOff: no start request was sent, or it is known that none counted.
	stateOff armState = "off"
	// stateArmed: a start request was sent, a stop request was not.
	stateArmed armState = "armed"
	// stateStopping: the one stop request was sent, and it is not known
	// whether it was carried out.
	stateStopping armState = "stopping"
	// stateStopped: the stop request was answered as carried out.
	stateStopped armState = "stopped"
)

// stopTries bounds how often a stop request is sent that did not reach the
// server, which is as if it had not been sent.
const stopTries = 3

// window is the life of one profiler window. open is called once, shut any
// number of times: of all its calls, one sends a request. No server is asked to
// start twice or, unless it is known to take that, to stop twice.
type window struct {
	d     server.Driver
	c     *server.Client
	o     *Options
	state armState
	// save notes each state before the request that leads to it is sent; what
	// it fails at ends the window before it opens.
	save func(armState) error
	// warn is told what a stop request was answered with that may be harmless;
	// aside is that where it is harmless as a rule.
	warn  func(string)
	aside string
	// started delivers the answer to a start request that is answered late.
	started <-chan error
	cancel  context.CancelFunc
	// detached is set when a cancelled run left the server to finish a stop.
	detached bool
}

// set changes the state and notes it. A failure to note it matters only
// before the profiler is armed.
func (w *window) set(s armState) error {
	w.state = s
	if w.save == nil {
		return nil
	}
	return w.save(s)
}

// open arms the profiler. pending reports that the server has not answered
// yet and may do so when the window closes. Where err is not nil the profiler
// may be on all the same: shut is always to be called.
func (w *window) open(ctx context.Context, ses server.Session) (pending bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, context.Cause(ctx)
	}
	tr := w.d.Traits()
	if err := w.set(stateArmed); err != nil {
		w.state = stateOff // nothing was sent
		return false, err
	}
	// Not the caller's context: a start that is given up half way may count or
	// not. It has a timeout of its own.
	sctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w.cancel = cancel
	started := make(chan error, 1)
	w.started = started
	go func() {
		defer func() {
			if p := recover(); p != nil { // a caller's transport
				started <- fmt.Errorf("panic: %v", p)
			}
		}()
		started <- w.d.Start(sctx, ses)
	}()
	var grace <-chan time.Time
	if tr.MayBlock {
		t := time.NewTimer(max(w.o.StartGrace, w.o.ArmDelay))
		defer t.Stop()
		grace = t.C
	}
	select {
	case err := <-started:
		w.started = nil
		return false, w.judgeStart(err)
	case <-grace:
		return true, nil
	case <-ctx.Done():
		// Most servers answer at once, and knowing is better than guessing.
		select {
		case err := <-started:
			w.started = nil
			return false, errors.Join(context.Cause(ctx), w.judgeStart(err))
		case <-time.After(w.o.Timeouts.Detach):
		}
		return false, context.Cause(ctx)
	}
}

// judgeStart decides from the answer to a start request whether there may be a
// window to close. Only what shows that the server did nothing makes it off.
func (w *window) judgeStart(err error) error {
	if err == nil {
		return nil
	}
	code := server.Status(err)
	var no server.RefusedError
	off := func() { _ = w.set(stateOff) } // the note is removed later all the same
	switch {
	case server.AlreadyRunning(err):
		off() // somebody else's window: closing it is not ours to do
		return server.WithHint(err, "another capture is running, or one was left open: capture stop --url ADDRESS closes it")
	case errors.As(err, &no), neverSent(err):
		off()
	case code == http.StatusRequestTimeout, code == 499:
		// A proxy's words; the server may have got the request.
	case code/100 == 4:
		off()
	}
	return server.WithHint(err, w.d.Traits().Needs)
}

// late returns the answer to a start request that was pending, once the window
// is closed.
func (w *window) late(ctx context.Context) error {
	if w.started == nil {
		return nil
	}
	defer w.drain()
	select {
	case err := <-w.started:
		w.started = nil
		if err != nil {
			return server.WithHint(err, w.d.Traits().Needs)
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// drain ends a pending start request and waits for its goroutine.
func (w *window) drain() {
	if w.cancel != nil {
		w.cancel()
	}
	if w.started != nil {
		<-w.started
		w.started = nil
	}
}

// shut sends the stop request if the profiler may be on and none was sent. A
// server that may have stopped by itself is told all the same: with fewer
// steps than announced its window is still open.
//
// The request has a context of its own: one that was cancelled before it
// arrived would leave the profiler on, and a second one is out of the
// question. A cancelled ctx ends the wait for the answer, not the request.
func (w *window) shut(ctx context.Context, timeout time.Duration) error {
	if w.state != stateArmed {
		return nil
	}
	tr := w.d.Traits()
	var err error
	for try := range stopTries {
		if try > 0 {
			select {
			case <-time.After(w.o.Timeouts.Poll):
			case <-ctx.Done():
			}
		}
		_ = w.set(stateStopping) // the request matters more than the note
		err = w.sendStop(ctx, timeout)
		arrived := !neverSent(err)
		if w.detached || arrived && (try > 0 || !tr.StopAgain || !lostOnTheWay(err)) {
			break
		}
		if !arrived {
			w.state = stateArmed
		}
	}
	switch {
	case err == nil, server.NotInProgress(err):
		_ = w.set(stateStopped)
		return nil
	case w.detached:
		return err
	case tr.SelfStop && server.Status(err) == http.StatusInternalServerError:
		// What SGLang answers after it has stopped by itself, its words lost.
		// Of interest only if no traces come.
		_ = w.set(stateStopped)
		w.aside = "the stop request was answered: " + err.Error()
		return nil
	}
	if errors.As(err, new(server.PartialError)) {
		// Some workers were not profiling, or none: the traces tell.
		_ = w.set(stateStopped)
		w.warn("stop: " + err.Error())
		return nil
	}
	return server.WithHint(err, "see the server's log")
}

// sendStop sends one stop request. When ctx ends, it waits a little longer for
// the answer and then gives up waiting: the server goes on writing.
func (w *window) sendStop(ctx context.Context, timeout time.Duration) error {
	sctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil { // a caller's transport
				done <- fmt.Errorf("panic: %v", p)
			}
		}()
		done <- server.Control(sctx, w.c, server.StopPath, nil, timeout)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(w.o.Timeouts.Detach):
		w.detached = true
		cancel()
		<-done
		return context.Cause(ctx)
	}
}

// cleanup closes the window after an error, also after a panic and a cancelled
// context, and ends what is under way. It returns err with what that adds.
func (w *window) cleanup(ctx context.Context, err error) error {
	if w.state == stateArmed {
		// Nothing of the caller's runs before it: what is to be cleaned up after
		// may be a callback's panic.
		switch serr := w.shut(context.WithoutCancel(ctx), w.o.Timeouts.Cleanup); {
		case serr == nil:
		case server.TimedOut(serr):
			err = errors.Join(err, fmt.Errorf("%w, or be writing its traces: %w; capture collect takes them when they are there", ErrStillRunning, serr))
		default:
			err = errors.Join(err, fmt.Errorf("%w: %w; capture stop tries again", ErrStillRunning, serr))
		}
	}
	w.drain()
	return err
}

// neverSent reports a request that did not reach a server: no connection came
// about, or nothing was written to it.
func neverSent(err error) bool { return server.Refused(err) || errors.As(err, new(server.UnsentError)) }

// lostOnTheWay reports a request of which it is not known that the server saw
// it: the connection broke, or a gateway could not pass it on.
func lostOnTheWay(err error) bool {
	switch server.Status(err) {
	case 0:
		return err != nil && !server.TimedOut(err) && !errors.Is(err, context.Canceled)
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}
