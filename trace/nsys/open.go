package nsys

import (
	"context"
	"strings"

	"github.com/llmstrata/strata/trace"
)

// Open reads the export at path. A report (.nsys-rep, .qdrep) is first
// exported to a temporary file with an installed nsys.
//
// It fails with [ErrNotExport], [ErrTruncated], [ErrDamaged] or [ErrNoTool],
// wrapped with the file and the place; with ctx's error when it is cancelled. A
// database that holds none of the tables of a profile is refused too; one that
// holds some but no kernels loads, and its health says so.
func Open(ctx context.Context, path string, opts ...Option) (*trace.Trace, error) {
	c := config{tool: "nsys"}
	for _, o := range opts {
		o.apply(&c)
	}
	if IsReport(path) {
		out, cleanup, err := export(ctx, c.tool, path)
		if err != nil {
			return nil, err
		}
		defer cleanup()
		return open(ctx, out, path, &c)
	}
	return open(ctx, path, path, &c)
}

// open loads the database at path and calls it name in the trace's metadata.
func open(ctx context.Context, path, name string, c *config) (*trace.Trace, error) {
	db, err := openDatabase(ctx, path)
	if err == nil {
		defer db.Close()
		var t *trace.Trace
		if t, err = newLoader(db, name, c).load(ctx); err == nil {
			return t, nil
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, err
}

// IsReport reports whether path names a report of Nsight Systems (.nsys-rep,
// .qdrep), which [Open] exports before it reads it.
func IsReport(path string) bool {
	p := strings.ToLower(path)
	return strings.HasSuffix(p, ".nsys-rep") || strings.HasSuffix(p, ".qdrep")
}
