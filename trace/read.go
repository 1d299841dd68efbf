package trace

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// Open loads the torch.profiler trace at path: plain JSON, gzip or zstd, told
// apart by content, never by file name.
func Open(ctx context.Context, path string, opts ...Option) (*Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := Read(ctx, f, opts...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t.meta.Path = path
	return t, nil
}

// Read loads a trace from r; see [Open].
func Read(ctx context.Context, r io.Reader, opts ...Option) (*Trace, error) {
	cfg := newConfig(opts)
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		if data, err = io.ReadAll(z); err != nil {
			return nil, err
		}
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("trace: %w: %w", ErrFormat, err)
	}
	raw, ok := doc["traceEvents"]
	if !ok {
		return nil, fmt.Errorf("trace: %w: JSON without traceEvents", ErrFormat)
	}
	var events []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &events); err != nil {
		return nil, fmt.Errorf("trace: %w: %w", ErrFormat, err)
	}
	b := NewBuilder()
	m := Meta{Source: "torch.profiler", Rank: -1, Extra: map[string]json.RawMessage{}}
	for k, v := range doc {
		switch k {
		case "traceEvents":
		case "baseTimeNanoseconds":
			m.BaseTime, _ = strconv.ParseInt(string(v), 10, 64)
		case "traceName":
			_ = json.Unmarshal(v, &m.TraceName)
		case "schemaVersion":
			m.Format = string(v)
		case "deviceProperties":
			var ds []struct {
				ID                         DeviceID
				Name                       string
				TotalGlobalMem             int64
				NumSms                     int
				ComputeMajor, ComputeMinor int
				WarpSize                   int
			}
			_ = json.Unmarshal(v, &ds)
			for _, d := range ds {
				m.Devices = append(m.Devices, GPU{d.ID, d.Name, d.TotalGlobalMem, d.NumSms, d.ComputeMajor, d.ComputeMinor, d.WarpSize})
			}
		case "distributedInfo":
			m.Distributed = v
			var di struct {
				Rank      *int
				WorldSize int `json:"world_size"`
				Backend   string
			}
			_ = json.Unmarshal(v, &di)
			if di.Rank != nil {
				m.Rank = *di.Rank
			}
			m.WorldSize, m.Backend = di.WorldSize, di.Backend
		default:
			m.Extra[k] = v
		}
	}
	b.SetMeta(m)
	for _, e := range events {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		addJSON(b, &cfg, e)
	}
	return b.Finish(), nil
}

func addJSON(b *Builder, cfg *config, e map[string]json.RawMessage) {
	str := func(v json.RawMessage) string {
		var s string
		if json.Unmarshal(v, &s) == nil {
			return s
		}
		return string(v)
	}
	num := func(v json.RawMessage) int64 {
		n, _ := strconv.ParseInt(strings.Trim(string(v), `"`), 10, 64)
		return n
	}
	us := func(v json.RawMessage) int64 {
		s := strings.Trim(string(v), `"`)
		whole, frac, _ := strings.Cut(s, ".")
		n, _ := strconv.ParseInt(whole, 10, 64)
		f, _ := strconv.ParseInt((frac + "000")[:3], 10, 64)
		return n*1000 + f
	}
	ph, cat := str(e["ph"]), str(e["cat"])
	b.Count(ph, cat, 1)
	if ph != "M" && e["ts"] != nil {
		b.See(us(e["ts"]))
	}
	if ph != "X" {
		return
	}
	name := str(e["name"])
	kind := KindOf(cat, name)
	if !cfg.lanes[kind.Lane()] {
		return
	}
	d := EventData{Kind: kind, Category: cat, Name: name, Start: us(e["ts"]), Duration: us(e["dur"]), Device: NoDevice, Stream: NoStream,
		Process: ProcessRef{ID: ProcessID(num(e["pid"]))}, Thread: ThreadID(num(e["tid"]))}
	var args map[string]json.RawMessage
	_ = json.Unmarshal(e["args"], &args)
	for k, v := range args {
		switch k {
		case "External id", "external id":
			d.ExternalID = uint64(num(v))
		case "correlation":
			d.Correlation = CorrelationID(num(v))
		case "device":
			d.Device = DeviceID(num(v))
		case "stream":
			d.Stream = StreamID(num(v))
		case "graph id":
			d.GraphID = uint64(num(v))
		case "graph node id":
			d.GraphNode = uint64(num(v))
		case "bytes":
			d.Bytes = num(v)
		case "Input Dims":
			d.Shape = string(v)
		}
	}
	if kind.Lane() == LaneGPU && args["grid"] != nil {
		d.Shape = strings.NewReplacer("[", "", "]", "", " ", "").Replace(string(args["grid"]) + "|" + string(args["block"]))
	}
	if cfg.args[kind] {
		d.Args = e["args"]
	}
	b.Add(d)
}
