package agree

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/testdata"
)

var update = flag.Bool("update", false, "lower the budget to what was found")

// subjectTrace is a trace and what is known of it.
type subjectTrace struct {
	name, path string // path "" for the demo
	truth      truth
}

// unknown is the truth of a trace of which nothing is known.
func unknown() truth { return truth{passes: -1, layers: -1, tp: -1, allReduces: -1} }

// TestProgramsAgree counts who says what differently and holds the counts against
// the budget: one for what every clone has, one for the reference traces.
func TestProgramsAgree(t *testing.T) {
	if !testdata.Long() {
		t.Skip("runs every program on every trace")
	}
	touchSources(t)
	bin := t.TempDir()
	if err := build(t.Context(), testdata.Root(t), bin); err != nil {
		t.Fatal(err)
	}
	t.Run("always", func(t *testing.T) { agree(t, bin, append(always(t), generated(t)...)) })
	t.Run("shared", func(t *testing.T) { agree(t, bin, shared(t)) })
}

// agree compares the programs on traces, two at a time, with the budget of the
// test's name.
func agree(t *testing.T, bin string, traces []subjectTrace) {
	found := make([][]disagreement, len(traces))
	slots := make(chan struct{}, 2)
	var wg sync.WaitGroup
	for i, tr := range traces {
		slots <- struct{}{}
		wg.Add(1)
		go func() {
			defer func() { <-slots; wg.Done() }()
			var err error
			if found[i], err = examine(t, bin, tr); err != nil {
				t.Errorf("%s: %v", tr.name, err)
			}
		}()
	}
	wg.Wait()
	counts := map[string]int{}
	for i, list := range found {
		for _, x := range list {
			counts[x.kind]++
			t.Logf("%s: %s", traces[i].name, x.text)
		}
	}
	settle(t, filepath.Base(t.Name()), counts)
}

// examine asks all programs about one trace.
func examine(t *testing.T, bin string, tr subjectTrace) ([]disagreement, error) {
	path := tr.path
	if path == "" {
		path = filepath.Join(t.TempDir(), "demo.json.gz")
		if err := os.WriteFile(path, demo.Trace(), 0o666); err != nil {
			return nil, err
		}
	}
	raw, err := oracle(path)
	if err != nil {
		return nil, err
	}
	d, err := ask(t.Context(), bin, tr.path, len(raw))
	if err != nil {
		return nil, err
	}
	return collect(d, raw, tr.truth).disagreements(), nil
}

// settle compares counts with the budget of a group of traces and, with -update,
// lowers it.
func settle(t *testing.T, group string, counts map[string]int) {
	t.Helper()
	const file = "budget.json"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	budget := map[string]map[string]int{}
	if err := json.Unmarshal(data, &budget); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	lower := map[string]int{}
	for kind, n := range counts {
		if allowed := budget[group][kind]; n > allowed {
			t.Errorf("%d disagreements about %q on the %s traces, want at most %d; -v lists them", n, kind, group, allowed)
			lower[kind] = allowed
			continue
		}
		lower[kind] = n
	}
	total := 0
	for kind, allowed := range budget[group] {
		total += counts[kind]
		if counts[kind] < allowed {
			t.Logf("%q: %d left of %d on the %s traces: lower the budget with -update", kind, counts[kind], allowed, group)
		}
	}
	t.Logf("%d disagreements on the %s traces", total, group)
	if !*update {
		return
	}
	budget[group] = lower
	data, err = json.MarshalIndent(budget, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(data, '\n'), 0o666); err != nil {
		t.Fatal(err)
	}
}

// always are the demo and the distilled traces.
func always(t *testing.T) []subjectTrace {
	rows, err := demo.Truth()
	if err != nil {
		t.Fatal(err)
	}
	list := []subjectTrace{{"demo", "", fromRows(rows, gen.Demo().TP, "sglang", len(gen.Demo().Arch.Layers), true)}}
	for _, k := range testdata.DistilledTraces(t) {
		tr := unknown()
		tr.passes, tr.layers, tr.tp, tr.framework = k.Passes, k.Layers, k.TP, k.Framework
		if len(k.Stages) > 0 {
			tr.stages = k.Stages
		}
		list = append(list, subjectTrace{"distilled/" + k.Name, testdata.Distilled(t, k.Name), tr})
	}
	return list
}

