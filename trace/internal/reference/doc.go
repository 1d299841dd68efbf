// Package reference holds what this repository knows of SQLite files against SQLite itself. It is a module of its own
// so that importers of the library, and its other tests, never compile SQLite.
//
//	go test -C trace/internal/reference            # what is kept and what is generated is what SQLite writes and reads
//	go test -C trace/internal/reference . -update  # keeps it anew, after a change of the cases or of SQLite
package reference
