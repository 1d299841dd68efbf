package fleet_test

import (
	"fmt"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer/fleet"
)

// Three ranks meet at ten all-reduces. Rank 2 arrives 40 µs after the others each time, so that its kernels are the
// shortest.
func Example() {
	var ranks []fleet.Rank
	for n := range 3 {
		step := fleet.Step{Number: 7, Tokens: -1, Requests: -1, Wall: 2_000_000}
		for i := range int64(10) {
			end, took := 200_000*(i+1), 50_000+i*7*int64(n)
			if n == 2 {
				took = 10_000
			}
			step.Call, step.At, step.Took = append(step.Call, 0), append(step.At, end-took), append(step.Took, took)
		}
		ranks = append(ranks, fleet.Rank{Run: "a", Rank: n, File: fmt.Sprint(n),
			Calls: []fleet.Call{{Kind: classify.AllReduce, Group: -1}}, Steps: []fleet.Step{step}})
	}
	report := fleet.Combine([]fleet.Run{fleet.OfRun(ranks)}, fleet.Options{})
	fmt.Println(report.Verdict)
	// Output:
	// The other ranks wait for rank 2 for up to 400 µs per step (20.0%).
}
