package capture_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/capture"
)

const sessionFile = "capture-session.json"

// killed leaves the folder as a run does that was killed when the profiler was
// on, or, stopping, while the server wrote its traces. The note is written by
// a real run; "killed" is a panic that nobody may clean up after, so the note
// is taken while it is there.
func killed(t *testing.T, s *fake, dir string, o capture.Options, stopping bool) {
	t.Helper()
	var note []byte
	phase := "requests"
	if stopping {
		phase = "traces"
	}
	o.Progress = func(p capture.Progress) {
		if p.Phase == phase && note == nil {
			note, _ = os.ReadFile(filepath.Join(dir, sessionFile))
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.write = func(string, string) {}
	if !stopping {
		o.Inspect = nil
		s.fault = func(w http.ResponseWriter, r *http.Request, p string, _ int) bool {
			if p == "/stop_profile" { // as if it had never been sent
				s.mu.Lock()
				s.stops--
				s.mu.Unlock()
				return true
			}
			return false
		}
	}
	o.Timeouts.Traces = 30 * time.Millisecond
	if _, err := capture.Run(ctx, o); err == nil {
		t.Fatal("the run was to fail")
	}
	if note == nil {
		t.Fatal("a run leaves no note while the profiler is on")
	}
	text := strings.Replace(string(note), fmt.Sprintf(`"pid": %d`, os.Getpid()), `"pid": 2147483646`, 1)
	if stopping {
		text = strings.Replace(text, `"state": "stopped"`, `"state": "stopping"`, 1)
	}
	if err := os.WriteFile(filepath.Join(dir, sessionFile), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	s.fault, s.write = nil, nil
}

// TestStopAndCollect: a run was killed while the profiler was on. A new one in
// the folder is refused; stop sends one request; collect takes the traces and
// judges them; then the folder is free.
func TestStopAndCollect(t *testing.T) {
	for _, f := range all {
		dir := outDir(t)
		s := newFake(t, f, dir)
		s.ranks = 2
		o := judged(s, dir)
		o.Workload, o.ExpectRanks = capture.WorkloadPrefill, 2
		killed(t, s, dir, o, false)
		if !s.isArmed() {
			t.Fatalf("%s: the profiler is off", f)
		}
		starts := s.starts
		_, err := capture.Run(context.Background(), o)
		wantError(t, err, capture.ErrLeftOver, "capture stop", dir)
		_, err = capture.Collect(context.Background(), o)
		wantError(t, err, capture.ErrLeftOver, "capture stop")
		if s.starts != starts || s.stops != 0 {
			t.Errorf("%s: %d starts, %d stops", f, s.starts-starts, s.stops)
		}

		left := capture.Options{OutputDir: dir, Inspect: inspectRich, Timeouts: o.Timeouts}
		if err := capture.Stop(context.Background(), left); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		if s.isArmed() || s.stops != 1 {
			t.Errorf("%s: armed %v, %d stops", f, s.isArmed(), s.stops)
		}
		if err := capture.Stop(context.Background(), left); err != nil || s.stops != 1 { // it is off
			t.Errorf("%s: the second stop: %v, %d stops", f, err, s.stops)
		}
		res, err := capture.Collect(context.Background(), left)
		if err != nil || res.Verdict != capture.Valid || len(res.Files()) != 2 ||
			res.Stages[0].Stage != capture.StagePrefill {
			t.Errorf("%s: collect: %v, %+v", f, err, res)
		}
		if _, err := os.Stat(filepath.Join(dir, sessionFile)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the note is still there: %v", f, err)
		}
		if res, err := run(t, context.Background(), s, o); err != nil || res.Verdict != capture.Valid {
			t.Errorf("%s: the next run: %v", f, err)
		}
	}
}

// TestCollectLate: a run was killed during the flush, and the traces come
// while collect waits.
func TestCollectLate(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkVLLM, dir)
	o := judged(s, dir)
	o.Workload = capture.WorkloadDecode
	killed(t, s, dir, o, true)
	_, err := capture.Run(context.Background(), o)
	wantError(t, err, capture.ErrLeftOver, "capture stop")
	left := capture.Options{OutputDir: dir, Inspect: inspectRich, Timeouts: o.Timeouts}
	left.Timeouts.Quiet = 20 * time.Second
	there := false
	left.Progress = func(p capture.Progress) {
		if p.Phase == "traces" && !there {
			there = true
			s.mu.Lock()
			defer s.mu.Unlock()
			s.passes = map[string]int{"decode": 5, "prefill": 1}
			writeTrace(t, filepath.Join(dir, "rank0.17.pt.trace.json.gz"), s.richText(0))
		}
	}
	res, err := capture.Collect(context.Background(), left)
	if err != nil || res.Verdict != capture.Valid || filepath.Base(filepath.Dir(res.Files()[0])) != "decode" {
		t.Errorf("%v, %+v", err, res)
	}
}

// TestNothingLeft: stop and collect without anything to do say so, make no
// folder, and a note that cannot be read is not overwritten.
func TestNothingLeft(t *testing.T) {
	dir := outDir(t)
	none := capture.Options{OutputDir: dir}
	wantError(t, capture.Stop(context.Background(), none), os.ErrNotExist)
	_, err := capture.Collect(context.Background(), none)
	wantError(t, err, os.ErrNotExist)
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	wantError(t, capture.Stop(context.Background(), none), nil, "no run has left a profiler on")
	_, err = capture.Collect(context.Background(), none)
	wantError(t, err, nil, "no run has left traces")
	if err := os.WriteFile(filepath.Join(dir, sessionFile), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	s := newFake(t, capture.FrameworkVLLM, dir)
	_, err = capture.Run(context.Background(), quick(s, dir))
	wantError(t, err, capture.ErrLeftOver, sessionFile)
	if s.starts != 0 {
		t.Error("armed all the same")
	}
}

// TestStopByURL stops whatever is on, once, and takes a profiler that is off.
func TestStopByURL(t *testing.T) {
	for _, f := range []capture.Framework{capture.FrameworkSGLang, capture.FrameworkVLLM} {
		s := newFake(t, f, t.TempDir())
		s.armed = true
		for range 2 {
			if err := capture.Stop(context.Background(), capture.Options{URL: s.URL}); err != nil {
				t.Errorf("%s: %v", f, err)
			}
		}
		if s.isArmed() || s.stops != 2 {
			t.Errorf("%s: armed %v, %d stops", f, s.isArmed(), s.stops)
		}
	}
}

// TestDetach: interrupted while the server writes, a run ends soon, sends no
// second stop, and says how the traces are had.
func TestDetach(t *testing.T) {
	for _, f := range all {
		dir := outDir(t)
		s := newFake(t, f, dir)
		ctx, cancel := context.WithCancel(context.Background())
		written := make(chan struct{})
		s.fault = func(w http.ResponseWriter, r *http.Request, p string, n int) bool {
			if p != "/stop_profile" {
				return false
			}
			s.mu.Lock()
			s.armed = false
			s.mu.Unlock()
			cancel()
			<-r.Context().Done() // the client has gone, the server goes on
			s.mu.Lock()
			s.closeWindow()
			s.mu.Unlock()
			close(written)
			return true
		}
		o := judged(s, dir)
		o.Workload = capture.WorkloadPrefill
		begin := time.Now()
		_, err := run(t, ctx, s, o)
		wantError(t, err, context.Canceled, "capture collect --output-dir "+dir)
		if s.stops != 1 || time.Since(begin) > 5*time.Second {
			t.Errorf("%s: %d stops, ended after %v", f, s.stops, time.Since(begin))
		}
		<-written
		res, err := capture.Collect(context.Background(),
			capture.Options{OutputDir: dir, Inspect: inspectRich, Timeouts: o.Timeouts})
		if err != nil || len(res.Files()) != 1 || res.Stages[0].StepsFound != 5 {
			t.Errorf("%s: collect: %v, %+v", f, err, res)
		}
	}
}

// TestPanic: a panic of a callback while the profiler is on goes on after the
// profiler has been stopped.
func TestPanic(t *testing.T) {
	for _, phase := range []string{"start", "wait", "requests", "stop"} {
		dir := outDir(t)
		s := newFake(t, capture.FrameworkVLLM, dir)
		o := quick(s, dir)
		o.ArmDelay = time.Millisecond
		o.Progress = func(p capture.Progress) {
			if p.Phase == phase {
				panic("at " + phase)
			}
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: the panic is gone", phase)
				}
			}()
			capture.Run(context.Background(), o)
		}()
		if s.isArmed() || s.starts > s.stops || s.stops > 1 {
			t.Errorf("%s: armed %v, %d starts, %d stops", phase, s.isArmed(), s.starts, s.stops)
		}
	}
}
