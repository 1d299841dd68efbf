package profile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/profile"
)

// TestConfigErrors: what is wrong is said with the field and what was found.
func TestConfigErrors(t *testing.T) {
	deep := strings.Repeat("[", 100_000)
	for _, tt := range []struct {
		config, field, want string
		is                  error
	}{
		{``, "", "empty", profile.ErrSyntax},
		{`[1]`, "", `starts with '['`, profile.ErrSyntax},
		{`{"num_hidden_layers": 3`, "", "offset", profile.ErrSyntax},
		{`{"num_hidden_layers": 3} x`, "", "offset", profile.ErrSyntax},
		{`{"a":` + deep, "", "nested deeper than 64", profile.ErrLimit},
		{`{}`, "", "no layer count", profile.ErrNotConfig},
		{`{"model_type":"llama"}`, "", "no layer count", profile.ErrNotConfig},
		{`{"num_hidden_layers": "43"}`, "num_hidden_layers", `got a string: "43"`, nil},
		{`{"num_hidden_layers": true}`, "num_hidden_layers", "got a bool", nil},
		{`{"num_hidden_layers": 0}`, "num_hidden_layers", "0 is outside 1…4096", profile.ErrLimit},
		{`{"num_hidden_layers": -1}`, "num_hidden_layers", "outside", profile.ErrLimit},
		{`{"num_hidden_layers": 1000000000}`, "num_hidden_layers", "outside 1…4096", profile.ErrLimit},
		{`{"num_hidden_layers": 1e999}`, "num_hidden_layers", "outside", profile.ErrLimit},
		{`{"num_hidden_layers": 99999999999999999999999}`, "num_hidden_layers", "outside", profile.ErrLimit},
		{`{"num_hidden_layers": 43.5}`, "num_hidden_layers", "whole number", nil},
		{`{"num_hidden_layers": NaN}`, "num_hidden_layers", "outside", profile.ErrLimit},
		{`{"text_config": {"num_hidden_layers": []}}`, "text_config.num_hidden_layers", "got a list", nil},
		{`{"text_config": 3}`, "text_config", "want an object, got a number", nil},
		{`{"num_hidden_layers": 2, "hidden_size": {"a": 1}}`, "hidden_size", "got an object", nil},
		{`{"num_hidden_layers": 2, "num_experts": [1, "x"]}`, "num_experts[1]", "got a string", nil},
		{`{"num_hidden_layers": 2, "architectures": "X"}`, "architectures", "want a list", nil},
		{`{"num_hidden_layers": 2, "compress_ratios": 4}`, "compress_ratios", "want a list", nil},
		{`{"num_hidden_layers": 2, "compress_ratios": [4, -4]}`, "compress_ratios[1]", "outside", profile.ErrLimit},
		{`{"num_hidden_layers": 2, "compress_ratios": [4, 4, 4]}`, "compress_ratios", "3 entries for 2 layers", nil},
		{`{"num_hidden_layers": 3, "num_nextn_predict_layers": 2, "compress_ratios": [4, 4, 4, 0]}`, "compress_ratios",
			"4 entries for 3 layers; only 3 + 2", nil},
		{`{"num_hidden_layers": 3, "num_nextn_predict_layers": 1, "compress_ratios": [4, 4]}`, "compress_ratios",
			"2 entries for 3 layers", nil},
		{`{"num_hidden_layers": 2, "layer_types": ["full_attention"]}`, "layer_types", "1 entries for 2 layers", nil},
		{`{"num_hidden_layers": 2, "hybrid_override_pattern": "M*M"}`, "hybrid_override_pattern",
			"3 letters for 2 layers", nil},
		{`{"num_hidden_layers": 2, "hybrid_override_pattern": "MX"}`, "hybrid_override_pattern[1]", `'X'`, nil},
		{`{"num_hidden_layers": 2, "full_attention_interval": 0}`, "full_attention_interval", "outside 1…",
			profile.ErrLimit},
		{`{"num_hidden_layers": 2, "num_experts": 2, "decoder_sparse_step": 0}`, "decoder_sparse_step", "outside 1…",
			profile.ErrLimit},
		{`{"num_hidden_layers": 2, "num_experts": 2, "moe_layer_freq": 0}`, "moe_layer_freq", "outside 1…",
			profile.ErrLimit},
		{`{"num_hidden_layers": 2, "num_experts": 2, "moe_layers": [2]}`, "moe_layers[0]", "outside 0…1",
			profile.ErrLimit},
		{`{"num_hidden_layers": 2, "num_experts": 2, "moe_layers_enum": "1,x"}`, "moe_layers_enum[1]", "got x", nil},
		{`{"num_hidden_layers": 2, "num_experts": 2, "mlp_layer_types": ["moe", "mow"]}`, "mlp_layer_types[1]", `"mow"`,
			nil},
		{`{"num_hidden_layers": 2, "use_sliding_window": 1}`, "use_sliding_window", "want true or false", nil},
	} {
		c, err := profile.ParseConfig(strings.NewReader(tt.config))
		var pe *profile.Error
		if !errors.As(err, &pe) {
			t.Errorf("ParseConfig(%.60s) = %v, %v; want a *profile.Error", tt.config, c, err)
			continue
		}
		if pe.Field != tt.field || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParseConfig(%.60s): field %q, error %q; want field %q, text %q", tt.config, pe.Field, err,
				tt.field, tt.want)
		}
		if tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("ParseConfig(%.60s) = %v, want it to wrap %v", tt.config, err, tt.is)
		}
		if len(err.Error()) > 300 {
			t.Errorf("ParseConfig(%.60s): error of %d bytes", tt.config, len(err.Error()))
		}
	}
}

