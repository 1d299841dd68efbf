package layer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/trace"
)

// judge lowers the confidence of layers that contradict what layers are, and says that the window cuts the only pass where
// nothing shows its beginning.
func (w *Work) judge(results []passResult, m *modelFacts) {
	guessed := m.source == "repeats"
	doubts := map[*segment.Cut]judged{} // passes of equal kernels share their cut
	for p := range results {
		r := &results[p]
		if r.count == 0 && (r.evidence == "structure" || r.evidence == "whole" || r.evidence == "graph") {
			r.conf = min(r.conf, params.ConfidenceWhole)
		}
		if r.st == nil || r.levidence == "module" {
			continue
		}
		known, ok := doubts[r.st]
		if !ok || !slices.Equal(known.ids, r.seq.ID) {
			known = judged{r.seq.ID, params.Doubt(r.seq, r.st, guessed)}
			doubts[r.st] = known
		}
		d := known.doubts
		d.Front = d.Front && r.cut == uncut && p == 0 && r.evidence != "graph"
		if d.Front && guessed && len(results) == 1 {
			w.countFromEnd(r, d)
			continue
		}
		if guessed && len(results) == 1 && r.cut == uncut && r.evidence != "graph" && params.GoesOn(r.seq, r.st.Starts) {
			r.cut, r.lconf = cutAtEnd, min(r.lconf, params.CapBack)
			if d.Uneven > params.DoubtUneven {
				r.lconf = min(r.lconf, params.CapUneven)
			}
			r.doubts = fmt.Sprintf("nothing shows where the pass ends: there may be more than %d layers", r.count)
		}
		if r.levidence == "repeat" {
			r.lconf = params.Judge(r.lconf, d)
			r.doubts = params.Words(d)
			if len(results) == 1 && r.cut != uncut && params.Beginless(d) {
				r.lconf = min(r.lconf, params.CapDamaged)
			}
		}
	}
	if guessed {
		shareDoubt(results)
	}
	w.doubtScrambled(results)
}

// judged is what was said against the layers of a sequence of names.
type judged struct {
	ids    []int32
	doubts segment.Doubts
}

// countFromEnd numbers the layers of the only pass from its end, as nothing shows where it begins. Where it has no end of its own
// either, only the order of its layers is known.
func (w *Work) countFromEnd(r *passResult, d segment.Doubts) {
	d.Front = false
	r.cut, r.fromEnd = cutAtStart, true
	if params.GoesOn(r.seq, r.st.Starts) {
		r.cut, r.lconf = cutAtBoth, params.CapLost
		r.doubts = fmt.Sprintf("nothing shows where the pass begins or ends: layers count from the last one present, and there may be more than %d", r.count)
		return
	}
	most := params.CapBack
	if params.Beginless(d) {
		most = params.CapDamaged
	}
	f := params.Window(r.seq, r.st, r.count+1, cutAtStart.ends())
	f.First = 0
	if words := params.Words(d); words != "" {
		if again, cut, ok := params.Reread(r.seq, r.st, 0, cutAtStart.ends()); ok {
			f = &segment.Fitted{Cut: again, CutFirst: cut.Start}
		}
	}
	w.byFitted(r, f, r.levidence, min(most, params.Judge(r.lconf, d)))
	r.doubts = strings.TrimSuffix(fmt.Sprintf("the window does not hold the first layers: they count from the end, and there may be more than %d; %s", r.count, params.Words(d)), "; ")
}

// capScrambled is the most that layers of a graph replay are worth where names and times of the trace's records do not belong
// together: half of the kernels of the one real trace stand in another layer than the one they ran in.
const capScrambled = 0.5

// doubtScrambled lowers the confidence of replays whose records are scrambled: the file's order shows it, or the layers do.
func (w *Work) doubtScrambled(results []passResult) {
	told := slices.ContainsFunc(w.t.Health().Findings, func(f trace.Finding) bool { return f.Code == trace.CodeScrambled })
	for p := range results {
		r := &results[p]
		if r.count == 0 || !(told && slices.ContainsFunc(r.kernels, w.replayed) || w.rotated(r) >= rotatedLayers) {
			continue
		}
		r.lconf = min(r.lconf, capScrambled)
		r.doubts = strings.TrimPrefix(r.doubts+"; records are scrambled: names and times of kernels do not belong together", "; ")
	}
}

// shareDoubt lowers the confidence of passes whose number of layers was read from all of them, halfway to the least.
func shareDoubt(results []passResult) {
	least := 1.0
	for p := range results {
		if r := &results[p]; r.levidence == "repeat" && r.cut == uncut {
			least = min(least, r.lconf)
		}
	}
	for p := range results {
		if r := &results[p]; r.levidence == "repeat" {
			r.lconf = min(r.lconf, (r.lconf+least)/2)
		}
	}
}
