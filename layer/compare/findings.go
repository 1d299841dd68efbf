package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

// findings lists what is beyond noise.
func (c *comparison) findings(r *Report) {
	add := func(kind finding.Kind, operator, text, evidence string, delta time.Duration) {
		r.Findings = append(r.Findings, r.newFinding(kind, operator, text, evidence, delta))
	}
	if c.kinds.uniform {
		factor := math.Expm1(c.kinds.shift)
		who, but := "all", ""
		if same := r.without(factor); len(same) > 0 {
			who, but = "most", "; not so "+briefs{}.list(same)
		}
		add(finding.UniformChange, "", strings.ToUpper(who[:1])+who[1:]+" kernels changed by one factor",
			fmt.Sprintf("%s kernels take %s (a clock, a power cap or a driver; one run a side cannot separate them)%s",
				who, signed(factor), but),
			time.Duration(factor*c.sums[0]))
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		if !row.Significant {
			if was, now := c.otherKernel(row); was != "" {
				add(finding.KernelRenamed, row.Operator, row.Operator+" runs another kernel",
					fmt.Sprintf("%s runs %s instead of %s, as often and as long", row.Operator, row.briefs.of(now),
						row.briefs.of(was)),
					row.kernelDelta())
			}
			continue
		}
		kind, text := finding.OperatorChanged, row.Operator+" is "+string(outcomes[sign(row.kernelDelta())])
		switch {
		case row.Status == New:
			kind, text = finding.OperatorNew, row.Operator+" is new"
		case row.Status == Removed:
			kind, text = finding.OperatorRemoved, row.Operator+" is gone"
		case row.Class == Waiting:
			kind = finding.WaitChanged
			text = strings.NewReplacer(" is slower", " grew", " is faster", " shrank").Replace(text)
		}
		add(kind, row.Operator, text, row.Text, row.kernelDelta())
	}
	c.path(r, add)
	slices.SortStableFunc(r.Findings, func(x, y finding.Finding) int {
		return cmp.Compare(abs(y.PerStep),
			abs(x.PerStep))
	})
}

// without are the operators that clearly did not change by half of the factor by which most kernels did.
func (r *Report) without(factor float64) (names []string) {
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Class == Waiting || !row.Judged || row.Status != Unchanged {
			continue
		}
		half := factor / 2 * float64(row.KernelA)
		if half > 0 && float64(row.High) < half || half < 0 && float64(row.Low) > half {
			names = append(names, row.Operator)
		}
	}
	return names
}

// otherKernel returns the two names of the kernel with most time that a row runs under another name than before, as
// often; "" where there is none, or where the row's time differs.
func (c *comparison) otherKernel(r *Row) (was, now string) {
	gone, fresh := r.exchanged()
	if !c.sameGPU || !r.Judged || max(r.A, r.B) < c.least() || abs(r.kernelDelta()) >= c.least() ||
		len(gone) == 0 || len(fresh) == 0 || !r.asOften() {
		return "", ""
	}
	return gone[0], fresh[0]
}

// asOften reports whether a row has as many launches on both sides, as far as records are not lost.
func (r *Row) asOften() bool {
	return math.Abs(r.LaunchesA-r.LaunchesB) <= renameCount*max(r.LaunchesA, r.LaunchesB)
}

// sentence says what a row's difference is.
func (r *Row) sentence() string {
	s := sentence(r.Operator, r.Status, r.KernelA, r.KernelB, "pass")
	if r.Because != "" {
		s += ": " + r.Because
	}
	return s
}

// sentence says what the difference of a time per unit is.
func sentence(name string, status Change, a, b time.Duration, unit string) string {
	switch status {
	case New:
		return fmt.Sprintf("%s is new: %s a %s", name, table.Duration(b), unit)
	case Removed:
		return fmt.Sprintf("%s is gone: %s a %s before", name, table.Duration(a), unit)
	}
	s := fmt.Sprintf("%s %s → %s, %s", name, table.Duration(a), table.Duration(b), table.Change(b-a))
	switch {
	case a > 0 && b >= 10*a:
		s += " (" + table.Times(float64(b)/float64(a), 0) + ")"
	case a > 0:
		s += " (" + percentOf(b-a, a) + ")"
	}
	return s
}

// paths are the shares of a side's kernels that graph replays launch, and that a compiler wrote.
func (c *chosen) paths() (graph, compiled float64) {
	n := float64(c.count())
	for _, p := range c.all() {
		graph, compiled = graph+p.Graph/n, compiled+p.Compiled/n
	}
	return graph, compiled
}

