// Package programs has the programs that are flags, one call of the library and its document: each in a file of its
// name. Programs with work of their own have packages below.
package programs
