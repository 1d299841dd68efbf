package programs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/gen/ranks"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

// rankFiles writes the traces of a fleet into a folder.
func rankFiles(t *testing.T, c ranks.Config) string {
	t.Helper()
	dir := t.TempDir()
	_, err := c.Write(func(f ranks.File) error { return os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o666) })
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func rankFile(dir string, rank int) string {
	return filepath.Join(dir, fmt.Sprintf("1760000000-TP-%d.trace.json", rank))
}

// TestReportALateRankIsSaid: who is late, by how much and why, in a report whose length does not grow with the ranks.
func TestReportALateRankIsSaid(t *testing.T) {
	dir := rankFiles(t, ranks.Config{Seed: 1, Steps: 2, Layers: 20, Size: 16,
		Replicas: []ranks.Replica{{Numbered: true, Late: 9, Cause: ranks.HostGap, LateBy: 30_000}}})
	r := reportDocument(t, dir)
	at := slices.IndexFunc(r.Findings, func(f finding.Finding) bool { return f.Kind == finding.LateRank })
	if at < 0 || r.Findings[at].Code != "rank 9" || !strings.Contains(r.Findings[at].Evidence, "log_stats") ||
		r.Findings[at].Share < 0.2 {
		t.Fatalf("findings: %+v", r.Findings)
	}
	if r.Ranks == nil || r.Ranks.Ranks != 16 || !strings.Contains(r.Verdict, "wait for rank 9") {
		t.Errorf("ranks %+v, verdict %s", r.Ranks, r.Verdict)
	}
	got := apptest.MustRun(t, Report(), dir)
	for _, want := range []string{"wait for rank 9", "On 16 of 16 ranks", "Read 16 of 16 files"} {
		if !strings.Contains(got.Stdout, want) {
			t.Errorf("the report lacks %q:\n%s", want, got.Stdout)
		}
	}
	if n := strings.Count(got.Stdout, "\n"); n > 200 {
		t.Errorf("%d lines", n)
	}
}

// TestReportAgainstRankByRank: each rank is held against its own.
func TestReportAgainstRankByRank(t *testing.T) {
	fleetOf := func(cause ranks.Cause) string {
		return rankFiles(t, ranks.Config{Seed: 1, Steps: 8, Layers: 10, Size: 4,
			Replicas: []ranks.Replica{{Numbered: true, Late: 2, Cause: cause, LateBy: 60_000}}})
	}
	old, now := fleetOf(ranks.OnTime), fleetOf(ranks.LongKernel)
	var r strata.Report
	if err := json.Unmarshal([]byte(apptest.MustRun(t, Report(), now, "--against", old, "--format",
		"json").Stdout), &r); err != nil {
		t.Fatal(err)
	}
	if r.Against == nil || len(r.Against.Ranks) != 4 || r.Against.B.Rank != 2 {
		t.Fatalf("%d ranks, B.Rank %d", len(r.Against.Ranks), r.Against.B.Rank)
	}
	for i, x := range r.Against.Ranks {
		if x.A.Rank != i || x.B.Rank != i || x.Verdict != compare.Slower {
			t.Errorf("rank %d: %s", x.A.Rank, x.Text)
		}
	}
	if got := apptest.MustRun(t, Report(), now, "--against", old, "--all").Stdout; !strings.Contains(got,
		"rank 3: B is slower") {
		t.Errorf("the report lacks rank 3:\n%s", got)
	}
}

// TestReportMissingRanksAreSaid: nobody is called late where the late one may be missing.
func TestReportMissingRanksAreSaid(t *testing.T) {
	dir := rankFiles(t, ranks.Config{Seed: 1, Steps: 2, Layers: 10, Size: 16,
		Replicas: []ranks.Replica{{Numbered: true, Late: 9, Cause: ranks.HostGap, LateBy: 30_000,
			Missing: []int{9, 12}}}})
	got := apptest.MustRun(t, Report(), dir, "--all").Stdout
	for _, want := range []string{"2 of 16 ranks are missing", "the late one may be among them"} {
		if !strings.Contains(strings.Join(strings.Fields(got), " "), want) {
			t.Errorf("the report lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "wait for rank") {
		t.Errorf("a rank is late:\n%s", got)
	}
}

// TestReportABadRankIsALine: a report of those that can be read, degraded; --strict refuses.
func TestReportABadRankIsALine(t *testing.T) {
	dir := rankFiles(t, ranks.Config{Seed: 1, Steps: 2, Layers: 10,
		Replicas: []ranks.Replica{{Numbered: true, Copy: true}}})
	for _, rank := range []int{0, 4} {
		if err := os.WriteFile(rankFile(dir, rank), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got := apptest.MustRun(t, Report(), dir, "--all").Stdout
	for _, want := range []string{"Read 7 of 9 files", "1760000000-TP-4.trace.json: ",
		"TP-8.trace.json: the same content as 1760000000-TP-7.trace.json"} {
		if !strings.Contains(strings.Join(strings.Fields(got), " "), want) {
			t.Errorf("the report lacks %q:\n%s", want, got)
		}
	}
	if r := reportDocument(t, dir); r.Health != trace.HealthDegraded || r.Ranks.Bad != 2 {
		t.Errorf("health %s, %d bad", r.Health, r.Ranks.Bad)
	}
	if r := apptest.Run(t, Report(), dir, "--strict"); r.Code != app.ExitError ||
		!strings.Contains(r.Stderr, "TP-0") {
		t.Errorf("--strict: exit code %d, %s", r.Code, r.Stderr)
	}
}

// TestReportOneOfManyRecordings: the newest of a folder, and that there are others; or all of them.
func TestReportOneOfManyRecordings(t *testing.T) {
	dir := rankFiles(t, ranks.Config{Seed: 1, Steps: 2, Layers: 6, Size: 2,
		Replicas: []ranks.Replica{{Numbered: true}, {Numbered: true}, {Numbered: true}}})
	got := apptest.MustRun(t, Report(), dir)
	if !strings.Contains(got.Stderr, "1 of 3 recordings") || !strings.Contains(got.Stdout, "2 ranks in 1 recording.") {
		t.Errorf("%s%s", got.Stderr, got.Stdout)
	}
	if got := apptest.MustRun(t, Report(), dir, "--recordings", "all").Stdout; !strings.Contains(got,
		"6 ranks in 3 recordings") {
		t.Errorf("all recordings:\n%s", got)
	}
}

// TestReportMixedGPUsAreNamed: the head names both GPUs, and the ranks are called two runs.
func TestReportMixedGPUsAreNamed(t *testing.T) {
	dir := rankFiles(t, ranks.Config{Seed: 1, Steps: 2, Layers: 6, Size: 2, Replicas: []ranks.Replica{{Numbered: true}}})
	data, err := os.ReadFile(rankFile(dir, 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(rankFile(dir, 1), []byte(strings.ReplaceAll(string(data), "H100 80GB HBM3", "B200")),
		0o666); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(apptest.MustRun(t, Report(), dir, "--all").Stdout), " ")
	if !strings.Contains(got, "NVIDIA B200, NVIDIA H100 80GB HBM3. These seem to be two runs") {
		t.Errorf("the report does not name both GPUs:\n%s", got)
	}
	a, b := filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json")
	for from, to := range map[string]string{rankFile(dir, 0): a, rankFile(dir, 1): b} {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	if r := reportDocument(t, a, b); r.GPU != "NVIDIA H100 80GB HBM3, NVIDIA B200" ||
		!strings.Contains(strings.Join(r.Notes, "\n"), "two runs") {
		t.Errorf("two files: GPU %q, notes %q", r.GPU, r.Notes)
	}
}
