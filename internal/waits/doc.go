// Package waits says what a thread of the host waits for, by the names of calls, ranges and Python frames: for a
// lock, for another process, for requests, or for nothing. It also knows the functions that servers' event loops
// are made.
package waits
