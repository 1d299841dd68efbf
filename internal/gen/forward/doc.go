// Package forward writes runs of models as transformers runs them, operator by operator, with the shapes of their
// operands: attention computed in pieces, and products of sizes that no load of 16 bytes fits.
//
// Names, shapes and times are measured ones where a comment names the source; a time that was not measured is the
// work of the operator at a rate that was. The package shares nothing with the analyses, and only the table of rows
// with the other generators.
package forward
