// Mutate measures how much the tests of a package notice: it changes one number
// or one comparison of its source at a time, runs the package's tests, and says
// how many of the changes made one fail.
//
//	go run ./internal/mutate -pkg triage,layer -n 20
//	go run ./internal/mutate -pkg layer -kind number -seed 7 -v
//
// The sample is random by -seed, so that a run can be repeated. Mutants that do
// not compile are drawn again. The tests run in copies of the module without the
// reference traces, as in a fresh clone, with -short; examples and tests that
// compare whole outputs with the published scripts do not count (-skip): they fail
// at any change and say nothing about which.
//
// # NOTE
//
// Not every survivor is a gap: some changes cannot be seen (a buffer's size, a
// bound that no input reaches). The list is to be read: equivalent, cost only, or
// a missing test.
package main
