package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/internal/column"
)

// HealthStatus says how far a trace's numbers can be trusted: one of the words
// below, or "" where nobody looked.
type HealthStatus string

// The statuses, from best to worst.
const (
	HealthOK       HealthStatus = "ok"       // nothing found that changes a result
	HealthDegraded HealthStatus = "degraded" // some results are incomplete; Remark.Affects names them
	HealthUnusable HealthStatus = "unusable" // no GPU activity: nothing about the GPU can be said
)

// Compare orders statuses from best to worst: it is positive where s is worse than
// other, 0 where they are equal. What is no status comes first.
func (s HealthStatus) Compare(other HealthStatus) int {
	order := []HealthStatus{HealthOK, HealthDegraded, HealthUnusable}
	return cmp.Compare(slices.Index(order, s), slices.Index(order, other))
}

// Codes of findings that other packages ask for.
const (
	CodeEmpty          Code = "empty"               // no events
	CodeNoActivity     Code = "no-gpu-activity"     // CPU events only
	CodeNoTimes        Code = "no-gpu-times"        // GPU activities, none with a time
	CodeNoKernels      Code = "no-kernels"          // GPU activities, none of them a kernel
	CodeOrphans        Code = "orphans"             // activities without a launch call
	CodeOneRow         Code = "one-row"             // much of the GPU time depends on one activity
	CodePersistent     Code = "persistent-kernel"   // a kernel that spins beside others as long as the process lives
	CodeEmptyGraphs    Code = "empty-graphs"        // launches of graphs without any activity
	CodeEmptyLaunches  Code = "empty-launches"      // launches of kernels without any activity, between others
	CodeGraphRows      Code = "graph-rows"          // replays recorded as one row, without their kernels
	CodeAbsurdDuration Code = "absurd-duration"     // a duration that no activity has
	CodeCappedDuration Code = "capped-duration"     // a duration cut at the end of what it cannot outlive
	CodeUnfinished     Code = "unfinished"          // an activity still running at the end of the window
	CodeSameStream     Code = "same-stream-overlap" // two activities at once on one stream
	CodeScrambled      Code = "scrambled-records"   // names and times of records do not belong together
	CodeOrderRepaired  Code = "order-repaired"      // scrambled records joined again, as asked for
	CodeRankClash      Code = "rank-clash"          // the document and the file's name name two ranks
	CodeClockChanged   Code = "clock-changed"       // the GPU's clock was not constant
	CodeRecordsMissing Code = "records-missing"     // package layer found holes

	CodeSharedLaunches Code = "shared-launches" // kernels that name the launch call of another kernel
	// activities of one stream at the same time, for most of the GPU time
	CodeImpossibleOverlap Code = "impossible-overlap"
	CodeTimeJump          Code = "time-jump"         // no GPU works for most of the recording
	CodeClocksApart       Code = "clocks-apart"      // the clocks of host and GPU differ
	CodeNoDurations       Code = "no-durations"      // no activity lasts
	CodeTimeScale         Code = "time-scale"        // durations in another unit than the file's
	CodeSeveralDocuments  Code = "several-documents" // joined files
	CodeProton            Code = "proton"            // a trace of Triton's profiler, which has kernels only
)

// Codes of losses, by reason.
const (
	CodeLossTruncated        Code = "loss-truncated"
	CodeLossBadEvent         Code = "loss-bad-event"
	CodeLossBadTime          Code = "loss-bad-time"
	CodeLossNegativeDuration Code = "loss-negative-duration"
	CodeLossNotCollected     Code = "loss-not-collected"
	CodeLossNoDuration       Code = "loss-no-duration"
	CodeLossTwice            Code = "loss-twice"
	CodeLossUnmatched        Code = "loss-unmatched"
	CodeLossUnknownKind      Code = "loss-unknown-kind"
	CodeLossUnread           Code = "loss-not-read"
	CodeLossUnknownPhase     Code = "loss-unknown-phase"
	CodeLossBadCompression   Code = "loss-bad-compression"
	CodeLossRepaired         Code = "loss-repaired"
	CodeLossLimit            Code = "loss-limit"
	CodeLossDropped          Code = "loss-dropped"
	CodeLossMissingTable     Code = "loss-missing-table"
)

// Codes of notes that say how activities are linked with their launches, where that is not by correlation:
// "linked-by-" and a [Link].
const (
	CodeLinkedByFlow         Code = "linked-by-flow"
	CodeLinkedByExternalID   Code = "linked-by-external-id"
	CodeLinkedByGraphID      Code = "linked-by-graph-id"
	CodeLinkedByOpExternalID Code = "linked-by-op-external-id"
)

