// Package answer is the program answer. It fills in the checklist of a report on a trace; a field that the trace cannot
// answer has a reason.
package answer
