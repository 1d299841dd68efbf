package perfettomap

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// opened loads a trace of any format.
func opened(t *testing.T, path string) *trace.Trace {
	t.Helper()
	tr, err := trace.Open(context.Background(), path, trace.Options{Formats: strata.Formats()})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// work lists what ran on GPUs, when by the wall clock, and when it was launched; of devices only how many there are
// is kept from copy to copy.
func work(tr *trace.Trace) []string {
	epoch, _ := tr.Epoch()
	from := epoch.UnixNano()
	if from < 0 {
		from = 0
	}
	var out []string
	for e := range tr.Events(event.LaneGPU) {
		line := fmt.Sprintf("%s %s %d+%d stream %d graph %d/%d", e.Kind(), e.Name(), from+int64(e.Start()),
			time.Duration(e.Data().Duration), e.Stream(), e.Data().GraphID, e.Data().GraphNode)
		if l := e.Launch(); l.Valid() {
			line += fmt.Sprintf(" launched by %s at %d", l.Name(), from+int64(l.Start()))
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

// annotated is how many slices were added, by the name of their track.
func annotated(tr *trace.Trace) map[string]int {
	n := map[string]int{}
	for e := range tr.Events(event.LaneOther) {
		if th := tr.Thread(e.Thread()); e.Data().Category == "strata" {
			n[strings.TrimSuffix(th.ProcessName, "passes and layers (strata)")+th.Name]++
		}
	}
	return n
}

// TestNsysAsJSON: an export becomes annotated JSON, and reading that gives the export's activities with their
// launches, and the added tracks.
func TestNsysAsJSON(t *testing.T) {
	for _, name := range []string{"tiny-no-nvtx-rtx3080", "torchrun-2gpu-hopper", "synthetic-trtllm-target"} {
		src, dst := testdata.Shared(t, "traces/nsys/"+name+".sqlite"), filepath.Join(t.TempDir(), "o.json.gz")
		apptest.MustRun(t, program(quiet()), "--trace", src, "--annotate", dst)
		want, got := opened(t, src), opened(t, dst)
		if diff := cmp.Diff(work(want), work(got)); diff != "" {
			t.Errorf("%s (-export +copy)\n%.1500s", name, diff)
		}
		if n := annotated(got); len(n) == 0 || len(got.Devices()) != len(want.Devices()) {
			t.Errorf("%s: tracks %v, devices %v", name, n, got.Devices())
		}
	}
}

// twoRanks is a directory with two ranks; each uses GPU 0, as where every rank sees its own alone, and the second one
// began a millisecond later.
func twoRanks(t *testing.T, clock bool) (dir string, files []string) {
	t.Helper()
	dir = t.TempDir()
	text := string(testdata.Unpacked(t, demo.Trace()))
	base := regexp.MustCompile(`"baseTimeNanoseconds": *(\d+)`).FindStringSubmatch(text)
	if base == nil {
		t.Fatal("the demo has no base time")
	}
	ns, err := strconv.ParseInt(base[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		out := strings.Replace(text, base[1], strconv.FormatInt(ns+int64(i)*1e6, 10), 1)
		if !clock {
			out = strings.Replace(out, `"baseTimeNanoseconds"`, `"other"`, 1)
		}
		path := filepath.Join(dir, fmt.Sprintf("run-TP-%d.trace.json", i))
		if err := os.WriteFile(path, []byte(out), 0o666); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	return dir, files
}

// firstKernel is when the first activity of a trace begins, by the wall clock.
func firstKernel(t *testing.T, path string) int64 {
	t.Helper()
	tr := opened(t, path)
	epoch, ok := tr.Epoch()
	if !ok {
		t.Fatal("no wall clock")
	}
	return epoch.UnixNano() + int64(tr.LaneAt(event.LaneGPU, 0).Start())
}

// TestRanksInOneCopy: a copy of several files, or of all ranks of a directory, as JSON and in Perfetto's own format. It
// has all activities of all ranks at their times, each launched by its own rank, on separate devices, and the tracks of
// each.
func TestRanksInOneCopy(t *testing.T) {
	dir, files := twoRanks(t, true)
	var want []string
	for _, f := range files {
		want = append(want, work(opened(t, f))...)
	}
	slices.Sort(want)
	for _, name := range []string{"o.json", "o.json.gz", "o.json.zst", "o.pftrace"} {
		dst := filepath.Join(t.TempDir(), name)
		r := apptest.MustRun(t, program(quiet()), append(slices.Clone(files), "--annotate", dst)...)
		if !strings.Contains(r.Stderr, "2 ranks") || !strings.Contains(r.Stderr, "wall clock") ||
			!strings.Contains(r.Stdout, "wall clock") {
			t.Errorf("%s: %s%s", name, r.Stdout, r.Stderr)
		}
		got := opened(t, dst)
		if diff := cmp.Diff(want, work(got)); diff != "" {
			t.Errorf("%s (-ranks +copy)\n%.1500s", name, diff)
		}
		if len(got.Devices()) != 2 {
			t.Errorf("%s: devices %v, want 2", name, got.Devices())
		}
		var starts []int64 // of the first pass of each rank, by the wall clock
		epoch, _ := got.Epoch()
		for e := range got.Events(event.LaneOther) {
			if e.Data().Category == "strata" && e.Name() == "pass 0 prefill" {
				starts = append(starts, epoch.UnixNano()+int64(e.Start()))
			}
		}
		slices.Sort(starts)
		if first := firstKernel(t, files[0]); len(starts) != 2 || starts[0] != first || starts[1] != first+1e6 {
			t.Errorf("%s: the first passes begin at %v, want %d and a millisecond later", name, starts, first)
		}
		n := annotated(got)
		for _, rank := range []string{"rank 0: ", "rank 1: "} {
			if n[rank+"forward passes"] != 5 || n[rank+"layers"] != 40 {
				t.Errorf("%s: %s has tracks %v", name, rank, n)
			}
		}
	}
	dst := filepath.Join(t.TempDir(), "o.json")
	r := apptest.MustRun(t, program(quiet()), dir, "--all-ranks", "--annotate", dst, "--format", "json")
	var doc Ranks
	if err := json.Unmarshal([]byte(r.Stdout), &doc); err != nil || len(doc.Ranks) != 2 || doc.Ranks[0].Passes != 5 ||
		doc.Ranks[1].Layers != 8 {
		t.Errorf("a directory: %v, %s", err, r.Stdout)
	}
	if text, err := os.ReadFile(dst); err != nil || !strings.Contains(string(text), wallClocks) {
		t.Errorf("the copy does not say what its times rest on (%v)", err)
	}
}

// TestRanksWithoutClocks: traces without a wall-clock time each begin at 0, with a note.
func TestRanksWithoutClocks(t *testing.T) {
	_, files := twoRanks(t, false)
	for i, f := range files { // timestamps that are no wall clock
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		early := regexp.MustCompile(`"ts": *\d{6}`).ReplaceAllString(string(text), `"ts": `)
		if err := os.WriteFile(files[i], []byte(early), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r := apptest.MustRun(t, program(quiet()), append(files, "--annotate", filepath.Join(t.TempDir(), "o.json"),
		"--format", "json")...)
	var doc Ranks
	if err := json.Unmarshal([]byte(r.Stdout), &doc); err != nil || doc.Clock != noClocks || doc.Ranks[0].Begins != 0 ||
		doc.Ranks[1].Begins != 0 {
		t.Errorf("%v, %s", err, r.Stdout)
	}
}

// TestSeveralRanksAreForACopy: what is about one rank is refused of several.
func TestSeveralRanksAreForACopy(t *testing.T) {
	dir, files := twoRanks(t, true)
	out := filepath.Join(t.TempDir(), "o.json")
	for _, args := range [][]string{files, {dir, "--all-ranks"}, {"--all-ranks", "--annotate", out},
		append(slices.Clone(files), "--slice", out, "--annotate", out+"2"),
		append(slices.Clone(files), "--annotate", out, "--layers", "3")} {
		if r := apptest.Run(t, program(quiet()), args...); r.Code != app.ExitUsage ||
			strings.Count(r.Stderr, "perfetto-map:") != 1 {
			t.Errorf("%q: exit code %d: %s", args, r.Code, r.Stderr)
		}
	}
	if r := apptest.Run(t, program(quiet()), append(files, "--annotate", files[0])...); r.Code != app.ExitUsage {
		t.Errorf("a copy over its input: exit code %d: %s", r.Code, r.Stderr)
	}
}
