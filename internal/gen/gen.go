package gen

import "io"

// Write writes the trace that cfg describes to w, as uncompressed JSON, and
// passes its activities to cfg.Truth. Memory does not grow with the size of
// the trace unless cfg.OneBlock asks for Kineto's order. Errors of w are
// returned as they are.
func Write(w io.Writer, cfg Config) error {
	_, err := write(w, cfg)
	return err
}

func write(w io.Writer, cfg Config) (*sim, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	s := newSim(cfg)
	out := &writer{w: w, buf: make([]byte, 0, 2*flushAt), vendor: cfg.Vendor, cfg: &s.cfg, orphans: cfg.Orphans}
	out.header()
	for i := 0; ; i++ {
		if cfg.Size <= 0 && i >= len(cfg.Passes) || cfg.Size > 0 && i > 0 &&
			out.written+int64(len(out.buf)) >= cfg.Size {
			break
		}
		from := mark(&s.out)
		s.runPass(cfg.Passes[i%len(cfg.Passes)])
		if cfg.Size <= 0 && i == len(cfg.Passes)-1 && cfg.CutAtEnd > 0 {
			s.out.cut(from, cfg.CutAtEnd)
		}
		if !cfg.OneBlock {
			out.events(&s.out)
			s.out.reset()
		}
		if out.err != nil {
			return nil, out.err
		}
	}
	out.events(&s.out) // what OneBlock kept
	out.trailer([]int{s.streamID(mainStream), s.streamID(sideStream)},
		max(s.cpu, s.free[mainStream], s.free[sideStream])+40_000)
	return s, out.err
}

// Truths runs the generator for its truth alone.
func Truths(cfg Config) ([]Truth, error) {
	var all []Truth
	cfg.Truth = func(t Truth) { all = append(all, t) }
	err := Write(io.Discard, cfg)
	return all, err
}

// marks are positions in a block.
type marks struct{ cpu, frames, gpu, notes int }

// mark returns where the block ends now.
func mark(b *block) marks { return marks{len(b.cpu), len(b.frames), len(b.gpu), len(b.notes)} }

// cut ends the window after a share of the activities after from: later ones,
// what came after the call of the first of them, and the projected annotations
// of the pass are gone.
func (b *block) cut(from marks, share float64) {
	total := 0
	for _, e := range b.gpu[from.gpu:] {
		if e.class != classRuntime {
			total++
		}
	}
	keep, end := int(float64(total)*share), int64(0)
	kept := b.gpu[:from.gpu]
	dropped := map[uint64]bool{}
	for _, e := range b.gpu[from.gpu:] {
		switch {
		case e.class != classRuntime && keep > 0:
			keep--
		case e.class != classRuntime:
			dropped[e.correlation] = true
			if len(dropped) == 1 && end == 0 {
				end = callStart(b.gpu[from.gpu:], e.correlation)
			}
			continue
		}
		kept = append(kept, e)
	}
	if end == 0 {
		return
	}
	// Calls at or after the cut go too, unless something they launched stays.
	explained := map[uint64]bool{}
	for _, e := range kept[from.gpu:] {
		if e.class != classRuntime {
			explained[e.correlation] = true
		}
	}
	calls := kept[:from.gpu]
	for _, e := range kept[from.gpu:] {
		if e.class != classRuntime || e.ts < end || explained[e.correlation] {
			calls = append(calls, e)
		}
	}
	b.gpu = calls
	b.cpu = before(b.cpu, from.cpu, end)
	b.frames = before(b.frames, from.frames, end)
	b.notes = b.notes[:from.notes]
}

// callStart returns when the call of a correlation began.
func callStart(list []event, correlation uint64) int64 {
	for _, e := range list {
		if e.class == classRuntime && e.correlation == correlation {
			return e.ts
		}
	}
	return 0
}

// before drops the events after from that start at end or later, and ends the
// others there.
func before(list []event, from int, end int64) []event {
	kept := list[:from]
	for _, e := range list[from:] {
		if e.ts >= end {
			continue
		}
		e.dur = min(e.dur, end-e.ts)
		kept = append(kept, e)
	}
	return kept
}
