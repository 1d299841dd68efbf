package nsys

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/llmstrata/strata/trace"
)

// What can be wrong with an export. Test with [errors.Is].
var (
	// ErrNotExport says that the file is not an Nsight Systems SQLite export. It
	// wraps [trace.ErrFormat].
	ErrNotExport = fmt.Errorf("%w: not an Nsight Systems SQLite export", trace.ErrFormat)
	// ErrTruncated says that the file ends before the database does.
	ErrTruncated = fmt.Errorf("truncated database: %w", io.ErrUnexpectedEOF)
	// ErrDamaged says that the database contradicts itself.
	ErrDamaged = errors.New("damaged database")
	// ErrNoTool says that a report has to be exported first and that no nsys
	// was found to do it.
	ErrNoTool = errors.New("no nsys on PATH to export the report")
)

// Error says where in an export reading failed.
type Error struct {
	Path  string // file
	Table string // table being read, "" before any
	Row   int64  // rows of the table read before the failure
	Err   error
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("nsys: " + e.Path)
	if e.Table != "" {
		fmt.Fprintf(&b, ": table %s after %d rows", e.Table, e.Row)
	}
	b.WriteString(": " + e.Err.Error())
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// classify wraps SQLite's own result in ours.
func classify(err error) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultNotADB:
		return fmt.Errorf("%w: %w", ErrNotExport, err)
	case sqlite.ResultCorrupt, sqlite.ResultFormat:
		return fmt.Errorf("%w: %w; sqlite3 FILE .recover may save what is left", ErrDamaged, err)
	}
	return err
}
