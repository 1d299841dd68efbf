package perfettomap

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
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
	"github.com/llmstrata/strata/internal/gen/ranks"
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

// twoRanks is a directory with two ranks; each uses GPU 0, as where every rank sees its own alone, and the clock of the
// second one is a millisecond ahead.
func twoRanks(t *testing.T) (dir string, files []string) {
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
// has all activities of all ranks, at the times of the first one's clock, each launched by its own rank, on separate
// devices, and the tracks of each.
func TestRanksInOneCopy(t *testing.T) {
	dir, files := twoRanks(t)
	want := slices.Repeat(work(opened(t, files[0])), 2)
	slices.Sort(want)
	for _, name := range []string{"o.json", "o.json.gz", "o.json.zst", "o.pftrace"} {
		dst := filepath.Join(t.TempDir(), name)
		r := apptest.MustRun(t, program(quiet()), append(slices.Clone(files), "--annotate", dst)...)
		if !strings.Contains(r.Stderr, "2 ranks") || !strings.Contains(r.Stderr, sameClock) ||
			!strings.Contains(r.Stdout, sameClock) {
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
		if first := firstKernel(t, files[0]); len(starts) != 2 || starts[0] != first || starts[1] != first {
			t.Errorf("%s: the first passes begin at %v, want %d", name, starts, first)
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
	if text, err := os.ReadFile(dst); err != nil || !strings.Contains(string(text), sameClock) {
		t.Errorf("the copy does not say what its times rest on (%v)", err)
	}
}

// TestClocksByCollectives: ranks whose clocks disagree by up to 50 ms are placed so that each collective ends on all of
// its ranks at once; of two pipeline stages each is placed by itself.
func TestClocksByCollectives(t *testing.T) {
	for _, layout := range []ranks.Layout{ranks.OneGroup, ranks.Pipeline, ranks.TwoGroups} {
		c := ranks.Config{Seed: 7, Steps: 3, Layers: 6, Size: 4,
			Replicas: []ranks.Replica{{Layout: layout, Numbered: true}}}
		dir := t.TempDir()
		truth, err := c.Write(func(f ranks.File) error {
			return os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o666)
		})
		if err != nil {
			t.Fatal(err)
		}
		dst := filepath.Join(dir, "copy", "o.json")
		if err := os.Mkdir(filepath.Dir(dst), 0o777); err != nil {
			t.Fatal(err)
		}
		r := apptest.MustRun(t, program(quiet()), dir, "--all-ranks", "--annotate", dst, "--format", "json")
		var doc Ranks
		if err := json.Unmarshal([]byte(r.Stdout), &doc); err != nil || len(doc.Ranks) != c.Size {
			t.Fatalf("%v: %s", err, r.Stdout)
		}
		parts, clocks := 1, truth[len(truth)-1].Clocks
		if layout == ranks.Pipeline {
			parts, clocks = 2, truth[0].Clocks
			maps.Copy(clocks, truth[1].Clocks)
		}
		for i, x := range doc.Ranks {
			of := i / (c.Size / parts) * (c.Size / parts)
			if want := clocks[i] - clocks[of]; x.Ahead != want || x.Of != doc.Ranks[of].Name {
				t.Errorf("layout %d: rank %d is %d ns ahead of %s, want %d of %s", layout, i, x.Ahead, x.Of, want,
					doc.Ranks[of].Name)
			}
		}
		if strings.Contains(doc.Clock, "wall clock") != (parts > 1) {
			t.Errorf("layout %d: %s", layout, doc.Clock)
		}
		ends := map[trace.Time]int{}
		for e := range opened(t, dst).Events(event.LaneGPU) {
			if strings.Contains(e.Name(), "reduce_1stage") {
				ends[e.End()]++
			}
		}
		group := c.Size
		if layout != ranks.OneGroup {
			group /= 2
		}
		for at, n := range ends {
			if n != group {
				t.Fatalf("layout %d: %d ranks end a collective at %v, want %d", layout, n, at, group)
			}
		}
		if want := c.Steps * c.Layers * c.Size / group; len(ends) != want {
			t.Errorf("layout %d: %d collectives, want %d", layout, len(ends), want)
		}
	}
}

// TestStrangers: ranks that exchange nothing are placed by their wall clocks; without those each begins at 0, with a
// note.
func TestStrangers(t *testing.T) {
	dir := t.TempDir()
	var files []string
	var clocks []int64
	c := ranks.Config{Seed: 3, Steps: 4, Layers: 6, Size: 1, Replicas: make([]ranks.Replica, 2)}
	truth, err := c.Write(func(f ranks.File) error {
		files = append(files, filepath.Join(dir, f.Name))
		return os.WriteFile(files[len(files)-1], f.Data, 0o666)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range truth {
		clocks = append(clocks, g.Clocks[0])
	}
	run := func() (doc Ranks) {
		r := apptest.MustRun(t, program(quiet()), append(slices.Clone(files), "--annotate",
			filepath.Join(t.TempDir(), "o.json"), "--format", "json")...)
		if err := json.Unmarshal([]byte(r.Stdout), &doc); err != nil {
			t.Fatal(err)
		}
		return doc
	}
	doc := run()
	if by := math.Round(1e9 * (doc.Ranks[1].Begins - doc.Ranks[0].Begins)); doc.Clock != wallClocks ||
		by != float64(clocks[1]-clocks[0]) || doc.Ranks[1].Of != doc.Ranks[1].Name {
		t.Errorf("%s: %.0f ns apart, want %d: %+v", doc.Clock, by, clocks[1]-clocks[0], doc.Ranks)
	}
	for _, f := range files { // timestamps that are no wall clock
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		early := regexp.MustCompile(`"ts": *\d{6}`).ReplaceAllString(
			strings.Replace(string(text), `"baseTimeNanoseconds"`, `"other"`, 1), `"ts": `)
		if err := os.WriteFile(f, []byte(early), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if doc := run(); doc.Clock != noClocks || doc.Ranks[0].Begins != 0 || doc.Ranks[1].Begins != 0 {
		t.Errorf("%+v", doc)
	}
}

// TestSeveralRanksAreForACopy: what is about one rank is refused of several.
func TestSeveralRanksAreForACopy(t *testing.T) {
	dir, files := twoRanks(t)
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
