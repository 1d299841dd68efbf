// Package launches tells the stages of passes by how they are launched: SGLang, TensorRT-LLM and, unless told
// otherwise, vLLM replay one graph for a whole pass of a decode only, and launch what is too large for a graph one by
// one.
package launches
