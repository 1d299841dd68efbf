// Package repository finds the checkout that the tools work on.
package repository

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const declared = "module github.com/llmstrata/strata"

// Run runs a tool in the repository's root. An error is printed with the tool's name, and ends it with exit code 1.
func Run(tool string, run func() error) {
	err := Enter()
	if err == nil {
		err = run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, tool+":", err)
		os.Exit(1)
	}
}

// Enter makes the repository's root the working directory. "go run -C internal/tools"
// starts a tool in this nested module, while its flags name files from the root.
func Enter() error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		first, _, _ := strings.Cut(string(text), "\n")
		if err == nil && strings.TrimSpace(first) == declared {
			return os.Chdir(dir)
		}
		up := filepath.Dir(dir)
		if up == dir {
			return errors.New("run this inside a checkout of " + strings.TrimPrefix(declared, "module "))
		}
		dir = up
	}
}
