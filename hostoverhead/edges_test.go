package hostoverhead_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/hosttest"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// launched adds a kernel and its launch.
func launched(tl hosttest.Timeline, call, kernel string, corr int, at, start, end int64) {
	tl.Event(event.Runtime, call, 0, corr, at, at+5)
	tl.Event(event.Kernel, kernel, 0, corr, start, end)
}

// TestDoubtsFromTheFirst: one piece of evidence is enough for what it decides, and none is too little.
func TestDoubtsFromTheFirst(t *testing.T) {
	busy := func(tl hosttest.Timeline, n int) { // NO: nothing is idle
		for i := range n {
			tl.Event(event.Kernel, "gemm", 0, 0, int64(i)*100, int64(i)*100+100)
		}
	}
	idle := func(tl hosttest.Timeline) { // YES
		for i := range 200 {
			launched(tl, "cudaLaunchKernel", "gemm", i+1, int64(i)*100, int64(i)*100+7, int64(i)*100+50)
		}
	}
	for _, c := range []struct {
		what  string
		build func(hosttest.Timeline)
		code  hostoverhead.DoubtCode
		want  string // of its message; "" for no doubt
	}{
		{"kernels alone", func(tl hosttest.Timeline) { busy(tl, 200) }, "no-launch-calls", "no API calls"},
		{"one launch", func(tl hosttest.Timeline) {
			busy(tl, 200)
			tl.Event(event.Runtime, "cudaLaunchKernel", 0, 7, 0, 5)
		}, "no-launch-calls", ""},
		{"one kernel without its launch", func(tl hosttest.Timeline) {
			busy(tl, 1)
			tl.Event(event.Runtime, "cudaLaunchKernel", 0, 7, 0, 5)
		}, "launches-missing", "1 of 1 GPU activities"},
		{"no whole replay", func(tl hosttest.Timeline) { busy(tl, 200) }, "graph-kernels-hidden", ""},
		{"one whole replay", func(tl hosttest.Timeline) {
			busy(tl, 20)
			tl.Event(event.Graph, "CUDA graph 1", 0, 9, 2000, 2100)
		}, "graph-kernels-hidden", "1 graph replay recorded"},
		{"few kernels", func(tl hosttest.Timeline) { busy(tl, 20) }, "few-kernels", "20 kernels"},
		{"few kernels beside a whole replay", func(tl hosttest.Timeline) {
			busy(tl, 20)
			tl.Event(event.Graph, "CUDA graph 1", 0, 9, 2000, 2100)
		}, "few-kernels", ""},
		{"no replay is empty", idle, "graph-launches-without-kernels", ""},
		{"an empty replay", func(tl hosttest.Timeline) {
			idle(tl)
			tl.Event(event.Runtime, "cudaGraphLaunch", 0, 900, 20_000, 20_005)
		}, "graph-launches-without-kernels", "1 graph launch has no kernels"},
		{"two empty replays", func(tl hosttest.Timeline) {
			idle(tl)
			tl.Event(event.Runtime, "cudaGraphLaunch", 0, 900, 20_000, 20_005)
			tl.Event(event.Runtime, "cudaGraphLaunch", 0, 901, 20_010, 20_015)
		}, "graph-launches-without-kernels", "2 graph launches have no kernels"},
		{"no frame", idle, "python-tracing", ""},
		{"one frame", func(tl hosttest.Timeline) {
			idle(tl)
			tl.Event(event.Frame, "server.py(1): run", 0, 0, 0, 100)
		}, "python-tracing", "Python stacks slow host code"},
		{"one frame of a busy run", func(tl hosttest.Timeline) {
			busy(tl, 200)
			tl.Event(event.Frame, "server.py(1): run", 0, 0, 0, 100)
		}, "python-tracing", ""},
		{"one process", idle, "processes-share-device", ""},
		{"a capture of graphs", func(tl hosttest.Timeline) {
			idle(tl)
			tl.Event(event.Annotation, "capture_32_DECODE", 0, 0, 0, 20_000)
		}, "graph-capture", "a server's start"},
		{"a step", func(tl hosttest.Timeline) {
			idle(tl)
			tl.Event(event.Annotation, "step[DECODE bs=32]", 0, 0, 0, 20_000)
		}, "graph-capture", ""},
	} {
		tl := hosttest.NewTimeline()
		c.build(tl)
		d := doubt(judged(t, tl.Finish()), c.code)
		if (d != nil) != (c.want != "") || d != nil && !strings.Contains(d.Evidence, c.want) {
			t.Errorf("%s: %+v, want %q", c.what, d, c.want)
		}
	}
}

