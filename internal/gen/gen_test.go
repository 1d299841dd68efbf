package gen_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/gen"
)

// jsonEvent is what the tests look at, read by an independent decoder.
type jsonEvent struct {
	Ph, Cat, Name string
	Pid, Tid      any
	TS, Dur       json.Number
	ID            uint64
	Args          struct {
		Correlation uint64
		External    uint64 `json:"External id"`
		Stream      int
		Device      int
		PythonID    int  `json:"Python id"`
		Parent      *int `json:"Python parent id"`
	}
}

// ns reads decimal microseconds with three decimals.
func ns(t *testing.T, n json.Number) int64 {
	t.Helper()
	whole, frac, ok := strings.Cut(n.String(), ".")
	v, err := strconv.ParseInt(whole+frac, 10, 64)
	if err != nil || !ok || len(frac) != 3 {
		t.Fatalf("time %q: want three decimals (%v)", n, err)
	}
	return v
}

// run generates a trace and reads it back.
func run(t *testing.T, cfg gen.Config) ([]jsonEvent, []gen.Truth) {
	t.Helper()
	var truth []gen.Truth
	cfg.Truth = func(r gen.Truth) { truth = append(truth, r) }
	var b bytes.Buffer
	if err := gen.Write(&b, cfg); err != nil {
		t.Fatal(err)
	}
	var doc struct{ TraceEvents []jsonEvent }
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatalf("not JSON: %v", err)
	}
	return doc.TraceEvents, truth
}

// variety is one config of each sort that the generator knows.
func variety() map[string]gen.Config {
	prefill := gen.Pass{Prefills: 2, Tokens: 300}
	decode := gen.Pass{Decodes: 4, Context: 100}
	mixed := gen.Pass{Prefills: 1, Tokens: 64, Decodes: 3, Context: 100}
	with := func(p gen.Pass, m gen.Mode) gen.Pass { p.Mode = m; return p }
	return map[string]gen.Config{
		"demo": gen.Demo(),
		"dense eager bare": {Arch: gen.Arch{Layers: gen.Uniform(4, gen.Layer{})},
			Passes: []gen.Pass{prefill, decode, mixed}},
		"leading dense, AMD, graph": {
			Vendor: gen.AMD, Arch: gen.Arch{Layers: gen.LeadingDense(6, 2), TileVariants: true, SplitK: true},
			Passes: []gen.Pass{prefill, with(decode, gen.FullGraph), with(decode, gen.FullGraph)}, Dialect: gen.VLLM,
			TP: 4, Rank: 2,
		},
		"alternating, piecewise": {
			Arch:   gen.Arch{Family: "GptOss", Layers: gen.Alternating(5, gen.MoE), SharedExperts: true, QKNorm: true},
			Passes: []gen.Pass{with(mixed, gen.Piecewise), with(mixed, gen.Piecewise)}, Dialect: gen.TensorRTLLM,
			Stacks: true, Modules: true, ExtraFrames: 20,
		},
		"hybrid, orphans, cut": {
			Arch:   gen.Arch{Layers: gen.Hybrid(8, 4, gen.NoFFN)},
			Passes: []gen.Pass{decode, decode, decode}, Dialect: gen.ProfilerStep, Stacks: true, Orphans: 30,
			CutAtEnd: 0.6, SampleOutside: true,
		},
	}
}

