// Package agree holds what the programs say about one trace against each other.
package agree
