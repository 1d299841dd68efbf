// Package server speaks with the servers that have a profiler over HTTP. What
// differs between them is in one driver each; a driver never sends a request
// twice that a server must get once.
package server
