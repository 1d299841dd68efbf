package nsysgen

import "fmt"

// Durations of the imaginary server, in ns. They are round numbers near those
// of a small model on an H200; nothing depends on their exact values.
const (
	callTime        = 4_500   // one launch call
	callPause       = 1_500   // host work between two launches of a context step
	launchLatency   = 5_000   // end of the call to start of the kernel
	kernelGap       = 1_200   // between two kernels of one queue
	graphCall       = 60_000  // one graph launch call
	opPause         = 2_000   // between two host operations
	firstEvent      = 1 << 30 // ns since the start of the session
	contextRequests = 3
)

type kernelKind struct {
	name, short string
	mean        int64
}

var layerKernels = []kernelKind{
	{"void rms_norm_kernel<__nv_bfloat16>(__nv_bfloat16*, const __nv_bfloat16*, float, int)", "rms_norm_kernel", 2_000},
	{"void gemm_bf16_kernel<128, 128, 64>(Params)", "gemm_bf16_kernel", 24_000},
	{"void fmha_v2_kernel<128>(Params)", "fmha_v2_kernel", 18_000},
	{"void allreduce_fusion_kernel<__nv_bfloat16, 2>(AllReduceParams)", "allreduce_fusion_kernel", 8_000},
	{"void gemm_bf16_kernel<256, 128, 64>(Params)", "gemm_bf16_kernel", 30_000},
	{"void silu_kernel<__nv_bfloat16>(__nv_bfloat16*, const __nv_bfloat16*, int)", "silu_kernel", 3_000},
	{"void allreduce_fusion_kernel<__nv_bfloat16, 2>(AllReduceParams)", "allreduce_fusion_kernel", 8_000},
}

var rangeNames = []string{"decoder_layer", "self_attn", "mlp"}

type rank struct {
	host, gpu int64 // when each is free
	corr      int64
}

type simulation struct {
	w     *writer
	cfg   Config
	ranks []rank

	demangled, short    []int64
	launch, graphLaunch int64
	syncCall, extraCall int64
}

func newSimulation(w *writer, cfg Config) *simulation {
	s := &simulation{w: w, cfg: cfg}
	for _, k := range layerKernels {
		s.demangled = append(s.demangled, w.id(k.name))
		s.short = append(s.short, w.id(k.short))
	}
	suffix := func(v string) string {
		if cfg.APISuffix {
			return v
		}
		return ""
	}
	s.launch = w.id("cudaLaunchKernel" + suffix("_v7000"))
	s.graphLaunch = w.id("cudaGraphLaunch" + suffix("_v10000"))
	s.syncCall = w.id("cudaStreamSynchronize" + suffix("_v3020"))
	s.extraCall = w.id("cudaStreamIsCapturing" + suffix("_v10000"))
	for r := range cfg.Ranks {
		first := int64(1)
		if !cfg.SharedIDs {
			first += int64(r) << 32
		}
		s.ranks = append(s.ranks, rank{host: firstEvent, gpu: firstEvent, corr: first})
	}
	return s
}

// vary changes a mean by up to ±5 %.
func (s *simulation) vary(mean int64) int64 {
	return mean + int64((s.w.rng.Float64()-0.5)*0.1*float64(mean))
}

// step runs one executor iteration on every rank. Ranks begin it together, as
// the executor's broadcast makes them.
func (s *simulation) step(n int) {
	begin := int64(0)
	for _, r := range s.ranks {
		begin = max(begin, r.host)
	}
	ctx := 0
	if s.cfg.ContextEvery > 0 && n%s.cfg.ContextEvery == 0 {
		ctx = contextRequests
	}
	name := fmt.Sprintf("[Executor] _forward_step %d: %d ctx reqs, %d gen reqs", n, ctx, 64)
	for r := range s.ranks {
		// 7 µs between ranks: well inside the 100 µs that make two ranges one step.
		s.ranks[r].host = begin + 7_000*int64(r)
		s.forward(r, name, ctx > 0 || s.cfg.Graphs == GraphOff)
		for _, op := range s.cfg.Ops {
			s.host(r, op)
		}
	}
}

