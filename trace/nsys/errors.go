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
	// errNotExport says that the file is not an Nsight Systems SQLite export. It
	// wraps [trace.ErrFormat].
	errNotExport = fmt.Errorf("%w: not an Nsight Systems SQLite export", trace.ErrFormat)
	// errTruncated says that the file ends before the database does.
	errTruncated = fmt.Errorf("truncated database: %w", io.ErrUnexpectedEOF)
	// errDamaged says that the database contradicts itself.
	errDamaged = errors.New("damaged database")
	// errNoTool says that a report has to be exported first and that no nsys
	// was found to do it.
	errNoTool = errors.New("no nsys on PATH to export the report")
)

// readError says where in an export reading failed.
type readError struct {
	Path  string // file
	Table string // table being read, "" before any
	Row   int64  // rows of the table read before the failure
	Err   error
}

// readError implements error.
func (e *readError) Error() string {
	var b strings.Builder
	b.WriteString("nsys: " + e.Path)
	if e.Table != "" {
		fmt.Fprintf(&b, ": table %s after %d rows", e.Table, e.Row)
	}
	b.WriteString(": " + e.Err.Error())
	return b.String()
}

// Unwrap returns the cause.
func (e *readError) Unwrap() error { return e.Err }

// classify wraps SQLite's own result in ours.
func classify(err error) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultNotADB:
		return fmt.Errorf("%w: %w", errNotExport, err)
	case sqlite.ResultCorrupt, sqlite.ResultFormat:
		return fmt.Errorf("%w: %w; sqlite3 FILE .recover may save what is left", errDamaged, err)
	}
	return err
}
