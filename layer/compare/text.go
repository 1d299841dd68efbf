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

// limits are how many lines of each list are printed.
type limits struct{ rows, host, list, notes int }

var (
	textLimits = limits{rows: 60, host: 20, list: 40, notes: 40}
	// markdownLimits keep a comment on a change to sixty lines, where doubts, what is left out and notes are one list.
	markdownLimits = limits{rows: 8, host: 3, list: 3, notes: 2}
)

func (r *Report) write(w io.Writer, markdown bool) error {
	l := textLimits
	if markdown {
		l = markdownLimits
	}
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
	list := func(t *table.Table) error {
		if markdown {
			return t.WriteMarkdown(b)
		}
		return t.WriteText(b)
	}
	if len(r.Rows) > 0 {
		line("")
		if err := list(r.table(l.rows)); err != nil {
			return err
		}
	}
	if len(r.Waterfall) > 0 {
		line("\nWhere a step's time changed")
		line("")
		if err := list(r.cascade()); err != nil {
			return err
		}
	}
	if h := r.Host; h != nil && slices.ContainsFunc(h.Rows, func(row HostRow) bool { return row.Judged }) {
		line("\nWhat the host does, per step")
		line("")
		if err := list(h.table(l.host)); err != nil {
			return err
		}
	}
	if len(r.Rows) > 0 {
		line("\nLook first at: %s", r.First.Sentence())
	}
	var findings, gates, doubts []string
	for i := range r.Findings {
		findings = append(findings, r.Findings[i].Sentence())
	}
	for i := range r.Gates {
		gates = append(gates, r.Gates[i].Outcome+": "+r.Gates[i].Text)
	}
	for i := range r.Doubts {
		doubts = append(doubts, r.Doubts[i].Sentence())
	}
	section(b, "Findings, largest first", findings, l.list)
	section(b, "Gates", gates, l.list)
	if markdown {
		section(b, "Notes", slices.Concat(doubts, r.Left, r.Notes), l.notes)
		return b.Flush()
	}
	section(b, "Doubts", doubts, l.notes)
	section(b, "Left out", r.Left, l.notes)
	section(b, "Notes", r.Notes, l.notes)
	return b.Flush()
}

// WriteCSV writes a line for each row and each kernel of it: all of the difference, for tables and scripts.
func (r *Report) WriteCSV(w io.Writer) error {
	c := table.NewCSV(w)
	c.Header("kind", "operator", "kernel", "was", "class", "a_ns", "b_ns", "delta_ns", "a_kernel_ns", "b_kernel_ns",
		"delta_kernel_ns", "low_ns", "high_ns", "judged", "significant", "status",
		"launches_a", "launches_b", "a_floor_ns", "b_floor_ns", "because", "category", "a_wait_ns", "b_wait_ns",
		"a_bytes", "b_bytes", "a_gflop", "b_gflop", "a_shape", "b_shape")
	for i := range r.Rows {
		row := &r.Rows[i]
		own := KernelDelta{A: row.KernelA, B: row.KernelB, Low: row.Low, High: row.High, Judged: row.Judged,
			Significant: row.Significant, Status: row.Status, LaunchesA: row.LaunchesA, LaunchesB: row.LaunchesB,
			WorkA: row.WorkA, WorkB: row.WorkB}
		for _, k := range row.Kernels {
			own.WaitA, own.WaitB = own.WaitA+k.WaitA, own.WaitB+k.WaitB
		}
		if err := row.csv(c, "operator", &own); err != nil {
			return err
		}
		for k := range row.Kernels {
			if err := row.csv(c, "kernel", &row.Kernels[k]); err != nil {
				return err
			}
		}
	}
	return c.Flush()
}

// csv writes a line about the row, or about a kernel of it.
func (r *Row) csv(c *table.CSV, kind string, k *KernelDelta) error {
	texts := func(list ...string) {
		for _, s := range list {
			c.String(s)
		}
	}
	times := func(list ...time.Duration) {
		for _, d := range list {
			c.Int(int64(d))
		}
	}
	texts(kind, r.Operator, k.Name, k.Was, string(r.Class))
	because := ""
	if kind == "operator" { // a kernel has no part of the step of its own
		because = r.Because
		times(r.A, r.B, r.Delta)
	} else {
		texts("", "", "")
	}
	times(k.A, k.B, k.B-k.A, k.Low, k.High)
	texts(fmt.Sprint(k.Judged), fmt.Sprint(k.Significant), string(k.Status))
	c.Float(k.LaunchesA)
	c.Float(k.LaunchesB)
	times(k.WorkA.Floor, k.WorkB.Floor)
	texts(because, k.Category)
	times(k.WaitA, k.WaitB)
	c.Int(k.WorkA.Bytes)
	c.Int(k.WorkB.Bytes)
	c.Float(k.WorkA.GFLOP)
	c.Float(k.WorkB.GFLOP)
	texts(k.WorkA.Shape, k.WorkB.Shape)
	return c.End()
}

// section prints a list under a title, at most so many of its lines; nothing where the list is empty.
func section(b *table.Writer, title string, list []string, most int) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n\n", title)
	for _, line := range list[:min(len(list), most)] {
		fmt.Fprintf(b, "- %s\n", line)
	}
	if n := len(list) - most; n > 0 {
		fmt.Fprintf(b, "- and %d more\n", n)
	}
}

