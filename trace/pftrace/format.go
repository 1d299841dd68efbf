package pftrace

import (
	"context"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/llmstrata/strata/trace"
)

// Name is the format's name in [trace.Meta].
const Name = "pftrace"

// Format returns the format of Perfetto's own traces.
func Format() trace.Format {
	return trace.Format{
		Name:     "Perfetto trace",
		Suffixes: []string{".pftrace", ".perfetto-trace"},
		Match:    match,
		Open: func(ctx context.Context, in *trace.Input, o trace.Options) (*trace.Trace, error) {
			return read(ctx, in.R, in.Name, o)
		},
	}
}

// match reports whether bytes begin like a trace: a packet whose first field is one of a packet.
func match(head []byte) bool {
	field, typ, n := protowire.ConsumeTag(head)
	if n < 0 || field != tracePacket || typ != protowire.BytesType {
		return false
	}
	size, m := protowire.ConsumeVarint(head[n:])
	if m < 0 || size == 0 {
		return false
	}
	field, typ, k := protowire.ConsumeTag(head[n+m:])
	if k < 0 || field > lastPacketField {
		return false
	}
	return typ == protowire.VarintType || typ == protowire.BytesType || typ == protowire.Fixed64Type
}
