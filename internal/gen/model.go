package gen

import "fmt"

// Where the frames of the simulated server say they are.
const srt = "/sgl-workspace/sglang/python/sglang/srt/"

// runPass runs one step of the server: inputs to the GPU, the model, sampling.
func (s *sim) runPass(p Pass) {
	clear(s.modules)
	s.now, s.stage, s.rows, s.graphs = p, p.Stage(), p.tokens(), 0
	number := s.running
	s.running++
	// The scheduler's own work between two steps.
	s.work(60_000)
	run := func(body func()) {
		s.frame(srt+"managers/scheduler.py(2919): _run_batch_inner", func() {
			s.frame(srt+"managers/tp_worker.py(445): forward_batch_generation", body)
		})
	}
	run(func() {
		s.pass = number
		s.annotate(stepName(s.cfg.Dialect, number, p), func() {
			s.frame(srt+"model_executor/model_runner.py(3123): forward", func() { s.forward(p) })
			if !s.cfg.SampleOutside && !p.Idle {
				s.sample()
			}
		})
		s.pass = -1
		if s.cfg.SampleOutside && !p.Idle {
			s.sample()
		}
	})
	// The result is waited for, so the next step starts with an idle GPU.
	s.await(max(s.free[mainStream], s.free[sideStream]))
	s.work(25_000)
}

// await lets the CPU wait for the GPU until then.
func (s *sim) await(end int64) {
	c := s.call(s.api("StreamSynchronize"), 1500, s.cbid("StreamSynchronize"), false)
	if end > c.end {
		last := &s.out.gpu[len(s.out.gpu)-1]
		last.dur += end - c.end
		s.cpu += end - c.end
	}
}

// stepName is the annotation of a step, "" for none.
func stepName(d Dialect, number int, p Pass) string {
	switch d {
	case SGLang:
		switch p.Stage() {
		case prefill:
			return fmt.Sprintf("step[EXTEND bs=%d toks=%d]", p.Prefills, p.Tokens)
		case idle:
			return "step[IDLE bs=0]"
		case mixed:
			return fmt.Sprintf("step[MIXED bs=%d toks=%d]", p.Prefills+p.Decodes, p.tokens())
		}
		return fmt.Sprintf("step[DECODE bs=%d]", p.Decodes)
	case VLLM:
		sqsq := 0
		if p.Prefills > 0 {
			sqsq = p.Tokens * (p.Tokens / p.Prefills)
		}
		return fmt.Sprintf("execute_%d_context_%d(sq%dsk%dsqsq%dsqsk%d)_generation_%d(sq%dsk%dsqsq%dsqsk%d)",
			p.tokens(),
			p.Prefills, p.Tokens, p.Tokens, sqsq, sqsq,
			p.Decodes, p.Decodes, p.Decodes*p.Context, p.Decodes, p.Decodes*p.Context)
	case TensorRTLLM:
		return fmt.Sprintf("[Executor] _forward_step %d: %d ctx reqs, %d gen reqs", number, p.Prefills, p.Decodes)
	case ProfilerStep:
		return fmt.Sprintf("ProfilerStep#%d", number)
	}
	return ""
}

// forward runs the model in the pass's mode.
func (s *sim) forward(p Pass) {
	s.frame(srt+"model_executor/forward_batch_info.py(402): init_new", func() {
		s.copyMemory("Memcpy HtoD (Pinned -> Device)", int64(8*s.rows))
	})
	switch p.Mode {
	case FullGraph:
		s.frame(srt+"model_executor/cuda_graph_runner.py(871): replay", func() { s.capture(s.model) })
	case Piecewise:
		s.frame(srt+"model_executor/piecewise_cuda_graph_runner.py(512): replay", func() {
			s.collecting = true
			s.model()
			s.collecting = false
			s.replay() // what follows the last attention
		})
	default:
		source := srt + "model_executor/model_runner.py(3003): forward_extend"
		if p.Prefills == 0 {
			source = srt + "model_executor/model_runner.py(2951): forward_decode"
		}
		s.frame(source, func() {
			s.frame("torch/utils/_contextlib.py(117): decorate_context", s.model)
		})
	}
}

