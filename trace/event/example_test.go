package event_test

import (
	"fmt"

	"github.com/llmstrata/strata/trace/event"
)

// Example says what runs on a GPU from what the host does.
func Example() {
	for _, k := range []event.Kind{event.Kernel, event.Memcpy, event.Runtime, event.Module} {
		fmt.Println(k, k.Lane() == event.LaneGPU)
	}
	// Output:
	// kernel true
	// memcpy true
	// runtime false
	// module false
}