// TestEveryTraceIsConsistent checks on each config what must hold of any trace:
// the invariants that readers and analyses build on.
func TestEveryTraceIsConsistent(t *testing.T) {
	for name, cfg := range variety() {
		t.Run(name, func(t *testing.T) {
			events, truth := run(t, cfg)
			calls := map[uint64]jsonEvent{}
			ops := map[uint64]jsonEvent{}
			frames := map[int]jsonEvent{}
			for _, e := range events {
				switch e.Cat {
				case "cuda_runtime":
					if _, twice := calls[e.Args.Correlation]; twice {
						t.Errorf("two calls with correlation %d", e.Args.Correlation)
					}
					calls[e.Args.Correlation] = e
				case "cpu_op":
					ops[e.Args.External] = e
				case "python_function":
					frames[e.Args.PythonID] = e
				}
			}
			inside := func(inner, outer jsonEvent) bool {
				a, b := ns(t, inner.TS), ns(t, outer.TS)
				return a >= b && a+ns(t, inner.Dur) <= b+ns(t, outer.Dur)
			}
			n, orphans := 0, 0
			free := map[int]int64{}
			for _, e := range events {
				switch e.Cat {
				case "kernel", "gpu_memcpy", "gpu_memset":
					if n >= len(truth) {
						t.Fatalf("more activities than the %d in the truth", len(truth))
					}
					r := truth[n]
					n++
					if got := (gen.Truth{Start: ns(t, e.TS), Duration: ns(t, e.Dur), Stream: e.Args.Stream,
						Device: e.Args.Device, Name: e.Name}); got !=
						(gen.Truth{Start: r.Start, Duration: r.Duration, Stream: r.Stream, Device: r.Device,
							Name: r.Name}) {
						t.Fatalf("activity %d: truth %+v, file %+v", n-1, r, got)
					}
					if ns(t, e.TS) < free[e.Args.Stream] {
						t.Errorf("activity %d overlaps the one before it on stream %d", n-1, e.Args.Stream)
					}
					free[e.Args.Stream] = ns(t, e.TS) + ns(t, e.Dur)
					call, ok := calls[e.Args.Correlation]
					if !ok {
						orphans++
					} else if ns(t, e.TS) < ns(t, call.TS) {
						t.Errorf("activity %d starts before its call", n-1)
					}
					if (r.Pass < 0) != (r.Stage == "") || r.Layer >= 0 && r.Half == "" || r.Category == "" {
						t.Errorf("activity %d: truth %+v contradicts itself", n-1, r)
					}
				case "cuda_runtime":
					if op, ok := ops[e.Args.External]; e.Args.External != 0 && (!ok || !inside(e, op)) &&
						cfg.CutAtEnd == 0 {
						t.Errorf("call %s at %s is not inside its op", e.Name, e.TS)
					}
				case "python_function":
					if e.Args.Parent == nil {
						continue
					}
					if parent, ok := frames[*e.Args.Parent]; !ok || !inside(e, parent) {
						t.Errorf("frame %s at %s is not inside its parent", e.Name, e.TS)
					}
				}
			}
			if n != len(truth) {
				t.Errorf("%d activities, truth about %d", n, len(truth))
			}
			if orphans != cfg.Orphans {
				t.Errorf("%d activities without a call, want %d", orphans, cfg.Orphans)
			}
		})
	}
}

// TestStepsAndLayersAreComplete: each pass has every layer, in order by start on
// the main stream, except for a cut one.
func TestStepsAndLayersAreComplete(t *testing.T) {
	for name, cfg := range variety() {
		t.Run(name, func(t *testing.T) {
			_, truth := run(t, cfg)
			layers := map[int]map[int]int{}
			last := map[int]int{}
			for _, r := range truth {
				if r.Pass < 0 || r.Layer < 0 {
					continue
				}
				if layers[r.Pass] == nil {
					layers[r.Pass] = map[int]int{}
				}
				layers[r.Pass][r.Layer]++
				if r.Layer < last[r.Pass] {
					t.Errorf("pass %d: layer %d after layer %d", r.Pass, r.Layer, last[r.Pass])
				}
				last[r.Pass] = r.Layer
			}
			for p := range cfg.Passes {
				all := len(cfg.Arch.Layers)
				cut := p == len(cfg.Passes)-1 && cfg.CutAtEnd > 0
				if got := len(layers[p]); !cut && got != all || cut && (got == 0 || got == all) {
					t.Errorf("pass %d has %d layers of %d, cut: %v", p, got, all, cut)
				}
			}
		})
	}
}

func TestSameConfigSameBytes(t *testing.T) {
	for name, cfg := range variety() {
		var a, b bytes.Buffer
		if err := errors.Join(gen.Write(&a, cfg), gen.Write(&b, cfg)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%s: two runs differ", name)
		}
		cfg.Seed++
		b.Reset()
		if err := gen.Write(&b, cfg); err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%s: another seed gives the same bytes", name)
		}
	}
}

func TestSizeIsReachedButNotByFar(t *testing.T) {
	for _, frames := range []int{0, 80} {
		cfg := gen.Large(4, frames, true)
		cfg.Size = 3_000_000
		var b bytes.Buffer
		if err := gen.Write(&b, cfg); err != nil {
			t.Fatal(err)
		}
		if n := int64(b.Len()); n < cfg.Size || n > cfg.Size*3/2 {
			t.Errorf("%d frames: %d bytes, want a little more than %d", frames, n, cfg.Size)
		}
		if !json.Valid(b.Bytes()) {
			t.Errorf("%d frames: not JSON", frames)
		}
	}
}

