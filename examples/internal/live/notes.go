package live

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/examples/internal/app"
)

// progressEvery paces lines about one phase that goes on.
const progressEvery = 5 * time.Second

// reporter prints progress as lines on stderr: a new phase at once, a long one every few seconds. Where stderr is no
// terminal it says only that a phase still goes on. It is nil where progress is off.
func reporter(env *app.Env) func(capture.Progress) {
	if env.Progress == app.Off {
		return nil
	}
	quiet := env.Progress == app.Auto && !app.Terminal(env.Stderr)
	var last capture.Progress
	var at time.Time
	return func(p capture.Progress) {
		if quiet && !p.Still || p.Phase == last.Phase && p.Stage == last.Stage && time.Since(at) < progressEvery {
			return
		}
		last, at = p, time.Now()
		line := p.Message
		if p.Stage != "" {
			line = string(p.Stage) + ": " + line
		}
		if p.Elapsed >= time.Second {
			line += fmt.Sprintf(" (%v)", p.Elapsed.Round(time.Second))
		}
		env.Notef("%s", line)
	}
}

// Notes prints what a result says to people on stderr.
func Notes(env *app.Env, r *capture.Result) {
	for _, n := range r.Notes {
		env.Notef("note: %s", n)
	}
	for _, s := range r.Stages {
		for _, w := range s.Warnings {
			env.Notef("warning: %s: %s", s.Stage, w)
		}
		for _, c := range s.Checks {
			if c.Outcome == capture.Fail && r.Error == "" {
				env.Notef("warning: %s: %s: %s", s.Stage, c.Name, c.Detail)
				if c.Fix != "" {
					env.Notef("fix: %s", c.Fix)
				}
			}
		}
	}
}

// WarnIfRunning notes what an interrupted run has left behind: its last line says only "interrupted".
func WarnIfRunning(ctx context.Context, env *app.Env, err error) {
	if ctx.Err() == nil || err == nil {
		return
	}
	// The cause comes first, and the program prints it at the end.
	if more := strings.TrimSpace(strings.TrimPrefix(err.Error(), context.Cause(ctx).Error())); more != "" {
		env.Notef("warning: %s", strings.TrimPrefix(more, "; "))
	}
}
