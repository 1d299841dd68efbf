package roofline_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/llmstrata/strata/layer/roofline"
)

// The waterfalls of docs/speed-of-light.md are those that the program prints.
func TestDocsHoldWhatIsPrinted(t *testing.T) {
	page, err := os.ReadFile("../../docs/speed-of-light.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, report := range map[string]func(*testing.T) *roofline.Report{
		"worked example": func(t *testing.T) *roofline.Report {
			r, err := roofline.Analyze(context.Background(), llama70B(t, 0), roofline.Options{TP: 4})
			if err != nil {
				t.Fatal(err)
			}
			return r
		},
		known[4].file: func(t *testing.T) *roofline.Report {
			return analyse(t, known[4].file, known[4].config, roofline.Options{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := report(t).WriteText(&b); err != nil {
				t.Fatal(err)
			}
			text, _, ok := strings.Cut(b.String(), "= start to next start")
			if !ok {
				t.Fatalf("no waterfall in\n%s", b.String())
			}
			for _, line := range strings.Split(text, "\n") {
				if line = strings.TrimRight(line, " "); line != "" &&
					!strings.Contains(string(page), "    "+line+"\n") {
					t.Errorf("the page lacks %q", line)
				}
			}
		})
	}
}
