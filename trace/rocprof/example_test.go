package rocprof_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/rocprof"
)

func ExampleFormats() {
	t, err := trace.Read(context.Background(), strings.NewReader(document), trace.Options{Formats: rocprof.Formats()})
	if err != nil {
		fmt.Println(err)
		return
	}
	for e := range t.Events(event.LaneGPU) {
		fmt.Println(e.Name(), e.Duration())
	}
	// Output:
	// k() 1.5µs
	// kernel 6 10ns
	// Memcpy HtoD (Host -> Device) 100ns
}