// CodeOfLoss is the code of the [Remark] that says what was lost for one reason.
func CodeOfLoss(reason event.Loss) Code { return Code("loss-" + string(reason)) }

// Code names a kind of [Remark]. It is stable.
type Code string

// Area is a part of the results that damage touches.
type Area string

// The areas.
const (
	AffectsEverything   Area = "everything"
	AffectsGPUTime      Area = "gpu-time"
	AffectsIdle         Area = "idle"
	AffectsLayers       Area = "layers"
	AffectsAttribution  Area = "attribution"
	AffectsCompleteness Area = "completeness"
)

// Health is what was found wrong with a trace, computed before any number is
// shown.
type Health struct {
	Status   HealthStatus `json:"status"`           // the worst severity of the findings
	Findings []Remark     `json:"findings"`         // by severity, then code
	Losses   []Loss       `json:"losses,omitempty"` // where records are missing

	Activities  int `json:"activities"`   // GPU activities stored
	Orphans     int `json:"orphans"`      // activities whose launch is not in the trace
	GraphRows   int `json:"graph_rows"`   // replays recorded as one row, without their kernels
	EmptyGraphs int `json:"empty_graphs"` // graph launches without any activity
}

// Remark is one thing that is wrong with a recording, and what it touches. Package layer makes one finding of those
// that change a result.
type Remark struct {
	Code     Code         `json:"code"`              // stable identifier, e.g. "orphans"
	Severity HealthStatus `json:"severity"`          // ok = note only
	Count    int64        `json:"count"`             // events or calls concerned
	Message  string       `json:"message"`           // one sentence with the figures
	Affects  []Area       `json:"affects,omitempty"` // what it makes doubtful
}

// Loss counts one reason and says where it occurred first.
type Loss struct {
	// "truncated", "bad-event", "bad-time", "bad-compression", "limit", "dropped", "missing-table", …; more may be
	// added
	Reason event.Loss `json:"reason"`
	Count  int64      `json:"count"` // how often it happened
	// of input skipped, where known; of bad-compression in the compressed input
	Bytes   int64   `json:"bytes,omitempty"`
	OfBytes int64   `json:"of_bytes,omitempty"` // bad-compression: compressed bytes in all; 0: unknown
	Offsets []int64 `json:"offsets,omitempty"`  // first few byte offsets in the decompressed input
	Detail  string  `json:"detail,omitempty"`   // which, in words; "" where the offsets say it
}

// maxLossOffsets bounds how many offsets a Loss lists; the count is exact.
const maxLossOffsets = 8

type losses struct{ list []Loss }

func (ls *losses) get(reason event.Loss) *Loss {
	for i := range ls.list {
		if ls.list[i].Reason == reason {
			return &ls.list[i]
		}
	}
	ls.list = append(ls.list, Loss{Reason: reason})
	return &ls.list[len(ls.list)-1]
}

func (ls *losses) add(reason event.Loss, offset int64) {
	l := ls.get(reason)
	l.Count++
	if offset >= 0 && len(l.Offsets) < maxLossOffsets {
		l.Offsets = append(l.Offsets, offset)
	}
}

// merge adds the losses of a later part of the input.
func (ls *losses) merge(later []Loss) {
	for _, x := range later {
		l := ls.get(x.Reason)
		l.Count += x.Count
		l.Offsets = append(l.Offsets, x.Offsets[:min(len(x.Offsets), maxLossOffsets-len(l.Offsets))]...)
	}
}

// LoseDetail counts n losses of one reason and says what was lost. Details of
// the same reason are joined; a detail that is already there is not repeated.
func (b *Builder) LoseDetail(reason event.Loss, n int64, detail string) {
	l := b.losses.get(reason)
	l.Count += n
	for _, d := range l.details() {
		if d == detail {
			return
		}
	}
	if l.Detail != "" {
		l.Detail += detailSeparator
	}
	l.Detail += detail
}

const detailSeparator = "; "

func (l *Loss) details() []string { return strings.Split(l.Detail, detailSeparator) }

