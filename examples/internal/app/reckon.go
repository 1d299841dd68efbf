package app

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/atomicfile"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/profile/hardware"
)

// Reckoning is what the user says about a run for floors, as a trace may lack it: the same flags in every program.
type Reckoning struct {
	gpu, devices, cache, rules, peaks string
	Tokens, Batch, KVLen              int64
	Prefill                           bool
	TP, EP                            int
}

// Register adds the flags.
func (r *Reckoning) Register(fs *flag.FlagSet) {
	fs.StringVar(&r.gpu, "gpu", "", "`NAME`: GPU for floors, e.g. H100 (default: the trace's)")
	fs.StringVar(&r.devices, "device-file", "", "`FILE`: more GPUs, in the form of profile/hardware/gpus.tsv")
	fs.StringVar(&r.peaks, "peak", "", "`TYPE=N,…`: peaks in TFLOP/s and TB/s, e.g. bf16=708,memory=4.9")
	fs.StringVar(&r.rules, "op-rules", "", "`FILE`: ops to count as known ones, [{\"op\": \"lib::gemm\", \"like\": \"aten::mm\"}]")
	fs.StringVar(&r.cache, "kv-dtype", "", "`TYPE`: type of the KV cache, e.g. fp8 (default: the activations')")
	fs.Int64Var(&r.Tokens, "tokens", 0, "`NUMBER`: tokens of a pass (default: from the trace)")
	fs.Int64Var(&r.Batch, "batch", 0, "`NUMBER`: requests of a pass (default: the tokens, or 1 with --prefill)")
	fs.Int64Var(&r.KVLen, "kv-len", 0, "`NUMBER`: tokens in a request's cache (default: unknown)")
	fs.BoolVar(&r.Prefill, "prefill", false, "count the tokens as prefilled, not decoded")
	fs.IntVar(&r.TP, "tp", 0, "`SIZE`: tensor-parallel size (default: the trace's, else 1)")
	fs.IntVar(&r.EP, "ep", 0, "`SIZE`: expert-parallel size (default: 1)")
}

// Options turns the flags into options of the floors.
func (r *Reckoning) Options() (roofline.Options, error) {
	out := roofline.Options{Device: r.gpu, CacheDType: r.cache, Seen: r.KVLen, TP: r.TP, EP: r.EP}
	for _, f := range []struct {
		name string
		n    int64
	}{{"tokens", r.Tokens}, {"batch", r.Batch}, {"kv-len", r.KVLen}, {"tp", int64(r.TP)}, {"ep", int64(r.EP)}} {
		const most = 1 << 30
		if f.n < 0 || f.n > most {
			return out, Usagef("--%s %d: want a number from 0 to %d", f.name, f.n, most)
		}
	}
	if err := fromFile(r.devices, func(f *os.File) (err error) {
		out.GPUs,
			err = hardware.Load(f)
		return err
	}); err != nil {
		return out, err
	}
	types := map[string]bool{}
	for _, g := range slices.Concat(hardware.Table(), out.GPUs) {
		for name := range g.FLOP {
			types[name] = true
		}
	}
	known := append(slices.Sorted(maps.Keys(types)), roofline.PeakOfMemory)
	for part := range strings.SplitSeq(r.peaks, ",") {
		if part == "" {
			continue
		}
		name, text, ok := strings.Cut(part, "=")
		n, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil || !(n > 0 && n < 1e6) {
			return out, Usagef("--peak %s: want TYPE=N, such as bf16=708 (TFLOP/s) or memory=4.9 (TB/s)", part)
		}
		if !slices.Contains(known, strings.TrimSpace(name)) {
			return out, Usagef("--peak %s: want one of %s", part, strings.Join(known, ", "))
		}
		if out.Peaks == nil {
			out.Peaks = map[string]float64{}
		}
		out.Peaks[strings.TrimSpace(name)] = n * 1e12
	}
	if err := fromFile(r.rules, func(f *os.File) (err error) {
		out.Rules,
			err = roofline.LoadRules(f)
		return err
	}); err != nil {
		return out, err
	}
	if r.Tokens > 0 {
		load := r.load()
		out.Load = &load
	}
	return out, nil
}

// fromFile reads a file that may not be named.
func fromFile(path string, read func(*os.File) error) error {
	if path == "" {
		return nil
	}
	f, err := atomicfile.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := read(f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// load is the pass that the flags describe.
func (r *Reckoning) load() roofline.Load {
	if r.Prefill {
		requests := max(r.Batch, 1)
		each := max(r.Tokens/requests, 1)
		return roofline.Prefill(requests, each, max(r.KVLen-each, 0))
	}
	requests := cmp.Or(r.Batch, r.Tokens)
	l := roofline.Decode(requests, r.KVLen)
	l.Tokens = r.Tokens
	return l
}
