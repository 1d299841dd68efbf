package profile

import (
	"testing"
)

func TestTypesOfWeights(t *testing.T) {
	for _, c := range []struct{ method, config, want string }{
		{"fp8", `{}`, "fp8"}, {"mxfp4", `{}`, "mxfp4"}, {"modelopt", `{"quant_algo":"NVFP4"}`, "nvfp4"},
		{"x", `{"fmt":"e4m3"}`, "fp8"}, {"mxfp8", `{}`, "fp8"}, {"w4a16", `{}`, "int4"}, {"w8a8_int", `{}`, "int8"},
		{"x", `{"quant_algo":"W4A8_AWQ"}`, "int4"},
		{"gptq", `{"bits":4}`, "int4"}, {"gptq", `{"bits":8}`, "int8"}, {"gptq", `{"bits":3}`, ""},
		{"gptq", `{"bits":5}`, ""}, {"gptq", `{"bits":9}`, ""}, {"bitsandbytes", `{"load_in_4bit":true}`, "int4"},
		{"bitsandbytes", `{"load_in_4bit":false}`, ""}, {"x", `{}`, ""}, {"x", `{"bits":65}`, ""},
		{"ct", `{"config_groups":{"g":{"weights":{"num_bits":8,"type":"float"}}}}`, "fp8"},
		{"ct", `{"config_groups":{"g":{"weights":{"num_bits":4,"type":"float"}}}}`, "nvfp4"},
		{"ct", `{"config_groups":{"g":{"weights":{"num_bits":8,"type":"int"}}}}`, "int8"},
		{"ct", `{"config_groups":{"g":{"weights":{"num_bits":4,"type":"int"}}}}`, "int4"},
		{"ct", `{"config_groups":{"g":{"weights":{"num_bits":6,"type":"float"}}}}`, ""},
		{"ct", `{"config_groups":{"b":{"weights":{"num_bits":8,"type":"int"}},"a":{"weights":{"num_bits":4,"type":"int"}}}}`,
			"int4"},
		{"ct", `{"config_groups":{}}`, ""}, {"ct", `{"config_groups":{"g":3}}`, ""},
		{"ct", `{"config_groups":{"g":{}}}`, ""},
		{"ct", `{"bits":4,"config_groups":{"g":{"weights":{"num_bits":8,"type":"float"}}}}`, "int4"},
	} {
		o, err := parseDocument("x", []byte(c.config))
		if err != nil {
			t.Fatal(err)
		}
		if got := weightType(o, c.method); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.method, c.config, got, c.want)
		}
	}
}
