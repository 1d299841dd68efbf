package profile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/profile"
)

// FuzzParseConfig: any bytes give a config that keeps its promises or a *documentError,
// and every accessor works on what was accepted.
func FuzzParseConfig(f *testing.F) {
	for _, s := range []string{
		`{"num_hidden_layers":3,"num_nextn_predict_layers":1,"compress_ratios":[0,4,128,0],"num_hash_layers":1,"n_routed_experts":8}`,
		`{"text_config":{"num_hidden_layers":2,"layer_types":["sliding_attention","full_attention"],"num_experts":[1,2]},"hybrid_override_pattern":"M*"}`,
		`{"num_hidden_layers":2,"hybrid_override_pattern":"ME|/*","moe_layer_freq":[0,1],"x":[NaN,-Infinity]}`,
		`{"n_layers":4,"attn_layer_period":2,"attn_layer_offset":1,"moe_layers_enum":"1,2","sliding_window":-1}`,
	} {
		f.Add([]byte(s))
	}
	for _, path := range sharedConfigFiles(f) {
		if data, err := os.ReadFile(path); err == nil {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := profile.ParseConfig(bytes.NewReader(data))
		if err != nil {
			var pe *profile.Error
			if !errors.As(err, &pe) {
				t.Fatalf("error of type %T: %v", err, err)
			}
			return
		}
		if len(c.Layers) != c.NumLayers {
			t.Errorf("%d layer infos for %d layers", len(c.Layers), c.NumLayers)
		}
		if n := len(c.CompressRatios); n > 0 && c.NumLayers > 0 && n != c.NumLayers {
			t.Errorf("%d ratios for %d layers", n, c.NumLayers)
		}
		for _, last := range []bool{false, true} {
			sum := 0
			c.HashLast = last
			s := c.Summary()
			for _, tc := range s.Types {
				sum += tc.Count
			}
			if sum != c.NumLayers {
				t.Errorf("types count %d layers of %d", sum, c.NumLayers)
			}
			if len(s.Lines()) < 3 {
				t.Errorf("Lines = %q", s.Lines())
			}
			if _, err := json.Marshal(s); err != nil {
				t.Error(err)
			}
		}
		if p, reason := profile.Infer(c); p == nil || reason == "" {
			t.Error("Infer gives nothing")
		}
	})
}

func sharedConfigFiles(f *testing.F) []string {
	f.Helper()
	paths, err := os.ReadDir(testdata.Root(f) + "/../shared/configs")
	if err != nil {
		return nil // the seeds above remain
	}
	var out []string
	for _, p := range paths {
		out = append(out, testdata.Root(f)+"/../shared/configs/"+p.Name())
	}
	return out
}

// FuzzParseProfile: any bytes give a valid profile that survives a round trip
// and names every kernel, or a *documentError.
func FuzzParseProfile(f *testing.F) {
	f.Add([]byte(docExample(f)), "void acme::kernels::acme_moe_v2_impl")
	f.Add([]byte(`{"name":"x","renames":[{"old":"a","new":"aa"}],"rules":[{"key":"k","label":"L","patterns":["İ"],"ignore_case":true}]}`), strings.Repeat("a", 100))
	f.Add([]byte(`{"name":"x","base_rules":"none","base_renames":"none","anchor_position":"inside"}`), "\xff\xfe")
	f.Fuzz(func(t *testing.T, data []byte, kernel string) {
		p, err := profile.Parse(bytes.NewReader(data))
		if err != nil {
			var pe *profile.Error
			if !errors.As(err, &pe) {
				t.Fatalf("error of type %T: %v", err, err)
			}
			return
		}
		if err := p.Validate(); err != nil {
			t.Errorf("Parse returned an invalid profile: %v", err)
		}
		if got := p.DisplayName(kernel); utf8.RuneCountInString(got) > 80 {
			t.Errorf("DisplayName(%q) has %d characters", kernel, utf8.RuneCountInString(got))
		}
		class := p.Classify(kernel)
		if got := published(p).Facts(kernel); string(got.Category) != class.Key || got.Label != class.Label {
			t.Errorf("Ruleset of universal rules gives %v for %q, Classify %v", got, kernel, class)
		}
		if got := p.Ruleset().Facts(kernel); got.Category == "" {
			t.Errorf("Ruleset gives no category for %q", kernel)
		}
		out, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := profile.Parse(bytes.NewReader(out)); err != nil && utf8.Valid(data) {
			t.Errorf("written profile does not read back: %v\n%s", err, out)
		}
	})
}

// FuzzParallelism: names and metadata of any form give sizes of one at least, or none.
func FuzzParallelism(f *testing.F) {
	f.Add("x-TP-0.json.gz", []byte(`{"world_size": 8}`))
	f.Add("dp0_tp999999_rank7", []byte(`[`))
	f.Fuzz(func(t *testing.T, name string, info []byte) {
		if strings.ContainsAny(name, "/\x00") {
			return // stay inside the test's own directory
		}
		p, err := profile.InferParallelism(profile.ParallelHints{TracePath: t.TempDir() + "/" + name,
			Distributed: info})
		if err != nil || p.TP.N < 0 || p.EP.N < 0 || p.TP.Source == "" {
			t.Errorf("InferParallelism(%q, %q) = %v, %v", name, info, p, err)
		}
	})
}
