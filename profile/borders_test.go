package profile_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/profile"
)

// TestBordersOfConfigs: the least and the largest number that a field of a config may have are read, the next ones
// refused.
func TestBordersOfConfigs(t *testing.T) {
	const layers, size = 4096, 1 << 40
	const experts = `"num_experts":4,`
	type border struct {
		field  string // with %d for the number
		lo, hi int64
	}
	list := []border{
		{`"num_nextn_predict_layers":%d`, 0, layers}, {`"num_hash_layers":%d`, 0, layers},
		{`"sliding_window":%d`, -1, size}, {`"sliding_window_size":%d`, -1, size},
		{`"full_attention_interval":%d`, 1, layers}, {`"sliding_window":8,"sliding_window_pattern":%d`, 1, layers},
		{`"attn_layer_period":%d`, 1, layers}, {`"attn_layer_period":4,"attn_layer_offset":%d`, 0, layers},
		{`"sliding_window":8,"use_sliding_window":true,"max_window_layers":%d`, 0, layers},
		{experts + `"decoder_sparse_step":%d`, 1, layers}, {experts + `"mlp_only_layers":[%d]`, 0, layers},
		{experts + `"first_k_dense_replace":%d`, 0, layers}, {experts + `"moe_layer_freq":%d`, 1, layers},
		{experts + `"interleave_moe_layer_step":%d`, 1, layers},
		{experts + `"expert_layer_period":%d`, 1, layers},
		{experts + `"expert_layer_period":2,"expert_layer_offset":%d`, 0, layers},
		{experts + `"moe_layer_start_index":%d`, 0, layers}, {experts + `"moe_layer_interval":%d`, 1, layers},
		{experts + `"moe_layer_start_index":0,"moe_layer_end_index":%d`, 0, layers},
		{experts + `"moe_layers":[%d]`, 0, 7}, {experts + `"moe_layers_enum":"%d"`, 0, 7},
		{`"attn_layer_indices":[%d]`, 0, 7}, {`"linear_attn_config":{"full_attn_layers":[%d]}`, 1, 8},
		{`"linear_attn_config":{"num_heads":%d}`, 0, size},
		{`"index_topk_freq":%d`, 0, layers}, {`"index_topk_freq":2,"index_skip_topk_offset":%d`, 0, layers},
		{`"mamba_dt_rank":%d`, 1, size}, {`"mamba_dt_rank":8,"mamba_expand":%d`, 0, 64},
		{`"compress_ratios":[4,4,4,4,4,4,4,%d]`, 0, size},
		{`"layer_types":[` + strings.Repeat(`"compressed_sparse_attention",`, 7) +
			`"compressed_sparse_attention"],"compress_rates":{"compressed_sparse_attention":%d}`, 0, size},
	}
	for _, name := range strings.Fields("vocab_size head_dim q_lora_rank o_lora_rank o_groups kv_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim index_n_heads " +
		"index_head_dim index_topk attention_chunk_size shared_expert_intermediate_size moe_latent_size hc_mult hc_sinkhorn_iters hidden_size num_attention_heads " +
		"num_key_value_heads intermediate_size num_experts num_experts_per_tok n_shared_experts moe_intermediate_size linear_num_key_heads linear_key_head_dim " +
		"linear_num_value_heads linear_value_head_dim linear_conv_kernel_dim") {
		list = append(list, border{`"` + name + `":%d`, 0, size})
	}
	for _, name := range strings.Fields("hidden_size num_key_value_heads intermediate_size num_experts moe_intermediate_size") {
		list = append(list, border{`"` + name + `":[3,%d]`, 0, size})
	}
	for _, b := range list {
		for n, want := range map[int64]bool{b.lo - 1: false, b.lo: true, b.hi: true, b.hi + 1: false} {
			fields := fmt.Sprintf(b.field, n)
			_, err := profile.ParseConfig(strings.NewReader(`{"num_hidden_layers":8,` + fields + `}`))
			if (err == nil) != want || err != nil && !errors.Is(err, profile.ErrLimit) &&
				!strings.Contains(fields, "enum") {
				t.Errorf("%s: %v, want it read: %v", fields, err, want)
			}
		}
	}
	for n, want := range map[int]bool{0: false, 1: true, layers: true, layers + 1: false} {
		for _, format := range []string{`{"num_hidden_layers":%d}`, `{"n_layer":%d}`} {
			if _, err := profile.ParseConfig(strings.NewReader(fmt.Sprintf(format, n))); (err == nil) != want {
				t.Errorf("%d layers: %v", n, err)
			}
		}
		ratios := `{"compress_ratios":[` + strings.TrimSuffix(strings.Repeat("4,", n), ",") + `]}`
		if _, err := profile.ParseConfig(strings.NewReader(ratios)); (err == nil) != want {
			t.Errorf("ratios of %d layers: %v", n, err)
		}
	}
}

