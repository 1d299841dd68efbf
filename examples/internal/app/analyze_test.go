package app

import (
	"context"
	"strings"
	"testing"
)

func TestAnalyzeOnTheDemoNeedsNoFlags(t *testing.T) {
	e := &Env{Stderr: &strings.Builder{}}
	a, err := e.Analyze(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Passes) < 2 || a.NumLayers != 8 || e.TraceName() == "" {
		t.Errorf("demo has %d passes of %d layers, want several of 8", len(a.Passes), a.NumLayers)
	}
}

func TestLayerOptionsRefuseWhatIsNoChoice(t *testing.T) {
	for _, e := range []*Env{{Profile: "no-such-profile"}, {Config: "/no/such/file"}} {
		e.Stderr = &strings.Builder{}
		if _, err := e.LayerOptions(); err == nil {
			t.Errorf("%+v gave no error", e)
		}
	}
}
