package gen

import (
	"cmp"
	"fmt"
)

// Vendor selects the kernel names, API names and device of a trace.
type Vendor uint8

// The vendors.
const (
	NVIDIA Vendor = iota // H100-like: nvjet, flashinfer, ncclDevKernel, cudaLaunchKernel
	AMD                  // MI300X-like: Cijk, aiter, ck_tile, hipLaunchKernel, stream ids from 0
)

// Mixer is what mixes tokens in a layer.
type Mixer uint8

// The mixers.
const (
	FullAttention    Mixer = iota // over the whole context
	SlidingAttention              // over a window: the same kernels, shorter
	Mamba                         // state space: convolution and scan kernels
)

// FFN is the feed-forward part of a layer.
type FFN uint8

// The feed-forward parts.
const (
	Dense FFN = iota // gate/up, activation, down
	MoE              // router, expert sort, two grouped GEMMs
	NoFFN            // none, as in the mixer layers of some hybrid models
)

// Layer says what one decoder layer consists of.
type Layer struct {
	// Mixer mixes tokens.
	Mixer Mixer
	// FFN follows it.
	FFN FFN
}

// Arch is the shape of a model.
type Arch struct {
	// Family is the prefix of the module classes: "Qwen2Moe" gives
	// Qwen2MoeForCausalLM, Qwen2MoeDecoderLayer and so on.
	Family string
	// Layers lists the decoder layers in order.
	Layers []Layer
	// Hidden is the hidden size, Vocab the vocabulary; both appear in the
	// shapes of CPU ops and scale the durations.
	Hidden, Vocab int
	// Experts is how many experts a MoE layer has.
	Experts int
	// QKNorm adds a norm of queries and keys after their projection.
	QKNorm bool
	// SharedExperts adds a shared expert to MoE layers, on a side stream.
	SharedExperts bool
	// PredictionHead runs a product, an activation and a norm between the last layer
	// and the product with the vocabulary, as models for masked tokens do.
	PredictionHead bool
	// SplitK makes the output projection of some layers (every third, by
	// index) a split-K GEMM with a reduction kernel, so that units differ in
	// length.
	SplitK bool
	// TileVariants lets the GEMMs of a layer take one of several tile shapes,
	// by layer, so that the same unit has other names in other layers.
	TileVariants bool
}

// Uniform returns n equal layers.
func Uniform(n int, l Layer) []Layer {
	out := make([]Layer, n)
	for i := range out {
		out[i] = l
	}
	return out
}

// LeadingDense returns n layers whose first k are dense and the others
// have experts.
func LeadingDense(n, k int) []Layer {
	out := Uniform(n, Layer{FFN: MoE})
	for i := range min(k, n) {
		out[i].FFN = Dense
	}
	return out
}

// Alternating returns n layers with sliding and full attention in turns,
// sliding first.
func Alternating(n int, ffn FFN) []Layer {
	out := Uniform(n, Layer{FFN: ffn})
	for i := 0; i < n; i += 2 {
		out[i].Mixer = SlidingAttention
	}
	return out
}

// Hybrid returns n layers whose every period-th, counted from 1, has
// attention and the others a state-space mixer.
func Hybrid(n, period int, ffn FFN) []Layer {
	out := Uniform(n, Layer{Mixer: Mamba, FFN: ffn})
	for i := range out {
		if (i+1)%period == 0 {
			out[i].Mixer = FullAttention
		}
	}
	return out
}

// Mode is how a pass is launched.
type Mode uint8

// The modes.
const (
	Eager     Mode = iota // every kernel has a launch call of its own
	FullGraph             // one graph launch for the whole model
	Piecewise             // one graph between two attention ops, attention eager
)

// Overlap is how a pass runs its requests in two halves, each on a stream of
// its own, so that one computes while the other communicates.
type Overlap uint8

// The overlaps.
const (
	NoOverlap Overlap = iota
	Aligned           // both halves pass through attention, then both through the feed-forward part
	Shifted           // the second half is half a layer behind
)

// Pass is one forward pass. At least one of its requests must be set, unless it
// is idle.
type Pass struct {
	// Mode is how it is launched.
	Mode Mode
	// Overlap runs two halves of the batch beside each other. Not with
	// Piecewise and not with shared experts, which use the second stream.
	Overlap Overlap
	// Idle is a pass without requests, which a rank of a data-parallel group
	// runs so that the others' collectives complete: everything but attention.
	Idle bool
	// Prefills is how many requests are in their context phase, Tokens how
	// many tokens these have in all.
	Prefills, Tokens int
	// Decodes is how many requests generate one token each, Context their
	// mean context length.
	Decodes, Context int
}

// The stages of a pass.
const (
	idle    = "idle"
	mixed   = "mixed"
	prefill = "prefill"
	decode  = "decode"
)

// Stage returns "prefill", "decode", "mixed" or "idle".
func (p Pass) Stage() string {
	switch {
	case p.Idle:
		return idle
	case p.Prefills > 0 && p.Decodes > 0:
		return mixed
	case p.Prefills > 0:
		return prefill
	}
	return decode
}

// tokens returns how many rows go through the model.
func (p Pass) tokens() int {
	if p.Idle {
		return 1 // padding
	}
	return p.Tokens + p.Decodes
}

