package layer_test

import (
	"context"
	"slices"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// open loads a shared trace, skipping the test where shared is absent.
func open(t testing.TB, name string, opts ...trace.Options) *trace.Trace {
	t.Helper()
	path := testdata.Shared(t, "traces/torch/"+name)
	if tr := opened[path]; tr != nil && len(opts) == 0 {
		return tr
	}
	tr, err := trace.Open(context.Background(), path, slices.Concat(opts, []trace.Options{{}})[0])
	if err != nil {
		t.Fatal(err)
	}
	if len(opts) == 0 {
		opened[path] = tr
	}
	return tr
}

// opened are the traces that a test has read, by their path: nothing changes a trace.
var opened = map[string]*trace.Trace{}

// config loads a shared config; "" is none.
func config(t testing.TB, name string) *profile.Config {
	t.Helper()
	if name == "" {
		return nil
	}
	c, err := profile.LoadConfig(testdata.Shared(t, "configs/"+name))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// analyze runs Analyze and fails the test on an error.
func analyze(t testing.TB, tr *trace.Trace, opts layer.Options) *layer.Device {
	t.Helper()
	a, err := layer.Analyze(context.Background(), tr, opts)
	if err != nil {
		t.Fatal(err)
	}
	d, err := a.Device(nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
