// Distil writes reduced copies of real traces into testdata/distilled, so that
// tests have real kernel names, orders and times in a fresh clone:
//
//	go run -C internal/tools ./distil                     # all, from ../shared/traces
//	go run -C internal/tools ./distil -only llama         # those whose name matches
//
// A copy keeps what the analyses read: of GPU activities, launch calls and
// annotations the name, category, time, thread, correlation, stream and grid; of
// CPU ops and Python frames those around a launch call. The rest is dropped:
// flows, strides, memory events, counters, most frames. Numbers are copied as
// they are written. The same source gives the same bytes.
//
// The sources are public and permissively licensed; testdata/distilled/README.md
// says for each where it comes from and under which licence.
package main
