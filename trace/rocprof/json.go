package rocprof

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

type handle struct {
	Handle int64 `json:"handle"`
}

type extent struct{ X, Y, Z int64 }

func (e extent) list() [3]int64 { return [3]int64{e.X, e.Y, e.Z} }

// The lists of records that are read; counterCollection is one of callbacks.
const (
	kernelDispatch    = "kernel_dispatch"
	memoryCopy        = "memory_copy"
	markerAPI         = "marker_api"
	counterCollection = "counter_collection"
)

// record is what all records of buffers have, and what those of some kinds have.
type record struct {
	Kind        int   `json:"kind"`
	Operation   int   `json:"operation"`
	Thread      int64 `json:"thread_id"`
	Correlation struct {
		Internal uint64 `json:"internal"`
	} `json:"correlation_id"`
	Start    int64  `json:"start_timestamp"`
	End      int64  `json:"end_timestamp"`
	Stream   handle `json:"stream_id"`
	Bytes    int64  `json:"bytes"`
	Source   handle `json:"src_agent_id"`
	Target   handle `json:"dst_agent_id"`
	Dispatch struct {
		Agent  handle `json:"agent_id"`
		Queue  handle `json:"queue_id"`
		Kernel int64  `json:"kernel_id"`
		Group  extent `json:"workgroup_size"`
		Grid   extent `json:"grid_size"`
	} `json:"dispatch_info"`
}

// agent is a processor.
type agent struct {
	ID      handle `json:"id"`
	Type    int    `json:"type"` // 2: GPU
	Name    string `json:"name"`
	Product string `json:"product_name"`
	Logical int64  `json:"logical_node_type_id"`
	GPU     *int64 `json:"gpu_index"`
	Units   int    `json:"cu_count"`
}

func (a *agent) device() trace.DeviceID {
	if a.GPU != nil && *a.GPU >= 0 {
		return trace.DeviceID(*a.GPU)
	}
	return trace.DeviceID(a.Logical)
}

// names are the texts of a table of records: kinds, and the operations of each.
type names []struct {
	Kind       string   `json:"kind"`
	Operations []string `json:"operations"`
}

func (n names) of(kind, operation int) (string, string) {
	if kind < 0 || kind >= len(n) {
		return "", ""
	}
	if operation < 0 || operation >= len(n[kind].Operations) {
		return n[kind].Kind, ""
	}
	return n[kind].Kind, n[kind].Operations[operation]
}

// reader reads one document. Lookups are before the records, so one pass is enough.
type reader struct {
	ctx context.Context
	dec *json.Decoder
	b   *trace.Builder
	l   *lanes

	process  int64
	scope    string
	agents   map[int64]*agent
	kernels  map[int64]string
	buffer   names
	markers  map[uint64]string
	counters []activity // dispatches that only counters have
	records  int
	unnamed  int64
	skipped  map[string]int64 // records that nothing here makes of
}

func readJSON(ctx context.Context, in io.Reader, name string, o trace.Options) (*trace.Trace, error) {
	r := &reader{ctx: ctx, dec: json.NewDecoder(bufio.NewReaderSize(in, 1<<16)), b: newBuilder(name, "rocprofv3", o),
		skipped: map[string]int64{}}
	r.dec.UseNumber()
	r.l = &lanes{b: r.b}
	err := r.object(func(key string) error {
		return r.array(func() error {
			r.agents, r.kernels, r.markers, r.buffer, r.counters, r.process = map[int64]*agent{}, map[int64]string{},
				map[uint64]string{}, nil, nil, 0
			return r.object(r.part)
		})
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		if r.records == 0 || !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("rocprofv3: %w at byte %d: %w", trace.ErrDamaged, r.dec.InputOffset(), err)
		}
		r.b.LoseDetail(event.Truncated, 1, fmt.Sprintf("the document ends within its records, at byte %d",
			r.dec.InputOffset()))
	}
	r.l.flush(false)
	if r.unnamed > 0 {
		r.b.LoseDetail(event.MissingTable, r.unnamed, "kernels whose symbol is not in the document")
	}
	for what, n := range r.skipped {
		r.b.LoseDetail(event.Dropped, n, "records of "+what+" say nothing that is read here")
	}
	return r.b.Finish(ctx)
}

// errShape is a document that is none of rocprofv3.
var errShape = errors.New("not the layout of rocprofv3")

// open reads an opening bracket.
func (r *reader) open(want json.Delim) error {
	tok, err := r.dec.Token()
	if err != nil {
		return ended(err)
	}
	if tok != want {
		return errShape
	}
	return r.ctx.Err()
}

func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// object calls f for each key of an object, which reads the value.
func (r *reader) object(f func(key string) error) error {
	if err := r.open('{'); err != nil {
		return err
	}
	for r.dec.More() {
		tok, err := r.dec.Token()
		if err != nil {
			return ended(err)
		}
		key, ok := tok.(string)
		if !ok {
			return errShape
		}
		if err := f(key); err != nil {
			return err
		}
	}
	_, err := r.dec.Token()
	return ended(err)
}

// array calls f for each element of an array, which reads it.
func (r *reader) array(f func() error) error {
	if err := r.open('['); err != nil {
		return err
	}
	for r.dec.More() {
		if err := f(); err != nil {
			return err
		}
	}
	_, err := r.dec.Token()
	return ended(err)
}

// skip reads a value that says nothing here, however deep.
func (r *reader) skip() error {
	for depth := 0; ; {
		tok, err := r.dec.Token()
		if err != nil {
			return ended(err)
		}
		if d, ok := tok.(json.Delim); ok {
			if d == '{' || d == '[' {
				depth++
			} else {
				depth--
			}
		}
		if depth == 0 {
			return r.ctx.Err()
		}
	}
}

