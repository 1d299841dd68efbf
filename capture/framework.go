package capture

import (
	"context"
	"fmt"
	"strings"

	"github.com/llmstrata/strata/capture/internal/server"
	"github.com/llmstrata/strata/internal/framework"
)

// Framework names an LLM server: sglang, vllm, tensorrt-llm or tokenspeed; "" is to be
// found out. New values may be added.
type Framework string

// The servers with a driver.
const (
	// frameworkAuto asks [Run] and [Probe] to find out: [Result] says what they found.
	frameworkAuto       Framework = ""
	frameworkSGLang     Framework = "sglang"
	frameworkVLLM       Framework = "vllm"
	frameworkTensorRT   Framework = "tensorrt-llm"
	frameworkTokenSpeed Framework = "tokenspeed"
)

// frameworks returns the servers with a driver, in the order the documentation
// lists them.
func frameworks() []Framework {
	return []Framework{frameworkSGLang, frameworkVLLM, frameworkTensorRT, frameworkTokenSpeed}
}

// known are the servers that [ParseFramework] looks for.
var known = framework.All()

// Title is the name as its makers write it.
func (f Framework) Title() string {
	if f == frameworkAuto {
		return "auto"
	}
	if k, ok := framework.ByName(known, string(f)); ok {
		return k.Name
	}
	return string(f)
}

// ParseFramework reads a framework's name as people write it: case, spaces and
// dashes do not matter, "trtllm", "tllm" and "trt-llm" are TensorRT-LLM, "ts"
// is TokenSpeed, and "" and "auto" are "", to be found out.
func ParseFramework(s string) (Framework, error) {
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

// driverOf is the server with a driver that k is, FrameworkAuto for none.
func driverOf(k framework.Framework) Framework {
	for _, f := range frameworks() {
		if f.Title() == k.Name {
			return f
		}
	}
	return frameworkAuto
}

// pathHint looks for a framework's name in the parts of an output path, the
// last part first: people name folders after what they measure.
func pathHint(path string) Framework {
	if k, ok := framework.InPath(known, path); ok {
		return driverOf(k)
	}
	return frameworkAuto
}

// Detection says which server answers at a URL and how that was found out.
type Detection struct {
	// Framework is never "".
	Framework Framework `json:"framework"`
	// Evidence is one sentence.
	Evidence string `json:"evidence"`
}

// detect finds out which server answers. A framework named in the output
// directory decides (TensorRT-LLM cannot be told from vLLM by its routes); else
// /server_info with an SGLang key, else /readiness for TokenSpeed, else
// /v1/models for vLLM. It fails with a [*ServerError] when nothing answers.
func detect(ctx context.Context, c *server.Client, opts Options) (Detection, error) {
	if f := pathHint(opts.OutputDir); f != frameworkAuto {
		return Detection{f, fmt.Sprintf("the output path %s names it", opts.OutputDir)}, nil
	}
	doc, path, err := server.SGLangInfo(ctx, c)
	if err == nil {
		for _, key := range []string{"internal_states", "tokenizer_path", "prefill", "decode"} {
			if _, ok := doc[key]; ok {
				return Detection{frameworkSGLang, fmt.Sprintf("%s has %q", path, key)}, nil
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return Detection{}, err
	}
	// Nothing listening, nothing answering, or nothing without a key: the other
	// routes would only repeat it, each with its own timeout.
	if server.Unreachable(err) || server.Unauthorized(err) {
		return Detection{}, err
	}
	if _, err := c.Get(ctx, "/readiness"); err == nil {
		return Detection{frameworkTokenSpeed, "/readiness answers"}, nil
	} else if ctx.Err() != nil {
		return Detection{}, ctx.Err()
	}
	if _, err = c.Get(ctx, "/v1/models"); err == nil {
		return Detection{frameworkVLLM, "/v1/models answers, /server_info and /readiness do not"}, nil
	}
	return Detection{}, fmt.Errorf("capture: no known server at %s (tried /server_info, /readiness, /v1/models); name it with --framework: %w", c.Base, err)
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
		so.Separated = string(o.Workload)
	}
	return so
}

// newDriver returns the driver for a known framework.
func newDriver(f Framework, c *server.Client, o Options) (server.Driver, error) {
	return server.Open(server.Kind(f), c, o.serverOptions())
}
