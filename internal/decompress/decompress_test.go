package decompress_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/llmstrata/strata/internal/decompress"
	"github.com/llmstrata/strata/internal/testdata"
)

func text(n int) []byte {
	rng := rand.New(rand.NewPCG(3, 4))
	b := make([]byte, n)
	for i := range b {
		b[i] = "abcdef{}\",: 0123"[rng.IntN(16)]
	}
	return b
}

func gz(tb testing.TB, b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		tb.Fatal(err)
	}
	w.Close()
	return out.Bytes()
}

func zs(tb testing.TB, b []byte) []byte {
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<16))
	if err != nil {
		tb.Fatal(err)
	}
	w.Write(b)
	w.Close()
	return out.Bytes()
}

func read(tb testing.TB, r io.Reader, lim decompress.Limits) ([]byte, decompress.Format, error) {
	d, err := decompress.NewReader(r, lim)
	if err != nil {
		return nil, 0, err
	}
	defer d.Close()
	b, err := io.ReadAll(d)
	return b, d.Format(), err
}

func TestFormatsByMagicBytes(t *testing.T) {
	want := text(300_000)
	for _, tt := range []struct {
		name string
		in   []byte
		f    decompress.Format
	}{
		{"plain", want, decompress.Plain},
		{"gzip", gz(t, want), decompress.Gzip},
		{"gzip-members", append(gz(t, want[:100_000]), gz(t, want[100_000:])...), decompress.Gzip},
		{"zstd", zs(t, want), decompress.Zstd},
		{"zstd-frames", append(zs(t, want[:1]), zs(t, want[1:])...), decompress.Zstd},
	} {
		for _, r := range []io.Reader{bytes.NewReader(tt.in), iotest.OneByteReader(bytes.NewReader(tt.in)),
			iotest.DataErrReader(bytes.NewReader(tt.in))} {
			got, f, err := read(t, r, decompress.Limits{})
			if err != nil || f != tt.f || !bytes.Equal(got, want) {
				t.Errorf("%s: got %d bytes as %v, %v; want %d as %v", tt.name, len(got), f, err, len(want), tt.f)
			}
		}
	}
}

func TestCutDataGivesThePrefixAndDamage(t *testing.T) {
	want := text(600_000)
	for name, in := range map[string][]byte{"gzip": gz(t, want), "zstd": zs(t, want)} {
		for _, n := range []int{5, 20, len(in) / 2, len(in) - 1} {
			got, _, err := read(t, bytes.NewReader(in[:n]), decompress.Limits{})
			var d *decompress.Damage
			if !errors.As(err, &d) || !errors.Is(err, io.ErrUnexpectedEOF) || d.Offset != int64(len(got)) {
				t.Errorf("%s cut at %d: error %v after %d bytes", name, n, err, len(got))
			}
			if !bytes.HasPrefix(want, got) || n == len(in)/2 && len(got) < len(want)/5 {
				t.Errorf("%s cut at %d: got %d bytes, not a long prefix", name, n, len(got))
			}
		}
	}
}

func TestCorruptChecksumGivesEverythingAndDamage(t *testing.T) {
	want := text(100_000)
	in := gz(t, want)
	in[len(in)-6] ^= 1
	got, _, err := read(t, bytes.NewReader(in), decompress.Limits{})
	var d *decompress.Damage
	if !errors.As(err, &d) || !errors.Is(err, decompress.ErrChecksum) || !bytes.Equal(got, want) {
		t.Errorf("got %d bytes, %v, want all and a checksum error", len(got), err)
	}
}

func TestReaderErrorsPassThrough(t *testing.T) {
	boom := errors.New("boom")
	in := gz(t, text(100_000))
	_, _, err := read(t, io.MultiReader(bytes.NewReader(in[:1000]), iotest.ErrReader(boom)), decompress.Limits{})
	if err != boom {
		t.Errorf("got %v, want the reader's own error", err)
	}
}

func TestLimits(t *testing.T) {
	want := text(100_000)
	got, _, err := read(t, bytes.NewReader(gz(t, want)), decompress.Limits{MaxBytes: 1000})
	if !errors.Is(err, decompress.ErrLimit) || len(got) != 1000 {
		t.Errorf("got %d bytes, %v, want 1000 and ErrLimit", len(got), err)
	}
}

// zeros expand about 1000 to 1 in gzip.
func TestBombIsRefused(t *testing.T) {
	if !testdata.Long() {
		t.Skip("decompresses 1 GiB")
	}
	part := gz(t, make([]byte, 64<<20))
	var parts []io.Reader
	for range 20 {
		parts = append(parts, bytes.NewReader(part))
	}
	d, err := decompress.NewReader(io.MultiReader(parts...), decompress.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, d)
	if !errors.Is(err, decompress.ErrLimit) || n > 1<<30+1<<20 {
		t.Errorf("got %d bytes, %v, want a little over 1 GiB and ErrLimit", n, err)
	}
}

// TestDamagedMagic: one damaged byte of the three that mark gzip costs nothing
// but the trust; two are another kind of file.
func TestDamagedMagic(t *testing.T) {
	want := text(100_000)
	in := gz(t, want)
	for at := range 3 {
		for bit := range 8 {
			b := bytes.Clone(in)
			b[at] ^= 1 << bit
			got, f, err := read(t, iotest.OneByteReader(bytes.NewReader(b)), decompress.Limits{})
			var d *decompress.Damage
			if f != decompress.Gzip || !bytes.Equal(got, want) || !errors.As(err, &d) || d.Offset != int64(len(want)) {
				t.Errorf("bit %d of byte %d: %d bytes as %v, %v", bit, at, len(got), f, err)
			}
			b[(at+1)%3] ^= 1
			if _, f, _ := read(t, bytes.NewReader(b), decompress.Limits{}); f == decompress.Gzip && b[0] != 0x1f {
				t.Errorf("bit %d of byte %d and another: taken for gzip", bit, at)
			}
		}
	}
}
