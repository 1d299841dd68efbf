package whole_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/whole"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage"
)

// FuzzPacked edits the compressed bytes of a good trace, so that what comes out
// of the decoder is damaged in ways that edits of the text do not reach.
func FuzzPacked(f *testing.F) {
	w := whole.New(f)
	text := whole.Tiny(gen.Eager, gen.NVIDIA)
	packed := [][]byte{gzipped(f, text), zstandard(f, text)}
	f.Add(true, uint16(0), []byte{})
	f.Add(false, uint16(200), []byte{})
	f.Add(true, uint16(9), []byte{0, 40, 1, 1, 0, 0xff})
	f.Add(false, uint16(0), []byte{2, 0, 0x55, 0, 5, 0x80})
	f.Fuzz(func(t *testing.T, zst bool, cut uint16, edits []byte) {
		data := bytes.Clone(packed[0])
		if zst {
			data = bytes.Clone(packed[1])
		}
		for ; len(edits) >= 3; edits = edits[3:] {
			data[(int(edits[0])<<8|int(edits[1]))%len(data)] ^= edits[2]
		}
		w.Text(t, data[:len(data)-int(cut)%len(data)])
	})
}

func gzipped(tb testing.TB, text []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	pack(tb, w, text)
	return b.Bytes()
}

func zstandard(tb testing.TB, text []byte) []byte {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	if err != nil {
		tb.Fatal(err)
	}
	pack(tb, w, text)
	return b.Bytes()
}

func pack(tb testing.TB, w io.WriteCloser, text []byte) {
	tb.Helper()
	if _, err := w.Write(text); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
}

// FuzzStream reads any bytes event by event and as a whole: both see the same
// number of events of every phase.
func FuzzStream(f *testing.F) {
	whole.New(f)
	f.Add(whole.Tiny(gen.Eager, gen.AMD))
	f.Add([]byte(`{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":2},{"ph":"M","name":"process_name"},{"ph":"s","ts":1}]}`))
	f.Add([]byte(`[{"ph":"X","ts":1,"dur":2},{"ph":"X","ts":`))
	f.Fuzz(func(t *testing.T, data []byte) {
		tr, err := trace.Read(t.Context(), bytes.NewReader(data), trace.Options{})
		r := trace.Reader{Input: bytes.NewReader(data)}
		phases := map[string]int64{}
		last := int64(-1)
		var end error
		for rec, rerr := range r.Records(t.Context()) {
			if rerr != nil {
				end = rerr
				break
			}
			if rec.Index <= last || rec.Offset < 0 || rec.Offset >= int64(len(data)) && !compressed(data) {
				t.Fatalf("record %d at offset %d follows record %d", rec.Index, rec.Offset, last)
			}
			last = rec.Index
			phases[string(rec.Phase)]++
		}
		// That nothing in it looks like a trace is for Read to say, at the end.
		if fine := err == nil || errors.Is(err, trace.ErrFormat); err == nil && end != nil ||
			fine != (end == nil || errors.Is(end, trace.ErrFormat)) {
			t.Errorf("Records ends with %v, Read with %v", end, err)
		}
		if err != nil {
			return
		}
		for phase, categories := range tr.Meta().Counts {
			for _, n := range categories {
				phases[phase] -= n
			}
		}
		for phase, n := range phases {
			if n != 0 {
				t.Errorf("phase %q: the Reader sees %+d more events than Read", phase, n)
			}
		}
	})
}

// compressed recognises data whose offsets are those of another text.
func compressed(data []byte) bool {
	return len(data) > 3 && (data[0] == 0x1f && data[2] == 8 || data[1] == 0x8b) ||
		bytes.HasPrefix(data, []byte{0x28, 0xb5, 0x2f, 0xfd}) || len(data) > 3 &&
		bytes.Equal(data[1:4], []byte{0x2a, 0x4d, 0x18})
}

// FuzzModel analyses a good trace with any model config, profile and rules that
// are accepted: what users write must not break what the trace says.
func FuzzModel(f *testing.F) {
	whole.New(f)
	tr, err := trace.Read(context.Background(), bytes.NewReader(whole.Tiny(gen.Eager, gen.NVIDIA)), trace.Options{})
	if err != nil {
		f.Fatal(err)
	}
	const (
		config  = `{"model_type":"x","num_hidden_layers":2,"num_experts":8,"first_k_dense_replace":1}`
		mine    = `{"name":"x","anchor":"norm","anchor_position":"opens","blocks_per_layer":2,"half_labels":["a","b"],"rules":[{"key":"k","label":"L","patterns":["gemm"]}]}`
		rules   = `{"version":1,"rules":[{"id":"a","category":"moe","when":{"function":["*topk"]}},{"id":"b","category":"mine","when":{"substring":["norm"],"fold":true}}]}`
		nothing = `{}`
	)
	f.Add([]byte(config), []byte(mine), []byte(rules), 0)
	f.Add([]byte(config), []byte(nothing), []byte(nothing), 3)
	f.Add([]byte(`{"num_hidden_layers":1000000,"compress_ratios":[4],"num_hash_layers":3}`), []byte(mine),
		[]byte(nothing), -1)
	f.Add([]byte(`{"text_config":{"num_hidden_layers":1}}`),
		[]byte(`{"name":"y","anchor":"","blocks_per_layer":1000000}`), []byte(rules), 1<<30)
	f.Fuzz(func(t *testing.T, config, mine, rules []byte, layers int) {
		c, cerr := profile.ParseConfig(bytes.NewReader(config))
		p, perr := profile.Parse(bytes.NewReader(mine))
		own, rerr := classify.LoadRules(bytes.NewReader(rules))
		if cerr != nil && perr != nil && rerr != nil {
			return
		}
		modes := []string{"auto", "modules", "repeats", "anchor-closes"}
		whole.Share(slices.Concat(config, mine, rules), len(modes)+1, func(i int) {
			if i < len(modes) {
				a, err := layer.Analyze(t.Context(), tr, layer.Options{Config: c, Profile: p, Rules: own,
					NumLayers: layers, Boundaries: modes[i]})
				if err != nil {
					whole.Refused(t, "layer "+string(modes[i]), err)
					return
				}
				whole.CheckLayers(t, a)
				return
			}
			in := whole.TriageInput(t, tr, layer.Options{Rules: own})
			if r, err := triage.Analyze(t.Context(), in, triage.Options{}); err != nil {
				whole.Refused(t, "triage", err)
			} else {
				whole.Render(t, "report", r.WriteMarkdown)
			}
		})
	})
}