// TestEmptyReplaysWeigh: where other replays have their kernels, the empty ones shift the figures; where none has,
// they may turn the answer.
func TestEmptyReplaysWeigh(t *testing.T) {
	for _, full := range []bool{true, false} {
		tl := hosttest.NewTimeline()
		for i := range int64(200) {
			launched(tl, "cudaLaunchKernel", "gemm", int(i)+1, i*100, i*100+7, i*100+50)
		}
		tl.Event(event.Runtime, "cudaGraphLaunch", 0, 900, 20_000, 20_005)
		want := finding.Low
		if full {
			launched(tl, "cudaGraphLaunch", "gemm", 901, 20_010, 20_020, 20_050)
			want = finding.Medium
		}
		if d := doubt(judged(t, tl.Finish()), "graph-launches-without-kernels"); d == nil || d.Confidence != want {
			t.Errorf("other replays with kernels %v: %+v, want weight %s", full, d, want)
		}
	}
}

// TestProcessesThatShareADevice: a process with less than its share of the kernels is no second server.
func TestProcessesThatShareADevice(t *testing.T) {
	for second, want := range map[int64]bool{2: false, 4: true} { // of 300: one in a hundred decides
		b := trace.NewBuilder(trace.Options{})
		for i := range int64(300) {
			corr, process, scope := uint64(i+1), int64(10), "a"
			if i < second {
				process, scope = 11, "b"
			}
			at := i * 100_000
			b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: at, Duration: 4000,
				Process: process, Scope: scope, Thread: 1, Correlation: corr, Device: trace.None, Stream: trace.None})
			b.Add(trace.EventData{Kind: event.Kernel, Name: "gemm", Start: at + 5000, Duration: 40_000,
				Process: process, Scope: scope, Correlation: corr, Stream: 7})
		}
		if got := doubt(judged(t, built.Trace(b)), "processes-share-device") != nil; got != want {
			t.Errorf("%d of 300 kernels are of another process: doubted %v, want %v", second, got, want)
		}
	}
}

// TestOrphansAreOfTheOnlyThread: a kernel whose launch was not recorded was launched by the only thread that works
// for its device, where there is one and calls were recorded at all.
func TestOrphansAreOfTheOnlyThread(t *testing.T) {
	for _, c := range []struct {
		what  string
		build func(hosttest.Timeline)
		want  finding.Cause
	}{
		{"one thread, one call", func(tl hosttest.Timeline) { tl.Event(event.Runtime, "cudaLaunchKernel", 0, 1, 0, 5) },
			finding.HostCode},
		{"two threads", func(tl hosttest.Timeline) {
			tl.Event(event.Runtime, "cudaLaunchKernel", 0, 1, 0, 5)
			add := func(kind event.Kind, start int64) {
				tl.Add(trace.EventData{Kind: kind, Name: "cudaLaunchKernel", Start: start, Duration: 1000, Stream: 7,
					Thread: 2, Process: 1, Scope: "a", Correlation: 5})
			}
			add(event.Runtime, 1000)
			add(event.Kernel, 20_000)
		}, finding.UnknownCause},
		{"no calls", func(tl hosttest.Timeline) {}, finding.UnknownCause},
	} {
		tl := hosttest.NewTimeline()
		c.build(tl)
		tl.Event(event.Kernel, "a", 0, 1, 10, 100)
		tl.Event(event.Range, "python", 0, 0, 100, 600)
		tl.Event(event.Kernel, "b", 0, 2, 600, 700)
		if got := causesOf(judged(t, tl.Finish())); got[c.want] != 500 {
			t.Errorf("%s: %v, want 500 µs %s", c.what, got, c.want)
		}
	}
}

