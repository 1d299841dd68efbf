package hostoverhead

import (
	"github.com/llmstrata/strata/internal/stop"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// Piece is a piece of idle time.
type Piece struct {
	Device     trace.DeviceID
	Start, End int64
	Cause      Cause
}

// Pieces calls f with every piece of idle time, by device and start.
func Pieces(a *layer.Analysis, p Params, f func(Piece)) error {
	w, err := newWorkload(stop.New(nil), a, false, nil)
	if err != nil {
		return err
	}
	for _, d := range w.devices {
		w.findPasses(d)
		w.findPaths(d)
	}
	l := newLedger(w, &p)
	for _, d := range w.devices {
		l.walk(d, func(p *idlePiece) { f(Piece{d.id, p.span.Start, p.span.End, causes[p.cause].cause}) })
	}
	return nil
}

// TimelinePieces is how many pieces of host timelines the ledger of a trace keeps.
func TimelinePieces(a *layer.Analysis) int {
	w, err := newWorkload(stop.New(nil), a, false, nil)
	if err != nil {
		return 0
	}
	p := DefaultParams()
	l := newLedger(w, &p)
	n := 0
	for th := range l.needs {
		tl := l.timelineOf(th)
		n += len(tl.calls) + len(tl.ranges) + len(tl.code)
	}
	return n
}
