package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/internal/scan"
	"github.com/llmstrata/strata/trace/event"
)

// kinetoMeta makes Meta of a file's top-level values, which kineto writes in any
// order, before the events or after them. The first document's values win where
// several documents were concatenated. A value that is no valid JSON is counted
// and left out; under strict it is an error.
func kinetoMeta(b *Builder, values []scan.Meta, strict bool) (Meta, error) {
	m := Meta{Source: SourceTorch, Encoding: EncodingChrome, Rank: -1, Extra: map[string]json.RawMessage{}}
	firstDoc := map[string]int{}
	for _, v := range values {
		key := textOf([]byte(v.Key))
		if d, ok := firstDoc[key]; ok && d != v.Doc {
			continue
		}
		firstDoc[key] = v.Doc
		if !json.Valid(v.Value) {
			if strict {
				return m, &syntaxError{Offset: v.Offset, Path: "/" + key, Err: scan.ErrSyntax}
			}
			b.lose(event.BadEvent, v.Offset)
			b.LoseDetail(event.BadEvent, 0, "top-level value "+strconv.Quote(key))
			continue
		}
		m.set(key, v.Value)
	}
	return m, nil
}

// protonUnit is the time unit of documents that Triton's profiler writes.
const protonUnit = `"us"`

// setRank completes the rank of m: what distributedInfo says, else the file's
// name, else the args of collectives, if these agree. A name that says "rank" and
// another one than distributedInfo is noted: one of them was copied.
func (b *Builder) setRank(m *Meta, args collectiveRank) {
	name := framework.ReadFileName(framework.All(), m.Path)
	switch {
	case m.Rank >= 0:
		if name.Label == framework.LabelRank && name.Rank != m.Rank {
			b.notes = append(b.notes, Remark{Code: CodeRankClash, Severity: HealthOK, Count: 1,
				Message: fmt.Sprintf("the file's name says rank %d, its distributedInfo %d, which is taken", name.Rank,
					m.Rank)})
		}
	case name.Rank >= 0:
		m.Rank = name.Rank
	case args.seen && !args.mixed:
		m.Rank = args.rank
	}
}

// set takes one valid top-level value. Values of an unexpected type are kept
// in Extra.
func (m *Meta) set(key string, v json.RawMessage) {
	ok := true
	switch key {
	case kind.KeyBaseTime:
		n, err := strconv.ParseInt(string(bytes.Trim(v, `"`)), 10, 64)
		if ok = err == nil; ok {
			m.BaseTime = n
		}
	case kind.KeyTraceName:
		ok = json.Unmarshal(v, &m.TraceName) == nil
	case kind.KeySchemaVersion:
		m.Format = string(bytes.Trim(v, `"`))
	case kind.KeyWithStack:
		m.WithStack, ok = truth(v)
	case kind.KeyRecordShapes:
		m.RecordShape, ok = truth(v)
	case kind.KeyDevices:
		var ds []struct {
			ID             DeviceID `json:"id"`
			Name           string   `json:"name"`
			TotalGlobalMem int64    `json:"totalGlobalMem"`
			NumSms         int      `json:"numSms"`
			ComputeMajor   int      `json:"computeMajor"`
			ComputeMinor   int      `json:"computeMinor"`
			WarpSize       int      `json:"warpSize"`
		}
		ok = json.Unmarshal(v, &ds) == nil
		seen := map[DeviceID]bool{}
		for _, d := range ds {
			if seen[d.ID] { // merged files list every rank's devices
				continue
			}
			seen[d.ID] = true
			m.Devices = append(m.Devices, GPU{ID: d.ID, Name: d.Name, MemoryBytes: d.TotalGlobalMem, SMs: d.NumSms,
				ComputeMajor: d.ComputeMajor, ComputeMinor: d.ComputeMinor, WarpSize: d.WarpSize})
		}
	case kind.KeyDistributed:
		m.Distributed = v
		var di struct {
			Rank      json.RawMessage `json:"rank"`
			WorldSize json.RawMessage `json:"world_size"`
			Backend   json.RawMessage `json:"backend"`
		}
		if json.Unmarshal(v, &di) == nil {
			if n, ok := wholeNumber(di.Rank); ok {
				m.Rank = n
			}
			m.WorldSize, _ = wholeNumber(di.WorldSize)
			_ = json.Unmarshal(di.Backend, &m.Backend)
		}
	default:
		ok = false
	}
	if !ok {
		m.Extra[key] = v
	}
}

