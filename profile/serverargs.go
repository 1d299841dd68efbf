package profile

import (
	"io"
)

// ServerArgs is what a server_args.json beside a trace says about the server.
// SGLang writes one into every profile directory.
type ServerArgs struct {
	// Path is the file it was read from, empty for a reader.
	Path string `json:"path,omitempty"`
	// Model is model_path (or model): a directory or a hub id.
	Model string `json:"model,omitempty"`
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

// LoadServerArgs reads a server_args.json.
func LoadServerArgs(path string) (*ServerArgs, error) {
	f, err := openRegular("server_args", path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a, err := ParseServerArgs(f)
	if err != nil {
		return nil, located(err, path)
	}
	a.Path = path
	return a, nil
}

// ParseServerArgs reads server arguments as JSON, by the names SGLang, vLLM and
// TensorRT-LLM use. Some tools wrap them in a "server_args" object.
func ParseServerArgs(r io.Reader) (*ServerArgs, error) {
	data, err := readDocument("server_args", r)
	if err != nil {
		return nil, err
	}
	o, err := parseObject("server_args", data)
	if err != nil {
		return nil, err
	}
	f := &fields{objects: []object{o}}
	if c, ok, err := o.child("server_args"); err != nil {
		return nil, err
	} else if ok {
		f.objects = []object{c, o}
	}
	a := &ServerArgs{}
	for _, x := range []struct {
		dst   *string
		names []string
	}{
		{&a.Model, []string{"model_path", "model", "model_dir"}},
		{&a.Revision, []string{"revision"}},
	} {
		if o, name, ok := f.find(x.names...); ok {
			if *x.dst, err = o.text(name); err != nil {
				return nil, err
			}
		}
	}
	for _, x := range []struct {
		dst   *int
		names []string
	}{
		{&a.TPSize, []string{"tp_size", "tensor_parallel_size", "tp"}},
		{&a.EPSize, []string{"ep_size", "expert_parallel_size", "moe_expert_parallel_size", "ep"}},
		{&a.DPSize, []string{"dp_size", "data_parallel_size", "dp"}},
	} {
		if err := f.number(x.dst, maxRanks, x.names...); err != nil {
			return nil, err
		}
	}
	if err := a.modes(f); err != nil {
		return nil, err
	}
	return a, nil
}
