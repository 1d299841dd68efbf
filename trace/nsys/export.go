package nsys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/llmstrata/strata/internal/atomicfile"
)

// export turns a report into an SQLite file in a folder of its own, so that
// nothing appears beside the report. cleanup removes it.
func export(ctx context.Context, report string) (path string, cleanup func(), err error) {
	if _, err := os.Stat(report); err != nil {
		return "", nil, err
	}
	bin, err := exec.LookPath("nsys")
	if err != nil {
		base := strings.TrimSuffix(report, filepath.Ext(report)) + ".sqlite"
		return "", nil, &readError{Path: report, Err: fmt.Errorf("%w; on a machine that has it run: nsys export -t sqlite "+
			"-o %s %s", errNoTool, base, report)}
	}
	dir, err := os.MkdirTemp("", "strata-nsys-")
	if err != nil {
		return "", nil, err
	}
	gone := atomicfile.Temporary(dir)
	cleanup = func() { os.RemoveAll(dir); gone() }
	path = filepath.Join(dir, "export.sqlite")
	cmd := exec.CommandContext(ctx, bin, "export", "-t", "sqlite", "-o", path, report)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		cleanup()
		if ctx.Err() != nil {
			return "", nil, ctx.Err()
		}
		return "", nil, &readError{Path: report, Err: fmt.Errorf("%s failed: %w%s", strings.Join(cmd.Args, " "), err,
			lastLine(out.String()))}
	}
	if _, err := os.Stat(path); err != nil {
		cleanup()
		return "", nil, &readError{Path: report, Err: errors.New("nsys export succeeded but wrote no file")}
	}
	return path, cleanup, nil
}

// lastLine is ": " and the last non-empty line of a program's output.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		s = s[i+1:]
	}
	if s == "" {
		return ""
	}
	return ": " + strings.TrimSpace(s)
}
