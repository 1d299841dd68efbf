// Package gate writes the outcome of checks in the forms that continuous integration reads: JUnit XML, SARIF, Go's
// benchmark format, Prometheus' text format, Markdown for the summary of a workflow.
//
// It knows nothing of traces: who checks something makes a [Check] of it. All forms say the same.
package gate
