package capture

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// Framework names an LLM server. New values may be added.
type Framework string

// The servers with a driver.
const (
	// FrameworkAuto asks [Run] and [Probe] to find out; see [Detect].
	FrameworkAuto       Framework = ""
	FrameworkSGLang     Framework = "sglang"
	FrameworkVLLM       Framework = "vllm"
	FrameworkTensorRT   Framework = "tensorrt-llm"
	FrameworkTokenSpeed Framework = "tokenspeed"
)

// Frameworks returns the servers with a driver, in the order the documentation
// lists them.
func Frameworks() []Framework {
	return []Framework{FrameworkSGLang, FrameworkVLLM, FrameworkTensorRT, FrameworkTokenSpeed}
}

// Title is the name as its makers write it.
func (f Framework) Title() string {
	switch f {
	case FrameworkSGLang:
		return "SGLang"
	case FrameworkVLLM:
		return "vLLM"
	case FrameworkTensorRT:
		return "TensorRT-LLM"
	case FrameworkTokenSpeed:
		return "TokenSpeed"
	case FrameworkAuto:
		return "auto"
	}
	return string(f)
}

// ParseFramework reads a framework's name as people write it: case, spaces and
// dashes do not matter, "trtllm" and "trt-llm" are TensorRT-LLM, and "" and
// "auto" are [FrameworkAuto].
func ParseFramework(s string) (Framework, error) {
	switch strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(s)) {
	case "", "auto":
		return FrameworkAuto, nil
	case "sglang", "sgl":
		return FrameworkSGLang, nil
	case "vllm":
		return FrameworkVLLM, nil
	case "tensorrtllm", "trtllm", "tensorrt", "trt":
		return FrameworkTensorRT, nil
	case "tokenspeed":
		return FrameworkTokenSpeed, nil
	}
	return "", fmt.Errorf("capture: unknown framework %q: want sglang, vllm, tensorrt-llm, tokenspeed or auto", s)
}

// pathHint looks for a framework's name in the parts of an output path, the
// last part first: people name folders after what they measure.
func pathHint(path string) Framework {
	parts := strings.Split(filepath.ToSlash(strings.ToLower(path)), "/")
	for i := len(parts) - 1; i >= 0; i-- {
		p := parts[i]
		switch {
		case strings.Contains(p, "sglang"):
			return FrameworkSGLang
		case strings.Contains(p, "tokenspeed"):
			return FrameworkTokenSpeed
		case strings.Contains(p, "trtllm"), strings.Contains(p, "trt-llm"), strings.Contains(p, "trt_llm"), strings.Contains(p, "tensorrt"):
			return FrameworkTensorRT
		case strings.Contains(p, "vllm"):
			return FrameworkVLLM
		}
	}
	return FrameworkAuto
}

// Detection says which server answers at a URL and how that was found out.
type Detection struct {
	// Framework is never FrameworkAuto.
	Framework Framework `json:"framework"`
	// Evidence is one sentence.
	Evidence string `json:"evidence"`
}

// Detect finds out which server answers at url. A framework named in outputDir
// decides (TensorRT-LLM cannot be told from vLLM by its routes); else
// /server_info with an SGLang key, else /readiness for TokenSpeed, else
// /v1/models for vLLM. It fails with a [*ServerError] when nothing answers.
func Detect(ctx context.Context, url, outputDir string, opts Options) (Detection, error) {
	opts.URL, opts.OutputDir = url, outputDir
	opts = opts.withDefaults()
	c, err := newClient(opts)
	if err != nil {
		return Detection{}, err
	}
	defer c.close()
	return detect(ctx, c, opts)
}

// detect is Detect on an open client.
func detect(ctx context.Context, c *client, opts Options) (Detection, error) {
	if f := pathHint(opts.OutputDir); f != FrameworkAuto {
		return Detection{f, fmt.Sprintf("the output path %s names it", opts.OutputDir)}, nil
	}
	doc, path, err := sglangInfo(ctx, c)
	if err == nil {
		for _, key := range []string{"internal_states", "tokenizer_path", "prefill", "decode"} {
			if _, ok := doc[key]; ok {
				return Detection{FrameworkSGLang, fmt.Sprintf("%s has %q", path, key)}, nil
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return Detection{}, err
	}
	// Nothing listening, or nothing answering: the other routes would only
	// repeat it, each with its own timeout.
	if unreachable(err) {
		return Detection{}, err
	}
	if _, err := c.get(ctx, "/readiness"); err == nil {
		return Detection{FrameworkTokenSpeed, "/readiness answers"}, nil
	} else if ctx.Err() != nil {
		return Detection{}, ctx.Err()
	}
	if _, err = c.get(ctx, "/v1/models"); err == nil {
		return Detection{FrameworkVLLM, "/v1/models answers, /server_info and /readiness do not"}, nil
	}
	return Detection{}, fmt.Errorf("capture: no known server at %s (tried /server_info, /readiness, /v1/models); name it with --framework: %w", c.base, err)
}
