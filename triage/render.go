package triage

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// WriteMarkdown writes the report as Markdown, names from code as code spans.
func (r *Report) WriteMarkdown(w io.Writer) error { return r.write(&page{w: table.NewCleaner(w)}) }

// WriteText writes the report as plain text for a terminal of so many columns; 0: lines of any length.
func (r *Report) WriteText(w io.Writer, columns int) error {
	return r.write(&page{w: table.NewCleaner(w), text: true, width: columns})
}

func (r *Report) write(m *page) error {
	m.head(r)
	m.section(r, r.Stages, "Kernel Table", m.kernels)
	steps := slices.DeleteFunc(slices.Clone(r.Stages),
		func(s StageReport) bool { return s.PassStage == layer.StageCapture }) // a capture runs none
	if len(steps) == 0 && len(r.Stages) > 0 {
		m.foot(r)
		return m.err
	}
	m.section(r, steps, "Operators", m.operators)
	m.section(r, steps, "Exposure", m.exposure)
	m.section(r, steps, "Overlap Opportunity Table", m.overlap)
	m.section(r, steps, "Fuse Opportunity Table", m.fuse)
	if slices.ContainsFunc(r.Stages, func(s StageReport) bool { return len(s.Slow) > 0 }) {
		m.section(r, steps, "Slow Kernels", m.slow)
	}
	m.foot(r)
	return m.err
}

// page writes Markdown, or text, until the first error.
type page struct {
	w     io.Writer
	err   error
	text  bool
	width int // of text; 0: any
}

func (m *page) printf(format string, args ...any) {
	if m.err == nil {
		_, m.err = fmt.Fprintf(m.w, format, args...)
	}
}

// para writes a paragraph, followed by an empty line.
func (m *page) para(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	if !m.text {
		m.printf("%s\n\n", s)
		return
	}
	for _, l := range table.Fill(s, m.width) {
		m.printf("%s\n", l)
	}
	m.printf("\n")
}

// fact writes a line of the head.
func (m *page) fact(name, value string) {
	if value != "" {
		m.printf("%s: %s\n", name, table.Clean(value))
	}
}

// heading begins a part; lower levels are parts of higher ones.
func (m *page) heading(level int, title string) {
	switch {
	case !m.text:
		m.printf("%s %s\n\n", strings.Repeat("#", level), title)
	case level <= 2:
		m.printf("%s\n%s\n\n", title, strings.Repeat("=", len(title)))
	default:
		m.printf("%s\n%s\n\n", title, strings.Repeat("-", len(title)))
	}
}

func (m *page) table(t *table.Table) {
	switch {
	case m.err != nil:
	case m.text:
		m.err = t.WriteFit(m.w, m.width)
	default:
		m.err = t.WriteMarkdown(m.w)
	}
	m.printf("\n")
}

// code is a name from code within a text.
func (m *page) code(s string) string {
	if m.text {
		return table.Clean(s)
	}
	return table.CodeSpan(s)
}

func (m *page) codes(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = m.code(s)
	}
	return strings.Join(out, ", ")
}

func (m *page) head(r *Report) {
	m.heading(1, "Triage View")
	if c := r.Capture; c != nil {
		m.fact("Capture", c.Validity)
		for _, w := range c.Why {
			m.fact("Not valid", w)
		}
		for _, f := range c.Facts {
			m.fact("Captured", f)
		}
	}
	m.fact("Mode", r.Mode)
	framework := r.Framework
	if r.MappingFramework != "" && r.MappingFramework != r.Framework {
		framework = r.MappingFramework + " (mapping), " + r.Framework + " (formal)"
	}
	m.fact("Framework", framework)
	if len(r.MappingTraces) > 0 {
		m.fact("Mapping traces", strings.Join(r.MappingTraces, ", "))
		m.fact("Formal traces", strings.Join(r.Traces, ", "))
	} else {
		m.fact("Input traces", strings.Join(r.Traces, ", "))
	}
	m.fact("Mapping traces not used", r.MappingRefused)
	m.fact("Model", r.Model)
	if r.TPSize > 0 {
		m.fact("TP size", fmt.Sprint(r.TPSize))
	}
	for i := range r.Stages {
		m.fact(figuresTitle(r.Stages[i].PassStage), r.Stages[i].figures())
	}
	m.printf("\n")
}

