package profile_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/profile"
)

// env returns a Getenv over fixed values, so that no test sees the cache of the
// machine it runs on.
func env(kv ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(kv); i += 2 {
			if kv[i] == name {
				return kv[i+1]
			}
		}
		return ""
	}
}

func cfg(layers string) string { return `{"num_hidden_layers": ` + layers + `}` }

// TestFindConfig lays files out and says which must be found.
func TestFindConfig(t *testing.T) {
	const trace = "run/profile/r0.json.gz"
	for _, tt := range []struct {
		name   string
		files  map[string]string
		env    []string // values beginning with ./ are below the test's directory
		want   string   // path found, "" for none
		source string
		tried  string
	}{
		{name: "beside the trace", files: map[string]string{"run/profile/config.json": cfg("1"),
			"run/config.json": cfg("2")},
			want: "run/profile/config.json", source: "beside the trace"},
		{name: "in a parent", files: map[string]string{"config.json": cfg("1")}, want: "config.json",
			source: "in a parent directory of the trace"},
		{name: "a config of something else is passed over",
			files: map[string]string{"run/profile/config.json": `{"color": "red"}`, "run/config.json": cfg("2")},
			want:  "run/config.json", source: "in a parent", tried: "not a model config"},
		{name: "a broken config is passed over", files: map[string]string{"run/profile/config.json": `{`,
			"run/config.json": cfg("2")},
			want: "run/config.json", source: "in a parent", tried: "not a JSON object"},
		{name: "server args name a directory", files: map[string]string{"run/profile/server_args.json": `{"model_path": "../../models/m"}`, "models/m/config.json": cfg("3"), "config.json": cfg("9")},
			want: "models/m/config.json", source: "model_path of"},
		{name: "server args name a hub id", files: map[string]string{
			"run/server_args.json": `{"model": "Org/Model-1"}`,
			"hub/models--Org--Model-1/snapshots/aaaaaaaa/config.json": cfg("4"),
			"hub/models--Org--Model-1/snapshots/bbbbbbbb/config.json": cfg("5"),
			"hub/models--Org--Model-1/refs/main":                      "bbbbbbbb\n",
		}, env: []string{"HF_HUB_CACHE", "./hub"}, want: "hub/models--Org--Model-1/snapshots/bbbbbbbb/config.json",
			source: "Hugging Face cache, named by"},
		{name: "HF_HOME, no ref: first by name", files: map[string]string{
			"run/server_args.json": `{"server_args": {"model_path": "Org/Model-1"}}`,
			"hf/hub/models--Org--Model-1/snapshots/bbbbbbbb/config.json": cfg("5"),
			"hf/hub/models--Org--Model-1/snapshots/aaaaaaaa/config.json": cfg("4"),
		}, env: []string{"HF_HOME", "./hf"}, want: "hf/hub/models--Org--Model-1/snapshots/aaaaaaaa/config.json",
			source: "Hugging Face cache"},
		{name: "a cache path of another machine still names the model", files: map[string]string{
			"run/server_args.json": `{"model_path": "/data/hf/hub/models--Org--Model-1/snapshots/cccccccc"}`,
			"home/.cache/huggingface/hub/models--Org--Model-1/snapshots/cccccccc/config.json": cfg("4"),
		}, env: []string{"HOME", "./home"}, want: "home/.cache/huggingface/hub/models--Org--Model-1/snapshots/cccccccc/config.json"},
		{name: "a model that is nowhere", files: map[string]string{"run/server_args.json": `{"model_path": "/no/such"}`,
			"config.json": cfg("9")},
			want: "config.json", tried: "names the model /no/such, which is no directory here"},
		{name: "an id with dots climbs nowhere", files: map[string]string{"run/server_args.json": `{"model_path": "../.."}`,
			"config.json": cfg("9")},
			want: "config.json"},
		{name: "server args without a model", files: map[string]string{"run/server_args.json": `{"tp_size": 4}`},
			want: "", tried: "names no model"},
		{name: "none", files: map[string]string{}, want: "", tried: ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			write(t, filepath.Join(root, trace), "x")
			for name, text := range tt.files {
				write(t, filepath.Join(root, name), text)
			}
			vars := append([]string(nil), tt.env...)
			for i := 1; i < len(vars); i += 2 {
				vars[i] = filepath.Join(root, vars[i])
			}
			found, source, tried, err := profile.FindConfigWith(env(vars...), filepath.Join(root, trace))
			if tt.want == "" {
				if !errors.Is(err, profile.ErrNoConfig) || !strings.Contains(err.Error(), tt.tried) ||
					!strings.Contains(err.Error(), "name a profile") {
					t.Fatalf("found %+v, %v; want ErrNoConfig, %q and what to do", found, err, tt.tried)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := filepath.Join(root, tt.want); found.Path != want {
				t.Errorf("found %s (%s), want %s", found.Path, source, want)
			}
			if !strings.Contains(source, tt.source) {
				t.Errorf("source %q, want %q in it", source, tt.source)
			}
			if !strings.Contains(strings.Join(tried, "; "), tt.tried) {
				t.Errorf("passed over %q, want %q in it", tried, tt.tried)
			}
		})
	}
}

// TestFindConfigByName: a cached model whose name is in the trace's path is
// taken, the longest such name, and named after its hub id.
func TestFindConfigByName(t *testing.T) {
	root := t.TempDir()
	trace := filepath.Join(root, "sglang-qwen3-8b-decode.json.gz")
	write(t, trace, "x")
	for _, id := range []string{"Qwen--Qwen3-8B", "Other--qwen3", "Org--gpt2", "Qwen--Qwen3-8B-decode-x"} {
		write(t, filepath.Join(root, "hub", "models--"+id, "snapshots", "aaaaaaaa", "config.json"), cfg("36"))
	}
	cache := env("HF_HUB_CACHE", filepath.Join(root, "hub"))
	found, source, _, err := profile.FindConfigWith(cache, trace)
	if err != nil {
		t.Fatal(err)
	}
	if found.Name() != "Qwen/Qwen3-8B" || !strings.Contains(source, "Qwen/Qwen3-8B is in the trace's path") {
		t.Errorf("found %s: %s", found.Name(), source)
	}
	if _, _, _, err := profile.FindConfigWith(cache, filepath.Join(root, "gpt2.json")); !errors.Is(err, profile.ErrNoConfig) {
		t.Errorf("Find by a name of four letters: %v, want ErrNoConfig", err)
	}
}

func TestServerArgs(t *testing.T) {
	for _, tt := range []struct {
		text string
		want profile.ServerArgs
		err  string
	}{
		{`{"model_path": "m", "tp_size": 8, "ep_size": 4, "dp_size": 2, "revision": null, "x": [1]}`,
			profile.ServerArgs{Model: "m", TPSize: 8, EPSize: 4, DPSize: 2}, ""},
		{`{"model": "m", "tensor_parallel_size": 2, "revision": "v1"}`,
			profile.ServerArgs{Model: "m", TPSize: 2, Revision: "v1"}, ""},
		{`{"server_args": {"tp": 2}, "model": "m"}`, profile.ServerArgs{Model: "m", TPSize: 2}, ""},
		{`{}`, profile.ServerArgs{}, ""},
		{`{"tp_size": "8"}`, profile.ServerArgs{}, `tp_size: want a whole number, got a string: "8"`},
		{`{"tp_size": 1e18}`, profile.ServerArgs{}, "outside"},
		{`{"model_path": 1}`, profile.ServerArgs{}, "model_path: want a string"},
	} {
		got, err := profile.ParseServerArgs(strings.NewReader(tt.text))
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("ParseServerArgs(%s) = %v, want %q", tt.text, err, tt.err)
			}
			continue
		}
		if err != nil || *got != tt.want {
			t.Errorf("ParseServerArgs(%s) = %+v, %v; want %+v", tt.text, got, err, tt.want)
		}
	}
}