func (s *Summary) line(side string) string {
	out := side + ": " + name(s)
	if s.Passes > 0 {
		out += ", " + s.Work()
		out += fmt.Sprintf(", %s each, %s of its kernels in graph replays, %s compiled", table.Duration(s.Wall),
			percent(s.Graph), percent(s.Compiled))
	}
	for _, x := range []string{s.GPU, s.Commit, s.Date} {
		if x != "" {
			out += ", " + x
		}
	}
	return out
}

// Work says in words which passes of the side are compared.
func (s *Summary) Work() string {
	return identity{stage: s.Stage, batch: s.Batch, tokens: s.Tokens}.passes(s.Passes)
}

func name(s *Summary) string {
	if s.Label != "" {
		return s.Label
	}
	return s.Trace
}

// us prints microseconds.
func us(d time.Duration) string { return table.Fixed(float64(d)/1e3, 1) }

// text prints where the difference is judged to lie.
func (i *Interval) text(judged bool) string {
	if !judged {
		return ""
	}
	return us(i.Low) + " … " + us(i.High)
}

// overlaps is from which share on the time of a row's kernels and its part of the step differ so much that both are
// printed.
const overlaps = 0.05

// Overlapped reports whether kernels of a row run beside others for so long that its part of the step says little of
// them.
func (r *Row) Overlapped() bool {
	far := func(x, y time.Duration) bool { return float64(abs(x-y)) > overlaps*float64(max(x, y)) }
	return r.Class != Waiting && (far(r.A, r.KernelA) || far(r.B, r.KernelB))
}

// table lists the rows, the largest difference first; after so many of them the others are one.
func (r *Report) table(most int) *table.Table {
	both := slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Overlapped() })
	columns := []table.Column{table.Text("Operator"), table.Number("A (µs)"), table.Number("B (µs)"),
		table.Number("B − A"), table.Number("%"), table.Number("95% interval"),
		table.Number("Of the difference"), table.Text("Found"), table.Number("Launches"), table.Text("Kernel A"),
		table.Text("Kernel B")}
	if both { // the interval is that of kernel time
		columns = slices.Insert(columns, 5, table.Number("Kernel time A → B"))
	}
	t := table.New(columns...)
	shown := 0
	var rest Interval
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.A == 0 && row.B == 0 {
			continue
		}
		if shown++; shown > most {
			rest.A, rest.B, rest.Delta = rest.A+row.A, rest.B+row.B, rest.Delta+row.Delta
			continue
		}
		percent, share := "", ""
		if row.A > 0 {
			percent = fmt.Sprintf("%+.1f", 100*float64(row.Delta)/float64(row.A))
		}
		if abs(r.Delta) >= r.Least { // else it is no difference to have a share of
			share = table.Percent(float64(row.Delta), float64(r.Delta), 0) + "%"
		}
		cells := []string{row.Operator, us(row.A), us(row.B), us(row.Delta), percent, row.text(row.Judged), share, row.Found,
			fmt.Sprintf("%.0f → %.0f", row.LaunchesA, row.LaunchesB),
			first(row.Names(0)), first(row.Names(1))}
		if both {
			times := ""
			if row.Overlapped() {
				times = us(row.KernelA) + " → " + us(row.KernelB)
			}
			cells = slices.Insert(cells, 5, times)
		}
		t.Row(cells...)
	}
	if shown > most {
		t.Row(table.Counted(shown-most, "other", "others"), us(rest.A), us(rest.B), us(rest.Delta))
	}
	t.Rule()
	t.Row("= pass", us(r.A.Wall), us(r.A.Wall+r.Delta), us(r.Delta),
		fmt.Sprintf("%+.1f", 100*float64(r.Delta)/float64(max(r.A.Wall, 1))))
	return t
}

// cascade lists the parts of the step.
func (r *Report) cascade() *table.Table {
	t := table.New(table.Text("Part"), table.Number("A (µs)"), table.Number("B (µs)"), table.Number("B − A"),
		table.Number("95% interval"), table.Text("Found"))
	for i := range r.Waterfall {
		row := &r.Waterfall[i]
		t.Row(row.Operator, us(row.A), us(row.B), us(row.Delta), row.text(row.Judged), row.Found)
	}
	return t
}

// table lists the operations, the largest difference first.
func (h *HostReport) table(most int) *table.Table {
	t := table.New(table.Text("Operation").Limit(operationWidth), table.Text("Kind"), table.Number("A (µs)"),
		table.Number("B (µs)"), table.Number("B − A"), table.Number("95% interval"),
		table.Text("Found"), table.Number("Times a step"))
	for i := range h.Rows[:min(len(h.Rows), most)] {
		row := &h.Rows[i]
		t.Row(tail(row.Name), row.Kind, us(row.A), us(row.B), us(row.Delta), row.text(row.Judged),
			found(row.Judged, row.Significant, row.Status, row.Delta, h.Least),
			fmt.Sprintf("%.1f → %.1f", row.CountA, row.CountB))
	}
	return t
}

// tail leaves out leading directories of a Python frame: frames differ at the end.
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
		return string(status)
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
