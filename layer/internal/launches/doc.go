// Package launches finds the stages of passes by how they are launched: SGLang, TensorRT-LLM and, by default,
// vLLM replay one graph for a complete pass of a decode only, and launch what is too large for a graph one by
// one.
package launches
