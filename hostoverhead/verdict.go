package hostoverhead

import (
	"github.com/llmstrata/strata/trace"
)

// Answer is YES or NO.
type Answer string

// The answers.
const (
	Yes Answer = "YES" // the host limits the run
	No  Answer = "NO"  // it does not
)

// Confidence says how far a verdict holds.
type Confidence string

// The confidences.
const (
	ConfidenceHigh   Confidence = "high"   // nothing found that speaks against it
	ConfidenceMedium Confidence = "medium" // a doubt that may shift the figures
	ConfidenceLow    Confidence = "low"    // a doubt that may turn the verdict
)

// Doubt is a reason not to believe a verdict.
type Doubt struct {
	Code    string     `json:"code"`    // stable identifier
	Weight  Confidence `json:"weight"`  // the best confidence that the verdict can have with it
	Message string     `json:"message"` // one sentence with the figures
}

// Judgement is what the thresholds say about one set of metrics.
type Judgement struct {
	Verdict           Answer          `json:"verdict"`             // YES if at least two metrics crossed
	CrossedCount      int             `json:"crossed_count"`       // of the applicable metrics
	ApplicableCount   int             `json:"applicable_count"`    // of M1, M2, M3a–c, M4
	HostPrepConfirmed bool            `json:"host_prep_confirmed"` // M3b and M3c both crossed
	CrossedDetails    map[string]bool `json:"crossed_details"`     // by metric; only applicable ones
	Thresholds        Thresholds      `json:"thresholds"`          // those used
}

// PhaseVerdict is the judgement of the context or of the generation steps.
type PhaseVerdict struct {
	Judgement
	IterationCount     int     `json:"iteration_count"`      // steps
	CUDAGraphsDetected bool    `json:"cuda_graphs_detected"` // graph launches or replayed kernels in the phase
	GraphSteps         int     `json:"graph_steps"`          // steps in which there are any
	Metrics            Metrics `json:"metrics"`
}

// eagerSteps reports whether most steps replay no graph.
func (p *PhaseVerdict) eagerSteps() bool { return 2*p.GraphSteps < p.IterationCount }

// DeviceVerdict is the judgement of one device.
type DeviceVerdict struct {
	Device trace.DeviceID `json:"device"`
	Name   string         `json:"name,omitempty"` // GPU model
	Judgement
	Metrics Metrics `json:"metrics"`
	// Ignored is set for a device with so few kernels that it does not decide.
	Ignored bool `json:"ignored,omitempty"`
}

// Verdict says whether the host is the bottleneck, with the evidence.
//
// With devices "each", AggregateMetrics and Phases are those of Device, the
// worst one; with "merged" they are of the union of all devices.
type Verdict struct {
	Verdict           Answer                   `json:"verdict"`    // YES if the window or a phase is
	Confidence        Confidence               `json:"confidence"` // the least weight of the doubts
	Evidence          []string                 `json:"evidence"`   // sentences with the figures
	Doubts            []Doubt                  `json:"doubts"`     // by weight, then code
	DevicesMode       string                   `json:"devices_mode"`
	Device            trace.DeviceID           `json:"device"` // the deciding device; −1 when merged
	AggregateMetrics  Metrics                  `json:"aggregate_metrics"`
	AggregateVerdict  Answer                   `json:"aggregate_verdict"` // of the window alone
	CrossedCount      int                      `json:"crossed_count"`
	ApplicableCount   int                      `json:"applicable_count"`
	HostPrepConfirmed bool                     `json:"host_prep_confirmed"`
	NCCLCaveat        bool                     `json:"nccl_caveat"` // M5 crossed: communication may cause the idle time
	CrossedDetails    map[string]bool          `json:"crossed_details"`
	Thresholds        Thresholds               `json:"thresholds"`
	Steps             int                      `json:"steps"` // of Device, those of no known phase included
	Phases            map[string]*PhaseVerdict `json:"phases"`
	Devices           []DeviceVerdict          `json:"devices,omitempty"`
	MeanMetrics       *Metrics                 `json:"mean_metrics,omitempty"` // over the deciding devices, when there are several
	Health            trace.HealthStatus       `json:"health"`
	Handoff           *Handoff                 `json:"optimization_handoff,omitempty"` // when asked
}

// Handoff is the summary for whoever optimises next (hostoverhead.md §2).
type Handoff struct {
	Verdict                Answer         `json:"verdict"`
	PrimaryBottleneckPhase string         `json:"primary_bottleneck_phase"` // "context", "generation", "both", "aggregate" or "none"
	HostPrepConfirmed      bool           `json:"host_prep_confirmed"`
	TopRegressingOps       []RegressingOp `json:"top_regressing_ops"` // by µs per step
	RecommendedFirstTarget string         `json:"recommended_first_target"`
	WallTimePerStepUS      float64        `json:"wall_time_per_step_us"`
	InterStepGapP50US      float64        `json:"inter_step_gap_p50_us"`
	KernelsPerStep         float64        `json:"kernels_per_step"`
}

// RegressingOp is one host operation worth looking at. Without a second run,
// DeltaUSPerStep is the whole time it takes per step.
type RegressingOp struct {
	NVTXName       string  `json:"nvtx_name"`
	DeltaUSPerStep float64 `json:"delta_us_per_step"`
	SourceFunction string  `json:"source_function"`
}

// judge applies thresholds to metrics.
func judge(m *Metrics, t Thresholds, useM3 bool) Judgement {
	j := Judgement{Verdict: No, CrossedDetails: map[string]bool{}, Thresholds: t}
	for _, k := range judged {
		v := k.value(m)
		if !v.Applicable || k.prep && !useM3 {
			continue
		}
		limit := k.limit(&t)
		crossed := v.Value > limit
		if k.below {
			crossed = v.Value < limit
		}
		j.ApplicableCount++
		j.CrossedDetails[k.key] = crossed
		if crossed {
			j.CrossedCount++
		}
	}
	if j.CrossedCount >= 2 {
		j.Verdict = Yes
	}
	j.HostPrepConfirmed = j.CrossedDetails["host_prep_perf_impact"] && j.CrossedDetails["host_prep_idle_attribution"]
	return j
}
