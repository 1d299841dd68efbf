// Package atomicfile writes files that appear under their name only when they
// are complete, so that nobody ever reads half a result and a failed run leaves the
// last good one in place; and that never replace what the program reads.
package atomicfile
