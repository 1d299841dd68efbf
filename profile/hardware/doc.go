// Package hardware knows what GPUs can do at most: arithmetic by data type, memory bandwidth, links.
//
// Figures are those of data sheets, dense, and are meant for floors: what a kernel must take at least. Where sources
// conflict or none was found a figure is doubtful, and no floor should rest on it. See docs/speed-of-light.md for
// where they come from.
package hardware