// path says where one side replays graphs, or runs compiled code, and the other does not.
func (c *comparison) path(r *Report, add func(kind finding.Kind, operator, text, evidence string,
	delta time.Duration)) {
	if a, b := r.A.Graph, r.B.Graph; math.Abs(a-b) > otherPath {
		add(finding.PathChanged, "", "The sides launch kernels differently",
			fmt.Sprintf("A launches %s of its kernels by graph replays, B %s", percent(a), percent(b)), 0)
	}
	if a, b := r.A.Compiled, r.B.Compiled; math.Abs(a-b) > otherCompiled {
		add(finding.PathChanged, "", "The sides run different shares of compiled code",
			fmt.Sprintf("a compiler wrote %s of A's kernels and %s of B's", percent(a), percent(b)), 0)
	}
}

// least is the smallest finding.
func (c *comparison) least() time.Duration { return time.Duration(minShare * c.pass) }

// hostFindings judges what the host does in the steps of the compared passes.
func (c *comparison) hostFindings(r *Report, o *Options) {
	a, b := c.ch[0].hosts(), c.ch[1].hosts()
	if len(a) == 0 || len(b) == 0 {
		return
	}
	own := *o
	own.Floor = cmp.Or(own.Floor, c.noise.common)
	r.Host = CompareHost(a, b, own)
	kinds := map[Change]finding.Kind{Unchanged: finding.HostChanged, New: finding.HostNew, Removed: finding.HostRemoved,
		Renamed: finding.HostRenamed}
	for i := range r.Host.Rows {
		row := &r.Host.Rows[i]
		if r.Host.worth(row) && !r.Host.worthInside(row) {
			r.Findings = append(r.Findings, r.newFinding(kinds[row.Status], row.Name, kinds[row.Status].Info().Title,
				row.sentence(), row.Delta))
		}
	}
}

// worth reports whether an operation is a finding: by its change, or as one of some size that has another name.
func (r *HostReport) worth(row *HostRow) bool {
	return row.Significant || row.Status == Renamed && row.B >= r.Least
}

// worthInside reports whether an operation inside this one is a finding, and has most of its difference.
func (r *HostReport) worthInside(row *HostRow) bool {
	for row.Inner != "" {
		row = &r.Rows[slices.IndexFunc(r.Rows, func(x HostRow) bool {
			return x.Kind == row.Kind && x.Name == row.Inner
		})]
		if r.worth(row) {
			return true
		}
	}
	return false
}

// ofHost reports whether a finding is about what the host does.
func ofHost(f *finding.Finding) bool {
	switch f.Kind {
	case finding.HostChanged, finding.HostNew, finding.HostRemoved, finding.HostRenamed:
		return true
	}
	return false
}

// worst names the worst change for the worse, for First: the largest clear one, or waiting that cannot be judged
// where that is most of what the step takes more. Idle time is what an operation of the host may have caused, which
// is named with it.
func (c *comparison) worst(r *Report) finding.Finding {
	var worst, slow *finding.Finding // of all; of the host's
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.PerStep <= 0 || f.Kind == finding.PathChanged || f.Kind == finding.KernelRenamed ||
			f.Kind == finding.HostRenamed {
			continue
		}
		if worst == nil || f.PerStep > worst.PerStep {
			worst = f
		}
		if ofHost(f) && (slow == nil || f.PerStep > slow.PerStep) {
			slow = f
		}
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		if !row.Judged && row.Class == Waiting && row.Delta >= c.least() && 2*row.Delta > r.Delta &&
			(worst == nil || row.Delta > worst.PerStep) {
			text := row.Text
			if r.Delta >= row.Delta { // else the step would have become faster, or more than all of it is waiting
				text += fmt.Sprintf(", %s of the difference", percent(shareOf(row.Delta, r.Delta)))
			}
			return r.newFinding(finding.WaitChanged, row.Operator, row.Operator+" grew",
				fmt.Sprintf("%s; it may be noise: waiting and idle time needs %d passes a side to be judged", text, waitPasses),
				row.Delta)
		}
	}
	if worst == nil && r.Verdict == Slower {
		return c.slowerStep(r)
	}
	if worst == nil {
		return finding.Finding{Text: "no clear regression"}
	}
	t := *worst
	if worst.Kind == finding.WaitChanged && slow != nil {
		t.Evidence += "; meanwhile " + slow.Evidence
	}
	return t
}

