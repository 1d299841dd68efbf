// Package hostcompare is the program host-compare, which sets two traced runs of the same server against each other and
// names the host operation that became slower; with one trace it breaks a step
// down.
package hostcompare
