package roofline

import "time"

// Numbers that decide what a report says.
const (
	// above is from which share of the peak at the highest clock on a row of weights, cache or arithmetic cannot be
	// true: tokens, shapes, types, GPU or the records are wrong. Figures of data sheets are rounded to a per cent.
	above = 1.02
	// withheld is the share of a pass's time in such rows above which its floor is not shown.
	withheld = 0.01
	// shortest is the quantile of a trace's kernel durations that counts as the GPU's shortest kernels, which "nine in
	// ten kernels take at least" says in reports, and
	// nearShortest how many times that an operator may take per launch to be bound by latency. Shortest kernels
	// differ by GPU: 2 µs on an H100, 5 to 6 µs on an MI300X.
	shortest     = 0.10
	nearShortest = 2.0
	// mostShortest is how long the shortest kernels of any GPU take at most, see shortest: a trace whose kernels all
	// take longer has no short ones.
	mostShortest = 6 * time.Microsecond
)
