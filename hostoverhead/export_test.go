package hostoverhead

import (
	"context"

	"github.com/llmstrata/strata/internal/timeline"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

// Params are the numbers that decide.
type Params = params

// DefaultParams are those in use.
func DefaultParams() Params { return defaultParams() }

// With are options with other numbers.
func (o Options) With(p *Params) Options {
	o.numbers = p
	return o
}

// Piece is a piece of idle time.
type Piece struct {
	Device     trace.DeviceID
	Start, End int64
	Cause      finding.Cause
}

// Pieces calls f with every piece of idle time, by device and start.
func Pieces(a *layer.Analysis, p Params, f func(Piece)) error {
	w, err := newWorkload(context.TODO(), a)
	if err != nil {
		return err
	}
	l := newLedger(w, &p).beside()
	for _, part := range partsOf(w.devices, 1) {
		err := l.walk(context.TODO(), part, func(p *idlePiece) { f(Piece{part.d.id, p.span.Start, p.span.End, p.cause}) })
		if err != nil {
			return err
		}
	}
	return nil
}

// TimelinePieces is how many pieces of host timelines the ledger of a trace holds at most at a time.
func TimelinePieces(a *layer.Analysis) (most int) {
	w, err := newWorkload(context.TODO(), a)
	if err != nil {
		return 0
	}
	p := defaultParams()
	for _, part := range partsOf(w.devices, 1) {
		l := newLedger(w, &p).beside()
		err := l.walk(context.TODO(), part, func(*idlePiece) {
			n := 0
			for _, s := range l.threads {
				n += len(s.Now[timeline.Calls]) + len(s.Now[timeline.Ranges]) + len(s.Now[timeline.Code])
			}
			most = max(most, n)
		})
		if err != nil {
			return 0
		}
	}
	return most
}

// WorstRanks is how many of many ranks have a row.
const WorstRanks = worstRanks

// Statuses of compared operations.
const (
	StatusImproved   = statusImproved
	StatusNew        = statusNew
	StatusRegression = statusRegression
	StatusRemoved    = statusRemoved
	StatusRenamed    = statusRenamed
)