// Dialect is how steps are annotated.
type Dialect uint8

// The dialects.
const (
	NoAnnotations Dialect = iota
	SGLang                // step[EXTEND bs=1 toks=512], step[DECODE bs=8]
	VLLM                  // execute_8_context_0(sq…)_generation_8(sq…)
	TensorRTLLM           // [Executor] _forward_step 12: 3 ctx reqs, 5 gen reqs
	ProfilerStep          // ProfilerStep#12
)

// Config describes a trace. Its zero value is not valid; Arch.Layers and
// Passes are needed.
type Config struct {
	// Seed selects the jitter of durations.
	Seed uint64
	// Vendor selects names and device.
	Vendor Vendor
	// Arch is the model.
	Arch Arch
	// Passes are run in order.
	Passes []Pass
	// Size, when positive, repeats the passes until this many bytes are
	// written, then ends the trace properly after the pass in progress.
	Size int64
	// Dialect annotates the steps.
	Dialect Dialect
	// Stacks records Python frames, Modules the nn.Module frames among them.
	Stacks, Modules bool
	// ExtraFrames adds that many short frames around every eager launch, as
	// dispatchers and wrappers do: 80 gives the share of Python frames that
	// real serving traces have (about 90% of events).
	ExtraFrames int
	// NoShapes leaves "Input Dims" of CPU ops out.
	NoShapes bool
	// NoFlows leaves the ac2g flow events out.
	NoFlows bool
	// GraphIDs writes "graph id" and "graph node id", as newer Kineto does.
	GraphIDs bool
	// TP is the tensor-parallel size: from 2 on, all-reduce kernels follow
	// attention and the feed-forward part. Rank is this process's.
	TP, Rank int
	// SampleOutside puts sampling after the step's annotation, as SGLang
	// does: its activities then belong to no pass.
	SampleOutside bool
	// Orphans leaves out the launch calls of the first so many activities,
	// as a window that opens late does.
	Orphans int
	// CutAtEnd ends the window in the middle of the last pass: only that
	// share of its activities is recorded, 0 for all. Not used with Size.
	CutAtEnd float64
	// OneBlock writes all CPU events of the whole trace before its GPU events,
	// as Kineto does, and so needs memory for all of it. Otherwise the order
	// holds within each pass.
	OneBlock bool
	// Fault makes each pass slower.
	Fault Fault
	gpus  int // GPUs that the file declares where these are more than TP
	// Truth, when set, gets every GPU activity in the order of the
	// file.
	Truth func(Truth)
}

// Truth is what is known about one GPU activity.
type Truth struct {
	// Start is the raw timestamp in ns as the file has it (ts × 1000), Duration
	// is in ns.
	Start, Duration int64
	// Device and Stream are where it ran.
	Device, Stream int
	// Kind is kernel, memcpy or memset.
	Kind string
	// Name is the recorded name.
	Name string
	// Pass is the index of the pass, −1 outside any.
	Pass int
	// Layer is the decoder layer, −1 outside any.
	Layer int
	// Half is attn or ffn within a layer, "" outside.
	Half string
	// Stage is prefill, decode, mixed or idle, "" outside any pass.
	Stage string
	// Category is the triage category; where a careful reader would accept
	// several, they are joined by "|", the best one first.
	Category string
	// Graph marks a kernel of a graph replay.
	Graph bool
	// Grid is the number of blocks of a kernel, all along one axis; 0 where the
	// file gives none.
	Grid int
	// Operator is the part of the model it computes, by package opname; where a
	// careful reader would accept several, they are joined by "|". "" outside the
	// model.
	Operator string
}

// validate checks a Config.
func (c *Config) validate() error {
	switch {
	case len(c.Arch.Layers) == 0:
		return fmt.Errorf("gen: no layers")
	case len(c.Passes) == 0:
		return fmt.Errorf("gen: no passes")
	case c.CutAtEnd < 0 || c.CutAtEnd >= 1:
		return fmt.Errorf("gen: CutAtEnd %v: want 0 ≤ share < 1", c.CutAtEnd)
	case c.OneBlock && c.Size > 0:
		return fmt.Errorf("gen: OneBlock keeps the whole trace in memory and so goes without Size")
	}
	for i, p := range c.Passes {
		if p.Idle != (p.Prefills+p.Decodes == 0) || p.Prefills < 0 || p.Decodes < 0 || p.Tokens < p.Prefills {
			return fmt.Errorf("gen: pass %d: %d prefills with %d tokens, %d decodes", i, p.Prefills, p.Tokens,
				p.Decodes)
		}
		if p.Overlap != NoOverlap && (p.Mode == Piecewise || c.Arch.SharedExperts) {
			return fmt.Errorf("gen: pass %d: overlap goes without piecewise graphs and shared experts", i)
		}
	}
	return nil
}

// withDefaults fills what may be left zero.
func (c Config) withDefaults() Config {
	c.Arch.Family = cmp.Or(c.Arch.Family, "Llama")
	c.Arch.Hidden = cmp.Or(c.Arch.Hidden, 2048)
	c.Arch.Vocab = cmp.Or(c.Arch.Vocab, 32000)
	c.Arch.Experts = cmp.Or(c.Arch.Experts, 32)
	c.TP = cmp.Or(c.TP, 1)
	return c
}
