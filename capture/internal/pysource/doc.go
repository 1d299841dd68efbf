// Package pysource edits the two places of TensorRT-LLM's py_executor.py that
// decide what its torch profiler records and which ranks write. It reads
// Python as far as that takes: comments, strings and brackets.
package pysource
