package nsys

import (
	"bytes"
	"context"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/internal/sqlite"
)

// Formats returns the formats of Nsight Systems: its SQLite exports, which may be
// compressed, and its reports, known by their names alone, which an installed nsys,
// the one on PATH, exports to a temporary file first. Of the
// options Limits, MemoryBudget and Strict mean nothing here, and nobody's args are
// kept.
//
// A file that is no export is a [trace.ErrFormat]; where one is cut off or damaged,
// or no nsys is there to export a report, the error says so, with the place. A
// database that holds none of the tables of a profile is refused too; one that holds
// some but no kernels loads, and its health says so.
func Formats() []trace.Format {
	return []trace.Format{{
		Name:     "nsys SQLite export",
		Suffixes: []string{".sqlite"},
		Match:    func(head []byte) bool { return bytes.HasPrefix(head, []byte(sqlite.Magic)) },
		Open: func(ctx context.Context, in *trace.Input, o trace.Options) (*trace.Trace, error) {
			path, done, err := in.File(ctx)
			if err != nil {
				return nil, err
			}
			defer done()
			return open(ctx, path, in.Name, &o)
		},
	}, {
		Name:     "nsys report",
		Suffixes: []string{".nsys-rep", ".qdrep"},
		External: true,
		Open: func(ctx context.Context, in *trace.Input, o trace.Options) (*trace.Trace, error) {
			path, done, err := export(ctx, in.Name)
			if err != nil {
				return nil, err
			}
			defer done()
			return open(ctx, path, in.Name, &o)
		},
	}}
}

// open loads the database at path and calls it name in the trace's metadata.
func open(ctx context.Context, path, name string, o *trace.Options) (*trace.Trace, error) {
	db, err := openDatabase(ctx, path)
	if err == nil {
		defer db.Close()
		var t *trace.Trace
		if t, err = newLoader(db, name, o).load(ctx); err == nil {
			return t, nil
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, err
}
