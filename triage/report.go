package triage

import (
	"cmp"
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage/internal/activity"
	"github.com/llmstrata/strata/triage/internal/chain"
)

// stageOrder are the stages in the order of a report.
var stageOrder = activity.Order

// stageWord is what documents and tables of this package call a stage: the word of the published script.
func stageWord(s layer.Stage) string { return s.Info().Published }

// Modes of a report.
const (
	modeSingle        = "single-trace"
	modeMappingFormal = "mapping-formal"
)

// Report is the result of [Analyze]. All times are in microseconds and all
// shares in percent of the stage's GPU time, as their names say. Slices are in
// the order in which they are printed.
type Report struct {
	Schema           string   `json:"schema"`                      // "strata.triage/2"
	Mode             string   `json:"mode"`                        // "single-trace" or "mapping-formal"
	Capture          *Capture `json:"capture,omitempty"`           // of traces from a live capture
	Framework        string   `json:"framework"`                   // serving framework, "" unknown
	MappingFramework string   `json:"mapping_framework,omitempty"` // only in two-trace mode
	Traces           []string `json:"traces"`                      // formal traces as given
	MappingTraces    []string `json:"mapping_traces,omitempty"`    // traces without graphs, as given
	// MappingRefused says why the mapping traces do not apply to a formal one: they are of another model or GPU. ""
	// where they are used, which [layer.Options.ForceMapping] also asks for.
	MappingRefused string        `json:"mapping_refused,omitempty"`
	Model          string        `json:"model,omitempty"`
	TPSize         int           `json:"tp_size,omitempty"` // 0 when unknown
	Health         []HealthNote  `json:"health"`            // worst first
	Stages         []StageReport `json:"stages"`
	// Findings are exposed communication, fused paths that are not used, and the largest operators, of all stages.
	Findings []finding.Finding `json:"findings"`
	Summary  string            `json:"summary"`

	// MinSharePct is the bar below which rows are left out of the tables.
	MinSharePct float64 `json:"min_share_pct"`

	from *analysis // nil for a report that was not made by Analyze
}

// Capture says whether traces of a live capture hold what was asked for.
type Capture struct {
	Validity string   `json:"validity"` // "VALID", "UNCHECKED" or "INVALID"
	Why      []string `json:"why"`      // what did not pass, with what to change; empty where VALID
	Facts    []string `json:"facts"`    // what was run, on what
}

// HealthNote is the health of one input trace, restricted to findings that
// touch the numbers of this report.
type HealthNote struct {
	Trace    string             `json:"trace"`              // file
	Status   trace.HealthStatus `json:"status"`             // health of the trace
	Findings []trace.Remark     `json:"findings,omitempty"` // what is wrong with the trace
}

// StageReport holds the three tables of one stage.
type StageReport struct {
	// "extend" (prefill), "decode", "mixed", "capture", "all" (unknown, or outside any step)
	Stage string `json:"stage"`
	// PassStage is the same in the words of package layer: "prefill" for "extend", "unknown" for "all".
	PassStage layer.Stage `json:"pass_stage"`
	GPUTimeUS float64     `json:"gpu_time_us"` // sum over all launches; streams that overlap count twice
	BusyUS    float64     `json:"busy_us"`     // of SpanUS, something runs
	// SpanUS is the time of the stage's steps, added over devices; first start to
	// last end where there are no passes.
	SpanUS float64 `json:"span_us"`
	// Outside are the launches in no pass and their time: warm-up, housekeeping,
	// strays far from any step. They count in the times above.
	Outside   int    `json:"outside"`
	OutsideNS int64  `json:"outside_ns"`
	Stray     string `json:"stray,omitempty"` // the first of them, and its label
	// StrayLabel is the short name of Stray.
	StrayLabel string `json:"stray_label,omitempty"`
	// IdlePct is the share of SpanUS in which nothing runs on the device.
	IdlePct  float64 `json:"idle_pct"`
	Launches int     `json:"launches"`
	Devices  int     `json:"devices"`         // GPUs whose work is counted
	Steps    int     `json:"steps,omitempty"` // annotated steps seen; 0 when unknown
	Batch    int     `json:"batch,omitempty"` // batch size of the steps where all agree; 0 otherwise

	// StepNS is the mean time of a complete step, up to the next one, TokenNS that of the steps per token that they
	// process; 0 where not known.
	StepNS  int64 `json:"step_ns"`
	TokenNS int64 `json:"token_ns"`

	// ReplaySources say how the lines of replayed launches were found: From of each way, "" of none, and the share of
	// the time of those launches, most first. Empty where nothing was replayed.
	ReplaySources []Location `json:"replay_sources"`

	// UnresolvedPct is the percentage of GPU time for which no source line is known, UnresolvedFix what would give it
	// one.
	UnresolvedPct float64 `json:"unresolved_pct"`
	UnresolvedFix string  `json:"unresolved_fix"`

	Kernels    []KernelRow   `json:"kernels"`     // kernels by time, those below the bar too
	HiddenRows int           `json:"hidden_rows"` // kernel rows beyond the limit
	Operators  []OperatorRow `json:"operators"`   // all kernels, by time; empty where no operator is known
	Categories []Share       `json:"categories"`  // all kernels, by time
	Exposure   *Exposure     `json:"exposure"`    // how much of each category nothing hides; null without steps
	Overlap    []OverlapRow  `json:"overlap"`     // communication that compute could hide
	// OverlapNote says how far to trust the overlap table, or why it is empty.
	OverlapNote string    `json:"overlap_note"`
	Fuse        []FuseRow `json:"fuse"`
	// Slow are products that take a slow path, as their names show.
	Slow []SlowRow `json:"slow"`
}

