// Package folder works below one folder and never outside it: no name that a
// server or its files come up with leads out.
package folder
