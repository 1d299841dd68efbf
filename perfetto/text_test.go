package perfetto_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestCopiesAreUTF8: what is no UTF-8 in a trace becomes U+FFFD in its copies, and
// they are compressed as their names say.
func TestCopiesAreUTF8(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "src.json")
	name := "k\xff\xfe\xc3" + strings.Repeat("é\x80", 9000)
	record := `{"ph":"X","cat":"kernel","name":"` + name + `","pid":0,"tid":7,"ts":1,"dur":2,"args":{"x":"` +
		strings.Repeat("é\x80", 40_000) + `","device":0,"stream":7}}`
	if err := os.WriteFile(src, []byte(`{"schemaVersion":1,"traceEvents":[`+record+"\n]}"), 0o644); err != nil {
		t.Fatal(err)
	}
	tr := open(t, src)
	var ids []trace.EventID
	for e := range tr.Events(event.LaneGPU) {
		ids = append(ids, e.ID())
	}
	for _, dst := range []string{"a.json", "a.json.gz", "a.json.zst", "a"} {
		dst = filepath.Join(dir, dst)
		if _, err := perfetto.Annotate(t.Context(), tr, src, dst, nil, perfetto.CopyOptions{}); err != nil {
			t.Fatal(err)
		}
		check(t, dst, tr)
		if _, err := perfetto.Slice(t.Context(), tr, ids, src, dst, perfetto.CopyOptions{}); err != nil {
			t.Fatal(err)
		}
		check(t, dst, tr)
	}
}

func check(t *testing.T, path string, want *trace.Trace) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	plain := !bytes.HasPrefix(b, []byte{0x1f, 0x8b}) && !bytes.HasPrefix(b, []byte{0x28, 0xb5, 0x2f, 0xfd})
	if packed := strings.HasSuffix(path, ".gz") || strings.HasSuffix(path, ".zst"); packed == plain {
		t.Errorf("%s begins with % x", path, b[:4])
	}
	if plain && !utf8.Valid(b) {
		t.Errorf("%s is no UTF-8", path)
	}
	got := open(t, path)
	for e := range got.Events(event.LaneGPU) {
		for w := range want.Events(event.LaneGPU) {
			if e.Name() != w.Name() {
				t.Errorf("%s: a name of %d bytes is not that of the trace, %d bytes", path, len(e.Name()),
					len(w.Name()))
			}
		}
	}
}
