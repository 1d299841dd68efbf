package gen

import (
	"io"
	"time"
)

// FaultKind is what goes wrong in a run.
type FaultKind uint8

// The faults. All but the last three are in the middle layer of each eager pass.
const (
	NoFault       FaultKind = iota
	HostCode                // the scheduler prepares the next batch
	Allocation              // the allocator asks the driver for memory
	ModuleLoad              // a kernel is compiled and loaded
	LockWait                // the launching thread waits for another one
	SystemCall              // a log is flushed to its disk
	ObjectGather            // ranks exchange Python objects
	SizeOnHost              // the size of a result is waited for, and the host has work before it launches again
	ValueOnHost             // so is a value that is copied
	Upload                  // a copy to the GPU between two kernels
	LateEvent               // a kernel waits for an event of a stream that is not recorded
	SlowLaunches            // each launch call takes longer than a kernel
	SlowGraphCall           // the launch call of a graph is long
	SlowNodes               // kernels of a graph start late
)

// Fault makes a run slower.
type Fault struct {
	Kind FaultKind
	// For is how long the GPU does nothing in each pass; of SlowLaunches how long a launch call takes.
	For time.Duration
}

// WritePlanted is [Write] for a run with a fault. It returns the mean time of a pass that the GPU lost by it.
func WritePlanted(w io.Writer, cfg Config) (time.Duration, error) {
	s, err := write(w, cfg)
	if err != nil || s.running == 0 {
		return 0, err
	}
	return time.Duration(s.lost / int64(s.running)), nil
}

// returns is how long after the end of the work a call that waits for it returns, in ns.
const returns = 4_000

// callTo makes an API call that ends so that the next kernel is late by the fault's time.
func (s *sim) callTo(name string) {
	at := len(s.out.gpu)
	s.call(name, 0, 0, false)
	if end := s.faultEnd(); end > s.cpu {
		s.out.gpu[at].dur = end - s.out.gpu[at].ts
		s.cpu = end
	}
}

// faultEnd is when the host has to go on: so long after the end of what is queued, less what a launch takes.
func (s *sim) faultEnd() int64 {
	const launch = 9_500 // op, call and latency
	return s.free[mainStream] + s.cfg.Fault.For.Nanoseconds() - launch
}

// frameTo runs a Python function that ends then.
func (s *sim) frameTo(name string) {
	s.openFrame(name, -1, true, func() { s.cpu = max(s.cpu, s.faultEnd()) })
}

// inject lets the fault of the run happen before the middle layer.
func (s *sim) inject() {
	if s.collecting || s.layer != len(s.cfg.Arch.Layers)/2 {
		return
	}
	switch s.cfg.Fault.Kind {
	case HostCode:
		s.frameTo(srt + "managers/schedule_batch.py(1642): prepare_for_decode")
	case Allocation:
		s.op("aten::empty", "", func() { s.callTo("cudaMalloc") })
	case ModuleLoad:
		s.callTo("cuModuleLoadData")
	case LockWait:
		s.frameTo("<built-in method acquire of _thread.lock object at 0x7f3a5c0e1240>")
	case SystemCall:
		s.frameTo("<built-in function fsync>")
	case ObjectGather:
		s.frameTo("torch/distributed/distributed_c10d.py(3105): all_gather_object")
	case SizeOnHost:
		s.op("aten::nonzero", "", func() { s.await(s.free[mainStream] + returns) })
		s.cpu = max(s.cpu, s.faultEnd())
	case ValueOnHost:
		s.op("aten::_local_scalar_dense", "", func() {
			s.copyMemory("Memcpy DtoH (Device -> Pageable)", 4)
			s.await(s.free[mainStream] + returns)
		})
		s.cpu = max(s.cpu, s.faultEnd())
	case Upload:
		length := s.cfg.Fault.For.Nanoseconds()
		s.op("aten::copy_", "", func() {
			s.launch(queued{class: classMemcpy, name: "Memcpy HtoD (Pinned -> Device)", category: "memory", dur: length,
				stream: mainStream, bytes: 25 * length}) // 25 GB/s, as PCIe 4 has
		})
		s.lost += length
		return
	case LateEvent:
		s.late = s.cfg.Fault.For.Nanoseconds()
		s.lost += s.late
		return
	default:
		return
	}
	s.from = s.free[mainStream]
}