// TestGapsBetweenReplaysWithoutLaunch: of replays whose launch was not recorded a short gap is the device's, a long
// one that of what the only thread did.
func TestGapsBetweenReplaysWithoutLaunch(t *testing.T) {
	for gap, want := range map[int64]finding.Cause{50: finding.GPUDispatch, 51: finding.HostCode} {
		tl := hosttest.NewTimeline()
		tl.Event(event.Runtime, "cudaLaunchKernel", 0, 1, 0, 5)
		tl.Event(event.Kernel, "a", 0, 1, 10, 20)
		tl.Event(event.Graph, "CUDA graph 1", 0, 8, 20, 100)
		tl.Event(event.Range, "python", 0, 0, 0, 500)
		tl.Event(event.Graph, "CUDA graph 1", 0, 9, 100+gap, 200+gap)
		if got := causesOf(judged(t, tl.Finish())); got[want] != gap {
			t.Errorf("a gap of %d µs: %v, want %s", gap, got, want)
		}
	}
}

// TestGraphsOfTheFirstKernel: kernels between the very first replay and another one split the graph, in whatever order
// the device runs the two.
func TestGraphsOfTheFirstKernel(t *testing.T) {
	// the first replay runs first, or last
	for late, kernel := range map[int64]string{0: "copy", 300: "flash_fwd_kernel"} {
		tl := hosttest.NewTimeline()
		tl.Event(event.Runtime, "cudaGraphLaunch", 0, 1, 0, 5)
		tl.Event(event.Graph, "CUDA graph 1", 0, 1, 10+late, 60+late)
		launched(tl, "cudaLaunchKernel", kernel, 2, 70, 150, 160)
		tl.Event(event.Runtime, "cudaGraphLaunch", 0, 3, 80, 85)
		tl.Event(event.Graph, "CUDA graph 1", 0, 3, 90, 120)
		if h := decider(judged(t, tl.Finish())).Coverage.Hints; len(h) != 1 || h[0].Code != "GRAPH_SPLIT" ||
			h[0].Count != 1 || strings.Contains(h[0].Why, "attention") != (kernel != "copy") {
			t.Errorf("the first replay %d µs later: %+v, want one kernel that splits the graph", late, h)
		}
	}
}

// TestCoverageFromOneReplay: one replayed kernel makes a run one that uses graphs.
func TestCoverageFromOneReplay(t *testing.T) {
	for n := range 2 {
		tl := hosttest.NewTimeline()
		launched(tl, "cudaLaunchKernel", "copy", 1, 0, 10, 20)
		for i := range n {
			tl.Event(event.Runtime, "cudaGraphLaunch", 0, 2+i, 30, 35)
			tl.Event(event.Graph, "CUDA graph 1", 0, 2+i, 40, 60)
		}
		if c := decider(judged(t, tl.Finish())).Coverage; len(c.EagerKernels) != n {
			t.Errorf("%d replays: %+v", n, c)
		}
	}
}

// TestExchangesOfNoGPU: without kernels that exchange data none of the busy time is theirs.
func TestExchangesOfNoGPU(t *testing.T) {
	tl := hosttest.NewTimeline()
	for i := range int64(3) {
		tl.Event(event.Kernel, "gemm", 0, 0, i*10, i*10+5)
	}
	if r := decider(judged(t, tl.Finish())); r.Exchange != 0 || r.Alone != 0 {
		t.Errorf("exchanges %v, alone %v of the busy time, want none", r.Exchange, r.Alone)
	}
}

// TestGapIsNamedByItsNeighbours: the kernel that ended where a gap begins, even if others began after it, and the
// first one after it.
func TestGapIsNamedByItsNeighbours(t *testing.T) {
	for _, c := range []struct {
		name string
		ends [3]int64 // of a, b and c, which begin at 0, 10 and 20
		want string
	}{{"the first", [3]int64{100, 90, 80}, "a"}, {"the second", [3]int64{90, 100, 80}, "b"},
		{"the last", [3]int64{80, 90, 100}, "c"}} {
		tl := hosttest.NewTimeline()
		for i, end := range c.ends {
			tl.Event(event.Kernel, string(rune('a'+i)), 0, 0, int64(i)*10, end)
		}
		tl.Event(event.Kernel, "d", 0, 0, 150, 200)
		if top := decider(judged(t, tl.Finish())).Top; len(top) != 1 || top[0].Before != c.want ||
			top[0].After != "d" {
			t.Errorf("%s: %+v", c.name, top)
		}
	}
}

