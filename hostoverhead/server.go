package hostoverhead

import (
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// servers are the frameworks whose signs are looked for.
var servers = framework.All()

// serverOf is the server that ran: the one whose code appears most among the Python frames, else the one whose operators
// do, else the one whose step annotations there are. Its Name is "" where nothing tells.
func (w *workload) serverOf(d *layer.Device) framework.Framework {
	frames, ops := make([]int, len(servers)), make([]int, len(servers))
	for id := range trace.NameID(w.t.NumNames()) {
		name := w.t.Name(id)
		f, isFrame := framework.ParseFrame(name)
		for k := range servers {
			switch {
			case !servers[k].Server():
			case isFrame && servers[k].OwnsFile(f.Path):
				frames[k]++
			case !isFrame && servers[k].OwnsOp(name):
				ops[k]++
			}
		}
	}
	for _, counts := range [][]int{frames, ops} {
		best := 0
		for k, n := range counts {
			if n > counts[best] {
				best = k
			}
		}
		if counts[best] > 0 {
			return servers[best]
		}
	}
	if d == nil {
		return framework.Framework{}
	}
	for i := range d.Passes {
		if s := d.Passes[i].Annotation; s != nil {
			if f, _, ok := framework.ReadStep(servers, s.Name); ok && f.Server() {
				return *f
			}
		}
	}
	return framework.Framework{}
}

// serving is what a server does, as it was told, else by its defaults: SGLang and TensorRT-LLM replay graphs in decode,
// vLLM does and compiles the model.
func serving(told *Serving, f framework.Framework) *Serving {
	s := Serving{Framework: f.Name}
	if told != nil {
		s = *told
	}
	if s.Framework == "" {
		s.Framework = f.Name
	}
	yes := true
	byDefault := map[string]Serving{
		framework.SGLang().Name: {Graphs: &yes}, framework.TensorRTLLM().Name: {Graphs: &yes}, framework.VLLM().Name: {Graphs: &yes, Compile: &yes},
	}[s.Framework]
	if s.Source == "" {
		s.Source = "by default"
	}
	if told == nil {
		s.Graphs, s.Compile = byDefault.Graphs, byDefault.Compile
	}
	return &s
}
