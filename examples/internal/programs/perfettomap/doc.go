// Package perfettomap is the program perfetto-map, which says where the forward passes of a trace, and the layers of
// one of them, are in the Perfetto UI. It can draw them into a copy of the trace, cut a shareable piece out of it,
// and open the UI at a layer.
package perfettomap
