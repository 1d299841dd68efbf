package triage

import (
	"cmp"
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage/internal/activity"
	"github.com/llmstrata/strata/triage/internal/chain"
)

// ofServer reports whether a pattern is one of the report's server, or the server
// is not known.
func (a *analysis) ofServer(p *fusion.Pattern) bool {
	key := serverKey(a.report.Framework)
	return key == "" || slices.Contains(p.Frameworks, key)
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

// modelUtils is a file among those of models that has none.
const modelUtils = "utils"

// findModelFiles collects the base names of the servers' and libraries' model files among the frames.
func (a *analysis) findModelFiles() {
	var out []string
	add := func(frame string) {
		fr, ok := framework.ParseFrame(frame)
		i := strings.LastIndex(fr.Path, "models/")
		if !ok || i < 0 {
			return
		}
		name := strings.TrimSuffix(fr.Path[i+len("models/"):], ".py")
		if name != modelUtils && name != "" && !slices.Contains(out, name) && len(out) < maxModelFiles {
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

// exchanges says that ranks sum what they computed.
func (a *analysis) exchanges() bool {
	return slices.ContainsFunc(a.pool.Facts, func(f activity.Kernel) bool {
		return f.Facts.Collective == classify.AllReduce
	})
}

// isServing says that keys and values are written to a cache somewhere, or ranks sum what they computed: all servers
// do, and scripts that are no training do not.
func (a *analysis) isServing() bool {
	return a.exchanges() || slices.ContainsFunc(a.pool.Facts, func(f activity.Kernel) bool {
		return f.Shown.Category == classify.CategoryKVCache || slices.Contains(f.Facts.Ops, classify.RoleCacheWrite)
	})
}

// isTraining says that gradients are computed or weights updated somewhere: no server did that.
func (a *analysis) isTraining() bool {
	if slices.ContainsFunc(a.pool.Facts, func(f activity.Kernel) bool {
		return slices.Contains(f.Facts.Ops,
			classify.RoleBackward)
	}) {
		return true
	}
	return slices.ContainsFunc(a.pool.Ops.Texts, func(op string) bool {
		return strings.Contains(op, "Backward") || strings.HasSuffix(op, "_backward") ||
			strings.HasPrefix(op, "Optimizer.")
	})
}

// maxModelFiles bounds the list: a server's step runs through a handful.
const maxModelFiles = 64

// platform is that of the stage's launches, "" when unknown.
func (s *stageWork) platform() string {
	out := ""
	for _, w := range s.parts {
		if w.Hip {
			return "rocm"
		}
		if w.Cuda {
			out = "cuda"
		}
	}
	return out
}

// path is what the registry answers for a chain: the path that is nearest to be had, and the others for the same
// kernels.
type path struct {
	*chain.Candidate
	pattern *fusion.Pattern
	others  []*fusion.Pattern
	at      *fusion.Setting
}

// pathsOf are the paths of the report's server for each chain of the registry; none where no server runs.
func (a *analysis) pathsOf() map[string][]*fusion.Pattern {
	out := map[string][]*fusion.Pattern{}
	if a.training || serverKey(a.report.Framework) == "" && !a.serving {
		return out
	}
	for i := range a.registry.Patterns {
		if p := &a.registry.Patterns[i]; p.Chain != "" && a.ofServer(p) {
			out[p.Chain] = append(out[p.Chain], p)
		}
	}
	return out
}

// findChains finds what the kernels of a stage could be fused to, and who has it.
func (a *analysis) findChains(s *stageWork) {
	s.seqs = chain.SequencesOf(a.steps, s.parts, s.index)
	paths := a.pathsOf()
	look := chain.Look{GPU: s.gpu(), Ops: a.ops, Training: a.training, Chains: len(paths) > 0}
	runs, chains := chain.Candidates(a.steps, s.seqs, look)
	if serverKey(a.report.Framework) == "" && !a.training { // how servers compute layers is theirs to choose
		var experts *chain.Candidate
		if s.wholes, experts = chain.Wholes(a.steps, s.seqs); experts != nil {
			runs = append(runs, experts)
		}
	}
	s.candidates = a.worth(s, runs)
	where := s.place()
	s.paths = map[*chain.Candidate]*path{}
	chains = slices.DeleteFunc(chains, func(c *chain.Candidate) bool {
		steps, _ := s.steps()
		if s.share(c.NS) < a.MinSharePct || !c.Repeats(steps) {
			return true
		}
		if len(paths[c.Name]) > 0 {
			s.paths[c] = a.pathOf(c, paths[c.Name], a.setting(where, c.LeastTokens()))
		} else if !c.Within(runs) {
			s.candidates = append(s.candidates, c) // around a product or an exchange
		}
		return s.paths[c] == nil
	})
	slices.SortStableFunc(chains, func(x, y *chain.Candidate) int {
		return cmp.Or(s.paths[x].compare(s.paths[y].pattern), cmp.Compare(len(y.Chain.Steps), len(x.Chain.Steps)))
	})
	s.chains = chain.Prune(chains)
}

// pathOf chooses among the paths for a chain.
func (a *analysis) pathOf(c *chain.Candidate, list []*fusion.Pattern, at *fusion.Setting) *path {
	out := &path{Candidate: c, at: at, pattern: list[0]}
	for _, p := range list[1:] {
		if out.compare(p) > 0 {
			out.pattern = p
		}
	}
	for _, p := range list {
		if p != out.pattern {
			out.others = append(out.others, p)
		}
	}
	return out
}

// compare says whether a path is nearer to be had than another one, by its conditions and where it lives.
func (h *path) compare(other *fusion.Pattern) int {
	fails := func(p *fusion.Pattern) int {
		switch o, of, _ := fusion.Worst(p.Requires.Judge(h.at)); {
		case o != fusion.Fails:
			return 0
		case of != fusion.OfPlatform:
			return 1
		}
		return 2
	}
	origin := func(p *fusion.Pattern) int { return slices.Index(fusion.Origins(), p.Origin) }
	return cmp.Or(cmp.Compare(fails(h.pattern), fails(other)), cmp.Compare(origin(h.pattern), origin(other)))
}

// fuseRows is the fuse table of a stage.
func (a *analysis) fuseRows(s *stageWork) []FuseRow {
	where, out := s.place(), []FuseRow{}
	for _, c := range s.chains {
		out = append(out, a.splitRow(s, s.paths[c]))
	}
	for _, c := range s.candidates {
		if !c.Within(s.chains) {
			out = append(out, a.candidateRow(s, c))
		}
	}
	slices.SortStableFunc(out, func(x, y FuseRow) int {
		return cmp.Or(cmp.Compare(y.GainPct, x.GainPct), cmp.Compare(y.EstimatedGainUS, x.EstimatedGainUS))
	})
	if a.training {
		return out
	}
	return append(out, a.activeRows(s, s.seqs, where)...)
}

// activity returns an activity of the formal traces.
func (a *analysis) activity(r chain.Ref) *activity.Activity { return &a.formal[r.Part].Acts[r.Act] }
