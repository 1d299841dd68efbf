// Package pyframe reads the names that profilers give Python frames, "path(line): function", and ranks them by how
// much they tell about where a kernel comes from.
package pyframe
