// Package table renders results: tables as fixed-width text and as Markdown,
// rows as CSV, and numbers with their units the same way in every program.
//
// Cells come from traces, that is from anywhere: control characters and
// invalid UTF-8 never reach the output of a table (see [Clean]), and the
// characters that Markdown or CSV give a meaning are escaped.
package table