// generated are the cases and some traces of generated models and servers.
func generated(t *testing.T) []subjectTrace {
	dir := t.TempDir()
	var list []subjectTrace
	for _, c := range gen.Cases() {
		path := filepath.Join(dir, c.Name+".json")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := c.Write(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		tr := fromRows(rows, c.TP, c.Framework, c.Layers, c.Dialect != gen.NoAnnotations)
		tr.idle = nil
		if c.Ahead() {
			tr.idle = idleShares(rows)
		}
		list = append(list, subjectTrace{"case/" + c.Name, path, tr})
	}
	for name, cfg := range map[string]nsysgen.Config{"graphs": nsysgen.Default(1), "eager": nsysgen.Large(2, 4000)} {
		path := filepath.Join(dir, "nsys-"+name+".sqlite")
		if _, err := nsysgen.Write(path, cfg); err != nil {
			t.Fatal(err)
		}
		tr := unknown()
		tr.passes, tr.layers, tr.tp, tr.framework = cfg.Steps, cfg.Layers, cfg.Ranks, "tensorrt-llm"
		tr.stages = []string{"mixed", "decode"} // its context steps generate too
		list = append(list, subjectTrace{"nsysgen/" + name, path, tr})
	}
	return list
}

// allReduce finds the all-reduces of the generator's kernels, whatever library
// they are of.
var allReduce = regexp.MustCompile(`(?i)all_?reduce|cross_device_reduce`)

// fromRows reads the truth from the generator's rows, of the first device where
// there are several. said: annotations in the trace tell stages and server.
func fromRows(rows []gen.Truth, tp int, framework string, layers int, said bool) truth {
	tr := unknown()
	tr.tp, tr.layers, tr.rows = tp, layers, rows
	tr.framework = framework
	tr.untold = !said
	stages, comm := map[int]string{}, map[int]int{}
	for _, r := range rows {
		if r.Pass < 0 || r.Device != rows[0].Device {
			continue
		}
		stages[r.Pass] = r.Stage
		if r.Layer >= 0 && allReduce.MatchString(r.Name) {
			comm[r.Pass]++
		}
	}
	tr.passes, tr.allReduces = len(stages), comm[len(stages)-1]
	for _, s := range stages {
		tr.stages = append(tr.stages, s)
	}
	return tr
}

// idleShares returns the share of idle time of each stage: a gap belongs to the
// pass of the kernel that ends it, those outside passes to nobody.
func idleShares(rows []gen.Truth) map[string]float64 {
	busy, idle := map[string]float64{}, map[string]float64{}
	for i, r := range rows {
		busy[r.Stage] += float64(r.Duration)
		if i > 0 && rows[i-1].Pass == r.Pass {
			idle[r.Stage] += float64(max(0, r.Start-rows[i-1].Start-rows[i-1].Duration))
		}
	}
	shares := map[string]float64{}
	for stage := range busy {
		shares[stage] = idle[stage] / (idle[stage] + busy[stage])
	}
	return shares
}

// shared are the reference traces that are not part of the repository.
func shared(t *testing.T) []subjectTrace {
	var list []subjectTrace
	for _, pattern := range []string{"traces/torch/*", "traces/nsys/*"} {
		for _, path := range testdata.SharedGlob(t, pattern) {
			list = append(list, subjectTrace{filepath.Base(path), path, unknown()})
		}
	}
	return list
}

// touchSources reads every source file of the module: the programs are built by
// the go command, which the test cache does not see, and an edit must run the
// test again.
func touchSources(t *testing.T) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(testdata.Root(t), func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && strings.HasPrefix(e.Name(), ".") && len(e.Name()) > 1:
			return filepath.SkipDir
		case filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go"):
			n++
			_, err = os.ReadFile(path)
		}
		return err
	})
	if err != nil || n == 0 {
		t.Fatal(fmt.Errorf("sources: %d files, %w", n, err))
	}
}
