package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
)

func TestHelp(t *testing.T) {
	apptest.Golden(t, "testdata/help.golden", apptest.MustRun(t, program(), "--help").Stdout)
}

func TestDemoRecord(t *testing.T) {
	apptest.Golden(t, "testdata/demo.golden", apptest.MustRun(t, program()).Stdout)
}

// demoRecord returns the demo's record as it is read back from a file.
func demoRecord(t *testing.T) *Record {
	t.Helper()
	rec, err := ReadRecord(strings.NewReader(apptest.MustRun(t, program()).Stdout))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// store writes a record into a directory of the test.
func store(t *testing.T, rec *Record) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "previous.json")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.WriteJSON(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRecordsAreReadBackWhole(t *testing.T) {
	rec := demoRecord(t)
	var out strings.Builder
	if err := rec.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(apptest.MustRun(t, program()).Stdout, out.String()); diff != "" {
		t.Errorf("a record that was read and written (-before +after):\n%s", diff)
	}
	for _, text := range []string{"", "{", `{"schema":"strata-embed/0"}`} {
		if _, err := ReadRecord(strings.NewReader(text)); err == nil {
			t.Errorf("ReadRecord(%q) gave no error", text)
		}
	}
}

func TestARunIsNoWorseThanItself(t *testing.T) {
	got := apptest.MustRun(t, program(), "--previous", store(t, demoRecord(t)))
	if !strings.Contains(got.Stderr, "no worse than") {
		t.Errorf("stderr %q does not say so", got.Stderr)
	}
}

// TestAWorseRunFailsWithTheFigures: the record goes to stdout, for the history; the exit code and stderr say what got
// worse.
func TestAWorseRunFailsWithTheFigures(t *testing.T) {
	better := demoRecord(t)
	better.Traces[0].Passes[1].MedianUS /= 1.2
	got := apptest.Run(t, program(), "--previous", store(t, better))
	if got.Code != app.ExitError || !strings.Contains(got.Stderr, "decode pass of batch 8") ||
		!strings.Contains(got.Stderr, "+20.0%") {
		t.Errorf("exit code %d, stderr %q, want 1 and the decode pass, 20%% slower", got.Code, got.Stderr)
	}
	if !json.Valid([]byte(got.Stdout)) {
		t.Error("the record is not on stdout")
	}
	apptest.MustRun(t, program(), "--max-slower", "25", "--previous", store(t, better))
	if got := apptest.Run(t, program(), "--previous", filepath.Join(t.TempDir(), "absent")); got.Code != app.ExitError {
		t.Errorf("exit code %d without the previous record, want 1", got.Code)
	}
}

func TestCheckNamesEachFigureThatGotWorse(t *testing.T) {
	limits := Limits{SlowerPct: 5, IdlePoints: 5}
	for _, c := range []struct {
		name string
		edit func(now *TraceRecord)
		want []string // words of each sentence
	}{
		{"the same", func(*TraceRecord) {}, nil},
		{"faster", func(r *TraceRecord) { r.Passes[0].MedianUS /= 2 }, nil},
		{"within the limit", func(r *TraceRecord) { r.Passes[0].MedianUS *= 1.04 }, nil},
		{"slower pass", func(r *TraceRecord) { r.Passes[0].MedianUS *= 1.06 }, []string{"prefill +6.0"}},
		{"slower layers", func(r *TraceRecord) { r.LayerTypes[1].WallUS *= 2 }, []string{"LAYER +100.0"}},
		{"another batch", func(r *TraceRecord) { r.Passes[1].Batch, r.Passes[1].MedianUS = 9, 1e9 }, nil},
		{"another model", func(r *TraceRecord) { r.NumLayers, r.Passes[0].MedianUS = 61, 1e9 },
			[]string{"61 8 layers"}},
		{"idle", func(r *TraceRecord) { *r.Host.GPUIdle += 0.2 }, []string{"idle"}},
		{"idle, but unknown", func(r *TraceRecord) { r.Host.GPUIdle = nil }, nil},
		{"no verdict", func(r *TraceRecord) { r.Host = nil }, nil},
		{"unusable", func(r *TraceRecord) { r.Health, r.Passes = trace.HealthUnusable, nil }, []string{"unusable"}},
	} {
		now := demoRecord(t)
		c.edit(&now.Traces[0])
		got := Check(demoRecord(t), now, limits)
		if len(got) != len(c.want) {
			t.Errorf("%s: %q, want %d sentences", c.name, got, len(c.want))
			continue
		}
		for i, words := range c.want {
			for _, w := range strings.Fields(words) {
				if !strings.Contains(got[i], w) {
					t.Errorf("%s: %q, want %q in it", c.name, got[i], w)
				}
			}
		}
	}
	yes, no := demoRecord(t), demoRecord(t)
	yes.Traces[0].Host.Bottleneck, no.Traces[0].Host.Bottleneck = "YES", "NO"
	if got := Check(no, yes, limits); len(got) != 1 || !strings.Contains(got[0], "bottleneck") {
		t.Errorf("a host that became the bottleneck: %q", got)
	}
	if got := Check(&Record{}, yes, limits); got != nil {
		t.Errorf("a first record: %q, want nothing to compare", got)
	}
	gone := demoRecord(t)
	gone.Traces[0].Health = trace.HealthUnusable
	if got := Check(gone, yes, limits); got != nil {
		t.Errorf("after an unusable trace: %q, want nothing to compare", got)
	}
}

// TestDirectoriesAndExports reads what servers and Nsight Systems leave.
func TestDirectoriesAndExports(t *testing.T) {
	dir := t.TempDir()
	for _, stage := range []string{"EXTEND", "DECODE"} {
		if err := os.WriteFile(filepath.Join(dir, "1-TP-0-"+stage+".trace.json.gz"), demo.Trace(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	rec, err := MeasurePath(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.Traces) != 2 || len(rec.Kernels) != 2*topKernels {
		t.Errorf("a directory of two stages: %d traces, %d kernels, want 2 and %d", len(rec.Traces), len(rec.Kernels),
			2*topKernels)
	}
	export := filepath.Join(t.TempDir(), "run.sqlite")
	if _, err := nsysgen.Write(export, nsysgen.Default(1)); err != nil {
		t.Fatal(err)
	}
	if rec, err = MeasurePath(t.Context(), export); err != nil {
		t.Fatal(err)
	}
	if len(rec.Traces) != 1 || rec.Traces[0].Host == nil {
		t.Errorf("an export: %+v, want one trace with a host verdict", rec.Traces)
	}
	if _, err := MeasurePath(t.Context(), filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Error("an absent file gave no error")
	}
}

// TestRealTraces: every trace gives a record, or an error that says why not.
func TestRealTraces(t *testing.T) {
	for _, path := range append(testdata.SharedGlob(t, "traces/torch/*"), testdata.SharedGlob(t, "traces/nsys/*")...) {
		rec, err := MeasurePath(t.Context(), path)
		switch {
		case err != nil:
			t.Errorf("%s: %v", filepath.Base(path), err)
		case len(rec.Traces) != 1 || rec.Traces[0].Health == "":
			t.Errorf("%s: %+v, want one trace whose health is known", filepath.Base(path), rec.Traces)
		case rec.Traces[0].Host == nil && len(rec.Traces[0].Findings) == 0:
			t.Errorf("%s: no figures and no reason", filepath.Base(path))
		}
	}
}