// slowerStep names the part of the waterfall that clearly became slower by most where no operator did, else the step.
func (c *comparison) slowerStep(r *Report) finding.Finding {
	var part *Row
	for i := range r.Waterfall {
		if row := &r.Waterfall[i]; row.Significant && row.Delta > 0 && (part == nil || row.Delta > part.Delta) {
			part = row
		}
	}
	text := fmt.Sprintf("the step as a whole, %s: no part is beyond noise", table.Change(r.Delta))
	switch {
	case part != nil && c.scrambled():
		text = part.Text + "; operators are not judged, as kernels carry the times of others"
	case part != nil:
		text = part.Text + "; no operator is beyond noise by itself"
	}
	return r.newFinding(finding.StepChanged, "", "The step is slower", text, r.Delta)
}

// wallSign is the sign of the step's change where it is beyond noise, else 0.
func (c *comparison) wallSign(r *Report) int {
	if !c.wall.judged || c.wall.p >= alpha || abs(r.Delta) < c.least() ||
		sign(c.wall.typical) != sign(c.wall.delta) {
		return 0
	}
	return sign(c.wall.delta)
}

// sign is −1, 0 or 1.
func sign[T float64 | time.Duration](x T) int { return cmp.Compare(x, 0) }

// outcomes are what a change of a sign makes of a time.
var outcomes = map[int]Outcome{1: Slower, -1: Faster}

// workSign is the sign of the change of what was found together, or else of all GPU work, where that is beyond noise,
// else 0.
func (c *comparison) workSign(r *Report) int {
	var net time.Duration
	for i := range r.Rows {
		if r.Rows[i].Significant {
			net += r.Rows[i].Delta
		}
	}
	for i := range r.Findings {
		if r.Findings[i].Kind == finding.UniformChange {
			net += r.Findings[i].PerStep
		}
	}
	switch {
	case abs(net) >= c.least():
		return sign(net)
	case !c.kinds.steady || abs(r.Work.Delta) < c.least() || c.filled > 0: // lost records are in no sum of work
		return 0
	}
	return r.Work.sign()
}

// conclude says what the comparison comes to: of the step's time first, of GPU work where that does not contradict it.
func (c *comparison) conclude(r *Report) {
	limit := time.Duration(equivalent * c.pass)
	wall, work := c.wallSign(r), c.workSign(r)
	switch {
	case r.doubtful() != nil:
		r.Verdict = Inconclusive
	case wall != 0:
		r.Verdict = outcomes[wall]
	case work != 0 && work == sign(r.Delta) && abs(r.Delta) >= c.least():
		r.Verdict = outcomes[work]
	case work != 0:
		r.Verdict = Mixed
	case r.Work.Low > -limit && r.Work.High < limit && abs(r.Delta) < limit:
		r.Verdict = Same
	default:
		r.Verdict = Inconclusive
	}
	times := fmt.Sprintf("a step takes %s instead of %s (%s), GPU work %s instead of %s (%s)", table.Duration(r.Wall.B),
		table.Duration(r.Wall.A), percentOf(r.Delta, r.Wall.A),
		table.Duration(r.Work.B), table.Duration(r.Work.A), percentOf(r.Work.Delta, r.Work.A))
	switch r.Verdict {
	case Slower, Faster:
		r.Text = fmt.Sprintf("B is %s: %s", r.Verdict, times)
	case Same:
		r.Text = fmt.Sprintf("same within %s: %s", percent(equivalent), times)
	case Mixed:
		r.Text = fmt.Sprintf("mixed: %s: %s", mixedWords(work, r.Work.sign()), times)
	default:
		r.Text = fmt.Sprintf("inconclusive: %s; %s", times, c.why(r, limit))
	}
	c.notes(r)
}

// caveat says how little shows what is noise where a side has one run.
func (r *Report) caveat() string {
	what, from := "one run a side", "assumed"
	switch {
	case r.A.Passes == 1 && r.B.Passes == 1:
		what = "one pass a side"
	case r.A.Passes == 1 || r.B.Passes == 1:
		what = "one pass in " + map[bool]string{true: "A", false: "B"}[r.A.Passes == 1]
	case r.A.Runs > 1 || r.B.Runs > 1:
		what = "one run in " + map[bool]string{true: "B", false: "A"}[r.A.Runs > 1]
	}
	if r.FloorFrom == floorGiven {
		from = "given"
	}
	text := fmt.Sprintf("; %s, noise of %.3g%% %s", what, 100*r.Floor, from)
	if r.WaitFloor > 0 {
		text += fmt.Sprintf(" (idle time %.2g%%)", 100*r.WaitFloor)
	}
	return text
}

// floorGiven is where a floor is from that the user knows.
const floorGiven = "given"

