package nsys

import (
	"errors"
	"fmt"
	"strings"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/internal/sqlite"
)

// What can be wrong with an export. Test with [errors.Is].
var (
	// errNotExport says that the file is not an Nsight Systems SQLite export. It
	// wraps [trace.ErrFormat].
	errNotExport = fmt.Errorf("%w: not an Nsight Systems SQLite export", trace.ErrFormat)
	// errTruncated says that the file ends before the database does.
	errTruncated = sqlite.ErrTruncated
	// errDamaged says that the database contradicts itself.
	errDamaged = sqlite.ErrDamaged
	// errNoTool says that a report has to be exported first and that no nsys
	// was found to do it.
	errNoTool = errors.New("no nsys on PATH to export the report")
)

// readError says where in an export reading failed.
type readError struct {
	Path  string // file
	Table string // table being read, "" before any
	Err   error
}

// readError implements error.
func (e *readError) Error() string {
	var b strings.Builder
	b.WriteString("nsys: " + e.Path)
	if e.Table != "" {
		b.WriteString(": table " + e.Table)
	}
	b.WriteString(": " + e.Err.Error())
	return b.String()
}

// Unwrap returns the cause.
func (e *readError) Unwrap() error { return e.Err }
