package capture_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/llmstrata/strata/capture"
)

// openapi is the description that FastAPI makes of a server whose start route takes these fields; nil: no body.
func openapi(routes []string, fields []string) string {
	post := map[string]any{}
	if fields != nil {
		post["requestBody"] = map[string]any{"content": map[string]any{"application/json": map[string]any{"schema": map[string]any{
			"anyOf": []any{map[string]any{"$ref": "#/components/schemas/StartProfileRequest"},
				map[string]any{"type": "null"}}}}}}
	}
	paths := map[string]any{}
	for _, r := range routes {
		paths[r] = map[string]any{"post": post}
	}
	properties := map[string]any{}
	for _, f := range fields {
		properties[f] = map[string]any{"title": f}
	}
	text, _ := json.Marshal(map[string]any{"openapi": "3.1.0", "paths": paths,
		"components": map[string]any{"schemas": map[string]any{"StartProfileRequest": map[string]any{"type": "object",
			"properties": properties}}}})
	return string(text)
}

// both deals with a request by the first fault that takes it.
func both(list ...fault) fault {
	return func(w http.ResponseWriter, r *http.Request, p string, n int) bool {
		for _, f := range list {
			if f(w, r, p, n) {
				return true
			}
		}
		return false
	}
}

// asked is a server's answer to a question.
func asked(path, body string) fault { return answers(path, 200, body, nil) }

// kinder are options of one stage that ends soon when no trace comes.
func soon(s *fake, dir string, w capture.Workload) capture.Options {
	o := judged(s, dir)
	o.Workload, o.Timeouts.Quiet, o.Timeouts.Traces = w, 60*time.Millisecond, 5*time.Second
	return o
}

// TestDiesInside (1): a server that goes away inside the window leaves no lock, whatever it was doing. The profiler
// went with it, the error says so, and the next capture into the folder works.
func TestDiesInside(t *testing.T) {
	for _, f := range all {
		for _, at := range []string{genPath(f), "/stop_profile"} {
			dir := outDir(t)
			s := newFake(t, f, dir)
			s.fault = func(w http.ResponseWriter, r *http.Request, p string, n int) bool {
				if s.isArmed() && (p == at || p == "/v1/completions") {
					s.Listener.Close() // new connections are refused from here on
					hijack(w, "")
					return true
				}
				return false
			}
			_, err := capture.Run(context.Background(), soon(s, dir, capture.WorkloadDecode))
			if f != capture.FrameworkSGLang || at != "/stop_profile" { // whose window had ended by itself
				wantError(t, err, capture.ErrDied, s.URL)
			}
			if errors.Is(err, capture.ErrStillRunning) || errors.Is(err, capture.ErrLeftOver) {
				t.Errorf("%s at %s: %v", f, at, err)
			}
			if _, err := os.Stat(filepath.Join(dir, sessionFile)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s at %s: the note is still there: %v", f, at, err)
			}
			again := newFake(t, f, dir)
			again.windows = 50 // other names
			time.Sleep(10 * time.Millisecond)
			if res, err := run(t, context.Background(), again, soon(again, dir, capture.WorkloadDecode)); err != nil ||
				res.Verdict != capture.Valid {
				t.Errorf("%s at %s: the next capture: %v", f, at, err)
			}
		}
	}
}

// TestStartLeavesNoNote (1): a start that the server did not carry out leaves no note, so nothing refuses the next run.
func TestStartLeavesNoNote(t *testing.T) {
	for _, f := range all {
		for _, code := range []int{307, 404, 409, 422, 500, 503} {
			dir := outDir(t)
			s := newFake(t, f, dir)
			s.fault = answers("/start_profile", code, "no", nil)
			if _, err := run(t, context.Background(), s, soon(s, dir, capture.WorkloadBoth)); err == nil {
				t.Errorf("%s %d: no error", f, code)
			}
			if _, err := os.Stat(filepath.Join(dir, sessionFile)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s %d: the note is still there: %v", f, code, err)
			}
			s.fault = nil
			if _, err := run(t, context.Background(), s, soon(s, dir, capture.WorkloadDecode)); err != nil {
				t.Errorf("%s %d: the next capture: %v", f, code, err)
			}
		}
	}
}

