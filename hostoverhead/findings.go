package hostoverhead

import (
	"fmt"
	"time"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer/finding"
)

// idleFindings are the idle time within the steps, one finding a cause, with the fix.
func (a *account) idleFindings(r *RankVerdict) []finding.Finding {
	out := []finding.Finding{}
	server := a.l.w.server()
	basis, dialect, record := a.basis(), server.Key(), a.recordLaunches()
	size := func(total int64, of func(*timeSum) int64) finding.Size {
		sized := func(total int64, n float64) finding.Size {
			return finding.SizeOf(finding.Recoverable, basis, time.Duration(total), n, time.Duration(r.Headroom.WallNS))
		}
		steps, model := a.mostly(of)
		n, sum := a.complete(steps), sumOf(steps)
		if basis == finding.OfWindow {
			n = 1 // the parts between its pauses are one window
		}
		s := sized(total, n)
		s.PerStep, s.Model = sized(of(&sum), n).PerStep, model
		return s
	}
	for i := range r.Idle {
		c := &r.Idle[i]
		if c.StepsNS == 0 {
			continue
		}
		f := finding.Finding{Kind: finding.IdleTime, Cause: c.Cause, Code: c.Cause.String(), Text: c.Cause.Info().Title,
			Size:       size(c.StepsNS, func(s *timeSum) int64 { return s.idle[c.Cause] }),
			Place:      finding.Place{Trace: r.Rank, Device: finding.At(int(r.Device))},
			Confidence: finding.High, Advice: adviceOn(c.Cause, r, dialect, record)}
		switch {
		case c.Cause == finding.UnknownCause, c.Names[0].Name == details[detailStalled]: // nothing shows what is waited for
			f.Confidence = finding.Low
		case c.Cause == finding.Dependency:
			f.Confidence = finding.Medium
		}
		if n := &c.Names[0]; n.Name != "" {
			f.Place.Name, f.Place.Line = n.Name, n.Where
			if table.Clean(n.Name) != c.Cause.Info().Title && c.Cause != finding.GPUDispatch { // whose gaps have no other name
				f.Evidence = c.largest() + "."
			}
		}
		r.locate(c, &f)
		out = append(out, f)
	}
	if c := r.Transfers; c != nil && c.StepsNS > 0 {
		most := &c.Names[0]
		evidence := c.largest()
		if moved := a.moved(most.Name); moved != "" {
			evidence += ", " + moved
		}
		out = append(out, finding.Finding{Kind: finding.ExposedCopies, Code: c.Cause.String(),
			Text: c.Cause.Info().Title, Evidence: evidence + ".",
			Size:       size(c.StepsNS, func(s *timeSum) int64 { return s.busy - s.kernels }),
			Place:      finding.Place{Trace: r.Rank, Device: finding.At(int(r.Device)), Name: most.Name},
			Confidence: finding.High, Advice: c.Cause.Info().Advice})
	}
	return out
}

// largest names the part of a cause that comes first, with its share of the steps' part.
func (c *IdleCause) largest() string {
	n := &c.Names[0]
	return fmt.Sprintf("Largest part: %s (%s)", table.Cut(table.Clean(n.Name), wideName), percentOf(n.StepsNS, c.StepsNS))
}

// saysItself reports whether nearly all of a cause of the GPU's side is in one part: its name says what the cause does.
func (c *IdleCause) saysItself() bool { return !c.Host && 20*c.Names[0].StepsNS >= 19*c.StepsNS }

// basis says what shares of the account are of.
func (a *account) basis() finding.Basis {
	if a.steps[0].step == nil {
		return finding.OfWindow
	}
	return finding.OfStep
}

// locate says where the idle time of a cause shows best: the call or frame that it is in; of the host's causes the
// pass that waits most for the host; of others the longest gap that is mostly theirs, or the gaps of the length that
// they make.
func (r *RankVerdict) locate(c *IdleCause, f *finding.Finding) {
	if f.Place.Line != "" {
		f.Where = table.Cut(table.Clean(f.Place.Line), wideName)
		return
	}
	if c.Host {
		if len(r.Worst) > 0 {
			w := &r.Worst[0]
			f.Place.Pass, f.Place.Start, f.Place.End = finding.At(w.Pass), time.Duration(w.StartNS),
				time.Duration(w.EndNS)
			f.Where = fmt.Sprintf("most host time in pass %d", w.Pass)
		}
		return
	}
	var longest *Gap
	for i := range r.Top {
		g := &r.Top[i]
		// A gap longer than all that the steps lose is in no step.
		if len(g.Causes) > 0 && g.Causes[0].Cause == c.Cause && g.Causes[0].NS <= c.StepsNS &&
			(longest == nil || g.NS > longest.NS) {
			longest = g
		}
	}
	if g := longest; g != nil {
		f.Place.Start, f.Place.End = time.Duration(g.StartNS), time.Duration(g.StartNS+g.NS)
		f.Where = fmt.Sprintf("longest: %s at %s s", table.Duration(time.Duration(g.NS)),
			table.Seconds(time.Duration(g.StartNS), 6))
		return
	}
	var most GapBucket
	for _, b := range r.Gaps {
		if b.Largest == c.Cause && b.TotalNS > most.TotalNS {
			most = b
		}
	}
	if most.Count > 0 {
		f.Where = fmt.Sprintf("mostly %s of %s", table.Counted(most.Count, "gap", "gaps"), most.Title)
	}
}
