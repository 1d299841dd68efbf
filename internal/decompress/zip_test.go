package decompress_test

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/llmstrata/strata/internal/decompress"
)

// member is one file of an archive.
type member struct {
	name   string
	data   []byte
	method uint16
	raw    bool // checksum and sizes come first
}

func zipped(tb testing.TB, members ...member) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: m.method}
		var f io.Writer
		var err error
		if m.raw {
			h.CompressedSize64, h.UncompressedSize64, h.CRC32 = uint64(len(m.data)), uint64(len(m.data)),
				checksum(m.data)
			f, err = w.CreateRaw(h)
		} else {
			f, err = w.CreateHeader(h)
		}
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := f.Write(m.data); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// TestFurtherFormats: what people pack traces into, read from any reader.
func TestFurtherFormats(t *testing.T) {
	want := text(300_000)
	var z bytes.Buffer
	zw := zlib.NewWriter(&z)
	zw.Write(want)
	zw.Close()
	for _, c := range []struct {
		name string
		in   []byte
		f    decompress.Format
	}{
		{"zlib", z.Bytes(), decompress.Zlib},
		{"zip", zipped(t, member{name: "a.json", data: want, method: zip.Deflate}), decompress.Zip},
		{"zip-folder", zipped(t, member{name: "run/"}, member{name: "run/a.json", data: want, method: zip.Deflate}),
			decompress.Zip},
		{"zip-stored", zipped(t, member{name: "a.json", data: want, raw: true}), decompress.Zip},
	} {
		for _, r := range []io.Reader{bytes.NewReader(c.in), iotest.OneByteReader(bytes.NewReader(c.in))} {
			got, f, err := read(t, r, decompress.Limits{})
			if err != nil || f != c.f || !bytes.Equal(got, want) {
				t.Errorf("%s: got %d bytes as %v, %v; want %d as %v", c.name, len(got), f, err, len(want), c.f)
			}
		}
	}
}

const bzip2JSON = "QlpoOTFBWSZTWedU11kAAAgfgBAAABACAAAKKgEdCiAAMUwAAU0wA0lD0o1zQYcgZu/F3JFOFCQ51TXWQA=="

func checksum(b []byte) uint32 { return crc32.ChecksumIEEE(b) }

// TestBzip2 holds a file that bzip2 made of {"traceEvents":[]}.
func TestBzip2(t *testing.T) {
	in, err := base64.StdEncoding.DecodeString(bzip2JSON)
	if err != nil {
		t.Fatal(err)
	}
	got, f, err := read(t, bytes.NewReader(in), decompress.Limits{})
	if err != nil || f != decompress.Bzip2 || string(got) != `{"traceEvents":[]}` {
		t.Errorf("got %q as %v, %v", got, f, err)
	}
}

// TestZipsThatAreNotOneWholeFile: nothing is lost without a word.
func TestZipsThatAreNotOneWholeFile(t *testing.T) {
	want := text(10_000)
	one := zipped(t, member{name: "a.json", data: want, method: zip.Deflate})
	two := zipped(t, member{name: "a.json", data: want, method: zip.Deflate},
		member{name: "b.json", data: want, method: zip.Deflate})
	wrong := bytes.Clone(zipped(t, member{name: "a.json", data: want, raw: true}))
	wrong[100] ^= 1
	for _, c := range []struct {
		name string
		in   []byte
		says string
	}{
		{"two files", two, "more than one file"}, {"checksum", wrong, "checksum"}, {"cut", one[:len(one)/2], "EOF"},
		{"cut header", one[:20], "EOF"},
	} {
		_, _, err := read(t, bytes.NewReader(c.in), decompress.Limits{})
		var d *decompress.Damage
		if !errors.As(err, &d) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want damage with %q", c.name, err, c.says)
		}
	}
	secret := bytes.Clone(one)
	secret[6] |= 1
	for name, in := range map[string][]byte{"encrypted": secret,
		"rare kind":      zipped(t, member{name: "a", data: want, method: zip.Store}),
		"without a file": zipped(t, member{name: "run/"})} {
		if _, err := decompress.NewReader(bytes.NewReader(in), decompress.Limits{}); !errors.Is(err,
			decompress.ErrUnsupported) {
			t.Errorf("%s: error %v, want ErrUnsupported", name, err)
		}
	}
}
