package capture

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/live"
	"github.com/llmstrata/strata/internal/table"
)

// exits are the exit codes of what captures and collects traces. Code 0 is VALID.
const exits = "3 INVALID, 4 not known to be valid, 5 no server answers, 6 the profiler may still be on, " +
	"7 traces missing, 8 the server wants a key, 9 not enough disk space, 10 an earlier run has not ended, " +
	"11 no profiler route, 12 the server refuses, 13 it died, 14 gateway: pass each engine's --url, 15 a profiler of " +
	"another kind, 16 traces on another host, 130 interrupted"

func captureProgram() app.Program {
	var s live.Settings
	var dryRun, allowInvalid bool
	var mappingURL string
	return app.Program{
		Name: "capture",
		Summary: "records prefill and decode traces from a running server, waits until every rank's file is complete, and " +
			"checks them: VALID or INVALID.\n" +
			"Also: capture stop, collect, doctor, probe, matrix (each with -h).\n" +
			"Server set-up. SGLang: none.\n" +
			"vLLM: --profiler-config '{\"profiler\": \"torch\", \"torch_profiler_dir\": \"DIR\"}'; before 0.13 set VLLM_TORCH_PROFILER_DIR=DIR.\n" +
			"Pass --output-dir DIR.\n" +
			"TensorRT-LLM: none from #13872 on the PyTorch backend. Otherwise set TLLM_PROFILE_START_STOP=A-B and\n" +
			"TLLM_TORCH_PROFILE_TRACE=DIR/trace.json. Pass --output-dir DIR.",
		Exits: exits,
		First: []string{"url", "output-dir", "framework", "profile-workload", "ranks", "num-steps"},
		Last:  []string{"no-merge-profiles", "no-profile-by-stage"},
		Examples: []string{
			"capture --url http://127.0.0.1:30000 --output-dir runs/qwen                       # SGLang: runs/qwen/prefill and runs/qwen/decode",
			"capture --url http://127.0.0.1:8000 --framework vllm --output-dir /data/prof --ranks 4",
			"capture --url http://127.0.0.1:30000 --output-dir runs/d --profile-workload decode --num-steps 20 --format json",
			"capture probe --url http://127.0.0.1:30000                                         # is it alive, and how fast",
			"capture matrix --plan plan.json                                                    # several servers, resumable",
		},
		Common:  app.FormatFlag | app.OutputFlag | app.ProgressFlag,
		Formats: []app.Format{app.Text, app.JSON},
		Flags: func(fs *flag.FlagSet) {
			s.ServerFlags(fs)
			s.FolderFlags(fs)
			s.WindowFlags(fs)
			s.ProbeFlags(fs)
			fs.BoolVar(&dryRun, "dry-run", false, "print the plan and every request; send none")
			fs.StringVar(&mappingURL, "mapping-url", "",
				"`URL`: same model with CUDA graphs off: captured first, with stacks, into DIR/mapping")
			fs.BoolVar(&allowInvalid, "allow-invalid", false, "exit with 0 even if the capture is INVALID")
		},
		Run: func(ctx context.Context, env *app.Env) error {
			o, err := s.Options(env)
			if err != nil {
				return err
			}
			if o.URL == "" || o.OutputDir == "" {
				return app.Usagef("--url and --output-dir are needed")
			}
			switch {
			case dryRun:
				return printPlan(ctx, env, o)
			case mappingURL != "":
				return allow(allowInvalid, capturePair(ctx, env, o, mappingURL))
			}
			r, err := capture.Run(ctx, o)
			return allow(allowInvalid, finish(ctx, env, o, r, err))
		},
	}
}

// allow drops the error of a capture that is not valid.
func allow(invalid bool, err error) error {
	if invalid && errors.Is(err, capture.ErrInvalid) {
		return nil
	}
	return err
}

// finish prints a result and turns its verdict into the end of the program.
func finish(ctx context.Context, env *app.Env, o capture.Options, r *capture.Result, err error) error {
	live.WarnIfRunning(ctx, env, err)
	if r == nil {
		return live.End(err)
	}
	live.Notes(env, r)
	if werr := writeResult(env, r, err); werr != nil {
		return werr
	}
	return verdict(o, r, err)
}

// verdict is the error that a capture ends with.
func verdict(o capture.Options, r *capture.Result, err error) error {
	if err != nil {
		return live.End(err)
	}
	if r.Verdict != capture.Unchecked || o.Inspect == nil {
		return nil
	}
	for _, st := range r.Stages {
		for _, c := range st.Checks {
			if c.Outcome == capture.Unknown && c.Name != capture.CheckCache {
				return unchecked(fmt.Sprintf("%s: %s: %s", st.Stage, c.Name, c.Detail))
			}
		}
	}
	return unchecked("see the checks")
}

// unchecked ends a run whose traces were read but lack something that decides.
func unchecked(what string) error {
	return app.Exitf(live.ExitUnchecked, "captured, and not known to be valid: %s", what)
}

// capturePair captures a mapping and a formal server.
func capturePair(ctx context.Context, env *app.Env, o capture.Options, mappingURL string) error {
	mapping, formal, err := capture.RunPair(ctx, o.As(capture.RoleMapping, mappingURL),
		o.As(capture.RoleFormal, o.URL))
	live.WarnIfRunning(ctx, env, err)
	var both []*capture.Result
	for _, r := range []*capture.Result{mapping, formal} {
		if r != nil {
			live.Notes(env, r)
			both = append(both, r)
		}
	}
	if env.Document() {
		doc := PairDocument{"strata.capture-pair/1", mapping, formal, ""}
		if err != nil {
			doc.Error = err.Error()
		}
		if werr := env.WriteJSON(doc); werr != nil {
			return werr
		}
	} else {
		for _, r := range both {
			if werr := writeText(env.Stdout, r); werr != nil {
				return werr
			}
		}
	}
	for _, r := range both {
		if verr := verdict(o, r, err); verr != nil {
			return verr
		}
	}
	return live.End(err)
}

// printPlan shows what a capture would do and send.
func printPlan(ctx context.Context, env *app.Env, o capture.Options) error {
	p, err := capture.DryRun(ctx, o)
	if err != nil {
		return live.End(err)
	}
	if env.Document() {
		return env.WriteJSON(PlanDocument{"strata.capture-dry-run/1", p})
	}
	b := table.NewWriter(env.Stdout)
	b.Heading(1, "Plan of a capture (dry run)")
	for _, line := range p.Plan {
		b.Item("%s", line)
	}
	table.List(b, "Calls", p.Calls, len(p.Calls), func(c capture.Call) []string {
		return []string{string(c.Stage), c.Phase, c.Method, c.Path, short(c.Body)}
	}, table.Text("Stage"), table.Text("Phase"), table.Text("Method"), table.Text("Path"), table.Code("Body"))
	return b.Flush()
}

// short leaves out the middle of a long text.
func short(s string) string {
	const most, tail = 220, 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-tail], "") + " … " + strings.ToValidUTF8(s[len(s)-tail:], "")
}

// writeResult prints what was captured, also the part before an error.
func writeResult(env *app.Env, r *capture.Result, failed error) error {
	if env.Document() {
		return env.WriteJSON(ResultDocument{r, append([]string{}, r.Files()...)})
	}
	if failed != nil && len(r.Stages) == 0 {
		return nil // nothing to show but the error
	}
	return writeText(env.Stdout, r)
}
