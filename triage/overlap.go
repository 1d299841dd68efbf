package triage

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage/internal/activity"
	"github.com/llmstrata/strata/triage/internal/chain"
)

// Verdict and advice of the rows that the exposure ledger gives.
const (
	verdictExposed  = "exposed"
	recommendOwn    = "on a stream of its own: start compute of the same layer beside it"
	recommendSerial = "serial with compute on its stream: needs the batch split in two, or a GEMM fused with its exchange"
)

// worthOverlap is from which share of the steps on, in percent, an upper bound is worth a row: steps repeat within
// about one percent, so that less cannot be seen to be gained.
const worthOverlap = 1.0

// overlap lists the exchanges between GPUs that compute of the same layer could hide: nothing else that runs alone
// could run beside other work as far as a trace shows, and nothing is gained while the host keeps the GPU idle.
func (a *analysis) overlap(s *stageWork) ([]OverlapRow, string) {
	out := []OverlapRow{}
	here := a.setting(s.place(), s.tokens())
	for id, x := range s.exchanges {
		pct := percent(x.bound, s.exposure.WallNS)
		if s.rowOf[id] < 0 || pct < worthOverlap {
			continue
		}
		f, r := &a.pool.Facts[id], &s.rows[s.rowOf[id]]
		row := OverlapRow{Priority: "P1", Verdict: verdictExposed, Kernel: f.Canonical, Label: a.pool.Labels[id],
			Category: f.Shown.Category, TotalUS: micros(r.ns), SharePct: s.share(r.ns),
			ExclusiveRatio: min(1, math.Round(float64(x.exposed)/float64(r.ns)*1e4)/1e4), BoundNS: x.bound, BoundPct: pct,
			Recommendation: recommendOwn}
		row.HiddenRatio = 1 - row.ExclusiveRatio
		row.Known, row.NotHere = chain.Hiding(a.registry, serverKey(a.report.Framework), f, here)
		sites, _ := r.bySite(a.pool, anyOperator)
		row.PythonScope = a.pool.Sites.Texts[sites[0].Site]
		if s.besideCompute(a.pool, id) {
			row.Priority, row.Recommendation = "P2", recommendSerial
		}
		out = append(out, row)
	}
	slices.SortFunc(out, func(x, y OverlapRow) int {
		return cmp.Or(cmp.Compare(x.Priority, y.Priority), cmp.Compare(y.BoundNS, x.BoundNS),
			cmp.Compare(x.Kernel, y.Kernel))
	})
	if a.OverlapLimit > 0 && len(out) > a.OverlapLimit {
		out = out[:a.OverlapLimit]
	}
	return out, a.overlapNote(s, out)
}

// tokens are those of the largest step of the stage, 0 where none are known.
func (s *stageWork) tokens() (most int64) {
	for _, w := range s.parts {
		for i := range w.Analysis.Devices {
			d := &w.Analysis.Devices[i]
			for p, stage := range w.Stages.Pass[d.ID] {
				if int(stage) == s.index {
					most = max(most, d.Passes[p].Tokens)
				}
			}
		}
	}
	return most
}

// besideCompute says that a kernel runs on a stream on which compute runs too: without evidence of the contrary they
// wait for each other.
func (s *stageWork) besideCompute(p *activity.Pool, kernel int32) bool {
	for _, w := range s.parts {
		on, compute := make([]bool, len(w.Queues)), make([]bool, len(w.Queues))
		for i := range w.Acts {
			act := &w.Acts[i]
			on[act.Queue] = on[act.Queue] || act.Kernel == kernel && int(act.Stage) == s.index
			compute[act.Queue] = compute[act.Queue] || p.Facts[act.Kernel].Work() == classify.WorkCompute
		}
		for q := range on {
			if on[q] && compute[q] {
				return true
			}
		}
	}
	return false
}

