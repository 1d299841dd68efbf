// Package live is what the programs that talk to a running server share: the
// flags of a capture, notes on its result, and the traces of one as the input
// of a triage.
package live
