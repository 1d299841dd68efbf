package main

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/table"
)

// row is what became of the cases of one kind in one tool.
type row struct {
	suite, name, tool                   string
	files, crashed, hung, refused, lost int
	slowest                             time.Duration
	peak                                int64
	said                                string // of the first one refused
}

func (r *row) add(o outcome) {
	r.files++
	for _, x := range []struct {
		is bool
		n  *int
	}{{o.crashed, &r.crashed}, {o.hung, &r.hung}, {o.refused, &r.refused}} {
		if x.is {
			*x.n++
		}
	}
	if o.refused && r.said == "" {
		r.said = o.said
	}
	r.slowest, r.peak = max(r.slowest, o.cpu), max(r.peak, o.peak)
}

// growthRow is a shape at two sizes in one tool.
type growthRow struct {
	shape, tool   string
	small, large  time.Duration
	exponent      float64
	hung, crashed bool
}

// leastGrowth is below what time the exponent says nothing: a process starts in
// some milliseconds.
const leastGrowth = 200 * time.Millisecond

// steep reports growth beyond what is allowed.
func (r *growthRow) steep(most float64) bool {
	return r.hung || r.crashed || r.large > leastGrowth && r.exponent > most
}

// bad reports whether a program crashed, hung, lost what it must not, or grew too fast.
func (b *bench) bad() bool {
	for _, r := range b.rows {
		if r.crashed+r.hung+r.lost > 0 {
			return true
		}
	}
	for _, r := range b.growth {
		if r.steep(b.exponent) {
			return true
		}
	}
	return false
}

// page is the report.
func (b *bench) page(args []string) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Damaged, hostile and odd input\n\nWritten by `go run -C internal/tools ./torture %s` (its documentation says what the suites are and how to point it at another tool), %s on %d cores. Times are CPU time.\n",
		table.Clean(strings.Join(args, " ")), runtime.Version(), runtime.NumCPU())
	if len(b.rows) > 0 {
		t := table.New(table.Text("Suite"), table.Text("Tool"), table.Number("Files"), table.Number("Crashed"),
			table.Number("Hung"),
			table.Number("Refused"), table.Number("Lost more than 2 events"), table.Number("Slowest s"),
			table.Number("Peak MB"))
		for _, r := range bySuite(b.rows) {
			t.Row(r.suite, r.tool, fmt.Sprint(r.files), fmt.Sprint(r.crashed), fmt.Sprint(r.hung),
				fmt.Sprint(r.refused), fmt.Sprint(r.lost),
				fmt.Sprintf("%.2f", r.slowest.Seconds()), fmt.Sprint(r.peak>>20))
		}
		out.WriteString("\n## Damage and bombs\n\nRefused is an exit code above 0, which is right if nothing is left to read. `read` counts losses, of flips in plain text.\n\n")
		t.WriteMarkdown(&out)
	}
	if len(b.growth) > 0 {
		columns := []table.Column{table.Text("Shape")}
		for _, tool := range b.tools {
			columns = append(columns, table.Number(tool.name))
		}
		t := table.New(append(columns, table.Number("Slowest, 4 n (s)"))...)
		for i := 0; i < len(b.growth); {
			shape, slowest, cells := b.growth[i].shape, time.Duration(0), []string{b.growth[i].shape}
			for ; i < len(b.growth) && b.growth[i].shape == shape; i++ {
				r := &b.growth[i]
				slowest = max(slowest, r.large)
				if cells = append(cells, fmt.Sprintf("%.2f", r.exponent)); r.hung {
					cells[len(cells)-1] = "hung"
				}
			}
			t.Row(append(cells, fmt.Sprintf("%.2f", slowest.Seconds()))...)
		}
		fmt.Fprintf(&out, "\n## Growth\n\nExponents of the time from n = %d to 4 n events: 1 is linear, 2 quadratic. At most %.2f is allowed if 4 n takes over %v.\n\n", b.size, b.exponent, leastGrowth)
		t.WriteMarkdown(&out)
	}
	return out.Bytes()
}

// bySuite adds up the rows of each suite and tool.
func bySuite(rows []row) []row {
	var out []row
	for _, r := range rows {
		i := slices.IndexFunc(out, func(o row) bool { return o.suite == r.suite && o.tool == r.tool })
		if i < 0 {
			out = append(out, r)
			continue
		}
		o := &out[i]
		o.files, o.crashed, o.hung, o.refused, o.lost = o.files+r.files, o.crashed+r.crashed, o.hung+r.hung,
			o.refused+r.refused, o.lost+r.lost
		o.slowest, o.peak = max(o.slowest, r.slowest), max(o.peak, r.peak)
	}
	return out
}
