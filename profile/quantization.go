package profile

import (
	"strings"

	"github.com/llmstrata/strata/profile/internal/document"
)

// weightType is the type of the weights that a method makes, as its quantization_config q says: "fp8", "nvfp4",
// "int4"; "" where it does not say.
func weightType(q document.Object, method string) string {
	algo, _ := q.Text("quant_algo") // ModelOpt
	fmtName, _ := q.Text("fmt")
	said := strings.ToLower(method + " " + algo + " " + fmtName)
	for _, t := range []struct{ word, dtype string }{
		{"mxfp4", "mxfp4"}, {"nvfp4", "nvfp4"}, {"mxfp8", "fp8"}, {"fp8", "fp8"}, {"e4m3", "fp8"},
		{"w4a16", "int4"}, {"w8a8", "int8"}, {"w4a8", "int4"},
	} {
		if strings.Contains(said, t.word) {
			return t.dtype
		}
	}
	bits, _, _ := q.Integer("bits", 1, 64) // GPTQ, AWQ
	kind := "int"
	if groups, ok, err := q.Child("config_groups"); err == nil && ok && bits == 0 { // compressed-tensors, Quark
		bits, kind = groupBits(groups)
	}
	if four, _, _ := q.Flag("load_in_4bit"); four {
		bits = 4
	}
	switch {
	case kind == "float" && bits == 8:
		return "fp8"
	case kind == "float" && bits == 4:
		return "nvfp4"
	case bits == 4:
		return "int4"
	case bits == 8:
		return "int8"
	}
	return ""
}

// groupBits reads the weights' type of the only or of the first group by name.
func groupBits(groups document.Object) (bits int, kind string) {
	first := ""
	for name := range groups.Fields {
		if first == "" || name < first {
			first = name
		}
	}
	if first == "" {
		return bits, kind
	}
	g, ok, err := groups.Child(first)
	if err != nil || !ok {
		return bits, kind
	}
	w, ok, err := g.Child("weights")
	if err != nil || !ok {
		return bits, kind
	}
	bits, _, _ = w.Integer("num_bits", 1, 64)
	kind, _ = w.Text("type")
	return bits, kind
}
