package ladder

import (
	"slices"

	"github.com/llmstrata/strata/layer/internal/segment"
	"github.com/llmstrata/strata/trace"
)

// judge lowers the confidence of layers that contradict what layers are, and says that the window cuts the only pass
// where nothing shows its beginning.
func (w *Work) judge(results []*Result, m *Model) {
	guessed := m.Source == FromRepeats
	tooMany := guessed && cutBetween(results)
	sequences := make([]*Sequence, len(results))
	for p, r := range results {
		sequences[p] = r.Seq
	}
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
			_, d.Twice = segment.Twice(r.Seq, sequences)
			doubts[r.st] = d
		}
		d.Foreign = r.foreign
		d.Unsure = slices.ContainsFunc(r.Missing, func(g segment.Gap) bool { return g.Unsized || g.Doubtful })
		d.Miscounted = tooMany
		d.Twice = d.Twice && r.Cut == Uncut
		d.Front = d.Front && r.Cut == Uncut && p == 0 && r.Evidence != RungGraph
		if guessed && len(results) == 1 && r.Cut == Uncut && r.Evidence != RungGraph && !r.Tower {
			whole := r
			if r.read != nil {
				whole = r.variant.lead
			}
			if w.doubtEnds(whole, &d); whole != r {
				w.byVariant(r)
			}
		}
		d.Ragged = d.Ragged || r.Cut != Uncut
		if r.LayerEvidence == RungRepeat {
			r.LayerConf, r.doubts = segment.Judge(r.LayerConf, d), d
		}
	}
	if guessed {
		shareDoubt(results)
	}
	for _, f := range w.Trace.Health().Findings {
		switch f.Code {
		case trace.CodeScrambled:
			w.doubtScrambled(results)
		case trace.CodeImpossibleOverlap:
			w.doubtMoved(results)
		}
	}
}

// cutBetween says that a pass between two others was read as one that the window cuts, which it cannot: the model has
// fewer layers than were counted, as in a whole pass that a tower of others precedes.
func cutBetween(results []*Result) bool {
	return len(results) > 2 && slices.ContainsFunc(results[1:len(results)-1], func(r *Result) bool {
		return r.LayerEvidence == RungRepeat && r.Cut != Uncut && !r.Draft
	})
}

// doubtEnds says which ends of the only pass nothing shows, where the number of its layers was read from itself. Its
// layers count from the end where it may lack the first ones. A tower ends where the model of its call begins.
func (w *Work) doubtEnds(r *Result, d *segment.Doubts) {
	missing := segment.MissingEnds(r.Seq, r.st.Starts)
	switch {
	case d.Front && missing.End:
		r.Cut, r.FromEnd, d.Lost = CutAtBoth, true, true
	case d.Front:
		r.Cut, r.FromEnd, d.FromEnd = CutAtStart, true, true
		f := segment.Window(r.Seq, r.st, r.Seq.Len(), CutAtStart.ends()) // of as many layers as there may be
		f.First = 0
		w.byFitted(r, f, r.LayerEvidence, r.LayerConf)
	case missing.End:
		r.Cut, d.Endless = CutAtEnd, true
	}
	d.Front = false
}

// doubtScrambled lowers the confidence of replays if the order of the file shows that their records are
// scrambled.
func (w *Work) doubtScrambled(results []*Result) {
	for _, r := range results {
		if r.Count == 0 || !slices.ContainsFunc(r.Kernels, w.Replayed) {
			continue
		}
		r.LayerConf, r.Scrambled, r.doubts.Scrambled = min(r.LayerConf, segment.Scrambled), true, true
	}
}

// doubtMoved lowers the confidence of passes with activities that end before earlier ones of their stream, or that one
// call launched together with such: they did not run in the order of their times.
func (w *Work) doubtMoved(results []*Result) {
	launch := func(i int32) trace.EventID {
		if call := w.call(i); call.Valid() {
			return call.ID()
		}
		return w.Act(i).ID()
	}
	latest := map[trace.StreamID]int32{} // the activity that ends last, by stream
	moved := map[trace.EventID]bool{}    // by launch
	for k := range w.Acts {
		i := int32(k)
		stream, end := w.Act(i).Stream(), w.Act(i).End()
		if last, any := latest[stream]; !any || end >= w.Act(last).End() {
			latest[stream] = i
		} else {
			moved[launch(i)], moved[launch(last)] = true, true
		}
	}
	for _, r := range results {
		if slices.ContainsFunc(r.Kernels, func(i int32) bool { return moved[launch(i)] }) {
			r.LayerConf, r.Scrambled, r.doubts.Moved = min(r.LayerConf, segment.Scrambled), true, true
		}
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