// IdleUnknown is the message of the first finding that makes idle time unknown, "" where there is none. Where launches
// are in doubt, too, only causes are. Graphs without kernels and a dominant row leave bounds, which are doubts of their
// own.
func IdleUnknown(findings []Remark) string {
	for _, f := range findings {
		if f.Severity != HealthOK && slices.Contains(f.Affects, AffectsIdle) &&
			!slices.Contains(f.Affects, AffectsAttribution) && f.Code != CodeEmptyGraphs && f.Code != CodeOneRow {
			return f.Message
		}
	}
	return ""
}

func (h Health) clone() Health {
	h.Findings = slices.Clone(h.Findings)
	h.Losses = slices.Clone(h.Losses)
	return h
}

// examine computes the health report.
func (t *Trace) examine(ls losses, notes []Remark) Health {
	g := &t.lanes[event.LaneGPU]
	h := Health{Activities: g.Len(), Findings: append([]Remark{}, notes...)}
	slices.SortFunc(ls.list, func(a, b Loss) int { return cmp.Compare(a.Reason, b.Reason) })
	h.Losses = ls.list
	add := func(code Code, sev HealthStatus, n int64, affects []Area, format string, args ...any) {
		h.Findings = append(h.Findings, Remark{code, sev, n, fmt.Sprintf(format, args...), affects})
	}
	n := t.countOddities(&h)
	switch {
	case g.Len() == 0 && t.Len() == 0:
		what := "the trace holds no events"
		if len(h.Losses) > 0 {
			what += " with usable times: all were dropped"
		}
		add(CodeEmpty, HealthUnusable, 0, []Area{AffectsEverything}, "%s", what)
	case g.Len() == 0:
		code, why := t.whyNoActivity(h.Losses)
		add(code, HealthUnusable, 0, []Area{AffectsGPUTime, AffectsLayers, AffectsIdle}, "%s", why)
	}
	t.addOddities(&h, n, add)
	launches := &t.lanes[event.LaneLaunch]
	kernel := func(i int) bool { return event.Kind(g.Kind[i]) == event.Kernel }
	calls := make([]launchCall, len(t.names)) // by name; 0 where nobody asked
	call := func(row int32) launchCall {
		c := &calls[launches.Name[row]]
		if *c == 0 {
			*c = launchCallOf(t.names[launches.Name[row]])
		}
		return *c
	}
	h.Findings = append(h.Findings, findSuspicions(g, launches, len(t.queues), t.launchOf, kernel, call)...)
	t.examineClocks(add)
	t.examineDecisive(add)
	for _, l := range h.Losses {
		t.lossFinding(l, add)
	}
	h.Status = HealthOK
	for _, f := range h.Findings {
		if f.Severity.Compare(h.Status) > 0 {
			h.Status = f.Severity
		}
	}
	slices.SortStableFunc(h.Findings, func(a, b Remark) int {
		return cmp.Or(b.Severity.Compare(a.Severity), cmp.Compare(a.Code, b.Code))
	})
	return h
}

// oddities counts GPU activities that are not as they should be.
type oddities struct {
	front                               int // orphans in the first tenth
	kernels                             int // and graphs
	absurd, overlap, capped, unfinished int
	firstCapped                         string
}

// countOddities goes over the GPU activities once and counts what is odd about
// them, here and in h.
func (t *Trace) countOddities(h *Health) (n oddities) {
	g := &t.lanes[event.LaneGPU]
	lastEnd := make([]int64, len(t.queues)) // 0 is before any start
	for i := range g.Start {
		switch event.Kind(g.Kind[i]) {
		case event.Graph:
			h.GraphRows++
			n.kernels++
		case event.Kernel:
			n.kernels++
		}
		if t.launchOf[i] < 0 {
			h.Orphans++
			if i < g.Len()/10 {
				n.front++
			}
		}
		switch {
		case g.Recorded.At(i) != 0:
			if n.capped++; n.capped == 1 {
				n.firstCapped = t.names[g.Name[i]]
			}
		case g.Dur[i] > column.AbsurdDuration:
			n.absurd++
		case g.Unended.At(i) != 0:
			n.unfinished++
		}
		end := &lastEnd[g.Queue[i]]
		if g.Start[i] < *end {
			n.overlap++
		}
		*end = max(*end, g.End(i))
	}
	launches := &t.lanes[event.LaneLaunch]
	hasActivity := make([]bool, launches.Len())
	for _, l := range t.launchOf {
		if l >= 0 {
			hasActivity[l] = true
		}
	}
	for i := range launches.Start {
		if !hasActivity[i] && t.replays(int32(i)) {
			h.EmptyGraphs++
		}
	}
	return n
}

