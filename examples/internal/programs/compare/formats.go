package compare

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/gate"
	"github.com/llmstrata/strata/layer/compare"
)

// write prints the report.
func write(env *app.Env, r *compare.Report, s *gate.Suite, page func(io.Writer) error) error {
	if env.Document() {
		return env.WriteJSON(r)
	}
	switch env.Format {
	case app.Markdown:
		return r.WriteMarkdown(env.Stdout)
	case app.CSV:
		return r.WriteCSV(env.Stdout)
	case app.HTML:
		return page(env.Stdout)
	case app.JUnit, app.SARIF, app.Prometheus:
		return s.Write(env.Stdout, gate.Format(env.Format))
	case app.Benchfmt:
		return benchmarks(env, r)
	}
	return r.WriteText(env.Stdout)
}

// suite makes checks of the gates; without gates, of the rows: one fails that became clearly slower, and is skipped
// where nothing may be said.
func suite(r *compare.Report, allow bool) *gate.Suite {
	s := &gate.Suite{Program: "compare", Name: sideName(&r.A) + " → " + sideName(&r.B), AllowInconclusive: allow}
	if len(r.Gates) == 0 {
		for i := range r.Rows {
			s.Checks = append(s.Checks, rowCheck(r, &r.Rows[i]))
		}
		return s
	}
	for i := range r.Gates {
		c := app.GateCheck(&r.Gates[i])
		c.Place = place(r, "")
		s.Checks = append(s.Checks, c)
	}
	return s
}

func rowCheck(r *compare.Report, row *compare.Row) gate.Check {
	delta := row.KernelB - row.KernelA // which is what is judged
	c := gate.Check{Name: row.Operator, Verdict: gate.Passed, Value: gate.Number(float64(delta)),
		Limit: gate.Number(float64(r.Least)), Unit: "ns",
		Message: row.Text, Place: place(r, row.Operator)}
	switch {
	case !row.Judged:
		c.Verdict = gate.Skipped
		c.Message = "not judged: " + c.Message
	case row.Significant && delta > 0:
		c.Verdict = gate.Failed
	case row.Found == compare.NotClear:
		c.Verdict = gate.Skipped
		c.Message = "not clear: " + c.Message
	}
	return c
}

// place is where the first compared pass of side B is.
func place(r *compare.Report, operator string) gate.Place {
	within := fmt.Sprintf("first compared pass at %.3f ms", float64(r.B.Start)/float64(time.Millisecond))
	if operator != "" {
		within = operator + ", " + within
	}
	return gate.Place{File: r.B.Trace, Within: within}
}

func sideName(s *compare.Summary) string { return cmp.Or(s.Label, filepath.Base(s.Trace)) }

// benchmarks writes the times of each pass, so that benchstat -col side compares them.
func benchmarks(env *app.Env, r *compare.Report) error {
	for _, s := range []struct {
		name string
		of   *compare.Summary
		at   func(*compare.Row) []time.Duration
	}{{"A", &r.A, func(row *compare.Row) []time.Duration { return row.TimesA }},
		{"B", &r.B, func(row *compare.Row) []time.Duration { return row.TimesB }}} {
		var values []gate.Benchmark
		for i := range r.Rows {
			for _, d := range s.at(&r.Rows[i]) {
				values = append(values, gate.Benchmark{Name: "Pass/row=" + r.Rows[i].Operator, Value: float64(d),
					Unit: "ns/op"})
			}
		}
		settings := []gate.Setting{{Key: "side", Value: s.name}, {Key: "trace", Value: s.of.Trace},
			{Key: "gpu", Value: s.of.GPU}, {Key: "stage", Value: string(s.of.Stage)}}
		if err := gate.WriteBenchmarks(env.Stdout, settings, values); err != nil {
			return err
		}
	}
	return nil
}
