package roofline

import (
	"cmp"
	"slices"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/profile/hardware"
)

// schema is the schema of a [Report] as JSON.
const schema = "strata.light/2"

// What limits an operator at its floor; "" where nothing is known to.
const (
	boundCompute string = "compute" // arithmetic
	boundMemory  string = "memory"  // weights and cache
	boundLink    string = "link"    // bytes between GPUs
	boundLatency string = "latency" // as short as this GPU's smallest kernels, or its fastest exchanges
	boundNone    string = ""        // nothing is known to limit it
)

// Report says what passes should take. It is a document: its JSON form is stable.
type Report struct {
	Schema string `json:"schema"` // name and version of the document
	Model  string `json:"model"`  // name of the model, "" unknown
	// Likely are public models that it may be, by sizes or by its path and layers, where the config is not known.
	Likely []string `json:"likely,omitempty"`
	// Assumed says that nobody named Model: it is the only known one with the sizes that the recording shows. Weights of
	// other types have other floors.
	Assumed bool `json:"model_assumed,omitempty"`
	// GPU is the table's row, nil where the GPU is not known: then there is work, and no floor. GPUWhy says how it
	// was found.
	GPU    *hardware.GPU `json:"gpu,omitempty"`
	GPUWhy string        `json:"gpu_from"`
	// TP and EP are the sizes that the model is divided by; 0, and absent in JSON, where the model is not known.
	TP int `json:"tp,omitempty"`
	EP int `json:"ep,omitempty"`
	// Passes are those of a trace, or the one of a plan.
	Passes []Pass `json:"passes"`
	// Operators are the rows of the pass that represents all, see Steady.
	Operators []Row `json:"operators"`
	// Steady is the index of the pass that Operators and Recoverable are of; −1 where there is none.
	Steady int `json:"steady_pass"`
	// Recoverable is all time of that pass above its floor or without one, the largest item first: the rows of its
	// waterfall that are no floor.
	Recoverable []Item `json:"recoverable"`
	// Findings are what is above its floor, what has none, and what makes floors doubtful.
	Findings []finding.Finding `json:"findings"`
	// Economy adds up the complete passes by stage and number of requests.
	Economy []Bucket `json:"economy"`
	// Collectives are the exchanges between GPUs by operator, over all passes; Ranks are those that were compared,
	// this one first, none where it is alone.
	Collectives []Collective `json:"collectives"`
	// WaitingBy says what separates waiting from transfer in Collectives; "" where nothing does.
	WaitingBy layer.WaitingBy  `json:"waiting_by"`
	Ranks     []layer.RankWait `json:"ranks"`
	// Notes are what the figures rest on, each once.
	Notes []string `json:"notes"`

	costs costs
	role  layer.Role          // of the model of the steady pass
	alone *profile.KnownModel // the only one with the recording's sizes, where the config is not known; nil for none
	// against is what recorded inputs and kernels say against the config.
	against []string
}

// ModelInWords names the model, and says where it is assumed; "" where it is not known.
func (r *Report) ModelInWords() string {
	if r.Assumed {
		return r.Model + " (assumed)"
	}
	return r.Model
}

// Basis is what the times of its passes are: steps, or the window where nothing separates passes.
func (r *Report) Basis() finding.Basis {
	if len(r.Passes) == 0 {
		return finding.OfWindow
	}
	return r.Passes[0].of
}

// newReport is one without passes: in JSON, its lists are empty.
func newReport() *Report {
	return &Report{Schema: schema, Passes: []Pass{}, Operators: []Row{}, Recoverable: []Item{},
		Findings: []finding.Finding{},
		Economy:  []Bucket{}, Collectives: []Collective{}, Ranks: []layer.RankWait{}, Notes: []string{}}
}

