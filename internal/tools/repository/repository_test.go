package repository

import (
	"os"
	"testing"
)

func TestEnterLeavesTheNestedModule(t *testing.T) {
	t.Chdir(".")
	if err := Enter(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("internal/tools/go.mod"); err != nil {
		t.Errorf("the working directory is not the repository's root: %v", err)
	}
	t.Chdir(t.TempDir())
	if err := Enter(); err == nil {
		t.Error("Enter found a repository above a temporary directory")
	}
}
