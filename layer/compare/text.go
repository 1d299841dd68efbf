package compare

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

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

// textWidth is how wide text is where nothing says how wide it may be.
const textWidth = 160

// page is a report while it is written.
type page struct {
	*table.Writer
	limits
	markdown bool
}

// line writes a sentence after a mark: one line of Markdown; as many of text as it takes.
func (p *page) line(mark, format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	if p.markdown {
		fmt.Fprintln(p, mark+table.EscapeProse(s))
		return
	}
	for i, l := range table.Fill(s, cmp.Or(p.Width(), textWidth)-len("- ")) {
		if i == 1 {
			mark = "  "
		}
		fmt.Fprintln(p, mark+l)
	}
}

// table writes a table, below a title ("": none), and in text what is not clear in it.
func (p *page) table(title string, t *table.Table, noisy string) {
	if title != "" {
		fmt.Fprintf(p, "\n%s\n", title)
	}
	fmt.Fprintln(p)
	if p.markdown {
		_ = t.WriteMarkdown(p) // the Writer keeps the error
	} else {
		_ = t.WriteFit(p, cmp.Or(p.Width(), textWidth))
	}
	if noisy != "" && !p.markdown {
		fmt.Fprintln(p)
		p.line("", "%s", noisy)
	}
}

// section writes a list under a title, at most so many of its lines; nothing where the list is empty.
func (p *page) section(title string, list []string, most int) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(p, "\n%s\n\n", title)
	for _, s := range list[:min(len(list), most)] {
		p.line("- ", "%s", s)
	}
	if n := len(list) - most; n > 0 {
		p.line("- ", "and %d more", n)
	}
}

func (r *Report) write(w io.Writer, markdown bool) error {
	p := &page{table.NewWriter(w), textLimits, markdown}
	heading := ""
	if markdown {
		p.limits, heading = markdownLimits, "### "
	}
	p.line(heading, "%s", r.Text)
	fmt.Fprintln(p)
	p.line("", "%s", r.A.line("A"))
	if markdown {
		fmt.Fprintln(p)
	}
	p.line("", "%s", r.B.line("B"))
	if len(r.Rows) > 0 {
		p.table("", r.table(p.rows), Unclear(r.Rows))
	}
	if len(r.Waterfall) > 0 {
		p.table("Where a step's time changed", r.cascade(), Unclear(r.Waterfall))
	}
	if h := r.Host; h != nil && slices.ContainsFunc(h.Rows, func(row HostRow) bool { return row.Judged }) {
		p.table("What the host does, per step", h.table(p.host), h.unclear(p.host))
	}
	if len(r.Rows) > 0 {
		fmt.Fprintln(p)
		p.line("", "Look first at: %s", r.First.Sentence())
	}
	var findings, gates, doubts []string
	for i := range r.Findings {
		findings = append(findings, r.Findings[i].Sentence())
	}
	for i := range r.Gates {
		gates = append(gates, string(r.Gates[i].Outcome)+": "+r.Gates[i].Text)
	}
	for i := range r.Doubts {
		doubts = append(doubts, r.Doubts[i].Sentence())
	}
	p.section("Findings, largest first", findings, p.list)
	p.section("Gates", gates, p.list)
	if markdown {
		if s := Unclear(r.Rows); s != "" {
			doubts = append(doubts, s)
		}
		p.section("Notes", slices.Concat(doubts, r.Left, r.Notes), p.notes)
		return p.Flush()
	}
	p.section("Doubts", doubts, p.notes)
	p.section("Left out", r.Left, p.notes)
	p.section("Notes", r.Notes, p.notes)
	return p.Flush()
}

// A faint difference may be noise; from seen on it would not be.
type faint struct {
	name        string
	delta, seen time.Duration
}

// unclear says from which change on differences that may be noise would be none, "" without any.
func unclear(list []faint) string {
	const most = 3
	var words []string
	for _, c := range list[:min(len(list), most)] {
		words = append(words, fmt.Sprintf("%s %s (clear from %s)", c.name, table.Change(c.delta), table.Duration(c.seen)))
	}
	if n := len(list) - most; n > 0 {
		words = append(words, fmt.Sprintf("%d more", n))
	}
	if len(words) == 0 {
		return ""
	}
	return "Not clear, as noise may explain it: " + table.Join(words, "and") +
		". More passes or runs a side show smaller changes."
}

// Unclear says of rows that are not clear from which change on they would be, "" without any.
func Unclear(rows []Row) string {
	var list []faint
	for i := range rows {
		if r := &rows[i]; r.Found == NotClear {
			list = append(list, faint{r.Operator, r.kernelDelta(), r.Seen})
		}
	}
	return unclear(list)
}

