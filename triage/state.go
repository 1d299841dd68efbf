package triage

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile/hardware"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage/internal/chain"
)

// place is where a stage ran.
type place struct {
	platform string // "cuda", "rocm", "" unknown
	arch     string // "sm90", "cdna3", "" unknown
}

// place tells the platform from the launches and the architecture from the GPU's
// name.
func (s *stageWork) place() place {
	out := place{platform: s.platform()}
	for _, w := range s.parts {
		for i := range w.Analysis.Devices {
			g, ok := hardware.Named(hardware.Table(), w.Analysis.Devices[i].GPU)
			if !ok {
				continue
			}
			out.arch = g.Arch
			if out.platform == "" {
				out.platform = map[string]string{"nvidia": "cuda", "amd": "rocm"}[g.Vendor]
			}
			return out
		}
	}
	return out
}

// suits reports whether a path exists at the place, as far as that is known.
func (at place) suits(p *fusion.Pattern) bool {
	if at.platform != "" && len(p.Platforms) > 0 && !slices.Contains(p.Platforms, at.platform) {
		return false
	}
	return at.arch == "" || len(p.Archs) == 0 || slices.ContainsFunc(p.Archs, func(a string) bool {
		stem, any := strings.CutSuffix(a, "*")
		return a == at.arch || any && strings.HasPrefix(at.arch, stem)
	})
}

// known reports whether enough is known of the place to say that a path exists.
func (at place) known(p *fusion.Pattern) bool {
	return (len(p.Platforms) == 0 || at.platform != "") && (len(p.Archs) == 0 || at.arch != "")
}

// state says what can be done about a chain that is not fused, and how.
func (a *analysis) state(p *fusion.Pattern, at place, gain, tokens int64) (state, action string) {
	since := ""
	if p.Since != "" {
		since = " (since " + p.Since + ")"
	}
	limits := ""
	if p.Limits != "" {
		limits = "; it asks for: " + p.Limits
	}
	server := serverKey(a.report.Framework)
	switch {
	case p.Origin == fusion.OriginInflight:
		return stateOpen, strings.Join(p.CandidatePaths, ", ")
	case !at.suits(p):
		return stateElsewhere, "exists on " + strings.Join(append(slices.Clone(p.Platforms), p.Archs...), ", ") + " only"
	case len(p.Models) > 0 && a.modelText() != "" && !a.hasPath(p):
		return stateModel, "the code of this model does not have it" + limits
	case len(p.Models) > 0 && !a.hasPath(p):
		return stateUnknown, "the model is not known, and only that of some has it (--model says which it is): " + howTo(p) + since + limits
	case server == "" && !p.AnyServer:
		names := make([]string, len(p.Frameworks))
		for i, f := range p.Frameworks {
			names[i] = nameOf(f)
		}
		return stateUnknown, "no server was recognised; " + strings.Join(names, ", ") + " has it: " + howTo(p) + since + limits
	case gain == 0:
		if tokens == chain.NoTokens {
			return stateTooLarge, fmt.Sprintf("not taken with %d ranks on this GPU", a.report.TPSize)
		}
		return stateTooLarge, fmt.Sprintf("taken up to %d tokens a step, and these steps have more", tokens)
	case p.Doubtful:
		return stateAvailable, howTo(p) + since + "; it was slower where it was measured" + limits
	case p.Switch == "" && p.Default == "":
		return stateUnknown, "whether and how it is turned on is not known" + since + limits
	}
	return stateAvailable, howTo(p) + since + limits
}

// hasPath reports whether the model's code has a path that only some models have.
func (a *analysis) hasPath(p *fusion.Pattern) bool {
	model := strings.ToLower(a.modelText())
	return slices.ContainsFunc(p.Models, func(w string) bool { return strings.Contains(model, w) })
}

// howTo says how a path is turned on.
func howTo(p *fusion.Pattern) string {
	switch {
	case p.Switch != "" && p.Default == "on":
		return "on by default, or use " + p.Switch
	case p.Switch != "":
		return "use " + p.Switch
	case p.Default == "on":
		return "on by default: the version is older, or a limit is not kept"
	}
	return "no switch is known"
}

// collectiveBytes is the size of an element of what ranks exchange: activations are of 16 bits.
const collectiveBytes = 2

// maxTokens is the size of a step above which a path is not taken: its own limit, or that of what one collective exchanges,
// which is a row of the hidden size for each token; 0 for any size, [chain.NoTokens] for none.
func (a *analysis) maxTokens(p *fusion.Pattern, at place) int64 {
	sizes, ranks := p.MaxMB[at.arch], a.report.TPSize
	hidden := a.hiddenSize()
	if len(sizes) == 0 || ranks == 0 || hidden == 0 {
		return p.MaxTokens
	}
	mb, ok := sizes[strconv.Itoa(ranks)]
	if !ok {
		return chain.NoTokens
	}
	n := max(1, int64(mb*(1<<20))/int64(hidden*collectiveBytes))
	if p.MaxTokens > 0 {
		n = min(n, p.MaxTokens)
	}
	return n
}

// hiddenSize is that of the model's config, 0 where none is known or traces have several.
func (a *analysis) hiddenSize() (n int) {
	for i, in := range a.in.Formal {
		if in.Config == nil || i > 0 && n != in.Config.HiddenSize {
			return 0
		}
		n = in.Config.HiddenSize
	}
	return n
}

// placeOf is where a kernel is that runs at some time.
func placeOf(k layer.Kernel, at trace.Time) Place {
	out := Place{Pass: trace.None, Layer: trace.None, StartNS: at}
	if k.Valid() {
		out.Pass, out.Layer = k.Place().Pass, k.Place().Layer
		if out.Pass != trace.None && k.Device().Passes[out.Pass].FromEnd {
			out.Layer = trace.None // which one it is cannot be known
		}
	}
	return out
}

// firstPlace is where an occurrence begins.
func firstPlace(o chain.Occurrence) *Place {
	at := placeOf(o.Kernel(), trace.Time(o.Trace.Acts[o.Members()[0]].Start))
	return &at
}

// wall is the time of the stage's steps over all devices, and how much of it is idle; where there are no passes, from the
// start of its first activity to the end of its last on each device.
func (s *stageWork) wall() (wall, idle int64) {
	if s.exposure.WallNS > 0 {
		return s.exposure.WallNS, s.exposure.IdleNS
	}
	for _, w := range s.parts {
		for _, spans := range w.Spans(s.index) {
			union := interval.UnionInPlace(spans)
			wall += interval.Hull(union).Len()
			idle += interval.Hull(union).Len() - interval.Total(union)
		}
	}
	return wall, idle
}