// TestStopAlone (1): whatever state a killed run has left, the refusal names capture stop, and that alone frees the
// folder: where the server lives on, where it is gone, and where it was started anew.
func TestStopAlone(t *testing.T) {
	for _, f := range all {
		for _, stopping := range []bool{false, true} {
			for _, c := range []string{"lives", "gone", "anew"} {
				dir := outDir(t)
				s := newFake(t, f, dir)
				o := soon(s, dir, capture.WorkloadDecode)
				killed(t, s, dir, o, stopping)
				name := fmt.Sprintf("%s, stopping %v, %s", f, stopping, c)
				switch c {
				case "lives":
					_, err := capture.Run(context.Background(), o)
					wantError(t, err, capture.ErrLeftOver, "capture stop --output-dir "+dir)
				case "gone":
					s.Server.Close()
				case "anew": // Prometheus clients publish when the process was started
					s.mu.Lock()
					s.armed = false
					s.mu.Unlock()
					s.fault = asked("/metrics", fmt.Sprintf("# HELP x\nprocess_start_time_seconds %f\n",
						float64(time.Now().Add(time.Minute).Unix())))
					res, err := run(t, context.Background(), s, o)
					if err != nil || len(res.Notes) == 0 || !strings.Contains(strings.Join(res.Notes, " "),
						"started anew") {
						t.Errorf("%s: %v, %+v", name, err, res)
					}
					continue
				}
				stops := s.stops
				if err := capture.Stop(context.Background(),
					capture.Options{OutputDir: dir, Timeouts: o.Timeouts}); err != nil {
					t.Errorf("%s: stop: %v", name, err)
				}
				if stopping && !stopTwice[f] && s.stops != stops {
					t.Errorf("%s: a second stop request was sent", name)
				}
				again := s
				if c == "gone" {
					again = newFake(t, f, dir)
					again.windows = 50 // other names
				}
				time.Sleep(10 * time.Millisecond) // a file of a fixed name is not being written any more
				s.mu.Lock()
				s.armed = false // a stop that was sent is carried out in the end
				s.mu.Unlock()
				if _, err := run(t, context.Background(), again, soon(again, dir, capture.WorkloadDecode)); err != nil {
					t.Errorf("%s: the next capture: %v", name, err)
				}
			}
		}
	}
}

// TestStopBehindKey (1): stop has no key for the model list, and sees all the same that the server was started anew: it
// sends nothing, and the folder is free.
func TestStopBehindKey(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkVLLM, dir)
	o := soon(s, dir, capture.WorkloadDecode)
	killed(t, s, dir, o, false)
	s.fault = both(answers("/v1/models", 401, "key", nil), asked("/metrics",
		fmt.Sprintf("process_start_time_seconds %f\n", float64(time.Now().Add(time.Minute).Unix()))))
	stops := s.stops
	err := capture.Stop(context.Background(), capture.Options{OutputDir: dir, Timeouts: o.Timeouts})
	if err != nil || s.stops != stops {
		t.Errorf("%v, %d stop requests", err, s.stops-stops)
	}
	if _, err := os.Stat(filepath.Join(dir, sessionFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the note is still there: %v", err)
	}
}

// TestVLLMNoRoute (3): vLLM mounts its profiler routes only when a profiler is configured. Its own description says so
// before any prompt is sent.
func TestVLLMNoRoute(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkVLLM, dir)
	s.fault = both(asked("/openapi.json", openapi([]string{"/v1/chat/completions", "/v1/completions"}, nil)),
		notFound("/start_profile", nil))
	_, err := run(t, context.Background(), s, soon(s, dir, capture.WorkloadBoth))
	wantError(t, err, capture.ErrNoRoute, "--profiler-config")
	if n := len(changes(s.calls)); n != 0 {
		t.Errorf("%d requests were sent first: %v", n, s.paths())
	}
}

