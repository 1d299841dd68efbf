package roofline

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Inputs are the recorded inputs of one op. An input that is no tensor has no sizes.
type Inputs struct {
	// Dims are the sizes of each input, Strides theirs in elements; nil where not recorded.
	Dims, Strides [][]int64
	// Lists are the sizes of the members of inputs that are lists of tensors; nil for others.
	Lists [][][]int64
	// Types are the recorded types ("c10::BFloat16", "Scalar", "" for none), Values the texts of scalars and lists of
	// numbers.
	Types, Values []string
	// Assumed is the type of tensors where none is recorded: the narrowest that the kernel's name shows, so that a floor
	// stays one. "" where it shows none. Element is how many bytes an element has by the kernel's name, 0 unknown.
	Assumed string
	Element int
}

// Bounds on what is read of a recording.
const (
	mostInputs = 256
	mostSizes  = 64
)

// ReadInputs parses what a trace has of an op: the texts of "Input Dims", "Input type", "Input Strides" and "Concrete
// Inputs". What is no such text gives inputs without sizes.
func ReadInputs(dims, types, strides, values string) *Inputs {
	in := &Inputs{}
	in.Dims, in.Lists = readSizes(dims)
	in.Strides, _ = readSizes(strides)
	in.Types, in.Values = readTexts(types), readTexts(values)
	return in
}

// readSizes reads a list of sizes, or of lists of sizes; nil where the text is none.
func readSizes(text string) (sizes [][]int64, lists [][][]int64) {
	var raw []json.RawMessage
	if text == "" || json.Unmarshal([]byte(text), &raw) != nil || len(raw) > mostInputs {
		return nil, nil
	}
	sizes = make([][]int64, len(raw))
	for i, r := range raw {
		var one []int64
		if json.Unmarshal(r, &one) == nil {
			if len(one) <= mostSizes && positive(one) {
				sizes[i] = one
			}
			continue
		}
		var many [][]int64
		if json.Unmarshal(r, &many) == nil {
			if lists == nil {
				lists = make([][][]int64, len(raw))
			}
			lists[i] = many
		}
	}
	return sizes, lists
}

// positive reports whether no size is negative.
func positive(sizes []int64) bool {
	return !slices.ContainsFunc(sizes, func(n int64) bool { return n < 0 })
}

func readTexts(text string) []string {
	var out []string
	if text == "" || json.Unmarshal([]byte(text), &out) != nil || len(out) > mostInputs {
		return nil
	}
	return out
}

// Dim returns the sizes of input i, nil for one that is no tensor or was not recorded.
func (in *Inputs) Dim(i int) []int64 {
	if i < 0 || i >= len(in.Dims) {
		return nil
	}
	return in.Dims[i]
}

// Elements returns how many elements input i has as its op sees it; 0 for none.
func (in *Inputs) Elements(i int) float64 { return product(in.Dim(i)) }

func product(sizes []int64) float64 {
	if len(sizes) == 0 {
		return 0
	}
	n := 1.0
	for _, s := range sizes {
		n *= float64(s)
	}
	return n
}

// Stored returns how many elements of input i lie in memory: an expanded dimension, of stride 0, is read once.
func (in *Inputs) Stored(i int) float64 {
	d := in.Dim(i)
	if i < 0 || i >= len(in.Strides) || len(in.Strides[i]) != len(d) {
		return product(d)
	}
	n := product(d)
	for k, s := range in.Strides[i] {
		if s == 0 {
			n /= float64(max(1, d[k]))
		}
	}
	return n
}

// Type returns the short name of the type of input i: "bf16", "fp32", "int64"; "" where it is not recorded or no
// tensor's.
func (in *Inputs) Type(i int) string {
	if in.Types == nil && len(in.Dim(i)) > 0 {
		return in.Assumed
	}
	if i < 0 || i >= len(in.Types) {
		return ""
	}
	return shortType(in.Types[i])
}

// Size returns the bytes of an element of input i; 0 unknown.
func (in *Inputs) Size(i int) float64 { return typeSizes[in.Type(i)] }

// Bytes returns what input i takes in memory, read once; 0 where sizes or type are not recorded.
func (in *Inputs) Bytes(i int) float64 { return in.Stored(i) * in.Size(i) }

// typeSizes are the bytes of elements as they are stored. Types with a scale for a block of elements include it: mxfp4
// has one byte for 32 of them, nvfp4 one for 16, int4 two for 128.
var typeSizes = map[string]float64{
	"fp64": 8, "int64": 8, "complex64": 8, "complex128": 16, "fp32": 4, "int32": 4, "fp16": 2, "bf16": 2, "int16": 2,
	"fp8": 1, "int8": 1, typeByte: 1, typeBool: 1, "e8m0": 1, typeTwoFP4: 1,
	"tf32": 4, "fp6": 0.75, "fp4": 0.5, "mxfp4": 17.0 / 32, "nvfp4": 9.0 / 16, "int4": 0.5 + 2.0/128,
}

