package nsys

import (
	"errors"
	"slices"
	"strconv"

	"github.com/llmstrata/strata/trace"
)

// facts is what the small tables say. The scanners of the large tables share
// it, so it does not change once they run.
type facts struct {
	cfg     *trace.Options
	strings stringTable
	devices map[cudaDevice]int64 // GPU by process and CUDA ordinal
	domains map[domainKey]string
	scoped  bool  // correlations are per process
	pidMask int64 // bits of global>>24 that name the process
}

type cudaDevice struct{ pid, ordinal int64 }

// pid is the process of a globalPid or globalTid: hardware and VM id in the top
// bits, then pid, then tid, 24 bits each.
func (f *facts) pid(global int64) int64 { return pidOf(global) & f.pidMask }

// scope is that of the correlations of a globalPid or globalTid.
func (f *facts) scope(global int64) string {
	if !f.scoped {
		return ""
	}
	return strconv.FormatInt(global>>24&f.pidMask, 10)
}

func pidOf(global int64) int64 { return global >> 24 & 0xFFFFFF }
func tidOf(global int64) int64 { return global & 0xFFFFFF }

// sampledProcesses is how many rows of the kernel and of the call table are
// looked at to see whether their processes match.
const sampledProcesses = 4096

// findProcessBits chooses which bits of a packed id name the process. In nsys'
// own exports globalPid and globalTid agree in all bits above the thread, and
// all are used. Converters have been seen to write the virtual machine's id
// into one of the two only; then fewer bits are compared, so that launches
// still find their kernels.
func (l *loader) findProcessBits() error {
	l.pidMask = -1
	if !l.scoped {
		return nil
	}
	var pids, tids []int64
	for _, s := range []struct {
		table, column string
		keys          *[]int64
	}{{tableKernel, "globalPid", &pids}, {tableRuntime, "globalTid", &tids}} {
		rows := 0
		err := l.db.scan(s.table, []string{s.column}, func(r row) error {
			if id := r.Int(0) >> 24; !slices.Contains(*s.keys, id) {
				*s.keys = append(*s.keys, id)
			}
			if rows++; rows == sampledProcesses {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
	}
	for _, mask := range []int64{-1, 0xFFFFFF, 0xFFFF} {
		for _, p := range pids {
			if slices.ContainsFunc(tids, func(t int64) bool { return t&mask == p&mask }) {
				l.pidMask = mask
				return nil
			}
		}
	}
	return nil
}
