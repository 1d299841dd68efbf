package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/examples/internal/app"
)

// progressEvery paces lines about one phase that goes on.
const progressEvery = 5 * time.Second

// reporter prints progress as lines on stderr: a new phase at once, a long one
// every few seconds. It is nil where progress is off, and by default where
// stderr is no terminal.
func reporter(env *app.Env) func(capture.Progress) {
	if env.Progress == app.Off || env.Progress == app.Auto && !terminal(env.Stderr) {
		return nil
	}
	var last capture.Progress
	var at time.Time
	return func(p capture.Progress) {
		if p.Phase == last.Phase && p.Stage == last.Stage && time.Since(at) < progressEvery {
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

// terminal reports whether w is a character device.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// notes prints what a result says to people on stderr.
func notes(env *app.Env, r *capture.Result) {
	for _, n := range r.Notes {
		env.Notef("note: %s", n)
	}
	for _, w := range r.Warnings {
		env.Notef("warning: %s", w)
	}
	for _, s := range r.Stages {
		for _, w := range s.Warnings {
			env.Notef("warning: %s: %s", s.Stage, w)
		}
		if s.Empty {
			env.Notef("warning: %s: the window is empty: no GPU event in any trace", s.Stage)
		}
		for _, d := range s.Diagnosis {
			env.Notef("warning: %s: %s", s.Stage, d)
		}
	}
}

// writeText prints a result for people.
func writeText(w io.Writer, r *capture.Result) {
	head := fmt.Sprintf("%s at %s", r.Framework.Title(), r.Server)
	var about []string
	if r.Info.Model != "" {
		about = append(about, r.Info.Model)
	}
	for _, p := range []struct {
		name string
		n    int
	}{{"TP", r.Info.TP}, {"PP", r.Info.PP}, {"DP", r.Info.DP}, {"EP", r.Info.EP}} {
		if p.n > 0 {
			about = append(about, fmt.Sprintf("%s %d", p.name, p.n))
		}
	}
	if len(about) > 0 {
		head += " (" + strings.Join(about, ", ") + ")"
	}
	fmt.Fprintln(w, head)
	for _, s := range r.Stages {
		steps := fmt.Sprintf("%d steps asked", s.StepsAsked)
		if s.StepsFound >= 0 {
			steps += fmt.Sprintf(", %d found", s.StepsFound)
		}
		fmt.Fprintf(w, "\n%s: %s; %s; requests %.1f s, traces %.1f s\n", s.Stage, count(len(s.Traces), "trace"), steps, s.Timings.RequestsS, s.Timings.StopS+s.Timings.TracesS)
		for _, t := range s.Traces {
			line := fmt.Sprintf("  %s  %d bytes", t.Path, t.Bytes)
			if t.Found != nil {
				line += fmt.Sprintf(", %d GPU events", t.Found.GPUEvents)
				if t.Found.Note != "" {
					line += ", " + t.Found.Note
				}
			}
			fmt.Fprintln(w, line)
		}
		if s.ServerArgs != "" {
			fmt.Fprintf(w, "  %s\n", s.ServerArgs)
		}
	}
}

// count is "1 trace" or "2 traces".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
