// Package page turns the results of the example programs into HTML reports:
// it chooses which charts and tables show a result and words them. Package
// internal/htmlreport draws them.
package page