// mixedWords says how work changed beyond noise that the step did not follow. Rows that are not judged, such as
// collectives, may hide it in the sum of all work, or turn that around: all is 0 where it changed within noise.
func mixedWords(found, all int) string {
	if found == all {
		return fmt.Sprintf("GPU work %s beyond noise, and the step did not",
			map[int]string{1: "grew", -1: "shrank"}[found])
	}
	words := map[int][2]string{1: {"more", "grow"}, -1: {"less", "shrink"}}[found]
	return fmt.Sprintf("what changed beyond noise takes %s time in sum, but GPU work as a whole did not %s beyond noise",
		words[0], words[1])
}

// percentOf is a difference relative to what it is to.
func percentOf(d, of time.Duration) string {
	if of <= 0 {
		return "-"
	}
	return signed(float64(d) / float64(of))
}

// signed is a relative difference in per cent, percent a share.
func signed(x float64) string { return fmt.Sprintf("%+.1f%%", 100*x) }

func percent(x float64) string { return table.Pct(100*x, 0) }

// why says what keeps a comparison from a conclusion.
func (c *comparison) why(r *Report, limit time.Duration) string {
	if d := r.doubtful(); d != nil {
		return fmt.Sprintf("%s (--allow %s judges in spite of it)", d.Evidence, d.Code)
	}
	if !c.wall.judged && abs(r.Delta-r.Work.Delta) >= limit {
		return fmt.Sprintf("it is mostly waiting or idle time, which needs %d passes a side to be judged", waitPasses)
	}
	if c.wall.judged && abs(r.Delta-r.Work.Delta) >= limit {
		return fmt.Sprintf("it is mostly waiting or idle time, which varies too much: the step changed by %s to %s",
			table.Change(r.Wall.Low), table.Change(r.Wall.High))
	}
	return fmt.Sprintf("GPU work changed by %s to %s, which may be noise or a change",
		table.Change(r.Work.Low), table.Change(r.Work.High))
}

func (c *comparison) notes(r *Report) {
	note := func(format string, args ...any) { r.Notes = append(r.Notes, fmt.Sprintf(format, args...)) }
	measured := func(s *Summary) string {
		return table.Counted(s.Passes, "pass", "passes") + " of " + table.Counted(s.Runs, "run", "runs")
	}
	note("noise: A has %s, B %s; between-run floor %.2f%% (%s)", measured(&r.A), measured(&r.B), 100*r.Floor,
		r.FloorFrom)
	if !c.runs {
		note("one run a side: offsets between runs cannot be seen; a change of all GPU work below about %s (%.1f%% of the "+
			"mean pass) cannot be distinguished from them",
			table.Duration(time.Duration(c.work.seen(1))), 100*c.work.seen(1)/c.pass)
	}
	for _, ch := range c.ch {
		for i := range ch.side.Runs {
			run := &ch.side.Runs[i]
			if run.Scrambled {
				note("%s: kernels of graph replays carry the times of other kernels, so that operators are not judged, only "+
					"passes (use --repair-order)", run.Trace)
			}
			if run.Health != "" && run.Health != trace.HealthOK {
				note("%s: the recording is %s", run.Trace, run.Health)
			}
		}
	}
	if h := r.Host; h != nil && slices.ContainsFunc(h.Rows, func(row HostRow) bool { return row.Class == OfHost }) {
		note("host: A has %s, B %s; floor %.1f%% (%s); at least %d steps a side are needed",
			table.Counted(h.StepsA, "step", "steps"), table.Counted(h.StepsB, "step", "steps"),
			100*h.Floor, h.FloorFrom, hostSteps)
	}
	if h := r.Host; h != nil && len(h.Unmatched) > 0 {
		note("host: %s", h.OneSided())
	}
	for side, ch := range c.ch {
		for i, walls := range ch.walls() {
			if text := unsteady(walls); text != "" {
				note("%c, %s: %s", "AB"[side], ch.side.Runs[i].Trace, text)
			}
		}
	}
	if c.filled > 0 {
		note("records are missing: %s filled in from the other passes where rows are judged",
			table.Counted(c.filled, "launch is", "launches are"))
	}
	if r.Likeness < 1 {
		note("the compared passes are alike in %s of their work; their kernels differ", percent(r.Likeness))
	}
	for _, o := range r.Others {
		note("also compared: %s with %d of B: %s", o.A.Work(), o.B.Passes, o.Text)
	}
	if c.scale != 1 {
		note("B is scaled by %.4g to the tokens of A", c.scale)
	}
}

func abs(d time.Duration) time.Duration { return max(d, -d) }
