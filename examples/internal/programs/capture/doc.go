// Package capture is the program capture, which records GPU profiler traces from a running LLM server.
//
//	capture --url URL --output-dir DIR      warm up, profile prefill and decode, wait for complete traces
//	capture stop --output-dir DIR           stop the profiler that a killed run has left on
//	capture collect --output-dir DIR        take the traces of a run that was cut off
//	capture doctor --url URL                can it be profiled, and how is it launched
//	capture probe --url URL                 latency and sample answers of a few short requests
//	capture matrix --plan FILE              one model on several servers, resumable, with reports
//
// The work is done by package capture; this program holds flags and printing,
// looks into the traces with packages trace and layer, and hands the traces of
// a matrix to triage.
package capture