// TestLargeLooksLikeServing: the share of Python frames that real traces with
// stacks have.
func TestLargeLooksLikeServing(t *testing.T) {
	events, _ := run(t, gen.Large(4, 80, false))
	frames := 0
	for _, e := range events {
		if e.Cat == "python_function" {
			frames++
		}
	}
	if share := float64(frames) / float64(len(events)); share < 0.85 || share > 0.95 {
		t.Errorf("%.0f%% of the events are Python frames, want about 90", 100*share)
	}
}

var errFull = errors.New("disk full")

// full is a writer that fails after some bytes.
type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriterErrorEndsTheGenerator(t *testing.T) {
	cfg := gen.Large(2, 0, false)
	cfg.Size = 1 << 40
	if err := gen.Write(&full{1 << 20}, cfg); !errors.Is(err, errFull) {
		t.Errorf("Write = %v, want %v", err, errFull)
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := func() gen.Config { return gen.Large(2, 0, false) }
	for want, change := range map[string]func(*gen.Config){
		"no layers": func(c *gen.Config) { c.Arch.Layers = nil },
		"no passes": func(c *gen.Config) { c.Passes = nil },
		"CutAtEnd":  func(c *gen.Config) { c.CutAtEnd = 1 },
		"OneBlock":  func(c *gen.Config) { c.OneBlock, c.Size = true, 1 },
		"pass 1":    func(c *gen.Config) { c.Passes[1] = gen.Pass{} },
	} {
		cfg := good()
		change(&cfg)
		if err := gen.Write(&bytes.Buffer{}, cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %s", err, want)
		}
	}
}

func TestTruthLines(t *testing.T) {
	r := gen.Truth{Start: 5, Duration: 6, Device: 1, Stream: 7, Kind: "kernel", Name: "k", Pass: 2, Layer: -1,
		Half: "attn", Stage: "decode", Category: "gemm", Graph: true}
	want := "5\t6\t1\t7\tkernel\t2\t-1\tattn\tdecode\tgemm\t1\tk"
	if diff := cmp.Diff(want, string(r.AppendTSV(nil))); diff != "" {
		t.Errorf("AppendTSV (-want +got):\n%s", diff)
	}
	if got, want := strings.Count(gen.TruthHeader, "\t"), strings.Count(want, "\t"); got != want {
		t.Errorf("the header has %d columns, want %d", got+1, want+1)
	}
}

// TestOverlapRunsTwoStreams: both halves run every layer on a stream of their own, and shifted the second one is
// behind.
func TestOverlapRunsTwoStreams(t *testing.T) {
	for _, overlap := range []gen.Overlap{gen.Aligned, gen.Shifted} {
		cfg := gen.Config{Arch: gen.Arch{Layers: gen.Uniform(4, gen.Layer{})},
			Passes: []gen.Pass{{Overlap: overlap, Decodes: 8, Context: 100}}}
		truths, err := gen.Truths(cfg)
		if err != nil {
			t.Fatal(err)
		}
		kernels := map[[2]int]int{} // by stream and layer
		for _, tr := range truths {
			if tr.Layer >= 0 {
				kernels[[2]int{tr.Stream, tr.Layer}]++
			}
		}
		if len(kernels) != 8 {
			t.Errorf("overlap %d: kernels by stream and layer %v, want 2 streams of 4 layers", overlap, kernels)
		}
		for at, n := range kernels {
			if n != kernels[[2]int{truths[0].Stream, 0}] {
				t.Errorf("overlap %d: %d kernels in %v", overlap, n, at)
			}
		}
	}
	for _, p := range []gen.Pass{{Overlap: gen.Aligned, Mode: gen.Piecewise, Decodes: 1}, {Idle: true, Decodes: 1},
		{}} {
		if _, err := gen.Truths(gen.Config{Arch: gen.Arch{Layers: gen.Uniform(4, gen.Layer{})},
			Passes: []gen.Pass{p}}); err == nil {
			t.Errorf("%+v is taken", p)
		}
	}
}
