package hostoverhead

// Thresholds says from where on a metric counts as crossed. GPUUtilization is
// crossed below its value, all others above.
type Thresholds struct {
	GPUIdle             float64 `json:"gpu_idle_ratio"`             // M1
	LaunchOverhead      float64 `json:"launch_overhead_ratio"`      // M2
	PrepExposed         float64 `json:"host_prep_exposed_ratio"`    // M3a
	PrepImpact          float64 `json:"host_prep_perf_impact"`      // M3b
	PrepIdleAttribution float64 `json:"host_prep_idle_attribution"` // M3c
	GPUUtilization      float64 `json:"gpu_utilization"`            // M4
	NCCL                float64 `json:"nccl_ratio"`                 // M5, a caveat only
}

// DefaultThresholds are those of the published detector for the whole window
// and for context steps (hostoverhead.md §2).
func DefaultThresholds() Thresholds {
	return Thresholds{GPUIdle: 0.30, LaunchOverhead: 0.10, PrepExposed: 0.50, PrepImpact: 0.05, PrepIdleAttribution: 0.50, GPUUtilization: 0.60, NCCL: 0.20}
}

// DefaultGenerationThresholds are those for generation steps, which replay
// graphs and leave less room: 0.15 idle and 0.80 utilisation.
func DefaultGenerationThresholds() Thresholds {
	t := DefaultThresholds()
	t.GPUIdle, t.GPUUtilization = 0.15, 0.80
	return t
}
