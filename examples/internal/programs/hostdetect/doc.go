// Package hostdetect is the program host-detect, which says whether the CPU is the bottleneck of a traced inference
// run, YES or NO, with the metrics and thresholds behind the answer and where the GPU's idle time goes.
package hostdetect