// TestNestingOfTextModels: a language model is up to three objects deep; the fields of the innermost one count.
func TestNestingOfTextModels(t *testing.T) {
	for depth, want := range map[int]int{0: 7, 1: 7, 2: 7, 3: 7, 4: 5} {
		text := `{"num_hidden_layers":7}`
		for range depth {
			text = `{"num_hidden_layers":5,"text_config":` + text + `}`
		}
		if c := parseConfig(t, text); c.NumLayers != want {
			t.Errorf("%d deep: %d layers, want %d", depth, c.NumLayers, want)
		}
	}
}

// TestBordersOfProfiles: as many blocks, layers, rules and letters as a profile may have, and one more.
func TestBordersOfProfiles(t *testing.T) {
	repeat := func(n int, item string) string {
		return strings.TrimSuffix(strings.Repeat(item+",", n), ",")
	}
	letters := func(n int) string { return strings.Repeat("x", n) }
	rule := func(key, label, patterns string) string {
		return fmt.Sprintf(`"rules":[{"key":%q,"label":%q,"patterns":[%s]}]`, key, label, patterns)
	}
	for name, c := range map[string]struct {
		field  func(n int) string
		lo, hi int
	}{
		"blocks": {func(n int) string {
			var labels []string
			for i := range n {
				labels = append(labels, fmt.Sprintf("%q", fmt.Sprint("half ", i)))
			}
			return fmt.Sprintf(`"blocks_per_layer":%d,"half_labels":[%s]`, n, strings.Join(labels, ","))
		}, 1, 64},
		"default layers": {func(n int) string { return fmt.Sprintf(`"default_layers":%d`, n) }, 1, 4096},
		"rules": {func(n int) string {
			return `"rules":[` +
				repeat(n, `{"key":"a","label":"A","patterns":["p"]}`) + `]`
		}, 0, 4096},
		"renames": {func(n int) string { return `"renames":[` + repeat(n, `{"old":"a","new":"b"}`) + `]` },
			0, 4096},
		"patterns":            {func(n int) string { return rule("a", "A", repeat(n, `"p"`)) }, 1, 4096},
		"letters of a key":    {func(n int) string { return rule(letters(n), "A", `"p"`) }, 1, 4096},
		"letters of a label":  {func(n int) string { return rule("a", letters(n), `"p"`) }, 1, 4096},
		"letters of patterns": {func(n int) string { return rule("a", "A", `"`+letters(n)+`"`) }, 1, 4096},
		"letters of text":     {func(n int) string { return `"description":"` + letters(n) + `"` }, 0, 4096},
		"letters of anchors":  {func(n int) string { return `"anchor":"` + letters(n) + `"` }, 0, 4096},
	} {
		for n, want := range map[int]bool{c.lo - 1: false, c.lo: true, c.hi: true, c.hi + 1: false} {
			if n < 0 {
				continue
			}
			if _, err := profile.Parse(strings.NewReader(`{"name":"x",` + c.field(n) + `}`)); (err == nil) != want {
				t.Errorf("%d %s: %v, want it read: %v", n, name, err, want)
			}
		}
	}
	for n, want := range map[int]bool{0: false, 1: true, 4096: true, 4097: false} {
		if _, err := profile.Parse(strings.NewReader(`{"name":"` + letters(n) + `"}`)); (err == nil) != want {
			t.Errorf("a name of %d letters: %v", n, err)
		}
	}
}

