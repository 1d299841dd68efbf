package eventjson_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/llmstrata/strata/internal/decompress"
	"github.com/llmstrata/strata/internal/eventjson"
)

func TestNames(t *testing.T) {
	for name, want := range map[string]decompress.Format{
		"a.json.gz": decompress.Gzip, "A.JSON.GZ": decompress.Gzip, "a.zst": decompress.Zstd,
		"a.json": decompress.Plain,
		"a":      decompress.Zstd, "a.gz.old": decompress.Zstd, "a.pftrace": decompress.Zstd,
	} {
		if got := eventjson.Compression(name, decompress.Zstd); got != want {
			t.Errorf("ByName(%q): got %v, want %v", name, got, want)
		}
	}
}

// TestRoundTrip packs twice: equal bytes, which the reader undoes.
func TestRoundTrip(t *testing.T) {
	text := bytes.Repeat([]byte("kernel, "), 1<<18) // more than a block of any encoder
	for _, f := range []decompress.Format{decompress.Plain, decompress.Gzip, decompress.Zstd} {
		first, second := pack(t, f, text), pack(t, f, text)
		if !bytes.Equal(first, second) {
			t.Errorf("%v: two runs gave different bytes", f)
		}
		r, err := decompress.NewReader(bytes.NewReader(first), decompress.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, text) || r.Format() != f {
			t.Errorf("%v: read %d bytes as %v (%v), want %d", f, len(got), r.Format(), err, len(text))
		}
		r.Close()
	}
}

func pack(t *testing.T, f decompress.Format, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := eventjson.NewCompressor(&b, f)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
