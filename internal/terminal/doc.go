// Package terminal asks the user's terminal what it is like.
package terminal
