package profile_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/profile"
)

// docExample returns the JSON block of docs/profiles.md.
func docExample(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testdata.Root(t), "docs", "profiles.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(data), "```json\n")
	if !ok {
		t.Fatal("docs/profiles.md has no JSON block")
	}
	block, _, _ := strings.Cut(rest, "```")
	return block
}

// TestDocumentedExample loads the example of docs/profiles.md and uses it.
func TestDocumentedExample(t *testing.T) {
	path := filepath.Join(t.TempDir(), "acme.json")
	write(t, path, docExample(t))
	p, err := profile.Resolve(path)
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "acme_decoder" || p.AnchorPosition != profile.AnchorCloses || p.BlocksPerLayer != 2 ||
		p.DefaultLayers != 32 || len(p.Rules) != 3 {
		t.Errorf("Resolve = %+v", p)
	}
	if got, want := p.DisplayName("void acme::kernels::ACMEMOE_v2_impl<1>"), "ACMEMOE<1>"; got != want {
		t.Errorf("DisplayName = %q, want %q", got, want)
	}
	if got := p.Classify("void acme::kernels::ACMEMOE_v2_impl<1>"); got.Key != "moe" {
		t.Errorf("Classify = %v, want moe", got)
	}
	rules := p.Ruleset()
	for name, want := range map[string]string{"acme_kv_write": "kv_write", "nvjet_tst_128x8": "gemm",
		"acme_paged_attn": "attention"} {
		if got := rules.Facts(name); string(got.Category) != want {
			t.Errorf("Ruleset().Classify(%q) = %v, want %s", name, got, want)
		}
	}
}

// TestDocumentedTable: the table of built-in profiles in docs/profiles.md has a
// row for each.
func TestDocumentedTable(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(testdata.Root(t), "docs", "profiles.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range profile.Names() {
		if !strings.Contains(string(data), "| `"+name+"` |") {
			t.Errorf("docs/profiles.md has no row for %s", name)
		}
	}
}

// TestBuiltinsRoundTrip: a built-in profile written as JSON is a valid profile
// file and reads back the same.
func TestBuiltinsRoundTrip(t *testing.T) {
	if got := len(profile.Names()); got != 7 {
		t.Errorf("%d built-in profiles, want 7", got)
	}
	for _, name := range profile.Names() {
		want, ok := profile.Builtin(name)
		if !ok {
			t.Fatalf("Builtin(%q) is missing", name)
		}
		if err := want.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := profile.Parse(strings.NewReader(string(data)))
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, data)
			continue
		}
		want.BaseRenames = profile.BaseStandard // the zero value means it
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestBuiltinIsACopy: changing what Builtin returned changes nothing else.
func TestBuiltinIsACopy(t *testing.T) {
	a, _ := profile.Builtin(profile.DSV4)
	a.Rules[0].Patterns[0], a.HalfLabels[0] = "changed", "changed"
	b, _ := profile.Builtin(profile.DSV4)
	if b.Rules[0].Patterns[0] == "changed" || b.HalfLabels[0] == "changed" {
		t.Error("Builtin shares slices with its copies")
	}
	if _, ok := profile.Builtin("nope"); ok {
		t.Error("Builtin knows nope")
	}
}

