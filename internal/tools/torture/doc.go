// Torture gives damaged, hostile and oddly shaped traces to programs, one
// process each, and says what became of them: crashes, hangs, refusals, losses,
// time and memory, and how time grows with the number of events.
//
//	go run -C internal/tools ./torture TRACE...                          # everything, to docs/torture.md
//	go run -C internal/tools ./torture -suite sizes -o /tmp/sizes.md     # how time grows, by shape
//	go run -C internal/tools ./torture -tool 'mytool --in {}' TRACE...   # somebody else's tool, {} is the file
//	go run -C internal/tools ./torture -json JSONTestSuite/test_parsing TRACE...
//
// Suites: cuts (a trace that ends anywhere, plain and compressed), flips (a bit
// of it), json (each file of JSONTestSuite, which the user fetches, as metadata,
// as an element, as args and as a name), bombs (what unpacks to gigabytes, nests
// a million deep, is one name) and sizes (package shapes, at n and 4n events).
//
// Without -tool the programs of this repository are built and used, and a reader
// that counts events, so that losses are known, too. It exits with 1 where a
// program crashed or hung, or where time grew faster than -exponent allows.
package main
