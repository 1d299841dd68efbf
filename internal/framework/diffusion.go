package framework

// Diffusion is any server that hands a request to a diffusers pipeline: no
// prefill and no decode, and no kernels of the server.
func Diffusion() Framework {
	return Framework{
		Name:       "Diffusers",
		Keys:       []string{"diffusers"},
		Aliases:    []string{"diffusion"},
		ModelRoots: []string{"diffusers/"},
		LogMarks: []string{"Falling back to diffusers backend", "Using diffusers backend",
			"Loaded diffusers pipeline"},
	}
}
