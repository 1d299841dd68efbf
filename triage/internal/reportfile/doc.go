// Package reportfile reads Markdown triage reports from files that may be
// anything.
package reportfile