// Typical are passes that represent the others: the steady one first, then one for each other stage, that of median
// time among complete ones. The pointers are into Passes.
func (r *Report) Typical() []*Pass {
	var out []*Pass
	byStage := map[layer.Stage][]*Pass{}
	var stages []layer.Stage
	for i := range r.Passes {
		p := &r.Passes[i]
		if p.Index == r.Steady {
			out = append(out, p)
		}
		if p.partial {
			continue
		}
		if byStage[p.Stage] == nil {
			stages = append(stages, p.Stage)
		}
		byStage[p.Stage] = append(byStage[p.Stage], p)
	}
	slices.SortStableFunc(stages, func(a, b layer.Stage) int { return cmp.Compare(stageRank(a), stageRank(b)) })
	for _, s := range stages {
		all := byStage[s]
		if len(out) > 0 && out[0].Stage == s {
			continue
		}
		slices.SortStableFunc(all, func(a, b *Pass) int { return cmp.Compare(a.Wall, b.Wall) })
		out = append(out, all[(len(all)-1)/2])
	}
	return out
}

// Pass is one forward pass against its floor.
type Pass struct {
	Index  int         `json:"index"`  // place in the trace, from 0
	Stage  layer.Stage `json:"stage"`  // what the pass does
	Tokens int64       `json:"tokens"` // −1 unknown
	// TokensFrom is the tokens' source: "annotation", "grids", "shapes", "option", "rows" that kernels ran for,
	// padding included.
	TokensFrom string `json:"tokens_from"`
	Batch      int64  `json:"batch"` // requests; −1 unknown
	// Wall is from the pass's start to that of the next one where that follows; 0 in a plan.
	Wall time.Duration `json:"wall_ns"`
	// PerToken and PerRequest are Wall by Tokens and Batch; 0, and absent, where those are not known.
	PerToken   time.Duration `json:"per_token_ns,omitempty"`
	PerRequest time.Duration `json:"per_request_ns,omitempty"`
	// Rows are the rows that kernels ran, more than Tokens where a graph is padded; −1 unknown.
	Rows int64 `json:"rows"`
	// Floor is the sum over operators of the longer of arithmetic and memory time, without activations and
	// communication; Overlapped is the longer of both sums, which not even perfect overlap can beat. 0, and absent in
	// JSON, where none is known or it is withheld.
	Floor      time.Duration `json:"floor_ns,omitempty"`
	Overlapped time.Duration `json:"overlapped_floor_ns,omitempty"`
	// Covered is the share of the pass's GPU time that operators with a floor take; the rest has none, as if it could
	// take no time.
	Covered float64 `json:"with_floor_share_of_gpu_time"`
	// Basis says what Floor rests on; AtLeast that it leaves much out: tokens that Basis does not count, or operators
	// with more than a tenth of the GPU time.
	Basis   Basis `json:"floor_basis"`
	AtLeast bool  `json:"floor_at_least"`
	// Waterfall says where Wall goes; its times add up to it.
	Waterfall []Share `json:"waterfall"`

	partial    bool          // the window cuts it
	of         finding.Basis // a step, or the window
	generating int64         // requests that generate; −1 unknown
}

// Share is one row of a waterfall.
type Share struct {
	Name string        `json:"name"` // what the time is
	Time time.Duration `json:"ns"`   // time of the row; the rows add up to the pass
	// Note is a remark for the table.
	Note string `json:"note,omitempty"`
	// Kind is what sort of time it is.
	Kind ShareKind `json:"-"`

	group group // whose time it is, groups for that of none
}

// ShareKind is a sort of time in a waterfall.
type ShareKind uint8

// The kinds, by what can be said of the time.
const (
	NoFloor       ShareKind = iota // nothing says how much of it has to be
	Floor                          // has to be
	Above                          // more than has to be
	Communication                  // exchanges between GPUs that nothing hides
	Idle                           // the GPU does nothing
)

// Item is time that is no floor.
type Item struct {
	What string `json:"what"` // what the time is lost to
	// Kernel is the longest kernel of it, by its short name, Place how many kernels of how many layers; "" for idle
	// time.
	Kernel string        `json:"kernel,omitempty"`
	Place  string        `json:"place,omitempty"`
	Time   time.Duration `json:"ns"`
	Share  float64       `json:"share"` // of the pass's wall time
	Why    string        `json:"why"`
	// NoFloor says that nothing shows how much of Time has to be.
	NoFloor bool `json:"no_floor,omitempty"`

	kind  ShareKind
	group group
}

