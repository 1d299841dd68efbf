package compare

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/table"
)

// WriteText prints the comparison for people.
func (r *Report) WriteText(w io.Writer) error { return r.write(w, false) }

// WriteMarkdown prints the same as Markdown, for a summary of a workflow or an issue.
func (r *Report) WriteMarkdown(w io.Writer) error { return r.write(w, true) }

func (r *Report) write(w io.Writer, markdown bool) error {
	b := table.NewWriter(w)
	line := func(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }
	if markdown {
		line("### %s", r.Text)
	} else {
		line("%s", r.Text)
	}
	line("")
	line("%s", r.A.line("A"))
	if markdown {
		line("")
	}
	line("%s", r.B.line("B"))
	line("")
	t := r.table()
	var err error
	if markdown {
		err = t.WriteMarkdown(b)
	} else {
		err = t.WriteText(b)
	}
	if err != nil {
		return err
	}
	if h := r.Host; h != nil && slices.ContainsFunc(h.Rows, func(row HostRow) bool { return row.Judged }) {
		line("\nWhat the host does, per step")
		line("")
		t := h.table()
		write := t.WriteText
		if markdown {
			write = t.WriteMarkdown
		}
		if err := write(b); err != nil {
			return err
		}
	}
	line("\nLook first at: %s", r.First.Sentence())
	section(b, "Findings, largest first", len(r.Findings), func(i int) string { return r.Findings[i].Sentence() })
	section(b, "Doubts", len(r.Doubts), func(i int) string { return r.Doubts[i].Sentence() })
	section(b, "Gates", len(r.Gates), func(i int) string { return r.Gates[i].Outcome + ": " + r.Gates[i].Text })
	section(b, "Left out", len(r.Left), func(i int) string { return r.Left[i] })
	section(b, "Notes", len(r.Notes), func(i int) string { return r.Notes[i] })
	return b.Flush()
}

// WriteCSV writes a line for each row and each kernel of it: all of the difference, for tables and scripts.
func (r *Report) WriteCSV(w io.Writer) error {
	c := table.NewCSV(w)
	c.Header("kind", "operator", "kernel", "was", "class", "a_ns", "b_ns", "delta_ns", "a_kernel_ns", "b_kernel_ns", "delta_kernel_ns", "low_ns", "high_ns", "judged", "significant", "status",
		"launches_a", "launches_b", "a_floor_ns", "b_floor_ns", "because")
	for i := range r.Rows {
		row := &r.Rows[i]
		for _, s := range []string{"operator", row.Operator, "", "", row.Class} {
			c.String(s)
		}
		for _, d := range []time.Duration{row.A, row.B, row.Delta, row.KernelA, row.KernelB, row.kernelDelta(), row.Low, row.High} {
			c.Int(int64(d))
		}
		for _, s := range []string{fmt.Sprint(row.Judged), fmt.Sprint(row.Significant), row.Status.String()} {
			c.String(s)
		}
		c.Float(row.LaunchesA)
		c.Float(row.LaunchesB)
		c.Int(int64(row.FloorA))
		c.Int(int64(row.FloorB))
		c.String(row.Because)
		if err := c.End(); err != nil {
			return err
		}
		for _, k := range row.Kernels {
			for _, s := range []string{"kernel", row.Operator, k.Name, k.Was, row.Class, "", "", ""} {
				c.String(s)
			}
			for _, d := range []time.Duration{k.A, k.B, k.B - k.A} {
				c.Int(int64(d))
			}
			for range 5 {
				c.String("")
			}
			c.Float(k.LaunchesA)
			c.Float(k.LaunchesB)
			for range 3 {
				c.String("")
			}
			if err := c.End(); err != nil {
				return err
			}
		}
	}
	return c.Flush()
}

// section prints a list under a title; nothing where the list is empty.
func section(b *table.Writer, title string, n int, of func(i int) string) {
	if n == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n\n", title)
	for i := range n {
		fmt.Fprintf(b, "- %s\n", of(i))
	}
}

