package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/atomicfile"
	"github.com/llmstrata/strata/internal/htmlreport"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// maxSeries is how many categories a chart tells apart; the others are added
// up. More colours cannot be told from each other.
const maxSeries = 10

// fileMode is that of new reports, less the umask.
const fileMode = 0o666

// WriteFile writes the report to a file, all or nothing, and says so.
func WriteFile(env *app.Env, path string, r *htmlreport.Report) error {
	r.Inputs = append(r.Inputs, append(env.Args, env.Trace)...)
	if err := atomicfile.Write(path, fileMode, r.Write); err != nil {
		return fmt.Errorf("html: %w", err)
	}
	env.Notef("wrote %s; open it in any browser", path)
	return nil
}

// health converts the health of a trace.
func health(h trace.Health) htmlreport.Health {
	out := htmlreport.Health{Status: string(h.Status)}
	for _, f := range h.Findings {
		out.Findings = append(out.Findings, htmlreport.Finding{Code: f.Code, Severity: string(f.Severity), Message: f.Message})
	}
	return out
}

// colors are the categories in their fixed order, so that each has the same
// colour in all pages, by the labels that a GPU's tables show; nil for plain
// names.
func colors(d *layer.Device) []string {
	var out []string
	for _, c := range classify.Categories() {
		label := string(c)
		if d != nil {
			label = d.CategoryLabel(c)
		}
		out = append(out, label)
	}
	return out
}

// top returns the keys with the largest values, at most maxSeries, largest
// first, with Others at the end where something is left.
func top(sums map[string]float64) []string {
	keys := make([]string, 0, len(sums))
	for k := range sums {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(-cmp.Compare(sums[a], sums[b]), cmp.Compare(a, b)) })
	if len(keys) > maxSeries {
		keys = append(keys[:maxSeries:maxSeries], htmlreport.Others)
	}
	return keys
}

// spread returns the values of the series in their order; what has no series
// goes to Others.
func spread(series []string, values map[string]float64) []float64 {
	out := make([]float64, len(series))
	rest := slices.Index(series, htmlreport.Others)
	for k, v := range values {
		switch i := slices.Index(series, k); {
		case i >= 0:
			out[i] += v
		case rest >= 0:
			out[rest] += v
		}
	}
	return out
}

// Cells of tables.

func textCell(s string) htmlreport.Cell { return htmlreport.Cell{Text: s} }

func numberCell(v float64, decimals int) htmlreport.Cell {
	return htmlreport.Cell{Text: table.Fixed(v, decimals), Sort: v}
}

func countCell(n int64) htmlreport.Cell {
	return htmlreport.Cell{Text: table.Count(n), Sort: float64(n)}
}

// knownCell is a count that is −1 when unknown.
func knownCell(n int64) htmlreport.Cell {
	if n < 0 {
		return htmlreport.Cell{Text: table.None, Sort: -1}
	}
	return countCell(n)
}

func indexCell(i int) htmlreport.Cell {
	return htmlreport.Cell{Text: strconv.Itoa(i), Sort: float64(i)}
}
