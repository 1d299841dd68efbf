package nsysgen

import "time"

// GraphMode is what the export shows of CUDA graph replays.
type GraphMode int

// The modes, named after nsys profile --cuda-graph-trace.
const (
	GraphNode  GraphMode = iota // one kernel row per node, with the launch's correlation and a graphNodeId
	GraphWhole                  // one CUPTI_ACTIVITY_KIND_GRAPH_TRACE row per replay, no kernels
	GraphOff                    // generation steps launch kernel by kernel
)

// Op is one host operation of the executor loop, recorded as an NVTX range.
type Op struct {
	Name string        // the range's text
	Mean time.Duration // duration, varied by ±5%
}

// Config says what to generate. Start from [Default].
type Config struct {
	Seed         uint64 // of the durations
	Ranks        int    // processes, one GPU each
	Steps        int    // executor iterations
	ContextEvery int    // every n-th step has context requests; 0 for none
	Layers       int    // transformer layers; 7 kernels each, 2 of them all-reduces when Ranks > 1
	Graphs       GraphMode
	Ops          []Op // the loop's operations around the forward step
	Prep         Op   // the range inside the forward step before the first launch
	APISuffix    bool // write cudaLaunchKernel_v7000 rather than cudaLaunchKernel
	PlainText    bool // write NVTX names into text instead of textId
	SkipNVTX     bool
	SharedIDs    bool   // ranks count correlations from the same number, as real files do
	LocalDevices bool   // every rank calls its GPU device 0 and TARGET_INFO_CUDA_DEVICE separates them
	SyncEachStep bool   // end every step with cudaStreamSynchronize and its activity
	ExtraCalls   int    // further API calls before each launch call
	LayerRanges  int    // NVTX ranges per layer of an eager step
	Schema       string // EXPORT_SCHEMA_VERSION
}

// Default is a small two-rank run of 60 steps with 6 context steps.
func Default(seed uint64) Config {
	us := time.Microsecond
	return Config{
		Seed: seed, Ranks: 2, Steps: 60, ContextEvery: 10, Layers: 8, APISuffix: true, SharedIDs: true,
		Schema: "3.25.0",
		Prep:   Op{"_prepare_inputs", 350 * us},
		Ops: []Op{
			{"_fetch_new_requests", 36 * us}, {"_schedule", 120 * us}, {"prepare_resources", 190 * us},
			{"_sample_async", 700 * us}, {"_update_requests", 410 * us}, {"_handle_responses", 320 * us},
		},
	}
}

// Large is an eager run of about that many kernels, with two API calls for each
// and nearly one NVTX range for two, as busy servers have them: 5,000,000 give
// 10 M calls and 2.3 M ranges in 737 MB.
func Large(seed uint64, kernels int) Config {
	c := Default(seed)
	c.Graphs, c.Layers, c.ExtraCalls, c.LayerRanges = GraphOff, 40, 1, 3
	perStep := c.Ranks * c.Layers * len(layerKernels)
	c.Steps = max(1, (kernels+perStep-1)/perStep)
	return c
}

// Slow returns the configuration with an operation's mean multiplied by f.
func (c Config) Slow(op string, f float64) Config {
	ops := make([]Op, len(c.Ops))
	copy(ops, c.Ops)
	for i := range ops {
		if ops[i].Name == op {
			ops[i].Mean = time.Duration(float64(ops[i].Mean) * f)
		}
	}
	c.Ops = ops
	return c
}

// With returns the configuration with an operation added to the loop.
func (c Config) With(op Op) Config {
	c.Ops = append(append([]Op(nil), c.Ops...), op)
	return c
}
