package ladder

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/trace"
)

// judge lowers the confidence of layers that contradict what layers are, and says that the window cuts the only pass
// where nothing shows its beginning.
func (w *Work) judge(results []*Result, m *Model) {
	guessed := m.Source == FromRepeats
	tooMany := guessed && cutBetween(results)
	doubts := map[*segment.Cut]segment.Doubts{} // passes of equal kernels share their cut
	for p, r := range results {
		if r.Count == 0 && (r.Evidence == RungStructure || r.Evidence == RungWhole || r.Evidence == RungGraph) {
			r.Conf = min(r.Conf, segment.ConfidenceWhole)
		}
		if r.st == nil || r.LayerEvidence == RungModule {
			continue
		}
		d, known := doubts[r.st]
		if !known {
			d = segment.Doubt(r.Seq, r.st, guessed)
			doubts[r.st] = d
		}
		d.Foreign = r.foreign
		d.Miscounted = tooMany
		d.Front = d.Front && r.Cut == Uncut && p == 0 && r.Evidence != RungGraph
		if d.Front && guessed && len(results) == 1 {
			w.countFromEnd(r, d)
			continue
		}
		if guessed && len(results) == 1 && r.Cut == Uncut && r.Evidence != RungGraph &&
			segment.MissingEnds(r.Seq, r.st.Starts).End {
			r.Cut, r.LayerConf = CutAtEnd, min(r.LayerConf, segment.CapBack)
			if d.Uneven > segment.DoubtUneven {
				r.LayerConf = min(r.LayerConf, segment.CapUneven)
			}
			r.doubts = fmt.Sprintf("nothing shows where the pass ends: there may be more than %d layers", r.Count)
		}
		if r.LayerEvidence == RungRepeat {
			r.LayerConf = segment.Judge(r.LayerConf, d)
			r.doubts = joined(r.doubts, segment.Words(d))
		}
	}
	if guessed {
		shareDoubt(results)
	}
	if slices.ContainsFunc(w.Trace.Health().Findings,
		func(f trace.Finding) bool { return f.Code == trace.CodeScrambled }) {
		w.doubtScrambled(results)
	}
}

// cutBetween says that a pass between two others was read as one that the window cuts, which it cannot: the model has
// fewer layers than were counted, as in a whole pass that a tower of others precedes.
func cutBetween(results []*Result) bool {
	return len(results) > 2 && slices.ContainsFunc(results[1:len(results)-1], func(r *Result) bool {
		return r.LayerEvidence == RungRepeat && r.Cut != Uncut && !r.Draft
	})
}

// countFromEnd numbers the layers of the only pass from its end, as nothing shows where it begins. Where it has no
// end of its own either, only the order of its layers is known.
func (w *Work) countFromEnd(r *Result, d segment.Doubts) {
	d.Front = false
	r.Cut, r.FromEnd = CutAtStart, true
	if segment.MissingEnds(r.Seq, r.st.Starts).End {
		r.Cut, r.LayerConf = CutAtBoth, segment.CapLost
		r.doubts = fmt.Sprintf("nothing shows where the pass begins or ends: layers count from the last one present, and there may be more than %d", r.Count)
		return
	}
	f := segment.Window(r.Seq, r.st, r.Seq.Len(), CutAtStart.ends()) // of as many layers as there may be
	f.First = 0
	w.byFitted(r, f, r.LayerEvidence, min(segment.CapBack, segment.Judge(r.LayerConf, d)))
	r.doubts = joined(fmt.Sprintf("the window does not hold the first layers: they count from the end, and there may be more than %d", r.Count), segment.Words(d))
}

// joined puts two doubts one after the other; each may be "".
func joined(first, second string) string {
	return strings.Trim(first+"; "+second, "; ")
}

// CapScrambled is the most that layers of a graph replay are worth where names and times of the trace's records do
// not belong together: half of the kernels of the one real trace are in another layer than the one they ran in.
const CapScrambled = 0.5

// doubtScrambled lowers the confidence of replays if the order of the file shows that their records are
// scrambled.
func (w *Work) doubtScrambled(results []*Result) {
	for _, r := range results {
		if r.Count == 0 || !slices.ContainsFunc(r.Kernels, w.Replayed) {
			continue
		}
		r.LayerConf, r.Scrambled = min(r.LayerConf, CapScrambled), true
		r.doubts = joined(r.doubts, "records are scrambled: names and times of kernels do not belong together")
	}
}

// shareDoubt lowers the confidence of passes whose number of layers was read from all of them, halfway to the least.
func shareDoubt(results []*Result) {
	least := 1.0
	for _, r := range results {
		if r.LayerEvidence == RungRepeat && r.Cut == Uncut {
			least = min(least, r.LayerConf)
		}
	}
	for _, r := range results {
		if r.LayerEvidence == RungRepeat {
			r.LayerConf = min(r.LayerConf, (r.LayerConf+least)/2)
		}
	}
}
