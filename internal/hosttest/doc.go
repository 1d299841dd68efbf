// Package hosttest opens the Nsight Systems exports that tests of the host's
// reports read.
package hosttest
