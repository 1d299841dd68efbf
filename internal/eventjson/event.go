package eventjson

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// categories are those of torch.profiler, for events of other sources. What it has no category for keeps the name of
// its kind, which readers do not interpret.
var categories = map[event.Kind]string{
	event.Kernel: "kernel", event.Memcpy: "gpu_memcpy", event.Memset: "gpu_memset", event.Runtime: "cuda_runtime",
	event.Driver: "cuda_driver",
	event.Op:     "cpu_op", event.Frame: "python_function", event.Module: "python_function",
	event.Annotation:    "user_annotation",
	event.GPUAnnotation: "gpu_user_annotation", event.Range: "user_annotation", event.Sync: "cuda_sync",
	event.Overhead: "overhead",
}

// categoryOf is an event's category: its own where readers take it for what it is.
func categoryOf(d *trace.EventData) string {
	if d.Category != "" && event.Kind(kind.Of(d.Category, d.Name)) == d.Kind {
		return d.Category
	}
	if c := categories[d.Kind]; c != "" {
		return c
	}
	return d.Kind.String()
}

// event writes one event of part i, and the arrow of a launch.
func (x *writer) event(i int, pids []int, e trace.Event) {
	p := &x.parts[i]
	pid, tid := 0, 0
	if th := e.Thread(); th >= 0 && int(th) < len(pids) {
		pid, tid = pids[th], int(th)+1
	} else if d, ok := x.devices[i][e.Device()]; ok {
		pid, tid = (i+1)*partRoom+firstGPU+d, int(e.Stream())
	}
	at := p.Trace.Raw(e.Start()) + p.Shift
	d := e.Data()
	if e.Kind() == event.Counter {
		x.open("C", categoryOf(&d), e.Name(), pid, tid, at)
		x.b = strconv.AppendFloat(append(x.b, `,"args":{"value":`...), d.Value, 'g', -1, 64)
		x.b = append(x.b, '}')
		x.close()
		return
	}
	x.open("X", categoryOf(&d), e.Name(), pid, tid, at)
	x.duration(d.Duration)
	x.args(i, e, &d)
	x.close()
	x.arrow(i, pid, tid, at, e)
}

// correlation is the number of the launch of an event: its own ones are a process's, and a trace may have
// several. 0: none.
func (x *writer) correlation(i int, e trace.Event) uint64 {
	switch {
	case e.Kind().Lane() == event.LaneLaunch:
		return x.own(i, uint64(e.ID())+1)
	case e.Kind().Lane() == event.LaneGPU && e.Launch().Valid():
		return x.own(i, uint64(e.Launch().ID())+1)
	}
	return 0
}

// own makes a number that is one part's own different from those of the others.
func (x *writer) own(i int, n uint64) uint64 {
	if n == 0 || len(x.parts) == 1 {
		return n
	}
	return n*uint64(len(x.parts)) + uint64(i)
}

// launches reports whether an event is a call that launched something.
func launches(e trace.Event) bool {
	for range e.Activities() {
		return true
	}
	return false
}

// arrow connects a launch with what it launched.
func (x *writer) arrow(i, pid, tid int, at int64, e trace.Event) {
	begins, ends := launches(e), e.Kind().Lane() == event.LaneGPU && e.Launch().Valid()
	if !begins && !ends {
		return
	}
	ph, more := "s", ""
	if !begins {
		ph, more = "f", `,"bp":"e"`
	}
	x.open(ph, kind.FlowCategory, kind.FlowCategory, pid, tid, at)
	x.b = append(strconv.AppendUint(append(x.b, `,"id":`...), x.correlation(i, e), 10), more...)
	x.close()
}

// args are what readers ask of an event.
func (x *writer) args(i int, e trace.Event, d *trace.EventData) {
	b := append(x.b, `,"args":{`...)
	first := true
	key := func(name string) {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(append(append(b, '"'), name...), `":`...)
	}
	number := func(name string, n uint64) {
		if n != 0 {
			key(name)
			b = strconv.AppendUint(b, n, 10)
		}
	}
	if d, ok := x.devices[i][e.Device()]; ok && (e.Kind().Lane() == event.LaneGPU || e.Kind() == event.GPUAnnotation ||
		e.Kind() == event.Sync) {
		key(kind.ArgDevice)
		b = strconv.AppendInt(b, int64(d), 10)
		key(kind.ArgStream)
		b = strconv.AppendInt(b, int64(e.Stream()), 10)
	}
	number(kind.ArgCorrelation, x.correlation(i, e))
	number(kind.ArgExternalID, x.own(i, d.ExternalID))
	number(kind.ArgGraphID, d.GraphID)
	number(kind.ArgGraphNode, d.GraphNode)
	number(kind.ArgBytes, uint64(max(0, d.Bytes)))
	if grid, block, ok := strings.Cut(d.Shape, "|"); ok && list(grid) && list(block) {
		key(kind.ArgGrid)
		b = append(append(append(b, '['), grid...), ']')
		key(kind.ArgBlock)
		b = append(append(append(b, '['), block...), ']')
	}
	if s := d.Shape; e.Kind().Lane() == event.LaneOp && s != "" && json.Valid([]byte(s)) {
		key(kind.ArgInputDims)
		b = append(b, s...)
	}
	if s := d.CallStack; s != "" {
		key(kind.ArgCallStack)
		b = appendText(b, s)
	}
	if s := d.Domain; s != "" {
		key("domain")
		b = appendText(b, s)
	}
	x.b = append(b, '}')
}

// list reports whether a text is numbers between commas.
func list(s string) bool {
	return s != "" && strings.Trim(s, "0123456789,") == "" && s[0] != ',' && s[len(s)-1] != ',' &&
		!strings.Contains(s, ",,")
}
