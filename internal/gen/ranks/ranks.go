package ranks

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Cause is why a rank is late.
type Cause uint8

// The causes.
const (
	OnTime     Cause = iota
	HostGap          // its host runs log_stats before each layer
	LongKernel       // its attention takes longer
	MoreTokens       // so it does, and the step has more tokens
)

// Layout is how the ranks of a replica exchange data.
type Layout uint8

// The layouts.
const (
	OneGroup  Layout = iota // all-reduces of all ranks
	Pipeline                // two stages of half of the ranks, each with all-reduces of its own
	TwoGroups               // all-reduces of halves, all-gathers of all
)

// Replica is what one replica does. The zero Replica has ranks that are on time, all recorded.
type Replica struct {
	Layout Layout
	// Numbered steps have the server's number in their annotation; others have no names of their own.
	Numbered bool
	// Recorded groups are in the arguments of collectives.
	Recorded bool
	// Ties lets ranks arrive at whole five microseconds, so that many do at the same time.
	Ties bool
	// Ragged lets ranks record other steps: each lacks up to one at the start and one at the end.
	Ragged bool
	// Late is the rank that Cause makes late by Late nanoseconds a layer.
	Late   int
	Cause  Cause
	LateBy int64
	// From is the first step in which it is late.
	From int
	// Missing ranks have no file; Copy writes the file of rank 7 once more, as that of rank 8.
	Missing []int
	Copy    bool
}

// Config is a fleet. Steps, Layers and Size default to 5, 12 and 8 ranks a replica.
type Config struct {
	Seed                uint64
	Steps, Layers, Size int
	Replicas            []Replica
}

// File is one trace, Name that of a file in the folder of the fleet.
type File struct {
	Name string
	Data []byte
}

// Group is the truth about the ranks that exchange data with one another.
type Group struct {
	Replica string
	Ranks   []int
	// Late is −1 where no rank is planted.
	Late  int
	Cause Cause
	// Waits are those of the recorded ranks, in nanoseconds over all steps that at least two of them recorded.
	Waits map[int]int64
	// Clocks are how far the ranks' clocks are ahead of true time.
	Clocks map[int]int64
}

// Fleet25 is the fleet of 25 replicas with five late ranks that tests name: ties, missing and duplicate ranks, other
// step ranges, pipeline stages, two groups a rank, clocks that disagree.
func Fleet25(seed uint64) Config {
	c := Config{Seed: seed}
	for i := range 25 {
		r := Replica{Layout: Layout(i % 3), Numbered: i%2 == 0, Recorded: i%4 == 3, Ties: i%5 == 4, Ragged: i%5 >= 3}
		if r.Ties { // steps of one length, and groups that end together, differ only in what is written down
			r.Numbered, r.Recorded = true, true
		}
		c.Replicas = append(c.Replicas, r)
	}
	plant := func(i, rank int, cause Cause, from int) {
		c.Replicas[i].Late, c.Replicas[i].Cause, c.Replicas[i].LateBy, c.Replicas[i].From = rank, cause, 30_000, from
	}
	plant(2, 5, HostGap, 0)
	plant(7, 1, LongKernel, 0)
	plant(12, 3, MoreTokens, 0)
	plant(16, 6, HostGap, 2)
	plant(22, 0, LongKernel, 0)
	c.Replicas[6].Missing = []int{2, 5}
	c.Replicas[9].Copy = true
	return c
}

// span is a kernel.
type span struct {
	name       string
	start, end int64
	args       string
	log        bool // log_stats runs before it
	from       int64
}

// Write simulates the fleet and gives each file to put. It returns the truth, by replica, then group.
func (c Config) Write(put func(File) error) ([]Group, error) {
	c.Steps = cmp.Or(c.Steps, 5)
	c.Layers = cmp.Or(c.Layers, 12)
	c.Size = cmp.Or(c.Size, 8)
	var truth []Group
	for i, r := range c.Replicas {
		groups, err := c.replica(i, r, put)
		if err != nil {
			return nil, err
		}
		truth = append(truth, groups...)
	}
	return truth, nil
}

