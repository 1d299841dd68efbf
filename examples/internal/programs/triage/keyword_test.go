package triage

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/testdata"
)

// publishedFusions returns the traces of a published report, and the rows of
// its fuse table as pattern, confidence, time and share.
func publishedFusions(t *testing.T, path string) (formal, mapping string, rows []string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	table := ""
	for line := range strings.SplitSeq(string(data), "\n") {
		what, value, _ := strings.Cut(line, " traces: shared/")
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		switch {
		case what == "Input", what == "Formal":
			formal = value
		case what == "Mapping":
			mapping = value
		case strings.HasSuffix(line, " Table"):
			table = line
		case table == "Fuse Opportunity Table" && strings.HasPrefix(line, "| ") && len(cells) == 8 &&
			cells[0] != "Pattern" && cells[1] != "-" && !strings.HasPrefix(cells[0], "---"):
			rows = append(rows, strings.Join(cells[:4], "|"))
		}
	}
	return formal, mapping, rows
}

// splitByDecoder are reports whose stage the reference took from a range named
// "## decoder …", which is not a decode step: times per stage are not ours.
var splitByDecoder = []string{"train-pair-rank-0", "train-pair-rank-1"}

// fusions runs the program with --fuse-mode keyword.
func fusions(t *testing.T, args ...string) (framework string, rows []string) {
	t.Helper()
	var doc struct {
		Framework string
		Stages    []struct {
			Fuse []struct {
				Pattern, Confidence string
				RelatedUS           float64 `json:"related_us"`
				SharePct            float64 `json:"share_pct"`
			}
		}
	}
	if err := json.Unmarshal([]byte(apptest.MustRun(t, Program(),
		append(args, "--fuse-mode", "keyword", "--format", "json")...).Stdout), &doc); err != nil {
		t.Fatal(err)
	}
	for _, s := range doc.Stages {
		for _, f := range s.Fuse {
			rows = append(rows, fmt.Sprintf("%s|%s|%.2f ms|%.1f%%", f.Pattern, f.Confidence, f.RelatedUS/1e3,
				f.SharePct))
		}
	}
	return doc.Framework, rows
}

// TestKeywordModePrintsThePublishedRows compares pattern, confidence, time and
// share of every row of the published reports.
func TestKeywordModePrintsThePublishedRows(t *testing.T) {
	reports, err := filepath.Glob(filepath.Join(testdata.Shared(t, "golden/triage"), "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, path := range reports {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		t.Run(name, func(t *testing.T) {
			formal, mapping, want := publishedFusions(t, path)
			rows += len(want)
			args := []string{"--formal-input", testdata.Shared(t, formal)}
			if mapping != "" {
				args = append(args, "--mapping-input", testdata.Shared(t, mapping))
			}
			framework, got := fusions(t, args...)
			if framework == "PyTorch" {
				// The reference takes a trace without any sign of a server for SGLang.
				_, got = fusions(t, append(args, "--framework", "sglang")...)
			}
			if slices.Contains(splitByDecoder, name) {
				for _, list := range [][]string{want, got} {
					for i, row := range list {
						list[i] = strings.Join(strings.Split(row, "|")[:2], "|")
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-published +ours):\n%s", diff)
			}
		})
	}
	if rows < 10 {
		t.Errorf("compared %d rows, want at least 10", rows)
	}
}