// overlapNote says how far to trust the table.
func (a *analysis) overlapNote(s *stageWork, rows []OverlapRow) string {
	var out []string
	if known := chain.Once(rows, func(r OverlapRow) []string { return r.Known }); len(known) > 0 {
		out = append(out, fmt.Sprintf("Known to hide such exchanges (--catalog NAME has where they are written): %s.",
			strings.Join(known, "; ")))
	}
	if not := chain.Once(rows, func(r OverlapRow) []string { return r.NotHere }); len(not) > 0 {
		out = append(out, fmt.Sprintf("Of no use here: %s.", strings.Join(not, "; ")))
	}
	left := ""
	if x := s.exposure; x != nil && percent(outsideLayers(x), x.WallNS) >= worthOverlap {
		left = fmt.Sprintf("%s of exposed communication (%s %s)", nanos(outsideLayers(x)),
			pct(percent(outsideLayers(x), x.WallNS)), x.Basis().Title())
	}
	layers := slices.ContainsFunc(s.parts, func(w *activity.Trace) bool {
		return slices.ContainsFunc(w.Analysis.Devices, func(d layer.Device) bool { return d.NumLayers > 0 })
	})
	switch {
	case len(rows) > 0:
	case len(s.exchanges) == 0:
		out = append(out, "No communication, so nothing to hide.")
	case layers || left == "":
		out = append(out, fmt.Sprintf("Compute of the same layers can hide less communication than %s %s.",
			pct(worthOverlap), s.exposure.Basis().Title()))
	}
	switch {
	case left == "":
	case layers:
		out = append(out, fmt.Sprintf("No compute of its layers can hide %s.", left))
	default:
		out = append(out, fmt.Sprintf("No layers were found, so it is not known what could hide %s.", left))
	}
	if len(rows) > 0 {
		out = append(out, "A trace shows what overlapped, not what may legally overlap.")
	}
	return strings.Join(out, " ")
}

// outsideLayers is the exposed communication that no compute of its layer could hide.
func outsideLayers(x *Exposure) int64 {
	for _, r := range x.Rows {
		if r.Category == classify.CategoryCommunication {
			return r.ExposedNS - r.BoundNS
		}
	}
	return 0
}

// unresolved is the share of the stage's time without a source line, in percent, and what would give it one.
func (a *analysis) unresolved(s *stageWork) (pct float64, fix string) {
	var none, replayed int64
	for i := range s.rows {
		for _, st := range s.rows[i].sites {
			if st.Site <= activity.SiteFromPrefill {
				none += st.Ns
			}
			if st.Site == activity.SiteReplay || st.Site == activity.SiteFromPrefill {
				replayed += st.Ns
			}
		}
	}
	switch pct = percent(none, s.ns); {
	case !slices.ContainsFunc(s.parts, func(w *activity.Trace) bool {
		return w.Trace.Len(event.LanePython) > 0 ||
			w.HasCallStacks()
	}):
		return pct, "the trace holds no Python frames; record with " +
			s.parts[0].Trace.Meta().Source.Record(trace.WantStacks) +
			", or pass a trace that has them with --mapping-input"
	case 2*replayed <= none:
		return pct, "launches or stacks are missing in the trace"
	}
	off := "the trace of a run without graphs"
	if flag := graphsOff[serverKey(a.report.Framework)]; flag != "" {
		off += " (" + flag + ")"
	}
	if 2*s.replays[activity.FromReplay] > replayed {
		return pct, "most of these kernels are replayed from graphs in the mapping trace, too; pass " + off +
			" with --mapping-input"
	}
	return pct, "the kernels are replayed from graphs; pass " + off + " with --mapping-input"
}

// graphsOff are the flags that make servers launch kernels one by one.
var graphsOff = map[string]string{"sglang": "--disable-cuda-graph", "vllm": "--enforce-eager",
	"tokenspeed": "--enforce-eager"}

// Launch is one activity of a stage as the tables count it.
type Launch struct {
	Event    trace.Event       // the activity
	Trace    int               // index of [Report.Traces]
	Kernel   string            // as in [KernelRow]
	Category classify.Category // as in [KernelRow]
	Location string            // where it comes from, as in [Location]
	Located  bool              // Location is a source line
	Op       string            // its CPU op, "" for none
}

// Launches iterates over the activities of stage i of the report, by trace, device and start; none for a report that
// was not made by [Analyze].
func (r *Report) Launches(i int) iter.Seq[Launch] {
	return func(yield func(Launch) bool) {
		if r.from == nil || i < 0 || i >= len(r.Stages) {
			return
		}
		p, stage := r.from.pool, slices.Index(stageOrder[:], r.Stages[i].PassStage)
		for _, w := range r.from.formal {
			for k := range w.Acts {
				act := &w.Acts[k]
				if int(act.Stage) != stage {
					continue
				}
				f := &p.Facts[act.Kernel]
				if !yield(Launch{w.Event(act), int(w.Part), f.Canonical, f.Shown.Category,
					p.Sites.Texts[act.Site], act.Site > activity.SiteFromPrefill, p.Ops.Texts[act.Op]}) {
					return
				}
			}
		}
	}
}
