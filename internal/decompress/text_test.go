package decompress_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/llmstrata/strata/internal/decompress"
)

// resumed reads in past its damage.
func resumed(tb testing.TB, in []byte, resume bool) (string, *decompress.Damage) {
	tb.Helper()
	d, err := decompress.NewReader(iotest.HalfReader(bytes.NewReader(in)), decompress.Limits{})
	if err != nil {
		tb.Fatal(err)
	}
	defer d.Close()
	text := decompress.NewText(d)
	text.Resume = resume
	b, err := io.ReadAll(text)
	var damage *decompress.Damage
	if !errors.As(err, &damage) && err != nil {
		tb.Fatal(err)
	}
	return string(b), damage
}

// TestLaterMembersAreEntered: after a broken member the next one is read, and the
// compressed bytes between are counted.
func TestLaterMembersAreEntered(t *testing.T) {
	text := text(900_000)
	parts := [3][]byte{gz(t, text[:300_000]), gz(t, text[300_000:600_000]), gz(t, text[600_000:])}
	first, second, all := len(parts[0]), len(parts[0])+len(parts[1]), len(parts[0])+len(parts[1])+len(parts[2])
	for _, tt := range []struct {
		name   string
		at     int // of the byte that is damaged
		events int // bytes of text that must be there, at least
		later  int // more damage
	}{
		{"codes-of-the-second", first + 20, 600_000, 0},
		{"middle-of-the-second", first + len(parts[1])/2, 700_000, 0},
		{"header-of-the-second", first + 1, 900_000, 0},
		{"checksum-of-the-second", second - 6, 900_000, 0},
		{"middle-of-the-first", first / 2, 700_000, 0},
		{"middle-of-the-last", all - len(parts[2])/2, 600_000, 0},
	} {
		in := bytes.Join(parts[:], nil)
		in[tt.at] ^= 0xff
		got, damage := resumed(t, in, true)
		if damage == nil || len(damage.Later) != tt.later || damage.Total != int64(all) {
			t.Errorf("%s: damage %+v", tt.name, damage)
			continue
		}
		last, from := tt.at > second, 600_000 // of the text after the break
		if tt.at < first+3 {
			from = 300_000
		}
		if len(got) < tt.events || !last && !strings.HasSuffix(got, decompress.Break+string(text[from:])) {
			t.Errorf("%s: %d bytes of text, want at least %d, the last member in full", tt.name, len(got), tt.events)
		}
		if lost := damage.Lost(); lost < 0 || lost > int64(len(parts[1])) || last == (damage.Next > 0) {
			t.Errorf("%s: %d of %d bytes lost, on at %d", tt.name, lost, all, damage.Next)
		}
		if got, damage := resumed(t, in, false); len(got) > 900_000 || damage.Next != 0 || damage.Total != int64(all) ||
			damage.Lost() < int64(len(parts[2])) && !last {
			t.Errorf("%s, not resumed: %d bytes, %+v", tt.name, len(got), damage)
		}
	}
}

// TestDamageInEveryMember: of 60 members each third is broken.
func TestDamageInEveryMember(t *testing.T) {
	var in []byte
	whole := 0
	for i := range 60 {
		part := gz(t, []byte(strings.Repeat(fmt.Sprintf("member %d,", i), 4000)+string(text(40_000))))
		if i%3 == 0 {
			part[len(part)/2] ^= 0x55
		} else {
			whole++
		}
		in = append(in, part...)
	}
	got, damage := resumed(t, in, true)
	n := 0
	for i := range 60 {
		if i%3 != 0 && strings.Count(got, fmt.Sprintf("member %d,", i)) == 4000 {
			n++
		}
	}
	if n != whole || damage == nil || len(damage.Later) < 10 || damage.Lost() >= damage.Total/3 {
		t.Errorf("%d of %d whole members read, %v and %d more, %s", n, whole, damage, len(damage.Later),
			damage.Extent())
	}
}