// TestNamesOfKernelsAreShown: renames apply in order, do not let a name grow without bound, and what is shown has at
// most 80 letters.
func TestNamesOfKernelsAreShown(t *testing.T) {
	p := &profile.ModelProfile{BaseRenames: "none"}
	for n, want := range map[int]int{79: 79, 80: 80, 81: 80} {
		if got := len([]rune(p.DisplayName(strings.Repeat("x", n)))); got != want {
			t.Errorf("%d letters: %d are shown, want %d", n, got, want)
		}
	}
	// twice as long it has a million letters, or more
	for n, want := range map[int]bool{1 << 19: true, 1<<19 + 1: false} {
		p := &profile.ModelProfile{BaseRenames: "none",
			Renames: []profile.Rename{{Old: "x", New: "yy"}, {Old: "", New: "z"}}}
		if got := strings.HasPrefix(p.DisplayName(strings.Repeat("x", n)), "yy"); got != want {
			t.Errorf("a name of %d letters is renamed: %v, want %v", n, got, want)
		}
	}
	shorter := &profile.ModelProfile{BaseRenames: "none", Renames: []profile.Rename{{Old: "xx", New: "y"}}}
	if got := shorter.DisplayName(strings.Repeat("x", 3<<20)); !strings.HasPrefix(got, "yy") {
		t.Errorf("a long name is not made shorter: %.10s", got)
	}
}

// TestBordersOfServerArgs: sizes of up to a million ranks.
func TestBordersOfServerArgs(t *testing.T) {
	for _, name := range []string{"tp_size", "expert_parallel_size", "dp"} {
		for n, want := range map[int]bool{-1: false, 0: true, 1 << 20: true, 1<<20 + 1: false} {
			a, err := profile.ParseServerArgs(strings.NewReader(fmt.Sprintf(`{%q:%d}`, name, n)))
			if (err == nil) != want || err == nil && a.TPSize+a.EPSize+a.DPSize != n {
				t.Errorf("%s %d: %+v, %v", name, n, a, err)
			}
		}
	}
	yes, no := "true", "false"
	show := func(b *bool) string {
		if b == nil {
			return "unknown"
		}
		return fmt.Sprint(*b)
	}
	for text, want := range map[string][2]string{
		`{}`:                          {"unknown", "unknown"},
		`{"disable_cuda_graph":true}`: {no, "unknown"},
		`{"compilation_config":{"mode":0,"cudagraph_mode":0}}`:                {no, no},
		`{"compilation_config":{"mode":1,"cudagraph_mode":1}}`:                {"unknown", "unknown"},
		`{"compilation_config":{"level":0}}`:                                  {"unknown", no},
		`{"compilation_config":{"mode":"NONE","cudagraph_mode":"NONE"}}`:      {no, no},
		`{"enforce_eager":false,"compilation_config":{"cudagraph_mode":"0"}}`: {yes, yes},
	} {
		a, err := profile.ParseServerArgs(strings.NewReader(text))
		if err != nil || show(a.Graphs) != want[0] || show(a.Compile) != want[1] {
			t.Errorf("%s: graphs %s, compiled %s, %v; want %v", text, show(a.Graphs), show(a.Compile), err, want)
		}
	}
}

