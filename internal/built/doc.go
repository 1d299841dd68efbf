// Package built makes traces of what tests put together.
package built
