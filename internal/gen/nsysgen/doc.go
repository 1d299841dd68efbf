// Package nsysgen writes Nsight Systems SQLite exports of an imaginary
// inference server, for tests and benchmarks: the same configuration always
// gives the same rows.
//
// The server is shaped like TensorRT-LLM's executor: every rank runs a loop of
// host operations and a forward step, each an NVTX range; context steps launch
// kernel by kernel, generation steps replay a CUDA graph. The GPU is a queue:
// a kernel starts when it has been launched and the one before it is done.
package nsysgen
