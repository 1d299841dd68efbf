// Package chain finds the chains of a fusion registry among the activities of a stage: which steps a kernel does by
// its names and facts, where a pattern's steps follow one another on a stream, and what a fused kernel would save
// there.
package chain
