// Package fusion holds the known fused paths of LLM servers as data: which kernels show that one is used, which chain
// of kernels shows that it is not, and where a path exists: platform, architecture, model, size, flag, since when,
// where it is written.
package fusion
