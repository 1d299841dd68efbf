package launches

import "time"

const (
	// WholeReplay is the share of a pass's kernels from which on it is the replay of one graph: inputs and sampling
	// are outside, a few of hundreds. Graphs in pieces leave attention and cache writes out, two kernels of ten to
	// fifteen in a layer.
	WholeReplay = 0.9
	// FewReplayed is up to which share a pass is launched one by one: parts of the sampling may be graphs.
	FewReplayed = 0.1
	// MuchLonger is how many times the GPU time of its replays a pass has that does other work. The same work
	// launched one by one, as warm-ups are, takes the time of its replay within some percent. A prefill takes several
	// times as long: 87 ms that of a Llama-70B in a published list of traces, where a decode of the Llama-70B that
	// our own generator writes takes 17.8 ms.
	MuchLonger = 2
)

// Pass is what the rule looks at.
type Pass struct {
	// Model and Layers say which passes run the same.
	Model  string
	Layers int
	// Kernels are all, Replayed those of graph replays.
	Kernels, Replayed int
	// Work is the GPU time of the layers.
	Work time.Duration
	// Generates says that the pass writes keys and values for later tokens, as only models that generate do.
	Generates bool
	// Known says that the stage is known, Decodes that it is a decode.
	Known, Decodes bool
}

// Stage is what the rule says of a pass.
type Stage uint8

// The stages.
const (
	Unknown Stage = iota
	Decode
	Prefill // decodes of other requests perhaps among it
)

func (p *Pass) share() float64 { return float64(p.Replayed) / float64(max(1, p.Kernels)) }

// Stages gives stages to the passes of a server that generates where those of one model, of equally many layers, show
// both ways to launch, and what is launched one by one takes far longer.
func Stages(passes []Pass) []Stage {
	type shape struct {
		model  string
		layers int
	}
	longest := map[shape]time.Duration{} // of the replays
	for i := range passes {
		if p := &passes[i]; p.Generates && (!p.Known || p.Decodes) && p.share() >= WholeReplay {
			key := shape{p.Model, p.Layers}
			longest[key] = max(longest[key], p.Work)
		}
	}
	out := make([]Stage, len(passes))
	contrast := map[shape]bool{}
	for i := range passes {
		p, key := &passes[i], shape{passes[i].Model, passes[i].Layers}
		if d := longest[key]; !p.Known && p.Generates && d > 0 && p.share() <= FewReplayed && p.Work >= MuchLonger*d {
			out[i], contrast[key] = Prefill, true
		}
	}
	for i := range passes {
		if p := &passes[i]; !p.Known && p.Generates && p.share() >= WholeReplay && contrast[shape{p.Model, p.Layers}] {
			out[i] = Decode
		}
	}
	return out
}
