package pftrace

import (
	"context"
	"io"

	"github.com/llmstrata/strata/trace"
)

// Read reads what is decompressed already.
func Read(ctx context.Context, r io.Reader, o trace.Options) (*trace.Trace, error) {
	return read(ctx, r, "", o)
}
