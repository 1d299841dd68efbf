package capture

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/live"
)

func overrideProgram() app.Program {
	var source, output string
	return app.Program{
		Name: "capture override",
		Summary: "writes a copy of TensorRT-LLM's py_executor.py whose torch profiler records stacks (with_stack=True) and, in releases\n" +
			"whose ranks all write one file, whose trace is written by rank 0 only. The source is not changed. Mount the copy over tensorrt_llm/_torch/pyexecutor/py_executor.py.",
		Examples: []string{"capture override --source /opt/tensorrt_llm/_torch/pyexecutor/py_executor.py --output patched/py_executor.py"},
		Common:   app.FormatFlag,
		Formats:  []app.Format{app.Text, app.JSON},
		Flags: func(fs *flag.FlagSet) {
			fs.StringVar(&source, "source", "", "py_executor.py `FILE` to read")
			app.OutputFile(fs, &output, "output", "`FILE` to write, replaced in one step")
		},
		Run: func(_ context.Context, env *app.Env) error {
			if source == "" || output == "" {
				return app.Usagef("--source and --output are needed")
			}
			done, err := capture.Override(source, output)
			if err != nil {
				return live.End(err)
			}
			if env.Document() {
				return env.WriteJSON(OverrideDocument{"strata.capture-override/2", source, output, done})
			}
			fmt.Fprintf(env.Stdout, "%s: %s\n", output, strings.Join(done, ", "))
			return nil
		},
	}
}
