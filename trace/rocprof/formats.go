package rocprof

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// documentKey is the only top-level key of rocprofv3's JSON.
const documentKey = `"rocprofiler-sdk-tool"`

// Formats returns both formats.
func Formats() []trace.Format {
	return []trace.Format{{
		Name:     "rocprofv3 JSON",
		Suffixes: []string{"_results.json"},
		Match: func(head []byte) bool {
			head = bytes.TrimLeft(head, "\xef\xbb\xbf \t\r\n")
			if len(head) == 0 || head[0] != '{' {
				return false
			}
			return bytes.HasPrefix(bytes.TrimLeft(head[1:], " \t\r\n"), []byte(documentKey))
		},
		Open: func(ctx context.Context, in *trace.Input, o trace.Options) (*trace.Trace, error) {
			t, err := readJSON(ctx, in.R, in.Name, o)
			if err != nil {
				return nil, named(in.Name, err)
			}
			return t, nil
		},
	}, {
		Name:     "rocpd database",
		Suffixes: []string{"_results.db", ".rocpd"},
		Match:    func(head []byte) bool { return bytes.HasPrefix(head, []byte("SQLite format 3\x00")) },
		Open: func(ctx context.Context, in *trace.Input, o trace.Options) (*trace.Trace, error) {
			path, done, err := in.File(ctx)
			if err != nil {
				return nil, err
			}
			defer done()
			t, err := readDatabase(ctx, path, in.Name, o)
			if err != nil {
				return nil, named(in.Name, err)
			}
			return t, nil
		},
	}}
}

func named(path string, err error) error {
	if path == "" {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// newBuilder begins a trace of this profiler.
func newBuilder(name, format string, o trace.Options) *trace.Builder {
	b := trace.NewBuilder(o)
	b.Meta.Path, b.Meta.Source, b.Meta.Format = name, trace.SourceRocprof, format
	return b
}

// shape is the launch of a kernel as [trace.EventData] has it; the grid is
// recorded in work-items.
func shape(grid, group [3]int64) string {
	if group[0] <= 0 || group[1] <= 0 || group[2] <= 0 || grid[0] <= 0 {
		return ""
	}
	var b strings.Builder
	for i := range grid {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt((grid[i]+group[i]-1)/group[i], 10))
	}
	separator := byte('|')
	for i := range group {
		b.WriteByte(separator)
		b.WriteString(strconv.FormatInt(group[i], 10))
		separator = ','
	}
	return b.String()
}

// copyNames are the directions of copies as traces of PyTorch call them.
var copyNames = map[string]string{
	"HOST_TO_DEVICE": "Memcpy HtoD (Host -> Device)", "DEVICE_TO_HOST": "Memcpy DtoH (Device -> Host)",
	"DEVICE_TO_DEVICE": "Memcpy DtoD (Device -> Device)", "HOST_TO_HOST": "Memcpy HtoH (Host -> Host)",
}

// copyName names a copy by its operation, "MEMORY_COPY_HOST_TO_DEVICE".
func copyName(operation string) string {
	if n, ok := copyNames[strings.TrimPrefix(operation, "MEMORY_COPY_")]; ok {
		return n
	}
	return "Memcpy"
}

// lanes puts activities on their streams where the file separates streams, else
// on their queues. Which it is, the first activity with a stream decides: until
// then they wait.
type lanes struct {
	b       *trace.Builder
	waiting []activity
	streams bool
}

type activity struct {
	e             trace.EventData
	stream, queue int64
}

// add adds an activity.
func (l *lanes) add(a activity) {
	if a.stream != 0 && !l.streams {
		l.flush(true)
	}
	if l.streams {
		a.e.Stream = trace.StreamID(a.stream)
		l.b.Add(a.e)
		return
	}
	l.waiting = append(l.waiting, a)
}

// flush adds what waits; at the end of the file, to its queues.
func (l *lanes) flush(streams bool) {
	for _, a := range l.waiting {
		a.e.Stream = trace.StreamID(a.queue)
		if streams {
			a.e.Stream = trace.StreamID(a.stream)
		}
		l.b.Add(a.e)
	}
	l.waiting, l.streams = nil, streams
}

// callKind is the kind of an API call, by the name of what was traced.
func callKind(category string) (event.Kind, bool) {
	switch {
	case strings.HasPrefix(category, "HIP_RUNTIME"), strings.HasPrefix(category, "HIP_COMPILER"):
		return event.Runtime, true
	case strings.HasPrefix(category, "HSA_"):
		return event.Driver, true
	case strings.HasPrefix(category, "MARKER_"), strings.HasPrefix(category, "RCCL_"),
		strings.HasPrefix(category, "ROCTX"):
		return event.Annotation, true
	}
	return event.Other, false
}
