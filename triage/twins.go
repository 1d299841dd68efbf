package triage

import "context"

// twin is the eager launch that a replayed activity stands for.
type twin struct {
	site, op int32
	sameName bool
}

// twinTable holds the twins of one trace's activities.
type twinTable struct{ byAct []twin }

// at returns the twin of activity i, false where there is none.
func (t twinTable) at(i int) (twin, bool) {
	if i >= len(t.byAct) || t.byAct[i].site <= siteReplay {
		return twin{}, false
	}
	return t.byAct[i], true
}

// twins aligns the replays of a trace with eager launches.
func (a *Analysis) twins(ctx context.Context, w *work) (twinTable, error) {
	return twinTable{}, ctx.Err()
}
