package rlimit

import "strconv"

// Measured with strata report and triage on traces of 0.2 and 2 million events, on two
// cores: what they map beyond what is mapped at the start is 260 to 330 MB and
// 1160 MB, where the load's estimate of what it needs is 8 and 82 MB.
const (
	// fixed is the address space that a program takes beside its trace.
	fixed = 256 << 20
	// threads is what cgo adds to it after the start: 8 MB for the stack and 64 MB
	// for the arena of malloc of each of some four threads.
	threads = 320 << 20
	// PerByte is how much address space each byte of the load's estimate takes:
	// copies while it sorts, garbage up to the next collection, the analysis, and
	// the gaps of a heap made of arenas.
	PerByte = 12
)

// suggested is what the message asks for, in kB as ulimit has it: enough for Go's
// runtime, which takes up to 1.6 GB, and a trace of some million events.
const suggested = 4_000_000

// refusal is the line that a program ends with whose limit leaves less than least,
// "" where it leaves enough. Limits and sizes are in bytes.
func refusal(limit, mapped, least int64) string {
	if limit-mapped >= least {
		return ""
	}
	mb := func(n int64) string { return strconv.FormatInt(n/1e6, 10) + " MB" }
	return "the limit of address space (ulimit -v, RLIMIT_AS) is " + mb(limit) + "; " + mb(mapped) +
		" are taken when Go's runtime has started; the rest is less than the " + mb(least) +
		" that a small trace needs: raise it, for example with ulimit -v " + strconv.Itoa(suggested)
}
