package live_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/examples/internal/live"
)

// TestEnd: each kind of end has its exit code, what matters most first.
func TestEnd(t *testing.T) {
	server := func(status int) error {
		return &capture.ServerError{Method: "GET", Server: "http://x", Endpoint: "/y", Status: status}
	}
	for _, c := range []struct {
		err  error
		want int
	}{
		{capture.ErrInvalid, live.ExitInvalid},
		{capture.ErrIncomplete, live.ExitIncomplete},
		{capture.ErrTooLarge, live.ExitTooLarge},
		{capture.ErrLeftOver, live.ExitLeftOver},
		{errors.Join(context.Canceled, capture.ErrStillRunning), live.ExitStillRunning},
		{errors.Join(capture.ErrIncomplete, capture.ErrStillRunning), live.ExitStillRunning},
		{context.Canceled, live.ExitInterrupted},
		{server(0), 1}, // no answer in time
		{capture.ErrNoServer, live.ExitNoServer},
		{server(404), 1},
		{capture.ErrNoRoute, live.ExitNoRoute},
		{capture.ErrRefused, live.ExitRefused},
		{capture.ErrDied, live.ExitDied},
		{capture.ErrGateway, live.ExitGateway},
		{errors.Join(capture.ErrIncomplete, capture.ErrWrongKind), live.ExitWrongKind},
		{errors.Join(capture.ErrIncomplete, capture.ErrOtherHost), live.ExitOtherHost},
		{server(401), live.ExitKey},
		{server(403), live.ExitKey},
		{server(500), 1},
		{capture.ErrUnsupported, 1},
		{errors.New("anything"), 1},
	} {
		err := live.End(fmt.Errorf("capture: %w", c.err))
		var coded interface{ ExitCode() int }
		if !errors.As(err, &coded) || coded.ExitCode() != c.want {
			t.Errorf("%v: exit code of %v, want %d", c.err, err, c.want)
		}
		if !errors.Is(err, c.err) {
			t.Errorf("%v is gone from %v", c.err, err)
		}
	}
	if live.End(nil) != nil {
		t.Error("an error of nothing")
	}
}
