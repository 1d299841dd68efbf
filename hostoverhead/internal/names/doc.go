// Package names reads names of host ranges, frames, calls and kernels, and stages of steps, for both halves of package
// hostoverhead.
package names
