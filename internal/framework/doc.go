// Package framework knows the servers and libraries that run LLM inference:
// how each is called, marks its steps, names its code, its operators, its
// preparation on the host and its trace files, and how it must be launched.
//
// Each is a [Framework] value in a file of its own. Callers take a list of
// them, usually [All], so that a test, or a program with a server of its own,
// can pass another one. The package imports the standard library only.
package framework
