// Package steps are the steps of a server as the host sees them: forward passes with when the host prepared and
// launched them.
package steps
