// Package shapes writes traces that are valid and of a shape that no workload
// has: each makes work grow with the square of the events in a program that
// looks at all others for each one.
package shapes
