// Package layerbreakdown is the program layer-breakdown, which shows one layer of one forward pass kernel by kernel,
// and compares two layers.
package layerbreakdown
