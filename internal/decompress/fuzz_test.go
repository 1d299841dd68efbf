package decompress_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/llmstrata/strata/internal/decompress"
)

// FuzzDamage compresses any text and edits the result: what is read is a prefix
// of the text, followed by an error, wherever the format shows it; and no input
// gives more than the limit.
func FuzzDamage(f *testing.F) {
	f.Add([]byte(`{"traceEvents":[]}`), uint8(0), uint16(0), []byte{})
	f.Add(text(3000), uint8(1), uint16(100), []byte{9, 1})
	f.Add(text(3000), uint8(2), uint16(40), []byte{200, 0x80, 0, 0xff})
	f.Add([]byte{0x1f, 0x8b, 8, 0}, uint8(3), uint16(0), []byte{})
	f.Add([]byte{0x50, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff}, uint8(3), uint16(0), []byte{})
	f.Fuzz(func(t *testing.T, data []byte, how uint8, cut uint16, edits []byte) {
		packed := data
		switch how % 4 {
		case 0:
			packed = gz(t, data)
		case 1:
			packed = zs(t, data)
		case 2:
			packed = append(gz(t, data[:len(data)/2]), gz(t, data[len(data)/2:])...)
		}
		whole := how%4 < 3 && int(cut) == 0 && len(edits) < 2
		packed = bytes.Clone(packed[:len(packed)-min(int(cut), len(packed))])
		for ; len(edits) >= 2 && len(packed) > 0; edits = edits[2:] {
			packed[int(edits[0])*len(packed)/256] ^= edits[1]
		}
		const most = 1 << 16
		got, format, err := read(t, bytes.NewReader(packed), decompress.Limits{MaxBytes: most})
		if len(got) > most {
			t.Errorf("%d bytes, the limit is %d", len(got), most)
		}
		var damage *decompress.Damage
		switch {
		case errors.As(err, &damage):
			if damage.Offset != int64(len(got)) {
				t.Errorf("damage after %d bytes, %d were read", damage.Offset, len(got))
			}
		case err != nil && !errors.Is(err, decompress.ErrLimit):
			t.Errorf("error %v, want damage or a limit", err)
		}
		switch {
		case whole && len(data) <= most && (err != nil || !bytes.Equal(got, data)):
			t.Errorf("whole %v data: %d bytes of %d, %v", format, len(got), len(data), err)
		case format == decompress.Plain && !bytes.Equal(got, packed[:min(len(packed), most)]):
			t.Errorf("plain data: %d bytes of %d", len(got), len(packed))
		}
	})
}
