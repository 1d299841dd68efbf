package layer

import (
	"slices"
	"time"
)

const (
	// wholeReplay is the share of a pass's kernels from which on it is the replay of one graph: inputs and sampling
	// are outside, a few of hundreds. Graphs in pieces leave attention and cache writes out, two kernels of ten to
	// fifteen in a layer.
	wholeReplay = 0.9
	// fewReplayed is up to which share a pass is launched one by one: parts of the sampling may be graphs.
	fewReplayed = 0.1
	// muchLonger is how many times the GPU time of its replays a pass has that does other work. The same work
	// launched one by one, as warm-ups are, takes the time of its replay within some percent. A prefill takes several
	// times as long: 87 ms that of a Llama-70B in a published list of traces, where a decode of the Llama-70B that
	// our own generator writes takes 17.8 ms.
	muchLonger = 2
)

// runsOf says which passes run the same.
type runsOf struct {
	model  string
	layers int
}

// A launchedPass is what is known of how a pass was launched.
type launchedPass struct {
	runsOf
	// kernels are all, replayed those of graph replays.
	kernels, replayed int
	// work is the GPU time of the layers.
	work time.Duration
	// generates says that the pass writes keys and values for later tokens, as only models that generate do.
	generates bool
	// known says that the stage is known, decodes that it is a decode.
	known, decodes bool
}

func (p *launchedPass) share() float64 { return float64(p.replayed) / float64(max(1, p.kernels)) }

// stagesByLaunches gives stages to the passes of a server that generates where those of one model, of equally many
// layers, show both ways to launch, and what is launched one by one takes far longer: SGLang, TensorRT-LLM and, by
// default, vLLM replay one graph for a complete pass of a decode only, and launch what is too large for a graph one by
// one. Such a prefill may hold decodes of other requests.
func stagesByLaunches(passes []launchedPass) []Stage {
	longest := map[runsOf]time.Duration{} // of the replays
	for i := range passes {
		if p := &passes[i]; p.generates && (!p.known || p.decodes) && p.share() >= wholeReplay {
			longest[p.runsOf] = max(longest[p.runsOf], p.work)
		}
	}
	out := slices.Repeat([]Stage{StageUnknown}, len(passes))
	contrast := map[runsOf]bool{}
	for i := range passes {
		p, d := &passes[i], longest[passes[i].runsOf]
		if !p.known && p.generates && d > 0 && p.share() <= fewReplayed && p.work >= muchLonger*d {
			out[i], contrast[p.runsOf] = StagePrefill, true
		}
	}
	for i := range passes {
		if p := &passes[i]; !p.known && p.generates && p.share() >= wholeReplay && contrast[p.runsOf] {
			out[i] = StageDecode
		}
	}
	return out
}
