// Package stat holds what several comparisons compute with: means, and Student's t
// distribution, which says how often the mean of few noisy values is off by how much.
package stat
