// Package command joins the example programs into one, strata: a command each,
// a report for a file without a command, completion for shells, and what was
// probably meant where a command is unknown.
package command
