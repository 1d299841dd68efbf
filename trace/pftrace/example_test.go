package pftrace_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/gen/pftracegen"
	"github.com/llmstrata/strata/internal/wire"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/pftrace"
)

func ExampleFormat() {
	// One slice of an API call: a begin with its name and what it carries, and an end.
	begin := wire.Num(wire.Msg(wire.Str(wire.Num(nil, 9, 1), 23, "cudaLaunchKernel"), 4,
		wire.Num(wire.Str(nil, 10, "cbid"), 4, 211)), 11, 1)
	data := bytes.Join([][]byte{pftracegen.Packet(1000, wire.Msg(nil, 11, begin)),
		pftracegen.Packet(6000, wire.Msg(nil, 11, wire.Num(wire.Num(nil, 9, 2), 11, 1)))}, nil)
	t, err := trace.Read(context.Background(), bytes.NewReader(data),
		trace.Options{Formats: []trace.Format{pftrace.Format()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for e := range t.Events(event.LaneLaunch) {
		fmt.Println(e.Kind(), e.Name(), e.Duration())
	}
	// Output: runtime cudaLaunchKernel 5µs
}

// Any trace can be written as a .pftrace; read again, it has the same events.
func ExampleWrite() {
	ctx := context.Background()
	t, err := trace.Read(ctx, bytes.NewReader(demo.Trace()), trace.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	n, err := pftrace.Write(ctx, &file, t, pftrace.WriteOptions{Keep: func(e trace.Event) bool { return e.Kind().Lane() == event.LaneGPU }})
	if err != nil {
		fmt.Println(err)
		return
	}
	again, err := trace.Read(ctx, &file, trace.Options{Formats: []trace.Format{pftrace.Format()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(n == int64(t.Len(event.LaneGPU)), again.Len(event.LaneGPU) == t.Len(event.LaneGPU))
	// Output: true true
}
