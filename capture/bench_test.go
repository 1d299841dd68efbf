package capture_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/llmstrata/strata/capture"
)

// BenchmarkCheckWhole reads a trace of about 32 MB to its end: what a wait for
// traces adds per file once its size has settled.
func BenchmarkCheckWhole(b *testing.B) {
	var text bytes.Buffer
	text.WriteString(`{"traceEvents": [`)
	for i := range 200_000 {
		fmt.Fprintf(&text, `{"ph": "X", "cat": "kernel", "name": "void f<int, %d>(float*)", "pid": 0, "tid": 7, "ts": %d.125, "dur": 3.5, "args": {"stream": 7, "correlation": %d}},`+"\n", i%97, i*5, i)
	}
	text.WriteString(`{}]}`)
	for _, gz := range []bool{false, true} {
		b.Run(fmt.Sprintf("gz=%v", gz), func(b *testing.B) {
			data := text.Bytes()
			if gz {
				data = packed("x.gz", data)
			}
			b.SetBytes(int64(text.Len()))
			b.ReportAllocs()
			for b.Loop() {
				if err := capture.CheckWhole(context.Background(), bytes.NewReader(data)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
