package triage

import (
	"fmt"
	"strings"

	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/triage/internal/chain"
)

// likelyShare is from which share of the GPU time on, in percent, a candidate is no matter of chance: that of the
// registry's rows.
const likelyShare = 1.5

// worth keeps candidates that take enough of the stage, and that repeat where they are not attention.
func (a *analysis) worth(s *stageWork, list []*chain.Candidate) (out []*chain.Candidate) {
	steps, _ := s.steps()
	for _, c := range list {
		if s.share(c.NS) >= a.MinSharePct && c.Repeats(steps) && c.Price().GPU > 0 {
			out = append(out, c)
		}
	}
	return out
}

// candidateRow renders what dataflow alone found.
func (a *analysis) candidateRow(s *stageWork, c *chain.Candidate) FuseRow {
	p := &fusion.Pattern{Pattern: c.Name, Origin: fusion.Upstream, CandidatePaths: []string{pathCompile}}
	if c.Attention || c.Experts {
		p.CandidatePaths = []string{wholePath(c.Experts)}
	}
	out, price := a.splitOf(s, p, c), c.Price()
	if out.State, out.Action = a.candidateState(s, c); out.State == StateNone {
		out.CandidatePaths = []string{}
	}
	a.gains(s, &out, price, c.At)
	if out.State != StateAvailable || price.Moved == 0 && !c.Attention {
		out.Confidence = Possible
	}
	out.Rationale = c.Why()
	return out
}

// Where fused paths are that need no server.
const (
	pathCompile = "torch.compile"
	pathSDPA    = "torch.nn.functional.scaled_dot_product_attention"
	pathExperts = "aiter.fused_moe.fused_moe"
)

// wholePath is where attention or routed experts in one kernel are.
func wholePath(experts bool) string {
	if experts {
		return pathExperts
	}
	return pathSDPA
}

// candidateState says what can be done about a candidate that no row of the registry explains.
func (a *analysis) candidateState(s *stageWork, c *chain.Candidate) (state FuseState, action string) {
	server := a.report.Framework
	switch {
	case c.Attention && serverKey(server) == "":
		return StateAvailable, "Use SDPA or FlashAttention: attn_implementation='sdpa' in Transformers, " + pathSDPA +
			" elsewhere"
	case c.Attention:
		return StateUnknown, "This layer runs without the attention backend of " + server +
			": check its --attention-backend, or the fallback of the model"
	case c.Experts:
		return StateAvailable, "Use one kernel for the experts: FlashInfer's cutlass_fused_moe on CUDA, " + pathExperts +
			" on ROCm"
	case serverKey(server) != "":
		return StateNone, "No fused path of " + server + " is known for all of these kernels." + a.partly(s, c)
	case c.Compiled():
		return StateUnknown, "torch.compile made most of these kernels: a graph break or a custom op keeps them apart " +
			"(TORCH_LOGS=graph_breaks lists breaks)"
	case c.Chain != nil:
		return StateAvailable, c.Chain.Do
	}
	return StateAvailable, "Use " + pathCompile
}

// partly is a sentence on the path that the server has for the first part of what a candidate computes, whose name
// begins with the chain's then; "" for none.
func (a *analysis) partly(s *stageWork, c *chain.Candidate) string {
	at := a.setting(s.place(), c.LeastTokens())
	for i := range a.registry.Patterns {
		p := &a.registry.Patterns[i]
		if p.Chain == "" || !a.ofServer(p) || !strings.HasPrefix(strings.ToLower(c.Name), p.Chain) {
			continue
		}
		if state, how, _ := a.state(p, at); state.Asks() {
			return " For a part of them it has " + p.Pattern + ": " + how
		}
	}
	return ""
}

// String says what a fused kernel saves: "GPU −1.40 ms (1.10–1.62 ms) in 5 steps; each step −0: no gain while host
// bound"; "" for nothing.
func (g *Gain) String() string {
	if g.HighNS == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "GPU −%s", nanos(g.NS))
	if around := between(g.LowNS, g.HighNS, "", "–"); around != nanos(g.NS) {
		fmt.Fprintf(&b, " (%s)", around)
	}
	switch {
	case g.GPUs > 1:
		fmt.Fprintf(&b, " on %d GPUs; window of each", g.GPUs)
	case g.Steps == 0:
		b.WriteString("; window")
	case g.Mixed:
		fmt.Fprintf(&b, " in %s; all steps", table.Steps(g.Steps, g.CompleteSteps))
	case g.Steps > 1:
		fmt.Fprintf(&b, " in %s; each step", table.Steps(g.Steps, g.CompleteSteps))
	default:
		b.WriteString("; step")
	}
	low, high := g.StepLowNS, g.StepHighNS
	if g.Mixed {
		low, high = int64(float64(low)*g.CompleteSteps), int64(float64(high)*g.CompleteSteps)
	}
	switch step := between(low, high, "−", " to "); {
	case g.StepHighNS == 0:
		b.WriteString(" −0: no gain while host bound")
	case g.HostBoundPct > 0:
		fmt.Fprintf(&b, " %s; %s of the occurrences are host bound and not counted for it", step, pct(g.HostBoundPct))
	default:
		fmt.Fprintf(&b, " %s", step)
	}
	if g.BytesNeeded > 0 {
		fmt.Fprintf(&b, "; %s moved, %s needed", table.Bytes(g.BytesMoved), table.Bytes(g.BytesNeeded))
		if g.BytesOf < g.Occurrences {
			fmt.Fprintf(&b, " (shapes are known of %d of %d occurrences)", g.BytesOf, g.Occurrences)
		}
	}
	fmt.Fprintf(&b, "; %s fewer %s", table.Count(int64(g.Launches)), table.Plural(g.Launches, "launch", "launches"))
	return b.String()
}

// between is a range of times, each with a sign, or the one that both are. A common unit is written once.
func between(low, high int64, sign, to string) string {
	a, b := nanos(low), nanos(high)
	if a == b {
		return sign + b
	}
	if n, unit, _ := strings.Cut(a, " "); strings.HasSuffix(b, " "+unit) {
		a = n
	}
	return sign + a + to + sign + b
}
