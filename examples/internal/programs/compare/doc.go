// Package compare is the program compare, which says what differs between two runs, by operator, and judges gates.
package compare
