package trace

// Want is what a recording lacks.
type Want uint8

// What can be asked of a recorder.
const (
	WantGPU      Want = iota // GPU activities
	WantLaunches             // launch calls, and what the host does
	WantNames                // names of the host's code
	WantStacks               // call stacks
	numWants
)

// recorders says how each source records what is wanted: torch.profiler.profile's arguments, the switches of
// "nsys profile" and "rocprofv3 --help", and jax.profiler.ProfileOptions. Triton's own profiler has nothing but
// kernels; torch.profiler records the same processes on GPUs of both vendors.
var recorders = map[Source][numWants]string{
	SourceTorch: {"torch.profiler with the activities CPU and CUDA (the latter on AMD GPUs, too)",
		"torch.profiler with the activities CPU and CUDA, with_stack=True",
		"torch.profiler with annotations (record_function) or with_stack=True", "torch.profiler with_stack=True"},
	SourceProton: {"torch.profiler with the activities CPU and CUDA (the latter on AMD GPUs, too)",
		"torch.profiler with the activities CPU and CUDA, with_stack=True",
		"torch.profiler with annotations (record_function) or with_stack=True", "torch.profiler with_stack=True"},
	SourceNsys: {"nsys profile --trace=cuda,nvtx", "nsys profile --trace=cuda,nvtx,osrt",
		"nsys profile --trace=cuda,nvtx,osrt, with NVTX ranges in the host code",
		"nsys profile --trace=cuda,nvtx --python-backtrace=cuda --cudabacktrace=all"},
	SourceRocprof: {"rocprofv3 --kernel-trace --memory-copy-trace", "rocprofv3 --runtime-trace",
		"rocprofv3 --runtime-trace, with ROCTx ranges in the host code",
		"torch.profiler with_stack=True, as rocprofv3 records no stacks"},
	SourceXLA: {"jax.profiler.trace around steps that work on the GPU",
		"jax.profiler.trace with ProfileOptions.host_tracer_level = 3",
		"jax.profiler.trace with jax.profiler.TraceAnnotation in the host code, or ProfileOptions.python_tracer_level = 1",
		"jax.profiler.trace with ProfileOptions.python_tracer_level = 1"},
}

// Record says with what to record a trace of this source again to have what is wanted. Where the source is not
// known, it names no program.
func (s Source) Record(w Want) string {
	if row, ok := recorders[s]; ok {
		return row[w]
	}
	return [numWants]string{"GPU activities", "launch calls and host activity", "named ranges in the host code",
		"call stacks"}[w]
}
