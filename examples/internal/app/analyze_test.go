package app

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/llmstrata/strata/trace"
)

func TestAnalyzeOnTheDemoNeedsNoFlags(t *testing.T) {
	e := &Env{HashLayers: "first", Stderr: &strings.Builder{}}
	a, err := e.Analyze(context.Background(), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Passes) < 2 || a.NumLayers != 8 || e.TraceName() == "" {
		t.Errorf("demo has %d passes of %d layers, want several of 8", len(a.Passes), a.NumLayers)
	}
}

func TestLayerOptionsRefuseWhatIsNoChoice(t *testing.T) {
	for _, e := range []*Env{{Boundaries: "sometimes"}, {HashLayers: "middle"},
		{HashLayers: "first", Profile: "no-such-profile"}, {HashLayers: "first", Config: "/no/such/file"}} {
		e.Stderr = &strings.Builder{}
		if _, err := e.LayerOptions(); err == nil {
			t.Errorf("%+v gave no error", e)
		} else if e.Boundaries != "" && !errors.As(err, new(usageError)) {
			t.Errorf("boundaries %q: %v is not wrong usage", e.Boundaries, err)
		}
	}
}
