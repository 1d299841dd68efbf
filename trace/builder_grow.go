package trace

import "slices"

// Grow makes room for n more events of lane l. It only saves time and memory:
// columns that grow step by step are copied again and again.
func (b *Builder) Grow(l Lane, n int) {
	if l >= laneCount || n <= 0 {
		return
	}
	c := &b.t.lanes[l]
	c.start, c.dur = slices.Grow(c.start, n), slices.Grow(c.dur, n)
	c.name, c.kind = slices.Grow(c.name, n), slices.Grow(c.kind, n)
	switch l {
	case LaneGPU:
		c.queue = slices.Grow(c.queue, n)
	default:
		c.thread = slices.Grow(c.thread, n)
	}
	if l == LaneGPU || l == LaneLaunch {
		c.corr.v = slices.Grow(c.corr.v, n)
	}
}
