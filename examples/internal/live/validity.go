package live

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/triage"
)

// Validity is what a report says of the captures that its traces come from: the worst verdict, why it is not VALID with
// what to change, and what was run. It is nil for none.
func Validity(captures ...*capture.Result) *triage.Capture {
	var v *triage.Capture
	worst := capture.Valid
	for _, r := range captures {
		if r == nil {
			continue
		}
		if v == nil {
			v = &triage.Capture{Why: []string{}, Facts: []string{}}
		}
		if r.Verdict == capture.Invalid || r.Verdict == capture.Unchecked && worst == capture.Valid {
			worst = r.Verdict
		}
		v.Why = append(v.Why, reasons(r)...)
		v.Facts = append(v.Facts, facts(r)...)
	}
	if v != nil {
		v.Validity = string(worst)
	}
	return v
}

// reasons are the checks of a capture that did not pass, each with what to change.
func reasons(r *capture.Result) []string {
	var out []string
	for _, s := range r.Stages {
		for _, c := range s.Checks {
			if c.Outcome == capture.Pass || r.Verdict == capture.Valid {
				continue
			}
			line := fmt.Sprintf("%s: %s %s: %s", s.Stage, c.Name, c.Outcome, c.Detail)
			if c.Fix != "" {
				line += "; " + c.Fix
			}
			out = append(out, line)
		}
	}
	if r.Error != "" && len(out) == 0 {
		out = append(out, strings.TrimPrefix(r.Error, "capture: "))
	}
	return out
}

// facts say what was run: a trace's figures hold for that.
func facts(r *capture.Result) []string {
	var out []string
	for _, s := range r.Stages {
		l := s.Load
		in := fmt.Sprintf("%d words in", l.InputWords)
		if l.InputWords == 0 {
			in = "the probe prompt"
		}
		what := fmt.Sprintf("%d requests at concurrency %d, %s, up to %d tokens out", l.Requests, max(l.Concurrency, 1),
			in, l.MaxTokens)
		if l.Requests == 0 {
			what = "the traffic that was there"
		}
		out = append(out, fmt.Sprintf("%s: %s; %d steps asked, %s found", s.Stage, what, s.StepsAsked,
			map[bool]string{true: fmt.Sprint(s.StepsFound), false: "?"}[s.StepsFound >= 0]))
	}
	var args []string
	for _, a := range []struct {
		name string
		n    int
	}{{"tp", r.Info.TP}, {"pp", r.Info.PP}, {"dp", r.Info.DP}, {"ep", r.Info.EP}, {"nnodes", r.Info.Nodes},
		{"chunked prefill", r.Info.ChunkedPrefill}} {
		if a.n > 0 {
			args = append(args, fmt.Sprintf("%s %d", a.name, a.n))
		}
	}
	if r.Info.Version != "" {
		args = append(args, "version "+r.Info.Version)
	}
	if len(args) > 0 {
		out = append(out, "server: "+strings.Join(args, ", "))
	}
	return out
}

// Invalid is the error of a report on a capture that does not hold what was asked for, nil for any other.
func Invalid(v *triage.Capture) error {
	if v == nil || v.Validity != string(capture.Invalid) {
		return nil
	}
	why := "see capture.json"
	if len(v.Why) > 0 {
		why = cmp.Or(v.Why[0], why)
	}
	return app.Exitf(ExitInvalid, "the capture is not valid: %s (--allow-invalid reports on it all the same)", why)
}
