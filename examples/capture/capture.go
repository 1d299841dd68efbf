package main

import (
	"context"
	"encoding/json"
	"flag"
	"io"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/live"
)

// errEmpty ends a run with --fail-on-empty.
type errEmpty struct{}

func (errEmpty) Error() string { return "the traces hold no GPU event (--fail-on-empty)" }

func captureProgram() app.Program {
	var s live.Settings
	var failOnEmpty bool
	return app.Program{
		Name: "capture",
		Summary: "records traces from a running server: warms it up, arms its torch profiler, sends prefill and decode requests of known shape,\n" +
			"disarms, and waits until every rank's file is complete. Also: capture probe, capture override, capture matrix (each with -h).\n" +
			"What the server must be launched with: SGLang nothing; vLLM --profiler-config '{\"profiler\": \"torch\", \"torch_profiler_dir\": \"DIR\"}'\n" +
			"(before 0.13 VLLM_TORCH_PROFILER_DIR=DIR) with --output-dir DIR; TensorRT-LLM TLLM_PROFILE_START_STOP=A-B and\n" +
			"TLLM_TORCH_PROFILE_TRACE=DIR/trace.json.gz with --output-dir DIR.",
		Examples: []string{
			"capture --url http://127.0.0.1:30000 --output-dir runs/qwen                       # SGLang: runs/qwen/prefill and runs/qwen/decode",
			"capture --url http://127.0.0.1:8000 --framework vllm --output-dir /data/prof --ranks 4",
			"capture --url http://127.0.0.1:30000 --output-dir runs/d --profile-workload decode --num-steps 20 --format json",
			"capture probe --url http://127.0.0.1:30000                                         # is it alive, and how fast",
			"capture override --source py_executor.py --output patched/py_executor.py           # TensorRT-LLM: stacks, one writer",
			"capture matrix --plan plan.json                                                    # several servers, resumable",
		},
		Common:  app.FormatFlag | app.OutputFlag | app.ProgressFlag,
		Formats: []string{"text", "json"},
		Flags: func(fs *flag.FlagSet) {
			s.ServerFlags(fs)
			s.FolderFlags(fs)
			s.WindowFlags(fs)
			s.ProbeFlags(fs, "legacy requests, and the least number of prefill requests")
			fs.BoolVar(&failOnEmpty, "fail-on-empty", false, "an empty window is an error, not a warning")
		},
		Run: func(ctx context.Context, env *app.Env) error {
			o, err := s.Options(env)
			if err != nil {
				return err
			}
			if o.URL == "" || o.OutputDir == "" {
				return app.Usagef("--url and --output-dir are needed")
			}
			r, err := capture.Run(ctx, o)
			live.WarnIfRunning(ctx, env, err)
			if r == nil {
				return live.Tell(err)
			}
			live.Notes(env, r)
			if werr := writeResult(env, r, err); werr != nil {
				return werr
			}
			if err == nil && failOnEmpty {
				for _, st := range r.Stages {
					if st.Empty {
						return errEmpty{}
					}
				}
			}
			return live.Tell(err)
		},
	}
}

// writeResult prints what was captured, also the part before an error.
func writeResult(env *app.Env, r *capture.Result, failed error) error {
	if env.Format == "json" {
		doc := struct {
			*capture.Result
			Files []string `json:"files"`
			Error string   `json:"error,omitempty"`
		}{Result: r, Files: r.Files()}
		if failed != nil {
			doc.Error = failed.Error()
		}
		return writeJSON(env.Stdout, doc)
	}
	if failed != nil && len(r.Stages) == 0 {
		return nil // nothing to show but the error
	}
	writeText(env.Stdout, r)
	return nil
}

func writeJSON(w io.Writer, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