// file is the model's source file in the frames.
func (s *sim) file() string { return srt + "models/" + lower(s.cfg.Arch.Family) + ".py" }

// lower writes a family as a file name: Qwen2Moe → qwen2moe.
func lower(name string) string {
	b := []byte(name)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// model runs embedding, layers, final norm and output projection.
func (s *sim) model() {
	a := &s.cfg.Arch
	s.module(a.Family+"ForCausalLM", s.file()+"(507): forward", func() {
		s.module(a.Family+"Model", s.file()+"(340): forward", func() {
			s.module("VocabParallelEmbedding", srt+"layers/vocab_parallel_embedding.py(463): forward", func() {
				s.kernel(roleEmbed, s.shape(a.Vocab/s.cfg.TP, a.Hidden))
				if s.cfg.TP > 1 {
					s.allReduce()
				}
			})
			if s.now.Overlap != NoOverlap {
				s.overlapped()
			} else {
				for i, l := range a.Layers {
					s.layer = i
					s.instance(a.Family+"DecoderLayer", i, s.file()+"(384): forward", func() { s.decoder(i, l) })
					s.layer, s.half = -1, ""
				}
			}
			s.norm(roleAddNorm)
		})
		if a.PredictionHead {
			s.module(a.Family+"PredictionHead", s.file()+"(480): forward", func() {
				s.kernel(roleGateUp, s.gemm(a.Hidden, a.Hidden))
				s.kernel(roleAct, s.matrix(a.Hidden))
				s.norm(roleNorm)
			})
		}
		s.module("LogitsProcessor", srt+"layers/logits_processor.py(388): forward", func() {
			rows := s.rows
			s.rows = max(1, s.now.Prefills+s.now.Decodes) // only the last token of each request
			s.kernel(roleLMHead, s.gemm(a.Hidden, a.Vocab/s.cfg.TP))
			s.kernel(roleCast, s.matrix(a.Vocab/s.cfg.TP))
			s.rows = rows
		})
	})
}

// sample picks the next tokens and copies them to the host.
func (s *sim) sample() {
	rows := s.rows
	s.rows = max(1, s.now.Prefills+s.now.Decodes)
	s.module("Sampler", srt+"layers/sampler.py(102): forward", func() {
		s.clearMemory(int64(4 * s.rows))
		s.kernel(roleArgMax, s.matrix(s.cfg.Arch.Vocab))
	})
	s.frame(srt+"managers/scheduler_output_processor_mixin.py(188): copy_to_cpu", func() {
		s.copyMemory("Memcpy DtoH (Device -> Pinned)", int64(8*s.rows))
	})
	s.rows = rows
}

// overlapped runs all layers for two halves of the batch, stage by stage:
// attention, then the feed-forward part. There are no frames of layers, as the
// stages are run by a scheduler of their own.
func (s *sim) overlapped() {
	rows, stages := s.rows, 2*len(s.cfg.Arch.Layers)
	behind := 0
	if s.now.Overlap == Shifted {
		behind = 1
	}
	run := func(k, stream int) {
		if k < 0 || k >= stages {
			return
		}
		s.layer, s.stream, s.rows = k/2, stream, max(1, (rows+1-stream)/2)
		if l := s.cfg.Arch.Layers[s.layer]; k%2 == 0 {
			s.mix(s.layer, l)
		} else {
			s.feed(l)
		}
	}
	s.fork()
	for k := range stages + behind {
		run(k, mainStream)
		run(k-behind, sideStream)
	}
	s.join()
	s.rows, s.stream, s.layer, s.half = rows, mainStream, -1, ""
}

// decoder runs one decoder layer.
func (s *sim) decoder(i int, l Layer) {
	s.inject()
	s.mix(i, l)
	s.feed(l)
}

// mix runs the first half of a layer.
func (s *sim) mix(i int, l Layer) {
	a := &s.cfg.Arch
	s.half = halfAttention
	if i == 0 {
		s.norm(roleNorm)
	} else {
		s.norm(roleAddNorm)
	}
	switch {
	case s.now.Idle: // no tokens to mix
	case l.Mixer == Mamba:
		s.module(a.Family+"MambaMixer", s.file()+"(211): forward", s.mamba)
	default:
		s.module(a.Family+"Attention", s.file()+"(266): forward", func() { s.attention(i) })
	}
	if s.cfg.TP > 1 {
		s.allReduce()
	}
}

// feed runs the feed-forward part of a layer.
func (s *sim) feed(l Layer) {
	a := &s.cfg.Arch
	if l.FFN == NoFFN {
		return
	}
	s.half = "ffn"
	s.norm(roleAddNorm)
	if l.FFN == MoE {
		s.module(a.Family+"SparseMoeBlock", s.file()+"(154): forward", s.experts)
	} else {
		s.module(a.Family+"MLP", s.file()+"(96): forward", s.mlp)
	}
	if s.cfg.TP > 1 {
		s.allReduce()
	}
}

// norm runs an RMSNorm module.
func (s *sim) norm(r role) {
	s.module("RMSNorm", srt+"layers/layernorm.py(83): forward_cuda",
		func() { s.kernel(r, s.matrix(s.cfg.Arch.Hidden)) })
}

// attention runs the projections, rotary embedding, cache store and attention.
func (s *sim) attention(i int) {
	a := &s.cfg.Arch
	qkv := a.Hidden * 3 / 2 / s.cfg.TP
	s.module("QKVParallelLinear", srt+"layers/linear.py(451): forward",
		func() { s.kernel(roleQKV, s.gemm(a.Hidden, qkv)) })
	if a.QKNorm {
		s.frame(srt+"models/utils.py(416): apply_qk_norm", func() { s.kernel(roleQKNorm, s.matrix(qkv)) })
	}
	s.module("RotaryEmbedding", srt+"layers/rotary_embedding/base.py(335): forward_cuda",
		func() { s.kernel(roleRope, s.matrix(qkv)) })
	if s.now.Mode == Piecewise {
		// The graph ends here; attention runs by itself.
		s.collecting = false
		s.replay()
	}
	s.module("RadixAttention", srt+"layers/radix_attention.py(126): forward", func() {
		s.kernel(roleStoreKV, s.matrix(qkv/3))
		s.phases(rolePrefillAttn, roleDecodeAttn)
	})
	if s.now.Mode == Piecewise {
		s.collecting = true
	}
	s.module("RowParallelLinear", srt+"layers/linear.py(1377): forward", func() {
		if a.SplitK && i%3 == 1 {
			s.op("aten::mm", s.gemm(a.Hidden/s.cfg.TP, a.Hidden), func() {
				s.bare(roleSplitK)
				s.bare(roleReduceK)
			})
			return
		}
		s.kernel(roleOut, s.gemm(a.Hidden/s.cfg.TP, a.Hidden))
	})
}

// phases runs the kernels that mix the tokens of the requests of each phase that the pass has.
func (s *sim) phases(prefill, decode role) {
	if s.now.Prefills > 0 {
		s.kernel(prefill, s.matrix(s.cfg.Arch.Hidden/s.cfg.TP))
	}
	if s.now.Decodes > 0 {
		s.kernel(decode, s.matrix(s.cfg.Arch.Hidden/s.cfg.TP))
	}
}

// mamba runs a state-space mixer.
func (s *sim) mamba() {
	a := &s.cfg.Arch
	s.kernel(roleInProj, s.gemm(a.Hidden, 2*a.Hidden/s.cfg.TP))
	s.kernel(roleConv, s.matrix(2*a.Hidden/s.cfg.TP))
	s.phases(roleScan, roleState)
	s.kernel(roleGatedNorm, s.matrix(a.Hidden/s.cfg.TP))
	s.kernel(roleMixOut, s.gemm(a.Hidden/s.cfg.TP, a.Hidden))
}

// mlp runs a dense feed-forward part.
func (s *sim) mlp() {
	a := &s.cfg.Arch
	inner := 4 * a.Hidden / s.cfg.TP
	s.module("MergedColumnParallelLinear", srt+"layers/linear.py(451): forward",
		func() { s.kernel(roleGateUp, s.gemm(a.Hidden, 2*inner)) })
	s.module("SiluAndMul", srt+"layers/activation.py(83): forward_cuda",
		func() { s.kernel(roleAct, s.matrix(2*inner)) })
	s.module("RowParallelLinear", srt+"layers/linear.py(1377): forward",
		func() { s.kernel(roleDown, s.gemm(inner, a.Hidden)) })
}

// experts runs a mixture of experts, the shared expert beside it.
func (s *sim) experts() {
	a := &s.cfg.Arch
	inner := a.Hidden / 2 / s.cfg.TP
	if a.SharedExperts {
		s.fork()
		s.module(a.Family+"MLP", s.file()+"(96): forward", func() {
			s.kernelOn(sideStream, roleSharedGateUp, s.gemm(a.Hidden, 2*inner))
			s.kernelOn(sideStream, roleAct, s.matrix(2*inner))
			s.kernelOn(sideStream, roleSharedDown, s.gemm(inner, a.Hidden))
		})
	}
	s.module("ReplicatedLinear", srt+"layers/linear.py(239): forward",
		func() { s.kernel(roleRouter, s.gemm(a.Hidden, a.Experts)) })
	s.module("TopK", srt+"layers/moe/topk.py(267): forward_cuda", func() { s.kernel(roleTopK, s.matrix(a.Experts)) })
	s.module("FusedMoE", srt+"layers/moe/fused_moe_triton/layer.py(805): forward", func() {
		s.frame(srt+"layers/moe/fused_moe_triton/fused_moe.py(347): fused_experts_impl", func() {
			s.kernel(roleAlign, fmt.Sprintf("[[%d, 8], [], []]", s.rows))
			s.kernel(roleExpert1, fmt.Sprintf("[[%d, %d], [%d, %d, %d]]", s.rows, a.Hidden, a.Experts, 2*inner,
				a.Hidden))
			s.kernel(roleAct, s.matrix(2*inner))
			s.kernel(roleExpert2, fmt.Sprintf("[[%d, %d], [%d, %d, %d]]", s.rows, inner, a.Experts, a.Hidden, inner))
			s.kernel(roleExpertSum, fmt.Sprintf("[[%d, 8, %d], [%d, %d]]", s.rows, a.Hidden, s.rows, a.Hidden))
		})
	})
	if a.SharedExperts {
		s.join()
		s.kernel(roleAdd, s.matrix(a.Hidden))
	}
}

// allReduce sums over the tensor-parallel group: NCCL for many rows, one shot
// for few.
func (s *sim) allReduce() {
	r, source := roleAllReduceSmall, srt+"distributed/device_communicators/custom_all_reduce.py(402): custom_all_reduce"
	if s.rows*s.cfg.Arch.Hidden*2 > 512<<10 { // the one-shot kernels' limit
		r, source = roleAllReduceBig, srt+"distributed/device_communicators/pynccl.py(155): all_reduce"
	}
	s.frame(srt+"distributed/communication_op.py(11): tensor_model_parallel_all_reduce", func() {
		s.frame(source, func() { s.kernel(r, s.matrix(s.cfg.Arch.Hidden)) })
	})
}

// matrix is the shape of an activation, "" where shapes are not recorded.
func (s *sim) matrix(width int) string { return s.shape(s.rows, width) }

// shape is a matrix and a scalar argument.
func (s *sim) shape(rows, width int) string {
	if s.cfg.NoShapes || s.collecting {
		return ""
	}
	return fmt.Sprintf("[[%d, %d], []]", rows, width)
}

// gemm is the shape of a matrix product.
func (s *sim) gemm(in, out int) string {
	if s.cfg.NoShapes || s.collecting {
		return ""
	}
	return fmt.Sprintf("[[%d, %d], [%d, %d]]", s.rows, in, in, out)
}