// TestVLLMKinds (3): profilers of other kinds answer 200 and write no trace. In development mode the server reports
// its kind, and nothing is sent; else files of the other kind show it, or the hint names both.
func TestVLLMKinds(t *testing.T) {
	for _, kind := range []string{"cuda", "proton"} {
		dir := outDir(t)
		s := newFake(t, capture.FrameworkVLLM, dir)
		s.fault = asked("/server_info", `{"vllm_config": {"profiler_config": {"profiler": "`+kind+
			`"}, "parallel_config": {"tensor_parallel_size": 2}}}`)
		_, err := run(t, context.Background(), s, soon(s, dir, capture.WorkloadBoth))
		wantError(t, err, capture.ErrWrongKind, "profiler "+kind, `"profiler": "torch"`)
		if n := len(changes(s.calls)); n != 0 {
			t.Errorf("%s: %d requests were sent first", kind, n)
		}
	}
	dir := outDir(t)
	s := newFake(t, capture.FrameworkVLLM, dir)
	s.write = func(dir, _ string) {
		writeTrace(t, filepath.Join(dir, "proton_dp0_pp0_tp0_dcp0_ep0_rank0_pid7_ab_run0.hatchet"), []byte("[]"))
	}
	_, err := run(t, context.Background(), s, soon(s, dir, capture.WorkloadDecode))
	wantError(t, err, capture.ErrWrongKind, "of kind proton")
	wantError(t, err, capture.ErrIncomplete)
	dir = outDir(t)
	s = newFake(t, capture.FrameworkVLLM, dir)
	s.write = func(string, string) {}
	_, err = run(t, context.Background(), s, soon(s, dir, capture.WorkloadDecode))
	wantError(t, err, capture.ErrIncomplete, "kind cuda or proton answers as well and leaves no trace")
}

// TestVLLMSession (3): where the start route takes a prefix and a number of iterations, the window is exact and the
// files are known by their name. Types are strict, and unknown fields may be refused.
func TestVLLMSession(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkVLLM, dir)
	var bodies []map[string]any
	s.fault = both(asked("/openapi.json", openapi([]string{"/start_profile", "/stop_profile"},
		[]string{"profile_prefix", "delay_iterations", "max_iterations"})),
		func(w http.ResponseWriter, r *http.Request, p string, n int) bool {
			if p == "/start_profile" {
				s.mu.Lock()
				bodies = append(bodies, s.calls[len(s.calls)-1].Body)
				s.mu.Unlock()
			}
			return false
		})
	s.write = func(dir, pattern string) {
		prefix, _ := bodies[len(bodies)-1]["profile_prefix"].(string)
		other := capture.Found{Steps: 5, Stages: map[string]int{"decode": 5}, GPUEvents: 1, Ranked: true, WorldSize: 1,
			End: time.Now()}
		text, _ := json.Marshal(map[string]any{"found": other})
		// somebody else's, of the same moment
		writeTrace(t, filepath.Join(dir, fmt.Sprintf("rank0.%d.pt.trace.json.gz", len(bodies))), text)
		writeTrace(t, filepath.Join(dir, prefix+rankName(pattern, 0)), s.richText(0))
	}
	o := soon(s, dir, capture.WorkloadBoth)
	o.StartStep = 3
	res, err := run(t, context.Background(), s, o)
	if err != nil || res.Verdict != capture.Valid || res.Contract != "vllm-session" {
		t.Fatalf("%v, %+v", err, res)
	}
	if bodies[0]["max_iterations"] != 5.0 || bodies[1]["max_iterations"] != 6.0 ||
		bodies[0]["delay_iterations"] != 3.0 || len(bodies[0]) != 3 {
		t.Errorf("bodies %v", bodies)
	}
	for _, st := range res.Stages {
		if len(st.Traces) != 1 || !strings.HasPrefix(filepath.Base(st.Traces[0].Path), "strata-") ||
			len(st.Rejected) != 1 {
			t.Errorf("%s: %v, rejected %v", st.Stage, st.Traces, st.Rejected)
		}
	}
}

