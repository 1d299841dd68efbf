// Package agree holds all programs to one answer: its test runs each on the same
// traces and compares what their JSON and CSV documents say about the same thing,
// with each other, with an oracle that reads the raw events without this module,
// and with the truth of generated and distilled traces.
//
// Figures of the published scripts are compared
// elsewhere; the programs' words for stages go through one table, [stageWords].
package agree

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/testdata"
)

// subjectTrace is a trace and what is known of it.
type subjectTrace struct {
	name, path string // path "" for the demo
	truth      truth
}

// few are the traces that are read without STRATA_LONG: one of each kind.
var few = []string{"demo", "distilled/sglang-qwen3-8b-decode-mi300.json.zst", "distilled/train-pair-rank-0.json.zst",
	"case/two-gpus-one-file", "nsysgen/graphs"}

// unknown is the truth of a trace about which nothing is known.
func unknown() truth { return truth{passes: -1, layers: -1, tp: -1, allReduces: -1} }

// TestProgramsAgree asks all programs about the same traces: the demo, distilled
// and generated ones, a few of each without STRATA_LONG, and the reference traces.
func TestProgramsAgree(t *testing.T) {
	// No config that lies in somebody's home may change an answer.
	t.Setenv("HOME", t.TempDir())
	t.Setenv("HF_HOME", "")
	traces := slices.Concat(always(t), generated(t))
	if testdata.Long() {
		t.Run("shared", func(t *testing.T) { agree(t, shared(t)) })
	} else {
		traces = slices.DeleteFunc(traces, func(tr subjectTrace) bool { return !slices.Contains(few, tr.name) })
		if len(traces) != len(few) {
			t.Errorf("%d traces, want %v", len(traces), few)
		}
	}
	t.Run("always", func(t *testing.T) { agree(t, traces) })
}

// agree compares the programs on each of the traces.
func agree(t *testing.T, traces []subjectTrace) {
	for _, tr := range traces {
		found, err := examine(t, tr)
		if err != nil {
			t.Errorf("%s: %v", tr.name, err)
		}
		for _, x := range found {
			t.Errorf("%s: %s: %s", tr.name, x.kind, x.text)
		}
	}
}

// examine asks all programs about one trace.
func examine(t *testing.T, tr subjectTrace) ([]disagreement, error) {
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
	d, err := ask(t.Context(), tr.path, len(raw))
	if err != nil {
		return nil, err
	}
	return collect(d, raw, tr.truth).disagreements(), nil
}

// always are the demo and the distilled traces.
func always(t *testing.T) []subjectTrace {
	rows, err := gen.Truths(gen.Demo())
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

// fromRows reads the truth from the generator's rows, of the first device if there are several. said: annotations in
// the trace name stages and server.
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
