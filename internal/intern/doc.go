// Package intern numbers byte strings: equal contents get equal numbers,
// counted from 0 in the order of first appearance.
package intern
