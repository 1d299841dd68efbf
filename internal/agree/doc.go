// Package agree holds all programs to one answer: its test runs each on the same
// traces and compares what their JSON and CSV documents say about the same thing,
// with each other, with an oracle that reads the raw events without this module,
// and with the truth of generated and distilled traces.
//
// Disagreements are counted by kind. budget.json holds how many of each kind are
// known; more fail the test, fewer are to be written down:
//
//	go test ./internal/agree -v                 # lists them all
//	go test ./internal/agree -args -update      # lowers the budget, never raises it
//
// The goal is an empty budget. Figures of the published scripts are compared
// elsewhere; the programs' words for stages go through one table, [stageWords].
package agree