// host runs one operation of the loop on rank r.
func (s *simulation) host(r int, op Op) {
	rk := &s.ranks[r]
	d := s.vary(op.Mean.Nanoseconds())
	s.mark(r, op.Name, rk.host, rk.host+d)
	rk.host += d + opPause
}

func (s *simulation) mark(r int, name string, start, end int64) {
	if s.cfg.SkipNVTX || s.w.err != nil {
		return
	}
	s.w.stats.Ranges++
	var text, id any
	if s.cfg.PlainText {
		text = name
	} else {
		id = s.w.id(name)
	}
	s.w.nvtx.Insert(start, end, 59, text, tid(r), id, 0)
}

func (s *simulation) call(r int, name, start, end int64) (corr int64) {
	rk := &s.ranks[r]
	corr = rk.corr
	rk.corr++
	s.w.stats.Calls++
	s.w.insert(s.w.call, start, end, 0, tid(r), corr, name, 0, null)
	return corr
}

func (s *simulation) forward(r int, name string, eager bool) {
	rk := &s.ranks[r]
	start := rk.host
	prep := s.vary(s.cfg.Prep.Mean.Nanoseconds())
	if s.cfg.Prep.Name != "" {
		s.mark(r, s.cfg.Prep.Name, start, start+prep)
	}
	rk.host += prep
	if eager {
		s.eager(r)
	} else {
		s.replay(r)
	}
	if s.cfg.SyncEachStep {
		end := max(rk.host+callTime, rk.gpu)
		corr := s.call(r, s.syncCall, rk.host, end)
		s.w.insert(s.w.sync, rk.host, end, s.device(r), 1, 7, corr, pid(r)<<24, 3, null)
		rk.host = end
	}
	rk.host += opPause
	s.mark(r, name, start, rk.host)
}

func (s *simulation) device(r int) int64 {
	if s.cfg.LocalDevices {
		return 0
	}
	return int64(r)
}

func (s *simulation) eager(r int) {
	rk := &s.ranks[r]
	for range s.cfg.Layers {
		for i := range s.cfg.LayerRanges {
			// The whole layer, then its halves and so on.
			d := int64(len(layerKernels)) * int64(1+s.cfg.ExtraCalls) * (callTime + callPause) >> i
			s.mark(r, rangeNames[i%len(rangeNames)], rk.host, rk.host+d)
		}
		for k := range layerKernels {
			for range s.cfg.ExtraCalls {
				s.call(r, s.extraCall, rk.host, rk.host+callTime)
				rk.host += callTime + callPause
			}
			end := rk.host + callTime
			corr := s.call(r, s.launch, rk.host, end)
			s.enqueue(r, k, corr, end, null)
			rk.host = end + callPause
		}
	}
}

// enqueue puts one kernel on rank r's queue.
func (s *simulation) enqueue(r, k int, corr, launched, node int64) {
	rk := &s.ranks[r]
	start := max(launched+launchLatency, rk.gpu+kernelGap)
	rk.gpu = start + s.vary(layerKernels[k].mean)
	s.w.stats.Kernels++
	graph := null
	if node != null {
		graph = 1
	}
	s.w.insert(s.w.kernel, start, rk.gpu, s.device(r), 1, null, 7, corr, pid(r)<<24,
		s.demangled[k], s.short[k], null, 132, 1, 1, 128, 1, 1, node, graph)
}

func (s *simulation) replay(r int) {
	rk := &s.ranks[r]
	end := rk.host + graphCall
	corr := s.call(r, s.graphLaunch, rk.host, end)
	if s.cfg.Graphs == GraphWhole {
		start := max(rk.host+launchLatency, rk.gpu+kernelGap)
		rk.gpu = start
		for range s.cfg.Layers {
			for k := range layerKernels {
				rk.gpu += s.vary(layerKernels[k].mean) + kernelGap
			}
		}
		s.w.insert(s.w.graph, start, rk.gpu, s.device(r), 1, 1, 7, corr, pid(r)<<24, 1)
	} else {
		for l := range s.cfg.Layers {
			for k := range layerKernels {
				s.enqueue(r, k, corr, rk.host+launchLatency, int64(l*len(layerKernels)+k+1))
			}
		}
	}
	rk.host = end
}
