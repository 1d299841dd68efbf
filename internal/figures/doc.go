// Figures measures a checkout of this module, or compares several: sizes of
// packages by parsing their sources, time and memory of the programs by running
// them in turns on the same generated traces.
//
//	go run ./internal/figures .                  # this checkout
//	go run ./internal/figures ../before .        # two, side by side
//
// before.md holds what it printed before the packages were put on one analysis.
// Time is the CPU time of the process, in user and system, the median of -runs
// runs; the runs of the checkouts take turns, so that a busy machine slows all of
// them alike: look at ratios, not at milliseconds. Memory is the resident size at
// the end of a run without garbage collection (GOGC=off): all that was allocated,
// and some 10 MB of program. "load" opens the trace with the package trace or
// trace/nsys and does nothing with it.
package main
