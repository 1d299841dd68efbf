package strata_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/layer/finding"
)

var updateMessages = flag.Bool("update", false, "write testdata/messages.golden instead of comparing with it")

// TestMessages renders every kind and cause of finding as text and Markdown: without a size, with times of 0, of a
// nanosecond and of three centuries, with every measure and basis. The golden file is to be read aloud.
func TestMessages(t *testing.T) {
	huge := time.Duration(math.MaxInt64)
	sizes := []finding.Size{
		{},
		{Measure: finding.Recoverable, Of: finding.OfStep},
		finding.SizeOf(finding.Recoverable, finding.OfStep, 1, 1, 3),
		finding.SizeOf(finding.Recoverable, finding.OfStep, 1256*time.Microsecond, 1, 17*time.Millisecond),
		finding.SizeOf(finding.Recoverable, finding.OfWindow, huge, 1, huge),
		finding.SizeOf(finding.Taken, finding.OfGPU, 843*time.Microsecond, 2, 233*time.Millisecond),
		finding.SizeOf(finding.Changed, finding.OfStep, -12*time.Microsecond, 1, 8*time.Millisecond),
		{Measure: finding.Changed, PerStep: 1, Total: 1},
		{Measure: finding.Recoverable, PerStep: 5, Share: math.NaN(), Of: finding.OfStep},
	}
	var list []finding.Finding
	for _, k := range finding.Kinds() {
		list = append(list, finding.Finding{Kind: k, Text: k.Info().Title, Advice: k.Info().Advice})
	}
	for _, c := range finding.Causes() {
		list = append(list, finding.Finding{Kind: finding.IdleTime, Cause: c, Text: c.Info().Title,
			Advice: c.Info().Advice})
	}
	for i := range list {
		list[i].Size = sizes[3]
		list[i].Next = "strata " + list[i].Kind.Info().Program + " FILE"
	}
	for i, s := range sizes {
		f := finding.Finding{Kind: finding.ExposedCommunication, Text: fmt.Sprintf("Size %d", i), Size: s,
			Evidence: "Evidence with `code`, *stars* and <tags>.",
			Place:    finding.Place{Pass: finding.At(0), Layer: finding.At(79), Kernel: "kernel<1, 2>"}}
		if i == len(sizes)-1 {
			f.Stage = finding.StagePrefill
		}
		list = append(list, f)
	}
	var b strings.Builder
	for _, o := range []strata.ReportText{{Width: 100, All: true}, {Markdown: true, All: true}} {
		for _, most := range [][]finding.Finding{nil, list[:1], list} {
			r := strata.Report{Name: "extreme values", Findings: most}
			if err := r.WriteText(&b, o); err != nil {
				t.Fatal(err)
			}
			b.WriteString("\n")
		}
	}
	r := strata.Report{Findings: list, Model: "/private/model", GPUTime: huge, InPasses: 1}
	before := strings.Count(b.String(), "\n")
	if err := r.WriteIssue(&b, "v0.1.0"); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n") - before; n > 40 {
		t.Errorf("an issue has %d lines", n)
	}
	const path = "testdata/messages.golden"
	if *updateMessages {
		if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != b.String() {
		t.Errorf("%s is old (%v): go test . -run TestMessages -update, and read it", path, err)
	}
	for _, s := range []string{"NaN", "Inf", "1 passes", "1 findings", "%!", "private"} {
		if strings.Contains(b.String(), s) {
			t.Errorf("%q is printed", s)
		}
	}
}
