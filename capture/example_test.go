package capture_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/llmstrata/strata/capture"
)

// toyServer imitates an SGLang server in the examples: it writes one trace
// when the profiler is stopped.
func toyServer() *httptest.Server {
	var dir string
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/server_info":
			fmt.Fprint(w, `{"model_path": "org/model", "tokenizer_path": "org/model", "tp_size": 1}`)
		case "/generate":
			fmt.Fprint(w, `{"text": "a program for many threads", "meta_info": {"completion_tokens": 5}}`)
		case "/start_profile":
			var body struct {
				Dir string `json:"output_dir"`
			}
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
			}
			dir = body.Dir
		case "/stop_profile":
			if err := os.WriteFile(filepath.Join(dir, "1759.5-TP-0.trace.json"), []byte(`{"traceEvents": []}`),
				0o666); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		}
	}))
}

// runs is a new folder for traces.
func runs() string {
	dir, err := os.MkdirTemp("", "runs-")
	if err != nil {
		log.Fatal(err)
	}
	return dir
}

// What a server is and how it is to be launched, asked without effects.
func ExampleDiagnose() {
	server := toyServer()
	defer server.Close()

	d, err := capture.Diagnose(context.Background(), capture.Options{URL: server.URL, OutputDir: "/data/traces"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Framework, d.Info.Model)
	fmt.Println("profiler:", d.Profiler)
	// Output:
	// sglang org/model
	// profiler: unknown
}

// One model is served twice: with stacks and without graphs, and as users run it.
func ExampleRunPair() {
	mappingServer, formalServer := toyServer(), toyServer()
	defer mappingServer.Close()
	defer formalServer.Close()
	dir := runs()
	defer os.RemoveAll(dir)

	mapping := capture.Options{
		Workload: capture.WorkloadDecode,
		ArmDelay: -1,
		Timeouts: capture.Timeouts{Poll: time.Millisecond, Stable: 5 * time.Millisecond},
	}
	formal := mapping
	mapping.URL, mapping.OutputDir = mappingServer.URL, filepath.Join(dir, "mapping")
	formal.URL, formal.OutputDir = formalServer.URL, filepath.Join(dir, "formal")

	m, f, err := capture.RunPair(context.Background(), mapping, formal)
	if err != nil {
		log.Fatal(err)
	}
	for _, path := range append(m.Files(), f.Files()...) {
		name, _ := filepath.Rel(dir, path)
		fmt.Println(filepath.ToSlash(name))
	}
	// Output:
	// mapping/decode/1759.5-TP-0.trace.json
	// formal/decode/1759.5-TP-0.trace.json
}

// A plan names servers; what an earlier run of it captured is not captured again.
func ExampleMatrix_Run() {
	server := toyServer()
	defer server.Close()
	dir := runs()
	defer os.RemoveAll(dir)

	m := capture.Matrix{Options: capture.Options{ArmDelay: -1,
		Timeouts: capture.Timeouts{Poll: time.Millisecond, Stable: 5 * time.Millisecond}}}
	plan := &capture.Plan{OutputDir: dir, Entries: []capture.PlanEntry{{Name: "one", URL: server.URL,
		Stages: capture.WorkloadDecode}}}
	for range 2 {
		entries, err := m.Run(context.Background(), plan)
		if err != nil {
			log.Fatal(err)
		}
		for _, e := range entries {
			for _, c := range e.Captures {
				fmt.Println(e.Name, e.Framework, c.Role, len(c.Files()), "resumed:", c.Resumed)
			}
		}
	}
	// Output:
	// one sglang single 1 resumed: false
	// one sglang single 1 resumed: true
}

// A server is taken from its address to a complete trace per stage.
func ExampleRun() {
	server := toyServer()
	defer server.Close()
	dir := runs()
	defer os.RemoveAll(dir)

	res, err := capture.Run(context.Background(), capture.Options{
		URL:       server.URL,
		OutputDir: dir,
		ArmDelay:  -1, // this profiler is up at once
		Timeouts:  capture.Timeouts{Poll: time.Millisecond, Stable: 5 * time.Millisecond},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Framework, res.Info.Model)
	for _, s := range res.Stages {
		for _, t := range s.Traces {
			name, _ := filepath.Rel(res.OutputDir, t.Path)
			fmt.Println(s.Stage, t.Rank, filepath.ToSlash(name))
		}
	}
	// Output:
	// sglang org/model
	// prefill TP-0 prefill/1759.5-TP-0.trace.json
	// decode TP-0 decode/1759.5-TP-0.trace.json
}

func ExampleProbe() {
	server := toyServer()
	defer server.Close()
	rep, err := capture.Probe(context.Background(), capture.Options{URL: server.URL, ProbeRequests: 2})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rep.Latency.Count, "answers:", rep.Samples[0].Output)
	// Output:
	// 2 answers: a program for many threads
}

// A run left the server's profiler on: it is stopped, whoever started it.
func ExampleStop() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.URL.Path)
	}))
	defer server.Close()
	err := capture.Stop(context.Background(), capture.Options{URL: server.URL, Framework: capture.FrameworkSGLang})
	fmt.Println(err)
	// Output:
	// /stop_profile
	// <nil>
}

// A run was interrupted while the server wrote its traces, which are filed and judged later.
func ExampleCollect() {
	server := toyServer()
	defer server.Close()
	dir := runs()
	defer os.RemoveAll(dir)

	ctx, interrupt := context.WithCancel(context.Background())
	answer := server.Config.Handler
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stop_profile" {
			interrupt()
			<-r.Context().Done() // nobody waits any more, and the server writes on
		}
		answer.ServeHTTP(w, r)
	})
	wait := capture.Timeouts{Poll: time.Millisecond, Stable: 5 * time.Millisecond}
	_, err := capture.Run(ctx, capture.Options{URL: server.URL, OutputDir: dir, Workload: capture.WorkloadDecode,
		ArmDelay: -1, Timeouts: wait})
	fmt.Println(errors.Is(err, context.Canceled))

	res, err := capture.Collect(context.Background(), capture.Options{OutputDir: dir, Timeouts: wait})
	if err != nil {
		log.Fatal(err)
	}
	for _, path := range res.Files() {
		name, _ := filepath.Rel(res.OutputDir, path)
		fmt.Println(filepath.ToSlash(name))
	}
	// Output:
	// true
	// decode/1759.5-TP-0.trace.json
}