// unclear is [Unclear] of the first of the operations.
func (h *HostReport) unclear(most int) string {
	var list []faint
	for _, r := range h.listed(most) {
		if h.found(r) == NotClear {
			list = append(list, faint{r.Name, r.Delta, r.Seen})
		}
	}
	return unclear(list)
}

// listed are the first of the operations, without those whose difference is mostly that of an inner one.
func (h *HostReport) listed(most int) (rows []*HostRow) {
	for i := range h.Rows {
		if row := &h.Rows[i]; len(rows) < most && row.Inner == "" {
			rows = append(rows, row)
		}
	}
	return rows
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
		if err := row.csv(c, rowOperator, &own); err != nil {
			return err
		}
		for k := range row.Kernels {
			if err := row.csv(c, rowKernel, &row.Kernels[k]); err != nil {
				return err
			}
		}
	}
	return c.Flush()
}

// rowKind is what a line of the CSV is about.
type rowKind string

const (
	rowOperator rowKind = "operator"
	rowKernel   rowKind = "kernel"
)

// csv writes a line about the row, or about a kernel of it.
func (r *Row) csv(c *table.CSV, kind rowKind, k *KernelDelta) error {
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
	texts(string(kind), r.Operator, k.Name, k.Was, string(r.Class))
	because := ""
	if kind == rowOperator { // a kernel has no part of the step of its own
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

func (s *Summary) line(side string) string {
	out := side + ": " + name(s)
	if s.Passes > 0 {
		out += ", " + s.Work()
		out += fmt.Sprintf(", %s each, %s of its kernels in graph replays", table.Duration(s.Wall), percent(s.Graph))
		if compiled := percent(s.Compiled); compiled != percent(0) {
			out += ", " + compiled + " compiled"
		}
	}
	return strings.Join(table.Known(out, s.GPU, s.Commit, s.Date), ", ")
}

// Work says in words which passes of the side are compared.
func (s *Summary) Work() string {
	return identity{stage: s.Stage, batch: s.Batch, tokens: s.Tokens}.passes(s.Passes)
}

func name(s *Summary) string {
	return cmp.Or(s.Label, s.Trace)
}

// us prints microseconds.
func us(d time.Duration) string { return table.Fixed(float64(d)/1e3, 1) }

// text prints where the difference is judged to lie.
func (i *Interval) text(judged bool) string {
	if !judged || i.Low == i.High { // which is exact
		return ""
	}
	return us(i.Low) + " … " + us(i.High)
}

// overlaps is from which share on the time of a row's kernels and its part of the step differ so much that pages show
// both.
const overlaps = 0.05

// Overlapped reports whether kernels of a row run beside others for so long that its part of the step says little of
// them.
func (r *Row) Overlapped() bool {
	far := func(x, y time.Duration) bool { return float64(abs(x-y)) > overlaps*float64(max(x, y)) }
	return r.Class != Waiting && (far(r.A, r.KernelA) || far(r.B, r.KernelB))
}

// Empty reports whether a row has no time that a table would show.
func (r *Row) Empty() bool {
	return max(r.A, r.B, r.KernelA, r.KernelB) < 50*time.Nanosecond // 0.0 µs
}

// table lists the rows, the largest difference first; after so many of them the others are one. Intervals are those of
// kernel time, whose difference is beside them where it is another one.
func (r *Report) table(most int) *table.Table {
	both := slices.ContainsFunc(r.Rows, func(row Row) bool { return us(row.Delta) != us(row.kernelDelta()) })
	columns := []table.Column{table.Text("Operator"), table.Number("A (µs)"), table.Number("B (µs)"),
		table.Number("B − A"), table.Number("%"), table.Number("95% interval"), table.Text("Found"),
		table.Number("Launches"), table.Code("Kernel")}
	if both {
		columns = slices.Insert(columns, 5, table.Number("Kernel time B − A"))
	}
	t := table.New(columns...)
	shown := 0
	var rest Interval
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Empty() {
			continue
		}
		if shown++; shown > most {
			rest.A, rest.B, rest.Delta = rest.A+row.A, rest.B+row.B, rest.Delta+row.Delta
			continue
		}
		cells := []string{row.Operator, us(row.A), us(row.B), us(row.Delta), relative(row.Delta, row.A), row.text(row.Judged),
			row.Found, row.Launches(), row.mainKernels()}
		if both {
			cells = slices.Insert(cells, 5, us(row.kernelDelta()))
		}
		t.Row(cells...)
	}
	if shown > most {
		t.Row(table.Counted(shown-most, "other", "others"), us(rest.A), us(rest.B), us(rest.Delta))
	}
	t.Rule()
	t.Row("= pass", us(r.A.Wall), us(r.A.Wall+r.Delta), us(r.Delta), relative(r.Delta, r.A.Wall))
	return t
}

// relative is a difference in per cent of what it is to, "" of nothing.
func relative(d, of time.Duration) string {
	if of == 0 {
		return ""
	}
	return fmt.Sprintf("%+.1f", 100*float64(d)/float64(of))
}

// Launches are the launches in a pass of each side, "" of time without kernels.
func (r *Row) Launches() string {
	if r.LaunchesA == 0 && r.LaunchesB == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f → %.0f", r.LaunchesA, r.LaunchesB)
}

// mainKernels are the kernels with most time of each side, in one line where they are the same.
func (r *Row) mainKernels() string {
	var lines []string
	for side, mark := range []string{"", "→ "} {
		if names := r.Names(side); len(names) > 0 {
			if name := r.briefs.of(names[0]); !slices.Contains(lines, name) {
				lines = append(lines, mark+name)
			}
		}
	}
	return table.Lines(lines...)
}

// cascade lists the parts of the step.
func (r *Report) cascade() *table.Table {
	t := table.New(table.Text("Part"), table.Number("A (µs)"), table.Number("B (µs)"), table.Number("B − A"),
		table.Number("95% interval"), table.Text("Found"))
	for i := range r.Waterfall {
		row := &r.Waterfall[i]
		if row.Empty() {
			continue
		}
		t.Row(row.Operator, us(row.A), us(row.B), us(row.Delta), row.text(row.Judged), row.Found)
	}
	return t
}

// table lists the operations, the largest difference first, each with what has most of it.
func (h *HostReport) table(most int) *table.Table {
	t := table.New(table.Path("Operation"), table.Text("Kind"), table.Number("A (µs)"),
		table.Number("B (µs)"), table.Number("B − A"), table.Number("95% interval"),
		table.Text("Found"), table.Number("Times a step"))
	for _, row := range h.listed(most) {
		t.Row(row.Name, string(row.Kind), us(row.A), us(row.B), us(row.Delta), row.text(row.Judged), h.found(row),
			fmt.Sprintf("%.1f → %.1f", row.CountA, row.CountB))
	}
	return t
}

func (h *HostReport) found(row *HostRow) string {
	return found(row.Judged, row.Significant, row.Status, row.Delta, h.Least)
}

// NotClear is the word of [Row.Found] for a difference that would matter and may be noise.
const NotClear = "not clear"

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
		return NotClear
	}
	return ""
}

