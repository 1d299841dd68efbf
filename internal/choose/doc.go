// Package choose takes the files of one recording from those of a directory.
package choose
