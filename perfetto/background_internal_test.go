package perfetto

import (
	"bufio"
	"bytes"
	"errors"
	"testing"
)

// sink takes so many bytes and then fails.
type sink struct {
	bytes.Buffer
	most   int
	closed bool
}

var errFull = errors.New("full")

func (s *sink) Write(p []byte) (int, error) {
	if s.Len()+len(p) > s.most {
		return 0, errFull
	}
	return s.Buffer.Write(p)
}

func (s *sink) Close() error { s.closed = true; return nil }

// TestBackground: the same bytes arrive, and a full disk is reported, at the latest by Close.
func TestBackground(t *testing.T) {
	want := make([]byte, 5*blockBytes+17)
	for i := range want {
		want[i] = byte(i * i >> 3)
	}
	for _, most := range []int{len(want), len(want) - 1, blockBytes, 0} {
		s := &sink{most: most}
		b := newBackground(t.Context(), s)
		var err error
		for n := 0; n < len(want) && err == nil; n += 100_003 {
			_, err = b.Write(want[n:min(len(want), n+100_003)])
		}
		if err != nil {
			b.stop()
		} else {
			err = b.Close()
		}
		if full := most < len(want); errors.Is(err, errFull) != full || s.closed == full || !full &&
			!bytes.Equal(s.Bytes(), want) {
			t.Errorf("room for %d of %d bytes: %v, closed %v, %d bytes written", most, len(want), err, s.closed,
				s.Len())
		}
	}
}

// TestMaskedFullDisk: a disk that is full is reported once, however much waits to be written.
func TestMaskedFullDisk(t *testing.T) {
	for _, keep := range []bool{false, true} {
		_, err := CopyOptions{KeepMetadata: keep}.masked(&sink{most: 1 << 16}, func(out *bufio.Writer) error {
			for range 127 {
				if _, err := out.Write(make([]byte, 1<<10)); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil || err.Error() != errFull.Error() {
			t.Errorf("metadata kept %v: %v, want %v", keep, err, errFull)
		}
	}
}
