package idle

import (
	"cmp"
	"io"
	"math"
	"math/rand/v2"

	"github.com/llmstrata/strata/internal/gen/nsysgen"
)

// Server is an imaginary server whose runs are made with and without a change: what the change brings is known. It
// is a simulation of its own, by time: a host thread that issues work, streams that take one kernel after the other,
// a bounded number of launches that wait for each stream, and jitter on everything.
type Server struct {
	Seed    uint64
	Steps   int
	Kernels int     // of a step
	Kernel  float64 // mean length, ns
	Call    float64 // of a launch
	Python  float64 // host time between two launches
	Prepare float64 // host time before the launches of a step, as a range
	Process float64 // host time after the result of a step
	Stall   float64 // a range "log_stats" in each step; 0: none
	Items   int     // calls of aten::item within a step
	Second  bool    // every eighth kernel runs on another stream, and the next one waits for it
	Limit   int     // launches that may wait for a stream
	Jitter  float64 // relative, of everything
	Rare    float64 // probability of a step with a pause of the host
	Graph   bool    // a step is one graph launch
	NoWait  bool    // the result of a step is not waited for
	Overlap bool    // the host is one step ahead
	Factor  float64 // of the lengths of gemm kernels; 0: 1
	Fused   float64 // of the lengths of norm and gemm together, which are one kernel then; 0: they are two
	NoStall bool
	NoItems bool
}

// RandomServer draws a server.
func RandomServer(seed uint64) Server {
	r := rand.New(rand.NewPCG(seed, 77))
	between := func(a, b float64) float64 { return math.Exp(math.Log(a) + r.Float64()*(math.Log(b)-math.Log(a))) }
	s := Server{Seed: seed, Steps: 30, Kernels: 5 * (8 + r.IntN(24)), Kernel: between(4e3, 60e3),
		Call: between(2e3, 6e3), Python: between(1e3, 15e3),
		Prepare: between(30e3, 800e3), Process: between(30e3, 800e3), Limit: 128 << r.IntN(4),
		Jitter: between(0.01, 0.15), Second: r.IntN(3) == 0}
	if r.IntN(2) == 0 {
		s.Stall = between(50e3, 1500e3)
	}
	if r.IntN(2) == 0 {
		s.Items = 1 + r.IntN(4)
	}
	if r.IntN(3) == 0 {
		s.Rare = 0.05
	}
	s.Overlap = r.IntN(4) == 0
	return s
}

// serving plays a server.
type serving struct {
	Server
	recorder
	r     *rand.Rand
	free  map[int64]int64   // when each stream is done
	queue map[int64][]int64 // starts of what was issued to each
	last  int64             // the end of the step's result
	cross int64
}

func (s *serving) vary(mean float64) int64 {
	return int64(max(200, mean*math.Exp(s.Jitter*s.r.NormFloat64())))
}

// issue puts work on a stream when its call was made.
func (s *serving) issue(kind nsysgen.RowKind, name string, stream, correlation, node, from int64, length,
	gap int64) (end int64) {
	start := max(from, s.free[stream]+gap)
	if s.Second && (stream == 7 && s.cross > 0) {
		start = max(start, s.cross+1_500)
		s.cross = 0
	}
	end = start + length
	s.free[stream] = end
	s.queue[stream] = append(s.queue[stream], start)
	if stream != 7 {
		s.cross = end
	}
	s.rows = append(s.rows, nsysgen.Row{Kind: kind, Name: name, Start: start, End: end, Thread: mainThread,
		Correlation: correlation, Stream: stream, Node: node})
	return end
}

// launch launches a kernel, when the stream has room for it.
func (s *serving) launch(name string, length float64, stream int64) {
	begin, n := s.host, s.vary(s.Call)
	if q := s.queue[stream]; len(q) >= s.Limit {
		n = max(n, q[len(q)-s.Limit]-begin)
	}
	c := s.call("cudaLaunchKernel", n)
	s.issue(nsysgen.RowKernel, name, stream, c, 0, s.host+s.vary(2_500), s.vary(length), s.vary(900))
	s.host += s.vary(s.Python)
}

