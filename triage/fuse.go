package triage

import (
	"cmp"
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage/internal/activity"
	"github.com/llmstrata/strata/triage/internal/chain"
	"github.com/llmstrata/strata/triage/internal/pyframe"
)

// Confidence of a fuse row.
const (
	confidenceConfirmed = "Confirmed" // its share is that of a typical occurrence
	confidenceCandidate = "Candidate" // smaller, or something about it is not known
)

// ofServer reports whether a pattern is one of the report's server, or the server
// is not known.
func (a *analysis) ofServer(p *fusion.Pattern) bool {
	key := serverKey(a.report.Framework)
	return key == "" || p.AnyServer || slices.Contains(p.Frameworks, key)
}

// applies reports whether a pattern's filters let its chain be looked for. The
// filters on the model need a model; what is not known about tensor parallelism is
// decided by the evidence.
func (a *analysis) applies(p *fusion.Pattern) bool {
	if !a.ofServer(p) {
		return false
	}
	model := strings.ToLower(a.modelText())
	named := func(list []string) bool {
		return slices.ContainsFunc(list, func(w string) bool { return strings.Contains(model, strings.ToLower(w)) })
	}
	if len(p.ModelInclude) > 0 && !named(p.ModelInclude) || named(p.ModelExclude) {
		return false
	}
	return !(p.RequireTP && a.report.TPSize > 0 && a.report.TPSize < p.MinTPSize)
}

// modelText is the model's name and type, with the model file its kernels were launched
// from where the trace has frames: models/qwen3_moe.py names the family as well.
func (a *analysis) modelText() string {
	text := a.report.Model + " " + a.modelFiles
	for _, in := range a.in.Formal {
		if in.Config != nil {
			text += " " + in.Config.ModelType
		}
	}
	return strings.TrimSpace(text)
}

// findModelFiles collects the base names of the servers' and libraries' model files among the frames.
func (a *analysis) findModelFiles() {
	var out []string
	add := func(frame string) {
		fr, ok := pyframe.Parse(frame)
		i := strings.LastIndex(fr.Path, "models/")
		if !ok || i < 0 {
			return
		}
		name := strings.TrimSuffix(fr.Path[i+len("models/"):], ".py")
		if name != "utils" && name != "" && !slices.Contains(out, name) && len(out) < maxModelFiles {
			out = append(out, name)
		}
	}
	for _, w := range slices.Concat(a.formal, a.mapping) {
		for i := range w.Trace.NumNames() {
			add(w.Trace.Name(trace.NameID(i)))
		}
	}
	slices.Sort(out)
	a.modelFiles = strings.Join(out, " ")
}

// isServing says that keys and values are written to a cache somewhere, or ranks sum what they computed: all servers do, and
// scripts that are no training do not.
func (a *analysis) isServing() bool {
	return slices.ContainsFunc(a.pool.Facts, func(f activity.Kernel) bool {
		return f.Shown.Category == classify.CategoryKVCache || slices.Contains(f.Facts.Ops, classify.RoleCacheWrite) || f.Facts.Collective == classify.AllReduce
	})
}

// isTraining says that gradients are computed or weights updated somewhere: no server did that.
func (a *analysis) isTraining() bool {
	if slices.ContainsFunc(a.pool.Facts, func(f activity.Kernel) bool { return slices.Contains(f.Facts.Ops, classify.RoleBackward) }) {
		return true
	}
	return slices.ContainsFunc(a.pool.Ops.Texts, func(op string) bool {
		return strings.Contains(op, "Backward") || strings.HasSuffix(op, "_backward") || strings.HasPrefix(op, "Optimizer.")
	})
}

// maxModelFiles bounds the list: a server's step runs through a handful.
const maxModelFiles = 64

// platform is that of the stage's launches, "" when unknown.
func (s *stageWork) platform() string {
	for _, w := range s.parts {
		if w.Hip {
			return "rocm"
		}
	}
	for _, w := range s.parts {
		if w.Cuda {
			return "cuda"
		}
	}
	return ""
}

// findChains finds the chains of a stage that are worth a row, by the chain rule.
func (a *analysis) findChains(s *stageWork) {
	s.seqs = chain.SequencesOf(a.steps, s.parts, s.index)
	price := chain.NewPricer(a.steps, s.seqs)
	s.candidates = a.worth(s, chain.Candidates(a.steps, s.seqs, price, chain.Look{Peaks: s.peaks(), Training: a.training}))
	if a.training || serverKey(a.report.Framework) == "" && !a.serving {
		return // no server runs
	}
	var all fusion.Set
	for _, set := range s.seqs.Sets {
		all |= set
	}
	serverSteps, _ := s.steps()
	var splits []*chain.Match
	var room []chain.Occurrence // of the chain at hand
	for i := range a.registry.Patterns {
		p := &a.registry.Patterns[i]
		if len(p.Chain) == 0 || !a.applies(p) {
			continue
		}
		m := &chain.Match{Pattern: p, At: room[:0]}
		c := chain.Compile(a.registry, p)
		if !c.Possible(all) {
			continue
		}
		for q := range s.seqs.List {
			c.Find(a.pool, &s.seqs.List[q], m)
		}
		room = m.At
		if !m.Enough(serverSteps, s.seqs.Blocks) {
			continue
		}
		m.Measure(price)
		if s.share(m.NS) >= max(p.MinSharePct, a.MinSharePct) {
			m.At = slices.Clone(m.At)
			splits = append(splits, m)
		}
	}
	where := s.place()
	suits := func(p *fusion.Pattern) int {
		if where.suits(p) {
			return 1
		}
		return 0
	}
	own := func(p *fusion.Pattern) int {
		return -slices.Index([]string{fusion.OriginMainline, fusion.OriginUpstream, fusion.OriginInflight}, p.Origin)
	}
	slices.SortStableFunc(splits, func(x, y *chain.Match) int {
		return cmp.Or(cmp.Compare(suits(y.Pattern), suits(x.Pattern)), cmp.Compare(own(y.Pattern), own(x.Pattern)), cmp.Compare(y.Pattern.Priority, x.Pattern.Priority),
			cmp.Compare(len(y.Pattern.Chain), len(x.Pattern.Chain)), cmp.Compare(y.NS, x.NS), cmp.Compare(x.Pattern.Pattern, y.Pattern.Pattern))
	})
	s.chains = chain.Prune(splits)
}

// fuseRows is the fuse table of a stage.
func (a *analysis) fuseRows(s *stageWork) []FuseRow {
	where, out := s.place(), []FuseRow{}
	for _, m := range s.chains {
		out = append(out, a.splitRow(s, m, where))
	}
	for _, c := range s.candidates {
		if !c.Within(s.chains) {
			out = append(out, a.candidateRow(s, c))
		}
	}
	slices.SortStableFunc(out, func(x, y FuseRow) int { return cmp.Compare(y.EstimatedGainUS, x.EstimatedGainUS) })
	if a.training {
		return out
	}
	return append(out, a.activeRows(s, s.seqs, where)...)
}

// activity returns an activity of the formal traces.
func (a *analysis) activity(r chain.Ref) *activity.Activity { return &a.formal[r.Part].Acts[r.Act] }
