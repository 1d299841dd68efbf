// Package livetest has a server for tests of the programs that capture from a
// running one.
package livetest