// KernelRow is all launches of one canonical kernel name in a stage.
type KernelRow struct {
	Kernel      string            `json:"kernel"`                // canonical name
	Label       string            `json:"label"`                 // short, and of this kernel only in the report
	Category    classify.Category `json:"category"`              // category of the kernels, see docs/categories.md
	Subcategory string            `json:"subcategory,omitempty"` // finer class within the category, "" for none
	Rule        string            `json:"rule"`                  // id of the classifier rule that matched
	GPUTimeUS   float64           `json:"gpu_time_us"`           // sum over all launches
	GPUTimeNS   int64             `json:"gpu_time_ns"`           // the same
	SharePct    float64           `json:"share_pct"`             // percent of the stage's GPU time
	Launches    int               `json:"launches"`              // number of launches
	Operators   []OperatorRow     `json:"operators"`             // the operators that the kernel works for, by time
	Locations   []Location        `json:"locations"`             // the innermost lines, by time, at most two
	ModelLines  []Location        `json:"model_lines"`           // the lines of the model, likewise, as far as known
	CPUOps      []string          `json:"cpu_ops"`               // the most common op of each location
	Replayed    int               `json:"replayed,omitempty"`    // launches that came from a graph
	// ReplayedAt is the line that replays the graph, which is not where the
	// kernel comes from.
	ReplayedAt string `json:"replayed_at,omitempty"`
}

// Operator is what the row's kernel works for: one operator, several joined by ", ", "-" where none is known.
func (k *KernelRow) Operator() string {
	var out []string
	for _, o := range k.Operators {
		if o.Operator != activity.NoOperator {
			out = append(out, o.Operator)
		}
	}
	return cmp.Or(strings.Join(out, ", "), table.None)
}

// ByOperator returns the kernel rows with one for each operator that a kernel works for, by time.
func (s *StageReport) ByOperator() []KernelRow {
	out := make([]KernelRow, 0, len(s.Kernels))
	for _, k := range s.Kernels {
		if len(k.Operators) < 2 {
			out = append(out, k)
			continue
		}
		for _, o := range k.Operators {
			part := k
			part.Operators = []OperatorRow{o}
			part.GPUTimeUS, part.GPUTimeNS, part.SharePct, part.Launches = micros(o.GPUTimeNS), o.GPUTimeNS, o.SharePct,
				o.Launches
			part.Locations, part.ModelLines, part.CPUOps = o.Locations, o.ModelLines, o.CPUOps
			out = append(out, part)
		}
	}
	slices.SortStableFunc(out, func(a, b KernelRow) int { return cmp.Compare(b.GPUTimeUS, a.GPUTimeUS) })
	return out
}

// OperatorRow is the work for one operator of the model: that of one kernel, or of all.
type OperatorRow struct {
	Operator   string  `json:"operator"`    // "qkv_proj", see [layer.Kernel.Operator]; "other" where none is known
	Confidence float64 `json:"confidence"`  // the least of its launches, 0…1
	GPUTimeNS  int64   `json:"gpu_time_ns"` // sum over all launches
	SharePct   float64 `json:"share_pct"`   // percent of the stage's GPU time
	Launches   int     `json:"launches"`    // number of launches
	// Locations, ModelLines and CPUOps are those of a kernel's launches, as in [KernelRow]; left out of totals.
	Locations  []Location `json:"locations,omitempty"`
	ModelLines []Location `json:"model_lines,omitempty"`
	CPUOps     []string   `json:"cpu_ops,omitempty"`
}

