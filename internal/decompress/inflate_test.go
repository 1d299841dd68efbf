package decompress

import (
	"bytes"
	stdflate "compress/flate"
	stdgzip "compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"

	"github.com/llmstrata/strata/internal/testdata"
)

// class folds the errors of three decoders into what they say.
func class(err error) string {
	var corrupt stdflate.CorruptInputError
	var corrupt2 flate.CorruptInputError
	switch {
	case err == nil || err == io.EOF:
		return "end"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "missing"
	case errors.Is(err, errHeader), errors.Is(err, stdgzip.ErrHeader), errors.Is(err, gzip.ErrHeader):
		return "header"
	case errors.Is(err, ErrChecksum), errors.Is(err, stdgzip.ErrChecksum), errors.Is(err, gzip.ErrChecksum):
		return "checksum"
	case errors.Is(err, errCorrupt), errors.As(err, &corrupt), errors.As(err, &corrupt2):
		return "corrupt"
	}
	return err.Error()
}

// unpack reads all that a decoder gives in pieces of the given size.
func unpack(open func(io.Reader) (io.Reader, error), r io.Reader, piece int) ([]byte, error) {
	z, err := open(r)
	if err != nil {
		return nil, err
	}
	var out []byte
	buf := make([]byte, piece)
	for {
		n, err := z.Read(buf)
		out = append(out, buf[:n]...)
		for i := range buf { // what was returned is the caller's: no copy may reach into it
			buf[i] = '#'
		}
		if err != nil {
			return out, err
		}
	}
}

func ours(r io.Reader) (io.Reader, error) { return newGzipReader(r) }
func std(r io.Reader) (io.Reader, error)  { return stdgzip.NewReader(r) }
func kp(r io.Reader) (io.Reader, error)   { return gzip.NewReader(r) }

// same checks that our decoder gives the bytes and the error of the others.
func same(t *testing.T, packed []byte, pieces ...int) {
	t.Helper()
	want, wantErr := unpack(std, bytes.NewReader(packed), 4096)
	for _, piece := range pieces {
		got, err := unpack(ours, bytes.NewReader(packed), piece)
		if class(err) != class(wantErr) {
			t.Fatalf("%d bytes in pieces of %d: error %v after %d bytes, want %v after %d", len(packed), piece, err,
				len(got), wantErr, len(want))
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%d bytes in pieces of %d: %d bytes, want %d", len(packed), piece, len(got), len(want))
		}
	}
}

func pack(t testing.TB, data []byte, level int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := stdgzip.NewWriterLevel(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// events is text like that of a trace.
func events(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, `{"ph": "X", "cat": "kernel", "name": "void gemm_%d<%d>", "pid": 0, "tid": 7, "ts": %d.%03d, "dur": %d.%03d, "args": {"External id": %d, "correlation": %d, "grid": [%d, 1, 1]}},`+"\n",
			r.IntN(9), r.IntN(3), 1700000000+i*37, r.IntN(1000), r.IntN(90), r.IntN(1000), i, i*3, r.IntN(200))
	}
	return b.Bytes()[:n]
}

