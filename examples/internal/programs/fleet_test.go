package programs

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/gen/ranks"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/trace"
)

// runFleet runs strata fleet.
func runFleet(t *testing.T, args ...string) apptest.Result {
	t.Helper()
	p, rest := ChooseFleet(args)
	return apptest.Run(t, p, rest...)
}

// fleetText is what it prints; it must not fail.
func fleetText(t *testing.T, args ...string) string {
	t.Helper()
	r := runFleet(t, args...)
	if r.Code != app.ExitOK {
		t.Fatalf("%q: exit code %d: %s", args, r.Code, r.Stderr)
	}
	return r.Stdout
}

// fleetDocument is its JSON.
func fleetDocument(t *testing.T, args ...string) (r fleet.Report) {
	t.Helper()
	if err := json.Unmarshal([]byte(fleetText(t, append(args, "--format", "json")...)), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// smallFleet is three replicas; the second has a late rank.
func smallFleet() ranks.Config {
	return ranks.Config{Seed: 1, Steps: 2, Layers: 6, Size: 4, Replicas: []ranks.Replica{{Numbered: true},
		{Numbered: true, Late: 2, Cause: ranks.HostGap, LateBy: 30_000}, {Numbered: true, Missing: []int{1}}}}
}

// TestFleetSameBytesHoweverItIsDivided: read at once, from a tar, through kept digests, and by shards that are reduced.
func TestFleetSameBytesHoweverItIsDivided(t *testing.T) {
	dir := rankFiles(t, smallFleet())
	for _, format := range [][]string{{"--format", "json"}, {"--format", "json", "--full"}, {"--width", "120"},
		{"--format", "markdown"}} {
		want := fleetText(t, append([]string{dir}, format...)...)
		keep := t.TempDir()
		for range 2 {
			if got := fleetText(t, append([]string{dir, "--keep", keep}, format...)...); got != want {
				t.Errorf("%q: with kept digests\n%s\nwant\n%s", format, got, want)
			}
		}
		out := t.TempDir()
		var shards []string
		for i := range 5 {
			path := filepath.Join(out, fmt.Sprintf("%d.ndjson", i))
			apptest.MustRun(t, Digest(), dir, "--shard", fmt.Sprintf("%d/5", i), "--output", path)
			shards = append([]string{path}, shards...) // in another order
		}
		for _, args := range [][]string{append([]string{"reduce"}, shards...), {"reduce", out}, {"reduce", keep}} {
			if got := fleetText(t, append(args, format...)...); got != want {
				t.Errorf("%q: %s\nwant\n%s", args, got, want)
			}
		}
		if got := fleetText(t, append([]string{fleetArchive(t, dir)}, format...)...); got != want {
			t.Errorf("%q: of a tar\n%s\nwant\n%s", format, got, want)
		}
	}
}

// fleetArchive makes a tar of a folder.
func fleetArchive(t *testing.T, dir string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteHeader(&tar.Header{Name: f.Name(), Mode: 0o666, Size: int64(len(data)),
			Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ranks.tar")
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFleetBadRanks: an empty rank, one that is no gzip and one that is cut off are lines of the report; --strict
// refuses them.
func TestFleetBadRanks(t *testing.T) {
	dir := rankFiles(t, ranks.Config{Seed: 2, Steps: 2, Layers: 6, Replicas: []ranks.Replica{{Numbered: true}}})
	at := func(rank int, suffix string) string {
		return filepath.Join(dir, fmt.Sprintf("1760000000-TP-%d.trace.json%s", rank, suffix))
	}
	cut, err := os.ReadFile(at(2, ""))
	if err != nil {
		t.Fatal(err)
	}
	for path, data := range map[string][]byte{at(4, ""): nil, at(5, ".gz"): []byte("no gzip"),
		at(2, ""): cut[:len(cut)/2]} {
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(at(5, "")); err != nil {
		t.Fatal(err)
	}
	r := fleetDocument(t, dir)
	if r.Files != 8 || r.Bad != 2 || r.Health != trace.HealthDegraded || len(r.Runs) != 1 || len(r.Runs[0].Bad) != 2 {
		t.Errorf("%d files, %d bad, health %s, runs %+v", r.Files, r.Bad, r.Health, r.Runs)
	}
	if out := fleetText(t, dir); !strings.Contains(out, "Read 6 of 8 files") ||
		!strings.Contains(out, "TP-4.trace.json: ") {
		t.Errorf("the report does not name the bad ranks:\n%s", out)
	}
	if got := apptest.Run(t, Digest(), dir); got.Code != app.ExitOK || !strings.Contains(got.Stderr, "TP-4.trace.json: ") {
		t.Errorf("digest does not say what it could not read: %d, %s", got.Code, got.Stderr)
	}
	if got := runFleet(t, at(4, "")); got.Code != app.ExitError || strings.Contains(got.Stderr, "no trace file") ||
		!strings.Contains(got.Stderr, "TP-4.trace.json: not a profiler trace") {
		t.Errorf("a single bad file: %d, %s", got.Code, got.Stderr)
	}
	if got := runFleet(t, dir, "--strict"); got.Code != app.ExitError || !strings.Contains(got.Stderr, "TP-4") {
		t.Errorf("--strict: exit code %d, %s", got.Code, got.Stderr)
	}
	if got := runFleet(t, dir, "--fail-on", "health degraded"); got.Code != app.ExitFailed {
		t.Errorf("--fail-on: exit code %d", got.Code)
	}
}

// TestFleetOnlyNewFilesAreReadAgain: a digest that is older than its trace is made again, others are not.
func TestFleetOnlyNewFilesAreReadAgain(t *testing.T) {
	dir, keep := rankFiles(t, smallFleet()), t.TempDir()
	before := fleetText(t, dir, "--keep", keep)
	path := filepath.Join(dir, "1760000000-TP-0.trace.json")
	old := time.Now().Add(-time.Hour)
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	if after := fleetText(t, dir, "--keep", keep); after != before {
		t.Errorf("a file that is older than its digest was read:\n%s", after)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
	if r := fleetDocument(t, dir, "--keep", keep); r.Bad != 1 {
		t.Errorf("a file that is newer than its digest was not read: %d bad", r.Bad)
	}
}

// TestFleetRecordings: all of a folder, or the newest.
func TestFleetRecordings(t *testing.T) {
	dir := rankFiles(t, smallFleet())
	if r := fleetDocument(t, dir); len(r.Runs) != 3 || r.Ranks != 11 || !lateRank(r.Findings, "rank 2", "1760000001") {
		t.Errorf("%d recordings, %d ranks, %+v", len(r.Runs), r.Ranks, r.Findings)
	}
	got := runFleet(t, dir, "--recordings", "newest")
	if !strings.Contains(got.Stderr, "1 of 3 recordings") || !strings.Contains(got.Stdout, "1 recording\n") {
		t.Errorf("%s%s", got.Stderr, got.Stdout)
	}
}

func lateRank(list []finding.Finding, rank, run string) bool {
	for _, f := range list {
		if f.Kind == finding.LateRank && f.Code == rank && f.Place.Trace == run {
			return true
		}
	}
	return false
}

// TestFleetOutputIsBounded: of hundreds of recordings and of hundreds of ranks a screen or two, and little JSON.
func TestFleetOutputIsBounded(t *testing.T) {
	many := ranks.Config{Seed: 3, Steps: 2, Layers: 5, Size: 2}
	for i := range 60 {
		many.Replicas = append(many.Replicas, ranks.Replica{Numbered: true, Cause: ranks.Cause(i % 3), LateBy: 40_000})
	}
	for name, c := range map[string]ranks.Config{"many recordings": many,
		"many ranks": {Seed: 4, Steps: 2, Layers: 5, Size: 128,
			Replicas: []ranks.Replica{{Numbered: true, Ragged: true}}}} {
		dir := rankFiles(t, c)
		digests := filepath.Join(t.TempDir(), "ranks.ndjson")
		apptest.MustRun(t, Digest(), dir, "--output", digests)
		const mostLines, mostBytes = 200, 2_000_000
		if n := strings.Count(fleetText(t, "reduce", digests), "\n"); n > mostLines {
			t.Errorf("%s: %d lines", name, n)
		}
		if n := len(fleetText(t, "reduce", digests, "--format", "json")); n > mostBytes {
			t.Errorf("%s: %d bytes of JSON", name, n)
		}
	}
}

func TestFleetUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"x", "--shard", "3"}, {"x", "--shard", "4/4"}, {"x", "--shard", "-1/4"}} {
		if r := runFleet(t, args...); r.Code != app.ExitUsage {
			t.Errorf("%q: exit code %d", args, r.Code)
		}
	}
	if r := runFleet(t, "reduce", rankFiles(t, smallFleet())); r.Code != app.ExitUsage ||
		!strings.Contains(r.Stderr, "strata digest") {
		t.Errorf("reduce of traces: %d, %s", r.Code, r.Stderr)
	}
	if r := runFleet(t, "trend", t.TempDir()); r.Code != app.ExitError || !strings.Contains(r.Stderr, "no digest (*.ndjson)") {
		t.Errorf("trend of an empty directory: %d, %s", r.Code, r.Stderr)
	}
}

// TestDatesOfDigests: runs are sorted by their date, so that what is none is refused.
func TestDatesOfDigests(t *testing.T) {
	dir := rankFiles(t, smallFleet())
	for date, code := range map[string]int{"zzz": app.ExitUsage, "2026-1-2": app.ExitUsage, "2026-02-30": app.ExitUsage,
		"2026-01-02": app.ExitOK, "2026-01-02T03:04:05+02:00": app.ExitOK} {
		if r := apptest.Run(t, Digest(), dir, "--date", date); r.Code != code {
			t.Errorf("--date %s: %d, %s", date, r.Code, r.Stderr)
		}
	}
}

// TestFleetTrend: digests of six nights, with a longer attention since the fourth.
func TestFleetTrend(t *testing.T) {
	dir := t.TempDir()
	for night := range 6 {
		c := ranks.Config{Seed: uint64(night), Steps: 8, Layers: 6, Size: 2,
			Replicas: []ranks.Replica{{Numbered: true}}}
		if night >= 3 {
			c.Replicas[0].Late, c.Replicas[0].Cause, c.Replicas[0].LateBy = 1, ranks.LongKernel, 20_000
		}
		r := apptest.MustRun(t, Digest(), rankFiles(t, c), "--date", fmt.Sprintf("2026-10-%02d", night+10),
			"--commit", fmt.Sprint("c", night))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(night, ".ndjson")), []byte(r.Stdout), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got := fleetText(t, "trend", dir)
	for _, want := range []string{"6 runs from 2026-10-10 to 2026-10-15", "- attention +", " since 2026-10-13, c3 ("} {
		if !strings.Contains(got, want) {
			t.Errorf("the trend lacks %q:\n%s", want, got)
		}
	}
	var doc compare.Trend
	if err := json.Unmarshal([]byte(fleetText(t, "trend", dir, "--format", "json")), &doc); err != nil ||
		len(doc.Changes) == 0 || doc.Changes[0].Operator != "attention" || doc.Changes[0].Before != 3 {
		t.Errorf("%v: %+v", err, doc)
	}
	c := doc.Changes[0] // what is plotted of it: the means of the bars before and since differ by the change
	var sides [2]float64
	for k, p := range c.Points {
		side := 0
		if k >= c.Before {
			side = 1
		}
		sides[side] += float64(p.Time) / float64([2]int{c.Before, c.After}[side])
	}
	if by := sides[1] - sides[0]; len(c.Points) != 6 || math.Abs(by-float64(c.Delta)) > 0.02*float64(c.A) {
		t.Errorf("%d bars differ by %.0f ns, %s", len(c.Points), by, c.Text)
	}
	page := filepath.Join(t.TempDir(), "trend.html")
	fleetText(t, "trend", dir, "--html", page)
	if html, err := os.ReadFile(page); err != nil || !strings.Contains(string(html), "attention, Decode") ||
		!strings.Contains(string(html), "since 2026-10-13, c3 (") {
		t.Errorf("the page has no bar of 2026-10-13: %v", err)
	}
	if r := runFleet(t, "trend", filepath.Join(dir, "0.ndjson")); r.Code == app.ExitOK ||
		!strings.Contains(r.Stderr, "two runs") {
		t.Errorf("of one run: %d, %s", r.Code, r.Stderr)
	}
}