// section writes one table of stages, with a heading per stage where there is more to say than "all".
func (m *page) section(r *Report, stages []StageReport, title string, write func(*Report, *StageReport)) {
	m.heading(2, title)
	if len(stages) == 0 {
		m.para("No GPU activity.")
	}
	for i := range stages {
		s := &stages[i]
		if len(stages) > 1 || s.PassStage != layer.StageUnknown {
			m.heading(3, stageTitle(s.PassStage))
		}
		write(r, s)
	}
}

// stageTitle is how tables head a stage.
func stageTitle(s layer.Stage) string {
	if word := stageWord(s); word != s.String() && s != layer.StageUnknown {
		return word + "/" + s.String()
	}
	return stageWord(s)
}

func pct(v float64) string  { return table.Pct(v, 1) }
func part(v float64) string { return table.Pct(100*v, 1) }

// nanos and fromUS show a time, none a list.
func nanos(ns int64) string     { return table.Duration(time.Duration(ns)) }
func fromUS(us float64) string  { return table.Duration(time.Duration(us * 1e3)) }
func none(list []string) string { return cmp.Or(table.Lines(list...), table.None) }

func (m *page) kernels(r *Report, s *StageReport) {
	var b strings.Builder
	fmt.Fprintf(&b, "GPU time %s in %s", fromUS(s.GPUTimeUS), table.Counted(s.Launches, "launch", "launches"))
	if s.Devices > 1 {
		fmt.Fprintf(&b, " on %d GPUs (times are sums over them)", s.Devices)
	}
	if s.Steps > 0 && s.PassStage != layer.StageCapture {
		complete := float64(s.Steps)
		if x := s.Exposure; x != nil && x.Steps > 0 { // which counts each device's
			complete *= x.CompleteSteps / float64(x.Steps)
		}
		b.WriteString("; in " + table.Steps(s.Steps, complete))
		if s.Batch > 0 {
			fmt.Fprintf(&b, " of %s", table.Counted(s.Batch, "request", "requests"))
		}
	}
	fmt.Fprintf(&b, ", busy %s of %s", fromUS(s.BusyUS), fromUS(s.SpanUS))
	m.para("%s.", b.String())
	if s.Outside > 0 && s.Steps > 0 {
		m.para("Outside steps: %s, %s; the first is %s.", table.Counted(s.Outside, "launch", "launches"), nanos(s.OutsideNS),
			m.code(cmp.Or(s.StrayLabel, s.Stray)))
	}
	if s.PassStage == layer.StageCapture {
		m.para("Graphs are captured here, and nearly nothing runs. Pass this trace with `--mapping-input` to give a run " +
			"that replays the graphs its source lines.")
	}
	large, all := StageReport{}, 0 // a part of a small row is small
	for i := range s.Kernels {
		all += max(1, len(s.Kernels[i].Operators))
		if s.Kernels[i].SharePct >= r.MinSharePct {
			large.Kernels = append(large.Kernels, s.Kernels[i])
		}
	}
	rows := slices.DeleteFunc(large.ByOperator(), func(k KernelRow) bool { return k.SharePct < r.MinSharePct })
	m.table(m.kernelTable(rows))
	if s.UnresolvedPct >= r.MinSharePct && s.Unresolved() != "" {
		m.para("%s", s.Unresolved())
	}
	if hidden := s.HiddenRows + all - len(rows); hidden > 0 {
		beyond := ""
		if s.HiddenRows > 0 {
			beyond = " or beyond the limit"
		}
		m.para("%s below %s of GPU time%s.", table.Counted(hidden, "more row", "more rows"), pct(r.MinSharePct), beyond)
	}
	if list := s.ReplaySources; len(list) > 1 || len(list) == 1 && list[0].From != "" { // else all of it is not known
		m.para("%s", s.replaySources())
	}
	if m.text && slices.ContainsFunc(rows, func(k KernelRow) bool {
		return strings.HasPrefix(k.sourceLine(),
			prefillMark)
	}) {
		m.para("%s the line is that of a prefill: no launch of a decode is known.", prefillMark)
	}
}

