package profile

// modes reads how the server runs the model: whether its decode steps replay graphs, and whether it compiles the model.
// What the arguments do not say stays nil.
func (a *ServerArgs) modes(f *fields) error {
	var disabled, eager, graphs, compile *bool
	for _, x := range []struct {
		dst  **bool
		name string
	}{
		{&disabled, "disable_cuda_graph"}, {&eager, "enforce_eager"}, {&graphs, "use_cuda_graph"}, {&compile, "enable_torch_compile"},
	} {
		if o, name, ok := f.find(x.name); ok && kindOf(o.fields[name]) == "bool" {
			v, _, err := o.flag(name)
			if err != nil {
				return err
			}
			*x.dst = &v
		}
	}
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
	if compile != nil {
		a.Compile = compile
	}
	a.Graphs = orSection(f, "cuda_graph_config", a.Graphs) // TensorRT-LLM
	a.Compile = orSection(f, "torch_compile_config", a.Compile)
	return a.compilation(f)
}

// orSection is told by a section that is an object where a feature is on, and null where it is off.
func orSection(f *fields, name string, told *bool) *bool {
	for _, o := range f.objects {
		if raw, ok := o.fields[name]; ok && told == nil {
			on := kindOf(raw) == "object"
			return &on
		}
	}
	return told
}

// compilation reads vLLM's compilation_config: mode (before: level) 0 does not compile, cudagraph_mode NONE has no graphs.
func (a *ServerArgs) compilation(f *fields) error {
	for _, o := range f.objects {
		if kindOf(o.fields["compilation_config"]) != "object" {
			continue
		}
		c, _, err := o.child("compilation_config")
		if err != nil {
			return err
		}
		off := false
		for _, name := range []string{"mode", "level"} {
			if string(c.fields[name]) == "0" || string(c.fields[name]) == `"NONE"` {
				a.Compile = &off
			}
		}
		if s := string(c.fields["cudagraph_mode"]); s == "0" || s == `"NONE"` {
			a.Graphs = &off
		}
	}
	return nil
}