// exchange is a collective of one group of a replica: its kernel, and how long it took on each rank.
type exchange struct {
	group, step int
	took        map[int]int64
}

func (c Config) replica(number int, r Replica, put func(File) error) ([]Group, error) {
	rng := rand.New(rand.NewPCG(c.Seed, uint64(number)))
	n := c.Size
	name := fmt.Sprintf("%d", 1_760_000_000+number)
	all, low, high := ints(0, n), ints(0, n/2), ints(n/2, n)
	groups := [][]int{all}
	switch r.Layout {
	case Pipeline:
		groups = [][]int{low, high}
	case TwoGroups:
		groups = [][]int{low, high, all}
	}
	reduce, gather := "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals, vllm::Signal*, __nv_bfloat16*, int, int)",
		"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
	if r.Recorded {
		reduce = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
	}
	at, clock := make([]int64, n), make([]int64, n)
	for i := range at {
		at[i] = 5_000_000 // of the ranks of a stage; stages run apart
		if r.Layout == Pipeline && i >= n/2 {
			at[i] += 123_457
		}
		clock[i] = rng.Int64N(100_000_000) - 50_000_000
	}
	work := func(base int64) int64 {
		ns := base + rng.Int64N(20_000)
		if r.Ties {
			ns = base + 5000*rng.Int64N(5)
		}
		return ns
	}
	ran := make([][][]span, n) // by rank and step
	var exchanges []exchange
	meet := func(step, group int, kernel, args string, transfer int64) {
		last := int64(0)
		for _, k := range groups[group] {
			last = max(last, at[k])
		}
		e := exchange{group, step, map[int]int64{}}
		for _, k := range groups[group] {
			ran[k][step] = append(ran[k][step], span{name: kernel, start: at[k], end: last + transfer, args: args})
			e.took[k] = last + transfer - at[k]
			at[k] = last + transfer
		}
		exchanges = append(exchanges, e)
	}
	args := func(group int, collective string) string {
		if !r.Recorded {
			return ""
		}
		return fmt.Sprintf(`, "Collective name": %q, "In msg nelems": 32768, "Out msg nelems": 32768, "Group size": %d, `+
			`"dtype": "BFloat16", "Process Group Name": "%d", "Process Group Description": "tp:%d", `+
			`"Process Group Ranks": "%s"`, collective, len(groups[group]), group+1, group, brackets(groups[group]))
	}
	for s := range c.Steps {
		for k := range ran {
			ran[k] = append(ran[k], nil)
			at[k] += 20_000 // between two steps; all ranks leave it as they entered it
		}
		for range c.Layers {
			for k := range n {
				late := r.Cause != OnTime && k == r.Late && s >= r.From
				free := at[k]
				at[k] += 2000
				log := late && r.Cause == HostGap
				if log {
					at[k] += r.LateBy
				}
				attention := work(20_000)
				if late && !log {
					attention += r.LateBy
				}
				ran[k][s] = append(ran[k][s],
					span{name: "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, cutlass::bfloat16_t>>(flash::Flash_fwd_params)",
						start: at[k], end: at[k] + attention, log: log, from: free},
					span{name: "nvjet_tst_64x8_64x16_4x1_v_bz_TNN", start: at[k] + attention,
						end: at[k] + attention + 40_000})
				at[k] += attention + 40_000
			}
			for g := range groups {
				if kernel, what := reduce, "allreduce"; g < 2 || r.Layout != TwoGroups {
					meet(s, g, kernel, args(g, what), 9_000)
				} else {
					meet(s, g, gather, args(g, "_allgather_base"), 14_000)
				}
			}
		}
	}
	// What is recorded of it.
	from, to := make([]int, n), make([]int, n)
	for k := range n {
		if to[k] = c.Steps; r.Ragged {
			from[k], to[k] = rng.IntN(2), c.Steps-rng.IntN(2)
		}
	}
	has := func(k, step int) bool { return !slices.Contains(r.Missing, k) && step >= from[k] && step < to[k] }
	out := make([]Group, len(groups))
	for g, ranks := range groups {
		out[g] = Group{Replica: name, Late: -1, Waits: map[int]int64{}, Clocks: map[int]int64{}}
		for _, k := range ranks {
			if slices.Contains(r.Missing, k) {
				continue
			}
			out[g].Ranks, out[g].Clocks[k] = append(out[g].Ranks, k), clock[k]
			out[g].Waits[k] = 0
			// the others of its half leave that together
			if r.Cause != OnTime && k == r.Late && (g < 2 || r.Layout != TwoGroups) {
				out[g].Late, out[g].Cause = k, r.Cause
			}
		}
	}
	for _, e := range exchanges {
		shortest, ranks := int64(-1), 0
		for k, took := range e.took {
			if has(k, e.step) {
				if ranks++; shortest < 0 || took < shortest {
					shortest = took
				}
			}
		}
		if ranks < 2 {
			continue
		}
		for k, took := range e.took {
			if has(k, e.step) {
				out[e.group].Waits[k] += took - shortest
			}
		}
	}
	for k := range n {
		if slices.Contains(r.Missing, k) {
			continue
		}
		data := c.trace(r, k, clock[k], ran[k], from[k], to[k])
		if err := put(File{fmt.Sprintf("%s-TP-%d.trace.json", name, k), data}); err != nil {
			return nil, err
		}
		if r.Copy && k == 7 {
			if err := put(File{name + "-TP-8.trace.json", data}); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// trace writes what one rank recorded as torch.profiler does.
func (c Config) trace(r Replica, rank int, clock int64, steps [][]span, from, to int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"schemaVersion": 1, "deviceProperties": [{"id": %d, "name": "NVIDIA H100 80GB HBM3"}], "distributedInfo": {"backend": "nccl", "rank": %d, "world_size": %d}, "baseTimeNanoseconds": 1775078550000000000, "traceEvents": [`,
		rank, rank, c.Size)
	us := func(ns int64) string {
		ns += clock + 7_721_328_752_100_825
		return fmt.Sprintf("%d.%03d", ns/1000, ns%1000)
	}
	const lead, call = 5000, 2000 // a launch call begins so long before its kernel, and takes so long
	comma := ""
	event := func(category, name string, pid, tid int, start, end int64, args string) {
		d := end - start
		fmt.Fprintf(&b, `%s{"ph": "X", "cat": %q, "name": %q, "pid": %d, "tid": %d, "ts": %s, "dur": %d.%03d, "args": {%s}}`+
			"\n", comma, category, name, pid, tid, us(start), d/1000, d%1000, args)
		comma = ","
	}
	correlation := 1
	for s := from; s < to; s++ {
		list := steps[s]
		requests := 8
		if r.Cause == MoreTokens && rank == r.Late && s >= r.From {
			requests = 12
		}
		label := fmt.Sprintf("step[DECODE bs=%d]", requests)
		if r.Numbered {
			label = fmt.Sprintf("[Executor] _forward_step %d: 0 ctx reqs, %d gen reqs", 100+s, requests)
		}
		event("user_annotation", label, 267, 267, list[0].start-lead-1000, list[len(list)-1].start-lead+call+1000,
			`"External id": 0`)
		for _, k := range list {
			if k.log {
				event("python_function", "server/metrics.py(41): log_stats", 267, 267, k.from, k.start-lead,
					`"Python id": 1`)
			}
			event("cuda_runtime", "cudaLaunchKernel", 267, 267, k.start-lead, k.start-lead+call,
				fmt.Sprintf(`"cbid": 211, "correlation": %d`, correlation))
			event("kernel", k.name, rank, 7, k.start, k.end,
				fmt.Sprintf(`"device": %d, "context": 1, "stream": 7, "correlation": %d, "grid": [8, 1, 1], "block": [256, 1, 1]%s`,
					rank, correlation, k.args))
			correlation++
		}
	}
	b.WriteString("]}\n")
	return b.Bytes()
}

func ints(from, to int) (out []int) {
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

func brackets(list []int) string { return strings.ReplaceAll(fmt.Sprint(list), " ", ", ") }
