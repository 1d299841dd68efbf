package triage_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// goldenRow is a row of a kernel table printed by the reference.
type goldenRow struct {
	stage, kernel, category string
	ms                      string
	share                   string
	launches                int
	location, op            string
}

// splitByDecoder are reports whose stage the reference took from a range named
// "## decoder …", which is not a decode step; its rows per stage are not ours.
var splitByDecoder = []string{"train-pair-rank-0", "train-pair-rank-1"}

// goldenReport is a report printed by the reference.
type goldenReport struct {
	name    string
	formal  string
	mapping string
	kernels []goldenRow
}

// readGolden parses a reference report.
func readGolden(t *testing.T, path string) goldenReport {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	g := goldenReport{name: strings.TrimSuffix(filepath.Base(path), ".txt")}
	table, stage := "", ""
	for line := range strings.SplitSeq(string(data), "\n") {
		switch {
		case strings.HasPrefix(line, "Input traces: "):
			g.formal = strings.TrimPrefix(line, "Input traces: shared/")
		case strings.HasPrefix(line, "Formal traces: "):
			g.formal = strings.TrimPrefix(line, "Formal traces: shared/")
		case strings.HasPrefix(line, "Mapping traces: "):
			g.mapping = strings.TrimPrefix(line, "Mapping traces: shared/")
		case strings.HasSuffix(line, " Table"):
			table, stage = line, ""
		case strings.HasPrefix(line, "##### "):
			stage = strings.TrimPrefix(line, "##### ")
		case strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| ---"):
			cells := strings.Split(strings.Trim(line, "| "), " | ")
			switch {
			case table == "Kernel Table" && len(cells) == 7 && cells[0] != "Kernel" && cells[2] != "-":
				n, err := strconv.Atoi(cells[4])
				if err != nil {
					t.Fatalf("%s: %v in %q", path, err, line)
				}
				g.kernels = append(g.kernels, goldenRow{stage, cells[0], cells[1], cells[2], cells[3], n, cells[5],
					cells[6]})
			}
		}
	}
	return g
}

func goldens(t *testing.T) []goldenReport {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(testdata.Shared(t, "golden/triage"), "*.txt"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no reference reports: %v", err)
	}
	out := make([]goldenReport, 0, len(paths))
	for _, p := range paths {
		out = append(out, readGolden(t, p))
	}
	return out
}

// loaded keeps the shared traces: they are immutable and most tests use them.
var loaded = struct {
	sync.Mutex
	traces map[string]*trace.Trace
}{traces: map[string]*trace.Trace{}}

// source loads a shared trace as a Source, with the args of its launch calls:
// on ROCm they name the kernels that a graph capture recorded.
func source(t testing.TB, rel string) triage.Source {
	t.Helper()
	path := testdata.Shared(t, rel)
	loaded.Lock()
	defer loaded.Unlock()
	tr := loaded.traces[rel]
	if tr == nil {
		var err error
		if tr, err = trace.Open(t.Context(), path, trace.Options{Args: []event.Kind{event.Runtime}}); err != nil {
			t.Fatal(err)
		}
		loaded.traces[rel] = tr
	}
	return triage.Source{Trace: tr, Path: rel}
}

// input is one trace that is read for time.
func input(t testing.TB, tr *trace.Trace, path string) triage.Input {
	t.Helper()
	in, err := triage.NewInput(t.Context(), []triage.Source{{Trace: tr, Path: path}}, nil, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// analyze triages shared traces.
func analyze(t testing.TB, formal, mapping string, o triage.Options) *triage.Report {
	t.Helper()
	var other []triage.Source
	if mapping != "" {
		other = append(other, source(t, mapping))
	}
	in, err := triage.NewInput(t.Context(), []triage.Source{source(t, formal)}, other, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := triage.Analyze(t.Context(), in, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