// Location is a source line and its share of a kernel's time.
type Location struct {
	// "path:line func", "unresolved" without recorded frames, "graph replay", or "from prefill" in brackets after a
	// line
	Location string `json:"location"`
	// Module are the classes of the nn.Module frames around a line of the model, outermost first, joined by "/"; ""
	// where none are recorded. Where only generated code is on the stack it is alone, with Location "".
	Module   string  `json:"module,omitempty"`
	SharePct float64 `json:"share_pct"`
	// From says how the line was found: "op", "launch", "mapping" (name found in another part or trace), "alignment"
	// (position in the layer); or why none was: "replay" (where the kernel matches, it is replayed from a graph, too), "".
	From string `json:"from,omitempty"`
}

// Locations that are not source lines.
const (
	unresolved  = activity.Unresolved  // no frames recorded around the launch
	graphReplay = activity.GraphReplay // replayed from a graph, origin not known
	// FromPrefill is a kernel of a decode that only the launches of a prefill explain, in a function that the server
	// has once for each stage.
	fromPrefill = activity.FromPrefill
)

// Share is what one category takes of a stage's GPU time, or one kernel within the pattern of a fuse row.
type Share struct {
	Category  classify.Category `json:"category,omitempty"` // of [StageReport.Categories]
	Kernel    string            `json:"kernel,omitempty"`   // of [FuseRow.Evidence], with its short label
	Label     string            `json:"label,omitempty"`    // short name
	GPUTimeUS float64           `json:"gpu_time_us"`        // sum over all launches
	SharePct  float64           `json:"share_pct"`          // percent of the stage's GPU time
	Launches  int               `json:"launches"`           // number of launches
}

// OverlapRow is one line of the overlap table: communication that runs alone and that compute of its own layer could
// hide.
type OverlapRow struct {
	Priority       string            `json:"priority"`         // P1 (look first), P2, P4, P5
	Verdict        string            `json:"verdict"`          // "headroom" or "low-roi-hidden"
	Kernel         string            `json:"kernel"`           // canonical name
	Label          string            `json:"label"`            // short name
	Category       classify.Category `json:"category"`         // category of the kernels, see docs/categories.md
	Bucket         string            `json:"bucket,omitempty"` // of the published rule
	PythonScope    string            `json:"python_scope"`     // source line that launches it
	TotalUS        float64           `json:"total_us"`         // sum over all launches
	SharePct       float64           `json:"share_pct"`        // percent of the stage's GPU time
	ExclusiveRatio float64           `json:"exclusive_ratio"`  // of the row's own time
	HiddenRatio    float64           `json:"hidden_ratio"`     // part of its time that other kernels cover
	// BoundNS is the most that can be gained, BoundPct as a share of the steps.
	BoundNS        int64   `json:"bound_ns"`
	BoundPct       float64 `json:"bound_pct"`
	DepRisk        string  `json:"dep_risk"`   // of the published rule: "low", "high" or "unclear"
	DepSignal      string  `json:"dep_signal"` // what the neighbours say
	Recommendation string  `json:"recommendation"`
	HiddenUnder    string  `json:"hidden_under,omitempty"` // what ran beside it for the longest time
	// the server's ways to hide such an exchange, by their names in the catalogue
	Known []string `json:"known,omitempty"`
	// ways that are of no use here, with the condition that fails
	NotHere []string `json:"not_here,omitempty"`
}

// FuseKind says what a fuse row found.
type FuseKind string

// The kinds of fuse rows.
const (
	InUse FuseKind = "active" // the fused kernel is in use
	Split FuseKind = "split"  // the unfused chain is in use: the opportunity
)

// Confidence of a fuse row.
type Confidence string

// The confidences of fuse rows.
const (
	Confirmed Confidence = "Confirmed" // its share is that of a typical occurrence, and nothing about it is open
	Possible  Confidence = "Candidate" // smaller, or something about it is not known
)