// TestSGLangFields (4): shapes of Triton kernels and stages are asked for where the server's request has them, and not
// where its schema lacks them; without shapes there are none to discover.
func TestSGLangFields(t *testing.T) {
	old := []string{"output_dir", "num_steps", "activities", "profile_by_stage", "merge_profiles", "profile_prefix",
		"start_step", "with_stack", "record_shapes"}
	for _, c := range []struct {
		fields []string
		shapes bool
		want   map[string]any
	}{
		{append(old, "profile_id", "profile_stages", "shape_discovery"), true,
			map[string]any{"shape_discovery": true, "profile_stages": []any{"decode"}, "roofline_annotations": nil}},
		{append(old, "profile_id", "profile_stages", "roofline_annotations"), true,
			map[string]any{"roofline_annotations": true, "shape_discovery": nil}},
		{append(old, "shape_discovery"), false, map[string]any{"shape_discovery": nil, "record_shapes": false}},
		{old, true, map[string]any{"shape_discovery": nil, "profile_stages": nil, "profile_id": nil, "num_steps": 6.0}},
	} {
		dir := outDir(t)
		s := newFake(t, capture.FrameworkSGLang, "")
		s.fault = asked("/openapi.json", openapi([]string{"/start_profile", "/stop_profile"}, c.fields))
		o := soon(s, dir, capture.WorkloadDecode)
		o.RecordShapes = &c.shapes
		if _, err := run(t, context.Background(), s, o); err != nil {
			t.Fatal(err)
		}
		body := s.saw("/start_profile")[0].Body
		for k, v := range c.want {
			if fmt.Sprint(body[k]) != fmt.Sprint(v) {
				t.Errorf("%v: %s = %v, want %v", c.fields, k, body[k], v)
			}
		}
	}
}

// TestSplitHalf (4): half of a split deployment takes no requests of its own. That is said at once, with what to do;
// traffic that is there can be profiled.
func TestSplitHalf(t *testing.T) {
	for _, role := range []string{"prefill", "decode"} {
		dir := outDir(t)
		s := newFake(t, capture.FrameworkSGLang, "")
		s.fault = both(asked("/server_info", `{"tokenizer_path": "x", "tp_size": 1, "disaggregation_mode": "`+role+
			`"}`),
			answers("/generate", 400, "Disaggregated request received without boostrap room id", nil))
		o := soon(s, dir, capture.WorkloadBoth)
		_, err := run(t, context.Background(), s, o)
		wantError(t, err, capture.ErrUnsupported, "the "+role+" half", "--url ROUTER", "--attach")
		if n := len(changes(s.calls)); n != 0 {
			t.Errorf("%d requests were sent first", n)
		}
		o.Attach = 5 * time.Millisecond
		o.Progress = func(p capture.Progress) {
			if p.Phase == "wait" {
				s.mu.Lock()
				s.generate("somebody else's", 3, false)
				s.mu.Unlock()
			}
		}
		if _, err := run(t, context.Background(), s, o); err != nil {
			t.Errorf("attached: %v", err)
		}
	}
}

