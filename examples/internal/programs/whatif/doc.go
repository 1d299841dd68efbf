// Package whatif is the program what-if: what the steps of a trace would take if something about them were different.
package whatif
