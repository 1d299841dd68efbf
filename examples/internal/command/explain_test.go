package command_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/testdata"
)

// TestFindingsPage: docs/findings.md is what the command writes.
func TestFindingsPage(t *testing.T) {
	path := filepath.Join(testdata.Root(t), "docs", "findings.md")
	want := run(t, "", "explain", "--format", "markdown").Stdout
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("docs/findings.md is old (%v): strata explain --format markdown > docs/findings.md", err)
	}
	for _, m := range regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(want, -1) {
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
			t.Error(err)
		}
	}
}

// TestExplain: each identifier is explained in each format, in sentences of at most 25 words, and a wrong one has a
// hint.
func TestExplain(t *testing.T) {
	var doc struct {
		Topics []struct{ ID, Section, Title, Means, Found, Limits, Do string }
	}
	if err := json.Unmarshal([]byte(run(t, "", "explain", "--json").Stdout), &doc); err != nil || len(doc.Topics) < 80 {
		t.Fatalf("%d topics, %v", len(doc.Topics), err)
	}
	list, seen := run(t, "", "explain").Stdout, map[string]bool{}
	for _, topic := range doc.Topics {
		if seen[topic.Section+topic.ID] || !strings.Contains(list, "  "+topic.ID+" ") {
			t.Errorf("%s: twice, or not listed", topic.ID)
		}
		seen[topic.Section+topic.ID] = true
		if words := len(strings.Fields(topic.Title)); words == 0 || words > 10 || strings.HasSuffix(topic.Title, ".") {
			t.Errorf("%s: title %q", topic.ID, topic.Title)
		}
		for _, text := range []string{topic.Means, topic.Found, topic.Limits, topic.Do} {
			for _, sentence := range strings.SplitAfter(text, ". ") {
				if len(strings.Fields(sentence)) > 25 {
					t.Errorf("%s: %q has over 25 words", topic.ID, sentence)
				}
			}
			if text != "" && !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, ".)") {
				t.Errorf("%s: %q is no sentence", topic.ID, text)
			}
		}
		if r := run(t, "", "explain", topic.ID); r.Code != 0 || !strings.HasPrefix(r.Stdout, topic.ID+": ") ||
			strings.Count(r.Stdout, "\n") > 40 {
			t.Errorf("%s: exit code %d\n%s", topic.ID, r.Code, r.Stdout)
		}
	}
	rules := run(t, "", "explain", "rules").Stdout
	for _, r := range classify.Default().Rules() {
		if !strings.Contains(rules, fmt.Sprintf("  %-31s %s (%s", r.ID, r.Title, r.Category)) ||
			!strings.HasPrefix(run(t, "", "explain", r.ID).Stdout, r.ID+": "+r.Title) {
			t.Errorf("rule %s is not explained", r.ID)
		}
	}
	for _, c := range []struct{ args, want string }{
		{"lauch-call", "did you mean launch-call?"}, {"a b", "usage:"}, {"--format xml", "unknown format"},
		{"--nothing", "usage:"},
	} {
		if r := run(t, "", append([]string{"explain"}, strings.Fields(c.args)...)...); r.Code != 2 ||
			!strings.Contains(r.Stderr, c.want) {
			t.Errorf("%s: exit code %d, %q", c.args, r.Code, r.Stderr)
		}
	}
}