// TestWhatLooksLikeAMember: a member is entered that gives 16 KB of text or is
// whole; a header that chance or a stored block put there is not.
func TestWhatLooksLikeAMember(t *testing.T) {
	broken := func(n int) []byte { // n bytes of text, then an invalid block
		var out bytes.Buffer
		w, _ := gzip.NewWriterLevel(&out, gzip.NoCompression)
		w.Write(text(n))
		w.Flush()
		return append(out.Bytes(), bytes.Repeat([]byte{0xff}, 100_000)...)
	}
	damaged := gz(t, text(100_000))
	damaged[len(damaged)/2] ^= 0xff
	for _, tt := range []struct {
		name    string
		in      []byte
		entered bool
	}{
		{"15 KB", broken(15 << 10), false},
		{"17 KB", broken(17 << 10), true},
		{"small and whole", gz(t, []byte("small")), true},
		{"small and cut", gz(t, []byte(strings.Repeat("small ", 10)))[:20], true},
		{"header alone", []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"), false},
		{"reserved block", append([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x07"), make([]byte, 1000)...),
			false},
	} {
		_, damage := resumed(t, append(bytes.Clone(damaged), tt.in...), true)
		if damage == nil || (damage.Next > 0) != tt.entered {
			t.Errorf("%s: %+v, want it entered: %v", tt.name, damage, tt.entered)
		}
	}
}

// TestHeadersEverywhere: a file of nothing but headers ends after a bounded number of tries.
func TestHeadersEverywhere(t *testing.T) {
	member := gz(t, text(15<<10))
	member = append(member[:len(member)-8], 0, 0, 0, 0, 0, 0, 0, 0) // checksum
	in := append(gz(t, text(1000))[:200], bytes.Repeat(member, 8000)...)
	in = append(in, gz(t, []byte("the last"))...)
	if got, damage := resumed(t, in, true); damage == nil || strings.Contains(got, "the last") {
		t.Errorf("%d bytes, %v", len(got), damage)
	}
}

// TestRandomDamageOfMembers: what is said to be lost is no more than there was,
// and no byte is missing without damage.
func TestRandomDamageOfMembers(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		var in []byte
		n := 0
		for range 1 + r.IntN(5) {
			k := r.IntN(30_000)
			in, n = append(in, gz(t, text(k))...), n+k
		}
		for range r.IntN(8) {
			in[10+r.IntN(len(in)-10)] ^= 1 << r.IntN(8)
		}
		got, damage := resumed(t, in, true)
		if damage == nil && len(got) != n {
			t.Errorf("seed %d: %d of %d bytes and no damage", seed, len(got), n)
		}
		if damage != nil && (damage.Lost() > damage.Total || damage.Lost() < 0 || damage.Extent() == "") {
			t.Errorf("seed %d: %s", seed, damage.Extent())
		}
	}
}

// TestPaddingIsNoDamage: zeros after the last member are none, anything else is.
func TestPaddingIsNoDamage(t *testing.T) {
	want := text(50_000)
	zeros := make([]byte, 300_000)
	for _, tt := range []struct {
		name    string
		behind  []byte
		damaged bool
	}{
		{"512 zeros", zeros[:512], false},
		{"200 KB of zeros", zeros[:200_000], false},
		{"zeros and a byte", append(bytes.Clone(zeros[:512]), 1), true},
		{"zeros and a member", append(bytes.Clone(zeros[:512]), gz(t, want)...), true},
		{"text", []byte("behind the member"), true},
	} {
		got, damage := resumed(t, append(gz(t, want), tt.behind...), true)
		if !strings.HasPrefix(got, string(want)) || (damage != nil) != tt.damaged {
			t.Errorf("%s: %d bytes, %v, want damage: %v", tt.name, len(got), damage, tt.damaged)
		}
		if tt.name == "zeros and a member" && got != string(want)+decompress.Break+string(want) {
			t.Errorf("%s: the member is not read: %d bytes", tt.name, len(got))
		}
	}
}
