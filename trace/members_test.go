package trace_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/decompress"
	"github.com/llmstrata/strata/trace"
)

// membersOf packs a trace of n kernels in members, cut anywhere.
func membersOf(tb testing.TB, n, members int) (packed [][]byte) {
	tb.Helper()
	return packMembers(tb, n, members, gzip.DefaultCompression)
}

func packMembers(tb testing.TB, n, members, level int) (packed [][]byte) {
	tb.Helper()
	var events []string
	for i := range n {
		events = append(events, fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"kernel %d","pid":0,"tid":7,"ts":%d,"dur":%d.5,"args":{"device":0,"stream":7,"correlation":%d}}`, i, 100*i, 1+i%50, i+1))
	}
	text := document(events...)
	for m := range members {
		var z bytes.Buffer
		w, err := gzip.NewWriterLevel(&z, level)
		if err != nil {
			tb.Fatal(err)
		}
		w.Write([]byte(text[len(text)*m/members : len(text)*(m+1)/members]))
		w.Close()
		packed = append(packed, z.Bytes())
	}
	return packed
}

// TestMembersBehindDamage: each member of a .gz that is not damaged is read, a
// break costs the event on it, and the finding says how much is lost.
func TestMembersBehindDamage(t *testing.T) {
	const n, members = 4000, 8
	for _, broken := range [][]int{{0}, {3}, {7}, {1, 2}, {1, 3, 5}} {
		packed := membersOf(t, n, members)
		for _, m := range broken {
			copy(packed[m][len(packed[m])/2:], "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")
		}
		tr := read(t, bytes.NewReader(bytes.Join(packed, nil)))
		if least := n*(members-len(broken))/members - 2*len(broken); tr.Len() < least {
			t.Errorf("%v broken: %d events, want at least %d", broken, tr.Len(), least)
		}
		h := tr.Health()
		loss := lossOf(h, "bad-compression")
		if h.Status != trace.HealthDegraded || loss.Count != int64(len(broken)) ||
			loss.OfBytes != int64(len(bytes.Join(packed, nil))) {
			t.Errorf("%v broken: %v, %+v", broken, h.Status, loss)
		}
	}
}

// TestExtentOfDamage: the finding says how many compressed bytes of all are lost,
// in text and in JSON.
func TestExtentOfDamage(t *testing.T) {
	const block = 1 << 16 // the longest of a stream that is not compressed, whose headers show damage
	packed := packMembers(t, 8000, 1, gzip.NoCompression)[0]
	for _, percent := range []int{10, 50, 80} {
		in := bytes.Clone(packed)
		at := len(in) * percent / 100
		for i := range in[at : at+block+10] {
			in[at+i] = 'A'
		}
		h := read(t, bytes.NewReader(in)).Health()
		loss := lossOf(h, "bad-compression")
		if share := float64(100*loss.Bytes) / float64(loss.OfBytes); share > float64(100-percent) ||
			share < float64(92-percent) || loss.OfBytes != int64(len(in)) {
			t.Errorf("broken at %d%%: %+v, %.1f%%", percent, loss, share)
		}
		want := fmt.Sprintf("%d of %d compressed bytes (%.1f%%) are lost", loss.Bytes, loss.OfBytes,
			100*float64(loss.Bytes)/float64(loss.OfBytes))
		if text, err := json.Marshal(h); err != nil || !strings.Contains(string(text), want) ||
			!strings.Contains(string(text), fmt.Sprintf(`"of_bytes":%d`, loss.OfBytes)) {
			t.Errorf("broken at %d%%: %s, want it to say %q", percent, text, want)
		}
	}
}

// TestCutIsNotCalledLost: what a cut file lacks is not in it, and how much it was
// is not known.
func TestCutIsNotCalledLost(t *testing.T) {
	packed := membersOf(t, 4000, 1)[0]
	h := read(t, bytes.NewReader(packed[:len(packed)/2])).Health()
	loss := lossOf(h, "bad-compression")
	if loss.Bytes != 0 || loss.OfBytes != int64(len(packed)/2) ||
		!strings.Contains(loss.Detail, "how many are missing is not known") {
		t.Errorf("%+v", loss)
	}
	if regexp.MustCompile(`\d%`).MatchString(loss.Detail) {
		t.Errorf("%q tells a share", loss.Detail)
	}
}

// TestNoEventOfTwoHalves: wherever text is missing, no event is made of the
// beginning of one and the end of another.
func TestNoEventOfTwoHalves(t *testing.T) {
	one := `{"ph": "X", "cat": "kernel", "name": "one", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"n": "\\", "stream": 1, "l": [1]}}`
	two := strings.NewReplacer("1", "2", "one", "two").Replace(one)
	var text strings.Builder
	text.WriteString(`{"traceEvents": [` + one)
	for i := range one {
		for j := i % 3; j < len(two); j += 3 {
			text.WriteString(",\n" + one[:i] + decompress.Break + two[j:] + ",\n" + one)
		}
	}
	r := trace.Reader{Input: strings.NewReader(text.String() + "]}")}
	n := 0
	for rec, err := range r.Records(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; string(rec.Raw) != one && string(rec.Raw) != two {
			t.Errorf("made of two: %s", rec.Raw)
		}
	}
	if least := len(one) * len(two) / 3; n < least {
		t.Errorf("%d events, want at least %d", n, least)
	}
}

func lossOf(h trace.Health, reason string) (l trace.Loss) {
	for _, x := range h.Losses {
		if string(x.Reason) == reason {
			l = x
		}
	}
	return l
}
