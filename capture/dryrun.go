package capture

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Planned is what [Run] would do.
type Planned struct {
	// Plan is one sentence on each thing that was found out and will be done.
	Plan []string `json:"plan"`
	// Calls are the requests that change anything, in order.
	Calls []Call `json:"calls"`
}

// Call is one request of a plan.
type Call struct {
	Stage Stage `json:"stage"` // the stage that the request is for
	// Phase is warmup, start, requests or stop.
	Phase  string `json:"phase"`
	Method string `json:"method"`
	// Server is the address, Path the route.
	Server string `json:"server"`
	Path   string `json:"path"`
	// Body is the JSON that would be sent, "" for none.
	Body string `json:"body"`
}

// DryRun returns what [Run] would do and every request that it would send that changes anything, and sends none of
// them. The server is asked what it is; where Framework is given it need not even be there.
func DryRun(ctx context.Context, o Options) (*Planned, error) {
	p := &Planned{Plan: []string{}, Calls: []Call{}}
	var mu sync.Mutex // windows close at once
	var now Call
	o.Progress = func(p Progress) { now.Stage, now.Phase = p.Stage, p.Phase }
	o.dry = func(c *client, method, path string, body []byte) {
		mu.Lock()
		defer mu.Unlock()
		now.Method, now.Server, now.Path, now.Body = method, c.base, path, string(body)
		p.Calls = append(p.Calls, now)
	}
	r, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	if err := r.d.check(&r.o); err != nil {
		return nil, err
	}
	out, err := filepath.Abs(r.o.OutputDir)
	if err != nil {
		return nil, err
	}
	r.f = &folder{path: out}
	r.o.ServerOutputDir = cmp.Or(r.o.ServerOutputDir, out)
	p.Plan = append(r.d.words(), r.res.Notes...)
	room := r.o.Concurrency
	for _, st := range r.o.Workload.stages() {
		r.o.Concurrency = room
		s := r.newStage(st, r.o.NumSteps, false)
		s.ID = "0000000000.000000" // a run has the time
		p.Plan = append(p.Plan, s.words())
		r.o.Concurrency = 1 // in order
		if s.out.Warmup, err = s.send(ctx, "warmup", s.plan.warmup, time.Minute); err == nil {
			err = s.window(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	return p, nil
}

// words say what was found.
func (d *deployment) words() []string {
	var out []string
	for _, t := range d.targets {
		s := fmt.Sprintf("profile %s at %s (%s), contract %s", t.con.Framework.Title(), t.c.base, t.evidence, t.con.Name)
		if t.role != RoleAll {
			s += fmt.Sprintf(", the %s half", t.role)
		}
		out = append(out, s)
	}
	for _, c := range d.load {
		out = append(out, "send requests to "+c.base)
	}
	return out
}

// words say what a stage does.
func (s *stageRun) words() string {
	c, p := s.con(), s.plan
	end := "the stop request ends the window with the requests"
	switch {
	case c.SelfStop:
		end = fmt.Sprintf("the server ends the window after %d steps; a stop request follows", p.steps+c.Extra)
	case slices.Contains(c.Listed, FieldMaxIterations):
		end = fmt.Sprintf("the server ends the window after %d passes; a stop request follows", p.passes())
	case c.Start == "":
		end = "the window opens and ends at the iterations fixed at launch"
	}
	if len(p.capture) == 0 {
		return fmt.Sprintf("%s: profile the traffic that is there for %v into %s; %s", p.stage, s.o.Attach, s.out.Dir, end)
	}
	return fmt.Sprintf("%s: %d warm-up requests, then %d of up to %d tokens, %d at a time, into %s; %s", p.stage,
		len(p.warmup), len(p.capture), p.capture[0].maxTokens, s.o.Concurrency, s.out.Dir, end)
}