// Unresolved says how much of the time has no source line, and what would give it one; "" where all has one.
func (s *StageReport) Unresolved() string {
	if s.UnresolvedPct <= 0 {
		return ""
	}
	return fmt.Sprintf("No source line is known for %s of GPU time: %s.", pct(s.UnresolvedPct), s.UnresolvedFix)
}

// prefillMark precedes lines of a prefill in the text form.
const prefillMark = "*"

// ways are the origins of replayed kernels' lines in words.
var ways = map[string]string{
	activity.OriginNames[activity.FromAlignment]: "from the same place of a layer (alignment)",
	activity.OriginNames[activity.FromMapping]:   "from launches of the same kernel name (mapping)",
	activity.OriginNames[activity.FromReplay]:    "not known, as the kernel that matches is replayed from a graph, too",
	"": "not known",
}

// replaySources is how the lines of replayed launches were found, as a sentence.
func (s *StageReport) replaySources() string {
	var out []string
	for _, l := range s.ReplaySources {
		out = append(out, pct(l.SharePct)+" "+cmp.Or(ways[l.From], l.From))
	}
	return "Source lines of replayed kernels, by GPU time: " + strings.Join(out, ", ") + "."
}

// kernelTable lists kernels. A terminal has room for one source line of each, that of the model if it is known.
func (m *page) kernelTable(rows []KernelRow) *table.Table {
	lines := slices.ContainsFunc(rows, func(k KernelRow) bool { return k.sourceLine() != unresolved })
	models := slices.ContainsFunc(rows, func(k KernelRow) bool { return len(k.ModelLines) > 0 })
	all := []struct {
		table.Column
		show bool
		cell func(k *KernelRow) string
	}{
		{table.Code("Kernel"), true, func(k *KernelRow) string { return cmp.Or(k.Label, k.Kernel) }},
		{table.Text("Category"), !m.text, func(k *KernelRow) string { return string(k.Category) }},
		{table.Text("Operator"), true, (*KernelRow).Operator},
		{table.Number("GPU time"), true, func(k *KernelRow) string { return nanos(k.GPUTimeNS) }},
		{table.Number("Share"), true, func(k *KernelRow) string { return pct(k.SharePct) }},
		{table.Number("Launches"), true, func(k *KernelRow) string { return table.Count(int64(k.Launches)) }},
		{table.Number("Avg"), !m.text,
			func(k *KernelRow) string { return nanos(k.GPUTimeNS / max(1, int64(k.Launches))) }},
		{table.Path("Source line"), m.text && lines, (*KernelRow).sourceLine},
		{table.Code("Model line"), !m.text && models, func(k *KernelRow) string { return modelLines(k.ModelLines, true) }},
		{table.Path("Python location (site share)"), !m.text && lines,
			func(k *KernelRow) string { return locations(k.Locations) }},
		{table.Code("CPU op"), !m.text, func(k *KernelRow) string { return none(ops(k.CPUOps)) }},
	}
	var cols []table.Column
	cells := make([][]string, len(rows))
	for _, c := range all {
		if !c.show {
			continue
		}
		cols = append(cols, c.Column)
		for i := range rows {
			cells[i] = append(cells[i], c.cell(&rows[i]))
		}
	}
	t := table.New(cols...)
	for _, row := range cells {
		t.Row(row...)
	}
	return t
}

// sourceLine is the line of the model that a kernel comes from, where none is known the Python location.
func (k *KernelRow) sourceLine() string {
	return cmp.Or(modelLines(k.ModelLines, false), locations(k.Locations))
}

// shownModules is how many of the innermost module classes tables show; those around them are the same in all rows.
const shownModules = 2

// modelLines shows lines of the model, with shares where one does not say it all: "qwen2.py:91 forward", marked where
// it is a prefill's, in full
// "models/qwen2.py:91 forward in Qwen2MLP/Linear". Where no line is known it is the modules alone; "" for none.
func modelLines(list []Location, full bool) string {
	var out []string
	for _, l := range list {
		parts := strings.Split(l.Module, "/")
		line, in := l.Location, strings.Join(parts[max(0, len(parts)-shownModules):], "/")
		switch path, _, _ := strings.Cut(line, " "); {
		case line == "":
			line = in
		case !full:
			line = line[strings.LastIndexByte(path, '/')+1:]
			if own, ok := strings.CutSuffix(line, " ("+fromPrefill+")"); ok {
				line = prefillMark + own
			}
		case in != "":
			line += " in " + in
		}
		out = append(out, line+siteShare(l.SharePct))
	}
	return table.Lines(out...)
}