func TestProfileDefaults(t *testing.T) {
	p, err := profile.Parse(strings.NewReader(`{"name": "x"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &profile.ModelProfile{
		Name: "x", AnchorPosition: profile.AnchorUnknown, BlocksPerLayer: 1, HalfLabels: []string{"full"},
		DefaultLayers: 1,
		BaseRules:     "universal", BaseRenames: profile.BaseStandard,
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("Parse (-want +got):\n%s", diff)
	}
	if got := p.Ruleset().Facts("my_quant_kernel"); got.Category != classify.Category("quant") {
		t.Errorf("base rules default to %v, want the universal ones", got)
	}
}

func TestBaseNone(t *testing.T) {
	p, err := profile.Parse(strings.NewReader(`{"name": "x", "base_rules": "none", "base_renames": "none"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Ruleset().Facts("my_quant_kernel"); got.Category != classify.CategoryOther || got.Label != "Other" {
		t.Errorf("Ruleset = %v, want other", got)
	}
	if got := p.DisplayName("void at::native::x"); got != "void at::native::x" {
		t.Errorf("DisplayName = %q, want the name itself", got)
	}
}

// TestProfileErrors changes one thing per case in a good file.
func TestProfileErrors(t *testing.T) {
	for _, tt := range []struct{ text, field, want string }{
		{`{}`, "name", "must not be empty"},
		{`{"name": 3}`, "name", "want a string, got a number: 3"},
		{`{"name": "x", "ancor": "y"}`, "ancor", "unknown field; known are name,"},
		{`{"name": "x", "anchor_position": "middle"}`, "anchor_position",
			`want closes, opens, inside or unknown, got "middle"`},
		{`{"name": "x", "auto_anchors": [""]}`, "auto_anchors[0]", "must not be empty"},
		{`{"name": "x", "blocks_per_layer": 0}`, "blocks_per_layer", "outside 1…64"},
		{`{"name": "x", "blocks_per_layer": 2}`, "half_labels", "missing"},
		{`{"name": "x", "blocks_per_layer": 2, "half_labels": ["a"]}`, "half_labels", "1 labels for 2 blocks"},
		{`{"name": "x", "blocks_per_layer": 2, "half_labels": ["a", "a"]}`, "half_labels[1]",
			`"a" is also half_labels[0]`},
		{`{"name": "x", "half_labels": [""]}`, "half_labels[0]", "must not be empty"},
		{`{"name": "x", "default_layers": 1e9}`, "default_layers", "outside 1…4096"},
		{`{"name": "x", "base_rules": "all"}`, "base_rules", "want universal, rich or none"},
		{`{"name": "x", "base_renames": "all"}`, "base_renames", "want standard or none"},
		{`{"name": "x", "rules": {}}`, "rules", "want a list, got an object"},
		{`{"name": "x", "rules": [3]}`, "rules[0]", "want an object, got a number"},
		{`{"name": "x", "rules": [{"key": "a", "label": "A", "patterns": ["p"]}, {"label": "A", "patterns": ["p"]}]}`,
			"rules[1].key", "must not be empty"},
		{`{"name": "x", "rules": [{"key": "a", "patterns": ["p"]}]}`, "rules[0].label", "must not be empty"},
		{`{"name": "x", "rules": [{"key": "a", "label": "A"}]}`, "rules[0].patterns", "at least one pattern"},
		{`{"name": "x", "rules": [{"key": "a", "label": "A", "patterns": ["p", ""]}]}`, "rules[0].patterns[1]",
			"would match every kernel"},
		{`{"name": "x", "rules": [{"key": "a", "label": "A", "patterns": ["p", 7]}]}`, "rules[0].patterns[1]",
			"want a string"},
		{`{"name": "x", "rules": [{"key": "a", "label": "A", "patterns": "p"}]}`, "rules[0].patterns",
			"want a list, got a string"},
		{`{"name": "x", "rules": [{"key": "a", "label": "A", "patterns": ["p"], "case": true}]}`, "rules[0].case",
			"unknown field"},
		{`{"name": "x", "rules": [{"key": "a", "label": "A", "patterns": ["p"], "ignore_case": "yes"}]}`,
			"rules[0].ignore_case", "want true or false"},
		{`{"name": "x", "rules": [{"key": "a", "label": "A", "patterns": ["p"]}, {"key": "a", "label": "B", "patterns": ["q"]}]}`, "rules[1].label", `key "a" already has the label "A"`},
		{`{"name": "x", "renames": [{"old": "a", "new": "b"}, {"new": "b"}]}`, "renames[1].old", "must not be empty"},
		{`{"name": "x", "renames": [{"old": "a", "to": "b"}]}`, "renames[0].to", "unknown field"},
		{`{"name": "x"`, "", "not a JSON object"},
	} {
		_, err := profile.Parse(strings.NewReader(tt.text))
		var pe *profile.Error
		if !errors.As(err, &pe) || pe.Field != tt.field || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Parse(%s) = %v; want field %q and %q", tt.text, err, tt.field, tt.want)
		}
	}
}

func TestResolve(t *testing.T) {
	p, err := profile.Resolve("dsv3_mla")
	if err != nil || p.Name != profile.DSV3 {
		t.Errorf("Resolve(dsv3_mla) = %v, %v", p, err)
	}
	if _, err := profile.Resolve("dsv5"); !errors.Is(err, profile.ErrUnknownProfile) ||
		!strings.Contains(err.Error(), "dsv4_csa_hca, dsv3_mla, generic") {
		t.Errorf("Resolve(dsv5) = %v; want ErrUnknownProfile and the names", err)
	}
	if _, err := profile.Resolve("./no.json"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Resolve(./no.json) = %v, want ErrNotExist", err)
	}
}

// TestHostileRenames: replacements that feed each other stay bounded.
func TestHostileRenames(t *testing.T) {
	p, _ := profile.Parse(strings.NewReader(`{"name": "x"}`))
	for range 200 {
		p.Renames = append(p.Renames, profile.Rename{Old: "a", New: "aa"})
	}
	if got := p.DisplayName("a"); got != strings.Repeat("a", 77)+"..." {
		t.Errorf("DisplayName = %q", got)
	}
}

func TestWithAnchor(t *testing.T) {
	p, _ := profile.Builtin(profile.DSV4)
	if got := p.WithAnchor("my_anchor"); got.Anchor != "my_anchor" || got.AnchorPosition != profile.AnchorUnknown ||
		got.BlocksPerLayer != 2 {
		t.Errorf("WithAnchor(my_anchor) = %+v", got)
	}
	for _, same := range []string{"", p.Anchor} {
		if got := p.WithAnchor(same); got.Anchor != p.Anchor || got.AnchorPosition != profile.AnchorCloses {
			t.Errorf("WithAnchor(%q) = %+v", same, got)
		}
	}
}
