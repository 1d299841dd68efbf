// Package report is the program report, which says everything at once about a
// trace: what matters first, then passes, operators, exposure and fusions.
package report
