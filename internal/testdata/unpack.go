package testdata

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// ReadFile returns the content of a file, decompressed.
func ReadFile(tb testing.TB, path string) []byte {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return Unpacked(tb, data)
}

// Unpacked undoes gzip and zstd, gzip by the standard library; other data stays as it is.
func Unpacked(tb testing.TB, data []byte) []byte {
	tb.Helper()
	var r io.Reader
	var err error
	switch {
	case bytes.HasPrefix(data, []byte{0x1f, 0x8b}):
		r, err = gzip.NewReader(bytes.NewReader(data))
	case bytes.HasPrefix(data, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		r, err = zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1))
	default:
		return data
	}
	if err == nil {
		data, err = io.ReadAll(r)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return data
}
