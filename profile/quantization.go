package profile

import (
	"maps"
	"slices"
	"strings"
)

// weightType is the type of the weights that a method makes, as its quantization_config q says: "fp8", "nvfp4",
// "int4"; "" where it does not say.
func weightType(q object, method string) string {
	algo := q.Lenient().Field("quant_algo").Text() // ModelOpt
	said := strings.ToLower(method + " " + algo + " " + q.Lenient().Field("fmt").Text())
	for _, t := range []struct{ word, dtype string }{
		{"mxfp4", "mxfp4"}, {"nvfp4", "nvfp4"}, {"mxfp8", "fp8"}, {"fp8", "fp8"}, {"e4m3", "fp8"},
		{"w4a16", "int4"}, {"w8a8", "int8"}, {"w4a8", "int4"},
	} {
		if strings.Contains(said, t.word) {
			return t.dtype
		}
	}
	bits := q.Lenient().Field("bits").Integer(1, 64) // GPTQ, AWQ
	kind := kindInteger
	if groups := q.Field("config_groups"); groups.Kind() == objectKind && bits == 0 { // compressed-tensors, Quark
		bits, kind = groupBits(groups.Object().Lenient())
	}
	if q.Lenient().Field("load_in_4bit").Flag() {
		bits = 4
	}
	if kind != kindFloat {
		kind = kindInteger
	}
	return weightTypes[kind][bits]
}

// The kinds of numbers that weights have; what is no float is read as an integer.
const kindFloat, kindInteger = "float", "int"

// weightTypes has the types of quantized weights by kind and bits.
var weightTypes = map[string]map[int]string{kindFloat: {8: "fp8", 4: "nvfp4"}, kindInteger: {8: "int8", 4: "int4"}}

// groupBits reads the weights' type of the only or of the first group by name.
func groupBits(groups object) (bits int, kind string) {
	for _, name := range slices.Sorted(maps.Keys(groups.Fields)) {
		w := groups.Field(name).Object().Field("weights").Object()
		return w.Field("num_bits").Integer(1, 64), w.Field("type").Text()
	}
	return 0, ""
}