// TestHostTimeOfRanks: what its own ledger says that its host costs, and where.
func TestHostTimeOfRanks(t *testing.T) {
	var ranks []*layer.Analysis
	for _, us := range []int64{10, 300} {
		tl := hosttest.NewTimeline()
		launched(tl, "cudaLaunchKernel", "gemm", 1, 0, 10, 50)
		tl.Event(event.Range, "log_stats", 0, 0, 50, 50+us)
		launched(tl, "cudaLaunchKernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(args)", 2, 50+us, 60+us, 90+us)
		ranks = append(ranks, analyzed(t, tl.Finish()))
	}
	v, err := hostoverhead.Analyze(t.Context(), ranks, hostoverhead.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := v.Stragglers
	if s == nil || len(s.Ranks) != 2 || s.Collectives != 1 || s.Unmatched != 0 || s.Ranks[1].HostNS < 300_000 ||
		s.Ranks[1].HostName != "log_stats" || s.Ranks[0].HostNS > 30_000 {
		t.Errorf("%+v, want 300 µs of log_stats", s)
	}
	var text strings.Builder
	if err := v.WriteText(&text); err != nil || !strings.Contains(text.String(),
		"\n"+s.Note+"\n") {
		t.Errorf("%q is not below the ranks in\n%s", s.Note, text.String())
	}
}

// TestCollectivesOfOneRankOnly: where one rank alone exchanges data there is nobody to wait for.
func TestCollectivesOfOneRankOnly(t *testing.T) {
	rank := func(name string) *layer.Analysis {
		tl := hosttest.NewTimeline()
		tl.Event(event.Kernel, name, 0, 0, 0, 50)
		return analyzed(t, tl.Finish())
	}
	for _, other := range []string{"gemm", "ncclDevKernel_AllGather_RING_LL(args)"} {
		v, err := hostoverhead.Analyze(t.Context(), []*layer.Analysis{rank("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(args)"),
			rank(other)}, hostoverhead.Options{})
		if err != nil || v.Stragglers != nil {
			t.Errorf("beside %s: %+v, %v", other, v.Stragglers, err)
		}
	}
}

// TestRanksAreNamed: by their label, else by what the trace says, else by place; one alone has no name.
func TestRanksAreNamed(t *testing.T) {
	file := func(rank string) *layer.Analysis {
		tr, err := trace.Read(t.Context(), strings.NewReader(rank+
			`"traceEvents":[{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":1,"dur":5,"args":{"device":0,"stream":7}}]}`), trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return analyzed(t, tr)
	}
	rank := func(n int) *layer.Analysis {
		return file(fmt.Sprintf(`{"distributedInfo":{"rank":%d,"world_size":2},`, n))
	}
	for _, c := range []struct {
		ranks  []*layer.Analysis
		labels []string
		want   string
	}{
		{[]*layer.Analysis{rank(1)}, nil, ""},
		{[]*layer.Analysis{rank(0), rank(1)}, nil, "rank 0, rank 1"},
		{[]*layer.Analysis{rank(0), rank(1)}, []string{"x"}, "x, rank 1"},
		{[]*layer.Analysis{rank(0), rank(1)}, []string{"", "y"}, "rank 0, y"},
		{[]*layer.Analysis{file("{"), file("{")}, nil, "file 0, file 1"},
	} {
		v, err := hostoverhead.Analyze(t.Context(), c.ranks, hostoverhead.Options{Labels: c.labels})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range v.Ranks {
			got = append(got, r.Rank)
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("labels %q: %q, want %q", c.labels, s, c.want)
		}
		if len(v.Published) == 0 {
			t.Errorf("labels %q: no published metrics", c.labels)
		}
	}
}

// TestStrayKernelsAreInNoStep: kernels before the first step and after the last one belong to none.
func TestStrayKernelsAreInNoStep(t *testing.T) {
	tl := hosttest.NewTimeline()
	stray := func(corr int, at int64) { launched(tl, "cudaLaunchKernel", "stray", corr, at, at+10, at+20) }
	stray(900, -500)
	for i := range int64(10) {
		tl.Event(event.Annotation, "step[DECODE bs=8]", 0, 0, i*100, i*100+95)
		launched(tl, "cudaLaunchKernel", "gemm", int(i)+1, i*100+1, i*100+10, i*100+60)
	}
	stray(901, 2000)
	v := judged(t, tl.Finish())
	d := stage(v, layer.StageDecode)
	if d == nil || d.Steps != 10 || len(d.Paths) != 1 || d.Paths[0].Kernels != 10 || d.Paths[0].TimeNS != 10*50_000 {
		t.Errorf("%+v, want 10 steps with a kernel of 50 µs each", d)
	}
	if math.Abs(float64(d.Headroom.WallNS)-950_000) > 1 { // from the first kernel on, up to the end of the last one
		t.Errorf("the steps take %d ns, want 950 µs", d.Headroom.WallNS)
	}
}

// TestSuspectsAreOfOneStage: a kernel that a decode step replays and another one launches is one that was not
// captured; one that only prefills launch is not, and neither is one outside all steps.
func TestSuspectsAreOfOneStage(t *testing.T) {
	const decode, prefill = "step[DECODE bs=8]", "step[EXTEND bs=1 toks=99]"
	for _, c := range []struct {
		what, step string // of the launches one by one; "" for none
		replayed   int
	}{{"in decode steps", decode, 20}, {"once", decode, 1}, {"in prefills", prefill, 0}, {"in no step", "", 0}} {
		tl := hosttest.NewTimeline()
		at := int64(0)
		if c.step == "" {
			launched(tl, "cudaLaunchKernel", "gemm", 999, -900, -890, -880)
		}
		for i := range max(2*c.replayed, 2) {
			call, name, e := "cudaGraphLaunch", decode, trace.EventData{GraphNode: 1}
			if i%2 == 1 && c.step != "" {
				call, name, e.GraphNode = "cudaLaunchKernel", c.step, 0
			}
			tl.Event(event.Annotation, name, 0, 0, at, at+95)
			tl.Event(event.Runtime, call, 0, i+1, at+1, at+6)
			e.Kind, e.Name, e.Start, e.Duration, e.Stream = event.Kernel, "gemm", (at+10)*1000, 50_000, 7
			e.Process, e.Scope, e.Correlation = 1, "a", uint64(i+1)
			tl.Add(e)
			at += 100
		}
		k := decider(judged(t, tl.Finish())).Coverage.EagerKernels
		if len(k) != 1 || k[0].Replayed != c.replayed || k[0].Suspect != (c.replayed > 0) {
			t.Errorf("%s: %+v, want %d replays of the same stage", c.what, k, c.replayed)
		}
	}
}

// TestServingIsCounted: the messages say of how many steps, one step is enough, and half of the launches must be known.
func TestServingIsCounted(t *testing.T) {
	yes, no := true, false
	// 'g' a replay, 'e' a kernel, 'i' a compiled one, 'x' a replay without its kernels, 'u' one whose launch is unknown
	steps := func(annotation string, launches ...string) *trace.Trace {
		tl := hosttest.NewTimeline()
		corr := 0
		for i, step := range launches {
			at := int64(i) * 1000
			tl.Event(event.Annotation, annotation, 0, 0, at, at+950)
			for k, l := range step {
				corr++
				start := at + int64(k)*100
				e := trace.EventData{Kind: event.Kernel, Name: "gemm", Start: (start + 10) * 1000, Duration: 80_000,
					Stream: 7, Process: 1, Scope: "a", Correlation: uint64(corr)}
				switch l {
				case 'x':
					tl.Event(event.Runtime, "cudaGraphLaunch", 0, corr, start, start+5)
					continue
				case 'g':
					tl.Event(event.Runtime, "cudaGraphLaunch", 0, corr, start, start+5)
					e.GraphNode = 1
				case 'i':
					e.Name = "triton_poi_fused_add_0"
					fallthrough
				case 'e':
					tl.Event(event.Runtime, "cudaLaunchKernel", 0, corr, start, start+5)
				}
				tl.Add(e)
			}
		}
		return tl.Finish()
	}
	const decode, prefill = "step[DECODE bs=8]", "step[EXTEND bs=1 toks=99]"
	for _, c := range []struct {
		what string
		tr   *trace.Trace
		told profile.ServerArgs
		want string // of the only message, "" for none
	}{
		{"one step replays", steps(decode, "ee", "eg", "ee"), profile.ServerArgs{Graphs: &yes}, ""},
		{"none replays", steps(decode, "ee", "ee", "ee"), profile.ServerArgs{Graphs: &yes},
			"none of the 3 decode steps"},
		{"half of the launches unknown", steps(decode, "euue", "euue", "euue"), profile.ServerArgs{Graphs: &yes}, ""},
		{"less than half unknown", steps(decode, "euue", "eue", "euue"), profile.ServerArgs{Graphs: &yes},
			"none of the 3 decode steps"},
		{"a replay whose kernels are missing", steps(decode, "ee", "eex", "ee"), profile.ServerArgs{Graphs: &yes}, ""},
		{"no decode step", steps(prefill, "ee", "ee", "ee"), profile.ServerArgs{Graphs: &yes, Compile: &yes}, ""},
		{"nothing compiled", steps(decode, "ee", "ee", "ee"), profile.ServerArgs{Compile: &yes, Path: "mine.json"},
			"SGLang compiles the model (mine.json)"},
		{"one kernel, not compiled", steps(decode, "e"), profile.ServerArgs{Compile: &yes},
			"no kernel of this window is of compiled code"},
		{"nothing compiled, as told", steps(decode, "ee", "ee", "ee"), profile.ServerArgs{Compile: &no}, ""},
		{"one kernel compiled", steps(decode, "ei", "ee", "ee"), profile.ServerArgs{Compile: &yes}, ""},
	} {
		issues := judged(t, c.tr, func(o *hostoverhead.Options) { o.Server = &c.told }).Serving
		if (len(issues) == 1) != (c.want != "") || len(issues) > 1 || len(issues) == 1 &&
			!strings.Contains(issues[0].Evidence, c.want) {
			t.Errorf("%s: %+v, want %q", c.what, issues, c.want)
		}
	}
}

// TestWaitingForInputInTheFirstStep: within a step, the first one too, waiting for input is a system call; between
// two it is without requests.
func TestWaitingForInputInTheFirstStep(t *testing.T) {
	tl := hosttest.NewTimeline()
	launched(tl, "cudaLaunchKernel", "stray", 900, -50, -40, -20)
	for i := range int64(10) {
		at := i * 100
		tl.Event(event.OSCall, "epoll_wait", 0, 0, at-10, at-1)
		tl.Event(event.Annotation, "step[DECODE bs=8]", 0, 0, at, at+85)
		tl.Event(event.OSCall, "epoll_wait", 0, 0, at+1, at+31)
		launched(tl, "cudaLaunchKernel", "gemm", int(i)+1, at+40, at+50, at+80)
	}
	if got := causesOf(judged(t, tl.Finish())); got[finding.SystemCall] != 10*30 || got[finding.NoRequests] != 10*9 {
		t.Errorf("%v, want 300 µs of system calls and 90 without requests", got)
	}
}

// TestQueuedBehindWhatWasNotRecorded: a kernel that was queued and starts late waits for an event, unless it is the
// first of its stream: then work from before the recording may be ahead.
func TestQueuedBehindWhatWasNotRecorded(t *testing.T) {
	tl := hosttest.NewTimeline()
	tl.Event(event.Annotation, "step[DECODE bs=8]", 0, 0, 0, 9000)
	for i, k := range []struct {
		stream       trace.StreamID
		at, from, to int64
	}{{3, 1, 10, 20}, {7, 12, 5020, 5030}, {7, 30, 8030, 8040}} {
		tl.Event(event.Runtime, "cudaLaunchKernel", 0, i+1, k.at, k.at+5)
		tl.Add(trace.EventData{Kind: event.Kernel, Name: "gemm", Start: k.from * 1000, Stream: k.stream,
			Duration: 1000 * (k.to - k.from), Process: 1, Scope: "a", Correlation: uint64(i + 1)})
	}
	v := judged(t, tl.Finish())
	got := map[finding.Cause]int64{}
	for _, c := range v.Idle {
		got[c.Cause] = c.NS
	}
	if got[finding.UnknownCause] != 5_000_000 || got[finding.Dependency] != 3_000_000 {
		t.Errorf("%v, want 5 ms unknown and 3 ms of waiting for an event", got)
	}
}

// TestWaitsThatNothingShowsAreUncertain: queued work that starts late may wait for an event of which only the call is
// recorded; where no stream waits for any, nothing shows what it waits for, and a GPU clock that jumps looks the same.
func TestWaitsThatNothingShowsAreUncertain(t *testing.T) {
	for _, events := range []bool{false, true} {
		tl := hosttest.NewTimeline()
		tl.Event(event.Annotation, "step[DECODE bs=8]", 0, 0, 0, 9000)
		tl.Event(event.Runtime, "cudaGraphLaunch", 0, 1, 1, 6)
		if events {
			tl.Event(event.Runtime, "cudaStreamWaitEvent", 0, 0, 7, 8)
		}
		for i, at := range []int64{10, 20, 5030, 5040} { // one replay
			tl.Add(trace.EventData{Kind: event.Kernel, Name: "gemm", Start: at * 1000, Stream: 7, Duration: 10_000, Process: 1,
				Scope: "a", Correlation: 1, GraphNode: uint64(i + 1)})
		}
		want := map[bool]finding.Band{false: finding.Low, true: finding.Medium}[events]
		seen := false
		for _, f := range judged(t, tl.Finish()).Findings {
			if f.Cause != finding.Dependency {
				continue
			}
			if seen = true; f.Confidence != want {
				t.Errorf("events %t: confidence %s, want %s: %+v", events, f.Confidence, want, f)
			}
		}
		if !seen {
			t.Errorf("events %t: no finding of a late start", events)
		}
	}
}

// TestOneStepFromACold: a lone step that the host launches in less time than the GPU takes for it decides nothing; one
// that takes the host longer does, and so do several steps.
func TestOneStepFromACold(t *testing.T) {
	for _, c := range []struct {
		busy, steps int64
		want        hostoverhead.Answer
	}{{4000, 1, hostoverhead.Inconclusive}, {2000, 1, hostoverhead.Yes}, {4000, 5, hostoverhead.Yes}} {
		tl := hosttest.NewTimeline()
		for i := range c.steps {
			at := i * 9000
			tl.Event(event.Annotation, "step[DECODE bs=8]", 0, 0, at, at+8000)
			for k := range int64(200) {
				from := at + 3000*min(k/20, 1) // once the host works for long before it launches
				launched(tl, "cudaLaunchKernel", "gemm", int(200*i+k+1), from+k, from+k*c.busy/200+5,
					from+(k+1)*c.busy/200+5)
			}
		}
		v := judged(t, tl.Finish())
		if v.Verdict != c.want || (v.Ranks[0].ColdStart != "") != (c.want == hostoverhead.Inconclusive) {
			t.Errorf("%d µs of work in %d steps: %s %q, want %s", c.busy, c.steps, v.Verdict, v.Summary, c.want)
		}
	}
}

// TestVerdictOfNothing: a verdict that no GPU is in, such as one of a document that is cut, is written, too.
func TestVerdictOfNothing(t *testing.T) {
	var b strings.Builder
	if err := new(hostoverhead.Verdict).WriteText(&b); err != nil || !strings.Contains(b.String(), "No GPU was judged") {
		t.Errorf("%v: %q", err, b.String())
	}
}