// router is a gateway: it answers some questions, passes generation on to its engines in turn, and has no profiler.
func router(t *testing.T, questions map[string]string, engines ...*fake) *httptest.Server {
	var next atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, ok := questions[r.URL.Path]; ok && r.Method == http.MethodGet {
			w.Write([]byte(text))
			return
		}
		if r.Method != http.MethodPost || strings.HasSuffix(r.URL.Path, "_profile") {
			http.NotFound(w, r)
			return
		}
		e := engines[int(next.Add(1)-1)%len(engines)]
		e.serve(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// TestRouter (5): the engines that a router lists are profiled at their own addresses, each into a folder of its own,
// with the requests going through the router; halves are profiled for their stage only.
func TestRouter(t *testing.T) {
	for _, split := range []bool{false, true} {
		dir := outDir(t)
		a, b := newFake(t, capture.FrameworkSGLang, ""), newFake(t, capture.FrameworkSGLang, "")
		types := []string{"regular", "regular"}
		if split {
			types = []string{"prefill", "decode"}
		}
		workers := fmt.Sprintf(`{"workers": [{"id": "1", "url": %q, "worker_type": %q}, {"id": "2", "url": %q, "worker_type": %q}], "total": 2}`, a.URL, types[0], b.URL, types[1])
		gw := router(t, map[string]string{"/workers": workers}, a, b)
		a.rich, b.rich = true, true
		o := soon(a, dir, capture.WorkloadBoth)
		o.URL, o.Framework = gw.URL, capture.FrameworkAuto
		if split {
			o.Inspect = nil // this router does not split requests
		}
		planned, err := capture.DryRun(context.Background(), o)
		if err != nil || !strings.Contains(strings.Join(planned.Plan, "\n"), "send requests to "+gw.URL) {
			t.Fatalf("%v, %+v", err, planned)
		}
		res, err := run(t, context.Background(), a, o)
		if err != nil {
			t.Fatalf("split %v: %v, %+v", split, err, res)
		}
		starts := map[bool]int{true: 1, false: 2}[split]
		if a.starts != starts || b.starts != starts || a.stops != starts || b.stops != starts || len(res.Workers) != 2 {
			t.Errorf("split %v: %d and %d starts, %d and %d stops, workers %v", split, a.starts, b.starts, a.stops,
				b.stops, res.Workers)
		}
		for i, st := range res.Stages {
			if n := len(st.Traces); !split && n != 2 || split && n != 1 {
				t.Errorf("split %v, %s: %d traces", split, st.Stage, n)
			}
			if want := filepath.Join(dir, string(st.Stage), fmt.Sprintf("worker-%d", i)); split &&
				filepath.Dir(st.Traces[0].Path) != want {
				t.Errorf("%s: %s, want it in %s", st.Stage, st.Traces[0].Path, want)
			}
		}
	}
}

// TestNamedWorkers (5): engines that are named are profiled: after a gateway that lists none, and without a gateway,
// where the requests go to all of them.
func TestNamedWorkers(t *testing.T) {
	for _, gateway := range []bool{false, true} {
		dir := outDir(t)
		a, b := newFake(t, capture.FrameworkSGLang, ""), newFake(t, capture.FrameworkSGLang, "")
		a.rich, b.rich = true, true
		o := soon(a, dir, capture.WorkloadDecode)
		o.URL, o.Workers = a.URL, []string{b.URL}
		if gateway {
			gw := router(t, map[string]string{"/health": `{"status": "healthy", "endpoints": ["x"], "instances": []}`},
				a, b)
			o.URL, o.Workers = gw.URL, []string{a.URL, b.URL}
		}
		res, err := run(t, context.Background(), a, o)
		if err != nil || len(res.Files()) != 2 || a.stops != 1 || b.stops != 1 || res.Verdict != capture.Valid {
			t.Errorf("gateway %v: %v, %+v", gateway, err, res)
		}
		// One engine's trace does not count for the other's, though both are of TP-0.
		b.write = func(string, string) {}
		o.OutputDir, o.Timeouts.Traces = outDir(t), 150*time.Millisecond
		_, err = run(t, context.Background(), a, o)
		wantError(t, err, capture.ErrIncomplete, "1 complete of 2 expected", "missing: TP-0")
	}
}

// TestGateways (5): a gateway is called one, by its name, with what to give instead; it is not taken for an engine that
// was launched wrongly.
func TestGateways(t *testing.T) {
	for name, c := range map[string]struct {
		path, text string
		says       string
	}{
		"router without workers": {"/workers", `{"workers": [], "total": 0}`, "SGLang router"},
		"mini load balancer": {"/get_server_info", `{"prefill": [{"tp_size": 1}], "decode": [{"tp_size": 1}]}`,
			"--url PREFILL --url DECODE"},
		"Dynamo": {"/health", `{"status": "healthy", "endpoints": ["a"], "instances": []}`,
			"DYN_SYSTEM_PORT"},
		"production-stack": {"/engines", `[{"engine_id": "a", "serving_models": ["m"], "created": 1}]`,
			"production-stack"},
		"gRPC workers": {"/workers", `{"workers": [{"url": "grpc://127.0.0.1:9", "worker_type": "regular"}]}`,
			"does not speak HTTP"},
		"another host": {"/workers", `[{"id": "1", "url": "http://192.0.2.7:30000", "mode": "regular"}]`,
			"add --url http://192.0.2.7:30000"},
	} {
		dir := outDir(t)
		s := newFake(t, capture.FrameworkVLLM, dir)
		gw := router(t, map[string]string{c.path: c.text, "/v1/models": `{"data": [{"id": "m"}]}`}, s)
		o := soon(s, dir, capture.WorkloadBoth)
		o.URL, o.Framework = gw.URL, capture.FrameworkAuto
		_, err := run(t, context.Background(), s, o)
		wantError(t, err, capture.ErrGateway, c.says)
		if len(s.calls) != 0 || strings.Contains(fmt.Sprint(err), "--profiler-config") {
			t.Errorf("%s: %v, requests %v", name, err, s.paths())
		}
	}
}

// TestTwoHosts (5): ranks of another host write to its disk. The error says how many hosts there are.
func TestTwoHosts(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkSGLang, "")
	s.fault = asked("/server_info", `{"tokenizer_path": "x", "tp_size": 4, "nnodes": 2}`)
	s.ranks = 2
	res, err := run(t, context.Background(), s, soon(s, dir, capture.WorkloadDecode))
	wantError(t, err, capture.ErrOtherHost, "nnodes=2", "missing: TP-2, TP-3")
	if res == nil || res.Info.Nodes != 2 || !strings.Contains(strings.Join(res.Notes, " "), "nnodes=2") {
		t.Errorf("%+v", res)
	}
}

// TestProxyClock (6): a proxy's clock says nothing about the clock of the machine that records.
func TestProxyClock(t *testing.T) {
	for _, f := range all {
		for _, ahead := range []time.Duration{3 * time.Second, -3 * time.Second, time.Hour, -time.Hour} {
			dir := outDir(t)
			s := newFake(t, f, dir)
			s.fault = func(w http.ResponseWriter, r *http.Request, p string, n int) bool {
				w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
				return false
			}
			res, err := run(t, context.Background(), s, soon(s, dir, capture.WorkloadDecode))
			if err != nil || res.Verdict != capture.Valid || len(res.Stages[0].Rejected) != 0 {
				t.Errorf("%s, %v ahead: %v, %+v", f, ahead, err, res)
			}
		}
	}
}

// TestNsys (7): a window of cudaProfilerApi is armed by the activity that means it, the report is waited for until its
// size has settled, and judged by what is seen in it.
func TestNsys(t *testing.T) {
	for _, f := range all {
		dir := outDir(t)
		s := newFake(t, f, dir)
		s.write = func(string, string) {
			writeTrace(t, filepath.Join(dir, "decode", "report1.nsys-rep"), []byte("QDSTRM"))
		}
		if f == capture.FrameworkVLLM || f == capture.FrameworkTensorRT { // the folder of the launch is watched
			s.write = func(string, string) { writeTrace(t, filepath.Join(dir, "report1.nsys-rep"), []byte("QDSTRM")) }
		}
		o := soon(s, dir, capture.WorkloadDecode)
		o.Nsys = true
		o.Inspect = func(_ context.Context, path string) (capture.Found, error) {
			if filepath.Base(path) != "report1.nsys-rep" {
				t.Errorf("%s: %s was inspected", f, path)
			}
			return capture.Found{Steps: 6, Stages: map[string]int{"decode": 6}, GPUEvents: 100}, nil
		}
		res, err := run(t, context.Background(), s, o)
		if err != nil || len(res.Files()) != 1 || res.Stages[0].StepsFound != 6 {
			t.Fatalf("%s: %v, %+v", f, err, res)
		}
		body := s.saw("/start_profile")[0].Body
		if got := fmt.Sprint(body["activities"]); f != capture.FrameworkVLLM && got != "[CUDA_PROFILER]" {
			t.Errorf("%s: activities %s", f, got)
		}
	}
	// vLLM writes all reports when the server ends: collect takes them then.
	dir := outDir(t)
	s := newFake(t, capture.FrameworkVLLM, dir)
	s.write = func(string, string) {}
	o := soon(s, dir, capture.WorkloadDecode)
	o.Nsys = true
	_, err := run(t, context.Background(), s, o)
	wantError(t, err, capture.ErrIncomplete, "when the server ends", "capture collect")
	writeTrace(t, filepath.Join(dir, "report1.nsys-rep"), []byte("QDSTRM"))
	res, err := capture.Collect(context.Background(), capture.Options{OutputDir: dir, Timeouts: o.Timeouts})
	if err != nil || len(res.Files()) != 1 {
		t.Errorf("%v, %+v", err, res)
	}
}

// TestHungRequest (8): a request that takes ten times as long as in the warm-up ends the window, and meanwhile the run
// shows that it lives.
func TestHungRequest(t *testing.T) {
	for _, f := range all {
		dir := outDir(t)
		s := newFake(t, f, dir)
		s.fault = func(w http.ResponseWriter, r *http.Request, p string, n int) bool {
			return s.isArmed() && hangs(genPath(f), 1)(w, r, p, n)
		}
		o := soon(s, dir, capture.WorkloadPrefill)
		o.Timeouts.Request, o.Timeouts.Slow, o.Timeouts.Heartbeat = time.Minute, 300*time.Millisecond,
			20*time.Millisecond
		still := 0
		o.Progress = func(p capture.Progress) {
			if p.Still && p.Phase == "requests" && p.Elapsed > 0 {
				still++
			}
		}
		begin := time.Now()
		_, err := run(t, context.Background(), s, o)
		wantError(t, err, context.DeadlineExceeded, "10 times as long as the warm-up took: it hangs")
		if still < 2 || s.stops != 1 || time.Since(begin) > 30*time.Second {
			t.Errorf("%s: %d signs of life, %d stops, %v", f, still, s.stops, time.Since(begin))
		}
	}
}

// TestDistinctErrors (8): each problem has a sentence and a kind of its own, also in joined errors.
func TestDistinctErrors(t *testing.T) {
	kinds := []error{capture.ErrNoServer, capture.ErrNoRoute, capture.ErrRefused, capture.ErrDied, capture.ErrGateway,
		capture.ErrWrongKind, capture.ErrOtherHost}
	for name, c := range map[string]struct {
		fault fault
		kind  error
	}{
		"no route": {notFound("/start_profile", nil), capture.ErrNoRoute},
		"refused": {answers("/start_profile", 409, `{"message": "already in progress"}`, nil),
			capture.ErrRefused},
		"refused by 500": {answers("/start_profile", 500, "Internal Server Error", nil), capture.ErrRefused},
	} {
		dir := outDir(t)
		s := newFake(t, capture.FrameworkVLLM, dir)
		s.fault = c.fault
		_, err := run(t, context.Background(), s, soon(s, dir, capture.WorkloadBoth))
		for _, k := range kinds {
			if errors.Is(err, k) != (k == c.kind) {
				t.Errorf("%s: is %q: %v; %v", name, k, errors.Is(err, k), err)
			}
		}
	}
	dir := outDir(t)
	s := newFake(t, capture.FrameworkVLLM, dir)
	s.fault = both(answers("/v1/chat/completions", 500, "first", nil), answers("/v1/completions", 500, "second", nil))
	_, err := run(t, context.Background(), s, soon(s, dir, capture.WorkloadBoth))
	wantError(t, err, nil, "first); POST")
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than a line: %q", err)
	}
}
