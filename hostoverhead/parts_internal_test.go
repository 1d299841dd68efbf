package hostoverhead

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestPartsAddUp: accounts of parts of the idle time, wherever it is cut, add up to that of all of it, and say the
// same to the byte, also where all gaps are listed, whose frames are not summed by name.
func TestPartsAddUp(t *testing.T) {
	check := func(t *testing.T, tr *trace.Trace) {
		a, err := layer.Analyze(t.Context(), tr, layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		w, err := newWorkload(t.Context(), a)
		if errors.Is(err, layer.ErrNoKernels) && a.Trace().Len(event.LaneGPU) == 0 {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range w.devices {
			var whole []byte
			const listed = 20
			for _, c := range []struct{ parts, gaps int }{{1, listed}, {3, listed}, {40, listed}, {1, len(d.taken())}} {
				var accounts []*account
				for _, part := range d.parts(c.parts) {
					p := defaultParams()
					acc, err := newLedger(w, &p).beside().newAccount(t.Context(), part, c.gaps)
					if err != nil {
						t.Fatal(err)
					}
					accounts = append(accounts, acc)
				}
				list := joined(accounts)
				top := list[0].top // of equally long ones the first come first
				slices.SortStableFunc(top, func(x, y gapAccount) int { return cmp.Compare(y.span.Len(), x.span.Len()) })
				list[0].top = top[:min(len(top), listed)]
				got, err := json.Marshal(struct {
					*RankVerdict
					Drained int
					Record  int64
				}{list[0].verdict(""), len(list[0].drains), list[0].record})
				if err != nil || len(list) != 1 {
					t.Fatal(len(list), err)
				}
				if whole == nil {
					whole = got
				} else if !bytes.Equal(got, whole) {
					t.Errorf("GPU %d in %d parts, %d gaps listed:\n%.300s\nas a whole:\n%.300s", d.id, c.parts, c.gaps, got, whole)
				}
			}
		}
	}
	for _, graph := range []bool{false, true} {
		c := gen.Large(4, 8, graph)
		c.Size = 1 << 20
		var b bytes.Buffer
		if err := gen.Write(&b, c); err != nil {
			t.Fatal(err)
		}
		tr, err := trace.Read(t.Context(), &b, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		check(t, tr)
	}
	dir := testdata.Shared(t, "traces/torch")
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range files {
		const short = 200_000 // bytes
		info, err := e.Info()
		if err != nil || info.Size() > short && !strings.Contains(e.Name(), "graph-capture") ||
			!strings.Contains(e.Name(), ".json") {
			continue
		}
		t.Run(e.Name(), func(t *testing.T) {
			tr, err := trace.Open(t.Context(), filepath.Join(dir, e.Name()), trace.Options{})
			if err != nil {
				t.Skip(err)
			}
			check(t, tr)
		})
	}
}
