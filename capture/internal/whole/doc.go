// Package whole tells a finished trace file from one that is still written.
package whole
