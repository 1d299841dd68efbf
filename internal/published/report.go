package published

import (
	"fmt"
	"io"
	"math"
	"strconv"
)

// HostReport is the detector's document; its field names are the published ones.
type HostReport struct {
	Judgement
	Metrics    Metrics           `json:"aggregate_metrics"` // figures of the whole window
	NCCLCaveat bool              `json:"nccl_caveat"`       // communication may cause the idle time
	Phases     map[string]*Phase `json:"phases"`            // "context", "generation"
}

// Phase is the judgement of the steps of one phase.
type Phase struct {
	Judgement
	Iterations int     `json:"iteration_count"` // ranges: one for each rank and step
	Metrics    Metrics `json:"metrics"`         // figures of the steps of the phase
}

// Judgement is what the thresholds say.
type Judgement struct {
	Verdict         string `json:"verdict"`          // "YES" if two metrics crossed, else "NO"
	CrossedCount    int    `json:"crossed_count"`    // metrics that crossed their threshold
	ApplicableCount int    `json:"applicable_count"` // metrics that could be judged
	// the published rule sees host preparation as the cause
	HostPrepConfirmed bool            `json:"host_prep_confirmed"`
	CrossedDetails    map[string]bool `json:"crossed_details"` // applicable metrics only
}

const yes, no = "YES", "NO"

// crossedForYes is how many metrics it takes.
const crossedForYes = 2

// Metrics are the figures of one window.
type Metrics struct {
	GPUIdle             Ratio `json:"gpu_idle_ratio"`             // M1: idle part of the window
	LaunchOverhead      Ratio `json:"launch_overhead_ratio"`      // M2: launch calls by GPU time
	GPUUtilization      Ratio `json:"gpu_utilization"`            // M4: busy part of the window
	NCCL                Ratio `json:"nccl_ratio"`                 // M5: NCCL kernels by busy time
	PrepExposed         Ratio `json:"host_prep_exposed_ratio"`    // M3: part of host preparation that no kernel covers
	PrepImpact          Ratio `json:"host_prep_perf_impact"`      // M3: exposed preparation by the window
	PrepIdleAttribution Ratio `json:"host_prep_idle_attribution"` // M3: part of idle time in host preparation

	kernels int
}

// Ratio is a share, NaN where it is not applicable.
type Ratio float64

func na() Metrics {
	n := Ratio(math.NaN())
	return Metrics{GPUIdle: n, LaunchOverhead: n, GPUUtilization: n, NCCL: n, PrepExposed: n, PrepImpact: n,
		PrepIdleAttribution: n}
}

func ratio(num, den int64) Ratio {
	if den <= 0 {
		return Ratio(math.NaN())
	}
	return Ratio(float64(num) / float64(den))
}

func (r Ratio) above(limit float64) bool { return float64(r) > limit } // NaN is not

// String returns four decimals, "n/a" for NaN.
func (r Ratio) String() string {
	if math.IsNaN(float64(r)) {
		return "n/a"
	}
	return strconv.FormatFloat(float64(r), 'f', 4, 64)
}

// MarshalJSON writes a number of at most four decimals, null for NaN.
func (r Ratio) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(r)) {
		return []byte("null"), nil
	}
	v, err := strconv.ParseFloat(r.String(), 64)
	return strconv.AppendFloat(nil, v, 'f', -1, 64), err
}

// Thresholds says from where on a metric counts as crossed: GPUUtilization below its value, all others above.
type Thresholds struct {
	GPUIdle, LaunchOverhead, PrepExposed, PrepImpact, PrepIdleAttribution, GPUUtilization, NCCL float64
}

// HostThresholds are the published thresholds of the window and of context steps.
func HostThresholds() Thresholds {
	return Thresholds{GPUIdle: 0.30, LaunchOverhead: 0.10, PrepExposed: 0.50, PrepImpact: 0.05,
		PrepIdleAttribution: 0.50, GPUUtilization: 0.60, NCCL: 0.20}
}

// GenerationThresholds are those of generation steps.
func GenerationThresholds() Thresholds {
	t := HostThresholds()
	t.GPUIdle, t.GPUUtilization = 0.15, 0.80
	return t
}

// metric is one judged figure.
type metric struct {
	key   string
	value Ratio
	limit float64
	below bool
}

func judged(m *Metrics, t *Thresholds) []metric {
	return []metric{
		{"gpu_idle_ratio", m.GPUIdle, t.GPUIdle, false},
		{"launch_overhead_ratio", m.LaunchOverhead, t.LaunchOverhead, false},
		{"host_prep_exposed_ratio", m.PrepExposed, t.PrepExposed, false},
		{"host_prep_perf_impact", m.PrepImpact, t.PrepImpact, false},
		{"host_prep_idle_attribution", m.PrepIdleAttribution, t.PrepIdleAttribution, false},
		{"gpu_utilization", m.GPUUtilization, t.GPUUtilization, true},
	}
}

func judge(m *Metrics, t Thresholds) Judgement {
	j := Judgement{Verdict: no, CrossedDetails: map[string]bool{}}
	for _, k := range judged(m, &t) {
		if math.IsNaN(float64(k.value)) {
			continue
		}
		crossed := k.value.above(k.limit)
		if k.below {
			crossed = float64(k.value) < k.limit
		}
		j.ApplicableCount++
		j.CrossedDetails[k.key] = crossed
		if crossed {
			j.CrossedCount++
		}
	}
	if j.CrossedCount >= crossedForYes {
		j.Verdict = yes
	}
	j.HostPrepConfirmed = j.CrossedDetails["host_prep_perf_impact"] && j.CrossedDetails["host_prep_idle_attribution"]
	return j
}

// WriteText writes the verdict and the figures of the window and of the phases.
func (r *HostReport) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "Host bottleneck: %s (%d of %d metrics crossed; figures of the published detector)\n",
		r.Verdict, r.CrossedCount, r.ApplicableCount)
	part := func(title string, j *Judgement, m *Metrics) {
		if err == nil {
			_, err = fmt.Fprintf(w, "\n%s: %s\n", title, j.Verdict)
		}
		for _, k := range append(judged(m, &Thresholds{}), metric{key: "nccl_ratio", value: m.NCCL}) {
			mark := ""
			if j.CrossedDetails[k.key] {
				mark = "  crossed"
			}
			if err == nil {
				_, err = fmt.Fprintf(w, "  %-28s%8s%s\n", k.key, k.value, mark)
			}
		}
	}
	part("Whole window", &r.Judgement, &r.Metrics)
	for _, name := range []string{phaseContext, phaseGeneration} {
		if p := r.Phases[name]; p != nil {
			part(fmt.Sprintf("%s, %d step ranges", name, p.Iterations), &p.Judgement, &p.Metrics)
		}
	}
	return err
}