// nameWidth is how long names of kernels are in tables and sentences.
const nameWidth = 42

// short cuts a long name of a kernel at its arguments and templates, then in the middle: names of one generator begin
// alike, and end in what sets them apart.
func short(name string) string {
	name = strings.TrimPrefix(name, "void ")
	if i := strings.IndexAny(name, "<("); i > 0 && utf8.RuneCountInString(name) > nameWidth {
		name = strings.TrimSpace(name[:i])
	}
	if utf8.RuneCountInString(name) <= nameWidth {
		return name
	}
	const end = nameWidth / 3
	return ends(name, utf8.RuneCountInString(name)-end, nameWidth-end-1, end)
}

// ends are so many characters of the start of a name, and of those from a place on.
func ends(name string, from, start, most int) string {
	whole := []rune(name)
	n := len(whole)
	return string(whole[:min(start, n)]) + "…" + string(whole[min(from, n):min(from+most, n)])
}

// briefs are the names of kernels that look like others when they are cut.
type briefs map[string]string

// briefsOf shows where names that look the same differ first, and numbers those that still do.
func briefsOf(names []string) briefs {
	same := map[string][]string{}
	for _, n := range slices.Compact(slices.Sorted(slices.Values(names))) {
		same[short(n)] = append(same[short(n)], n)
	}
	out := briefs{}
	for brief, list := range same {
		if len(list) == 1 {
			continue
		}
		const start = nameWidth / 4
		first, last := []rune(list[0]), []rune(list[len(list)-1]) // of sorted names, all share what these do
		from := 0
		for from < min(len(first), len(last)) && first[from] == last[from] {
			from++
		}
		seen := map[string]bool{}
		for _, n := range list {
			out[n] = ends(n, max(from, start), start, nameWidth-start-1)
			seen[out[n]] = true
		}
		for i, n := range list {
			if len(seen) < len(list) {
				out[n] = fmt.Sprintf("%s #%d", brief, i+1)
			}
		}
	}
	return out
}

// of is a name as tables and sentences have it.
func (b briefs) of(name string) string { return cmp.Or(b[name], short(name)) }
