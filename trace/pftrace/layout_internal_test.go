package pftrace

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/llmstrata/strata/internal/wire"
)

// TestKnownLayoutsAreFree: nine of ten slices of a large trace ask for a layout that is known, or that has no layout;
// memory for each would be the most of what a load takes.
func TestKnownLayoutsAreFree(t *testing.T) {
	arg := func(name string, field protowire.Number, value uint64) []byte {
		return wire.Msg(nil, eventArg, wire.Num(wire.Str(nil, argName, name), field, value))
	}
	x := &parser{}
	for name, m := range map[string][]byte{
		"known":     append(arg("Python id", argInt, 3), arg("correlation", argInt, 9)...),
		"none":      arg("correlation", argInt+1, 9),
		"of no arg": wire.Num(nil, 30, 3),
	} {
		x.layout(m)
		if n := testing.AllocsPerRun(50, func() { x.layout(m) }); n != 0 {
			t.Errorf("%s: %v allocations for each slice, want none", name, n)
		}
	}
	if len(x.layouts) != 1 {
		t.Errorf("%d layouts, want 1", len(x.layouts))
	}
}
