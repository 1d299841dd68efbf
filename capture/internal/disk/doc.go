// Package disk says how much room there is.
package disk
