// Package triagebundle is the program triage-bundle, which joins Markdown triage reports into one document.
package triagebundle