// TestConfigTolerance: what real files hold beside the standard.
func TestConfigTolerance(t *testing.T) {
	for _, tt := range []struct {
		config string
		layers int
	}{
		{"\xef\xbb\xbf{\"num_hidden_layers\": 3}", 3},
		{`{"num_hidden_layers": 3.0, "time_step_limit": [0.0, Infinity, -Infinity, NaN]}`, 3},
		{`{"num_hidden_layers": 3, "note": "Infinity NaN \" -Infinity {{{"}`, 3},
		{`{"n_layer": 12, "n_embd": 8, "num_hidden_layers": null}`, 12},
		{`{"num_layers": 28, "sliding_window": null, "num_experts": [4, 8, 8]}`, 28},
		{`{"compress_ratios": [4, 128], "kv_lora_rank": null}`, 0},
	} {
		c, err := profile.ParseConfig(strings.NewReader(tt.config))
		if err != nil || c.NumLayers != tt.layers {
			t.Errorf("ParseConfig(%q) = %+v, %v; want %d layers", tt.config, c, err, tt.layers)
		}
	}
	if c, err := profile.ParseConfig(strings.NewReader(`{"num_layers": 2, "num_experts": [4, 8, 8]}`)); err != nil ||
		c.NumExperts != 8 {
		t.Errorf("num_experts per layer: %+v, %v; want the largest, 8", c, err)
	}
}

func TestLoadConfigPaths(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "config.json"), `{"num_hidden_layers": 5}`)
	for _, path := range []string{dir, filepath.Join(dir, "config.json")} {
		c, err := profile.LoadConfig(path)
		if err != nil || c.NumLayers != 5 || c.Path != filepath.Join(dir, "config.json") {
			t.Errorf("LoadConfig(%s) = %+v, %v", path, c, err)
		}
		if err == nil && c.Name() != filepath.Base(dir) {
			t.Errorf("Name() = %q, want the directory's name %q", c.Name(), filepath.Base(dir))
		}
	}
	missing := filepath.Join(dir, "no.json")
	if _, err := profile.LoadConfig(missing); !errors.Is(err, os.ErrNotExist) ||
		strings.Count(err.Error(), missing) != 1 {
		t.Errorf("LoadConfig of a missing file: %v; want ErrNotExist naming it once", err)
	}
	bad := filepath.Join(dir, "bad.json")
	write(t, bad, `{"num_hidden_layers": "x"}`)
	want := fmt.Sprintf(`profile: config %s: num_hidden_layers: want a whole number, got a string: "x"`, bad)
	if _, err := profile.LoadConfig(bad); err == nil || err.Error() != want {
		t.Errorf("LoadConfig = %v, want %s", err, want)
	}
	big := filepath.Join(dir, "big.json")
	write(t, big, strings.Repeat(" ", 5<<20))
	if _, err := profile.LoadConfig(big); !errors.Is(err, profile.ErrLimit) {
		t.Errorf("LoadConfig of 5 MiB: %v, want ErrLimit", err)
	}
	if _, err := profile.LoadConfig(os.DevNull); err == nil || !strings.Contains(err.Error(), "regular") {
		t.Errorf("LoadConfig of a device: %v", err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
