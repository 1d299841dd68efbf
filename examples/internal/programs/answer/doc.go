// Package answer is the program answer: the checklist that a report on a trace has to fill in, filled in. What a
// trace does not tell is a field with a reason.
package answer
