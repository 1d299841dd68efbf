// Package pyframe reads the names that profilers give Python frames, "path(line): function", and ranks them by how
// specific they are about a kernel's source.
package pyframe
