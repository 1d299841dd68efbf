// Figures compares what two builds of strata say about the same traces: each
// program runs in both on each trace, and each value that differs is a difference
// of its trace, program, row and column.
//
//	go build -o /tmp/new ./examples/strata    # and the same in a checkout of the commit before
//	go run -C internal/tools ./figures -before /tmp/old -after /tmp/new -reasons reasons.txt
//
// Differences of one program and one place are of one kind, whatever their trace
// and row: a kind is printed with its number, one example, and its reason. Reasons
// are lines of "EXPRESSION | REASON"; the expression is matched with the program
// and the place, as in "light passes[].floor_us". A kind that no reason names is
// unexplained, and a reason that names none is stale; with either the exit code
// is 1.
package main
