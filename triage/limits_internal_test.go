package triage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// TestHowMuchIsReadBeside: of the files beside a trace, which may be anything, 32 logs.
func TestHowMuchIsReadBeside(t *testing.T) {
	sign := framework.Diffusion().LogMarks[0]
	for _, c := range []struct {
		what  string
		log   int // that has the sign, of 33
		found bool
	}{{"the first log", 0, true}, {"the 32nd", 31, true}, {"the 33rd", 32, false}} {
		dir := t.TempDir()
		for i := range 33 {
			text := ""
			if i == c.log {
				text = sign
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d.log", i)), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := ReadBeside(filepath.Join(dir, "x.json")); (err != nil) != c.found {
			t.Errorf("%s: %v, want it found %v", c.what, err, c.found)
		}
	}
}

// TestHostileTraces: a row has 4097 parts at most, the last one takes what comes beyond; of model files 64 are named.
func TestHostileTraces(t *testing.T) {
	p := activity.NewPool()
	p.Facts = kernels(1)
	for i := range 5000 {
		p.Sites.ID(fmt.Sprint(i))
	}
	w := &activity.Trace{}
	for i := range int32(5000) {
		w.Acts = append(w.Acts, activity.Activity{Site: i, End: 1})
	}
	r := splitStages(p, []*activity.Trace{w})[0].rows[0]
	var ns int64
	launches := 0
	for _, s := range r.sites {
		ns, launches = ns+s.Ns, launches+s.Launches
	}
	if len(r.sites) != 4097 || ns != 5000 || launches != 5000 {
		t.Errorf("%d parts of %d ns in %d launches, want 4097 of 5000", len(r.sites), ns, launches)
	}
	b := trace.NewBuilder(trace.Options{})
	for i := range 65 {
		b.Add(trace.EventData{Kind: event.Frame, Name: fmt.Sprintf("vllm/models/m%d.py(1): f", i), Start: int64(10 * i),
			Duration: 5, Thread: 1, Device: trace.None, Stream: trace.None})
	}
	a := &analysis{formal: []*activity.Trace{{Trace: built.Trace(b)}}}
	a.findModelFiles()
	if n := len(strings.Fields(a.modelFiles)); n != 64 {
		t.Errorf("%d model files, want 64", n)
	}
}
