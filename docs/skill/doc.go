// Package skill holds the skill for coding agents, which the strata program installs.
package skill

import _ "embed" // for the text

//go:embed SKILL.md
var text string

// Text is SKILL.md.
func Text() string { return text }
