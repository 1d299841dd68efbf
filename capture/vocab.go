package capture

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/vocabulary"
)

// Framework names a server that this package can profile.
type Framework string

// The frameworks. FrameworkAuto asks [Run] and [Probe] to find out.
const (
	FrameworkAuto       Framework = ""
	FrameworkSGLang     Framework = "sglang"
	FrameworkVLLM       Framework = "vllm"
	FrameworkTensorRT   Framework = "tensorrt-llm"
	FrameworkTokenSpeed Framework = "tokenspeed"
)

// Frameworks lists the frameworks in the order of the documentation.
func Frameworks() []Framework {
	return []Framework{FrameworkSGLang, FrameworkVLLM, FrameworkTensorRT, FrameworkTokenSpeed}
}

// Title is the name as its makers write it.
func (f Framework) Title() string {
	if k, ok := framework.ByName(framework.All(), string(f)); ok {
		return k.Name
	}
	return string(f)
}

// ParseFramework reads a name as people write it: "trtllm", "tllm" and "trt-llm" are TensorRT-LLM, "ts" is
// TokenSpeed; "" and "auto" are [FrameworkAuto].
func ParseFramework(s string) (Framework, error) {
	if t := strings.ToLower(strings.TrimSpace(s)); t == "" || t == "auto" {
		return FrameworkAuto, nil
	}
	if k, ok := framework.ByName(framework.All(), s); ok {
		if f := frameworkOf(k); f != FrameworkAuto {
			return f, nil
		}
	}
	return "", fmt.Errorf("capture: unknown framework %q: want sglang, vllm, tensorrt-llm, tokenspeed or auto", s)
}

// UnmarshalText is [ParseFramework].
func (f *Framework) UnmarshalText(text []byte) (err error) {
	*f, err = ParseFramework(string(text))
	return err
}

// frameworkOf is the framework of a registry entry, FrameworkAuto for one that cannot be profiled.
func frameworkOf(k framework.Framework) Framework {
	for _, f := range Frameworks() {
		if f.Title() == k.Name {
			return f
		}
	}
	return FrameworkAuto
}

// pathHint finds a framework's name in the parts of an output path, the last part first.
func pathHint(path string) Framework {
	if k, ok := framework.InPath(framework.All(), path); ok {
		return frameworkOf(k)
	}
	return FrameworkAuto
}

// Workload names the requests that are profiled. The zero value is [WorkloadBoth].
type Workload string

// The workloads. A trace that mixes the stages cannot be read per stage, so mixed prompts are never the default.
const (
	WorkloadBoth    Workload = "both" // prefill, then decode, each into its own folder
	WorkloadPrefill Workload = "prefill"
	WorkloadDecode  Workload = "decode"
	WorkloadLegacy  Workload = "legacy" // the probe prompt as it is, both stages in one trace
)

// UnmarshalText refuses unknown words; "" is [WorkloadBoth].
func (w *Workload) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*w = WorkloadBoth
		return nil
	}
	return vocabulary.Set(w, "workload", bytes.ToLower(text), WorkloadBoth, WorkloadPrefill, WorkloadDecode,
		WorkloadLegacy)
}

// stages are captured in this order.
func (w Workload) stages() []Stage {
	switch w {
	case WorkloadPrefill:
		return []Stage{StagePrefill}
	case WorkloadDecode:
		return []Stage{StageDecode}
	case WorkloadLegacy:
		return []Stage{StageLegacy}
	}
	return []Stage{StagePrefill, StageDecode}
}

// Stage names what a window holds. Prefill and decode are also names of folders; legacy has none of its own.
type Stage string

// The stages of a capture.
const (
	StagePrefill Stage = "prefill"
	StageDecode  Stage = "decode"
	StageLegacy  Stage = "legacy"
)

// UnmarshalText refuses unknown words.
func (s *Stage) UnmarshalText(text []byte) error {
	return vocabulary.Set(s, "stage", text, StagePrefill, StageDecode, StageLegacy)
}

// Verdict says whether a capture holds what was asked for.
type Verdict string

// The verdicts.
const (
	Valid     Verdict = "VALID"     // every deciding check passed
	Invalid   Verdict = "INVALID"   // a check failed
	Unchecked Verdict = "UNCHECKED" // nothing failed, and a deciding check is unknown or nobody looked
)

// UnmarshalText refuses unknown words; "" is of a stage that was cut off.
func (v *Verdict) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	return vocabulary.Set(v, "verdict", text, Valid, Unchecked, Invalid)
}

// Outcome is the result of one check.
type Outcome string

// The outcomes.
const (
	Pass    Outcome = "pass"
	Fail    Outcome = "fail"
	Unknown Outcome = "unknown"
)

// UnmarshalText refuses unknown words.
func (o *Outcome) UnmarshalText(text []byte) error {
	return vocabulary.Set(o, "outcome", text, Pass, Fail, Unknown)
}

// CheckName names a check.
type CheckName string

// The checks, in the order in which they are made.
const (
	CheckRanks  CheckName = "ranks"  // every expected rank left one complete file
	CheckRun    CheckName = "run"    // the files are of this run
	CheckStop   CheckName = "stop"   // the profiler was stopped
	CheckRead   CheckName = "read"   // the files can be read
	CheckGPU    CheckName = "gpu"    // they hold GPU work
	CheckSteps  CheckName = "steps"  // as many passes as asked
	CheckStages CheckName = "stages" // of the stage asked
	CheckCache  CheckName = "cache"  // prompts were computed, not remembered
)

// UnmarshalText refuses unknown words.
func (c *CheckName) UnmarshalText(text []byte) error {
	return vocabulary.Set(c, "check", text, CheckRanks, CheckRun, CheckStop, CheckRead, CheckGPU, CheckSteps,
		CheckStages, CheckCache)
}

// decides reports whether an unknown outcome keeps a capture from being VALID. Prompts are new by construction,
// so an unknown cache count does not.
func (c CheckName) decides() bool { return c != CheckCache }

// Role is what an engine of a deployment does.
type Role string

// The roles.
const (
	RoleAll     Role = ""        // both stages
	RolePrefill Role = "prefill" // the prefill half of a split deployment
	RoleDecode  Role = "decode"  // the decode half
)

// UnmarshalText reads a role as servers and routers write it: "null", "regular" and "plain" do both stages.
func (r *Role) UnmarshalText(text []byte) error {
	switch w := strings.ToLower(string(text)); w {
	case "null", "none", "regular", "plain":
		*r = RoleAll
		return nil
	default:
		return vocabulary.Set(r, "role", []byte(w), RoleAll, RolePrefill, RoleDecode)
	}
}

// runs reports whether an engine of the role runs the passes of a stage.
func (r Role) runs(s Stage) bool { return r == RoleAll || s == StageLegacy || string(r) == string(s) }
