package agree

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// work is what a device did, counted from raw events.
type work struct {
	kernels, others int
	kernelNS        int64 // sum of the kernels' durations
	activityNS      int64 // kernels, copies and sets
	busyNS          int64 // union of the activities: copies are work
}

// oracle reads a trace without this module: standard JSON for torch traces, SQL
// for exports. It returns the work of each device that ran kernels.
func oracle(path string) (map[int]*work, error) {
	if strings.HasSuffix(path, ".sqlite") {
		return exportOracle(path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if data, err = unpack(path, data); err != nil {
		return nil, err
	}
	var doc struct {
		TraceEvents []struct {
			Ph, Cat string
			TS, Dur json.Number
			Args    struct{ Device json.Number }
		}
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	spans := map[int][]span{}
	devices := map[int]*work{}
	for _, e := range doc.TraceEvents {
		kernel, work := kinds[strings.ToLower(e.Cat)]
		if e.Ph != "X" || !work {
			continue
		}
		id, _ := e.Args.Device.Int64() // old traces leave it out where there is one GPU
		start, dur := nanoseconds(e.TS), nanoseconds(e.Dur)
		add(devices, spans, int(id), kernel, span{start, start + dur})
	}
	return finish(devices, spans), nil
}

// kinds are the categories of GPU work in lower case, old and new; true: kernels.
var kinds = map[string]bool{"kernel": true, "gpu_memcpy": false, "gpu_memset": false, "memcpy": false, "memset": false}

// unpack decompresses a file by its name.
func unpack(path string, data []byte) ([]byte, error) {
	switch filepath.Ext(path) {
	case ".gz":
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(z)
	case ".zst":
		z, err := zstd.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		return io.ReadAll(z)
	}
	return data, nil
}

// nanoseconds converts decimal microseconds without losing digits.
func nanoseconds(n json.Number) int64 {
	whole, frac, _ := strings.Cut(string(n), ".")
	if strings.ContainsAny(string(n), "eE") || len(frac) > 18 {
		f, _ := n.Float64()
		return int64(math.Round(f * 1000))
	}
	var ns int64
	for _, c := range whole {
		ns = ns*10 + int64(c-'0')
	}
	frac += "0000"
	for _, c := range frac[:3] {
		ns = ns*10 + int64(c-'0')
	}
	if frac[3] >= '5' {
		ns++
	}
	return ns
}

// span is a stretch of time in ns.
type span struct{ start, end int64 }

// add counts an activity.
func add(devices map[int]*work, spans map[int][]span, id int, kernel bool, s span) {
	w := devices[id]
	if w == nil {
		w = &work{}
		devices[id] = w
	}
	w.activityNS += s.end - s.start
	spans[id] = append(spans[id], s)
	if !kernel {
		w.others++
		return
	}
	w.kernels++
	w.kernelNS += s.end - s.start
}

// finish adds the union of the activities and drops devices without any.
func finish(devices map[int]*work, spans map[int][]span) map[int]*work {
	for id, w := range devices {
		if w.kernels == 0 {
			delete(devices, id)
			continue
		}
		list := spans[id]
		sort.Slice(list, func(i, j int) bool { return list[i].start < list[j].start })
		end := int64(math.MinInt64)
		for _, s := range list {
			if s.end > end {
				w.busyNS += s.end - max(s.start, end)
				end = s.end
			}
		}
	}
	return devices
}