// AllLayers is the layer type of the row of what is counted for a pass as a whole: its copies.
const AllLayers = "whole pass"

// Row is one operator of one layer type: all its layers of one pass together.
type Row struct {
	LayerType string      `json:"layer_type"` // type of the layers
	Operator  string      `json:"operator"`   // part of the model that the kernels compute
	Stage     layer.Stage `json:"stage"`      // stage of the pass
	// Count is how many layers contain it, or 1 outside of layers.
	Count int `json:"count"`
	// Cost is the sum over Count; M, N, K are those of one product.
	Cost
	Time time.Duration `json:"time_ns"`
	// Kernels counts its kernels; Kernel is the short name of the longest one, Category its category.
	Kernels  int    `json:"kernels,omitempty"`
	Kernel   string `json:"kernel,omitempty"`
	Category string `json:"category,omitempty"`
	// TFLOPs and TBs are what GFLOP and Bytes come to at least: operations and bytes a second, in units of 10¹²; 0, and
	// absent, where those are not known.
	TFLOPs float64 `json:"tflop_s,omitempty"`
	TBs    float64 `json:"tb_s,omitempty"`
	// Note says what the floor rests on: an expectation, an upper bound, a cache.
	Note string `json:"note,omitempty"`
}

// floors of one operator's work on a GPU.
type floor struct {
	compute, memory, link, latency float64 // seconds; latency comes before link
	bound                          string
	known                          bool
}

// seconds is the floor itself.
func (f *floor) seconds() float64 { return max(f.compute, f.memory) }

// floorOf divides work by what the GPU can do. A doubtful figure gives no floor.
func floorOf(w *opWork, g *hardware.GPU) floor {
	if g == nil || !w.Known {
		return floor{}
	}
	f := timesOf(g, w.FLOP, w.DType, w.Weights+w.Cache)
	if link := g.LinkOf(w.Ranks); w.Link > 0 && link.Known() {
		f.link, f.latency, f.bound = w.Link/link.Value, g.Latency().Seconds(), boundLink
		if f.latency > f.link {
			f.bound = boundLatency
		}
	}
	f.known = f.bound != boundNone
	return f
}

// timesOf is how long arithmetic of a type takes, and bytes through the memory.
func timesOf(g *hardware.GPU, flop float64, dtype string, bytes float64) (f floor) {
	if peak := peakOf(g, dtype); peak.Known() {
		f.compute = flop / peak.Value
	}
	if g.Bandwidth.Known() {
		f.memory = bytes / g.Bandwidth.Value
	}
	switch {
	case f.compute > f.memory:
		f.bound = boundCompute
	case f.memory > 0:
		f.bound = boundMemory
	}
	f.known = f.bound != boundNone
	return f
}

// peakOf is the peak of a data type, or of the next wider one where the GPU does not compute with it. Single precision
// may be computed as TF32: neither a config nor recorded inputs say so.
func peakOf(g *hardware.GPU, dtype string) hardware.Figure {
	const single = string(classify.DTypeFP32)
	if p := g.FLOP["tf32"]; dtype == single && p.Known() && p.Value > g.FLOP[single].Value {
		return p
	}
	for ; dtype != ""; dtype = wider[dtype] {
		if p := g.FLOP[dtype]; p.Value > 0 {
			return p
		}
	}
	return hardware.Figure{}
}

// wider is the type that replaces one that a GPU does not compute with.
var wider = map[string]string{"fp4": "fp8", "fp6": "fp8", "fp8": "bf16", "int8": "bf16", "bf16": "fp16", "tf32": "fp32"}

// duration rounds seconds to nanoseconds.
func duration(seconds float64) time.Duration { return time.Duration(seconds*1e9 + 0.5) }
