package scan_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/scan"
	"github.com/llmstrata/strata/internal/testdata"
)

// record is an event as text, every field of it.
func record(ev *scan.Event) string {
	return fmt.Sprintf("ph=%c name=%s cat=%s s=%s pid=%d%s tid=%d%s id=%d%s ts=%d dur=%d has=%x ext=%d corr=%d dev=%d str=%d g=%d n=%d bytes=%d grid=%s block=%s dims=%s args=%s raw=%d",
		has(ev, scan.HasPhase, ev.Phase), text(ev, scan.HasName, ev.Name), text(ev, scan.HasCat, ev.Cat),
		text(ev, scan.HasScope, ev.Scope),
		has(ev, scan.HasPID, ev.PID.Num), text(ev, scan.HasPID, ev.PID.Text), has(ev, scan.HasTID, ev.TID.Num),
		text(ev, scan.HasTID, ev.TID.Text),
		has(ev, scan.HasID, ev.ID.Num), text(ev, scan.HasID, ev.ID.Text),
		has(ev, scan.HasTS, ev.TS), has(ev, scan.HasDur, ev.Dur), ev.Has, has(ev, scan.HasExternalID, ev.ExternalID),
		has(ev, scan.HasCorrelation, ev.Correlation),
		has(ev, scan.HasDevice, ev.Device), has(ev, scan.HasStream, ev.Stream), has(ev, scan.HasGraphID, ev.GraphID),
		has(ev, scan.HasGraphNode, ev.GraphNode),
		has(ev, scan.HasBytes, ev.Bytes), text(ev, scan.HasGrid, ev.Grid), text(ev, scan.HasBlock, ev.Block),
		text(ev, scan.HasDims, ev.Dims),
		text(ev, scan.HasArgs, ev.Args), len(ev.Raw))
}

func has[T any](ev *scan.Event, h scan.Has, v T) T {
	if ev.Has&h == 0 {
		var zero T
		return zero
	}
	return v
}

func text(ev *scan.Event, h scan.Has, v []byte) string { return string(has(ev, h, v)) }

// outcome is everything that a scan gives.
type outcome struct {
	Events []string
	Losses scan.Losses
	Metas  []string
	Err    string
	Trunc  bool
	Docs   int
	Bytes  int64
}

func finish(events []string, r *scan.Result, err error) outcome {
	o := outcome{Events: events, Losses: r.Losses, Trunc: r.Truncated, Docs: r.Docs, Bytes: r.Bytes}
	for _, m := range r.Metas {
		o.Metas = append(o.Metas, fmt.Sprintf("%d %s@%d %s", m.Doc, m.Key, m.Offset, m.Value))
	}
	if err != nil {
		o.Err = err.Error()
	}
	return o
}

// pull scans r with a Scanner.
func pull(r io.Reader, cfg scan.Config) outcome {
	s := scan.NewScanner(r, cfg)
	var events []string
	for {
		ev, err := s.Next()
		if err != nil {
			if errors.Is(err, io.EOF) && err == io.EOF {
				err = nil
			}
			return finish(events, s.Result(), err)
		}
		events = append(events, record(ev))
	}
}

type shard struct{ events []string }

func (s *shard) Event(ev *scan.Event) { s.events = append(s.events, record(ev)) }

type sink struct{ events []string }

func (k *sink) NewShard(int) scan.Shard { return new(shard) }
func (k *sink) Commit(s scan.Shard) error {
	k.events = append(k.events, s.(*shard).events...)
	s.(*shard).events = nil
	return nil
}
func (k *sink) Discard(s scan.Shard) { s.(*shard).events = nil }

// push scans r with Parallel.
func push(r io.Reader, cfg scan.Config) outcome {
	var k sink
	res, err := scan.Parallel(context.Background(), r, cfg, &k)
	return finish(k.events, res, err)
}

func torchFiles(tb testing.TB) []string {
	files, _ := filepath.Glob("../../../shared/traces/torch/*")
	if len(files) == 0 {
		tb.Skip("../shared/traces/torch is not beside the repository")
	}
	return files
}

func TestRealFilesParallelEqualsSequential(t *testing.T) {
	for _, path := range testdata.Spread(t, torchFiles(t)) {
		data := testdata.ReadFile(t, path)
		if !testdata.Long() && len(data) > 2<<20 {
			continue
		}
		want := pull(bytes.NewReader(data), scan.Config{Segment: len(data) + 1})
		if want.Losses.Total() != 0 || want.Trunc || want.Err != "" {
			t.Errorf("%s: losses %+v, truncated %v, error %v", filepath.Base(path), want.Losses, want.Trunc, want.Err)
		}
		sizes := []int{5000, 100_003}
		if len(data) > 4<<20 || !testdata.Long() {
			sizes = sizes[1:]
		}
		for _, size := range sizes {
			for _, got := range []outcome{
				pull(bytes.NewReader(data), scan.Config{Segment: size}),
				push(bytes.NewReader(data), scan.Config{Segment: size, Workers: 3}),
			} {
				if reflect.DeepEqual(want, got) { // quicker than a comparison that explains itself
					continue
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Fatalf("%s in segments of %d (-whole +segments):\n%s", filepath.Base(path), size, clip(d))
				}
			}
		}
		if len(data) > 4<<20 || !testdata.Long() {
			continue
		}
		strict := pull(bytes.NewReader(data), scan.Config{Strict: true})
		if strict.Err != "" {
			t.Errorf("%s: strict: %v", filepath.Base(path), strict.Err)
		}
	}
}

func clip(s string) string { return s[:min(len(s), 3000)] }
