// Package pftracegen writes a Kineto document as PyTorch's CUPTI monitor writes
// .pftrace files, for tests of the reader.
package pftracegen
