package layer

// Steady names the pass that stands for the steady state, and why.
type Steady struct {
	// Pass indexes Passes; None when there is no pass.
	Pass int `json:"pass"`
	// Run counts the passes of the run it opens.
	Run int `json:"run"`
	// TolerancePct is how far a pass of the run may be from the run's median duration, in percent.
	TolerancePct float64 `json:"tolerance_pct"`
	// Reason says the choice in words.
	Reason string `json:"reason"`
}
