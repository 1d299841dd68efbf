// Strata is all programs in one: a report for a file, and a command for each
// question.
package main

import "github.com/llmstrata/strata/examples/internal/command"

func main() { command.Main() }
