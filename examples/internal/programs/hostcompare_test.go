package programs

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/testdata"
)

// slowerHost is the default server with a broadcast in every step.
func slowerHost(seed uint64) nsysgen.Config {
	return nsysgen.Default(seed).With(nsysgen.Op{Name: "broadcast_requests", Mean: 250 * time.Microsecond})
}

func TestHostCompareComparisonOfGeneratedRuns(t *testing.T) {
	r := apptest.MustRun(t, HostCompare(), "--baseline", apptest.Export(t, nsysgen.Default(1)), "--target",
		apptest.Export(t, slowerHost(2)),
		"--baseline-label", "v1", "--target-label", "v2")
	apptest.Golden(t, "testdata/host-compare/compare.golden", r.Stdout)
}

func TestHostCompareSyntheticPair(t *testing.T) {
	baseline, target := testdata.Shared(t, "traces/nsys/synthetic-trtllm-baseline.sqlite"),
		testdata.Shared(t, "traces/nsys/synthetic-trtllm-target.sqlite")
	r := apptest.MustRun(t, HostCompare(), "--baseline", baseline, "--target", target, "--tp-size", "2", "--format",
		"json")
	if short := apptest.MustRun(t, HostCompare(), baseline, target, "--tp-size", "2", "--format",
		"json"); short.Stdout != r.Stdout {
		t.Error("without flags the two runs are compared in another way")
	}
	var doc struct {
		Conclusion string
		Handoff    struct {
			Target string `json:"recommended_first_target"`
		} `json:"optimization_handoff"`
		Deltas []struct {
			Op, Status string
			DeltaUS    float64     `json:"delta_us"`
			CI         *[2]float64 `json:"ci95_us"`
		}
	}
	if err := json.Unmarshal([]byte(r.Stdout), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Conclusion != "inter-step host overhead" || doc.Handoff.Target != "_update_requests" {
		t.Errorf("conclusion = %q, first target %q", doc.Conclusion, doc.Handoff.Target)
	}
	want := map[string]string{"broadcast_requests": "NEW", "_fetch_new_requests": "REGRESSION",
		"_update_requests": "REGRESSION"}
	for _, d := range doc.Deltas {
		if d.Status != want[d.Op] {
			t.Errorf("%s: status %q, want %q", d.Op, d.Status, want[d.Op])
		}
		if d.CI == nil || d.CI[0] > d.DeltaUS || d.CI[1] < d.DeltaUS {
			t.Errorf("%s: Δ %v outside its interval %v", d.Op, d.DeltaUS, d.CI)
		}
	}
}

// TestHostCompareTextNamesItsSteps: the text says, as the document does, how many iterations there are and how many of
// them count.
func TestHostCompareTextNamesItsSteps(t *testing.T) {
	path := apptest.Export(t, nsysgen.Default(1))
	var doc struct {
		Baseline struct {
			Bench      int `json:"bench_iterations"`
			Iterations int
		}
	}
	if err := json.Unmarshal([]byte(apptest.MustRun(t, HostCompare(), "--baseline", path, "--target", path, "--format",
		"json").Stdout), &doc); err != nil {
		t.Fatal(err)
	}
	b := &doc.Baseline
	want := fmt.Sprintf(" %d of %d", b.Bench, b.Iterations)
	if text := apptest.MustRun(t, HostCompare(), "--baseline", path, "--target", path).Stdout; b.Iterations < b.Bench ||
		b.Bench == 0 || strings.Count(text, want) != 2 {
		t.Errorf("want %q twice in\n%.600s", want, text)
	}
}

func TestHostCompareOneRunAlone(t *testing.T) {
	path := apptest.Export(t, nsysgen.Default(1))
	for _, args := range [][]string{{"--trace", path}, {"--baseline", path}, {"--target", path}, {path}} {
		r := apptest.MustRun(t, HostCompare(), append(args, "--gaps", "1")...)
		if !strings.Contains(r.Stdout, "steady steps") || !strings.Contains(r.Stdout, "Gap ledger, device ") {
			t.Errorf("%s: no breakdown:\n%s", args[0], r.Stdout)
		}
	}
	var doc struct {
		Steady int `json:"steady_steps"`
		Host   struct {
			Ranks []json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(apptest.MustRun(t, HostCompare(), "--trace", path, "--format", "json").Stdout),
		&doc); err != nil {
		t.Fatal(err)
	}
	if doc.Steady < 40 || len(doc.Host.Ranks) != 2 {
		t.Errorf("steady steps %d, devices %d, want at least 40 and 2", doc.Steady, len(doc.Host.Ranks))
	}
}

func TestHostCompareWrongUsage(t *testing.T) {
	path := apptest.Export(t, nsysgen.Default(1))
	for _, args := range [][]string{{"--trace", path, "--target", path}, {"--tp-size", "-1"}, {"--gaps", "-1"},
		{"--format", "xml"}, {path, path, path}, {path, "--target", path}, {path, "--trace", path}} {
		if r := apptest.Run(t, HostCompare(), args...); r.Code != app.ExitUsage {
			t.Errorf("%q: exit code %d, want %d", args, r.Code, app.ExitUsage)
		}
	}
	if r := apptest.Run(t, HostCompare(), "--baseline", path, "--target",
		filepath.Join(t.TempDir(), "absent")); r.Code != app.ExitError || !strings.Contains(r.Stderr, "absent") {
		t.Errorf("absent target: exit code %d, stderr %q", r.Code, r.Stderr)
	}
}

// The exit codes: 0 passed, 1 a file is absent, 2 wrong usage, 3 an operation became slower, 4 that cannot be decided.
func TestHostCompareExitCodes(t *testing.T) {
	short := nsysgen.Default(3)
	short.Steps, short.Layers = 8, 2
	base, slow, few := apptest.Export(t, nsysgen.Default(1)), apptest.Export(t, slowerHost(2)), apptest.Export(t, short)
	for _, c := range []struct {
		name string
		args []string
		want int
	}{
		{"slower, nothing asked", []string{"--target", slow}, 0},
		{"slower by 250 µs of 2.8 ms", []string{"--target", slow, "--fail-on", "5%"}, 3},
		{"less than asked", []string{"--target", slow, "--fail-on", "20%"}, 0},
		{"the same", []string{"--target", base, "--fail-on", "1%"}, 0},
		{"few steps", []string{"--target", few, "--fail-on", "3%"}, 4},
		{"few steps, allowed", []string{"--target", few, "--fail-on", "3%", "--allow-inconclusive"}, 0},
		{"no share", []string{"--target", slow, "--fail-on", "much"}, 2},
		{"one run", []string{"--fail-on", "3%"}, 2},
		{"an absent file", []string{"--target", base + ".absent", "--fail-on", "3%"}, 1},
	} {
		if r := apptest.Run(t, HostCompare(), append([]string{"--baseline", base}, c.args...)...); r.Code != c.want {
			t.Errorf("%s: exit code %d, want %d: %s", c.name, r.Code, c.want, r.Stderr)
		}
	}
}
