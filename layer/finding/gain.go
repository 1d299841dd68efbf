package finding

import (
	"fmt"
	"time"

	"github.com/llmstrata/strata/internal/table"
)

// Gain is what a replay of the steps says that they would take after one change.
type Gain struct {
	// Ask is the change, as strata what-if --edit takes it. Title says it in words.
	Ask   string `json:"ask"`
	Title string `json:"title"`
	// Steps is how many steps the answer rests on, of All. Without an answer it and all times are left out.
	Steps int `json:"steps,omitempty"`
	All   int `json:"all_steps"`
	// Base is the mean of these steps as recorded, After with the change, which lies between Low and High:
	// the interval is for the mean step of another run, so that it includes how much steps differ.
	Base  time.Duration `json:"base_ns,omitempty"`
	After time.Duration `json:"after_ns,omitempty"`
	Low   time.Duration `json:"low_ns,omitempty"`
	High  time.Duration `json:"high_ns,omitempty"`
	// Figure says that After may be quoted by itself; elsewhere the interval is the answer.
	Figure bool `json:"figure"`
}

// Step is what becomes of a step: "7.50 ms → 6.40 ms (6.30 ms–6.50 ms)"; where the interval reaches as far as the step
// itself, it says that nothing may.
func (g *Gain) Step() string {
	text := table.Duration(g.Low) + "–" + table.Duration(g.High)
	if g.Figure {
		text = fmt.Sprintf("%s (%s)", table.Duration(g.After), text)
	}
	if g.High >= g.Base {
		text += ", perhaps no gain"
	}
	return table.Duration(g.Base) + " → " + text
}

// String is the gain with its change: "overlap scheduling (host one step ahead): 7.50 ms → 6.40 ms–6.70 ms".
func (g *Gain) String() string { return g.Title + ": " + g.Step() }