// inputs are texts that make a compressor use all kinds of blocks and codes.
func inputs() map[string][]byte {
	r := rand.New(rand.NewPCG(3, 4))
	noise := make([]byte, 70_000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	skewed := make([]byte, 200_000) // byte values of very different frequency: long codes
	for i := range skewed {
		skewed[i] = byte(min(255, int(r.ExpFloat64()*9)))
	}
	var far bytes.Buffer // copies from nearly 32 KiB back, and from 1 to 17 bytes back
	far.Write(noise[:32_768])
	for i := range 300 {
		far.Write(noise[i*7 : i*7+100])
		far.Write(bytes.Repeat(noise[i:i+1+i%17], 40))
	}
	return map[string][]byte{
		"empty": nil, "one": {7}, "events": events(400_000), "noise": noise, "skewed": skewed, "far": far.Bytes(),
		"zeros": make([]byte, 300_000), "short": events(90),
		"both": append(append(events(50_000), noise...), events(50_000)...),
	}
}

func TestSameAsStandardLibrary(t *testing.T) {
	for name, data := range inputs() {
		for _, level := range []int{stdgzip.HuffmanOnly, 0, 1, 6, 9} {
			t.Run(fmt.Sprintf("%s/level=%d", name, level), func(t *testing.T) {
				packed := pack(t, data, level)
				same(t, packed, 1<<20, 8192, 4096, 100)
				got, err := unpack(ours, iotest.OneByteReader(bytes.NewReader(packed)), 5000)
				if err != io.EOF || !bytes.Equal(got, data) {
					t.Errorf("byte by byte: %d bytes of %d, %v", len(got), len(data), err)
				}
				got, err = unpack(ours, iotest.HalfReader(bytes.NewReader(packed)), 70_000)
				if err != io.EOF || !bytes.Equal(got, data) {
					t.Errorf("by halves: %d bytes of %d, %v", len(got), len(data), err)
				}
			})
		}
	}
}

// A stream that is cut off gives what the standard library's decoder gives of it.
func TestCutAnywhere(t *testing.T) {
	step := 1
	if !testdata.Long() {
		step = 7
	}
	for _, level := range []int{0, 1, 6} {
		packed := pack(t, append(events(6000), inputs()["noise"][:500]...), level)
		for n := 0; n < len(packed); n += step {
			same(t, packed[:n], 4096, 333)
		}
	}
}

func TestFlippedAnywhere(t *testing.T) {
	packed := pack(t, events(9000), 6)
	for i := range packed {
		bad := bytes.Clone(packed)
		bad[i] ^= 1 << (i % 8)
		same(t, bad, 8192)
	}
}

func TestMembers(t *testing.T) {
	a, b := pack(t, events(40_000), 6), pack(t, events(100), 9)
	var named bytes.Buffer
	w := stdgzip.NewWriter(&named)
	w.Name, w.Comment, w.Extra = "trace.json", "a comment", []byte{1, 2, 3}
	if _, err := w.Write(events(5000)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	empty := pack(t, nil, 6)
	for name, packed := range map[string][]byte{
		"two":             bytes.Join([][]byte{a, b}, nil),
		"empty ones":      bytes.Join([][]byte{empty, empty, a, empty}, nil),
		"named":           bytes.Join([][]byte{named.Bytes(), a}, nil),
		"rubbish behind":  append(bytes.Clone(a), "rubbish that is no header"...),
		"zeros behind":    append(bytes.Clone(a), make([]byte, 600)...),
		"cut in header":   append(bytes.Clone(a), b[:5]...),
		"far in 2nd":      bytes.Join([][]byte{a, corruptDistance(t)}, nil),
		"name never ends": append([]byte{0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 0}, bytes.Repeat([]byte{'a'}, 2000)...),
		"reserved method": append([]byte{0x1f, 0x8b, 7}, a[3:]...),
	} {
		t.Run(name, func(t *testing.T) { same(t, packed, 1<<20, 4096, 50) })
	}
}

// corruptDistance is a member whose first symbol copies from before its begin.
func corruptDistance(t *testing.T) []byte {
	t.Helper()
	data := events(3000)
	packed := pack(t, data, 6)
	var b bytes.Buffer // the same deflate stream, made with a dictionary that nobody has
	w, err := stdflate.NewWriterDict(&b, 6, data)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return append(append(bytes.Clone(packed[:10]), b.Bytes()...), packed[len(packed)-8:]...)
}

// Headers of blocks that no compressor writes: codes that are none, counts out of range.
func TestOddBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	head := pack(t, nil, 6)[:10]
	n := 20_000
	if !testdata.Long() {
		n = 2000
	}
	for range n {
		packed := bytes.Clone(head)
		body := make([]byte, 4+r.IntN(80))
		for i := range body {
			body[i] = byte(r.Uint32())
		}
		body[0] = body[0]&^7 | byte(r.IntN(4))<<1 | 1 // all kinds, mostly codes of their own
		same(t, append(packed, body...), 4096)
	}
}

func TestReaderErrorsPassThrough(t *testing.T) {
	packed := pack(t, events(300_000), 6)
	broken := errors.New("disk gone")
	r := io.MultiReader(bytes.NewReader(packed[:len(packed)/2]), iotest.ErrReader(broken))
	got, err := unpack(ours, r, 9000)
	if err != broken || len(got) == 0 || !bytes.HasPrefix(events(300_000), got) {
		t.Errorf("%d bytes, error %v; want a prefix and %v", len(got), err, broken)
	}
	if _, err := newGzipReader(strings.NewReader("")); err != io.EOF {
		t.Errorf("of nothing: %v, want io.EOF", err)
	}
}

func FuzzSame(f *testing.F) {
	for _, level := range []int{0, 1, 6} {
		f.Add(pack(f, events(600), level), uint16(4096))
	}
	f.Add([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0, 5, 0xc0, 0x81}, uint16(9))
	f.Fuzz(func(t *testing.T, packed []byte, piece uint16) {
		const most = 1 << 20
		want, wantErr := unpack(func(r io.Reader) (io.Reader, error) { z, err := std(r); return limit(z, most), err },
			bytes.NewReader(packed), 4096)
		if len(want) == most {
			return
		}
		got, err := unpack(ours, bytes.NewReader(packed), int(piece)+1)
		if class(err) != class(wantErr) || !bytes.Equal(got, want) {
			t.Errorf("%d bytes and %v, want %d bytes and %v", len(got), err, len(want), wantErr)
		}
	})
}

func limit(r io.Reader, n int64) io.Reader {
	if r == nil {
		return nil
	}
	return io.LimitReader(r, n)
}

// traces are compressed reference traces of several writers, and a generated one.
func traces(t testing.TB) map[string][]byte {
	files := map[string][]byte{"generated": pack(t, events(16<<20), 6)}
	for _, name := range []string{"xdit-flux1-mi300", "sglang-qwen3-8b-extend-eager-mi300",
		"hf-qwen1.5-0.5b-eager-h100",
		"old-format-pythonstack-v100.pt.trace", "train-graphs-5streams-a100", "vllm-gptoss20b-mixed-piecewise-mi300"} {
		data, err := os.ReadFile(testdata.Shared(t, "traces/torch/"+name+".json.gz"))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = data
	}
	return files
}

func TestSameOnTraces(t *testing.T) {
	for name, packed := range traces(t) {
		t.Run(name, func(t *testing.T) { same(t, packed, 1<<20) })
	}
}

// BenchmarkPair decompresses traces in turns with klauspost's decoder, and compares the shortest processor time of
// each: other work on the machine makes both longer, and none shorter.
func BenchmarkPair(b *testing.B) {
	files := traces(b)
	buf := make([]byte, 1<<20)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		b.Run("file="+name, func(b *testing.B) {
			size := int64(0)
			var best [2]time.Duration
			for b.Loop() {
				for i, open := range []func(io.Reader) (io.Reader, error){ours, kp} {
					start := testdata.CPU()
					z, err := open(bytes.NewReader(files[name]))
					if err != nil {
						b.Fatal(err)
					}
					if size, err = io.CopyBuffer(onlyWriter{io.Discard}, onlyReader{z}, buf); err != nil {
						b.Fatal(err)
					}
					if took := testdata.CPU() - start; best[i] == 0 || took < best[i] {
						best[i] = took
					}
				}
			}
			b.ReportMetric(float64(size)/1e6/best[0].Seconds(), "MB/s")
			b.ReportMetric(float64(size)/1e6/best[1].Seconds(), "klauspost-MB/s")
			b.ReportMetric(best[1].Seconds()/best[0].Seconds(), "times-klauspost")
		})
	}
}

// onlyReader and onlyWriter hide what else a reader or writer can do, so that copying uses the buffer.
type (
	onlyReader struct{ io.Reader }
	onlyWriter struct{ io.Writer }
)
