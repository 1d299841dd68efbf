// Demogen writes the demo trace of package internal/demo into the file named
// by its argument, gzipped. A file that already holds the same trace is left
// alone, so that another version of the compressor changes nothing.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"

	"github.com/llmstrata/strata/internal/gen"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: demogen FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "demogen:", err)
		os.Exit(1)
	}
}

// run writes the file unless it is up to date.
func run(path string) error {
	var want bytes.Buffer
	if err := gen.Write(&want, gen.Demo()); err != nil {
		return err
	}
	if holds(path, want.Bytes()) {
		return nil
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(want.Bytes()); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, packed.Bytes(), 0o666)
}

// holds reports whether the gzip file at path unpacks to want.
func holds(path string, want []byte) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return false
	}
	got, err := io.ReadAll(z)
	return err == nil && bytes.Equal(got, want)
}