// plan are the kernels of a step.
func (s *serving) plan() (names []string, lengths []float64) {
	f := cmp.Or(s.Factor, 1)
	for i := range s.Kernels {
		name := []string{"rms_norm_kernel", "gemm_bf16_kernel", "flash_attention_kernel", "gemm_fp8_kernel",
			"silu_mul_kernel"}[i%5]
		length := s.Kernel * []float64{0.3, 1.2, 1, 1.2, 0.4}[i%5]
		switch {
		case s.Fused > 0 && i%5 == 0:
			continue
		case s.Fused > 0 && i%5 == 1:
			name, length = "fused_norm_gemm_kernel", s.Fused*s.Kernel*1.5
		case i%5 == 1:
			length *= f
		}
		names, lengths = append(names, name), append(lengths, length)
	}
	return names, lengths
}

// named is host work with a name.
func (s *serving) named(name string, mean float64) {
	start := s.host
	s.host += s.vary(mean)
	s.add(nsysgen.RowRange, name, start, s.host)
}

// forward launches a step and its result's copy.
func (s *serving) forward() {
	s.named("prepare_inputs", s.Prepare)
	begin := s.host
	names, lengths := s.plan()
	if s.Graph {
		c := s.call("cudaGraphLaunch", s.vary(9_000))
		from := s.host + s.vary(8_000)
		for i := range names {
			end := s.issue(nsysgen.RowKernel, names[i], 7, c, int64(100+i), from, s.vary(lengths[i]), s.vary(900))
			from = end
		}
	} else {
		for i := range names {
			stream := int64(7)
			if s.Second && i%8 == 7 {
				stream = 9
			}
			s.launch(names[i], lengths[i], stream)
			if n := s.Items; n > 0 && i > 0 && i%(len(names)/(n+1)+1) == 0 && !s.NoItems {
				s.item()
			}
		}
	}
	c := s.call("cudaMemcpyAsync", s.vary(s.Call))
	s.last = s.issue(nsysgen.RowCopy, "Memcpy DtoH (Device -> Pinned)", 7, c, 0, s.host+s.vary(2_500), 1_500, 900)
	s.add(nsysgen.RowRange, stepName, begin, s.host)
}

// item reads a value back within a step.
func (s *serving) item() {
	start := s.host
	s.number++
	end := s.issue(nsysgen.RowCopy, "Memcpy DtoH (Device -> Pageable)", 7, s.number, 0, start+s.vary(2_500), 1_400,
		900)
	s.host = end + s.vary(3_000)
	s.rows = append(s.rows, nsysgen.Row{Kind: nsysgen.RowCall, Name: "cudaMemcpy", Start: start, End: s.host,
		Thread: mainThread, Correlation: s.number})
	s.add(nsysgen.RowRange, "aten::item", start, s.host)
	s.host += 1_000
}

// result waits for the result of a step and processes it.
func (s *serving) result(of int64) {
	if !s.NoWait {
		s.call("cudaEventSynchronize", max(1_500, of+s.vary(4_000)-s.host))
	}
	s.named("process_result", s.Process)
	if s.Stall > 0 && !s.NoStall {
		s.named("log_stats", s.Stall)
	}
	if s.r.Float64() < s.Rare {
		s.host += s.vary(1_000_000)
	}
}

// Play runs the server; other seeds make other runs of the same one.
func (v Server) Play(seed uint64) []nsysgen.Row {
	s := &serving{Server: v, r: rand.New(rand.NewPCG(v.Seed, seed)), recorder: recorder{host: begin},
		free: map[int64]int64{}, queue: map[int64][]int64{}}
	before := int64(0)
	for n := range v.Steps {
		s.forward()
		this := s.last
		switch {
		case v.Overlap && n > 0:
			s.result(before)
		case !v.Overlap:
			s.result(this)
		}
		before = this
	}
	return s.rows
}

// WriteServerTorch writes rows as torch.profiler does.
func WriteServerTorch(w io.Writer, rows []nsysgen.Row) error { return writeTorch(w, rows) }

// StepTimes are the times from the first kernel of each step to that of the next.
func StepTimes(rows []nsysgen.Row) (out []float64) {
	var starts []int64
	opened := false
	first := int64(0)
	for i := range rows {
		switch r := &rows[i]; {
		case r.Kind == nsysgen.RowKernel && !opened:
			first, opened = r.Start, true
		case r.Kind == nsysgen.RowRange && r.Name == stepName:
			starts, opened = append(starts, first), false
		}
	}
	for i := 1; i < len(starts); i++ {
		out = append(out, float64(starts[i]-starts[i-1]))
	}
	return out
}
