package pftrace_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/gen/pftracegen"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/pftrace"
)

// However the bytes come, the events are the same, and who reads is no longer read from when Read returns.
func TestReadAhead(t *testing.T) {
	data := bytes.Join(encode(t, document(t), pftracegen.Stages), nil)
	want := lines(read(t, data), true)
	for name, r := range map[string]io.Reader{"one byte": iotest.OneByteReader(bytes.NewReader(data)),
		"half":         iotest.HalfReader(bytes.NewReader(data)),
		"with the end": iotest.DataErrReader(bytes.NewReader(data))} {
		tr, err := pftrace.Read(context.Background(), r, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, lines(tr, true)); diff != "" {
			t.Errorf("%s (-want +got)\n%.500s", name, diff)
		}
	}
	broken := errors.New("broken")
	if _, err := pftrace.Read(context.Background(),
		io.MultiReader(bytes.NewReader(data[:len(data)/2]), iotest.ErrReader(broken)), trace.Options{}); !errors.Is(err,
		broken) {
		t.Errorf("error %v, want the reader's", err)
	}
	returned := false // by Read: the race detector sees a read after it
	endless := readerFunc(func(p []byte) (int, error) {
		if returned {
			t.Error("it is still read from")
		}
		return copy(p, data), nil
	})
	if _, err := pftrace.Read(context.Background(), endless,
		trace.Options{Limits: trace.Limits{Events: 10}}); !errors.Is(err, trace.ErrLimit) {
		t.Errorf("error %v, want the limit", err)
	}
	returned = true
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
