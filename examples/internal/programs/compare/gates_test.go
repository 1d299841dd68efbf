package compare

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
)

// sideFile saves a side of decode passes: times in µs of a product and of idle time, and how many layers they have.
func sideFile(t *testing.T, passes, layers int, us, idle float64) string {
	t.Helper()
	run := compare.Run{Trace: "run.json", GPU: "NVIDIA H100 80GB HBM3", Health: "ok", Parts: []compare.Part{
		{Name: "fmha", Base: fmt.Sprintf("fmha of %d layers", layers), Operator: "attention", Category: "attention",
			Class: compare.Memory},
		{Name: "idle", Operator: "idle", Class: compare.Waiting}}}
	for i := range passes {
		work, wait := time.Duration(1e3*us), time.Duration(1e3*idle)
		run.Passes = append(run.Passes, compare.Pass{Index: i, NumLayers: layers, Stage: layer.StageDecode, Batch: 8,
			Tokens: 8, Graph: 1, Wall: work + wait,
			Parts: []compare.PartTime{{Part: 0, Count: layers, Exclusive: work, Time: work},
				{Part: 1, Exclusive: wait}}})
	}
	path := filepath.Join(t.TempDir(), "a.side.json")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := (&compare.Side{Runs: []compare.Run{run}}).Write(f); err != nil {
		t.Fatal(err)
	}
	return path
}

// gateCases are the rows of the table in docs/exit-codes.md: what changed, in twenty passes unless said otherwise,
// and what a gate makes of it.
var gateCases = []struct {
	what     string
	passes   int
	layers   int
	us, idle float64
}{
	{"nothing", 20, 32, 8000, 1000},
	{"nothing, five passes", 5, 32, 8000, 1000},
	{"attention × 1.1", 20, 32, 8800, 1000},
	{"attention × 1.1, as much less idle", 20, 32, 8800, 200},
	{"step × 1.5, the same kernels", 20, 32, 8000, 5500},
	{"half of the idle time gone", 20, 32, 8000, 500},
	{"another model", 20, 48, 8000, 1000},
}

// exitOf is the code that the program ends with.
func exitOf(r *compare.Report) int {
	var code interface{ ExitCode() int }
	if err := judged(r, suite(r, false)); errors.As(err, &code) {
		return code.ExitCode()
	}
	return 0
}

// TestGateTable: the table of docs/exit-codes.md is what the program does. -update writes it.
func TestGateTable(t *testing.T) {
	gates := []string{"3%", "work=3%", "waiting=3%", "operator:attention=5%"}
	var b strings.Builder
	fmt.Fprintf(&b, "| what changed | verdict | no gate | `%s` |\n|---|---|%s\n", strings.Join(gates, "` | `"),
		strings.Repeat("---|", len(gates)+1))
	for _, c := range gateCases {
		old, now := sideFile(t, c.passes, 32, 8000, 1000), sideFile(t, c.passes, c.layers, c.us, c.idle)
		a, err := load(old)
		if err != nil {
			t.Fatal(err)
		}
		n, err := load(now)
		if err != nil {
			t.Fatal(err)
		}
		r, err := compare.Compare(t.Context(), a, n, compare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "| %s | `%s` |", c.what, r.Verdict)
		checks := []string{fmt.Sprint(exitOf(r))}
		for _, text := range gates {
			g, err := compare.ParseGate(text)
			if err != nil {
				t.Fatal(err)
			}
			r, err := compare.Compare(t.Context(), a, n, compare.Options{Gates: []compare.Gate{g}})
			if err != nil {
				t.Fatal(err)
			}
			checks = append(checks, fmt.Sprint(exitOf(r)))
		}
		fmt.Fprintf(&b, " %s |\n", strings.Join(checks, " | "))
	}
	path := filepath.Join(testdata.Root(t), "docs", "exit-codes.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const from, to = "<!-- gates -->\n", "<!-- end of gates -->\n"
	head, rest, ok := strings.Cut(string(text), from)
	_, tail, closed := strings.Cut(rest, to)
	if !ok || !closed {
		t.Fatal("docs/exit-codes.md has no place for the table of gates")
	}
	want := head + from + b.String() + to + tail
	if apptest.Update() {
		if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if string(text) != want {
		t.Errorf("docs/exit-codes.md is not what the program does; run with -update:\n%s", b.String())
	}
}
