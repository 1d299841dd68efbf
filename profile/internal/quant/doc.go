// Package quant reads the types of weights off the quantization_config of a model, whose form is each method's own.
package quant
