// Apilist lists what the public packages of this module export, one line a
// name, and compares the list with the committed one, api.txt:
//
//	go run ./internal/apilist            # fails and shows the difference
//	go run ./internal/apilist -update    # writes the list anew
//
// A change of the interface thus shows in the change that makes it, whether it
// breaks importers or only adds to what must be kept. The list is made by
// reading the compiler's export data with go/types, so that it holds what
// importers see: values of constants, inferred types, the JSON names of fields.
// It is text of our own making because the export data itself, which apidiff
// compares, changes its format from one release of Go to the next.
package main
