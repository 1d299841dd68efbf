// Package timeline says what a thread of the host did at each moment of some spans.
package timeline
