// Package stat holds what several comparisons reckon with.
package stat