// siteShare is a site's share of a row, "" where it is all of it.
func siteShare(share float64) string {
	if share >= wholeSite {
		return ""
	}
	return " (" + table.Pct(share, 0) + ")"
}

// wholeSite is from which share on, in percent, a site is not said to be a part: rounded it is all.
const wholeSite = 99.5

// locations shows sites, with shares where one does not say it all. What is not known is not listed beside what is:
// the sentence below the table says how much it is.
func locations(list []Location) string {
	var out []string
	for _, l := range list {
		if l.Location == unresolved && len(list) > 1 {
			continue
		}
		share := siteShare(l.SharePct)
		if len(list) > 1 && slices.ContainsFunc(list, func(l Location) bool { return l.Location == unresolved }) {
			share = ""
		}
		out = append(out, l.Location+share)
	}
	return cmp.Or(table.Lines(out...), unresolved)
}

// ops are the ops of a row's sites, each once.
func ops(list []string) []string {
	var out []string
	for _, o := range list {
		if o != "" && !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	return out
}

// operators writes the sums by operator of the model.
func (m *page) operators(_ *Report, s *StageReport) {
	if len(s.Operators) == 0 {
		m.para("No operators are known.")
		return
	}
	t := table.New(table.Text("Operator"), table.Number("GPU time"), table.Number("Share"), table.Number("Launches"),
		table.Number("Confidence"))
	for _, o := range s.Operators {
		sure := table.Fixed(o.Confidence, 2)
		if o.Operator == activity.NoOperator {
			sure = table.None
		}
		t.Row(o.Operator, nanos(o.GPUTimeNS), pct(o.SharePct), table.Count(int64(o.Launches)), sure)
	}
	m.table(t)
}

// serialShare is below which share of the steps, in percent, kernels that overlap are not worth a figure.
const serialShare = 1

// exposure writes what runs alone and what beside other work.
func (m *page) exposure(_ *Report, s *StageReport) {
	x := s.Exposure
	if x == nil || x.WallNS == 0 {
		m.para("No steps were found, so nothing is said about exposure.")
		return
	}
	rows, serial := x.Rows, percent(x.SharedNS, x.WallNS) < serialShare
	if serial && x.SharedNS == 0 {
		rest := "the rest is idle"
		switch {
		case x.LostNS > 0:
			rest = fmt.Sprintf("the GPU is idle for %s", nanos(x.IdleNS))
		case x.IdleNS == 0:
			rest = "the GPU is never idle"
		}
		m.para("Kernels run one at a time for %s of %s; %s.", nanos(x.WallNS-x.IdleNS-x.LostNS), nanos(x.WallNS), rest)
	} else if serial {
		m.para("Kernels of several categories overlap for under %d%% %s; the GPU is idle for %s of %s.", serialShare,
			x.Basis().Title(), nanos(x.IdleNS), nanos(x.WallNS))
	}
	// Without communication two columns hold nothing.
	exchanges := slices.ContainsFunc(rows, func(r ExposureRow) bool {
		return r.Category == classify.CategoryCommunication
	})
	cols := []table.Column{table.Text("Category"), table.Number("Total"), table.Number("Exposed"),
		table.Number(table.UpperFirst(x.Basis().Title())), table.Number("Hidden"), table.Number("Streams")}
	if exchanges {
		cols = append(cols, table.Number("Waiting"), table.Number("Hideable (at most)"))
	}
	t := table.New(append(cols, table.Number("Longest exposed"), table.Number("At"), table.Code("Kernel"))...)
	for _, r := range rows {
		cells := []string{string(r.Category), nanos(r.TotalNS), nanos(r.ExposedNS), pct(r.ExposedPct), nanos(r.HiddenNS),
			fmt.Sprint(r.Streams)}
		if exchanges {
			bound, waiting := table.None, table.None
			if r.BoundNS > 0 {
				bound = nanos(r.BoundNS)
			}
			if r.WaitingBy != "" {
				waiting = nanos(r.WaitingNS)
			}
			cells = append(cells, waiting, bound)
		}
		longest, at, kernel := table.None, table.None, ""
		if l := r.Longest; l != nil {
			longest, at, kernel = nanos(int64(l.EndNS-l.StartNS)), clock(int64(l.StartNS)), l.Kernel
		}
		t.Row(append(cells, longest, at, kernel)...)
	}
	if len(rows) > 0 {
		m.table(t)
	}
	if !serial {
		m.para("Of %s, kernels of several categories share %s; the GPU is idle for %s.", nanos(x.WallNS),
			nanos(x.SharedNS), nanos(x.IdleNS))
	}
	if x.LostNS > 0 {
		m.para("Records of kernels are missing for %s of %s.", nanos(x.LostNS), nanos(x.WallNS))
	}
	for _, r := range rows {
		if why := r.waiting(x); why != "" {
			m.para("%s", why)
		}
	}
}

// waiting says how much of a row's exposed time is waiting for other ranks, and how that is known; "" for rows that
// exchange nothing.
func (r *ExposureRow) waiting(x *Exposure) string {
	switch {
	case r.Category != classify.CategoryCommunication || r.ExposedNS == 0:
		return ""
	case r.WaitingBy == "":
		return "Waiting and transfer are not separated: no other rank matches, and only an all-reduce, all-gather or " +
			"reduce-scatter that eight layers repeat can be estimated."
	}
	return fmt.Sprintf("Exposed communication: %s (%s %s) waiting for other ranks, %s (%s) transfer. %s",
		nanos(r.WaitingNS), pct(percent(r.WaitingNS, x.WallNS)), x.Basis().Title(),
		nanos(r.ExposedNS-r.WaitingNS), pct(percent(r.ExposedNS-r.WaitingNS, x.WallNS)), waitingWays[r.WaitingBy].how)
}

// clock is a point in the trace, as Perfetto's ruler shows it.
func clock(ns int64) string { return table.Fixed(float64(ns)/1e6, 3) + " ms" }

// published writes the overlap table as the published script has it.
func (m *page) published(rows []OverlapRow) {
	t := table.New(table.Text("Priority"), table.Text("Verdict"), table.Code("Kernel"), table.Path("Python scope"),
		table.Text("Formal signal"), table.Text("Dep risk"),
		table.Text("Recommendation"))
	for _, o := range rows {
		signal := fmt.Sprintf("%s us, share %s, excl %s / hid %s", table.Fixed(o.TotalUS, 1), pct(o.SharePct),
			part(o.ExclusiveRatio), part(o.HiddenRatio))
		t.Row(o.Priority, o.Verdict, o.Kernel, o.PythonScope, signal, o.DepRisk, o.Recommendation)
	}
	m.table(t)
}

func (m *page) overlap(_ *Report, s *StageReport) {
	if len(s.Overlap) > 0 && s.Overlap[0].Bucket != "" { // only the published rule has buckets
		m.published(s.Overlap)
	} else if len(s.Overlap) > 0 {
		t := table.New(table.Text("Priority"), table.Code("Kernel"), table.Number("GPU time"), table.Number("Share"),
			table.Number("Alone"),
			table.Number("Gain at most"), table.Number(table.UpperFirst(s.Exposure.Basis().Title())), table.Path("Python scope"),
			table.Text("Recommendation"))
		for _, o := range s.Overlap {
			bound, share := table.None, table.None
			if o.BoundNS > 0 {
				bound, share = nanos(o.BoundNS), pct(o.BoundPct)
			}
			t.Row(o.Priority, cmp.Or(o.Label, o.Kernel), fromUS(o.TotalUS), pct(o.SharePct), part(o.ExclusiveRatio),
				bound, share, o.PythonScope, o.Recommendation)
		}
		m.table(t)
	}
	m.para("%s", s.OverlapNote)
}

func (m *page) fuse(_ *Report, s *StageReport) {
	if len(s.Fuse) == 0 {
		m.para("No kernels were found that a known fused path could replace.")
		return
	}
	t := table.New(table.Text("Pattern"), table.Text("State"), table.Text("Confidence"), table.Number("GPU gain"),
		table.Number(s.Exposure.Basis().Gain()),
		table.Number("GPU time"), table.Number("Share"), table.Number("Times"))
	for _, f := range s.Fuse {
		gain, share := table.None, table.None
		if f.Kind == Split && f.EstimatedGainUS > 0 {
			gain, share = fromUS(f.EstimatedGainUS), "≤ "+pct(f.GainPct)
		}
		t.Row(f.Pattern, f.Status(), string(f.Confidence), gain, share, fromUS(f.RelatedUS), pct(f.SharePct),
			table.Count(int64(f.Occurrences)))
	}
	m.table(t)
	for i := range s.Fuse {
		m.fuseDetails(&s.Fuse[i])
	}
	m.printf("\n")
}

// fuseDetails says what to do about a row, and what it rests on; of a row with nothing to do only why.
func (m *page) fuseDetails(f *FuseRow) {
	var b strings.Builder
	sentence := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, " %s: %s.", name, strings.TrimSuffix(value, "."))
		}
	}
	var evidence []string
	for _, e := range f.shown() {
		evidence = append(evidence, fmt.Sprintf("%s (%s)", m.code(cmp.Or(e.Label, e.Kernel)), pct(e.SharePct)))
	}
	if more := len(f.Evidence) - len(evidence); more > 0 {
		evidence = append(evidence, fmt.Sprintf("and %d more", more))
	}
	switch f.State {
	case StateElsewhere, StateModel, StateTooLarge, StateNone: // there is none
		fmt.Fprintf(&b, " %s.", strings.TrimSuffix(f.Action, "."))
	default:
		if f.Kind == Split {
			sentence("Fix", f.Action)
		}
	}
	if f.Kind == Split {
		sentence("Gain", f.Gain.String())
		if f.Replayed != nil {
			sentence("Replayed", f.Replayed.Step())
		}
	}
	sentence("Kernels", strings.Join(evidence, ", "))
	sentence("First", first(f.First))
	sentence("From", m.codes(slices.DeleteFunc(slices.Clone(f.CurrentLocations),
		func(l string) bool { return l == unresolved || l == graphReplay })))
	if f.Kind == Split && (f.State.Asks() || f.State == "") {
		sentence("Source", m.codes(slices.DeleteFunc(slices.Clone(f.CandidatePaths),
			func(path string) bool { return strings.Contains(f.Action, path) })))
		b.WriteString(" " + f.Rationale)
	}
	if !m.text {
		m.printf("- **%s.**%s\n", table.EscapeMarkdown(f.Pattern), b.String())
		return
	}
	const indent = "  "
	width := m.width
	if width > 0 {
		width = max(1, width-len(indent))
	}
	m.printf("%s\n", f.Pattern)
	for _, l := range table.Fill(b.String(), width) {
		m.printf("%s%s\n", indent, l)
	}
}

