package nsys

import (
	"context"
	"errors"
	"fmt"

	"github.com/llmstrata/strata/trace"
)

// Names that only tests use from outside.
var ErrDamaged = errDamaged
var ErrNoTool = errNoTool
var ErrNotExport = errNotExport
var ErrTruncated = errTruncated
var StripVersion = stripVersion

// Open reads the export or report at path, whatever its name, and says what is wrong with it.
func Open(ctx context.Context, path string, o trace.Options) (*trace.Trace, error) {
	o.Formats = []trace.Format{Formats()[0], Formats()[1], {Name: "anything", Suffixes: []string{""},
		Open: func(ctx context.Context, in *trace.Input, o trace.Options) (*trace.Trace, error) {
			return open(ctx, path, path, &o) // which says what is wrong with it
		}}}
	t, err := trace.Open(ctx, path, o)
	if errors.Is(err, trace.ErrFormat) && !errors.Is(err, errNotExport) {
		err = &readError{Path: path, Err: fmt.Errorf("%w: %w", errNotExport, err)}
	}
	return t, err
}
