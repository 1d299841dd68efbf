package trace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
)

// flipped are real traces of several writers, small enough for thousands of loads.
var flipped = []string{
	"sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz", "vllm-gptoss20b-decode-fullgraph-mi300.json.gz",
	"hf-bert-small-eager-h100.json.gz", "multi-stream-event-sync-a100.json.gz", "train-gpu-user-annotation.json.gz",
}

// flipsEach is how many bits of each file are flipped one at a time, plain and
// compressed: 400 in all, 20 000 with STRATA_LONG.
func flipsEach() int {
	if testdata.Long() {
		return 1000
	}
	return 20
}

// TestFlips flips single bits of real traces. A flip in the plain text costs two
// events at most, wherever it is; a flip in compressed data may cost what is
// after it, and is then reported. Neither makes a trace something else.
func TestFlips(t *testing.T) {
	for _, name := range flipped {
		t.Run(name, func(t *testing.T) {
			packed, err := os.ReadFile(testdata.Shared(t, filepath.ToSlash(filepath.Join("traces/torch", name))))
			if err != nil {
				t.Fatal(err)
			}
			plain := testdata.Unpacked(t, packed)
			want, err := flip(plain, 0, 8) // no bit of a byte
			if err != nil {
				t.Fatal(err)
			}
			random := rand.New(rand.NewPCG(1, uint64(len(plain))))
			for range flipsEach() {
				at, bit := random.IntN(len(plain)), random.IntN(8)
				got, err := flip(plain, at, bit)
				if err != nil {
					t.Errorf("plain, bit %d of byte %d (%q): %v", bit, at, plain[max(0, at-20):min(len(plain), at+20)],
						err)
				} else if lost := want.Len() - got.Len(); lost > 2 || lost < -2 {
					t.Errorf("plain, bit %d of byte %d (%q): %d events lost\n%v", bit, at,
						plain[max(0, at-20):min(len(plain), at+20)], lost, got.Health().Losses)
				}
				at = random.IntN(len(packed))
				got, err = flip(packed, at, bit)
				switch {
				case errors.Is(err, trace.ErrFormat):
					t.Errorf("compressed, bit %d of byte %d: %v", bit, at, err)
				case err == nil && want.Len()-got.Len() > 2 && got.Health().Status == trace.HealthOK:
					t.Errorf("compressed, bit %d of byte %d: %d events lost, and nothing is reported", bit, at,
						want.Len()-got.Len())
				}
			}
		})
	}
}

// flip loads b with one bit flipped.
func flip(b []byte, at, bit int) (*trace.Trace, error) {
	b[at] ^= 1 << bit
	defer func() { b[at] ^= 1 << bit }()
	t, err := trace.Read(context.Background(), bytes.NewReader(b), trace.Options{Concurrency: 1})
	if err != nil {
		return nil, fmt.Errorf("not read: %w", err)
	}
	return t, nil
}