// decode reads a value of a record.
func (r *reader) decode(v any) error { return ended(r.dec.Decode(v)) }

// The values of a process that are read.
const (
	partMetadata  = "metadata"
	partAgents    = "agents"
	partStrings   = "strings"
	partSymbols   = "kernel_symbols"
	partCallbacks = "callback_records"
	partBuffers   = "buffer_records"
)

// part reads one value of a process.
func (r *reader) part(key string) error {
	switch key {
	case partMetadata:
		var m struct {
			PID  int64 `json:"pid"`
			Node struct {
				Hostname string `json:"hostname"`
			} `json:"node"`
		}
		if err := r.decode(&m); err != nil {
			return err
		}
		r.process, r.scope = m.PID, strconv.FormatInt(m.PID, 10)
		return nil
	case partAgents:
		return r.array(func() error {
			var a agent
			if err := r.decode(&a); err != nil {
				return err
			}
			const gpu = 2
			if a.Type == gpu {
				r.agents[a.ID.Handle] = &a
				r.b.Meta.Devices = append(r.b.Meta.Devices, trace.GPU{ID: a.device(), Name: cmp.Or(a.Product, a.Name),
					SMs: a.Units})
			}
			return nil
		})
	case partStrings:
		var s struct {
			Buffer  names `json:"buffer_records"`
			Markers []struct {
				Key   uint64 `json:"key"`
				Value string `json:"value"`
			} `json:"marker_api"`
		}
		if err := r.decode(&s); err != nil {
			return err
		}
		r.buffer = s.Buffer
		for _, m := range s.Markers {
			r.markers[m.Key] = m.Value
		}
		return nil
	case partSymbols:
		return r.array(func() error {
			var s struct {
				ID        int64  `json:"kernel_id"`
				Formatted string `json:"formatted_kernel_name"`
				Demangled string `json:"demangled_kernel_name"`
				Name      string `json:"kernel_name"`
			}
			if err := r.decode(&s); err != nil {
				return err
			}
			r.kernels[s.ID] = strings.Clone(cmp.Or(s.Formatted, strings.TrimSuffix(s.Demangled, " [clone .kd]"),
				strings.TrimSuffix(s.Name, ".kd")))
			return nil
		})
	case partCallbacks:
		return r.object(func(key string) error {
			if key != counterCollection {
				return r.skip()
			}
			return r.array(func() error {
				var c struct {
					Data   record `json:"dispatch_data"`
					Thread int64  `json:"thread_id"`
					Stream handle `json:"stream_id"`
				}
				if err := r.decode(&c); err != nil {
					return err
				}
				c.Data.Thread, c.Data.Stream = c.Thread, c.Stream
				r.counters = append(r.counters, r.dispatch(&c.Data))
				return nil
			})
		})
	case partBuffers:
		dispatches := 0
		err := r.object(func(key string) error {
			return r.array(func() error {
				if key == kernelDispatch {
					dispatches++
				}
				return r.record(key)
			})
		})
		if dispatches == 0 { // counters alone were collected
			for _, a := range r.counters {
				r.l.add(a)
			}
		}
		return err
	}
	return r.skip()
}

// dispatch is a kernel.
func (r *reader) dispatch(x *record) activity {
	name, ok := r.kernels[x.Dispatch.Kernel]
	if !ok {
		r.unnamed++
		name = "kernel " + strconv.FormatInt(x.Dispatch.Kernel, 10)
	}
	return activity{trace.EventData{Kind: event.Kernel, Name: name, Start: x.Start, Duration: x.End - x.Start,
		Device:      r.device(x.Dispatch.Agent),
		Correlation: x.Correlation.Internal, Scope: r.scope,
		Shape: shape(x.Dispatch.Grid.list(), x.Dispatch.Group.list())}, x.Stream.Handle, x.Dispatch.Queue.Handle}
}

func (r *reader) device(a handle) trace.DeviceID {
	if g := r.agents[a.Handle]; g != nil {
		return g.device()
	}
	return trace.None
}

// record reads one record of a buffer.
func (r *reader) record(list string) error {
	var x record
	if err := r.decode(&x); err != nil {
		return err
	}
	r.records++
	if r.records%(1<<12) == 0 && r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	kind, operation := r.buffer.of(x.Kind, x.Operation)
	e := trace.EventData{Name: operation, Start: x.Start, Duration: x.End - x.Start, Process: r.process,
		Thread: x.Thread, Device: trace.None, Stream: trace.None,
		Correlation: x.Correlation.Internal, Scope: r.scope}
	switch list {
	case kernelDispatch:
		r.l.add(r.dispatch(&x))
		return nil
	case memoryCopy:
		device := r.device(x.Target)
		if device == trace.None {
			device = r.device(x.Source)
		}
		e.Kind, e.Name, e.Device, e.Bytes = event.Memcpy, copyName(operation), device, x.Bytes
		r.l.add(activity{e, x.Stream.Handle, 0})
		return nil
	case markerAPI:
		e.Kind, e.Correlation = event.Annotation, 0
		if text := r.markers[x.Correlation.Internal]; text != "" {
			e.Name = text
		}
		if x.Start == x.End {
			e.Kind = event.Mark
		}
	default:
		k, ok := callKind(kind)
		if !ok || operation == "" {
			r.skipped[list]++
			return nil
		}
		if e.Kind = k; k == event.Annotation {
			e.Correlation = 0
		}
	}
	r.b.Add(e)
	return nil
}
