package compare

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/layer/compare"
)

func TestHelp(t *testing.T) {
	apptest.Golden(t, "testdata/help.golden", apptest.MustRun(t, Program(), "--help").Stdout)
}

// demoFile writes the demo trace, with every duration of some kernels changed.
func demoFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "demo.json.gz")
	if err := os.WriteFile(path, demo.Trace(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// A trace compared with itself, and with itself saved, differs in nothing, and passes its gates.
func TestTheSame(t *testing.T) {
	a := demoFile(t)
	saved := filepath.Join(t.TempDir(), "a.side.json")
	r := apptest.MustRun(t, Program(), "--b", a, "--save", saved)
	if r.Stdout != "" {
		t.Errorf("saving prints %q", r.Stdout)
	}
	for _, args := range [][]string{{"--a", a, "--b", a}, {"--baseline", saved, "--b", a}, {a, a},
		{"--baseline", saved, a}, {"--a", a, a}} {
		r := apptest.MustRun(t, Program(), append(args, "--format", "json", "--fail-on", "5%")...)
		var got compare.Report
		if err := json.Unmarshal([]byte(r.Stdout), &got); err != nil {
			t.Fatal(err)
		}
		if got.Schema != "strata.compare/4" || got.Delta != 0 || got.Verdict != compare.Same || len(got.Rows) == 0 {
			t.Errorf("%v: %s, verdict %s, %d rows", args, got.Text, got.Verdict, len(got.Rows))
		}
	}
}

// The exit codes: 0 passed, 2 usage or nothing that matches, 3 a gate failed, 4 it cannot be decided, 1 anything else.
func TestExitCodes(t *testing.T) {
	a := demoFile(t)
	old := filepath.Join(t.TempDir(), "a.side.json")
	apptest.MustRun(t, Program(), "--b", a, "--save", old)
	text, err := os.ReadFile(old)
	if err != nil {
		t.Fatal(err)
	}
	var s compare.Side
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	for p := range s.Runs[0].Passes { // the demo is slower than this
		pass := &s.Runs[0].Passes[p]
		pass.Wall = 0
		for i := range pass.Parts {
			k := &pass.Parts[i]
			if s.Runs[0].Parts[k.Part].Class != compare.Waiting {
				k.Time, k.Exclusive = k.Time*7/10, k.Exclusive*7/10
			}
			pass.Wall += k.Exclusive
			k.Tail = min(k.Tail, k.Exclusive)
		}
	}
	f, err := os.Create(old)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(f); err != nil {
		t.Fatal(err)
	}
	f.Close()
	for _, c := range []struct {
		name string
		args []string
		want int
	}{
		{"no sides", nil, 2},
		{"one side", []string{a}, 2},
		{"three", []string{a, a, a}, 2},
		{"B twice", []string{a, "--b", a}, 2},
		{"A twice", []string{a, a, "--baseline", old}, 2},
		{"failed, B without a flag", []string{"--baseline", old, a, "--fail-on", "5%"}, 3},
		{"a gate that is none", []string{"--a", a, "--b", a, "--fail-on", "much"}, 2},
		{"a file that is absent", []string{"--a", a, "--b", a + ".absent"}, 1},
		{"not a saved side", []string{"--baseline", a, "--b", a}, 1},
		{"passed", []string{"--a", a, "--b", a, "--fail-on", "5%"}, 0},
		{"failed", []string{"--baseline", old, "--b", a, "--fail-on", "5%"}, 3},
		{"cannot be told", []string{"--a", a, "--b", a, "--fail-on", "1%"}, 4},
		{"cannot be told, and that is allowed", []string{"--a", a, "--b", a, "--fail-on", "1%", "--allow-inconclusive"},
			0},
	} {
		r := apptest.Run(t, Program(), c.args...)
		if r.Code != c.want {
			t.Errorf("%s: exit code %d, want %d: %s", c.name, r.Code, c.want, strings.TrimSpace(r.Stderr))
		}
	}
}

// A directory is one run of several ranks; each is compared with the same rank. --save keeps them all.
func TestDirectoryOfRanks(t *testing.T) {
	dir := t.TempDir()
	packed, err := gzip.NewReader(bytes.NewReader(demo.Trace()))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(packed)
	if err != nil {
		t.Fatal(err)
	}
	for _, rank := range []string{"0", "1"} {
		own := regexp.MustCompile(`"rank": ?0`).ReplaceAll(text, []byte(`"rank": `+rank))
		if err := os.WriteFile(filepath.Join(dir, "run-TP-"+rank+".trace.json"), own, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	saved := filepath.Join(t.TempDir(), "a.side.json")
	apptest.MustRun(t, Program(), "--b", dir, "--save", saved)
	for _, args := range [][]string{{dir, dir}, {"--baseline", saved, dir},
		{"--a", dir, "--a", dir, "--b", dir, "--b", dir}} {
		var got compare.Report
		if err := json.Unmarshal([]byte(apptest.MustRun(t, Program(), append(args, "--format", "json")...).Stdout),
			&got); err != nil {
			t.Fatal(err)
		}
		if got.Verdict != compare.Same || len(got.Ranks) != 2 || got.Ranks[1].A.Rank != 1 || got.Ranks[1].Delta != 0 ||
			got.A.Runs != max(1, len(args)/4) {
			t.Errorf("%v: %s, ranks %+v, %d runs", args, got.Text, got.Ranks, got.A.Runs)
		}
	}
}
