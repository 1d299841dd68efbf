// Package settings are the flags and settings of servers and libraries that change what the host costs, with where
// each was read.
package settings
