package classify

import "strings"

// dtypeMarks maps letters in a name to the operand type they mean, narrowest
// first: a product of mxfp4 weights and bf16 activations is an mxfp4 product.
var dtypeMarks = []struct {
	dtype string
	marks []string
}{
	{"mxfp4", []string{"mxfp4", "mxe2m1"}},
	{"nvfp4", []string{"nvfp4", "nve2m1"}},
	{"fp4", []string{"fp4", "e2m1", "mxf4", "f4gemm", "float4_e2m1"}},
	{"int4", []string{"int4", "4bit", "w4a16", "a16w4", "w4a8", "gptq_awq", "awq", "gptq", "wna16"}},
	{"fp6", []string{"fp6", "e3m2", "e2m3"}},
	{"mxfp8", []string{"mxfp8", "mxe4m3", "mxf8"}},
	{"fp8", []string{"fp8", "e4m3", "e5m2", "float8", "float_e4m3", "fp8e4"}},
	{"int8", []string{"int8", "i8816", "signed char", "a8w8", "w8a8"}},
	{"bf16", []string{"bf16", "bfloat16"}},
	{"fp16", []string{"fp16", "float16", "half", "f16", "hgemm", "h884", "h1688"}},
	{"tf32", []string{"tf32", "s1688gemm"}},
	{"fp32", []string{"fp32", "f32", "float", "sgemm", "scudnn"}},
	{"fp64", []string{"fp64", "f64", "double", "dgemm"}},
}

// DType returns the narrowest operand type the name shows, such as "bf16",
// "fp8" or "mxfp4", or "" when it shows none. The function's own name is asked
// first, then its template arguments; parameter types never.
func (n *Name) DType() string {
	switch n.Family {
	case FamilyTensile:
		return tensileDType(n.Function)
	case FamilyNvjet:
		return nvjetDType(n.Function)
	}
	if d := markedDType(n.Function + " " + n.Operation); d != "" {
		return d
	}
	for _, s := range n.Namespaces {
		if s == "gptq" || s == "awq" || strings.Contains(s, "wna16") {
			return "int4"
		}
	}
	best := len(dtypeMarks)
	for _, a := range n.TemplateArgs {
		if a == "" || a[0] == '(' { // "(vllm::Fp8KVCacheDataType)0" is a switch
			continue
		}
		if len(a) > 256 {
			a = a[:256]
		}
		if k := dtypeMark(a); k < best {
			best = k
		}
	}
	if best < len(dtypeMarks) {
		return dtypeMarks[best].dtype
	}
	return ""
}

func markedDType(s string) string {
	if k := dtypeMark(s); k < len(dtypeMarks) {
		return dtypeMarks[k].dtype
	}
	return ""
}

func dtypeMark(s string) int {
	s = strings.ToLower(s)
	for k := range dtypeMarks {
		for _, m := range dtypeMarks[k].marks {
			if strings.Contains(s, m) {
				return k
			}
		}
	}
	return len(dtypeMarks)
}

// tensileDType reads the data type letters of Cijk_Alik_Bljk_<types>_…: the
// operand comes first (B bf16, H fp16, S fp32, D fp64, F8 and B8 fp8, I8).
func tensileDType(f string) string {
	_, rest, ok := strings.Cut(f, "_B") // the name of operand B, as in Bljk
	if !ok {
		return ""
	}
	_, rest, _ = strings.Cut(rest, "_")
	for _, t := range []struct{ prefix, dtype string }{
		{"F8", "fp8"}, {"B8", "fp8"}, {"I8", "int8"}, {"F4", "fp4"}, {"F6", "fp6"},
		{"B", "bf16"}, {"H", "fp16"}, {"X", "tf32"}, {"S", "fp32"}, {"D", "fp64"},
	} {
		if strings.HasPrefix(rest, t.prefix) {
			return t.dtype
		}
	}
	return ""
}

// nvjetDType reads the letters of nvjet_[sm103_]<types>_…: t is bf16, h fp16,
// q fp8, s fp32 computed as tf32 or fp32. Seen: tst on bf16 models, hsh on
// fp16, qqtst on fp8.
func nvjetDType(f string) string {
	rest := strings.TrimPrefix(f, "nvjet_")
	if strings.HasPrefix(rest, "sm") {
		_, rest, _ = strings.Cut(rest, "_")
	}
	if rest == "" {
		return ""
	}
	switch rest[0] {
	case 't':
		return "bf16"
	case 'h':
		return "fp16"
	case 'q':
		return "fp8"
	case 's':
		return "fp32"
	case 'd':
		return "fp64"
	}
	return ""
}
