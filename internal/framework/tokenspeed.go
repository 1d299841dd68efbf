package framework

// TokenSpeed is the TokenSpeed server. It has its steps from SGLang.
func TokenSpeed() Framework {
	return Framework{
		Name:        "TokenSpeed",
		Keys:        []string{"tokenspeed", "token-speed", "token_speed"},
		Aliases:     []string{"ts"},
		Roots:       []string{"tokenspeed/"},
		KernelRoots: []string{"tokenspeed_kernel/"},
		Ops:         []string{"tokenspeed::"},
		RankLabels:  []string{"rank", "tp"},
		Launch: "a TokenSpeed server has /start_profile on its HTTP port when its profiler routes are enabled, else " +
			"on its control server's, the port above",
	}
}
