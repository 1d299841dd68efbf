// Embed analyses a run in its own process, as a benchmark framework would, and
// writes the report as JSON. With an older run it fails if the run got slower.
// It serves the report's page where it is given an address.
//
//	embed runs/today > today.json
//	embed runs/today runs/yesterday
//	embed -http localhost:8080 runs/today
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/layer/compare"
)

func main() {
	address := flag.String("http", "", "serve the page at this `address`")
	flag.Parse()
	report, err := run(context.Background(), flag.Args(), os.Stdout)
	if err == nil && *address != "" {
		err = http.ListenAndServe(*address, page(report))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(1)
	}
}

// page serves the report as the page that strata report --html writes.
func page(report *strata.Report) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if err := report.WriteHTML(w); err != nil {
			log.Print(err) // the reader has gone
		}
	})
}

// run reports on the first recording: a file, or a directory that a server wrote.
func run(ctx context.Context, paths []string, out io.Writer) (*strata.Report, error) {
	if len(paths) < 1 || len(paths) > 2 {
		return nil, errors.New("want a recording, and perhaps an older one to compare it with")
	}
	rec, err := strata.Open(ctx, paths[0], strata.Options{})
	if err != nil {
		return nil, err
	}
	var o strata.ReportOptions
	if len(paths) == 2 {
		if o.Against, err = strata.Open(ctx, paths[1], strata.Options{}); err != nil {
			return nil, err
		}
	}
	report, err := strata.Analyze(ctx, rec, o)
	if err != nil {
		return nil, err
	}
	if err := json.NewEncoder(out).Encode(report); err != nil {
		return nil, err
	}
	c := report.Against
	if o.Against != nil && c == nil {
		return nil, fmt.Errorf("not compared with %s: it has no GPU work, or %s has none", paths[1], paths[0])
	}
	if c != nil && c.Verdict == compare.Slower {
		return nil, fmt.Errorf("slower than %s: %s", paths[1], c.Text)
	}
	return report, nil
}
