package triage

import (
	"fmt"
	"strings"

	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/profile/hardware"
	"github.com/llmstrata/strata/trace"
)

// place is where a stage ran: the platform by its launches, else by the GPU, and the GPU's architecture.
func (s *stageWork) place() fusion.Setting {
	out := fusion.Setting{Platform: s.platform()}
	if g := s.gpu(); g != nil {
		out.Arch = g.Arch
		if out.Platform == "" {
			out.Platform = map[string]string{"nvidia": "cuda", "amd": "rocm"}[g.Vendor]
		}
	}
	return out
}

// gpu is the first one that is known, nil for none.
func (s *stageWork) gpu() *hardware.GPU {
	for _, w := range s.parts {
		for i := range w.Analysis.Devices {
			if g := roofline.GPUOf(&w.Analysis.Devices[i]); g != nil {
				return g
			}
		}
	}
	return nil
}

// suits reports whether a path exists at a place, as far as that is known.
func suits(at fusion.Setting, p *fusion.Pattern) bool {
	o, of, _ := fusion.Worst(p.Requires.Judge(&at))
	return o != fusion.Fails || of != fusion.OfPlatform
}

// setting is what is known of a stage at a place that paths depend on. Of its steps the smallest decides whether a
// path can be had at all.
func (a *analysis) setting(at fusion.Setting, tokens int64) *fusion.Setting {
	at.Model, at.TP, at.Exchanges = a.modelText(), a.report.TPSize, a.exchanges()
	at.Tokens, at.Hidden = tokens, a.hiddenSize()
	if len(a.in.Formal) == 1 && a.in.Formal[0].Config != nil {
		at.HeadDim = a.in.Formal[0].Config.HeadDim
	}
	return &at
}

// notHere begins the actions of paths that other platforms or models have.
const notHere = "Not available here: "

// state returns what can be done about an unfused chain, and how. certain reports that no condition is left open.
func (a *analysis) state(p *fusion.Pattern, at *fusion.Setting) (state FuseState, action string, certain bool) {
	server := serverKey(a.report.Framework)
	outcome, of, texts := fusion.Worst(p.Requires.Judge(at))
	why := strings.Join(texts, "; ")
	how := howTo(p)
	switch {
	case p.Origin == fusion.Inflight:
		return StateOpen, strings.Join(p.CandidatePaths, ", "), false
	case outcome == fusion.Fails && of == fusion.OfPlatform:
		return StateElsewhere, notHere + why, false
	case outcome == fusion.Fails && of == fusion.OfModel:
		return StateModel, notHere + why, false
	case outcome == fusion.Fails:
		return StateTooLarge, "Not available at this size: " + why, false
	case len(p.Requires.Models) > 0 && at.Model == "":
		return StateUnknown, "Pass --model NAME: only some models use it. " + how, false
	case server == "":
		names := make([]string, len(p.Frameworks))
		for i, f := range p.Frameworks {
			names[i] = nameOf(f)
		}
		return StateUnknown, "No server was recognised; " + table.Join(names, "and") + " " +
			table.Plural(len(names), "has", "have") + " it. " + how, false
	}
	if outcome == fusion.Unknown {
		how += " The trace does not show whether this holds: " + why + "."
	}
	certain = outcome == fusion.Holds && p.Limits == "" && !p.Doubtful
	switch {
	case p.Doubtful:
		return StateAvailable, how + " It was slower where it was measured.", false
	case p.Switch == "" && p.Default == fusion.DefaultUnknown:
		return StateUnknown, how, false
	}
	return StateAvailable, how, certain
}

// howTo says in sentences how a path is turned on, what it needs, and since when it exists.
func howTo(p *fusion.Pattern) string {
	how := "No switch is known."
	switch {
	case p.Switch != "" && p.Default == fusion.On:
		how = "On by default, but not in use here: update the server, or check " + p.Switch + "."
	case p.Switch != "":
		how = "Enable with " + p.Switch + "."
	case p.Default == fusion.On:
		how = "On by default, but not in use here: update the server, or check its conditions."
	}
	if p.Limits != "" {
		how += " Requires " + p.Limits + "."
	}
	if change, date, ok := strings.Cut(p.Since, " "); ok {
		how += fmt.Sprintf(" Added in %s (%s).", change, date)
	} else if change != "" {
		how += " Added in " + change + "."
	}
	return how
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
	out := Place{StartNS: at}
	if !k.Valid() || k.Place().Pass == trace.None {
		return out
	}
	out.Pass = finding.At(k.Place().Pass)
	// Of a pass whose layers are counted from the end, the number of a layer cannot be known.
	if k.Place().Layer != trace.None && !k.Device().Passes[*out.Pass].FromEnd {
		out.Layer = finding.At(k.Place().Layer)
	}
	return out
}

// wall is the time of the stage's steps over all devices, and how much of it is idle; where there are no passes, from
// the start of its first activity to the end of its last on each device.
func (s *stageWork) wall() (wall, idle int64) {
	if s.exposure.WallNS > 0 {
		return s.exposure.WallNS, s.exposure.IdleNS
	}
	for _, w := range s.parts {
		for _, acts := range w.OfDevice {
			var spans []interval.Span
			for i := range acts {
				if int(acts[i].Stage) == s.index {
					spans = append(spans, interval.Span{Start: acts[i].Start, End: acts[i].End})
				}
			}
			union := interval.UnionInPlace(spans)
			wall += interval.Hull(union).Len()
			idle += interval.Hull(union).Len() - interval.Total(union)
		}
	}
	return wall, idle
}