// TestClimbFromTheTrace: as many directories above a trace are looked at as bound the climb.
func TestClimbFromTheTrace(t *testing.T) {
	none := func(string) string { return "" }
	for below, want := range map[int]bool{0: true, 1: true, 63: true, 64: false} {
		root := t.TempDir()
		write(t, filepath.Join(root, "config.json"), `{"num_hidden_layers":2}`)
		trace := filepath.Join(root, strings.Repeat("d/", below), "a.json")
		write(t, trace, "{}")
		_, source, _, err := profile.FindConfigWith(none, trace)
		if (err == nil) != want {
			t.Errorf("%d directories above: %v, want it found: %v", below, err, want)
			continue
		}
		if err == nil && (source == "beside the trace") != (below == 0) {
			t.Errorf("%d directories above: %s", below, source)
		}
	}
}

// TestCachedModelsByName: a model of the cache is taken by its name in the trace's path, the longest first, and not
// by one of four letters.
func TestCachedModelsByName(t *testing.T) {
	hub := t.TempDir()
	for _, id := range []string{"models--acme--gpt2", "models--acme--gpt-2b", "models--acme--gpt-2b-chat",
		"models--gpt-9b", "datasets--acme--other9"} {
		write(t, filepath.Join(hub, id, "snapshots", "0123456789", "config.json"), `{"num_hidden_layers":2}`)
	}
	env := func(name string) string { return map[string]string{"HF_HUB_CACHE": hub}[name] }
	for path, want := range map[string]string{
		"gpt2-run": "", "x_GPT_2B_run": "acme/gpt-2b", "gpt2bchat": "acme/gpt-2b-chat", "gpt-9b": "gpt-9b",
		"other9": "", "none": "",
	} {
		trace := filepath.Join(t.TempDir(), path, "a.json")
		write(t, trace, "{}")
		found, _, _, err := profile.FindConfigWith(env, trace)
		got := ""
		if err == nil {
			got = found.NameOrPath
		}
		if got != want {
			t.Errorf("%s: %q, %v; want %q", path, got, err, want)
		}
	}
}

// TestSnapshotsOfACache: the snapshot that the revision points at, before the others by name.
func TestSnapshotsOfACache(t *testing.T) {
	hash := func(n int) string { return strings.Repeat("a", n) }
	for name, c := range map[string]struct {
		ref  string
		want int
	}{
		"a hash":                      {hash(40), 2},
		"with a line's end":           {hash(40) + "\n", 2},
		"with as much as is read":     {hash(40) + strings.Repeat(" ", 88) + "x", 2},
		"with something behind it":    {hash(40) + strings.Repeat(" ", 87) + "x", 1},
		"too short for a hash":        {hash(6), 1},
		"as short as one may be":      {hash(7), 3},
		"a hash of another snapshot":  {hash(39), 1},
		"what is no hash":             {"../../other", 1},
		"the longest that one may be": {hash(64), 4},
		"longer":                      {hash(65), 1},
	} {
		hub := t.TempDir()
		repo := filepath.Join(hub, "models--acme--decoder")
		for i, snap := range []string{"0000000", hash(40), hash(7), hash(64), hash(6), hash(65)} {
			write(t, filepath.Join(repo, "snapshots", snap, "config.json"),
				fmt.Sprintf(`{"num_hidden_layers":%d}`, i+1))
		}
		write(t, filepath.Join(repo, "refs", "main"), c.ref)
		env := func(name string) string { return map[string]string{"HF_HUB_CACHE": hub}[name] }
		run := t.TempDir()
		write(t, filepath.Join(run, "server_args.json"), `{"model_path":"acme/decoder"}`)
		found, _, _, err := profile.FindConfigWith(env, run)
		if err != nil || found.NumLayers != c.want {
			t.Errorf("%s: %+v, %v; want snapshot %d", name, found, err, c.want)
		}
	}
}

// TestBordersOfDocuments: four megabytes.
func TestBordersOfDocuments(t *testing.T) {
	for n, want := range map[int]bool{4 << 20: true, 4<<20 + 1: false} {
		text := `{"num_hidden_layers":2}`
		text += strings.Repeat(" ", n-len(text))
		if _, err := profile.ParseConfig(strings.NewReader(text)); (err == nil) != want {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
