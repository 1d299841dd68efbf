package capture

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"time"

	"github.com/llmstrata/strata/capture/internal/disk"
	"github.com/llmstrata/strata/capture/internal/folder"
	"github.com/llmstrata/strata/capture/internal/server"
)

const (
	// leastFree is the room below which no profiler is armed: what a window of
	// five passes of one rank of a large model takes, and some.
	leastFree = 256 << 20
	// calibrationDir takes the traces of a calibration, until they are removed.
	calibrationDir = ".calibration"
	// rejectedDir takes the traces of a first try that was not valid.
	rejectedDir = ".rejected"
)

// Estimate is how large the traces of a stage will be, from one window of a
// pass or a few.
type Estimate struct {
	Stage string `json:"stage"`
	// CalibrationBytes were written for CalibrationSteps passes by all ranks.
	CalibrationBytes int64 `json:"calibration_bytes"`
	CalibrationSteps int   `json:"calibration_steps"`
	// Steps is the number of passes the stage will have, Bytes what they will
	// take, FlushNs how long writing them will.
	Steps   int   `json:"steps"`
	Bytes   int64 `json:"bytes"`
	FlushNs int64 `json:"flush_ns"`
	// FreeBytes is the room there is, -1 when the system does not say.
	FreeBytes int64 `json:"free_bytes"`
}

// checkRoom refuses a folder without room.
func (s *stageRun) checkRoom() error {
	if free, ok := disk.Free(s.f.Path); ok && free < leastFree {
		return fmt.Errorf("capture: %s has %s left, less than %s: %w", s.f.Path, size(free), size(leastFree), ErrTooLarge)
	}
	return nil
}

// calibrate captures the shortest window there is, estimates the stage from it,
// and refuses a stage that would be too large.
func (r *run) calibrate(ctx context.Context, st string, steps int) error {
	s := r.newStage(st, 1, false)
	s.dir = path.Join(calibrationDir, st)
	if s.d.Traits().OwnDir {
		s.from = s.dir
	}
	s.plan.warmup = s.plan.warmup[:min(1, len(s.plan.warmup))]
	defer r.f.RemoveAll(calibrationDir)
	if err := s.capture(ctx); err != nil {
		return fmt.Errorf("capture: calibration: %w", err)
	}
	// What the requests made at least, where nobody counted.
	passes := max(s.out.StepsFound, s.plan.passes(s.o.Concurrency), 1)
	e := Estimate{Stage: st, CalibrationSteps: passes, Steps: plan(st, r.o, steps, false, r.d.Traits().SelfStop, &counter{}).passes(r.o.Concurrency), FreeBytes: -1}
	for _, t := range s.out.Traces {
		e.CalibrationBytes += t.Bytes
	}
	// The fixed part of a file counts as part of each pass: too much rather
	// than too little.
	e.Bytes = e.CalibrationBytes / int64(passes) * int64(e.Steps)
	e.FlushNs = int64((s.out.Timings.StopS + s.out.Timings.TracesS) * float64(time.Second) * float64(e.Steps) / float64(passes))
	if free, ok := disk.Free(r.f.Path); ok {
		e.FreeBytes = free
	}
	r.res.Estimates = append(r.res.Estimates, e)
	r.say(st, "estimate", time.Now(), fmt.Sprintf("%d steps will take about %s and %v to write", e.Steps, size(e.Bytes), time.Duration(e.FlushNs).Round(time.Millisecond)))
	switch {
	case r.o.MaxSize > 0 && e.Bytes > r.o.MaxSize:
		return fmt.Errorf("capture: %d %s steps would take about %s, more than %s: %w (fewer --num-steps, or a larger --max-size)", e.Steps, st, size(e.Bytes), size(r.o.MaxSize), ErrTooLarge)
	case e.FreeBytes >= 0 && e.Bytes+leastFree > e.FreeBytes:
		return fmt.Errorf("capture: %d %s steps would take about %s, and %s has %s left: %w", e.Steps, st, size(e.Bytes), r.f.Path, size(e.FreeBytes), ErrTooLarge)
	}
	return nil
}

