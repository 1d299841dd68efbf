package hostoverhead

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/layer"
)

// TestAdviceNamesWhatWasRead: each server has settings of its own, each names its flag and a document at a commit or a version
// (or a page that has none), and the docs list the document with the date.
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
		for what, list := range map[string]map[string]setting{"graphs": captureGraphs, "overlap": overlapSteps} {
			s, ok := list[f.Key()]
			if !ok {
				t.Errorf("%s has no advice on %s", f.Name, what)
				continue
			}
			if !strings.HasPrefix(s.do, f.Name+": ") || !flag.MatchString(s.do) {
				t.Errorf("%s, %s: %q names no flag of it", f.Name, what, s.do)
			}
			if !commit.MatchString(s.source) && strings.Contains(s.source, "github.com") || !strings.HasPrefix(s.source, "https://") {
				t.Errorf("%s, %s: source %q has no commit", f.Name, what, s.source)
			}
		}
	}
	for key, s := range prefillGraphs {
		if key != "" && !flag.MatchString(s.do) || !strings.HasPrefix(s.source, "https://") {
			t.Errorf("%q, prefill: %+v", key, s)
		}
	}
	if servers < 4 {
		t.Errorf("%d servers", servers)
	}
	for _, s := range []string{sglangArguments, vllmGraphs, vllmScheduler, trtllmGraphs, trtllmOverlap, tokenspeedArgs, tokenspeedLoop, torchCUDA, cudaLazy} {
		if !strings.Contains(sources, s) {
			t.Errorf("the docs do not list %s", s)
		}
	}
}

// TestAdviceOnLaunchesFitsTheSteps: the stage with most exposed launches decides, and whether its kernels are replayed already.
func TestAdviceOnLaunchesFitsTheSteps(t *testing.T) {
	stage := func(s layer.Stage, replayed, eager, exposed int64) StageVerdict {
		return StageVerdict{Stage: s, Paths: []Path{{Path: "graph", TimeNS: replayed, ExposedNS: 99}, {Path: "eager", TimeNS: eager, ExposedNS: exposed}}}
	}
	for _, c := range []struct {
		stages []StageVerdict
		want   setting
	}{
		{[]StageVerdict{stage(layer.StageDecode, 0, 100, 10), stage(layer.StagePrefill, 0, 100, 9)}, captureGraphs["sglang"]},
		{[]StageVerdict{stage(layer.StageDecode, 0, 100, 9), stage(layer.StagePrefill, 0, 100, 10)}, prefillGraphs["sglang"]},
		{[]StageVerdict{stage(layer.StageDecode, 49, 50, 10)}, captureGraphs["sglang"]},
		{[]StageVerdict{stage(layer.StageDecode, 51, 50, 10)}, besideGraph},
		{nil, captureGraphs["sglang"]},
	} {
		if got := launchSetting(&RankVerdict{Stages: c.stages}, "sglang"); got != c.want {
			t.Errorf("%+v: %q, want %q", c.stages, got.do, c.want.do)
		}
	}
}
