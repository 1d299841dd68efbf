package capture_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/internal/testdata"
)

// modelJob is what testdata/contract_models.py is asked, and what it says.
type modelJob struct {
	Check [][2]any `json:"check"`
}

type modelAnswer struct {
	Describe map[string]json.RawMessage // how a server with each model describes itself
	Check    []string
}

// askModels runs the request models of the servers; the test is skipped where no Python has pydantic.
func askModels(t *testing.T, job modelJob) modelAnswer {
	t.Helper()
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	for _, python := range []string{"python3", "/usr/bin/python3", "python"} {
		cmd := exec.Command(python, "testdata/contract_models.py")
		var out, said bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), &out, &said
		err := cmd.Run()
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) ||
			strings.Contains(said.String(), "No module named 'pydantic'") {
			continue
		}
		if err != nil {
			t.Fatalf("%v: %s", err, said.String())
		}
		var a modelAnswer
		if err := json.Unmarshal(out.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	t.Skip("NOT CHECKED: no Python here has pydantic, so what is sent is not held against the servers' request models")
	return modelAnswer{}
}

// TestRequestModels: what is sent to a server of each version range is what its request model takes, also where unknown
// fields are refused, and a server that describes itself gets all that it lists. The bodies are those of real runs
// against a server that describes itself as FastAPI does, or not at all.
func TestRequestModels(t *testing.T) {
	testdata.ManyInputs(t)
	frameworks := map[string]capture.Framework{"sglang": capture.FrameworkSGLang, "vllm": capture.FrameworkVLLM,
		"trtllm": capture.FrameworkTensorRT, "tokenspeed": capture.FrameworkTokenSpeed}
	described := askModels(t, modelJob{}).Describe
	checks, from := modelJob{}, []string{}
	for _, n := range slices.Sorted(maps.Keys(described)) {
		for _, self := range []bool{true, false} {
			f := frameworks[strings.SplitN(n, "-", 2)[0]]
			dir := outDir(t)
			s := newFake(t, f, dir)
			s.fault = func(w http.ResponseWriter, r *http.Request, p string, i int) bool {
				return self && p == "/openapi.json" && asked(p, string(described[n]))(w, r, p, i)
			}
			yes := true
			o := soon(s, dir, capture.WorkloadBoth)
			o.WithStack = &yes
			if self && f != capture.FrameworkTokenSpeed || f == capture.FrameworkSGLang {
				o.StartStep = 3
			}
			if _, err := run(t, context.Background(), s, o); err != nil {
				t.Fatalf("%s, describes itself %v: %v", n, self, err)
			}
			for _, c := range s.saw("/start_profile") {
				if c.Body == nil {
					c.Body = map[string]any{}
				}
				// Without a description only what ignores unknown fields may get some.
				mode := "/ignore"
				if self {
					mode = "/forbid"
				}
				checks.Check = append(checks.Check, [2]any{n + mode, c.Body})
				from = append(from, n+mode)
				if n == "sglang-2026-shapes" && c.Body["shape_discovery"] != true {
					t.Errorf("%s: shapes are not discovered: %v", n, c.Body)
				}
				if n == "vllm-session" && self && c.Body["max_iterations"] == nil {
					t.Errorf("%s: %v", n, c.Body)
				}
			}
		}
	}
	for i, refused := range askModels(t, checks).Check {
		if refused != "" {
			t.Errorf("%s refuses %v: %s", from[i], checks.Check[i][1], refused)
		}
	}
	t.Logf("%d bodies held against %d models", len(checks.Check), len(described))
}

// TestRefusedField: a server that refuses a field that it does not describe is asked again with what all releases know.
func TestRefusedField(t *testing.T) {
	dir := outDir(t)
	s := newFake(t, capture.FrameworkSGLang, "")
	s.fault = func(w http.ResponseWriter, r *http.Request, p string, n int) bool {
		if p != "/start_profile" {
			return false
		}
		s.mu.Lock()
		body := s.calls[len(s.calls)-1].Body
		s.mu.Unlock()
		return body["shape_discovery"] != nil && answers(p, 422,
			`{"detail": [{"loc": ["body", "shape_discovery"], "msg": "extra fields not permitted"}]}`, nil)(w, r, p, n)
	}
	res, err := run(t, context.Background(), s, soon(s, dir, capture.WorkloadDecode))
	if err != nil || res.Verdict != capture.Valid || s.starts != 1 || len(s.saw("/start_profile")) != 2 {
		t.Errorf("%v, %+v, %d starts", err, res, s.starts)
	}
}

// TestContractTable: every row says where its facts are from, what opens its routes and how to launch the server, and
// no two rows of a framework are the same.
func TestContractTable(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range capture.Table() {
		if c.Name == "" || c.Source == "" || c.Probe == "" || c.Versions == "" || c.Enabled == "" || c.Start != "" &&
			(c.Stop == "" || c.Files == "" || c.Answers == "" || len(c.Kinds) == 0) {
			t.Errorf("%s: %+v", c.Name, c)
		}
		for _, key := range []string{c.Name, string(c.Framework) + c.Probe} {
			if seen[key] {
				t.Errorf("%s is there twice", key)
			}
			seen[key] = true
		}
	}
}
