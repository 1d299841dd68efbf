package trace

import (
	"context"
	"fmt"
	"strings"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/scan"
)

// Format is a way to write a trace down. It is a value: a program passes the
// ones it reads in [Options].
type Format struct {
	// Name is how messages call it.
	Name string
	// Suffixes end the names of its files, lower case, compression apart. A
	// directory is searched by them; what a file is, its content decides.
	Suffixes []string
	// Match reports whether these first bytes, decompressed, begin one. Where
	// it is nil, a file whose content no format matches is taken by Suffixes.
	Match func(head []byte) bool
	// Open reads one.
	Open func(ctx context.Context, in *Input, o Options) (*Trace, error)
	// External formats are read by starting another program. This is done for
	// a file that is named, never for one found in a directory.
	External bool
}

// Kineto returns the format of torch.profiler: Chrome trace JSON.
func Kineto() Format {
	return Format{
		Name:     "torch.profiler JSON",
		Suffixes: []string{".trace.json", ".json"},
		Match:    func(head []byte) bool { return scan.Sniff(head) == "" },
		Open:     openKineto,
	}
}

// formats are the formats to try.
func (o *Options) formats() []Format {
	if o.Formats == nil {
		return []Format{Kineto()}
	}
	return o.Formats
}

// formatOf chooses the format of an input, or says what it seems to be.
func formatOf(list []Format, in *Input) (*Format, error) {
	for i := range list {
		if m := list[i].Match; m != nil && m(in.head) {
			return &list[i], nil
		}
	}
	for i := range list {
		if list[i].Match == nil && len(in.head) > 0 && list[i].Named(in.Name) {
			return &list[i], nil
		}
	}
	what := scan.Sniff(in.head)
	if what == "" {
		what = "JSON"
	}
	return nil, fmt.Errorf("trace: %w: it seems to be %s", ErrFormat, what)
}

// Named reports whether a file's name ends as the format's do.
func (f *Format) Named(name string) bool {
	name = plainName(name)
	for _, s := range f.Suffixes {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return false
}

// packings end the names of compressed files.
var packings = []string{".gz", ".zst", ".bz2", ".zip"}

// plainName is a file's name in lower case without the endings of compression
// and of files that are still being written.
func plainName(name string) string {
	name = framework.PlainName(strings.TrimSuffix(strings.ToLower(name), ".tmp"))
	for _, p := range packings {
		if s, ok := strings.CutSuffix(name, p); ok {
			return s
		}
	}
	return name
}
