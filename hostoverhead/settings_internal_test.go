package hostoverhead

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/layer/finding"
)

// TestAdviceNamesWhatWasRead: each server has settings of its own, each names its flag and a document at a commit or
// a version (or a page that has none), and the docs list the document with the date.
func TestAdviceNamesWhatWasRead(t *testing.T) {
	page, err := os.ReadFile("../docs/host-verdict.md")
	if err != nil {
		t.Fatal(err)
	}
	_, sources, found := strings.Cut(string(page), "## Sources of the advice")
	if !found || !strings.Contains(sources, "November 2026") {
		t.Fatal("docs/host-verdict.md does not list the sources with their date")
	}
	commit := regexp.MustCompile(`^https://github\.com/[^/]+/[^/]+/blob/[0-9a-f]{40}/`)
	flag := regexp.MustCompile(`--[a-z]|[a-z]_[a-z]|[A-Z]_[A-Z]`)
	servers := 0
	for _, f := range framework.All() {
		if !f.Server() {
			continue
		}
		servers++
		for what, list := range map[string]map[string]finding.Advice{"graphs": captureGraphs, "overlap": overlapSteps} {
			s, ok := list[f.Key()]
			if !ok {
				t.Errorf("%s has no advice on %s", f.Name, what)
				continue
			}
			if !strings.HasPrefix(s.Do, f.Name+": ") || !flag.MatchString(s.Do) {
				t.Errorf("%s, %s: %q names no flag of it", f.Name, what, s.Do)
			}
			if !commit.MatchString(s.Source) && strings.Contains(s.Source, "github.com") ||
				!strings.HasPrefix(s.Source, "https://") {
				t.Errorf("%s, %s: source %q has no commit", f.Name, what, s.Source)
			}
		}
	}
	for key, s := range prefillGraphs {
		if key != "" && !flag.MatchString(s.Do) || !strings.HasPrefix(s.Source, "https://") {
			t.Errorf("%q, prefill: %+v", key, s)
		}
	}
	if servers < 4 {
		t.Errorf("%d servers", servers)
	}
	for _, s := range []string{sglangArguments, vllmGraphs, vllmScheduler, trtllmGraphs, trtllmOverlap, tokenspeedArgs,
		tokenspeedLoop, torchCUDA} {
		if !strings.Contains(sources, s) {
			t.Errorf("the docs do not list %s", s)
		}
	}
}
