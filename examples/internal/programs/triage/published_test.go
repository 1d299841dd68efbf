package triage

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/triage"
)

// TestPublishedOverlap: the published table stays reachable, with its verdicts and risks; the default lists
// communication only.
func TestPublishedOverlap(t *testing.T) {
	path := testdata.Shared(t, "traces/torch/train-graphs-5streams-a100.json.gz")
	rows := func(args ...string) []triage.OverlapRow {
		t.Helper()
		var doc triage.Report
		if err := json.Unmarshal([]byte(apptest.MustRun(t, Program(),
			append([]string{"--input", path, "--format", "json"}, args...)...).Stdout), &doc); err != nil {
			t.Fatal(err)
		}
		return doc.Stages[0].Overlap
	}
	for _, o := range rows() {
		if o.Category != classify.CategoryCommunication || o.BoundNS <= 0 {
			t.Errorf("row %+v is nothing that compute could hide", o)
		}
	}
	got := rows("--overlap-mode", "published")
	if len(got) < 5 {
		t.Fatalf("%d rows of the published rule, want 5 at least", len(got))
	}
	if o := got[0]; o.Priority != "P1" || o.Category != classify.CategoryCommunication || o.Verdict != "headroom" ||
		o.DepRisk != "low" || o.Recommendation != "try overlap" ||
		o.ExclusiveRatio < 0.95 || o.ExclusiveRatio > 0.96 || o.ExclusiveRatio+o.HiddenRatio < 0.999 {
		t.Errorf("first row %+v", o)
	}
	if all := rows("--overlap-mode", "published", "--overlap-table-limit", "0"); len(all) <= len(got) {
		t.Errorf("%d rows without a limit, %d with one", len(all), len(got))
	}
}

// TestPublishedColumns: the table of the published rule has the columns of the published script, and their texts.
func TestPublishedColumns(t *testing.T) {
	path := testdata.Shared(t, "traces/torch/train-graphs-5streams-a100.json.gz")
	golden, err := os.ReadFile(testdata.Shared(t, "golden/triage/mapping-formal-train-5streams.txt"))
	if err != nil {
		t.Fatal(err)
	}
	const head = "| Priority | Verdict | Kernel | Python scope | Formal signal | Dep risk | Recommendation |"
	rows := func(page string) (out [][]string) {
		_, page, _ = strings.Cut(page, head+"\n")
		for line := range strings.Lines(page) {
			if !strings.HasPrefix(line, "| P") {
				if len(out) > 0 {
					break
				}
				continue
			}
			var cells []string
			for _, c := range strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ") {
				cells = append(cells, strings.Trim(c, " `"))
			}
			out = append(out, cells)
		}
		return out
	}
	got := rows(apptest.MustRun(t, Program(), "--input", path, "--overlap-mode", "published").Stdout)
	want := rows(string(golden))
	if len(got) < len(want) || len(want) == 0 {
		t.Fatalf("%d rows, want %d at least", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if len(g) != 7 || len(w) != 7 {
			t.Fatalf("row %d has %d columns, the published one %d", i, len(g), len(w))
		}
		// the kernel's name is shortened by other rules, shares are of other totals
		for _, column := range []int{0, 1, 5, 6} {
			if g[column] != w[column] {
				t.Errorf("row %d, column %d: %q, want %q", i, column, g[column], w[column])
			}
		}
		us := func(s string) string { s, _, _ = strings.Cut(s, ","); return s }
		alone := func(s string) string { _, s, _ = strings.Cut(s, "excl "); return s }
		if us(g[4]) != us(w[4]) || alone(g[4]) != alone(w[4]) {
			t.Errorf("row %d: signal %q, want %q", i, g[4], w[4])
		}
	}
}
