// Package student holds Student's t distribution, which says how often the
// mean of few noisy values is off by how much.
package student
