// Mutate measures how much the tests of a package notice: it changes one number
// or one comparison of its source at a time, runs the package's tests on the
// change, and says how many of the changes made one fail.
//
//	go run -C internal/tools ./mutate -pkg triage,layer -n 20
//	go run -C internal/tools ./mutate -pkg layer -kind number -seed 7 -v
//
// A name of -pkg means the package and the internal packages below it, which
// answer through it: the tests of both count, as do those of the package that an
// internal package belongs to. The sample is random by -seed, so that a run can be
// repeated. All of it is built into one test binary a package, laid over the
// checkout, which stays as it is; the environment switches one change on. A place
// that no test reaches is not tried, and a change that does not compile is drawn
// again. A number becomes the next one, ten times as much or nothing; 0 becomes 1.
// Numbers that only give a size, a position or a base (of make, of a slice, of
// strconv) are no places. Examples and tests that compare whole outputs with the
// published scripts do not count (-skip): they fail at any change and say nothing
// about which.
//
// # Survivors
//
// Not every survivor is a gap: some changes cannot be seen (a bound that no input
// reaches), others change the cost alone (a buffer's size). survivors.txt lists
// those that were read, with the reason; they are counted apart. Each other one is
// a missing test.
package main
