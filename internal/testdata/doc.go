// Package testdata finds the files that tests read.
//
// The reference data (real traces, golden outputs, model configs) is not part
// of the repository: it lies in a directory named shared beside the module's
// root. [Shared] answers the path of one of its files and skips the test,
// naming the missing path, where the directory is absent, so that a bare clone
// passes its tests and says what it did not check. [Distilled] answers the path
// of a reduced copy of a real trace that is part of the repository, and
// [DistilledTraces] what is known about each. Where a copy holds a whole trace,
// [Shared] answers with it if the original is absent, so that tests written for
// the reference data run in a fresh clone too.
//
// The go command leaves directories of this name out of "./..." patterns;
// the package is built wherever a test imports it, and its own tests run by
// naming it: go test ./internal/testdata.
package testdata
