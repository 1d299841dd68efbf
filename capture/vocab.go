package capture

import (
	"bytes"
	"fmt"
	"slices"
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

// known is what the registry says of the framework.
func (f Framework) known() framework.Framework {
	k, ok := framework.ByName(framework.All(), string(f))
	if !ok {
		k.Name = string(f)
	}
	return k
}

// Title is the name as its makers write it.
func (f Framework) Title() string { return f.known().Name }

// wordAuto is how people write [FrameworkAuto].
const wordAuto = "auto"

// ParseFramework reads a name as people write it: "trtllm", "tllm" and "trt-llm" are TensorRT-LLM, "ts" is
// TokenSpeed; "" and "auto" are [FrameworkAuto].
func ParseFramework(s string) (Framework, error) {
	if t := strings.ToLower(strings.TrimSpace(s)); t == "" || t == wordAuto {
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
	all := Frameworks()
	if i := slices.IndexFunc(all, func(f Framework) bool { return f.Title() == k.Name }); i >= 0 {
		return all[i]
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
	if w == WorkloadBoth {
		return []Stage{StagePrefill, StageDecode}
	}
	return []Stage{Stage(w)}
}

// Stage names what a window holds. Prefill and decode are also names of folders; legacy has none of its own.
type Stage string

// The stages of a capture.
const (
	StagePrefill Stage = "prefill"
	StageDecode  Stage = "decode"
	StageLegacy  Stage = "legacy"
)

// Verdict says whether a capture holds what was asked for; "" is of a stage that was cut off.
type Verdict string

// The verdicts.
const (
	Valid     Verdict = "VALID"     // every deciding check passed
	Invalid   Verdict = "INVALID"   // a check failed
	Unchecked Verdict = "UNCHECKED" // nothing failed, and a deciding check is unknown or nobody looked
)

// Outcome is the result of one check.
type Outcome string

// The outcomes.
const (
	Pass    Outcome = "pass"
	Fail    Outcome = "fail"
	Unknown Outcome = "unknown"
)

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

// UnmarshalText reads a role as servers and routers write it. Any other word, such as "null", "regular" and "plain",
// is of an engine that does both stages.
func (r *Role) UnmarshalText(text []byte) error {
	if *r = Role(bytes.ToLower(text)); *r != RolePrefill && *r != RoleDecode {
		*r = RoleAll
	}
	return nil
}

// runs reports whether an engine of the role runs the passes of a stage.
func (r Role) runs(s Stage) bool { return r == RoleAll || s == StageLegacy || string(r) == string(s) }
