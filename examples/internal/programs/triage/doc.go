// Package triage is the program triage, which reads profiler traces of an LLM server and prints three
// tables: where GPU time goes and from which source line, what runs alone
// although it could overlap, and which known fusion is not used.
package triage