// passes is how many passes a stage's requests make inside the window.
func (p stagePlan) passes(concurrency int) int {
	switch p.stage {
	case stagePrefill:
		return (len(p.capture) + concurrency - 1) / concurrency * max(p.outputLen, 1)
	case stageDecode:
		return p.steps + 1
	}
	return max(p.steps, len(p.capture)*min(p.outputLen, p.steps+1))
}

// size is a number of bytes for people.
func size(n int64) string {
	const k = 1000
	units := []string{"B", "kB", "MB", "GB", "TB", "PB"}
	v, u := float64(n), 0
	for v >= k && u < len(units)-1 {
		v, u = v/k, u+1
	}
	if u == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[u])
}

// reject moves the traces of a try away, and returns where they are.
func (s *stageRun) reject() ([]string, error) {
	dir := path.Join(rejectedDir, s.plan.stage)
	if err := s.f.Mkdir(dir); err != nil {
		return nil, err
	}
	moved := append([]string{}, s.out.Rejected...)
	for _, t := range s.out.Traces {
		at, err := filepath.Rel(s.f.Path, t.Path)
		if err != nil {
			return moved, err
		}
		to, _, err := s.f.Move(filepath.ToSlash(at), dir)
		if err != nil {
			return moved, err
		}
		moved = append(moved, to)
	}
	return moved, nil
}

// Call is one request of a [DryRun].
type Call struct {
	Stage string `json:"stage"`
	// Phase is warmup, start, requests or stop.
	Phase  string `json:"phase"`
	Method string `json:"method"`
	Path   string `json:"path"`
	// Body is the JSON that would be sent, "" for none.
	Body string `json:"body"`
}

// DryRun returns every request that [Run] would send that changes anything, in
// order, and sends none of them. The server is asked what it is; where
// Framework is given it need not even be there.
func DryRun(ctx context.Context, o Options) (calls []Call, err error) {
	defer func() { err = export(err) }()
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	c, err := server.New(o.serverOptions())
	if err != nil {
		return nil, err
	}
	defer c.Close()
	calls = []Call{}
	var now Call
	c.Dry = func(method, path string, body []byte) {
		now.Method, now.Path, now.Body = method, path, string(body)
		calls = append(calls, now)
	}
	r := &run{o: o, c: c, begin: time.Now()}
	if err := r.connect(ctx); err != nil {
		if o.Framework == frameworkAuto || !server.Unreachable(err) || ctx.Err() != nil {
			return nil, err
		}
		if r.d, err = newDriver(o.Framework, c, o); err != nil {
			return nil, err
		}
		r.num.next = o.FirstIndex
	}
	out, err := filepath.Abs(o.OutputDir)
	if err != nil {
		return nil, err
	}
	r.f = &folder.Folder{Path: out}
	if r.o.ServerOutputDir == "" {
		r.o.ServerOutputDir = out
	}
	for _, st := range stagesOf(o.Workload) {
		s := r.newStage(st, o.NumSteps, false)
		send := func(phase string, reqs []server.Request) {
			now = Call{Stage: st, Phase: phase}
			for _, q := range reqs {
				_, _ = r.d.Generate(ctx, q) // recorded, not sent
			}
		}
		send("warmup", s.plan.warmup)
		now = Call{Stage: st, Phase: "start"}
		_ = r.d.Start(ctx, server.Session{Stage: st, Steps: s.plan.steps, Dir: s.serverDir(), ByStage: s.byStage})
		send("requests", s.plan.capture)
		now = Call{Stage: st, Phase: "stop"}
		_ = server.Control(ctx, c, server.StopPath, nil, o.Timeouts.Stop)
	}
	return calls, nil
}
