// Mutate measures how much the tests of a package notice: it changes one number
// or one comparison of its source at a time, runs the tests that reach the place,
// and says how many of the changes made one fail.
//
//	go run -C internal/tools ./mutate -pkg triage,layer -n 20
//	go run -C internal/tools ./mutate -pkg layer -kind number -seed 7 -v
//
// A name of -pkg stands for the package and for all internal packages below it:
// they were split off and answer through it. The sample is random by -seed, so
// that a run can be repeated. It works in a copy of the module without the
// reference traces, as in a fresh clone. All changes of a sample are built in at
// once, each behind a switch that an environment variable turns on; a first run
// notes which tests come by each switch. Places that no switch can hold (lengths of
// arrays, iota, exported constants) are drawn again, like changes that do not
// compile. A number becomes the next one, ten times as much or nothing, 0 becomes
// 1, and −1, which nearly everywhere says that there is none, 0: −2 would say the
// same. Numbers that only give a size, a position or a base (of make, of a slice,
// of strconv) are no places. Tests run without STRATA_LONG, quickest first; examples and
// tests that compare whole outputs with the published scripts do not count (-skip):
// they fail at any change and say nothing about which. -skip can leave out slow
// tests, too; then the share killed is what the others notice.
//
// # Survivors
//
// Not every survivor is a gap: some changes cannot be seen (a bound that no input
// reaches), others change the cost alone (a buffer's size). survivors.txt lists
// those that were read, with the reason; they are counted apart. Each other one is
// a missing test.
package main
