package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/llmstrata/strata/capture"
)

// entryReport lists an entry's traces.
func entryReport(_ context.Context, e capture.Entry) (string, error) {
	var b strings.Builder
	for _, c := range e.Captures {
		for _, f := range c.Result.Files() {
			fmt.Fprintf(&b, "* %s: %s\n", c.Role, f)
		}
	}
	return b.String(), nil
}
