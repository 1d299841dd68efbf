package capture

import (
	"context"
	"fmt"
	"strings"

	"github.com/llmstrata/strata/capture/internal/server"
	"github.com/llmstrata/strata/internal/framework"
)

// The servers with a driver, as [Options] and [Result] name them.
const (
	// frameworkAuto asks [Run] and [Probe] to find out: [Result] says what they found.
	frameworkAuto       string = ""
	frameworkSGLang     string = "sglang"
	frameworkVLLM       string = "vllm"
	frameworkTensorRT   string = "tensorrt-llm"
	frameworkTokenSpeed string = "tokenspeed"
)

// frameworks returns the servers with a driver, in the order the documentation
// lists them.
func frameworks() []string {
	return []string{frameworkSGLang, frameworkVLLM, frameworkTensorRT, frameworkTokenSpeed}
}

// known are the servers that parseFramework looks for.
var known = framework.All()

// title is the name as its makers write it.
func title(f string) string { return server.Kind(f).Title() }

// parseFramework reads a framework's name as people write it: case, spaces and
// dashes do not matter, "trtllm", "tllm" and "trt-llm" are TensorRT-LLM, "ts"
// is TokenSpeed, and "" and "auto" are "", to be found out.
func parseFramework(s string) (string, error) {
	if t := strings.ToLower(strings.TrimSpace(s)); t == "" || t == "auto" {
		return frameworkAuto, nil
	}
	if k, ok := framework.ByName(known, s); ok {
		if f := driverOf(k); f != frameworkAuto {
			return f, nil
		}
	}
	return "", fmt.Errorf("capture: unknown framework %q: want sglang, vllm, tensorrt-llm, tokenspeed or auto", s)
}

// driverOf is the server with a driver that k is, frameworkAuto for none.
func driverOf(k framework.Framework) string {
	for _, f := range frameworks() {
		if title(f) == k.Name {
			return f
		}
	}
	return frameworkAuto
}

// pathHint looks for a framework's name in the parts of an output path, the
// last part first: people name folders after what they measure.
func pathHint(path string) string {
	if k, ok := framework.InPath(known, path); ok {
		return driverOf(k)
	}
	return frameworkAuto
}

// detection says which server answers at a URL and how that was found out.
type detection struct {
	// Framework is never "".
	Framework string `json:"framework"`
	// Evidence is one sentence.
	Evidence string `json:"evidence"`
}

// detect finds out which server answers. A framework named in the output
// directory decides (TensorRT-LLM cannot be told from vLLM by its routes); else
// /server_info with an SGLang key, else /readiness for TokenSpeed, else
// /v1/models for vLLM. It fails with a [*ServerError] when nothing answers.
func detect(ctx context.Context, c *server.Client, opts Options) (detection, error) {
	if f := pathHint(opts.OutputDir); f != frameworkAuto {
		return detection{f, fmt.Sprintf("the output path %s names it", opts.OutputDir)}, nil
	}
	doc, path, err := server.SGLangInfo(ctx, c)
	if err == nil {
		for _, key := range []string{"internal_states", "tokenizer_path", "prefill", "decode"} {
			if _, ok := doc[key]; ok {
				return detection{frameworkSGLang, fmt.Sprintf("%s has %q", path, key)}, nil
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return detection{}, err
	}
	// Nothing listening, nothing answering, or nothing without a key: the other
	// routes would only repeat it, each with its own timeout.
	if server.Unreachable(err) || server.Unauthorized(err) {
		return detection{}, err
	}
	if _, err := c.Get(ctx, "/readiness"); err == nil {
		return detection{frameworkTokenSpeed, "/readiness answers"}, nil
	} else if ctx.Err() != nil {
		return detection{}, ctx.Err()
	}
	if _, err = c.Get(ctx, "/v1/models"); err == nil {
		return detection{frameworkVLLM, "/v1/models answers, /server_info and /readiness do not"}, nil
	}
	return detection{}, fmt.Errorf("capture: no known server at %s (tried /server_info, /readiness, /v1/models); name it with --framework: %w", c.Base, err)
}

// serverOptions are what is said to the server.
func (o Options) serverOptions() server.Options {
	so := server.Options{
		URL: o.URL, Header: o.Header, HTTPClient: o.HTTPClient, Model: o.Model,
		InfoTimeout: o.Timeouts.Info, StartTimeout: o.Timeouts.Start, RequestTimeout: o.Timeouts.Request,
		ProfileByStage: o.ProfileByStage, MergeProfiles: o.MergeProfiles, ProfilePrefix: o.ProfilePrefix, StartStep: o.StartStep,
		WithStack: o.WithStack, RecordShapes: o.RecordShapes, Activities: o.Activities,
	}
	if o.Workload != workloadLegacy {
		so.Separated = o.Workload
	}
	return so
}

// newDriver returns the driver for a known framework.
func newDriver(f string, c *server.Client, o Options) (server.Driver, error) {
	return server.Open(server.Kind(f), c, o.serverOptions())
}
