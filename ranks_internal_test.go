package strata

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// written is a directory with traces of one kernel by those names.
func written(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i, name := range names {
		text := fmt.Sprintf(`{"traceEvents":[{"ph":"X","cat":"kernel","name":"gemm","ts":10,"dur":%d,"pid":0,"tid":7,`+
			`"args":{"device":0,"stream":7}}]}`, 5+i) // a copy of another one is no rank
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func found(t *testing.T, paths ...string) *Ranks {
	t.Helper()
	r, err := FindRanks(t.Context(), paths, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// TestRanksOfAFolder: two ranks are many, one is not; shards share the files; the report is of the lowest rank and
// counts them all; without a trace there is none.
func TestRanksOfAFolder(t *testing.T) {
	dir := written(t, "1-TP-0.trace.json", "1-TP-1.trace.json", "1-TP-2.trace.json")
	r := found(t, dir)
	if lone := found(t, filepath.Join(dir, "1-TP-2.trace.json")); r.Files() != 3 || !r.Many() || lone.Files() != 1 ||
		lone.Many() {
		t.Errorf("%d and %d files, many: %t and %t", r.Files(), lone.Files(), r.Many(), lone.Many())
	}
	for _, c := range []struct {
		shard, shards int
		want          string
	}{{0, 0, "012"}, {0, 1, "012"}, {0, 2, "02"}, {1, 2, "1"}, {2, 3, "2"}} {
		got, steps := "", ""
		err := r.EachRun(t.Context(), DigestOptions{Shard: c.shard, Shards: c.shards, Progress: func(done, total int) {
			steps += fmt.Sprint(done, "/", total, " ")
		}}, func(ranks []fleet.Rank) error {
			for i := range ranks {
				got += fmt.Sprint(max(ranks[i].Rank, ranks[i].NameRank))
			}
			return nil
		})
		want := ""
		for i := range c.want {
			want += fmt.Sprint(i+1, "/", len(c.want), " ")
		}
		if err != nil || got != c.want || steps != want {
			t.Errorf("shard %d of %d: ranks %s as %s, want %s (%v)", c.shard, c.shards, got, steps, c.want, err)
		}
	}
	rep, err := r.Report(t.Context(), DigestOptions{}, ReportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if rep.Name != dir || rep.Ranks.Ranks != 3 || len(rep.Traces) != 1 ||
		!strings.HasSuffix(rep.Traces[0], "1-TP-0.trace.json") {
		t.Errorf("report of %s with %d ranks, by %v", rep.Name, rep.Ranks.Ranks, rep.Traces)
	}
	alone := t.TempDir() // a digest alone
	if err := os.WriteFile(filepath.Join(alone, "x.ndjson"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := found(t, alone); len(r.Digests) != 1 || r.Files() != 0 {
		t.Errorf("a folder of a digest: %+v", r)
	} else if _, err := r.Report(t.Context(), DigestOptions{}, ReportOptions{}); !errors.Is(err, trace.ErrNoTrace) {
		t.Errorf("its report: %v", err)
	}
	if _, err := FindRanks(t.Context(), []string{t.TempDir()}, Options{}); !errors.Is(err, trace.ErrNoTrace) {
		t.Errorf("an empty folder: %v", err)
	}
	pair := found(t, dir, written(t, "1-TP-0.trace.json"))
	var names []string
	for i := range pair.Recordings {
		names = append(names, strings.SplitN(pair.Recordings[i].Name, "/", 2)[0])
	}
	if len(names) != 2 || names[0] != filepath.Base(dir) {
		t.Errorf("two folders are recordings %v, want their names at their begin", names)
	}
}

// TestDigestsAreKept: a kept digest that is newer than its trace is read instead of it; an older one, and one of no
// rank, is made again.
func TestDigestsAreKept(t *testing.T) {
	dir, keep := written(t, "1-TP-0.trace.json"), filepath.Join(t.TempDir(), "kept")
	made := 0
	read := func() {
		t.Helper()
		o := DigestOptions{Keep: keep, Analyzed: func(context.Context, trace.File, *layer.Analysis) error {
			made++
			return nil
		}}
		ranks := 0
		if err := found(t, dir).EachRun(t.Context(), o, func(list []fleet.Rank) error {
			ranks += len(list)
			return nil
		}); err != nil || ranks != 1 {
			t.Fatalf("%d ranks, %v", ranks, err)
		}
	}
	read()
	files, err := filepath.Glob(filepath.Join(keep, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("kept %v, %v", files, err)
	}
	info, err := os.Stat(filepath.Join(dir, "1-TP-0.trace.json"))
	if err != nil {
		t.Fatal(err)
	}
	var counts []int
	for _, seconds := range []time.Duration{1, 0, -1} { // newer, of the same time, older
		at := info.ModTime().Add(seconds * time.Second)
		if err := os.Chtimes(files[0], at, at); err != nil {
			t.Fatal(err)
		}
		made = 0
		read()
		counts = append(counts, made)
	}
	if want := []int{0, 1, 1}; !slices.Equal(counts, want) {
		t.Errorf("traces read of a newer, an equal and an older digest: %v, want %v", counts, want)
	}
	if err := os.WriteFile(files[0], nil, 0o600); err != nil {
		t.Fatal(err)
	}
	later := info.ModTime().Add(time.Second)
	if err := os.Chtimes(files[0], later, later); err != nil {
		t.Fatal(err)
	}
	made = 0
	if read(); made != 1 {
		t.Errorf("an empty digest: %d traces read, want 1", made)
	}
}

// TestFindingsNameTheirGPU: of a trace with several, unless they are of all of them or have no size.
func TestFindingsNameTheirGPU(t *testing.T) {
	size := func(m finding.Measure, gpus int) finding.Finding {
		return finding.Finding{Kind: finding.IdleTime, Size: finding.Size{Measure: m, GPUs: gpus}}
	}
	for n, want := range map[int][]string{1: {" strata host x", " strata host x", " strata host x"},
		2: {"GPU 4 strata host x --device 4", " strata host x", " strata host x"}} {
		r := &Report{flags: func(_ string, gpu *int, _ bool) []Flag {
			if gpu == nil {
				return nil
			}
			return []Flag{{Name: "device", Value: strconv.Itoa(*gpu)}}
		}}
		p := &reportPart{opens: "x", a: &layer.Analysis{Devices: make([]layer.Device, n)}, d: &layer.Device{ID: 4}}
		r.take(p, size(finding.Taken, 0), size(finding.Taken, 2), size(finding.NoMeasure, 0))
		var got []string
		for i := range r.found {
			got = append(got, r.found[i].Where+" "+r.found[i].Next)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%d GPUs (-want +got):\n%s", n, d)
		}
	}
}

// TestAmountsOfADevice: one layer is said, no layer is not; of several models each by its name.
func TestAmountsOfADevice(t *testing.T) {
	for want, models := range map[string][]layer.Model{
		"0 passes, 0 kernels":          {{Role: layer.RoleLanguage}},
		"1 layer, 0 passes, 0 kernels": {{Role: layer.RoleLanguage, NumLayers: 1}},
		"language model: 2 layers, tower: 1 layer, 0 passes, 0 kernels": {{Role: layer.RoleLanguage, NumLayers: 2},
			{Role: layer.RoleTower, NumLayers: 1}}} {
		if got := strings.Join(amounts(&layer.Device{Models: models}), ", "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	doubtful := layer.Device{Models: []layer.Model{{NumLayers: 5}},
		Passes: []layer.ForwardPass{{NumLayers: 5, Confidence: 0.1}}}
	if got := amounts(&doubtful)[0]; got != "5 layers (confidence 0.10)" {
		t.Errorf("layers of low confidence: %q", got)
	}
}

// TestCommandsOfPaths: a path that begins as a flag does is none.
func TestCommandsOfPaths(t *testing.T) {
	for path, want := range map[string]string{"-x.json": "strata host ./-x.json", "-": "strata host -"} {
		if got := new(Report).command("host", nil, path); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestUnpackedBytes: as many as there is room for, and not one more; of 100,000 files the last is taken.
func TestUnpackedBytes(t *testing.T) {
	for _, c := range []struct {
		seen int
		text string
		err  string
	}{{0, "12345", ""}, {0, "123456", "unpacks to more"}, {99_999, "1", ""}, {100_000, "1", "more than 100000 files"}} {
		u := &unpacker{ctx: t.Context(), dir: t.TempDir(), left: 5, formats: Formats(), seen: c.seen}
		err := u.take("a/x.trace.json", strings.NewReader(c.text))
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%d bytes as file %d: %v, want %q", len(c.text), c.seen+1, err, c.err)
		}
		if text, _ := os.ReadFile(filepath.Join(u.dir, "a", "x.trace.json")); c.err == "" && string(text) != c.text {
			t.Errorf("%q is unpacked as %q", c.text, text)
		}
	}
}

// timed are kernels of a name, which take so many microseconds each.
type timed struct {
	name string
	took []int
}

// ran is an analysed trace of kernels of one name.
func ran(t *testing.T, name string, took ...int) *reportPart {
	t.Helper()
	return ranAll(t, timed{name, took})
}

// ranAll is an analysed trace of kernels one behind the other.
func ranAll(t *testing.T, all ...timed) *reportPart {
	t.Helper()
	b := trace.NewBuilder(trace.Options{})
	at := int64(0)
	for _, k := range all {
		for _, n := range k.took {
			b.Add(trace.EventData{Kind: event.Kernel, Name: k.name, Start: at, Duration: int64(n) * 1000})
			at += int64(n) * 1000
		}
	}
	a, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return newPart("f", a, &a.Devices[0])
}

// TestTableOfKernels: by time, each with its share of all, and the mean, the shortest and the longest of its launches.
func TestTableOfKernels(t *testing.T) {
	p := ranAll(t, timed{"small", []int{10}}, timed{"gemm", []int{5, 25}})
	var got []string
	for _, row := range drawn(kernelTable([]*layer.Device{p.d})) {
		cells := strings.Split(row, " | ")
		got = append(got, cells[0]+" "+strings.Join(cells[3:], " | "))
	}
	same(t, "kernels", got,
		"gemm 30.0 µs [30000] | 75.0 [75] [75.0%] | 2 [2] | 15.0 µs [15000] | 5.00 µs [5000] | 25.0 µs [25000]",
		"small 10.0 µs [10000] | 25.0 [25] [25.0%] | 1 [1] | 10.0 µs [10000] | 10.0 µs [10000] | 10.0 µs [10000]")
}

// TestKernelsOfSeveralOperators: a kernel that runs for two operators has a row for each, with the launches of that one.
func TestKernelsOfSeveralOperators(t *testing.T) {
	tr, err := trace.Open(t.Context(), testdata.Distilled(t, "sglang-qwen3-8b-extend-mi300.json.zst"), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := layer.Analyze(t.Context(), tr, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	launches, rows := map[string]int{}, map[string]int{}
	for k := range a.Devices[0].Kernels() {
		if op, _, _ := k.Operator(); op != opname.Other {
			launches[k.Facts().Short+" "+string(op)]++
		}
	}
	for _, row := range drawn(kernelTable([]*layer.Device{&a.Devices[0]})) {
		cells := strings.Split(row, " | ")
		number, _, _ := strings.Cut(cells[5], " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		if cells[2] != opname.Other {
			launches[cells[0]+" "+cells[2]] -= n
		}
		rows[cells[0]]++
	}
	for use, n := range launches {
		if n != 0 {
			t.Errorf("%s: the table misses %d launches", use, n)
		}
	}
	if n := rows["Cijk_Alik_Bljk_BBS_MT320x224x64"]; n != 2 {
		t.Errorf("the product of two operators has %d rows", n)
	}
}

// TestLargestOperatorByOneRow: a launch that takes longer than at least four others together decides; a collective
// waits, and says nothing.
func TestLargestOperatorByOneRow(t *testing.T) {
	const name, collective = "gemm_kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
	note := "the largest operator of pass 0, gemm_kernel, depends on one row: gemm_kernel takes 11.0 µs, the median of its 4 peers "
	for _, c := range []struct {
		name string
		took []int
		want string
	}{{name, []int{1, 4, 11, 3, 2}, note + "3.00 µs"}, {name, []int{1, 4, 10, 3, 2}, ""}, {name, []int{1, 11, 3, 2}, ""},
		{collective, []int{1, 4, 11, 3, 2}, ""}} {
		r, p := &Report{}, ran(t, c.name, c.took...)
		r.checkLargest(p, 0)
		if got := strings.Join(r.Notes, ";"); got != c.want {
			t.Errorf("%s of %v µs: %q, want %q", c.name, c.took, got, c.want)
		}
	}
}

// TestLargestOperatorOfTwoKernels: a launch that takes 11 µs, more than its peers together, decides nothing of an
// operator of which another kernel takes 500 µs, unless a third one takes nearly as much as both.
func TestLargestOperatorOfTwoKernels(t *testing.T) {
	few, most := timed{"void gemm<1>(int)", []int{1, 4, 11, 3, 2}}, timed{"void gemm<2>(int)", []int{100, 100, 100,
		100, 100}}
	for third, want := range map[int]int{1: 0, 512: 0, 514: 1} { // of 521, of which 8 are less with the median of 3
		r := &Report{}
		r.checkLargest(ranAll(t, few, most, timed{"other", []int{third}}), 0)
		if len(r.Notes) != want {
			t.Errorf("beside %d µs: %q, want %d notes", third, r.Notes, want)
		}
	}
}

// TestSumsOfATrace: a kernel without a known operator counts in the GPU time alone, a remark is one of the report's, and
// the model is that of the first config.
func TestSumsOfATrace(t *testing.T) {
	first, second := ran(t, "gemm", 2, 3), ran(t, "gemm", 10)
	second.a.Config = &profile.Config{ModelType: "qwen3"}
	r := &Report{parts: []*reportPart{first, second}}
	r.sumUp()
	if r.GPUTime != 15*us || r.Wall != 15*us || r.WithOperator != 0 || r.Headroom != 1 || len(r.HealthNotes) != 2 ||
		r.Health != trace.HealthDegraded {
		t.Errorf("GPU time %v of %v, %v with an operator, headroom %g, %d remarks, %s", r.GPUTime, r.Wall, r.WithOperator,
			r.Headroom, len(r.HealthNotes), r.Health)
	}
	want := second.a.Config.Summary().Model
	if r.Model != want || want == "" {
		t.Errorf("model %q, want %q", r.Model, want)
	}
	r.Model = "given"
	if r.addTrace(1, second); r.Model != "given" {
		t.Errorf("model %q, want the one that is known", r.Model)
	}
}

// TestCostsOfTheSteadyPass: of a model that is known its operators have floors, of another one the operators are those
// that the floors count; no other pass has any.
func TestCostsOfTheSteadyPass(t *testing.T) {
	for _, c := range []struct {
		model  string
		steady int
		want   string
	}{{"m", 0, "other 5µs floor 2µs"}, {"m", 1, "other 5µs floor 0s"}, {"", 0, "aten::mm 4µs floor 2µs"},
		{"", 1, "other 5µs floor 0s"}} {
		p := ran(t, "gemm", 2, 3)
		operator := map[string]string{"m": opname.Other, "": "aten::mm"}[c.model]
		r := &Report{parts: []*reportPart{p}, light: &roofline.Report{Model: c.model, Steady: c.steady,
			Operators: []roofline.Row{{LayerType: outsideLayers, Operator: operator, Time: 4 * us,
				Cost: roofline.Cost{Floor: 2 * us}}}}}
		if err := r.addOperators(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range r.Operators {
			got = append(got, fmt.Sprint(r.Operators[i].Operator, " ", r.Operators[i].Time, " floor ", r.Operators[i].Floor))
		}
		same(t, fmt.Sprintf("%q, steady pass %d", c.model, c.steady), got, c.want)
	}
}

// TestFindingsOfTheHost: what the serving path costs and what doubts the host alone go before those of the GPUs; of two
// GPUs the text names the one that decides, and the first doubt of weight.
func TestFindingsOfTheHost(t *testing.T) {
	p := ran(t, "gemm", 5)
	doubt := func(code hostoverhead.DoubtCode, band finding.Band) finding.Finding {
		return finding.Finding{Kind: finding.Doubt, Code: string(code), Confidence: band, Evidence: "said by " + string(code)}
	}
	idle := finding.Finding{Kind: finding.IdleTime, Cause: finding.HostCode, Code: "idle"}
	v := &hostoverhead.Verdict{Verdict: hostoverhead.Yes, Summary: "slow", Headroom: hostoverhead.Headroom{HostNS: 1,
		WallNS: 4}, Findings: []finding.Finding{{Kind: finding.ServingPath, Code: "serving"},
		doubt(hostoverhead.DoubtFewSteps, finding.Low), doubt(hostoverhead.DoubtLaunchesMissing, finding.Low), idle},
		Doubts: hostoverhead.Doubts{doubt("a", finding.High), doubt("b", finding.Medium), doubt("c", finding.Low)},
		Ranks: []hostoverhead.RankVerdict{{Device: p.d.ID, Findings: []finding.Finding{idle}},
			{Device: p.d.ID + 1, Findings: []finding.Finding{idle}}}, Deciding: 1}
	r := &Report{parts: []*reportPart{p}, host: v}
	r.addHost()
	var codes []string
	for i := range r.found {
		codes = append(codes, r.found[i].Code)
	}
	same(t, "findings", codes, "serving", string(hostoverhead.DoubtFewSteps), "idle")
	same(t, "text", []string{r.HostText}, "GPU 1 is affected most: slow; findings that name no other GPU are of GPU 0, the "+
		"busiest (medium confidence: said by b)")
	if r.HostShare != .25 || r.HostGPU == nil || *r.HostGPU != 1 || len(r.Idle) != 1 {
		t.Errorf("share %g on %v, %d idle times", r.HostShare, r.HostGPU, len(r.Idle))
	}
	r = &Report{parts: []*reportPart{p}, host: v}
	v.Ranks, v.Deciding, v.Doubts = v.Ranks[:1], 0, v.Doubts[:1]
	if r.addHost(); r.HostText != "slow" || r.HostGPU != nil {
		t.Errorf("one GPU: %q on %v", r.HostText, r.HostGPU)
	}
}

// TestPathsOfCommands: letters, digits and signs that no shell reads stay as they are.
func TestPathsOfCommands(t *testing.T) {
	for path, want := range map[string]string{"azAZ09/._-+=:,@%": "azAZ09/._-+=:,@%", "": "''", "a b": "'a b'",
		"it's": `'it'\''s'`, "`": "'`'", "{": "'{'", "[": "'['", ";": "';'"} {
		if got := shellQuote(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// TestPageOfAHostByHand: the timeline is that of the GPU that decides, where it is among those that are given; figures
// where steps are known; of each cause the three names with most time.
func TestPageOfAHostByHand(t *testing.T) {
	p := ran(t, "gemm", 5)
	ns := func(name string, n int64) hostoverhead.IdleName { return hostoverhead.IdleName{Name: name, NS: n} }
	for _, c := range []struct {
		deciding, file int
		wall           int64
		drawn          bool
	}{{0, 0, 4000, true}, {0, 1, 4000, false}, {0, -1, 4000, false}, {1, 0, 4000, false}, {-1, 0, 0, false},
		{-1, 0, 1, false}} {
		v := &hostoverhead.Verdict{Verdict: hostoverhead.No, Summary: "fast", Deciding: c.deciding,
			Headroom: hostoverhead.Headroom{WallNS: c.wall, BusyNS: 3000, IdleNS: 1000, HostNS: 500},
			Ranks:    []hostoverhead.RankVerdict{{File: c.file, Device: p.d.ID}},
			Idle: []hostoverhead.IdleCause{{Cause: finding.HostCode, NS: 2000, StepsNS: 1000, Share: .125,
				Names: []hostoverhead.IdleName{ns("one", 900), ns("two", 800), ns("three", 200), ns("four", 100)}}}}
		var b strings.Builder
		if err := WriteHostHTML(&b, v, []*layer.Analysis{p.a}, "run"); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if got := strings.Contains(text, `id="timeline"`); got != c.drawn {
			t.Errorf("rank %d of file %d: a timeline: %t", c.deciding, c.file, got)
		}
		if got := strings.Contains(text, "because of the host"); got != (c.wall > 0) {
			t.Errorf("figures of %d ns of steps: %t", c.wall, got)
		}
		for want, is := range map[string]bool{"Is the host the bottleneck? NO. fast": true, "900 ns one": true,
			"200 ns three": true, "100 ns four": false, "12.5": true} {
			if strings.Contains(text, want) != is {
				t.Errorf("the page has %q: %t, want %t", want, !is, is)
			}
		}
	}
}

// TestPageOfOneKernel: it has a timeline, says how much of the time has an operator, and that nothing was found.
func TestPageOfOneKernel(t *testing.T) {
	rec := &Recording{Name: "run", Parts: []Part{{Trace: ran(t, "gemm", 5).a.Trace()}}}
	r, err := Analyze(t.Context(), rec, ReportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.Findings = nil
	var b strings.Builder
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`id="timeline"`, "0.0% of GPU time explained", "No finding above 1% of step time.",
		"strata host run"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestListsOfPagesEnd: kernels whose names are too long together are counted, charts are drawn of the first groups and
// changes, and bars of the first rows of a comparison, all others in one.
func TestListsOfPagesEnd(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	for i, letter := range []string{"x", "y", "z"} {
		b.Add(trace.EventData{Kind: event.Kernel, Name: strings.Repeat(letter, 125_000), Start: int64(i) * 10_000,
			Duration: 5000 - int64(i)})
	}
	a, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if tab := kernelTable([]*layer.Device{&a.Devices[0]}); len(tab.Rows) != 2 || tab.Hidden != 1 {
		t.Errorf("of three kernels of 125,000 letters %d are listed, %d hidden", len(tab.Rows), tab.Hidden)
	}
	g := fleet.Group{Rows: make([]fleet.Row, 2)} // four charts
	f := &fleet.Report{Runs: []fleet.Run{{Groups: slices.Repeat([]fleet.Group{g}, 13)}}}
	if n := len(rankSection(f).Plots); n != 48 {
		t.Errorf("%d charts of 13 groups, want those of 12", n)
	}
	var out strings.Builder
	trend := &compare.Trend{Changes: make([]compare.TrendChange, 49)}
	for i := range trend.Changes {
		trend.Changes[i] = compare.TrendChange{Stage: layer.StageDecode, Operator: "norm",
			Points: []compare.TrendPoint{{Time: us}, {Time: ms}}}
	}
	if err := WriteTrendHTML(&out, trend, "x"); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "norm, Decode") / 2; n != 48 { // its title and its label
		t.Errorf("%d charts of 49 changes, want 48", n)
	}
	for n, want := range map[int]int{76: 78, 78: 79} { // A, B, and a bar of the others
		r := &compare.Report{A: compare.Summary{Wall: ms}, Delta: time.Duration(n) * us}
		for i := range n {
			r.Rows = append(r.Rows, compare.Row{Operator: fmt.Sprint(i), Interval: compare.Interval{A: us, B: 2 * us,
				Delta: us}})
		}
		if got := len(compareSections(r)[0].Falls[0].Steps); got != want {
			t.Errorf("%d rows have %d bars, want %d", n, got, want)
		}
	}
}