// addFinding adds a finding to those of a trace.
type addFinding func(code Code, sev HealthStatus, n int64, affects []Area, format string, args ...any)

// addOddities makes findings of what was counted.
func (t *Trace) addOddities(h *Health, n oddities, add addFinding) {
	g := &t.lanes[event.LaneGPU]
	if h.Orphans > 0 {
		sev := HealthOK
		if h.Orphans*100 > g.Len() {
			sev = HealthDegraded
		}
		where := ""
		if n.front*2 > h.Orphans {
			where = ", most of them at the start of the window"
		}
		add(CodeOrphans, sev, int64(h.Orphans), []Area{AffectsAttribution},
			"%d of %d GPU activities (%.1f%%) have no launch call in the trace%s: their time counts, their source is unknown",
			h.Orphans, g.Len(), 100*float64(h.Orphans)/float64(g.Len()), where)
	}
	var other [links]int64
	for _, l := range t.linkOf {
		other[l]++
	}
	for _, l := range []Link{LinkFlow, LinkExternal, LinkGraph} {
		if other[l] > 0 {
			add(Code("linked-by-"+l.String()), HealthOK, other[l], nil,
				"%d of %d GPU activities have no correlation with their launch call and are linked by %s", other[l],
				g.Len(), l)
		}
	}
	if n.kernels == 0 && g.Len() > 0 {
		add(CodeNoKernels, HealthDegraded, int64(g.Len()), []Area{AffectsGPUTime, AffectsLayers, AffectsIdle},
			"%d copies and fills and no kernel were recorded: what the GPU computes is not in the trace", g.Len())
	}
	if h.GraphRows > 0 {
		add(CodeGraphRows, HealthDegraded, int64(h.GraphRows), []Area{AffectsLayers, AffectsAttribution},
			"%d graph replays are recorded as one row each, without their kernels (record with --cuda-graph-trace=node)",
			h.GraphRows)
	}
	if h.EmptyGraphs > 0 {
		add(CodeEmptyGraphs, HealthDegraded, int64(h.EmptyGraphs), []Area{AffectsGPUTime, AffectsIdle, AffectsLayers},
			"%d graph launches have no GPU activity in the trace: GPU idle time is overstated", h.EmptyGraphs)
	}
	if n.absurd > 0 {
		add(CodeAbsurdDuration, HealthDegraded, int64(n.absurd), []Area{AffectsGPUTime},
			"%d GPU activities last longer than %d s: unfinished events or a profiler flush artefact", n.absurd,
			column.AbsurdDuration/1_000_000_000)
	}
	if n.capped > 0 {
		add(CodeCappedDuration, HealthDegraded, int64(n.capped), []Area{AffectsGPUTime},
			"%d GPU activities were recorded to last beyond the next one of their stream (unfinished, a damaged row, or a "+
				"profiler flush artefact), first %q: they are taken to end there", n.capped, n.firstCapped)
	}
	if n.unfinished > 0 {
		add(CodeUnfinished, HealthOK, int64(n.unfinished), []Area{AffectsGPUTime},
			"%d GPU activities were running when recording stopped: they are taken to end with the recording",
			n.unfinished)
	}
	if n.overlap > 0 {
		add(CodeSameStream, HealthOK, int64(n.overlap), nil,
			"%s on the same stream; busy time counts the overlap once",
			counted(n.overlap, "kernel overlaps its predecessor", "kernels overlap their predecessor"))
	}
}

func (t *Trace) lossFinding(l Loss, add addFinding) {
	where := ""
	if len(l.Offsets) > 0 {
		where = fmt.Sprintf(", first at byte %d", l.Offsets[0])
	}
	if l.Bytes > 0 && l.Reason != event.BadCompression { // whose detail says it
		where += ", " + counted(l.Bytes, "byte", "bytes") + " skipped"
	}
	if l.Detail != "" {
		where += ": " + l.Detail
	}
	sev := HealthDegraded
	if l.Reason == event.Repaired || l.Reason == event.NoDuration || l.Reason == event.Unmatched ||
		l.Reason == event.Unread {
		sev = HealthOK
	}
	add(CodeOfLoss(l.Reason), sev, l.Count, []Area{AffectsCompleteness}, "%s%s", timesOf(l), where)
}

// timesOf is a loss with its number, where that is not 1.
func timesOf(l Loss) string {
	if l.Count == 1 {
		return string(l.Reason)
	}
	return fmt.Sprintf("%d × %s", l.Count, l.Reason)
}

// counted is a number with the word for one or for many.
func counted[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
