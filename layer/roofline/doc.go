// Package roofline says what a forward pass should take: the arithmetic and the memory traffic that each operator of
// the model needs, divided by what the GPU can do. That is a floor which no kernel beats; what is above it is where
// time can be saved.
//
// It needs no recorded shapes: a model's config, the number of tokens of a pass and the operator of each kernel are
// enough, so it works on graph replays, too. [Plan] computes the floor without any trace.
package roofline
