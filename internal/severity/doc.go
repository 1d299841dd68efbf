// Package severity orders the words for the health of a trace.
package severity
