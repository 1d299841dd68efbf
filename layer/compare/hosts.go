package compare

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// hosts are the steps of a side whose passes are compared.
func (c *chosen) hosts() []*Host {
	var out []*Host
	for r, passes := range c.passes {
		run := &c.side.Runs[r]
		if run.Host == nil || len(passes) == 0 {
			continue
		}
		wanted := map[int]bool{}
		for _, p := range passes {
			wanted[run.Passes[p].Index] = true
		}
		out = append(out, run.Host.only(wanted))
	}
	return out
}

// only keeps the steps of some passes.
func (h *Host) only(passes map[int]bool) *Host {
	out := &Host{}
	for i, p := range h.Passes {
		if passes[p] {
			out.Passes, out.Walls = append(out.Passes, p), append(out.Walls, h.Walls[i])
		}
	}
	for _, op := range h.Operations {
		keep := func(list []time.Duration) []time.Duration {
			if list == nil {
				return nil
			}
			kept := make([]time.Duration, 0, len(out.Walls))
			for i := range list {
				if passes[h.Passes[i]] {
					kept = append(kept, list[i])
				}
			}
			return kept
		}
		op.Steps, op.Waits = keep(op.Steps), keep(op.Waits)
		out.Operations = append(out.Operations, op)
	}
	return out
}

// check refuses a host whose parts do not fit together.
func (h *Host) check() error {
	if h == nil {
		return nil
	}
	if len(h.Passes) != len(h.Walls) {
		return fmt.Errorf("the host has %d passes for %d steps", len(h.Passes), len(h.Walls))
	}
	for i := range h.Operations {
		op := &h.Operations[i]
		if len(op.Steps) != len(h.Walls) {
			return fmt.Errorf("operation %q has %d times for %d steps", op.Name, len(op.Steps), len(h.Walls))
		}
		if op.Waits != nil && len(op.Waits) != len(op.Steps) {
			return fmt.Errorf("operation %q has %d waits for %d steps", op.Name, len(op.Waits), len(op.Steps))
		}
		if !(op.Count >= 0) || math.IsInf(op.Count, 0) {
			return fmt.Errorf("operation %q occurs %v times", op.Name, op.Count)
		}
		if k := slices.IndexFunc(op.Steps, bad); k >= 0 {
			return fmt.Errorf("operation %q has a time of %d ns", op.Name, op.Steps[k])
		}
		if k := slices.IndexFunc(op.Waits, bad); k >= 0 {
			return fmt.Errorf("operation %q has a wait of %d ns", op.Name, op.Waits[k])
		}
	}
	if i := slices.IndexFunc(h.Walls, bad); i >= 0 {
		return fmt.Errorf("the host has a step of %d ns", h.Walls[i])
	}
	return nil
}