// The types that more than the tables ask for.
const (
	typeBool   = "bool"
	typeByte   = "uint8"
	typeTwoFP4 = "fp4x2" // two numbers in a byte
)

// isInteger reports a type of integers, which sums and counts widen, truth values aside.
func isInteger(t string) bool { return strings.HasPrefix(t, "int") || t == typeByte }

// typeNames are the names that PyTorch gives types in traces, in lower case, without its name space.
var typeNames = map[string]string{
	"double": "fp64", "long int": "int64", "long": "int64", "long long": "int64", "int64": "int64",
	"complex<float>": "complex64", "complex<double>": "complex128",
	"float": "fp32", "float32": "fp32", "int": "int32", "unsigned int": "int32", "qint32": "int32", "half": "fp16",
	"float16": "fp16", "bfloat16": "bf16",
	"short int": "int16", "short": "int16", "bool": typeBool, "unsigned char": typeByte, "signed char": "int8",
	"char": "int8", "byte": typeByte,
	"quint8": typeByte, "qint8": "int8", "float8_e8m0fnu": "e8m0", "float4_e2m1fn_x2": typeTwoFP4, "float64": "fp64",
	"int32": "int32", "int8": "int8",
}

func shortType(recorded string) string {
	t := strings.TrimPrefix(strings.ToLower(recorded), "c10::")
	if n, ok := typeNames[strings.ReplaceAll(t, "c10::", "")]; ok {
		return n
	}
	if strings.HasPrefix(t, "float8_") {
		return "fp8"
	}
	return ""
}

// scalarTypes are the numbers of PyTorch's ScalarType.
var scalarTypes = map[string]string{"0": typeByte, "1": "int8", "2": "int16", "3": "int32", "4": "int64", "5": "fp16",
	"6": "fp32", "7": "fp64", "11": typeBool, "15": "bf16",
	"23": "fp8", "24": "fp8", "25": "fp8", "26": "fp8"}

// Value returns the text of input i where it is a scalar or a list of numbers, "" else.
func (in *Inputs) Value(i int) string {
	if i < 0 || i >= len(in.Values) {
		return ""
	}
	return strings.TrimSpace(in.Values[i])
}

// pythonTrue is True, in lower case.
const pythonTrue = "true"

// Flag reports whether input i is the scalar True, or the number of a mask.
func (in *Inputs) Flag(i int) bool {
	n := in.Ints(i)
	return strings.EqualFold(in.Value(i), pythonTrue) || len(n) == 1 && n[0] != 0
}

// Ints returns the numbers of input i, a scalar or a list: "[1, 1]", "(2,2)", "3".
func (in *Inputs) Ints(i int) []int64 {
	return numbers(in.Value(i), func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) })
}

// Floats returns the numbers of a list of decimals.
func (in *Inputs) Floats(i int) []float64 {
	return numbers(in.Value(i), func(s string) (float64, error) {
		x, err := strconv.ParseFloat(s, 64)
		if math.IsNaN(x) || math.IsInf(x, 0) {
			err = strconv.ErrRange
		}
		return x, err
	})
}

// separates says what is between the members of a list.
func separates(r rune) bool { return strings.ContainsRune("[](), ", r) }

// numbers reads a list; nil where a member is no number.
func numbers[T any](list string, parse func(string) (T, error)) (out []T) {
	for f := range strings.FieldsFuncSeq(list, separates) {
		n, err := parse(f)
		if err != nil || len(out) == mostSizes {
			return nil
		}
		out = append(out, n)
	}
	return out
}

// tensors are the inputs that have sizes.
func (in *Inputs) tensors() (out []int) {
	for i := range in.Dims {
		if len(in.Dims[i]) > 0 {
			out = append(out, i)
		}
	}
	return out
}

// broadcast returns the sizes of the result of an element-wise op of some inputs; nil where they do not fit.
func (in *Inputs) broadcast(inputs []int) []int64 {
	var out []int64
	for _, i := range inputs {
		d := in.Dim(i)
		if len(d) > len(out) {
			out = append(append([]int64{}, d[:len(d)-len(out)]...), out...)
		} else {
			out = append([]int64{}, out...)
		}
		for k := range d {
			switch to := &out[len(out)-len(d)+k]; {
			case *to == d[k], d[k] == 1:
			case *to == 1:
				*to = d[k]
			default:
				return nil
			}
		}
	}
	return out
}

// promoted is the type that PyTorch computes element-wise ops of some inputs in: the wider one of the highest category.
func (in *Inputs) promoted(inputs []int) string {
	best := ""
	rank := func(t string) float64 {
		switch {
		case t == "":
			return 0
		case t == typeBool:
			return 1
		case isInteger(t):
			return 10 + typeSizes[t]
		case strings.HasPrefix(t, "complex"):
			return 1000 + typeSizes[t]
		}
		return 100 + typeSizes[t]
	}
	for _, i := range inputs {
		if t := in.Type(i); rank(t) > rank(best) {
			best = t
		}
	}
	return best
}
