package profile

import (
	"cmp"
	"io"
	"slices"
)

// ServerArgs is what a server_args.json beside a trace says about the server.
// SGLang writes one into every profile directory.
type ServerArgs struct {
	// Path is the file it was read from, empty for a reader.
	Path string `json:"path,omitempty"`
	// Model is model_path (or model): a directory or a hub id.
	Model string `json:"model,omitempty"`
	// Framework is the server, where the file names it.
	Framework string `json:"-"`
	// Revision of the model on the hub, often empty.
	Revision string `json:"revision,omitempty"`
	// TPSize, EPSize and DPSize are 0 when not given.
	TPSize int `json:"tp_size,omitempty"`
	EPSize int `json:"ep_size,omitempty"`
	DPSize int `json:"dp_size,omitempty"`
	// Graphs says whether decode steps replay graphs, Compile whether the model is compiled; nil where neither is said.
	Graphs  *bool `json:"graphs,omitempty"`
	Compile *bool `json:"compile,omitempty"`
}

// maxRanks bounds a parallel size. The largest jobs published have tens of
// thousands of GPUs.
const maxRanks = 1 << 20

// LoadServerArgs reads a server_args.json. The error names file and field.
func LoadServerArgs(path string) (*ServerArgs, error) {
	f, err := openRegular("server_args", path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a, err := parseServerArgs(f)
	if err != nil {
		return nil, located(err, path)
	}
	a.Path = path
	return a, nil
}

// parseServerArgs reads server arguments as JSON, by the names SGLang, vLLM and
// TensorRT-LLM use. Some tools wrap them in a "server_args" object.
func parseServerArgs(r io.Reader) (*ServerArgs, error) {
	data, err := readDocument("server_args", r)
	if err != nil {
		return nil, err
	}
	o, err := parseDocument("server_args", data)
	if err != nil {
		return nil, err
	}
	f := &fields{objects: []object{o}}
	if c := o.Field("server_args"); c.Given() {
		f.objects = []object{c.Object(), o}
	}
	a := &ServerArgs{}
	a.Model = f.find("model_path", "model", "model_dir").Text()
	a.Framework = f.find("framework").Text()
	a.Revision = f.find("revision").Text()
	f.number(&a.TPSize, maxRanks, "tp_size", "tensor_parallel_size", "tp")
	f.number(&a.EPSize, maxRanks, "ep_size", "expert_parallel_size", "moe_expert_parallel_size", "ep")
	f.number(&a.DPSize, maxRanks, "dp_size", "data_parallel_size", "dp")
	a.modes(f)
	if err := o.Err(); err != nil {
		return nil, err
	}
	return a, nil
}

// modes reads how the server runs the model: whether its decode steps replay graphs, and whether it compiles the model.
// What the arguments do not say stays nil.
func (a *ServerArgs) modes(f *fields) {
	said := func(name string) *bool {
		v := f.of(boolKind, name)
		if !v.Given() {
			return nil
		}
		on := v.Flag()
		return &on
	}
	disabled, eager, graphs := said("disable_cuda_graph"), said("enforce_eager"), said("use_cuda_graph")
	not := func(b *bool) *bool {
		v := !*b
		return &v
	}
	switch {
	case disabled != nil: // SGLang
		a.Graphs = not(disabled)
	case eager != nil: // vLLM: eager is neither graphs nor compilation
		a.Graphs, a.Compile = not(eager), not(eager)
	case graphs != nil:
		a.Graphs = graphs
	}
	a.Compile = cmp.Or(said("enable_torch_compile"), a.Compile)
	a.Graphs = orSection(f, "cuda_graph_config", a.Graphs) // TensorRT-LLM
	a.Compile = orSection(f, "torch_compile_config", a.Compile)
	a.compilation(f)
}

// orSection reads a flag from a section that is an object where a feature is on, and null where it is off.
func orSection(f *fields, name string, own *bool) *bool {
	for _, o := range f.objects {
		if raw, ok := o.Fields[name]; ok && own == nil {
			on := kindOf(raw) == objectKind
			return &on
		}
	}
	return own
}

// modeOff are the values of a mode of vLLM that does nothing.
var modeOff = []string{"0", `"NONE"`}

// compilation reads vLLM's compilation_config: mode (before: level) 0 does not compile, cudagraph_mode NONE has no
// graphs.
func (a *ServerArgs) compilation(f *fields) {
	for _, o := range f.objects {
		given := o.Field("compilation_config")
		if given.Kind() != objectKind {
			continue
		}
		c := given.Object()
		off := false
		for _, name := range []string{"mode", "level"} {
			if slices.Contains(modeOff, string(c.Fields[name])) {
				a.Compile = &off
			}
		}
		if slices.Contains(modeOff, string(c.Fields["cudagraph_mode"])) {
			a.Graphs = &off
		}
	}
}
