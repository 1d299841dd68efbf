package trace

import (
	"context"
	"fmt"

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
		if list[i].Match == nil && len(in.head) > 0 && framework.Ends(in.Name, list[i].Suffixes) {
			return &list[i], nil
		}
	}
	what := scan.Sniff(in.head)
	if what == "" {
		what = "JSON"
	}
	return nil, fmt.Errorf("trace: %w: it seems to be %s", ErrFormat, what)
}
