// Embed analyses a run in its own process, as a benchmark framework would, and
// writes the report as JSON. With an older run it fails if the run got slower.
//
//	embed runs/today > today.json
//	embed runs/today runs/yesterday
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/layer/compare"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(1)
	}
}

// run reports on the first recording: a file, or a directory that a server wrote.
func run(ctx context.Context, paths []string, out io.Writer) error {
	if len(paths) < 1 || len(paths) > 2 {
		return errors.New("want a recording, and perhaps an older one to compare it with")
	}
	rec, err := strata.Open(ctx, paths[0], strata.Options{})
	if err != nil {
		return err
	}
	var o strata.ReportOptions
	if len(paths) == 2 {
		if o.Against, err = strata.Open(ctx, paths[1], strata.Options{}); err != nil {
			return err
		}
	}
	report, err := strata.Analyze(ctx, rec, o)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(report); err != nil {
		return err
	}
	if c := report.Against; c != nil && c.Verdict == compare.Slower {
		return fmt.Errorf("slower than %s: %s", paths[1], c.Text)
	}
	return nil
}
