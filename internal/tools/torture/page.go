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
		out.WriteString("\n## Damage and bombs\n\nRefused is an exit code above 0, which is right where nothing is left to read. Losses are counted by `read`, of flips in plain text. On Unix a peak is at least that of this program itself, which started the other.\n\n")
		t.WriteMarkdown(&out)
	}
	if len(b.growth) > 0 {
		t := table.New(table.Text("Shape"), table.Text("Tool"), table.Number("n, s"), table.Number("4 n, s"),
			table.Number("Exponent"))
		for _, r := range b.growth {
			e := fmt.Sprintf("%.2f", r.exponent)
			if r.hung {
				e = "hung"
			}
			t.Row(r.shape, r.tool, fmt.Sprintf("%.2f", r.small.Seconds()), fmt.Sprintf("%.2f", r.large.Seconds()), e)
		}
		fmt.Fprintf(&out, "\n## Growth\n\nn is %d events. An exponent of 1 is linear, 2 the square; at most %.2f is allowed where the larger size takes over %v.\n\n", b.size, b.exponent, leastGrowth)
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