func (s *Summary) line(side string) string {
	out := fmt.Sprintf("%s: %s, %d %s passes", side, name(s), s.Passes, s.Stage)
	if s.Batch >= 0 {
		out += fmt.Sprintf(" of batch %d", s.Batch)
	}
	out += fmt.Sprintf(", %s each", table.Duration(s.Wall))
	out += fmt.Sprintf(", %.0f%% of its kernels in graph replays, %.0f%% compiled", 100*s.Graph, 100*s.Compiled)
	for _, x := range []string{s.GPU, s.Commit, s.Date} {
		if x != "" {
			out += ", " + x
		}
	}
	return out
}

func name(s *Summary) string {
	if s.Label != "" {
		return s.Label
	}
	return s.Trace
}

// table lists the rows, the largest difference first.
func (r *Report) table() *table.Table {
	t := table.New(table.Text("Operator"), table.Number("A (µs)"), table.Number("B (µs)"), table.Number("B − A"), table.Number("%"), table.Number("95% interval"),
		table.Number("Of the difference"), table.Text("Found"), table.Number("Launches"), table.Text("Kernel A"), table.Text("Kernel B"))
	us := func(d time.Duration) string { return table.Fixed(float64(d)/1e3, 1) }
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.A == 0 && row.B == 0 {
			continue
		}
		percent, share := "", ""
		if row.A > 0 {
			percent = fmt.Sprintf("%+.1f", 100*float64(row.Delta)/float64(row.A))
		}
		if r.Delta != 0 {
			share = table.Percent(float64(row.Delta), float64(r.Delta), 0) + "%"
		}
		interval := fmt.Sprintf("%s … %s", us(row.Low), us(row.High))
		if !row.Judged {
			interval = ""
		}
		t.Row(row.Operator, us(row.A), us(row.B), us(row.Delta), percent, interval, share, row.Found, fmt.Sprintf("%.0f → %.0f", row.LaunchesA, row.LaunchesB),
			first(row.KernelsA), first(row.KernelsB))
	}
	t.Rule()
	t.Row("= pass", us(r.A.Wall), us(r.A.Wall+r.Delta), us(r.Delta), fmt.Sprintf("%+.1f", 100*float64(r.Delta)/float64(max(r.A.Wall, 1))))
	return t
}

// hostRows is how many operations of the host a table lists.
const hostRows = 20

// table lists the operations, the largest difference first.
func (h *HostReport) table() *table.Table {
	t := table.New(table.Text("Operation").Limit(operationWidth), table.Text("Kind"), table.Number("A (µs)"), table.Number("B (µs)"), table.Number("B − A"), table.Number("95% interval"),
		table.Text("Found"), table.Number("Count"))
	us := func(d time.Duration) string { return table.Fixed(float64(d)/1e3, 1) }
	for i := range h.Rows[:min(len(h.Rows), hostRows)] {
		row := &h.Rows[i]
		between := ""
		if row.Judged {
			between = fmt.Sprintf("%s … %s", us(row.Low), us(row.High))
		}
		t.Row(tail(row.Name), row.Kind, us(row.A), us(row.B), us(row.Delta), between, found(row.Judged, row.Significant, row.Status, row.Delta, h.Least), fmt.Sprintf("%.1f → %.1f", row.CountA, row.CountB))
	}
	return t
}

// tail leaves out leading directories of a Python frame: what tells frames apart is at the end.
func tail(name string) string {
	short := name
	for len(short) > operationWidth && strings.Contains(short, ".py") {
		i := strings.IndexByte(strings.TrimPrefix(short, "…/"), '/')
		if i < 0 || i > strings.Index(short, ".py") {
			break
		}
		short = "…/" + strings.TrimPrefix(short, "…/")[i+1:]
	}
	return short
}

// operationWidth is how wide names of operations may be in tables.
const operationWidth = 56

// found says in a word what is known of a row or an operation, see [Row].
func found(judged, significant bool, status Change, delta, least time.Duration) string {
	switch {
	case !judged:
		return "not judged"
	case status != Unchanged:
		return status.String()
	case significant:
		return "yes"
	case abs(delta) >= least:
		return "not clear"
	}
	return ""
}

func first(kernels []string) string {
	if len(kernels) == 0 {
		return ""
	}
	return short(kernels[0])
}
