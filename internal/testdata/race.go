//go:build race

package testdata

func init() { raced = true }