// shownKernels is how many kernels of a row are named: a chain of the registry with what may be between has fewer.
const shownKernels = 12

// shown are the kernels that text names, in their order: those of half of the occurrences, or those of them that take
// most time.
func (f *FuseRow) shown() []Share {
	out := slices.DeleteFunc(slices.Clone(f.Evidence),
		func(e Share) bool { return f.Kind == Split && f.State != "" && 2*e.Launches < f.Occurrences })
	if len(out) == 0 { // no two occurrences need be of the same kernels
		out = slices.Clone(f.Evidence)
	}
	longest := slices.SortedStableFunc(slices.Values(out),
		func(x, y Share) int { return cmp.Compare(y.GPUTimeUS, x.GPUTimeUS) })
	return slices.DeleteFunc(out, func(e Share) bool {
		return !slices.Contains(longest[:min(len(longest), shownKernels)], e)
	})
}

// first says where a chain occurs first.
func first(p *Place) string {
	switch {
	case p == nil:
		return ""
	case p.Pass == nil:
		return "at " + clock(int64(p.StartNS))
	}
	return p.String() + ", at " + clock(int64(p.StartNS))
}

func (m *page) foot(r *Report) {
	m.heading(2, "Summary")
	m.para("%s", r.Summary)
	for _, h := range r.Health {
		for _, f := range h.Findings {
			m.para("Trace health (%s, %s): %s", f.Severity, table.Clean(h.Trace), f.Message)
		}
	}
}
