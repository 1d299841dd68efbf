package eventjson

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/llmstrata/strata/internal/decompress"
)

// Compression is how a file of this name is compressed, and like where the name does not say.
func Compression(name string, like decompress.Format) decompress.Format {
	if f, ok := endings[strings.ToLower(filepath.Ext(name))]; ok {
		return f
	}
	return like
}

var endings = map[string]decompress.Format{".gz": decompress.Gzip, ".zst": decompress.Zstd, ".json": decompress.Plain}

// NewCompressor returns a writer that compresses to w. Its Close does not close w.
func NewCompressor(w io.Writer, f decompress.Format) (io.WriteCloser, error) {
	switch f {
	case decompress.Gzip:
		return gzip.NewWriterLevel(w, gzip.BestSpeed)
	case decompress.Zstd:
		// One goroutine: the same input gives the same bytes, and memory stays small.
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	}
	return nopCloser{w}, nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