// FuseRow is one line of the fuse table.
type FuseRow struct {
	Pattern          string     `json:"pattern"`           // name of the fusion
	Kind             FuseKind   `json:"kind"`              // what was found
	Confidence       Confidence `json:"confidence"`        // that a gain is possible
	RelatedUS        float64    `json:"related_us"`        // time of the evidence kernels only
	SharePct         float64    `json:"share_pct"`         // percent of the stage's GPU time
	Occurrences      int        `json:"occurrences"`       // chains, or launches of the fused kernel
	Evidence         []Share    `json:"evidence"`          // its kernels
	ExampleKernels   []int      `json:"example_kernels"`   // indices in the trace's GPU lane, of one occurrence
	CurrentLocations []string   `json:"current_locations"` // source lines of its kernels now
	CandidatePaths   []string   `json:"candidate_paths"`   // sources of fused kernels for it
	EstimatedGainUS  float64    `json:"estimated_gain_us"` // GPU time in all, likely; 0 for active rows
	Gain             Gain       `json:"gain"`              // what one kernel in place of these saves
	// Replayed is what becomes of a step with one kernel in place of the chain, by a replay of the trace; left out
	// where nothing was replayed, or the trace does not test it.
	Replayed *finding.Gain `json:"replayed,omitempty"`
	// State says what can be done about the row, Action how: the flag that turns a
	// path on and since when it is there, or why it cannot be had.
	State  FuseState `json:"state"`
	Action string    `json:"action"`
	// GainPct is by how much the steps are shorter at most, as a share of their time; First is where
	// the chain occurs first, nil for active rows.
	GainPct   float64       `json:"gain_pct"`
	First     *Place        `json:"first,omitempty"`
	Rationale string        `json:"rationale"`
	Origin    fusion.Origin `json:"origin"` // where the fused path lives

	at []chain.Occurrence // that the gain counts
}

// Status is what tables say of a row: its state, of the published rule its kind.
func (f *FuseRow) Status() string { return cmp.Or(string(f.State), string(f.Kind)) }

// Gain is what one kernel in place of several saves, over all occurrences.
type Gain struct {
	LowNS  int64 `json:"gpu_low_ns"`  // GPU time, at least
	NS     int64 `json:"gpu_ns"`      // GPU time, likely
	HighNS int64 `json:"gpu_high_ns"` // GPU time, at most
	// StepLowNS is by how much one step is shorter at least, without steps the window of one GPU. It leaves out the
	// occurrences after which the host keeps the GPU idle in the same pass: GPU time saved there saves no time, unless
	// the host waits for the GPU in between.
	StepLowNS  int64 `json:"step_low_ns"`
	StepHighNS int64 `json:"step_high_ns"` // by how much one step is shorter at most
	// Steps is in how many steps the occurrences are, each device's for itself; GPUs is on how many GPUs, where no
	// steps are known.
	Steps         int     `json:"steps"`
	CompleteSteps float64 `json:"complete_steps"`         // these steps, one that the window cuts as the part that it is
	Mixed         bool    `json:"mixed_models,omitempty"` // they are of several models
	GPUs          int     `json:"gpus,omitempty"`
	Occurrences   int     `json:"occurrences"`       // that are counted
	HostBoundPct  float64 `json:"host_bound_pct"`    // percent of them that make no step shorter
	BytesOf       int     `json:"bytes_occurrences"` // how many of them the bytes are of: those with shapes
	BytesMoved    int64   `json:"bytes_moved"`       // read and written now; 0 where shapes are not recorded
	BytesNeeded   int64   `json:"bytes_needed"`      // that must go in and out; 0 where shapes are not recorded
	Launches      int     `json:"launches"`          // how many fewer there are
}

// FuseState says what can be done about a fuse row.
type FuseState string

// The states of fuse rows.
const (
	StateActive    FuseState = "active"               // the fused kernel is in use
	StateAvailable FuseState = "available"            // it can be turned on
	StateElsewhere FuseState = "not on this platform" // it exists, on another platform or architecture
	StateModel     FuseState = "not for this model"   // it exists, in the code of other models
	StateTooLarge  FuseState = "not at this size"     // the steps are larger than the path takes
	StateOpen      FuseState = "open upstream"        // a change that is not merged
	StateUnknown   FuseState = "unknown"              // whether it can be had is not known
	StateNone      FuseState = "no known path"        // found by its data flow; no fused kernel of the server is known
)

// states says of each state whether a gain is given, and whether there is something to do.
var states = map[FuseState]struct{ gains, asks bool }{
	StateActive: {}, StateAvailable: {true, true}, StateElsewhere: {}, StateModel: {}, StateTooLarge: {},
	StateOpen: {true, false}, StateUnknown: {true, true}, StateNone: {true, false},
}

// Asks reports whether a row in this state asks for action.
func (s FuseState) Asks() bool { return states[s].asks }

// Place is where something begins, or a stretch of time.
type Place struct {
	// Pass and Layer are indices; nil, and absent in JSON, outside of passes and layers, and where the layer's number
	// cannot be known.
	Pass    *int       `json:"pass,omitempty"`
	Layer   *int       `json:"layer,omitempty"`
	StartNS trace.Time `json:"start_ns"` // since the trace's first event
	// EndNS ends a stretch that begins with Kernel, named by its label.
	EndNS  trace.Time `json:"end_ns,omitempty"`
	Kernel string     `json:"kernel,omitempty"`
}