// wholeNumber reads a small non-negative number, quoted or not.
func wholeNumber(v json.RawMessage) (int, bool) {
	n, err := strconv.Atoi(string(bytes.Trim(v, `"`)))
	return n, err == nil && n >= 0
}

// truth reads 0, 1, true or false.
func truth(v json.RawMessage) (value, ok bool) {
	value, ok = truths[string(bytes.Trim(v, `"`))]
	return value, ok
}

var truths = map[string]bool{"1": true, "true": true, "True": true, "0": false, "false": false, "False": false}

// NOTE: other profilers write Chrome's trace format too. What of them can be
// read like Kineto's is; for the rest it is said what the file is, and not that
// its recorder was set up wrongly.

// chromeSource says which profiler wrote a file, by what only that one writes.
func (b *Builder) chromeSource(values []scan.Meta) Source {
	for key := range b.thrID {
		if strings.HasPrefix(key.label, "warp ") && strings.Contains(key.proc.label, " CTA") {
			return SourceProton // inside kernels
		}
	}
	for _, name := range b.procs {
		if strings.HasPrefix(name, "/device:GPU:") || strings.HasPrefix(name, "/device:TPU:") {
			return SourceXLA
		}
	}
	for _, v := range values {
		if v.Key == kind.KeyTimeUnit && string(v.Value) == protonUnit && len(b.t.queues) > 0 && b.noDevices() {
			return SourceProton
		}
	}
	return SourceTorch
}

// noDevices reports whether no activity says which GPU it ran on.
func (b *Builder) noDevices() bool {
	for _, q := range b.t.queues {
		if q.device != None {
			return false
		}
	}
	return true
}

// adopt makes a Proton trace one of GPU 0: it names streams and no GPUs, as one
// process has one.
func (b *Builder) adopt(source Source) {
	if source != SourceProton || len(b.t.queues) == 0 || !b.noDevices() {
		return
	}
	for i := range b.t.queues {
		b.t.queues[i].device = 0
	}
	b.notes = append(b.notes, Remark{CodeProton, HealthDegraded, int64(b.t.lanes[event.LaneGPU].Len()),
		"a Proton trace of Triton: kernels with their streams and times, taken to be of GPU 0; it has no launches, " +
			"operators or steps (record with torch.profiler or Nsight Systems for these)",
		[]Area{AffectsAttribution, AffectsLayers}})
}

// whyNoActivity says why a trace has no GPU work.
func (t *Trace) whyNoActivity(ls []Loss) (Code, string) {
	lost := func(why event.Loss) int64 {
		if i := slices.IndexFunc(ls, func(l Loss) bool { return l.Reason == why }); i >= 0 {
			return ls[i].Count
		}
		return 0
	}
	if n := lost(event.NotCollected); n > 0 {
		return CodeNoTimes, counted(n, "GPU activity was", "GPU activities were") +
			" recorded, all with time 0 and duration 0: the profiler could not read the GPU's times"
	}
	why := "profiler without CUDA/HIP activities, or armed outside the work"
	switch {
	case t.meta.Source == "":
		return CodeNoActivity, "no event is of a GPU profiler: perhaps another program's trace"
	case lost(event.Truncated) > 0: // Kineto writes what ran on the GPU after what ran on the CPU.
		why = "the file is cut off, and they come last"
	case t.meta.Source == SourceXLA:
		why = "an XLA profile of JAX or TensorFlow, whose GPU rows are not read: record the process with Nsight Systems, " +
			"then nsys export --type sqlite"
	case t.meta.Source == SourceProton:
		why = "a Proton trace of what happens inside kernels, by core and warp: it has no kernels on streams"
	}
	return CodeNoActivity, "no GPU activity was recorded: only CPU events (" + why + ")"
}
